"""Sketched inner products, volumes, stars and distances: each at the statement that its docstring makes."""

import math

import numpy as np
import pytest
from scipy.special import stdtrit

import clifford_rand as cr
from clifford_rand import SJLT, SRHT, GaussianSketch, SparseSign
from clifford_rand.sketch.inner import mean_interval
from clifford_rand.sketch.volume import log_volume_moments
from support.pairwise import pairwise
from support.sketches import MAKERS

KNOWN = [kind for kind in MAKERS if kind != "SJLT2"]  # of which the mean of the minors is known
makers = pytest.mark.parametrize("kind", KNOWN)


def gaussian(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=[pytest.mark.slow] * (k in ("SJLT", "SparseSign"))) for k in KNOWN]
)
def test_inner_product_is_unbiased(kind):
    # Means of N = 1250 against the exact value at 5.5 standard errors: 4e-8 a comparison (normal limit), 8 a kind.
    for k, r, d in ((1, 3, 7), (2, 4, 7), (3, 4, 6), (3, 3, 5)):
        A, B = gaussian(k, k, d), gaussian(k + 9, k, d)
        exact = np.linalg.det(A @ B.T)
        maps = np.stack([MAKERS[kind](r, d, seed).toarray() for seed in range(1250)])
        factor = math.exp(MAKERS[kind](r, d, 0).log_minor(k))
        for left, right, wanted in ((A, B, exact), (A, A, np.linalg.det(A @ A.T))):
            values = np.linalg.det((left @ maps.swapaxes(1, 2)) @ (maps @ right.T)) / factor
            assert values.std() > 0.1 * abs(wanted) or kind in ("SRHT", "SJLT", "SparseSign")
            assert abs(values.mean() - wanted) <= 5.5 * values.std() / np.sqrt(1250) + 1e-9 * abs(wanted)
    one = MAKERS[kind](4, 7, 3)
    A, B = gaussian(0, 2, 7), gaussian(1, 2, 7)
    found = cr.sketched_inner(A, B, one)
    direct = np.linalg.det(A @ one.toarray().T @ one.toarray() @ B.T) / math.exp(one.log_minor(2))
    np.testing.assert_allclose(found.value, direct, rtol=1e-10, atol=1e-13)
    assert np.isnan(found.relative_error)


def test_minor_factors_are_what_they_count():
    # SJLT, s = 1: the probability that k of d columns have distinct rows, by all subsets.
    from itertools import combinations

    for r, d in ((3, 7), (4, 4), (4, 10)):
        rows = np.arange(d) % r
        for k in range(r + 1):
            subsets = list(combinations(rows, k))
            exact = np.mean([len(set(chosen)) == k for chosen in subsets])
            np.testing.assert_allclose(math.exp(SJLT(r, d, rng=0).log_minor(k)), exact, rtol=1e-12)
    for S in (SJLT(4, 10, rng=0), SparseSign(4, 10, rng=0), SRHT(4, 10, rng=0), GaussianSketch(4, 10, rng=0)):
        assert S.log_minor(0) == pytest.approx(0, abs=1e-14)
        assert S.log_minor(1) == pytest.approx(0, abs=1e-14)  # E[SᵀS] = I
        assert S.log_minor(5) == -np.inf
    assert SRHT(16, 16, rng=0).log_minor(16) == pytest.approx(0, abs=1e-12)


