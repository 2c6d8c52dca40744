"""Small fitted models of every kind, each fitted once a process, for the tests of what they are exported to."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from clifford_rand_nn import (
    BetaCV,
    ConvexNetworkClassifier,
    ConvexNetworkRegressor,
    ConvexReLUClassifier,
    ConvexReLURegressor,
    CrossProductLassoClassifier,
    CrossProductLassoRegressor,
    GatedReLUClassifier,
    GatedReLURegressor,
)
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.kernel_network.standardization import Standardization


@cache
def rows(n=40, d=3) -> Any:
    """Return rows of float32, so that every library reads the same, in units that differ from column to column."""
    X = np.random.default_rng(5).standard_normal((n, d)) * [1.0, 30.0, 0.2][:d] + [0.0, 100.0, 1.0][:d]
    return X.astype(np.float32)


def _numbers(X) -> Any:
    return np.abs(X[:, 0]) + 0.02 * X[:, 1] * (X[:, 2] > 1) + 0.1 * np.random.default_rng(6).standard_normal(len(X))


_X, _MANY = rows(), rows(80)  # many enough for ranks
_Z, _MANY_Z = ((X - X.mean(axis=0)) / X.std(axis=0) for X in (_X, _MANY))
_NUMBERS = _numbers(_X)
_PAIRS = np.c_[_NUMBERS, _X[:, 0]]
# two columns are on in a box, within which the third is a line: the metric is learned, too
_IN_BOX = 3.0 * (_MANY_Z[:, :2] > -0.4).all(axis=1) + _MANY_Z[:, 2] * _MANY_Z[:, 1] / 3
_THREE = np.digitize(_NUMBERS, np.quantile(_NUMBERS, [0.3, 0.7]))
_TWO = np.array(["no", "yes"])[(np.median(_NUMBERS) < _NUMBERS).astype(int)]
_MARKS = np.c_[_THREE == 0, _THREE > 1, _NUMBERS < 1].astype(int)


def _gated(kind, **options) -> Any:
    return kind(8, beta=1e-2, random_state=0, **options)


def _lasso(kind, **options) -> Any:
    return kind(beta=1e-2, subsample=60, random_state=0, **options)


_INFINITE = {"gates": "infinite", "penalty": "ridge", "beta": 1e-2, "loss": "logistic"}
# Of each kind the estimator, and the rows and the targets that it is trained on.
_FITS: dict[str, Any] = {
    "network, two classes": (ConvexNetworkClassifier(loss="squared", max_metric_iter=0), _X, _TWO),
    "network, three classes": (ConvexNetworkClassifier(loss="logistic", max_metric_iter=0), _X, _THREE),
    "network, a number": (ConvexNetworkRegressor(max_metric_iter=0), _X, _NUMBERS),
    "network, two numbers": (ConvexNetworkRegressor(max_metric_iter=0), _X, _PAIRS),
    "network, ranked columns": (ConvexNetworkRegressor(max_metric_iter=0), np.exp(2 * _MANY_Z), _numbers(_MANY)),
    "network, steps": (ConvexNetworkRegressor(max_metric_iter=0), _MANY_Z, np.sign(_MANY_Z).sum(axis=1)),
    "network, boxes": (ConvexNetworkRegressor(), _MANY_Z, _IN_BOX),
    "network, several labels": (ConvexNetworkClassifier(max_metric_iter=0), _X, _MARKS),
    "few neurons, classes": (ConvexNetworkClassifier(gates="row_spanned", beta=1e-2), _X[:24], _THREE[:24]),
    "few neurons, a number": (ConvexNetworkRegressor(gates="optimized", beta=1e-2), _X, _NUMBERS),
    "gated, three classes": (_gated(GatedReLUClassifier, loss="logistic"), _Z, _THREE),
    "gated, two classes without probabilities": (_gated(GatedReLUClassifier), _Z, _THREE > 0),
    "gated, two numbers": (_gated(GatedReLURegressor, bias="free"), _Z, _PAIRS),
    "gated, squared norms": (_gated(GatedReLURegressor, penalty="ridge"), _Z, _NUMBERS),
    "infinitely many gates": (GatedReLUClassifier(**_INFINITE), _Z, _TWO),
    "relu, two classes": (ConvexReLUClassifier(6, beta=1e-2, loss="logistic", random_state=0), _Z, _TWO),
    "relu, a number": (ConvexReLURegressor(6, beta=1e-2, random_state=0), _Z, _NUMBERS),
    "lasso, three classes": (_lasso(CrossProductLassoClassifier), _Z, _THREE * 2),
    "lasso, two numbers": (_lasso(CrossProductLassoRegressor, penalty="l2"), _Z, _PAIRS),
    "search": (BetaCV(_lasso(CrossProductLassoRegressor), n_betas=3, cv=2), _Z, _NUMBERS),
}
NAMES = tuple(_FITS)
_SLOW = ("few neurons, classes",)  # as the other one of few neurons, and takes as long as all the rest
KINDS = tuple(pytest.param(name, marks=pytest.mark.slow) if name in _SLOW else name for name in NAMES)


def training(kind: str) -> Any:
    """Return the rows, float64, and the targets that the model of a kind was trained on."""
    _, X, y = _FITS[kind]
    return np.asarray(X, dtype=np.float64), y


@cache
def fitted(kind: str) -> Any:
    """Return the model of a kind."""
    return clone(_FITS[kind][0]).fit(*training(kind))


def rows_of(kind: str) -> Any:
    """Return rows of float32 for a model: some that it was trained on, and others."""
    X = training(kind)[0]
    far = 3 * (X[:8] - X.mean(axis=0)) + X.mean(axis=0)
    return np.vstack([X[:10], (X[:-1] + X[1:]) / 2, far]).astype(np.float32)


def kernel_network(frame=True, bias=True) -> Any:
    """Return a network with learned gates, whose rows hold one of zeros and one twice."""
    rng = np.random.default_rng(7)
    F = rng.standard_normal((3, 2)) if frame else None
    Z = rng.standard_normal((30, 3))
    Z[0], Z[2] = 0.0, Z[1]
    standard = Standardization(np.array([1.0, 50.0, 0.0]), np.array([1.0, 0.02, 0.0]), 3.0)
    kernel = GateKernel(1.5 if bias else 0.0, F)
    return KernelNetwork(standard, kernel, Z, rng.standard_normal((30, 2)), np.array([0.5, -1.0]))


def onnx_inputs(session, frame) -> Any:
    """Return the columns of a table as the documentation says."""
    import pandas as pd

    made = {}
    for one in session.get_inputs():
        column = frame[one.name]
        if one.type == "tensor(string)":
            values = column.astype(object).where(column.notna(), "").to_numpy(dtype=object)
        elif column.dtype.kind == "M":
            values = ((column - pd.Timestamp(0)) / pd.Timedelta(days=1)).to_numpy()
        else:
            values = column.to_numpy(dtype=np.float64)
        made[one.name] = values.reshape(-1, 1)
    return made
