"""Volume sampling: both methods against enumeration, marginals, invariances, large and extreme inputs."""

from itertools import combinations
from math import comb, log

import numpy as np
import pytest
from scipy import stats

import clifford_rand as cr
from clifford_rand.sketch.leverage import scaled_rows
from clifford_rand.volume_sampling import Exchange, _cheaper, burn_in, log_elementary
from support.refusals import refused

FAILS = 1e-9  # probability that one chi-square test fails though the law is right


def enumerated(X, k):
    """Return all subsets and det(X_S X_Sᵀ) over its sum: the definition."""
    subsets = list(combinations(range(len(X)), k))
    volume = np.array([np.linalg.det(X[list(S)] @ X[list(S)].T) for S in subsets]).clip(0)
    volume[volume < 1e-12 * volume.max()] = 0.0
    return subsets, volume / volume.sum()


def counts(index, subsets):
    place = {S: i for i, S in enumerate(subsets)}
    return np.bincount([place[tuple(S)] for S in index.tolist()], minlength=len(subsets))


def assert_has_law(found, probability):
    """Chi-square, cells of less than 5 expected pooled; impossible subsets do not occur."""
    assert found[probability == 0].sum() == 0
    expected = found.sum() * probability
    large = expected >= 5
    rest = ~large & (expected > 0)
    a, b = found[large], expected[large]
    if rest.any():
        a, b = np.append(a, found[rest].sum()), np.append(b, expected[rest].sum())
    if len(a) > 1:
        assert stats.chi2.sf(((a - b) ** 2 / b).sum(), len(a) - 1) > FAILS


def rows(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) * np.linspace(0.5, 2, n)[:, None]


@pytest.mark.parametrize(
    ("d", "k", "bias"), [(5, 1, 0), (4, 2, 0), (5, 3, 0), (4, 4, 0), (8, 3, 0), (2, 2, 1), (2, 3, 1)]
)
def test_exact_law(d, k, bias):
    X = rows(6, d) + bias * np.linspace(3.0, -1.0, d)
    subsets, probability = enumerated(np.column_stack([X, np.ones((6, bias))]), k)
    index = cr.volume_sample(X, k, size=10_000, rng=1, method="exact", bias=bool(bias))
    assert_has_law(counts(index, subsets), probability)


@pytest.mark.slow
def test_dependent_rows_are_never_drawn_together():
    X = rows(7, 4)
    X[3], X[5], X[6] = -2 * X[0], 0.0, X[1] + X[2]
    for k, method, size in ((2, "exact", 5000), (3, "exact", 5000), (3, "mcmc", 80)):
        subsets, probability = enumerated(X, k)
        index = cr.volume_sample(X, k, size=size, rng=2, method=method)
        assert 5 not in index
        assert_has_law(counts(index, subsets), probability)


def transition(X, k):
    """Return the subsets, their law and the matrix of the walk: drop one row of k, add one by volume."""
    subsets, probability = enumerated(X, k)
    P = np.zeros((len(subsets),) * 2)
    for a, S in enumerate(subsets):
        if not probability[a]:
            P[a, a] = 1
            continue
        for out in S:
            staying = set(S) - {out}
            near = [b for b, T in enumerate(subsets) if staying <= set(T)]
            P[a, near] += probability[near] / probability[near].sum() / k
    return subsets, probability, P


@pytest.mark.parametrize(("n", "d", "k"), [(5, 3, 2), (6, 5, 3), (5, 4, 1)])
def test_walk_takes_the_steps_that_enumeration_gives(n, d, k):
    X = scaled_rows(rows(n, d), False, only_span=False)
    subsets, _, P = transition(X, k)
    walk = Exchange(X, k, 1e-14)
    start = subsets.index(tuple(sorted(walk.rows.tolist())))
    rng = np.random.default_rng(0)
    for steps in (1, 2, 5):
        index = np.sort([walk.sample(steps, rng) for _ in range(500)], axis=1)
        assert_has_law(counts(index, subsets), np.linalg.matrix_power(P, steps)[start])


@pytest.mark.parametrize(("n", "d", "k"), [(5, 3, 2), (6, 5, 3), (7, 4, 4), (6, 2, 1)])
def test_burn_in_is_enough(n, d, k):
    """The stated distance and both bounds that it rests on, by enumeration."""
    for seed in range(8):
        X = rows(n, d, seed) * 10.0 ** np.random.default_rng(seed).uniform(-2, 2, (n, 1))
        subsets, probability, P = transition(X, k)
        np.testing.assert_allclose(probability @ P, probability, atol=1e-12)
        walk = Exchange(scaled_rows(X, False, only_span=False), k, 1e-14)
        start = subsets.index(tuple(sorted(walk.rows.tolist())))
        assert log(1 / probability[start]) <= log(comb(n, k)) + 2 * sum(np.log(np.arange(1, k + 1)))
        law = np.eye(len(subsets))[start]
        entropy = log(1 / probability[start])
        for _ in range(20):
            law = law @ P
            held = law > 0
            after = float(np.sum(law[held] * np.log(law[held] / probability[held])))
            assert after <= (1 - 1 / k) * entropy + 1e-12
            entropy = after
        final = np.linalg.matrix_power(P, burn_in(n, k))[start]
        assert np.abs(final - probability).sum() / 2 <= 1e-6