def test_variance_of_the_gaussian_inner_product():
    # Sample variances of N = 20,000 have relative standard deviations √((kurtosis-1)/N) < 0.06 here; 5 of them.
    r, k, d = 12, 3, 20
    A, B = gaussian(0, k, d), gaussian(1, k, d) + gaussian(0, k, d)
    S = gaussian(2, 20_000, r, d) / np.sqrt(r)
    factor = math.exp(GaussianSketch(r, d, rng=0).log_minor(k))
    fraction = (r + 2) * (r + 1) / ((r - k + 2) * (r - k + 1))

    def moments(left, right):
        values = np.linalg.det((left @ S.swapaxes(1, 2)) @ (S @ right.T)) / factor
        return values.var(), np.sqrt(np.linalg.det(left @ left.T) * np.linalg.det(right @ right.T))

    variance, size = moments(A, A)
    assert abs(variance / ((fraction - 1) * size**2) - 1) < 0.3
    variance, size = moments(A, B)
    assert variance <= 1.3 * (fraction * size**2 - np.linalg.det(A @ B.T) ** 2)
    a, b = A[:1], B[:1]
    values = np.einsum("nri,i,nrj,j->n", S[:4000], a[0], S[:4000], b[0])
    wanted = ((a @ a.T) * (b @ b.T) + (a @ b.T) ** 2).item() / r
    assert abs(values.var() / wanted - 1) < 0.3


@makers
def test_standard_error_of_repetitions(kind):
    # |estimate - exact| ≤ 5 errors of m = 40 repetitions, Student's t of 39 degrees: 1.3e-5 each, 20 of them; and
    # the error is not generous: the spread over the 20 seeds is theirs within a factor 2.
    # Leverage: by its intervals, as below; 9 of 20 that do not cover have probability 3e-5.
    A, B = gaussian(0, 2, 40), gaussian(0, 2, 40) + 0.3 * gaussian(1, 2, 40)
    exact = np.linalg.det(A @ B.T)
    found = [cr.sketched_inner(A, B, MAKERS[kind](30, 40, seed), repeats=40) for seed in range(20)]
    errors = np.array([f.error for f in found])
    values = np.array([f.value for f in found])
    if kind == "Leverage":
        ends = np.array([f.interval() for f in found])
        assert np.sum((ends[:, 0] > exact) | (ends[:, 1] < exact)) < 9
    else:
        assert np.all(np.abs(values - exact) <= 5 * errors)
    assert 0.5 < values.std() / errors.mean() < 2


def test_inner_product_in_batches_scales_and_precisions():
    S = GaussianSketch(60, 80, rng=0)
    A, B = gaussian(0, 4, 1, 3, 80), gaussian(1, 5, 3, 80)
    found = cr.sketched_inner(A, B, S, repeats=3)
    assert found.value.shape == (4, 5)
    one = cr.sketched_inner(A[2, 0], B[4], S, repeats=3)
    np.testing.assert_allclose(one.value, found.value[2, 4], rtol=1e-9)
    np.testing.assert_allclose(one.error, found.error[2, 4], rtol=1e-9)
    for scale in (1e150, 1e-150):
        big = cr.sketched_inner(scale * A, B, S, repeats=3)
        np.testing.assert_allclose(big.log_abs, found.log_abs + 3 * np.log(scale), rtol=1e-12)
        np.testing.assert_allclose(big.relative_error, found.relative_error, rtol=1e-8)
        assert np.array_equal(big.sign, found.sign)
    single = cr.sketched_inner(A.astype(np.float32), B.astype(np.float32), S, repeats=3)
    np.testing.assert_allclose(single.value, found.value, rtol=0, atol=1e-3 * np.abs(found.value).max())
    zero = cr.sketched_inner(np.zeros((2, 80)), B[0, :2], S, repeats=2)
    assert (zero.value, zero.log_abs, zero.error) == (0, -np.inf, 0)
    large = cr.sketched_inner(gaussian(0, 300, 5000), gaussian(0, 300, 5000), SJLT(2000, 5000, rng=0))
    assert np.isfinite(large.log_abs)
    assert large.log_abs > 700  # its value is no float64


