"""One random fit of any family on hard rows, and the descents that attack what its certificate says."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import clifford_rand_nn as cn
from clifford_rand_nn.certificates.claims import GatedClaim, KernelClaim
from clifford_rand_nn.problems.loss_registry import LOSSES
from fuzz import hard_rows
from support.descents import Descent, GroupDescent, losses

FAMILIES = ("gated", "relu", "lasso", "network")


@dataclass
class Instance:
    """An estimator, its data, and what its loss takes: y_loss (n, C)."""

    words: str
    model: Any
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    y_loss: np.ndarray
    loss: str
    delta: float


def instance(rng, family, outputs=2):
    """Draw an instance of a family: rows, loss, penalty, biases, weights, up to so many outputs, beta."""
    d = int(rng.integers(1, 4 if family in ("relu", "lasso") else 9))
    n = int(rng.integers(2, {1: 15, 2: 13, 3: 9}[d] if family in ("relu", "lasso") else 40))
    kind, X = hard_rows.rows(rng, n, d)
    proved = [name for name in LOSSES if name not in ("poisson", "quantile")]
    names = [name for name in proved if family != "network" or name in ("squared", "logistic", "softmax")]
    loss = str(rng.choice(names))
    C = {"softmax": 3, "logistic": 1, "squared_hinge": 1}.get(loss, int(rng.integers(1, outputs + 1)))
    y_loss = hard_rows.targets(rng, loss, X, C)
    classes = loss in ("softmax", "logistic", "squared_hinge")
    y = (np.argmax(y_loss, axis=1) if C > 1 else y_loss[:, 0]) if classes else (y_loss if C > 1 else y_loss[:, 0])
    if classes and len(np.unique(y)) < (C if C > 1 else 2):  # a class without rows is none
        return None
    weights = rng.uniform(0.1, 5, n) if rng.random() < 0.3 else None
    delta = float(10.0 ** rng.uniform(-1, 1) * (np.abs(y_loss).max() or 1)) if loss in ("huber", "log_cosh") else 1.0
    options = {"huber_delta": delta} if loss in ("huber", "log_cosh") else {}
    model = _model(rng, family, classes, "logistic" if loss == "softmax" else loss, options)
    words = f"{family} {loss} {kind} {X.shape} C={C} weights={weights is not None} {model}"
    return Instance(" ".join(words.split()), model, X, y, weights, y_loss, loss, delta)


def _model(rng, family, classes, loss, options):
    beta, side = float(10.0 ** rng.uniform(-6, 0)), "Classifier" if classes else "Regressor"
    if family == "network":
        few = {"n_neurons": int(rng.integers(1, 8)), "gates": "row_spanned"} if rng.random() < 0.3 else {}
        own = {"loss": "squared" if few or loss == "squared" else "logistic"} if classes else {}
        beta = "auto" if rng.random() < 0.5 else beta
        return getattr(cn, "ConvexNetwork" + side)(beta=beta, max_time=5.0, **few, **own)
    bias, intercept = [("free", True), (False, False), (False, True), ("penalized", True)][rng.integers(4)]
    options |= {"beta": beta, "loss": loss, "bias": bias, "fit_intercept": intercept, "tol": 1e-6, "max_time": 5.0}
    if family == "lasso":
        return getattr(cn, "CrossProductLasso" + side)(penalty=str(rng.choice(["l1", "l2"])), **options)
    if family == "gated":
        gates = {"n_gates": int(rng.integers(1, 12)), "gates": str(rng.choice(["cross", "gaussian"]))}
        penalty = str(rng.choice(["group_l2", "ridge"]))
        return getattr(cn, "GatedReLU" + side)(penalty=penalty, random_state=0, **gates, **options)
    gates = {"gates": "exhaustive"} if rng.random() < 0.5 else {"n_gates": 4, "random_state": 0}
    return getattr(cn, "ConvexReLU" + side)(penalty=str(rng.choice(["group_l2", "group_l1"])), **gates, **options)


def attack(rng, one, starts):
    """Return (what is wrong, the best descent's share above the bound, relative gap or 0 if it is nothing) of a fit."""
    model = one.model.fit(one.X, one.y, **({} if one.weights is None else {"sample_weight": one.weights}))
    proof = model.certificate_
    y, loss = one.y_loss, one.loss
    if proof.loss == "squared" and loss != "squared":  # squares of -1 and 1, a column a class
        y, loss = np.where(one.y_loss > 0, 1.0, -1.0), "squared"
    weights = one.weights if one.weights is not None else np.ones(len(one.X))
    zero = _value_of_zero(loss, y, weights, one.delta)
    found = []
    again = proof.verify(one.X, one.y, *(() if one.weights is None else (one.weights,)))
    own, lowest, noise = descents(rng, proof, one.X, y, loss, weights, one.delta, starts)
    slack = 1e-9 * (np.sqrt(max(own, proof.lower_bound, 0) * zero) + 1e-5 * zero)
    # the objective of a kernel network counts a rounding for each term of a sum, and so may be higher, not lower
    counted = noise * len(one.X) / 8 if isinstance(proof.claim, KernelClaim) else 0.0
    allowed = 10 * slack + 1e-9 * own + noise
    if not -allowed <= proof.objective - own <= allowed + counted:
        found.append(f"primal {proof.objective:.15g} of a network that costs {own:.15g}")
    for name, said in (("fit", proof), ("verify", again)):
        if said.lower_bound > min(own, lowest) + slack + 1e-9 * abs(lowest):
            above = f"above a network of {min(own, lowest):.15g} ({said.scope})"
            found.append(f"{name}'s bound {said.lower_bound:.15g} {above}")
    if isinstance(one.model, cn.ConvexReLUClassifier | cn.ConvexReLURegressor) and proof.claim.family.kind == "gates":
        wide = proof.over_all_neurons(one.X, one.y, *(() if one.weights is None else (one.weights,)))
        with np.errstate(over="ignore"):  # weights of columns of zeros
            lowest = descents(rng, wide, one.X, y, loss, weights, one.delta, starts)[1]
        if wide.lower_bound > lowest + slack + 1e-9 * abs(lowest):
            found.append(f"the bound {wide.lower_bound:.15g} over all neurons above a network of {lowest:.15g}")
    gap = proof.relative_gap if proof.objective - proof.lower_bound > 1e-8 * zero else 0.0
    return found, (min(own, lowest) - proof.lower_bound) / max(own, 1e-300), gap


def _value_of_zero(loss, y, weights, delta):
    return float(np.average(losses(loss, np.zeros_like(y), y, delta)[0], weights=weights))


def descents(rng, proof, X, y, loss, weights, delta, starts):
    """Return the objective of the certified network, in extended precision, the least one of the descents, and `noise`.

    The noise is what the rounding of predictions, and of kernels, in double precision may change the first by: those
    of a network with weights 1e8 times its outputs have eight digits less, and the certificate is about the network as
    it predicts.
    """
    claim, intercept = proof.claim, proof.fit_intercept
    if isinstance(claim, GatedClaim):
        on, free = claim.gates.activations(X), np.zeros((len(X), 0))
        rows = X if claim.feature is None else np.column_stack([X, np.full(len(X), claim.feature)])
        U, b, t = claim.coefficients  # (C, P, d), (C, P), (C,)
        coefficients = [U[:, i].T for i in range(on.shape[1])]
        if claim.feature is not None:
            coefficients = [np.vstack([U[:, i].T, b[:, i][None] / claim.feature]) for i in range(on.shape[1])]
        elif proof.bias is not False and proof.bias != "penalized":
            free = on * 1.0
        blocks = [gate[:, None] * rows for gate in on.T] or [np.zeros((len(X), 1))]
        coefficients = coefficients or [np.zeros((1, y.shape[1]))]
        near = coefficients, (b.T if free.shape[1] else np.zeros((0, y.shape[1]))), t
        problem = GroupDescent(blocks, free, y, loss, proof.beta, claim.squared, intercept, weights, delta)
    elif isinstance(claim, KernelClaim):
        return _of_kernel(rng, proof, X, y, loss, weights, delta, starts)
    else:
        rows, family, net = claim.rows(X), claim.family, claim.network
        if family.feature is not None:
            rows = np.column_stack([rows, np.full(len(rows), family.feature)])
            near = np.column_stack([net.W1, net.b1 / family.feature]), 0 * net.b1, net.w2, net.b2
        else:
            near = net.W1, net.b1, net.w2, net.b2
        near = near[0], near[1], near[2].reshape(len(net.b1), y.shape[1]), np.atleast_1d(near[3])
        problem = Descent(rows, y, loss, proof.beta, family.p, family.bias, intercept, weights, delta)
        own = problem.objective(*near)
        W, b, alpha, t = map(np.abs, near)
        noise = _noise(problem, (np.abs(rows) @ W.T + b) @ alpha + t, near)
        if family.kind != "all" and not proof.scope.startswith("global"):
            if family.kind != "neurons":
                return own, own, noise  # its patterns have cones, which a descent leaves
            blocks = [column[:, None] for column in family.members.columns(rows).T] or [np.zeros((len(rows), 1))]
            inner = GroupDescent(blocks, np.zeros((len(X), 0)), y, loss, proof.beta, False, intercept, weights, delta)
            return own, min(own, inner.lowest(rng, starts)), noise
        m = min(2 * (len(X) + 1) * y.shape[1], 24)
        return own, min(own, problem.lowest(rng, m, starts, near)), noise
    own = problem.objective(*near)
    terms = sum(np.abs(block) @ np.abs(u) for block, u in zip(blocks, coefficients, strict=True))
    noise = _noise(problem, terms + free @ np.abs(near[1]) + np.abs(t), near)
    return own, min(own, problem.lowest(rng, starts, near)), noise


def _noise(problem, terms, near):
    """What a rounding of `terms` (n, C), the sums of absolute values that predictions are made of, does to the loss."""
    moved = 8 * np.finfo(float).eps * (terms + 1e-300)
    slope = np.abs(losses(problem.loss, problem.predictions(*near), problem.y, problem.delta)[1])
    return float(np.mean(problem.weights[:, None] * (slope * moved + 0.5 * moved**2)) * problem.y.shape[1])


def _of_kernel(rng, proof, X, y, loss, weights, delta, starts):
    net, none = proof.claim.network, np.zeros((len(X), 0))
    Z = net.standard.rows(X)
    K, cross = _kernel(net.kernel, Z, Z), _kernel(net.kernel, Z, net.rows)
    inner = _kernel(net.kernel, net.rows, net.rows)
    penalty = float(np.sum(net.alpha * (inner @ net.alpha)) / 2)
    outputs = GroupDescent([cross @ net.alpha], none, y, loss, 0.0, True, True, weights, delta)
    near = [np.eye(y.shape[1])], none[:0].reshape(0, y.shape[1]), net.intercept
    own = outputs.objective(*near) + proof.beta * penalty
    noise = _noise(outputs, np.abs(cross) @ np.abs(net.alpha) + np.abs(net.intercept), near)
    # the certificate counts what rounding of K costs, in the penalty as well
    size = np.sum(np.abs(net.alpha) * (np.abs(inner) @ np.abs(net.alpha)))
    noise += 8 * np.finfo(float).eps * proof.beta * float(size)
    if proof.claim.landmarks:
        return own, own, noise
    problem = GroupDescent([_features(K)], none, y, loss, proof.beta, True, proof.fit_intercept, weights, delta)
    return own, min(own, problem.lowest(rng, starts)), noise


def _features(K):
    """Columns F with F Fᵀ at most K, but for 1e-17 of it: a pivoted Cholesky factor in extended precision.

    Those of an eigendecomposition in double precision are of another K, by 1e-14 of it, which a penalty of 1e-10 tells.
    """
    left, columns = K.astype(np.longdouble).copy(), []
    most = left.diagonal().max()
    for _ in range(len(K)):
        k = int(left.diagonal().argmax())
        if not left[k, k] > 1e-16 * most:
            break
        columns.append(left[:, k] / np.sqrt(left[k, k]))
        left -= np.outer(columns[-1], columns[-1])
    return np.column_stack(columns) if columns else np.zeros((len(K), 1))


def _kernel(kernel, rows, others):
    """K of infinitely many gates by its formula, in extended precision, with angles that keep their digits."""

    def made(Z):
        Z = np.asarray(Z, dtype=np.longdouble)
        Z = Z if kernel.frame is None else Z @ kernel.frame.astype(np.longdouble)
        return np.column_stack([Z, np.full(len(Z), np.longdouble(kernel.bias))]) if kernel.bias else Z

    z, w = made(rows), made(others)
    lengths, lengths2 = np.sqrt(np.sum(z**2, axis=1)), np.sqrt(np.sum(w**2, axis=1))
    a = z / np.where(lengths > 0, lengths, 1)[:, None]
    b = w / np.where(lengths2 > 0, lengths2, 1)[:, None]
    apart = np.sqrt(np.sum((a[:, None] - b[None]) ** 2, axis=2))
    along = np.sqrt(np.sum((a[:, None] + b[None]) ** 2, axis=2))
    angle = 2 * np.arctan2(apart, along)
    pi = 4 * np.arctan(np.longdouble(1))
    return (z @ w.T) * (pi - angle) / (2 * pi)