LOW_RANK = rows(9, 2) @ np.random.default_rng(1).standard_normal((2, 5))


@pytest.mark.parametrize(("X", "bias", "k"), [(rows(9, 3), False, 3), (rows(9, 3), True, 4), (LOW_RANK, False, 2)])
def test_marginals_are_leverage_scores(X, bias, k):
    scores = cr.leverage_scores(X, bias=bias)
    full = np.column_stack([X, np.ones(9)]) if bias else X
    np.testing.assert_allclose(scores, np.diag(full @ np.linalg.pinv(full)), atol=1e-12)
    index = cr.volume_sample(X, k, size=20_000, rng=0, bias=bias)
    assert np.all(np.diff(index, axis=1) > 0)  # k rows, no row twice
    # Hoeffding for 9 indicators: 18·exp(-2·20000·0.025²) < 3e-10
    assert np.abs(np.bincount(index.ravel(), minlength=9) / 20_000 - scores).max() < 0.025


def test_more_rows_than_the_rank_are_refused():
    X = LOW_RANK
    for method in ("exact", "mcmc"):
        refused(r"'k' .* from 1 to 2, the rank of the rows\. Got 3 for 9 rows", cr.volume_sample, X, 3, method=method)
    assert cr.volume_sample(X, 3, rtol=0, rng=0).shape == (1, 3)  # the user's own idea of rank


def test_elementary_polynomials():
    values = np.array([3.0, 0.5, 2.0, 1.0, 0.25])
    table = log_elementary(np.log(values), 3)
    for m in range(6):
        for j in range(4):
            direct = sum(np.prod(c) for c in combinations(values[:m], j))
            assert np.exp(table[m, j]) == pytest.approx(direct, rel=1e-13)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize("method", ["exact", pytest.param("mcmc", marks=pytest.mark.slow)])
def test_scale_changes_nothing(scale, method):
    X = rows(12, 4)
    power = 2.0 ** round(np.log2(scale))
    for k, bias in ((1, False), (3, False), (4, False), (5, True)):
        expected = cr.volume_sample(X, k, size=5, rng=1, method=method, bias=bias)
        assert np.array_equal(cr.volume_sample(X * power, k, size=5, rng=1, method=method, bias=bias), expected)
        scores = cr.leverage_scores(X * scale + scale * bias, bias=bias)
        np.testing.assert_allclose(scores, cr.leverage_scores(X, bias=bias), rtol=1e-10 if bias else 1e-12)
    # units of the features do not matter where k is their number
    mixed = np.array([scale, 1.0, 1 / scale, 3.0])
    expected = cr.volume_sample(X, 4, size=2000, rng=1)
    found = cr.volume_sample(X * mixed, 4, size=2000, rng=2)
    scores = cr.leverage_scores(X * mixed)
    np.testing.assert_allclose(scores, cr.leverage_scores(X), rtol=1e-10)
    # Hoeffding: 48·exp(-2·2000·0.09²) < 1e-12
    for index in (expected, found):
        assert np.abs(np.bincount(index.ravel(), minlength=12) / 2000 - scores).max() < 0.09


@pytest.mark.parametrize("method", ["exact", pytest.param("mcmc", marks=pytest.mark.slow)])
def test_nearly_dependent_columns(method):
    """σ₂/σ₁ = 1e-10: the law in exact arithmetic is that of the second column alone, given the first."""
    x, y = rows(6, 2, 3).T
    X = np.column_stack([x, x + 1e-10 * y, np.zeros(6)])
    subsets, probability = enumerated(np.column_stack([x, y]), 2)
    size = 10_000 if method == "exact" else 120
    assert_has_law(counts(cr.volume_sample(X, 2, size=size, rng=0, method=method), subsets), probability)


def test_large():
    X = np.random.default_rng(0).standard_normal((1000, 60))
    for k in (59, 60, 30):
        index = cr.volume_sample(X, k, size=3, rng=0)
        assert index.shape == (3, k)
        assert np.all(np.diff(index, axis=1) > 0)
        assert index.min() >= 0
        assert index.max() < 1000
        assert np.linalg.matrix_rank(X[index[0]]) == k
    wide = np.random.default_rng(0).standard_normal((60, 1000))
    assert np.array_equal(cr.volume_sample(wide, 60, rng=0), [np.arange(60)])
    assert cr.volume_sample(wide, 30, size=4, rng=0).shape == (4, 30)
    walk = cr.volume_sample(X, 20, rng=0, method="mcmc")
    assert np.linalg.matrix_rank(X[walk[0]]) == 20