def test_gaussian_log_volume_has_the_stated_mean_and_variance():
    # N = 4000 logs. The mean is within 5 standard errors but with probability 6e-7; the variance of nearly normal logs
    # has relative standard deviation about √(2/N)·1.5 = 0.034, and is let to differ by 0.2.
    for k, r, d in ((1, 3, 5), (4, 6, 9), (5, 5, 9)):
        A = gaussian(k, k, d) * 1e-3
        mean, variance = log_volume_moments(k, r)
        S = gaussian(k + 1, 4000, r, d) / np.sqrt(r)
        sketched = A @ S.swapaxes(1, 2)
        logs = 0.5 * np.linalg.slogdet(sketched @ sketched.swapaxes(1, 2))[1] - 0.5 * np.linalg.slogdet(A @ A.T)[1]
        assert abs(logs.mean() - mean) < 5 * np.sqrt(variance / 4000)
        assert abs(logs.var() / variance - 1) < 0.2
    with pytest.raises(cr.ArgumentError, match=r"'r' parameter of log_volume_moments must be an integer ≥ 4"):
        log_volume_moments(4, 3)


@makers
def test_volume_within_its_error(kind):
    # 12 seeds, 5 standard errors each: Gaussian 6e-7 a seed; the others Student's t of 19 degrees, 8e-5 a seed. Of
    # sampling by scores that are not A's the rows with a small probability weigh much, and most samples miss them: 5
    # errors are passed by 1 in 170. Its intervals of 0.95 cover 0.917: 7 of 12 that do not have probability 2e-5.
    A = gaussian(0, 4, 64)
    exact = 0.5 * np.linalg.slogdet(A @ A.T)[1]
    found = [cr.sketched_volume(A, MAKERS[kind](40, 64, seed), repeats=20) for seed in range(12)]
    values, errors = (np.array([getattr(f, name) for f in found]) for name in ("log_volume", "error"))
    if kind == "Leverage":
        ends = np.array([f.interval() for f in found])
        assert np.sum((ends[:, 0] > exact) | (ends[:, 1] < exact)) < 7
    else:
        assert np.all(np.abs(values - exact) <= 5 * errors)
    assert 0.4 < values.std() / errors.mean() < 2
    one = MAKERS[kind](40, 64, 3)
    sketched = A @ one.toarray().T
    raw = 0.5 * np.linalg.slogdet(sketched @ sketched.T)[1]
    bias = log_volume_moments(4, 40)[0] if kind == "Gaussian" else 0.5 * one.log_minor(4)
    np.testing.assert_allclose(cr.sketched_volume(A, one, repeats=1).log_volume, raw - bias, rtol=1e-12)


def test_volume_in_batches_scales_and_precisions():
    A = gaussian(0, 3, 6, 100)
    found = cr.sketched_volume(A, 50, rng=4)
    assert found.log_volume.shape == found.error.shape == (3,)
    one = cr.sketched_volume(A[1], GaussianSketch(50, 100, rng=4))
    np.testing.assert_allclose(one.log_volume, found.log_volume[1])
    for scale in (1e150, 1e-150):
        np.testing.assert_allclose(
            cr.sketched_volume(scale * A, 50, rng=4).log_volume, found.log_volume + 6 * np.log(scale), rtol=1e-12
        )
    np.testing.assert_allclose(
        cr.sketched_volume(A.astype(np.float32), 50, rng=4).log_volume, found.log_volume, rtol=1e-5
    )
    A[0, 3] = A[0, 1] - 2 * A[0, 2]
    assert np.isneginf(cr.sketched_volume(A, 50, rng=4).log_volume).tolist() == [True, False, False]
    flat = cr.sketched_volume(A[0], SparseSign(50, 100, rng=0), repeats=3)
    assert np.isneginf(flat.log_volume)
    large = gaussian(0, 40, 5000)
    exact = 0.5 * np.linalg.slogdet(large @ large.T)[1]
    found = cr.sketched_volume(large, 400, rng=0, repeats=4)
    assert abs(found.log_volume - exact) < 5 * found.error  # 6e-7
    assert found.error < 0.13


