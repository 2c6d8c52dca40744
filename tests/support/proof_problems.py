"""Small training problems of every family and loss that has exact proofs, and their proofs."""

import functools
import json
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import clifford_rand_nn as nn
from clifford_rand_nn.certificates.dual_points import over_common_denominator
from clifford_rand_nn.estimators.any_width_bound import of_any_width
from clifford_rand_nn.proof_checker.check import InvalidProofError, Table, check

_OPTIONS = {"beta": 2e-2, "max_time": 20.0}
_FEW = {"n_gates": 3, "random_state": 0, "gates": "gaussian"}
_GATES = {"n_gates": 5, "random_state": 0}


def _lasso(**options):
    return nn.CrossProductLassoRegressor(**(_OPTIONS | options))


def _relu(**options):
    return nn.ConvexReLURegressor(**(_OPTIONS | {"gates": "exhaustive"} | options))


def _classifier(name, **options):
    return getattr(nn, f"{name}Classifier")(**(_OPTIONS | options))


def _gated(**options):
    return nn.GatedReLURegressor(**(_OPTIONS | _GATES | options))


REGRESSORS = {
    "plane, l1": lambda: _lasso(penalty="l1", bias=False),
    "plane, l1, free": lambda: _lasso(penalty="l1", bias="free"),
    "plane, l1, no intercept": lambda: _lasso(penalty="l1", bias=False, fit_intercept=False),
    "plane, l1, huber": lambda: _lasso(penalty="l1", bias="free", loss="huber", huber_delta=0.3),
    "plane, l2": lambda: _relu(penalty="group_l2", bias=False),
    "cones, l2": lambda: _relu(penalty="group_l2", **_GATES, gates="cross"),
    "cones, l1, free, huber": lambda: _relu(penalty="group_l1", bias="free", loss="huber", huber_delta=0.3, **_FEW),
    "simplices, l2": lambda: _relu(penalty="group_l2"),
    "moments, l2": lambda: _relu(penalty="group_l2"),
    "moments, l1, no bias": lambda: _relu(penalty="group_l1", bias=False),
    "moments, l2, free": lambda: _relu(penalty="group_l2", bias="free"),
    "plane, l2, free": lambda: _relu(penalty="group_l2", bias="free"),
    "line, l2, penalized": lambda: _relu(penalty="group_l2"),
    "line, l2, log-cosh": lambda: _relu(penalty="group_l2", loss="log_cosh", huber_delta=0.3),
    "dictionary, l1, penalized": lambda: _lasso(penalty="l1"),
    "dictionary, l1, log-cosh": lambda: _lasso(penalty="l1", loss="log_cosh", huber_delta=0.3),
    "rows, l2": lambda: _lasso(penalty="l2"),
    "rows, l2, free": lambda: _lasso(penalty="l2", bias="free"),
    "neurons, l1": lambda: _lasso(penalty="l1", bias="free", subsample=20, random_state=0),
    "neurons, l2": lambda: _lasso(penalty="l2", subsample=20, random_state=0),
    "gated": _gated,
    "gated, free": lambda: _gated(bias="free"),
    "gated, free, huber": lambda: _gated(bias="free", loss="huber", huber_delta=0.3),
    "ridge, free, log-cosh": lambda: _gated(bias="free", penalty="ridge", loss="log_cosh", huber_delta=0.3),
    "gated, no intercept": lambda: _gated(bias=False, fit_intercept=False),
    "gated, huber": lambda: _gated(loss="huber", huber_delta=0.3),
    "gated, log-cosh": lambda: _gated(loss="log_cosh", huber_delta=0.3),
    "kernel": lambda: _gated(gates="infinite", penalty="ridge"),
    "kernel, huber": lambda: _gated(gates="infinite", penalty="ridge", bias=False, loss="huber", huber_delta=0.3),
    "kernel, steps": lambda: nn.ConvexNetworkRegressor(max_metric_iter=0),
    "kernel, boxes": lambda: nn.ConvexNetworkRegressor(max_metric_iter=2),
    "ridge": lambda: _gated(penalty="ridge"),
    "ridge, huber": lambda: _gated(penalty="ridge", loss="huber", huber_delta=0.3),
}
CLASSIFIERS = {
    "gated, squared hinge": lambda: _classifier("GatedReLU", loss="squared_hinge", **_GATES),
    "gated, logistic": lambda: _classifier("GatedReLU", loss="logistic", **_GATES),
    "gated, free, squared hinge": lambda: _classifier("GatedReLU", loss="squared_hinge", bias="free", **_GATES),
    "gated, free, logistic": lambda: _classifier("GatedReLU", loss="logistic", bias="free", **_GATES),
    "gated, free, softmax": lambda: _classifier("GatedReLU", loss="logistic", bias="free", **_GATES),
    "gated, softmax": lambda: _classifier("GatedReLU", loss="logistic", **_GATES),
    "kernel, softmax": lambda: _classifier("GatedReLU", loss="logistic", penalty="ridge", gates="infinite"),
    "ridge, softmax": lambda: _classifier("GatedReLU", loss="logistic", penalty="ridge", **_GATES),
    "plane, squared hinge": lambda: _classifier("CrossProductLasso", penalty="l1", loss="squared_hinge", bias="free"),
    "plane, logistic, free": lambda: _classifier("CrossProductLasso", penalty="l1", loss="logistic", bias="free"),
    "dictionary, logistic": lambda: _classifier("CrossProductLasso", penalty="l1", loss="logistic"),
    "moments, softmax": lambda: _classifier("ConvexReLU", loss="logistic", **_FEW),
    "cones, softmax": lambda: _classifier("ConvexReLU", loss="logistic", **_FEW),
    "dictionary, softmax": lambda: _classifier("CrossProductLasso", penalty="l1", loss="logistic"),
    "rows, l2, softmax": lambda: _classifier("CrossProductLasso", penalty="l2", loss="logistic"),
}
NAMES = (*REGRESSORS, *CLASSIFIERS)