def test_automatic_choice():
    assert _cheaper(6, 3, 2, 1) == "exact"
    assert _cheaper(2000, 100, 99, 1) == "exact"
    assert _cheaper(4000, 1000, 5, 1) == "mcmc"
    assert _cheaper(4000, 1000, 5, 1000) == "exact"
    X = np.random.default_rng(0).standard_normal((1200, 400))
    assert _cheaper(*X.shape, 2, 1) == "mcmc"
    assert np.array_equal(cr.volume_sample(X, 2, rng=5), cr.volume_sample(X, 2, rng=5, method="mcmc"))


def test_kinds_of_input():
    X = rows(8, 3)
    expected = cr.volume_sample(X.astype(np.float32), 2, size=4, rng=0)
    assert expected.dtype == np.int64
    integers = np.random.default_rng(0).integers(-5, 6, (8, 3))
    first = cr.volume_sample(integers, 2, size=4, rng=0)
    assert np.array_equal(first, cr.volume_sample(integers.astype(float).tolist(), 2, size=4, rng=0))
    for method in ("exact", "mcmc"):
        assert cr.volume_sample(X, 2, size=0, method=method).shape == (0, 2)
        assert cr.volume_sample([[3.0]], 1, method=method).tolist() == [[0]]
        assert cr.volume_sample(np.zeros((1, 1)), 1, bias=True, method=method).tolist() == [[0]]
    X.flags.writeable = False
    for method in ("exact", "mcmc"):
        cr.volume_sample(X, 2, size=3, method=method, bias=True)
    assert np.array_equal(cr.leverage_scores(np.zeros((3, 2))), np.zeros(3))
    assert cr.cross_many(X, cr.volume_sample(X, 2, size=5, rng=0)).any(axis=1).all()


RANK = r"'k' parameter of volume_sample must be an integer from 1 to {}, the rank of the rows\. Got {} for 6 rows"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 4}, RANK.format(3, 4) + r" of length 3, rtol = .*lower k"),
        ({"k": 4, "method": "mcmc"}, RANK.format(3, 4)),
        ({"k": 5, "bias": True}, RANK.format(4, 5)),
        ({"k": 0}, r"'k' parameter of volume_sample must be an integer ≥ 1\. Got 0"),
        ({"k": 1.5}, r"'k' parameter of volume_sample must be an integer ≥ 1\. Got 1\.5"),
        ({"k": 2, "size": -1}, r"'size' parameter of volume_sample must be an integer ≥ 0\. Got -1"),
        ({"k": 2, "method": "fast"}, r"'method' .* must be one of 'auto', 'exact', 'mcmc'\. Got 'fast'"),
        ({"k": 2, "bias": 1}, r"'bias' parameter of volume_sample must be one of True, False\. Got 1"),
        ({"k": 2, "rtol": 1.0}, r"'rtol' parameter of volume_sample must be None or a number in \[0, 1\)\. Got 1\.0"),
        ({"k": 2, "rng": "x"}, r"'rng' parameter of volume_sample"),
    ],
)
def test_errors(arguments, message):
    refused(message, cr.volume_sample, rows(6, 3), **arguments)


def test_rows_that_are_refused():
    zero = r"'k' .* must be at most the rank of the rows, which is 0\. Got 1 for 3 rows of length 2"
    for method in ("exact", "mcmc"):
        refused(zero, cr.volume_sample, np.zeros((3, 2)), 1, method=method)
    for X, message in (
        (np.ones(3), r"'X' .* of shape \(n, d\) with n, d ≥ 1.* Got shape \(3,\)"),
        (np.ones((0, 3)), r"Got shape \(0, 3\)"),
        (np.ones((3, 2)) * 1j, r"'X' .* an array of real numbers\. Got dtype complex128"),
        (np.array([[1.0, np.nan]]), r"'X' .* finite\. Got 1 NaN or infinite of 2"),
    ):
        for function, arguments in ((cr.volume_sample, (X, 1)), (cr.leverage_scores, (X,))):
            refused(message, function, *arguments)


def test_origin_does_not_matter_to_simplices():
    X = np.round(rows(12, 4) * 2**10) / 2**10
    far = X + 2.0**36  # exact
    np.testing.assert_allclose(cr.leverage_scores(far, bias=True), cr.leverage_scores(X, bias=True), rtol=1e-11)
    expected = cr.volume_sample(X, 5, size=20, rng=1, bias=True)
    assert np.array_equal(cr.volume_sample(far, 5, size=20, rng=1, bias=True), expected)