def test_wedge_is_kept_within_the_embedding():
    # No chance in it: the statement is about the singular values that the sketch turns out to have.
    A = gaussian(0, 3, 200)
    U = np.linalg.svd(A, full_matrices=False)[2]
    for kind in KNOWN:
        make = MAKERS[kind]
        S = make(90, 200, 1)
        sketched = cr.sketched_wedge(A, S)
        assert sketched.shape == (3, 90), kind
        values = np.linalg.svd(U @ S.T, compute_uv=False)
        ratio = np.sqrt(np.linalg.det(sketched @ sketched.T) / np.linalg.det(A @ A.T))
        np.testing.assert_allclose(ratio, values.prod(), rtol=1e-10)
        eps = max(values.max() - 1, 1 - values.min())
        assert (1 - eps) ** 3 <= ratio <= (1 + eps) ** 3


@makers
def test_star(kind):
    for r, d, k in ((1, 4, 0), (2, 5, 1), (4, 9, 0), (4, 9, 2), (5, 9, 2), (5, 9, 3), (6, 8, 5), (20, 60, 7)):
        S, A = MAKERS[kind](r, d, 3), gaussian(r + k, 3, k, d)
        found = cr.sketched_star(A, S)
        assert found.factors.shape == (3, r - k, d)
        assert found.log_norm.shape == (3,)
        for b in range(3):
            v, sketched = found.factors[b], A[b] @ S.T
            assert np.abs(v @ A[b].T).max(initial=0) <= 1e-11 * d  # first proposition
            if np.linalg.matrix_rank(sketched) < k:
                assert not v.any()
                assert np.isneginf(found.log_norm[b])
                continue
            Y = gaussian(b, r - k, d)
            rows = np.concatenate([Y, A[b]]) @ S.T
            value = np.linalg.det(v @ Y.T) * np.exp(found.log_norm[b])
            size = np.linalg.norm(rows, axis=1).prod()  # Hadamard: what rounding of a determinant is relative to
            np.testing.assert_allclose(value, np.linalg.det(rows), rtol=1e-7, atol=1e-12 * size)  # orientation, norm
            if k == r - 1:
                np.testing.assert_allclose(
                    v[0] * np.exp(found.log_norm[b]), cr.sketched_cross(A[b], S), rtol=1e-7, atol=1e-9
                )


def test_star_scales_precisions_and_plain_matrices():
    S, A = SJLT(6, 20, rng=0), gaussian(0, 2, 3, 20)
    found = cr.sketched_star(A, S)
    for scale in (1e150, 1e-150):
        scaled = cr.sketched_star(scale * A, S)
        np.testing.assert_allclose(scaled.log_norm, found.log_norm + 3 * np.log(scale), rtol=1e-12)
        np.testing.assert_allclose(np.abs(scaled.factors @ A.swapaxes(1, 2)), 0, atol=1e-12)
    plain = cr.sketched_star(A, S.toarray())
    np.testing.assert_allclose(plain.log_norm, found.log_norm, rtol=1e-12)
    single = cr.sketched_star(A.astype(np.float32), S)
    assert single.factors.dtype == single.log_norm.dtype == np.float32
    np.testing.assert_allclose(single.log_norm, found.log_norm, rtol=1e-5)
    A[1, 2] = A[1, 0] + A[1, 1]
    flat = cr.sketched_star(A, S)
    assert np.isneginf(flat.log_norm).tolist() == [False, True]
    assert not flat.factors[1].any()


@makers
def test_star_has_mean_zero_at_other_vectors(kind):
    # Second proposition: the mean of N = 1000 lies within 5.5 standard errors but with probability 4e-8.
    A, Y = gaussian(0, 1, 6), gaussian(1, 2, 6)
    values = []
    for seed in range(1000):
        found = cr.sketched_star(A, MAKERS[kind](3, 6, seed))
        values.append(np.linalg.det(found.factors @ Y.T) * np.exp(found.log_norm))
    assert np.std(values) > 1e-3
    assert abs(np.mean(values)) < 5.5 * np.std(values) / np.sqrt(1000)


