"""Predictive variances and prediction intervals: by hand, their coverage, what variances and weights do."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.model_selection import KFold

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.kernel_network.intervals import Intervals, PredictiveVariance, design_effect, fit_intervals
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.leave_one_out import LeaveOneOut

TABLES = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "friedman1": lambda: make_friedman1(600, noise=1, random_state=0),
    "friedman2": lambda: make_friedman2(600, noise=20, random_state=0),
    "friedman3": lambda: make_friedman3(600, noise=0.1, random_state=0),
}


def _fold(X, y, train, test, coverage, spread):
    """Return which test rows are covered, by the best beta of leave-one-out on the training rows alone."""
    center, width = X[train].mean(axis=0), X[train].std(axis=0)
    A, B, Y = (X[train] - center) / width, (X[test] - center) / width, y[train][:, None] / y[train].std()
    kernel = GateKernel(bias=np.sqrt(X.shape[1]))
    loo = LeaveOneOut(kernel(A), Y)
    betas = loo.grid(30)
    beta = betas[((loo.predictions(betas) - Y) ** 2).mean(axis=(1, 2)).argmin()]
    fit = loo.fit(beta)
    v = loo.variances(beta) if spread else None
    found = fit_intervals(Y - loo.predictions(np.array([beta]))[0], v)
    new = PredictiveVariance(kernel, A, np.full(len(A), len(A) * beta))(B) if spread else None
    low, high = found.interval(kernel(B, A) @ fit.alpha + fit.intercept, new, coverage)
    value = y[test][:, None] / y[train].std()
    return ((low <= value) & (value <= high))[:, 0]


@pytest.mark.parametrize(("name", "spread"), [*((name, True) for name in TABLES), ("friedman1", False)])
def test_ninety_per_cent_intervals_cover_88_to_92_of_100_new_values(name, spread):
    X, y = TABLES[name]()
    folds = KFold(5, shuffle=True, random_state=1).split(X)
    covered = np.concatenate([_fold(X, y, train, test, 0.9, spread) for train, test in folds])
    assert 0.88 <= covered.mean() <= 0.92


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
def test_coverage_is_what_was_asked_for_whatever_the_noise(coverage):
    # 4000 draws of 19 or 60 residuals and a new one: the mean coverage is at least c and at most c + 1/(n + 1), and its
    # estimate lies within 5 standard errors of that: a failure in less than one of 1e6 seeds.
    rng = np.random.default_rng(0)
    for n in (19, 60):
        r = rng.standard_cauchy((n + 1, 4000))
        q = fit_intervals(r[:-1]).quantile(coverage)
        hit = np.abs(r[-1]) <= q
        slack = 5 * np.sqrt(coverage * (1 - coverage) / 4000)
        assert coverage - slack <= hit.mean() <= coverage + 1 / (n + 1) + slack


def test_quantile_is_the_order_statistic_of_rows_and_one_more():
    r = np.random.default_rng(1).standard_normal((37, 2))
    found = fit_intervals(r)
    for c in (0.3, 0.5, 0.9, 36.5 / 38, 37 / 38):
        k = int(np.ceil(38 * c - 1e-9))
        np.testing.assert_array_equal(found.quantile(c), np.sort(np.abs(r), axis=0)[k - 1])
    assert np.isinf(found.quantile(0.98)).all()  # 37 < .98 / .02 rows promise nothing


def test_weights_are_copies_up_to_the_new_row():
    rng = np.random.default_rng(2)
    r, times = rng.standard_normal((300, 1)), rng.integers(1, 4, size=300)
    weighted, copies = fit_intervals(r, weights=times), fit_intervals(np.repeat(r, times, axis=0))
    for c in (0.5, 0.9):
        low, high = copies.quantile(c - 0.005), copies.quantile(c + 0.005)  # the new row weighs two copies
        assert low <= weighted.quantile(c) <= high
    np.testing.assert_array_equal(fit_intervals(r, weights=9.0 * times).mass, weighted.mass)


def test_intervals_are_wide_where_the_variance_is():
    rng = np.random.default_rng(3)
    v = rng.gamma(0.5, size=2000)
    r = np.stack([np.sqrt(1 + 3 * v / v.mean()), np.ones(2000)], axis=1) * rng.laplace(size=(2000, 2))
    found = fit_intervals(r, 5 * v)
    np.testing.assert_array_equal(found.shares, [3.0, 0.0])
    low, high = found.interval(np.zeros((2, 2)), [0.0, 50 * v.mean()])
    np.testing.assert_allclose((high - low)[1] / (high - low)[0], [np.sqrt(31), 1], rtol=1e-12)
    np.testing.assert_allclose(low, -high)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit_intervals([[1.0]], [1.0, 2.0]), r"'variance' parameter of fit_intervals must be of shape \(1,\)"),
        (lambda: fit_intervals([[1.0], [2.0]], weights=[1.0, -1.0]), "sample_weight"),
        (lambda: fit_intervals([[1.0]]).interval([[0.0]], coverage=1.0), "'coverage' parameter of Intervals"),
        (lambda: fit_intervals([[1.0]]).interval([0.0]), r"'prediction' parameter of Intervals must be of shape"),
        (lambda: Intervals(np.ones((1, 1)), np.ones((1, 1)), np.ones(1)).interval([[0.0]]), "must be given"),
        (lambda: Intervals(np.ones((2, 1)), np.ones((1, 1)), np.ones(1)), "'mass' parameter of Intervals"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def test_variance_is_that_of_the_bordered_system_and_of_leave_one_out():
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((40, 3)), rng.standard_normal((5, 3))
    w = rng.uniform(0.5, 2.0, 40)
    w /= w.mean()
    kernel, beta = GateKernel(bias=0.7), 1e-2
    noise = 40 * beta / w
    A = np.block([[kernel(X) + np.diag(noise), np.ones((40, 1))], [np.ones((1, 40)), np.zeros((1, 1))]])
    k = np.vstack([kernel(X, new), np.ones((1, 5))])
    expected = kernel.diagonal(new) - np.einsum("ij,ij->j", k, np.linalg.solve(A, k))
    np.testing.assert_allclose(PredictiveVariance(kernel, X, noise)(new), expected, rtol=1e-9)
    loo = LeaveOneOut(kernel(X), X[:, :1].copy(), w).variances(beta)
    for i in (0, 11, 39):
        others = np.delete(np.arange(40), i)
        left = PredictiveVariance(kernel, X[others], noise[others])(X[[i]])
        np.testing.assert_allclose(left, loo[i], rtol=1e-8)


def test_rows_that_are_alike_and_hardly_any_noise():
    X = np.ones((6, 2))
    variance = PredictiveVariance(GateKernel(bias=1.0), X, np.full(6, 1e-18))
    assert np.isfinite(variance(X)).all()
    assert (variance(X) < 1e-12).all()


def test_rows_of_a_block_that_are_alike_count_as_fewer():
    rng, blocks = np.random.default_rng(0), np.repeat(np.arange(2000), 10)
    shared, own = rng.standard_normal((2000, 1))[blocks], rng.standard_normal((20_000, 1))
    # of variances 1 and 1 the correlation is a half, and 1 + (10 - 1)/2 is 5.5
    np.testing.assert_allclose(design_effect(np.hstack([own, shared + own, shared]), blocks), [1, 5.5, 10], atol=0.3)
    assert (design_effect(own[:3], np.arange(3)) == 1).all()
    found = fit_intervals(shared, blocks=blocks)
    assert found.mass[-1, 0] == pytest.approx(20_000 / (20_000 + 10))
