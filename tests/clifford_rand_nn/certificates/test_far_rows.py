"""Exact proofs of fits on rows far from 0, where double precision moves planes and rounds predictions."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import clifford_rand_nn as nn
from clifford_rand_nn.certificates.claims import NetworkClaim
from clifford_rand_nn.gates.dictionary import cross_product_dictionary
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing.base import BlockPricer
from clifford_rand_nn.pricing.family import Family


def agrees(model, X, y):
    stated = model.fit(X, y).certificate_
    exact = stated.verify(X, y, exact=True)
    assert exact.objective == pytest.approx(stated.objective, rel=1e-12)
    assert exact.relative_gap <= stated.relative_gap + 1e-9
    return stated, exact


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("offset", [1e3, 1e5, 1e6])
def test_planes_that_rows_far_from_0_span(offset):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = offset + rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
        agrees(nn.CrossProductLassoRegressor(penalty="l2", beta=1e-4), X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("seed", "offset"), [(1, 1e3), (2, 1e4)])
def test_trees_of_cones_far_from_0_lose_no_more_than_the_fit(seed, offset):
    """A tree counted 240 roundings of sums, though its check is exact: 2e-8 of the bound, or no proof at all."""
    rng = np.random.default_rng(seed)
    X, y = offset + rng.normal(size=(7, 2)), rng.normal(size=7)
    stated, exact = agrees(nn.ConvexReLURegressor(gates="exhaustive", beta=1e-2 / offset), X, y)
    assert exact.relative_gap <= stated.relative_gap + 1e-12


def test_residuals_of_networks_whose_terms_cancel():
    """Terms of 1e16 cancel to 1e3, which neither double nor extended precision holds to 1e-12."""
    rng = np.random.default_rng(0)
    X, y, W, a = 1e7 + rng.normal(size=(9, 2)), 1e3 * rng.normal(size=(9, 1)), 4e4 * np.eye(2), -2e4 * np.ones((2, 1))
    network = nn.TwoLayerNetwork(W, np.zeros(2), a, np.array([1.6e16]))
    residuals = NetworkClaim(network, Family("all", 1, False)).residuals(X, y).values
    for x, goal, residual in zip(X, y[:, 0], residuals[:, 0], strict=True):
        hidden = [max(0, sum(Fraction(w) * Fraction(z) for w, z in zip(row, x, strict=True))) for row in W]
        exact = Fraction(1.6e16) - sum(Fraction(2e4) * h for h in hidden) - Fraction(goal)
        assert abs(exact) < 1e10
        assert residual == pytest.approx(float(exact), rel=1e-15)


def test_a_gated_dual_point_is_within_its_norms_once_its_sums_are_0():
    """The entry that takes what sums lack changes by a rounding; times 1e8 that is up to 1e-7 of the norm."""
    rng = np.random.default_rng(3)
    X, y = 1e8 + rng.normal(size=(12, 2)), rng.normal(size=12)
    model = nn.GatedReLURegressor(n_gates=4, beta=1e-2, bias=False, tol=1e-2, random_state=0).fit(X, y)
    certificate = replace(model.certificate_, dual_point=1.5 * model.certificate_.dual_point)
    verified = certificate.verify(X, y)
    theta, targets = ([Fraction(v) for v in values] for values in (verified.dual_point[:, 0].tolist(), y.tolist()))
    assert sum(theta) == 0
    sums = [
        [
            sum((Fraction(x) * t for x, t, on in zip(column, theta, gate, strict=True) if on), Fraction(0))
            for column in X.T
        ]
        for gate in model.patterns_.T
    ]
    longest = max(float(sum(x * x for x in row)) ** 0.5 for row in sums)
    s = Fraction(min(1.0, 12 * 1e-2 / longest))
    exact = sum(s * t * v - (s * t) ** 2 / 2 for t, v in zip(theta, targets, strict=True)) / 12
    assert verified.lower_bound <= float(exact) * (1 + 1e-14)


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_no_column_is_larger_than_the_reach_that_rounding_is_counted_by(bias, listed):
    """Without offsets neurons far from the origin have large values, which a reach of centered rows lacked."""
    X = 1e3 + np.random.default_rng(0).normal(size=(8, 3))
    dictionary = cross_product_dictionary(X, "l1", bias=bias)
    columns = dictionary.neurons().training_columns(X)
    pricer = BlockPricer(X, dictionary.neurons() if listed else dictionary)
    assert (columns.max(axis=1) <= pricer.reach * (1 + 1e-12)).all()
    assert pricer.reach.max() <= 2 * columns.max()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("offset", [1e6, 1e9])
@pytest.mark.parametrize("penalty", ["group_l1", "group_l2"])
def test_rows_that_differ_in_their_last_digits(penalty, offset):
    """Inputs of units were rounding of x u and b, and units left their cones: bounds 1e-4 above objectives."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X, y = offset + 1e-3 * rng.normal(size=(15, 1)), rng.normal(size=15)
        model = nn.ConvexReLURegressor(n_gates=4, beta=1e-6, bias="free", penalty=penalty, random_state=0)
        stated, exact = agrees(model, X, y)
        assert stated.verify(X, y).lower_bound <= exact.objective
        assert exact.relative_gap < 1e-2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("offset", "seed", "beta"), [(10, 0, 1e-6), (100, 4, 1e-5)])