def test_nearest_to_span_against_least_squares():
    X, A = gaussian(0, 30, 12), gaussian(1, 4, 12)
    exact = np.array([np.linalg.norm(x - A.T @ np.linalg.lstsq(A.T, x, rcond=None)[0]) for x in X])
    found = cr.nearest_to_span(X, A, count=5)
    np.testing.assert_allclose(found.estimate, exact, rtol=1e-11)
    assert found.rows.tolist() == np.argsort(exact)[:5].tolist()
    np.testing.assert_array_equal(found.residual, found.estimate[found.rows])
    for scale in (1e150, 1e-150):
        np.testing.assert_allclose(cr.nearest_to_span(scale * X, A / scale).estimate, scale * exact, rtol=1e-11)
    assert cr.nearest_to_span(A.sum(axis=0)[None] + 0 * X[:1], A).residual[0] < 1e-14 * np.abs(A).sum()
    dependent = np.vstack([A, A[0] - A[3]])
    np.testing.assert_allclose(cr.nearest_to_span(X, dependent).estimate, exact, rtol=1e-10)
    np.testing.assert_allclose(cr.nearest_to_span(X, np.zeros((1, 12))).estimate, np.linalg.norm(X, axis=1))
    np.testing.assert_allclose(cr.nearest_to_span(X, np.empty((0, 12))).estimate, np.linalg.norm(X, axis=1))
    single = cr.nearest_to_span(X.astype(np.float32), A.astype(np.float32))
    assert single.estimate.dtype == np.float32
    np.testing.assert_allclose(single.estimate, exact, rtol=1e-5)


@makers
def test_sketched_distances_obey_their_bound(kind):
    # No chance in it: ε is that of the sketch on span(A, x), from its singular values.
    X, A = gaussian(0, 25, 300), gaussian(1, 3, 300)
    S = MAKERS[kind](120, 300, 2)
    exact = cr.nearest_to_span(X, A).estimate
    found = cr.nearest_to_span(X, A, S, count=4)
    worst = 0.0
    for x, distance, estimate in zip(X, exact, found.estimate, strict=True):
        U = np.linalg.svd(np.vstack([A, x]), full_matrices=False)[2]
        values = np.linalg.svd(U @ S.T, compute_uv=False)
        assert values.min() * distance * (1 - 1e-9) <= estimate <= values.max() * distance * (1 + 1e-9)
        worst = max(worst, values.max() - 1, 1 - values.min())
    assert worst < 1
    np.testing.assert_allclose(found.residual, exact[found.rows], rtol=1e-10)
    assert found.residual[0] <= (1 + worst) / (1 - worst) * exact.min()
    assert np.all(np.diff(found.estimate[found.rows]) >= 0)


