"""Bounds of gated networks on rows far from the origin, against the same dual points in extended precision."""

import warnings

import numpy as np
import pytest

from clifford_rand_nn import GatedReLURegressor

WIDE = np.longdouble


def exact(proof, X, y):
    """Dual value of the squared loss at the stored point, made feasible, and the unit of what rounding may add."""
    n, theta, rows = len(X), proof.dual_point.astype(WIDE), X.astype(WIDE)
    if proof.claim.feature is not None:
        rows = np.column_stack([rows, np.full(n, WIDE(proof.claim.feature))])
    squares = np.array([np.sum((rows[on].T @ theta[on]) ** 2) for on in proof.claim.gates.on(X).T])
    charge = WIDE(0)
    if proof.claim.squared:
        charge = squares.sum() / (2 * WIDE(n) ** 2 * WIDE(proof.beta))
    else:
        theta = theta * min(WIDE(1), n * WIDE(proof.beta) / np.sqrt(squares.max()))
    zero = np.mean(y**2) / 2
    unit = np.sqrt(max(proof.primal, proof.dual, 0.0) * zero) + 1e-5 * zero
    return np.sum(theta * y[:, None] - theta**2 / 2) / n - charge, unit


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GatedReLURegressor(n_gates=8, beta=beta, random_state=0, max_time=3.0, **options).fit(X, y)
    for proof in (model.certificate_, model.certificate_.verify(X, y)):
        value, unit = exact(proof, X, y)
        assert proof.dual <= value + 1e-12 * unit
