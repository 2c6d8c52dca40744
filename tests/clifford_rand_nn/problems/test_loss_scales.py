"""Fits reach their tolerance whatever the size of residuals beside delta, of targets, and of beta.

A residual far beyond δ leaves Huber's loss and log cosh no curvature: the dual point is the end of its domain to
rounding. Such rows are those of gross outliers, of a small δ, and of targets of 1e9 with δ = 1.
"""

import numpy as np
import pytest

from clifford_rand_nn import ConvexReLUClassifier, ConvexReLURegressor, CrossProductLassoRegressor, GatedReLURegressor
from clifford_rand_nn.problems import loss_registry as registry
from clifford_rand_nn.problems.datafit import unpenalized_fit
from support.problems import REAL_LOSSES

_FITS = {
    "kernel": (GatedReLURegressor, {"n_gates": 6, "solver": "kernel"}),
    "ridge": (GatedReLURegressor, {"n_gates": 6, "penalty": "ridge"}),
    "infinite": (GatedReLURegressor, {"gates": "infinite", "penalty": "ridge"}),
    "relu": (ConvexReLURegressor, {"n_gates": 5}),
    "lasso": (CrossProductLassoRegressor, {"penalty": "l1"}),
    "interior": (CrossProductLassoRegressor, {"penalty": "l1", "solver": "interior_point"}),
}
# δ as a share of the scale of the targets (None: the default, 1), that scale, whether there are outliers, and beta
_CASES = (
    (None, 1e9, True, 1e-1), (1e-2, 1e-9, False, 1e-3), (1e-2, 1e6, True, 1e-1), (1.0, 1.0, True, 1e-3),
    (1.0, 1e-5, False, 1e-1), (100.0, 1e3, True, 1e-3),
)  # fmt: skip


def _data(scale, outliers):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((25, 2))
    y = np.abs(X[:, 0]) + 0.1 * rng.standard_normal(25)
    return X, scale * (y + outliers * 50 * (rng.random(25) < 0.1) * rng.standard_normal(25))


@pytest.mark.parametrize("loss", REAL_LOSSES)
@pytest.mark.parametrize("method", _FITS)
def test_every_regression_reaches_its_tolerance(method, loss):
    kind, options = _FITS[method]
    seeded = {} if kind is CrossProductLassoRegressor else {"random_state": 0}
    bounded = registry.has_delta(loss)
    for share, scale, outliers, beta in _CASES if bounded else [case for case in _CASES if case[0] != 1e-2]:
        delta = {"huber_delta": share * scale} if bounded and share else {}
        bound = delta.get("huber_delta", 1.0 if bounded else np.inf)  # of residuals
        unit = min(scale, bound) / (scale if options.get("penalty") == "ridge" else 1.0)
        X, y = _data(scale, outliers)
        model = kind(loss=loss, beta=beta * unit, **delta, **options, **seeded).fit(X, y)
        assert model.result_.relative_gap <= 1e-6, (share, scale, model.result_.message)
        assert model.certificate_.verify(X, y).relative_gap <= 2e-6, (share, scale)


@pytest.mark.parametrize("loss", REAL_LOSSES)
@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_augmented_lagrangian_begins_in_the_units_of_the_loss(loss, scale):
    X, y = _data(scale, outliers=True)
    beta = 1e-1 * (min(scale, 1.0) if registry.has_delta(loss) else scale)
    solver = {"solver": "augmented_lagrangian", "tol": 1e-2, "max_iter": 2000, "random_state": 0}
    model = ConvexReLURegressor(n_gates=5, loss=loss, beta=beta, **solver).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-2, model.result_.message


@pytest.mark.parametrize("loss", REAL_LOSSES)
def test_the_fit_without_penalty_does_not_depend_on_units(loss):
    """Its slope vanishes to rounding, and powers of two move no digit that counts."""
    rng = np.random.default_rng(0)
    y = rng.standard_normal((41, 1))
    Q = np.linalg.qr(np.column_stack([np.ones(41), rng.standard_normal((41, 2))]))[0]
    for delta in (1e-2, 1.0, 100.0) if registry.has_delta(loss) else (None,):
        for scale in (2.0**-30, 1.0, 2.0**30):
            size = None if delta is None else delta * scale
            datafit = registry.make_datafit(loss, scale * y, 41, "test", size)
            theta = datafit.residual(unpenalized_fit(datafit, Q))
            assert np.abs(Q.T @ theta).max() <= 1e-14 * np.linalg.norm(theta)


@pytest.mark.kept("0.001-logistic")
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("beta", [1e-3, 1e-8])
def test_labels_that_a_network_separates_or_nearly(loss, beta):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    for noise in (0.0, 0.5):
        labels = np.abs(X[:, 0]) + 0.3 * X[:, 1] + noise * rng.standard_normal(40) > 0.5
        model = ConvexReLUClassifier(n_gates=6, loss=loss, beta=beta, random_state=0).fit(X, labels)
        assert model.certificate_.relative_gap <= 1e-6, (noise, model.result_.message)


@pytest.mark.parametrize("value", [0.0, 3.0])
@pytest.mark.parametrize("loss", REAL_LOSSES)
def test_beta_max_of_constant_targets_is_0(loss, value):
    X = np.random.default_rng(0).standard_normal((16, 3))
    assert CrossProductLassoRegressor(loss=loss, bias=True).beta_max(X, np.full(16, value)) == 0.0
