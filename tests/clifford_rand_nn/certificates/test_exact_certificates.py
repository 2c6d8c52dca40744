"""Certificates in 60-digit arithmetic on the stored numbers: targets with offsets, of all scales, with weights."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from clifford_rand_nn import (
    ConvexNetworkRegressor,
    ConvexReLURegressor,
    CrossProductLassoRegressor,
    GatedReLURegressor,
)
from fuzz.gap_instances import Instance, values

RNG = np.random.default_rng(0)
X = RNG.standard_normal((16, 2))
Z = np.abs(X[:, 0]) - 0.4 * X[:, 1] + 0.1 * RNG.standard_normal(16)
WEIGHTS = RNG.integers(0, 4, 16).astype(float)
OFFSETS = [0.0, 1.0, 1e3, 1e5, 1e8, 1e11, -1e12]
SCALES = [1e-9, 1e-4, 1.0, 1e9]
TOL = 1e-9  # of the objective


def regressor(name, **options):
    """Return a function of the scale of the targets: the regressor, with beta of a norm and delta in proportion."""
    squared = options.get("penalty") == "ridge" or name is ConvexNetworkRegressor
    size = 1e-3 if options.get("penalty") == "ridge" else 1e-2

    def make(scale):
        own = dict(options)
        if own.get("loss", "squared") != "squared":
            own["huber_delta"] = 0.3 * scale
        if name is ConvexNetworkRegressor:
            return name(rounds=0, **own)
        return name(beta=size if squared else size * scale, **own)

    return make


FAMILIES = {
    "gated": regressor(GatedReLURegressor, n_gates=4, random_state=0),
    "gated, free biases": regressor(GatedReLURegressor, n_gates=4, random_state=0, bias="free"),
    "gated, huber": regressor(GatedReLURegressor, n_gates=4, random_state=0, loss="huber"),
    "gated, log-cosh": regressor(GatedReLURegressor, n_gates=4, random_state=0, loss="log_cosh"),
    "gated, ridge": regressor(GatedReLURegressor, n_gates=4, random_state=0, penalty="ridge"),
    "gated, ridge, huber": regressor(GatedReLURegressor, n_gates=4, random_state=0, penalty="ridge", loss="huber"),
    "gated, infinite": regressor(GatedReLURegressor, gates="infinite", penalty="ridge"),
    "gated, infinite, huber": regressor(GatedReLURegressor, gates="infinite", penalty="ridge", loss="huber"),
    "lasso": regressor(CrossProductLassoRegressor),
    "lasso, l2": regressor(CrossProductLassoRegressor, penalty="l2", subsample=20, random_state=0),
    "lasso, huber": regressor(CrossProductLassoRegressor, loss="huber"),
    "relu": regressor(ConvexReLURegressor, n_gates=4, random_state=0),
    "relu, huber": regressor(ConvexReLURegressor, n_gates=4, random_state=0, loss="huber"),
    "network": regressor(ConvexNetworkRegressor),
    "few neurons": regressor(ConvexNetworkRegressor, n_neurons=3),
}


def exact_values(model, X, y):
    """Objective of the stored network and dual value of the stored dual point, both of 60 digits."""
    proof = model.certificate_
    data = proof.loss, 0.0, 1.0, model, X, y, proof.sample_weight, y[:, None], proof.huber_delta
    return values(Instance("", *data), model)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weights"])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_certificate_is_exact_for_targets_of_any_offset_and_scale(name, weights):
    for scale in SCALES:
        for offset in OFFSETS:
            y = scale * Z + offset
            if np.ptp(y) == 0:
                continue
            model = FAMILIES[name](scale).fit(X, y, weights)
            c = model.certificate_
            primal, dual = exact_values(model, X, y)
            where = f"scale {scale:g}, offset {offset:g}"
            assert abs(c.primal - primal) <= TOL * primal, where
            again = c.verify(X, y)
            assert again.primal == pytest.approx(c.primal, rel=TOL), where
            assert max(c.dual, again.dual) <= dual + TOL * primal, where
            assert min(c.relative_gap, again.relative_gap) >= 1 - dual / primal - 2 * TOL, where
            if np.ptp(y) > 1e6 * np.spacing(np.abs(y).max()):
                assert max(c.relative_gap, again.relative_gap) <= 1e-4, where


@pytest.mark.parametrize("rounds", [0, 3])
@pytest.mark.parametrize("seed", [2, 24, 54])
def test_alpha_has_no_part_in_the_null_space_of_a_kernel_of_low_rank(seed, rounds):
    """In one column without a constant feature the kernel has rank 2: the residual over n beta would be most of it."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((14, 1))
    y = np.abs(rows[:, 0]) + 0.1 * rng.standard_normal(14)
    model = ConvexNetworkRegressor(rounds=rounds).fit(rows, y)
    primal, dual = exact_values(model, rows, y)
    assert abs(model.certificate_.primal - primal) <= TOL * primal
    assert model.certificate_.dual <= dual + TOL * primal
    assert np.abs(model.network_.alpha).max() < 100


