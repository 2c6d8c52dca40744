"""Certificates in exact arithmetic on the stored numbers: targets of all offsets and scales, weights, rows far away."""

from dataclasses import replace

import numpy as np
import pytest

import clifford_rand_nn as nn
from fuzz.gap_instances import Instance, values

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((16, 2))
Z = np.abs(X[:, 0]) - 0.4 * X[:, 1] + 0.1 * RNG.standard_normal(16)
WEIGHTS = RNG.integers(0, 4, 16).astype(float)
# scale and offset of the targets: each scale, alone and beside offsets up to where its digits end
TARGETS = [(1.0, 0.0), (1e-4, 1e3), (1.0, 1e11), (1e9, -1e12), (1e-9, 1.0), (1e9, 1e3), (1.0, 1e5), (1e-4, 1e8)]
TOL = 1e-9  # of the objective
GATES = {"n_gates": 4, "random_state": 0}
KERNEL = {"gates": "infinite", "penalty": "ridge"}
FAMILIES = {
    "gated": (nn.GatedReLURegressor, GATES),
    "gated, free biases": (nn.GatedReLURegressor, GATES | {"bias": "free"}),
    "gated, huber": (nn.GatedReLURegressor, GATES | {"loss": "huber"}),
    "gated, log-cosh": (nn.GatedReLURegressor, GATES | {"loss": "log_cosh"}),
    "gated, ridge": (nn.GatedReLURegressor, GATES | {"penalty": "ridge"}),
    "gated, ridge, huber": (nn.GatedReLURegressor, GATES | {"penalty": "ridge", "loss": "huber"}),
    "gated, infinite": (nn.GatedReLURegressor, KERNEL),
    "gated, infinite, huber": (nn.GatedReLURegressor, KERNEL | {"loss": "huber"}),
    "lasso": (nn.CrossProductLassoRegressor, {}),
    "lasso, l2": (nn.CrossProductLassoRegressor, {"penalty": "l2", "subsample": 20, "random_state": 0}),
    "lasso, huber": (nn.CrossProductLassoRegressor, {"loss": "huber"}),
    "relu": (nn.ConvexReLURegressor, GATES),
    "relu, huber": (nn.ConvexReLURegressor, GATES | {"loss": "huber"}),
    "network": (nn.ConvexNetworkRegressor, {"max_metric_iter": 0}),
    "few neurons": (nn.ConvexNetworkRegressor, {"n_neurons": 3, "max_metric_iter": 0}),
}


def regressor(name, scale):
    """Return the regressor for targets of this scale: beta of a norm, and delta, are in proportion."""
    kind, options = FAMILIES[name]
    if "loss" in options:
        options = options | {"huber_delta": 0.3 * scale}
    if kind is not nn.ConvexNetworkRegressor:
        options = options | {"beta": 1e-3 if options.get("penalty") == "ridge" else 1e-2 * scale}
    return kind(**options)


def exact_values(model, X, y):
    """Objective of the stored network and dual value of the stored dual point, both of 60 digits."""
    proof = model.certificate_
    data = proof.loss, 0.0, 1.0, model, X, y, proof.sample_weight, y[:, None], proof.huber_delta
    return values(Instance("", *data), model)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_certificate_is_exact_for_targets_of_any_offset_and_scale(name):
    for k, (scale, offset) in enumerate(TARGETS):
        y = scale * Z + offset
        model = regressor(name, scale).fit(X, y, WEIGHTS if k % 2 else None)
        c = model.certificate_
        primal, dual = exact_values(model, X, y)
        where = f"scale {scale:g}, offset {offset:g}"
        assert abs(c.objective - primal) <= TOL * primal, where
        again = c.verify(X, y)
        assert again.objective == pytest.approx(c.objective, rel=TOL), where
        assert max(c.lower_bound, again.lower_bound) <= dual + TOL * primal, where
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
    model = nn.ConvexNetworkRegressor(max_metric_iter=rounds).fit(rows, y)
    primal, dual = exact_values(model, rows, y)
    assert abs(model.certificate_.objective - primal) <= TOL * primal
    assert model.certificate_.lower_bound <= dual + TOL * primal
    assert np.abs(model.network_.alpha).max() < 100


@pytest.mark.parametrize("seed", range(3))
def test_objectives_of_relu_networks_are_exact_where_predictions_cancel_targets(seed):
    """Targets of 1e7 without an intercept leave residuals of 1: their sums in double precision are off by 1e-9."""
    rng = np.random.default_rng(seed)
    rows, z = rng.standard_normal((13, 2)), rng.standard_normal(13)
    y = 1e7 * (np.abs(rows @ [1.0, 2.0]) + np.abs(rows @ [3.0, -1.0])) + z
    options = {"penalty": "l2", "fit_intercept": False, "bias": False}
    model = nn.CrossProductLassoRegressor(beta=1e-9, **options).fit(rows, y)
    primal, _ = exact_values(model, rows, y)
    assert abs(model.certificate_.verify(rows, y).objective - primal) <= 0.1 * TOL * primal