def test_errors():
    S, A = GaussianSketch(3, 8, rng=0), gaussian(0, 2, 8)
    nan = np.full((2, 8), np.nan)
    cases = [
        (
            lambda: cr.sketched_inner(gaussian(0, 4, 8), A, S),
            r"'A' .* \(\.\.\., k, 8\) with k ≤ r = 3\. Got shape \(4, 8\)",
        ),
        (lambda: cr.sketched_inner(A, gaussian(0, 3, 8), S), r"'B' .* \(\.\.\., 2, 8\), as many .*Got shape \(3, 8\)"),
        (lambda: cr.sketched_inner(A, nan, S), r"'B' parameter of sketched_inner must be finite"),
        (lambda: cr.sketched_inner(1j * A, A, S), r"'A' .* an array of real numbers\. Got dtype complex128"),
        (lambda: cr.sketched_inner(A, A, np.ones((3, 8))), r"'S' parameter of sketched_inner must be a sketch"),
        (
            lambda: cr.sketched_inner(A, A, S, repeats=0),
            r"'repeats' parameter of sketched_inner must be an integer ≥ 1",
        ),
        (lambda: cr.sketched_inner(A, A, SJLT(3, 8, 2, rng=0)), r"expected minors are known\. .*SparseSign has one"),
        (lambda: cr.sketched_volume(gaussian(0, 4, 8), 3), r"'A' parameter of sketched_volume .* with k ≤ 3"),
        (lambda: cr.sketched_volume(nan, 3), r"'A' parameter of sketched_volume must be finite"),
        (lambda: cr.sketched_volume(A, 0), r"'S' parameter of sketched_volume must be an integer ≥ 1"),
        (
            lambda: cr.sketched_volume(A, np.ones((3, 8))),
            r"'S' .* must be a sketch, or an integer r for a Gaussian one",
        ),
        (lambda: cr.sketched_volume(A, SJLT(3, 8, 2, rng=0)), r"'S' parameter of log_minor"),
        (lambda: cr.sketched_volume(A, 3, rtol=2), r"'rtol' parameter of sketched_volume"),
        (lambda: cr.sketched_wedge(gaussian(0, 4, 8), S), r"'A' parameter of sketched_wedge .* k ≤ 3"),
        (lambda: cr.sketched_wedge(A, None), r"'S' parameter of sketched_wedge must be a sketch or a matrix"),
        (lambda: cr.sketched_star(gaussian(0, 3, 8), S), r"'A' parameter of sketched_star .* k ≤ 2"),
        (lambda: cr.sketched_star(gaussian(0, 8), S), r"'A' parameter of sketched_star .* Got shape \(8,\)"),
        (lambda: cr.sketched_star(nan, S), r"'A' parameter of sketched_star must be finite"),
        (lambda: cr.nearest_to_span(A[:, :5], A), r"'X' parameter of nearest_to_span must be of shape \(n, 8\)"),
        (lambda: cr.nearest_to_span(A, A[0]), r"'A' parameter of nearest_to_span must be of shape \(k, d\)"),
        (lambda: cr.nearest_to_span(A, A, count=3), r"'count' .* from 1 to 2\. Got 3 .* no more rows"),
        (lambda: cr.nearest_to_span(nan, A), r"'X' parameter of nearest_to_span must be finite"),
        (lambda: cr.nearest_to_span(A, gaussian(0, 3, 8), S), r"'A' parameter of nearest_to_span .* k ≤ 2"),
    ]
    for call, message in cases:
        with pytest.raises(cr.ArgumentError, match=message):
            call()


def gaussian_estimates(k, r, cosine, m, n, seed):
    """Return n sets of m estimates (m, n) of the inner product cosine^k of two blades with k equal angles."""
    S = gaussian(seed, m, n, r, 2 * k) / np.sqrt(r)
    left, right = S[..., :k], cosine * S[..., :k] + np.sqrt(1 - cosine**2) * S[..., k:]
    return np.linalg.det(left.swapaxes(-1, -2) @ right) / math.exp(GaussianSketch(r, 2 * k, rng=0).log_minor(k))


@pairwise({"m": [8, 20, 60], ("k", "r"): [(1, 4), (1, 40), (2, 6), (3, 8), (5, 12)], "cosine": [1.0, 0.9, 0.5, 0.0]})
def test_intervals_cover_what_they_say(k, r, cosine, m):
    # N = 1500 intervals of 0.95, which cover 0.94 or more: fewer than 0.905 with probability 1e-7, 20 cases. Two
    # standard errors, which were stated before, cover 0.76 of k = 5, r = 12, m = 8.
    x = gaussian_estimates(k, r, cosine, m, 1500, 10 * k + m)
    low, high, peak = mean_interval(np.sign(x), np.log(np.abs(x)), 0.95, "test")
    exact = cosine**k * np.exp(-peak)
    assert np.mean((low <= exact) & (exact <= high)) >= 0.905
    # and they are not generous: where the estimates vary little and have one sign they are Student's
    half = stdtrit(m - 1, 0.975) * (x * np.exp(-peak)).std(axis=0, ddof=1) / np.sqrt(m)
    assert np.median((high - low) / 2 / half) < (1.1 if (r, cosine) == (40, 1.0) else 30)