@pytest.mark.parametrize("seed", range(6))
def test_objectives_of_relu_networks_are_exact_where_predictions_cancel_targets(seed):
    """Targets of 1e7 without an intercept leave residuals of 1: their sums in double precision are off by 1e-9."""
    rng = np.random.default_rng(seed)
    rows, z = rng.standard_normal((13, 2)), rng.standard_normal(13)
    y = 1e7 * (np.abs(rows @ [1.0, 2.0]) + np.abs(rows @ [3.0, -1.0])) + z
    options = {"penalty": "l2", "fit_intercept": False, "bias": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = CrossProductLassoRegressor(beta=1e-9, **options).fit(rows, y)
    primal, _ = exact_values(model, rows, y)
    assert abs(model.certificate_.verify(rows, y).primal - primal) <= 0.1 * TOL * primal


@pytest.mark.parametrize("weight", [1e-9, 1e-14])
@pytest.mark.parametrize("name", ["gated, huber", "gated, log-cosh", "gated", "relu, huber", "network"])
def test_bounds_are_exact_beside_a_far_target_of_little_weight(name, weight):
    """Rounding of the sum of the dual point, times 1e12, was up to 2e-4 of the bound."""
    y, weights = Z.copy(), np.ones(16)
    y[3], weights[3] = 1e12, weight
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = FAMILIES[name](1.0).fit(X, y, weights)
    primal, dual = exact_values(model, X, y)
    assert abs(model.certificate_.primal - primal) <= TOL * primal
    assert model.certificate_.dual <= dual + TOL * primal


@pytest.mark.parametrize("seed", [2, 13, 18])
def test_a_fit_reports_no_better_bound_than_verify_where_norms_are_rounding(seed):
    """Without an intercept an offset of the targets stays: correlations have terms of 1e12, and are n beta at most."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((16, 1))
    y = np.abs(rows[:, 0]) + 0.1 * rng.standard_normal(16) - 1e12
    options = {"subsample": 40, "penalty": "l1", "fit_intercept": False, "bias": False, "random_state": 0}
    c = CrossProductLassoRegressor(beta=1.7e-3, **options).fit(rows, y).certificate_
    assert c.dual <= c.verify(rows, y).dual + 1e-3 * c.primal


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_objectives_of_rounding_size_are_exact(offset):
    """As many free biases as rows fit the targets to rounding: the objective is that of the sums of the biases."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows, z = rng.standard_normal((6, 2)), rng.standard_normal(6)
        model = GatedReLURegressor(30, beta=1.0, bias="free", random_state=0).fit(rows, z + offset)
        primal, _ = exact_values(model, rows, z + offset)
        again = model.certificate_.verify(rows, z + offset)
        assert abs(model.certificate_.primal - primal) <= TOL * primal
        assert abs(again.primal - primal) <= TOL * primal
