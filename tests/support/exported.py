"""Small fitted models of every kind, each fitted once a process, for the tests of what they are exported to."""

from functools import cache
from typing import Any

import numpy as np
import pytest

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


def _targets() -> Any:
    X = rows()
    return np.abs(X[:, 0]) + 0.02 * X[:, 1] * (X[:, 2] > 1) + 0.1 * np.random.default_rng(6).standard_normal(len(X))


def _labels() -> Any:
    return np.digitize(_targets(), np.quantile(_targets(), [0.3, 0.7]))


def _two() -> Any:
    return np.array(["no", "yes"])[(_targets() > np.median(_targets())).astype(int)]


def _pairs() -> Any:
    return np.c_[_targets(), rows()[:, 0]]


def _several() -> Any:
    return np.c_[_labels() == 0, _labels() > 1, _targets() < 1].astype(int)


def _standardized() -> Any:
    return (rows() - rows().mean(axis=0)) / rows().std(axis=0)


# Of each kind the estimator, and the rows and the targets that it is trained on.
_FITS: dict[str, Any] = {
    "network, two classes": lambda: (ConvexNetworkClassifier(loss="squared", rounds=0), rows(), _two()),
    "network, three classes": lambda: (ConvexNetworkClassifier(loss="logistic", rounds=0), rows(), _labels()),
    "network, a number": lambda: (ConvexNetworkRegressor(rounds=0), rows(), _targets()),
    "network, two numbers": lambda: (ConvexNetworkRegressor(rounds=0), rows(), _pairs()),
    "network, several labels": lambda: (ConvexNetworkClassifier(rounds=0), rows(), _several()),
    "few neurons, classes": lambda: (ConvexNetworkClassifier(gates="cross", beta=1e-2), rows()[:24], _labels()[:24]),
    "few neurons, a number": lambda: (ConvexNetworkRegressor(gates="free", beta=1e-2), rows(), _targets()),
    "gated, three classes": lambda: (_gated(GatedReLUClassifier, loss="logistic"), _standardized(), _labels()),
    "gated, two classes without probabilities": lambda: (_gated(GatedReLUClassifier), _standardized(), _labels() > 0),
    "gated, two numbers": lambda: (_gated(GatedReLURegressor, bias="free"), _standardized(), _pairs()),
    "gated, squared norms": lambda: (_gated(GatedReLURegressor, penalty="ridge"), _standardized(), _targets()),
    "infinitely many gates": lambda: (
        GatedReLUClassifier(gates="infinite", penalty="ridge", beta=1e-2, loss="logistic"),
        _standardized(),
        _two(),
    ),
    "relu, two classes": lambda: (
        ConvexReLUClassifier(6, beta=1e-2, loss="logistic", random_state=0),
        _standardized(),
        _two(),
    ),
    "relu, a number": lambda: (ConvexReLURegressor(6, beta=1e-2, random_state=0), _standardized(), _targets()),
    "lasso, three classes": lambda: (_lasso(CrossProductLassoClassifier), _standardized(), _labels() * 2),
    "lasso, two numbers": lambda: (_lasso(CrossProductLassoRegressor, penalty="l2"), _standardized(), _pairs()),
    "search": lambda: (BetaCV(_lasso(CrossProductLassoRegressor), n_betas=3, cv=2), _standardized(), _targets()),
}
NAMES = tuple(_FITS)
_SLOW = ("few neurons, classes",)  # as the other one of few neurons, and takes as long as all the rest
KINDS = tuple(pytest.param(name, marks=pytest.mark.slow) if name in _SLOW else name for name in NAMES)


def _gated(kind, **options) -> Any:
    return kind(8, beta=1e-2, random_state=0, **options)


def _lasso(kind, **options) -> Any:
    return kind(beta=1e-2, subsample=60, random_state=0, **options)


def training(kind: str) -> Any:
    """Return the rows, float64, and the targets that the model of a kind was trained on."""
    _, X, y = _FITS[kind]()
    return np.asarray(X, dtype=np.float64), y


@cache
def fitted(kind: str) -> Any:
    """Return the model of a kind."""
    model, X, y = _FITS[kind]()
    return model.fit(np.asarray(X, dtype=np.float64), y)


def rows_of(kind: str) -> Any:
    """Return rows of float32 for a model: some that it was trained on, and others."""
    X = training(kind)[0]
    far = 3 * (X[:8] - X.mean(axis=0)) + X.mean(axis=0)
    return np.vstack([X[:10], (X[:-1] + X[1:]) / 2, far]).astype(np.float32)


def kernel_network(frame=True, angle=True) -> Any:
    """Return a network with learned gates, whose rows hold one of zeros and one twice."""
    rng = np.random.default_rng(7)
    F = rng.standard_normal((3, 2)) if frame else None
    r = 2 if frame else 3
    A = rng.standard_normal((r + 1, 4)) if angle else None
    Z = rng.standard_normal((30, 3))
    Z[0], Z[2] = 0.0, Z[1]
    standard = Standardization(np.array([1.0, 50.0, 0.0]), np.array([1.0, 0.02, 0.0]), 3.0)
    kernel = GateKernel(1.5 if angle else 0.0, F, A)
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