@pytest.mark.slow
@makers
def test_intervals_of_all_sketches_cover(kind):
    # 120 seeds of intervals that cover 0.93 or more: fewer than 100 with probability 3e-5, ten of them.
    A, B = gaussian(0, 2, 24), gaussian(0, 2, 24) + 0.3 * gaussian(1, 2, 24)
    exact, volume = np.linalg.det(A @ B.T), 0.5 * np.linalg.slogdet(A @ A.T)[1]
    inner = [cr.sketched_inner(A, B, MAKERS[kind](10, 24, seed), repeats=10).interval() for seed in range(120)]
    volumes = [cr.sketched_volume(A, MAKERS[kind](10, 24, seed), repeats=10).interval() for seed in range(120)]
    assert sum(low <= exact <= high for low, high in inner) >= 100
    assert sum(low <= volume <= high for low, high in volumes) >= 100


@pytest.mark.parametrize(("k", "r", "m"), [(1, 2, 1), (2, 2, 1), (2, 3, 1), (5, 5, 4), (10, 100, 1)])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_intervals_of_gaussian_volumes_have_equal_tails(k, r, m, confidence):
    # N = 20,000 draws of the known law (Bartlett); the quantiles are good to 0.012, and 0.005 is 4 standard deviations
    # of a tail of 0.01 or less, 2 of one of 0.25: 0.02 leaves 6.
    degrees = r - np.arange(k)
    logs = 0.5 * np.log(np.random.default_rng(k + r).chisquare(degrees, size=(20_000, m, k))).sum(-1).mean(-1)
    found = cr.sketched_volume(np.eye(k, 200), r, repeats=m, rng=0)
    mean = log_volume_moments(k, r)[0] + 0.5 * k * np.log(r)
    low, high = found._replace(log_volume=logs - mean).interval(confidence)
    tail = (1 - confidence) / 2
    assert abs(np.mean(low > 0) - tail) < 0.02
    assert abs(np.mean(high < 0) - tail) < 0.02


def test_intervals_in_batches_scales_and_at_zero():
    S = SparseSign(30, 80, rng=0)
    A, B = gaussian(0, 4, 1, 3, 80), gaussian(1, 5, 3, 80)
    found = cr.sketched_inner(A, B, S, repeats=9)
    low, high = found.interval(0.9)
    assert low.shape == high.shape == (4, 5)
    assert np.all((low < found.value) & (found.value < high))
    one = cr.sketched_inner(A[2, 0], B[4], S, repeats=9).interval(0.9)
    np.testing.assert_allclose(one, (low[2, 4], high[2, 4]), rtol=1e-9)
    wide = found.interval(0.99)
    assert np.all((wide[0] < low) & (high < wide[1]))
    big = cr.sketched_inner(2.0**40 * A, B, S, repeats=9).interval(0.9)
    np.testing.assert_allclose(big, (2.0**120 * low, 2.0**120 * high), rtol=1e-9)
    assert np.isnan(cr.sketched_inner(A, B, S, repeats=7).interval()).all()
    assert cr.sketched_inner(np.zeros((2, 80)), B[0, :2], S, repeats=8).interval() == (0, 0)
    volume = cr.sketched_volume(B, S, repeats=8)
    low, high = volume.interval()
    assert np.all((low < volume.log_volume) & (volume.log_volume < high))
    low, high = cr.sketched_volume(np.zeros((2, 80)), S, repeats=8).interval()
    assert np.isneginf([low, high]).all()
    for call in (found.interval, volume.interval, cr.sketched_volume(B, 30, rng=0).interval):
        for wrong in (0, 1, 95, "0.9", None):
            with pytest.raises(cr.ArgumentError, match="'confidence' parameter of interval must be a number between 0"):
                call(wrong)


@pytest.mark.parametrize("rng", ["0", 1.5, -1, [0.5], True])
def test_a_seed_is_one_even_where_a_sketch_has_its_own(rng):
    A = np.eye(2, 6)
    with pytest.raises(cr.ArgumentError, match="'rng' parameter of sketched_volume must be"):
        cr.sketched_volume(A, cr.SJLT(3, 6, rng=0), rng=rng)
