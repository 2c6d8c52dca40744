"""Exact proofs: gaps in floating point and in rationals, sizes of files, seconds to fit, to export and to check.

    python tests/benchmarks/bench_proofs.py [--only spiral gated ...]

Every family of networks, every loss, every penalty. Seconds are those of the processor, of a fit after one of few rows
has loaded compiled code. Leaves with 1 if a check fails, takes longer than 30 s, or than ten fits and a second.
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from timing import run_parts, timed

import clifford_rand_nn as nn
from clifford_rand_nn.proof_checker.check import check

PAPER = 1e-3 / 320  # the beta of the paper's spiral, in our scale


def rows(load, n=None, d=None, label=None):
    """Return standardized rows and targets of scikit-learn, or whether it is a class."""
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))[:n]
    X, y = StandardScaler().fit_transform(X[order])[:, :d], y[order]
    return X, (y - y.mean()) / y.std() if load is load_diabetes else y if label is None else y == label


def plane(n, d=2, outputs=1):
    """Return random rows, and targets of an absolute value with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.abs(X[:, :1]) - X[:, -1:] + 0.3 * rng.normal(size=(n, outputs))
    return X, y[:, 0] if outputs == 1 else y


def labels(n, classes, d=2):
    """Return random rows, and classes that an absolute value with noise tells."""
    X, y = plane(n, d)
    return X, np.argsort(np.argsort(y)) * classes // n


LASSO, LASSO_C = nn.CrossProductLassoRegressor, nn.CrossProductLassoClassifier
GATED, GATED_C = nn.GatedReLURegressor, nn.GatedReLUClassifier
RELU, RELU_C = nn.ConvexReLURegressor, nn.ConvexReLUClassifier
GATES = {"n_gates": 50, "random_state": 0, "beta": 1e-3}
FEW = {"n_gates": 8, "random_state": 0, "beta": 1e-2}
PROBLEMS = {
    "spiral": {
        "spiral, l1, free biases": (LASSO(penalty="l1", bias="free", beta=PAPER), nn.spiral()),
        "spiral, l1": (LASSO(penalty="l1", beta=PAPER), nn.spiral()),
        "spiral, rows, l2, free biases": (LASSO(penalty="l2", bias="free", beta=PAPER), nn.spiral()),
        "spiral, 500 neurons": (LASSO(bias="free", subsample=500, random_state=0, beta=PAPER), nn.spiral()),
        "spiral, 300 patterns, l2": (RELU(n_gates=300, random_state=0, beta=PAPER), nn.spiral()),
    },
    "gated": {
        "diabetes": (GATED(**GATES), rows(load_diabetes)),
        "diabetes, Huber": (GATED(loss="huber", **GATES), rows(load_diabetes)),
        "diabetes, log-cosh": (GATED(loss="log_cosh", **GATES), rows(load_diabetes)),
        "diabetes, free biases": (GATED(bias="free", **GATES), rows(load_diabetes)),
        "diabetes, squares": (GATED(penalty="ridge", **GATES), rows(load_diabetes)),
        "breast cancer, logistic": (GATED_C(loss="logistic", **GATES), rows(load_breast_cancer)),
        "breast cancer, squared hinge": (GATED_C(loss="squared_hinge", **GATES), rows(load_breast_cancer)),
        "wine, softmax": (GATED_C(loss="logistic", **GATES), rows(load_wine)),
        "iris, softmax, squares": (GATED_C(loss="logistic", penalty="ridge", **GATES), rows(load_iris)),
    },
    "kernel": {
        "iris, default": (nn.ConvexNetworkClassifier(), rows(load_iris)),
        "wine, default": (nn.ConvexNetworkClassifier(), rows(load_wine)),
        "diabetes, 300 rows, default": (nn.ConvexNetworkRegressor(), rows(load_diabetes, 300)),
        "iris, logistic, kernel": (
            GATED_C(gates="infinite", penalty="ridge", loss="logistic", beta=1e-3),
            rows(load_iris, label=1),
        ),
    },
    "neurons": {
        "30 x 3, l1": (LASSO(penalty="l1", beta=1e-2), plane(30, 3)),
        "60 x 2, l1, Huber": (LASSO(penalty="l1", beta=1e-2, loss="huber", huber_delta=0.3), plane(60)),
        "60 x 2, l1, logistic": (LASSO_C(penalty="l1", beta=1e-2, loss="logistic"), labels(60, 2)),
        "60 x 2, rows, l2, softmax": (LASSO_C(penalty="l2", beta=1e-2, loss="logistic"), labels(60, 3)),
        "300 x 2, l2, no biases": (RELU(gates="exhaustive", bias=False, beta=1e-2), plane(300)),
        "40 x 2, l2, free biases": (RELU(gates="exhaustive", bias="free", beta=1e-2), plane(40)),
        "300 x 1, l2, log-cosh": (RELU(gates="exhaustive", loss="log_cosh", beta=1e-2), plane(300, 1)),
        "5 x 8, fewer rows than columns, l1": (LASSO(penalty="l1", bias=False, beta=1e-2), plane(5, 8)),
    },
    "cones": {
        "diabetes, 8 patterns, l2": (RELU(**FEW), rows(load_diabetes)),
        "diabetes, 8 patterns, l1": (RELU(penalty="group_l1", **FEW), rows(load_diabetes)),
        "iris, 8 patterns, logistic": (RELU_C(loss="logistic", **FEW), rows(load_iris, label=1)),
        "100 x 4, 8 patterns, two outputs": (RELU(**FEW), plane(100, 4, 2)),
    },
    "simplices": {
        "100 x 2, all neurons, l2": (RELU(gates="exhaustive", beta=3e-2), plane(100)),
        "60 x 3, all neurons, l2": (RELU(gates="exhaustive", beta=3e-2), plane(60, 3)),
    },
}


def part(name):
    """Return the function that prints the table of a part."""

    def run():
        print("| problem | rows | gap | exact gap | kB | fit s | export s | check s | over |")
        print("|---" * 9 + "|")
        for words, (model, (X, y)) in PROBLEMS[name].items():
            report(words, model, X, y)

    return run


def report(words, model, X, y):
    """Fit, export and check; print a row."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        few = np.random.default_rng(1).permutation(len(X))[: min(len(X), 24)]
        clone(model).fit(X[few], y[few])
        model, _, fit = timed(lambda: model.fit(X, y))
        stated = model.certificate_
        path = Path(folder) / "proof.json"
        _, _, export = timed(lambda: stated.export(path, X, y, max_operations=1e10))
        proof = json.loads(path.read_text())
        verdict, _, seconds = timed(lambda: check(proof))
        size, gap = path.stat().st_size / 1e3, float(verdict.gap)
        X = np.asarray(X)
        columns = f"{stated.relative_gap:.1e} | {gap:.1e} | {size:.3g} | {fit:.2f} | {export:.2f} | {seconds:.2f}"
        print(f"| {words} | {' x '.join(map(str, X.shape))} | {columns} | {verdict.family} |", flush=True)
        if seconds > 30 or seconds > 10 * fit + 1 or gap > stated.relative_gap + 1e-9:
            print(f"{words}: the check takes too long, or the exact gap is larger", file=sys.stderr)
            report.failed = True


report.failed = False

if __name__ == "__main__":
    run_parts(__doc__, {name: part(name) for name in PROBLEMS})
    sys.exit(report.failed)
