"""One random small fit of any family, and what exact arithmetic says of its certificate: offsets, scales, weights."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import clifford_rand_nn as cn
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.certificates.claims import GatedClaim, KernelClaim, NetworkClaim
from support import exact_gaps

FAMILIES = ("gated", "relu", "lasso", "network", "infinite", "gated shards", "network shards")
LOSSES = ("squared", "huber", "log_cosh", "squared", "huber", "log_cosh", "logistic", "squared_hinge", "softmax")
OFFSETS = (0.0, 1.0, *(10.0**k for k in range(3, 13)))
SCALES = tuple(10.0**k for k in range(-9, 10))
TOL = 1e-9  # of the objective: by which an objective or a bound may miss its exact value
_SQUARED_ROUNDING = 2.0**-100  # of the squared scale: an interpolating network predicts no digit of less
_CLASSES = ("logistic", "squared_hinge", "softmax")


@dataclass
class Instance:
    """An estimator with its data; y_loss (n, C) are the targets as the loss takes them."""

    family: str
    loss: str
    offset: float
    scale: float
    model: Any
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    y_loss: np.ndarray
    delta: float

    @property
    def words(self):
        weights = "" if self.weights is None else " weights"
        words = f"{self.family} {self.loss} offset={self.offset:g} scale={self.scale:g} {self.X.shape}{weights}"
        return " ".join(f"{words} {self.model}".split())


def instance(seed, k):
    """Draw instance number k, or None where its targets round to a constant or a class has no rows."""
    rng, family = np.random.default_rng([seed, k]), FAMILIES[k % len(FAMILIES)]
    loss = LOSSES[k // len(FAMILIES) % len(LOSSES)]
    if family.startswith("network") and loss not in ("squared", "logistic", "softmax"):
        loss = "squared" if loss in ("huber", "log_cosh") else "logistic"
    kind = _kind(rng, family)
    d = int(rng.integers(1, 4))
    most = {1: 41, 2: 15, 3: 9}[d] if kind in ("exhaustive", "l1", "l2") else 41
    n = int(rng.integers(5, most)) if "shards" not in family else int(rng.integers(12, 41))
    unit = float(rng.choice([1e-6, 1e-3, 1.0, 1.0, 1.0, 1e3, 1e6])) if "shards" not in family else 1.0
    X = rng.standard_normal((n, d))
    hidden = np.maximum(X @ rng.standard_normal((d, 3)) + rng.standard_normal(3), 0)
    C = 3 if loss == "softmax" else 2 if loss not in _CLASSES and rng.random() < 0.15 else 1
    z = hidden @ rng.standard_normal((3, C)) + 0.1 * rng.standard_normal((n, C))
    X = unit * X
    weights = rng.uniform(0.1, 5, n) if rng.random() < 0.4 else None
    offset, scale = (float(rng.choice(OFFSETS)), float(rng.choice(SCALES))) if loss not in _CLASSES else (0.0, 1.0)
    share = 10.0 ** rng.uniform(-4, -0.5)
    delta = scale * 10.0 ** rng.uniform(-1, 1) if loss in ("huber", "log_cosh") else 1.0
    if loss in _CLASSES:
        label = np.argmax(z - z.mean(axis=0), axis=1) if C > 1 else (z[:, 0] > np.median(z)).astype(int)
        if len(np.unique(label)) < max(C, 2):
            return None
        y = label
        C = 3 if C == 3 else 1
        off, on = (0.0, 1.0) if loss == "softmax" else (-1.0, 1.0)
        y_loss = np.where(label[:, None] == np.arange(C) if C > 1 else label[:, None] == 1, on, off)
    else:
        signs = np.random.default_rng([seed, k, 1]).choice([1.0, 1.0, -1.0, 0.0], C)
        y_loss = scale * z + offset * (signs if C > 1 else 1.0)
        if (y_loss == y_loss[0]).all(axis=0).any():
            return None
        y = y_loss[:, 0] if C == 1 else y_loss
    model = _model(rng, family, kind, loss, share, scale, unit, delta)
    return Instance(family, loss, offset, scale, model, X, y, weights, y_loss, delta)


def _kind(rng, family):
    match family:
        case "relu":
            return str(rng.choice(["exhaustive", "sampled"]))
        case "lasso":
            return str(rng.choice(["l1", "l2"]))
        case "gated" | "gated shards":
            return str(rng.choice(["cross", "gaussian", "exhaustive"][: 2 if "shards" in family else 3]))
    return "infinite"


def _model(rng, family, kind, loss, share, scale, unit, delta):
    classes = loss in _CLASSES
    side = "Classifier" if classes else "Regressor"
    options = {"huber_delta": delta} if loss in ("huber", "log_cosh") else {}
    name = "logistic" if loss == "softmax" else loss
    if family.startswith("network"):
        own = {"loss": name} if classes else {}
        beta = "auto" if rng.random() < 0.2 else share
        return getattr(cn, "ConvexNetwork" + side)(beta=beta, max_time=5.0, **own)
    squared = family == "infinite" or (family.startswith("gated") and rng.random() < 0.4)
    beta = share * (unit**2 if squared else unit * scale)
    modes = [("penalized", True), ("penalized", True), ("free", True), (False, True), (False, False)]
    bias, intercept = modes[rng.integers(len(modes))]
    if bias == "free" and (family in ("infinite", "gated shards") or (family == "gated" and kind == "exhaustive")):
        bias = "penalized"
    options |= {"beta": beta, "loss": name, "bias": bias, "fit_intercept": intercept, "max_time": 5.0}
    if family == "lasso":
        return getattr(cn, "CrossProductLasso" + side)(penalty=kind, **options)
    if family == "infinite":
        return getattr(cn, "GatedReLU" + side)(gates="infinite", penalty="ridge", **options)
    gates = {"gates": kind} if kind == "exhaustive" else {"n_gates": int(rng.integers(2, 8)), "random_state": 0}
    if family.startswith("gated"):
        gates |= {"gates": kind}
        return getattr(cn, "GatedReLU" + side)(penalty="ridge" if squared else "group_l2", **gates, **options)
    penalty = str(rng.choice(["group_l2", "group_l1"]))
    return getattr(cn, "ConvexReLU" + side)(penalty=penalty, **gates, **options)


def judged(case):
    """Fit, and return (what differs from the exact values in the fit and in `verify`, the exact relative gap)."""
    shards = "shards" in case.family
    data = (_shards(case),) if shards else (case.X, case.y)
    model = case.model.fit(*data, *(() if shards or case.weights is None else (case.weights,)))
    proof = model.certificate_
    primal, dual = values(case, model)
    differences, said = [], [("fit", proof)]
    try:
        said.append(("verify", proof.verify(*data)))
    except ArgumentError as error:
        differences.append(f"verify of the training data: {error}")
    if dual > primal * (1 + 1e-12):
        differences.append(f"this check: bound {float(dual):.12g} above the network's {float(primal):.12g}")
    gap = (primal - dual) / primal if primal > 0 else 0 * primal
    near = TOL * primal + _SQUARED_ROUNDING * case.scale**2
    for name, claim in said:
        if abs(claim.objective - primal) > near:
            differences.append(f"{name}: primal {claim.objective:.15g}, exactly {float(primal):.15g}")
        if claim.lower_bound > dual + near:
            exactly = f"exactly {float(dual):.15g}, of {float(primal):.15g}"
            differences.append(f"{name}: bound {claim.lower_bound:.15g}, {exactly}")
        if claim.relative_gap < gap - 2 * TOL:
            differences.append(f"{name}: gap {claim.relative_gap:.3g}, exactly {float(gap):.3g}")
    return differences, float(gap)


def _shards(case):
    parts = np.array_split(np.arange(len(case.X)), 3)
    weights = None if case.weights is None else [case.weights[rows] for rows in parts]
    return cn.Shards([case.X[rows] for rows in parts], [case.y[rows] for rows in parts], sample_weight=weights)


def values(case, model):
    """Return the exact objective of the stored network, and the exact bound of the stored dual point."""
    proof = model.certificate_
    rows = proof.claim.rows(case.X) if isinstance(proof.claim, NetworkClaim) else case.X
    data = exact_gaps.Data.of(rows, case.y_loss, case.weights, case.loss, case.delta)
    if isinstance(proof.claim, GatedClaim):
        C = case.y_loss.shape[1]
        P, d = len(proof.claim.gates), case.X.shape[1]
        shapes = {"coef_": (C, P, d), "gate_intercept_": (C, P), "intercept_": C}
        stored = [np.reshape(getattr(model, name), shape) for name, shape in shapes.items()]
        primal, f, sup = exact_gaps.gated(data, proof, stored)
    elif isinstance(proof.claim, KernelClaim):
        primal, f, sup = exact_gaps.kernel(data, proof, model.network_)
    else:
        primal, f, sup = exact_gaps.relu(data, proof, proof.claim.network)
    theta = getattr(proof, "dual_point", None)
    if theta is None and case.family == "network shards" and case.loss != "squared":
        theta = exact_gaps.mixed_residual(data, f)
    elif theta is None:
        theta = exact_gaps.exact(proof.scale) * exact_gaps.residual_at_best_intercept(data, f, proof.fit_intercept)
    return primal, exact_gaps.bound(data, theta, proof, sup)