@pytest.mark.parametrize("weight", [1e-9, 1e-14])
@pytest.mark.parametrize("name", ["gated, huber", "gated, log-cosh", "gated", "relu, huber", "network"])
def test_bounds_are_exact_beside_a_far_target_of_little_weight(name, weight):
    """Rounding of the sum of the dual point, times 1e12, was up to 2e-4 of the bound."""
    y, weights = Z.copy(), np.ones(16)
    y[3], weights[3] = 1e12, weight
    model = regressor(name, 1.0).fit(X, y, weights)
    primal, dual = exact_values(model, X, y)
    assert abs(model.certificate_.objective - primal) <= TOL * primal
    assert model.certificate_.lower_bound <= dual + TOL * primal


@pytest.mark.parametrize("seed", [2, 13, 18])
def test_a_fit_reports_no_better_bound_than_its_proof_where_norms_are_rounding(seed):
    """Without an intercept an offset of the targets stays: correlations have terms of 1e12, and are n beta at most."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((16, 1))
    y = np.abs(rows[:, 0]) + 0.1 * rng.standard_normal(16) - 1e12
    options = {"subsample": 40, "penalty": "l1", "fit_intercept": False, "bias": False, "random_state": 0}
    c = nn.CrossProductLassoRegressor(beta=1.7e-3, **options).fit(rows, y).certificate_
    assert c.lower_bound <= c.verify(rows, y, exact=True).lower_bound + 1e-12 * c.objective


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_objectives_of_rounding_size_are_exact(offset):
    """As many free biases as rows fit the targets to rounding: the objective is that of the sums of the biases."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        rows, z = rng.standard_normal((6, 2)), rng.standard_normal(6)
        model = nn.GatedReLURegressor(30, beta=1.0, bias="free", random_state=0).fit(rows, z + offset)
        primal, _ = exact_values(model, rows, z + offset)
        again = model.certificate_.verify(rows, z + offset)
        assert abs(model.certificate_.objective - primal) <= TOL * primal
        assert abs(again.objective - primal) <= TOL * primal


def dual_value(proof, X, y):
    """Dual value of the squared loss at the stored point, made feasible, and the unit of what rounding may add."""
    n, theta, rows = len(X), proof.dual_point.astype(np.longdouble), X.astype(np.longdouble)
    if proof.claim.feature is not None:
        rows = np.column_stack([rows, np.full(n, np.longdouble(proof.claim.feature))])
    squares = np.array([np.sum((rows[on].T @ theta[on]) ** 2) for on in proof.claim.gates.activations(X).T])
    charge = np.longdouble(0)
    if proof.claim.squared:
        charge = squares.sum() / (2 * np.longdouble(n) ** 2 * np.longdouble(proof.beta))
    else:
        theta = theta * min(np.longdouble(1), n * np.longdouble(proof.beta) / np.sqrt(squares.max()))
    zero = np.mean(y**2) / 2
    unit = np.sqrt(max(proof.objective, proof.lower_bound, 0.0) * zero) + 1e-5 * zero
    return np.sum(theta * y[:, None] - theta**2 / 2) / n - charge, unit


@pytest.mark.filterwarnings("ignore")
@pytest.mark.one_seed("stored cases")
@pytest.mark.parametrize(
    ("seed", "penalty", "solver", "bias", "intercept"),
    [
        (4, "ridge", "kernel", "free", True),  # 5e4 from the origin: was above the objective
        (20, "ridge", "gram", "free", True),  # 4e7: `verify` refused it
        (84, "ridge", "gram", "free", True),
        (66, "ridge", "kernel", False, False),  # 5e7: 47 times the objective
        (85, "group_l2", "gram", "free", True),
        (45, "group_l2", "kernel", "free", True),
    ],
)
def test_no_bound_is_above_its_dual_point_on_rows_far_from_the_origin(seed, penalty, solver, bias, intercept):
    """The sums over rows that a bound is made of are small beside their terms: what they lose is counted."""
    rng = np.random.default_rng([77, seed])
    n, d = int(rng.integers(5, 60)), int(rng.integers(1, 6))
    away = 10.0 ** rng.uniform(0, 8)
    X = rng.standard_normal((n, d)) + away * rng.standard_normal(d)
    y, beta = rng.standard_normal(n), 10.0 ** rng.uniform(-5, -1)
    options = {"bias": bias, "fit_intercept": intercept, "penalty": penalty, "solver": solver}
    model = nn.GatedReLURegressor(n_gates=8, beta=beta, random_state=0, max_time=3.0, **options).fit(X, y)
    for proof in (model.certificate_, model.certificate_.verify(X, y)):
        value, unit = dual_value(proof, X, y)
        assert proof.lower_bound <= value + 1e-12 * unit


@pytest.mark.parametrize("bias", ["free", True])
def test_a_dual_point_of_another_problem_bounds_nothing_that_has_free_biases(bias):
    """The sums over gates were projected for ``bias=True`` alone: with "free" a bound above the optimum passed."""
    settings = GATES | {"beta": 0.1, "tol": 1e-8}
    free, without = (nn.GatedReLURegressor(bias=kind, **settings).fit(X, Z + 2).certificate_ for kind in (bias, False))
    assert without.lower_bound > 1.2 * free.objective
    between = replace(free, dual_point=(free.dual_point + without.dual_point) / 2)
    assert between.verify(X, Z + 2).lower_bound <= free.objective