def test_multipliers_of_cones_that_cancel(offset, seed, beta):
    """A linear program met its constraints to 1e-10 of multipliers that cancel: bounds were 1e-7 to 4e-6 lower."""
    rng = np.random.default_rng(seed)
    X, y = offset + 1e-3 * rng.normal(size=(19, 2)), rng.normal(size=19)
    agrees(nn.ConvexReLURegressor(n_gates=5, beta=beta, penalty="group_l1", random_state=0), X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_multipliers_that_a_second_program_cannot_improve_stay():
    rng = np.random.default_rng(1)
    X, y = 1e5 + rng.normal(size=(9, 1)), rng.integers(0, 2, 9)
    options = {"n_gates": 4, "loss": "logistic", "penalty": "group_l1", "random_state": 0}
    agrees(nn.ConvexReLUClassifier(beta=1e-3, **options), X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_linear_programs_of_cones_bound_by_their_multipliers():
    """Between near copies the best vertex was taken for the supremum, which it was 5e-4 below."""
    rng = np.random.default_rng(4)
    X = np.repeat(rng.normal(size=(3, 3)), 2, axis=0)
    X[1::2] += 1e-8 * rng.normal(size=(3, 3))
    model = nn.ConvexReLURegressor(n_gates=6, beta=1e-9, penalty="group_l1", bias="free", random_state=0)
    agrees(model, X, rng.normal(size=6))


@pytest.mark.parametrize(("few", "seed", "d"), [(True, 0, 3), (True, 10, 4), (False, 5, 3), (False, 16, 4)])
def test_planes_through_near_copies_are_priced_one_by_one(few, seed, d):
    """Of planes that agree to 1e-10 one had a column; another was correlated with the dual point by 3e-10 more."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, d)), rng.normal(size=12)
    X[:4] = X[4:8] + 1e-10 * rng.normal(size=(4, d))
    model = nn.CrossProductLassoRegressor(beta=1e-2)
    if few:
        model = nn.ConvexNetworkRegressor(gates="row_spanned", n_neurons=7, beta=1e-2, max_metric_iter=0)
    stated = model.fit(X, y).certificate_
    assert stated.lower_bound <= stated.verify(X, y).lower_bound * (1 + 1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(3))
def test_columns_of_rows_that_differ_in_their_last_digits(seed):
    """Products with rows of 1e8 and offsets cancel to 1e-6: columns were off by a percent, objectives below bounds."""
    rng = np.random.default_rng(seed)
    X, y = 1e8 + 1e-6 * rng.normal(size=(9, 2)), rng.integers(0, 2, 9)
    y[:2] = 0, 1
    agrees(nn.ConvexReLUClassifier(beta=1e-9, bias="free", gates="exhaustive", loss="logistic"), X, y)


def test_columns_of_planes_through_rows_do_not_depend_on_the_origin():
    """At 2^26 offsets are rounded by up to 2^-24, a tenth of the distance of rows: a plane through a row needs none."""
    rng = np.random.default_rng(0)
    X, V = 2.0**-20 * rng.integers(-50, 50, size=(8, 2)), rng.integers(-3, 4, size=(2, 5)).astype(float)
    rows = rng.integers(0, 8, size=(5, 1))
    offsets = -np.einsum("md,dm->m", X[rows[:, 0]], V)
    far = offsets - 2.0**26 * V.sum(axis=0) + 2.0**-24 * rng.integers(-1, 2, size=5)
    expected = Neurons(V, offsets, rows).columns(X)
    np.testing.assert_array_equal(Neurons(V, far, rows).training_columns(X + 2.0**26), expected)