def rows(name, n=8, d=2):
    """Return rows, targets and weights of a problem; every second one has weights, every third two outputs."""
    rng, d = np.random.default_rng(len(name)), 1 if name.startswith("line") else d
    if name.startswith(("cones", "simplices", "moments")):
        n = min(n, 5)  # the second checker goes through all faces
    if name in ("kernel, steps", "kernel, boxes"):  # as many rows as have ranks, and jumps, for which steps are chosen
        X = rng.normal(size=(64, d))
        jumps = np.sign(X).sum(axis=1) if name == "kernel, steps" else 2.0 * (X > -0.3).all(axis=1)
        return X, jumps + 0.1 * rng.normal(size=64), None
    X = rng.normal(size=(n, d))
    weights = rng.integers(1, 4, n) / 2 if len(name) % 2 else None
    if name in CLASSIFIERS:
        classes = 3 if "softmax" in name else 2
        return X, np.argsort(np.argsort(np.abs(X[:, 0]) + 0.5 * rng.normal(size=n))) * classes // n, weights
    Y = np.abs(X[:, :1]) + 0.3 * rng.normal(size=(n, 1 + (len(name) % 3 == 0)))
    return X, Y[:, 0] if Y.shape[1] == 1 else Y, weights


@functools.cache
def text(name, n=8, d=2):
    """Return the proof of a problem as JSON."""
    X, y, weights = rows(name, n, d)
    model = (REGRESSORS | CLASSIFIERS)[name]().fit(X, y, sample_weight=weights)
    certificate = model.certificate_
    if name.startswith("moments"):  # the same network against all of any width
        data, targets, own = certificate._training(X, y, weights, "text")
        certificate = of_any_width(certificate, data, targets, own / own.mean(), most_cells=15)
    with tempfile.TemporaryDirectory() as folder:
        certificate.export(Path(folder) / "proof.json", X, y, weights)
        return (Path(folder) / "proof.json").read_text()


def proof(name, n=8, d=2):
    """Return the proof of a problem, a new one for each call."""
    return json.loads(text(name, n, d))


def confirmed(model, X, y, weights=None, *, rel=1e-12):
    """Fit a model, and return its certificate, the proof of it and the verdict of the checker, which confirms it."""
    stated = model.fit(X, y, sample_weight=weights).certificate_
    with tempfile.TemporaryDirectory() as folder:
        exact = stated.export(Path(folder) / "proof.json", X, y)
        stated_proof = json.loads((Path(folder) / "proof.json").read_text())
    verdict = check(stated_proof)
    assert Fraction(exact.objective) >= verdict.objective >= verdict.bound >= Fraction(exact.lower_bound) > 0
    assert exact.objective == pytest.approx(stated.objective, rel=rel)
    assert verdict.gap <= exact.relative_gap <= stated.relative_gap + 1e-10
    return stated, stated_proof, verdict


def check_without_room(proof, match="exceeds the dual norm"):
    """Assert that the dual point is on its constraint: a longer one by 1e-6 is refused, with its multipliers."""
    dual, longer = proof["dual"], lambda text: str(int(text) * 1_000_001)
    dual["numerators"] = [list(map(longer, row)) for row in dual["numerators"]]
    dual["denominator"] = str(int(dual["denominator"]) * 1_000_000)
    for witness in proof["family"].get("witnesses", []):  # in the same units
        for own in witness["multipliers"].values():
            own[:] = [[i, longer(m)] for i, m in own]
    with pytest.raises(InvalidProofError, match=match):
        check(proof)


def integers(values):
    """Return doubles (n, k) as a table of the checker."""
    numerators, denominator = over_common_denominator(values)
    return Table(denominator, numerators)
