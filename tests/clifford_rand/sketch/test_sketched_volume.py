"""Sketched cross products, wedges, stars, inner products, volumes and distances: the statements of their docstrings."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import stdtrit

import clifford_rand as cr
from clifford_rand import SJLT, GaussianSketch, SparseSign
from clifford_rand.sketch.inner import SketchedVolume, log_volume_moments, mean_interval
from support.geometry import gaussian
from support.pairwise import pairwise
from support.refusals import refused
from support.sketches import MAKERS, drawn

KNOWN = [kind for kind in MAKERS if kind != "SJLT2"]  # of which the mean of the minors is known
makers = pytest.mark.parametrize("kind", KNOWN)
normalized = pytest.mark.parametrize("normalize", [False, True])


@pytest.mark.parametrize("s", [1, 2])
def test_cross_by_its_definition_and_of_plain_matrices(s):
    sketches = (SJLT(4, 9, s, rng=seed) for seed in range(100))
    S = next(S for S in sketches if np.linalg.matrix_rank(S.toarray()) == 4)  # with s = 2 rows may be dependent
    A, x = gaussian(0, 3, 9), gaussian(1, 9)
    v = cr.sketched_cross(A, S)
    np.testing.assert_allclose(v, S.toarray().T @ cr.cross(A @ S.toarray().T), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(cr.sketched_cross(A, S.toarray()), v, rtol=1e-12, atol=1e-13)
    rows = np.vstack([x, A]) @ S.toarray().T
    size = np.linalg.norm(rows, axis=1).prod()  # Hadamard: what rounding of a determinant is relative to
    np.testing.assert_allclose(x @ v, np.linalg.det(rows), rtol=1e-10, atol=1e-13 * size)
    np.testing.assert_allclose(cr.sketched_cross(A, S, normalize=True), v / np.linalg.norm(v), rtol=1e-12, atol=1e-13)
    A = gaussian(0, 5, 6)
    np.testing.assert_allclose(cr.sketched_cross(A, np.eye(6)), cr.cross(A), rtol=1e-13)


@pytest.mark.parametrize(("r", "d", "dtype", "tol"), [(400, 1000, "f8", 1e-9), (100, 384, "f4", 1e-3)])
def test_large_sketches_do_not_overflow_when_normalized(r, d, dtype, tol):
    A = gaussian(0, r - 1, d).astype(dtype)
    v = cr.sketched_cross(A, SJLT(r, d, rng=0), normalize=True)
    assert v.dtype == dtype
    assert np.abs(A @ v).max() < tol


@normalized
def test_cross_of_rank_deficient_rows_is_zero(normalize):
    A = gaussian(0, 2, 4, 20)
    A[1, 2] = 2 * A[1, 0]
    v = cr.sketched_cross(A, SJLT(5, 20, rng=0), normalize=normalize)
    assert v[0].any()
    assert not v[1].any()


def test_sketch_that_misses_the_orthogonal_direction_gives_zero_not_rounding_noise():
    # S has rank 2: the vector of R^3 orthogonal to two sketched rows is orthogonal to the range of S: Sᵀ maps it to 0
    for dtype, seed in itertools.product((np.float64, np.float32), range(0, 120, 4)):
        A = gaussian(seed, 4, 2, 7).astype(dtype)
        S = (gaussian(seed + 1, 3, 2) @ gaussian(seed + 2, 2, 7)).astype(dtype)
        for scale in (1.0, 1e-30):
            assert not cr.sketched_cross(A, S * dtype(scale), normalize=True).any()
        near = S + 1e-2 * gaussian(seed + 3, 3, 7).astype(dtype)
        v = cr.sketched_cross(A, near, normalize=True)
        np.testing.assert_allclose(np.linalg.norm(v, axis=-1), 1, rtol=1e-6)


def test_a_sketch_with_a_small_row_has_full_rank_whatever_its_width():
    S = (gaussian(0, 3, 50_000) * np.array([[1], [1], [1e-4]])).astype(np.float32)
    v = cr.sketched_cross(gaussian(1, 2, 50_000).astype(np.float32), S, normalize=True)
    np.testing.assert_allclose(np.linalg.norm(v), 1, rtol=1e-6)


@makers
def test_inner_product_of_one_sketch_by_its_definition(kind):
    S, A, B = MAKERS[kind](4, 7, 3), gaussian(0, 2, 7), gaussian(1, 2, 7)
    estimate = cr.sketched_inner(A, B, S)
    direct = np.linalg.det(A @ S.toarray().T @ S.toarray() @ B.T) / math.exp(S.log_minor_constant(2))
    np.testing.assert_allclose(estimate.value, direct, rtol=1e-10, atol=1e-13)
    assert np.isnan(estimate.relative_error)


def test_variance_of_the_gaussian_inner_product():
    # Sample variances of N = 20,000 have relative standard deviations √((kurtosis-1)/N) < 0.06 here; 5 of them.
    r, k, d = 12, 3, 20
    A, B = gaussian(0, k, d), gaussian(1, k, d) + gaussian(0, k, d)
    S = gaussian(2, 20_000, r, d) / np.sqrt(r)
    factor = math.exp(GaussianSketch(r, d, rng=0).log_minor_constant(k))
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
    estimates = [cr.sketched_inner(A, B, MAKERS[kind](30, 40, seed), n_repeats=40) for seed in range(20)]
    values, errors = (np.array([getattr(estimate, name) for estimate in estimates]) for name in ("value", "error"))
    if kind == "Leverage":
        low, high = np.array([estimate.interval() for estimate in estimates]).T
        assert np.sum((low > exact) | (high < exact)) < 9
    else:
        assert np.all(np.abs(values - exact) <= 5 * errors)
    assert 0.5 < values.std() / errors.mean() < 2


def test_inner_product_in_batches_scales_and_precisions():
    S = GaussianSketch(60, 80, rng=0)
    A, B = gaussian(0, 4, 1, 3, 80), gaussian(1, 5, 3, 80)
    batch = cr.sketched_inner(A, B, S, n_repeats=3)
    assert batch.value.shape == (4, 5)
    member = cr.sketched_inner(A[2, 0], B[4], S, n_repeats=3)
    np.testing.assert_allclose(member.value, batch.value[2, 4], rtol=1e-9)
    np.testing.assert_allclose(member.error, batch.error[2, 4], rtol=1e-9)
    for scale in (1e150, 1e-150):
        scaled = cr.sketched_inner(scale * A, B, S, n_repeats=3)
        np.testing.assert_allclose(scaled.logabs, batch.logabs + 3 * np.log(scale), rtol=1e-12)
        np.testing.assert_allclose(scaled.relative_error, batch.relative_error, rtol=1e-8)
        assert np.array_equal(scaled.sign, batch.sign)
    single = cr.sketched_inner(A.astype(np.float32), B.astype(np.float32), S, n_repeats=3)
    np.testing.assert_allclose(single.value, batch.value, rtol=0, atol=1e-3 * np.abs(batch.value).max())
    zero = cr.sketched_inner(np.zeros((2, 80)), B[0, :2], S, n_repeats=2)
    assert (zero.value, zero.logabs, zero.error) == (0, -np.inf, 0)
    large = cr.sketched_inner(gaussian(0, 300, 5000), gaussian(0, 300, 5000), SJLT(2000, 5000, rng=0))
    assert 700 < large.logabs < np.inf  # its value is no float64


def test_gaussian_log_volume_has_the_stated_mean_and_variance():
    # N = 4000 logs. The mean is within 5 standard errors but with probability 6e-7; the variance of nearly normal logs
    # has relative standard deviation about √(2/N)·1.5 = 0.034, and is let to differ by 0.2.
    for k, r, d in ((1, 3, 5), (4, 6, 9), (5, 5, 9)):
        A = gaussian(k, k, d) * 1e-3
        mean, variance = log_volume_moments(k, r)
        sketched = A @ (gaussian(k + 1, 4000, r, d) / np.sqrt(r)).swapaxes(1, 2)
        logs = 0.5 * np.linalg.slogdet(sketched @ sketched.swapaxes(1, 2))[1] - 0.5 * np.linalg.slogdet(A @ A.T)[1]
        assert abs(logs.mean() - mean) < 5 * np.sqrt(variance / 4000)
        assert abs(logs.var() / variance - 1) < 0.2


@makers
def test_volume_within_its_error(kind):
    # 12 seeds, 5 standard errors each: Gaussian 6e-7 a seed; the others Student's t of 19 degrees, 8e-5 a seed. Of
    # sampling by scores that are not A's the rows with a small probability weigh much, and most samples miss them: 5
    # errors are passed by 1 in 170. Its intervals of 0.95 cover 0.917: 7 of 12 that do not have probability 2e-5.
    A = gaussian(0, 4, 64)
    exact = 0.5 * np.linalg.slogdet(A @ A.T)[1]
    estimates = [cr.sketched_volume(A, MAKERS[kind](40, 64, seed), n_repeats=20) for seed in range(12)]
    values, errors = (
        np.array([getattr(estimate, name) for estimate in estimates]) for name in ("log_volume", "log_error")
    )
    if kind == "Leverage":
        low, high = np.array([estimate.interval() for estimate in estimates]).T
        assert np.sum((low > exact) | (high < exact)) < 7
    else:
        assert np.all(np.abs(values - exact) <= 5 * errors)
    assert 0.4 < values.std() / errors.mean() < 2
    S = MAKERS[kind](40, 64, 3)
    sketched = A @ S.toarray().T
    raw = 0.5 * np.linalg.slogdet(sketched @ sketched.T)[1]
    bias = log_volume_moments(4, 40)[0] if kind == "Gaussian" else 0.5 * S.log_minor_constant(4)
    np.testing.assert_allclose(cr.sketched_volume(A, S, n_repeats=1).log_volume, raw - bias, rtol=1e-12)


def test_volume_in_batches_scales_and_precisions():
    A = gaussian(0, 3, 6, 100)
    batch = cr.sketched_volume(A, 50, rng=4)
    assert batch.log_volume.shape == batch.log_error.shape == (3,)
    member = cr.sketched_volume(A[1], GaussianSketch(50, 100, rng=4))
    np.testing.assert_allclose(member.log_volume, batch.log_volume[1])
    for scale in (1e150, 1e-150):
        scaled = cr.sketched_volume(scale * A, 50, rng=4)
        np.testing.assert_allclose(scaled.log_volume, batch.log_volume + 6 * np.log(scale), rtol=1e-12)
    single = cr.sketched_volume(A.astype(np.float32), 50, rng=4)
    np.testing.assert_allclose(single.log_volume, batch.log_volume, rtol=1e-5)
    A[0, 3] = A[0, 1] - 2 * A[0, 2]
    assert np.isneginf(cr.sketched_volume(A, 50, rng=4).log_volume).tolist() == [True, False, False]
    assert np.isneginf(cr.sketched_volume(A[0], SparseSign(50, 100, rng=0), n_repeats=3).log_volume)
    large = gaussian(0, 40, 5000)  # of the seed of the sketch, which draws other numbers
    exact = 0.5 * np.linalg.slogdet(large @ large.T)[1]
    estimate = cr.sketched_volume(large, 400, rng=0, n_repeats=4)
    assert abs(estimate.log_volume - exact) < 5 * estimate.log_error  # 6e-7
    assert estimate.log_error < 0.13


@makers
def test_wedge_is_kept_within_the_embedding(kind):
    # No chance in it: the statement is about the singular values that the sketch turns out to have.
    A, S = gaussian(0, 3, 200), MAKERS[kind](90, 200, 1)
    sketched = cr.sketched_wedge(A, S)
    assert sketched.shape == (3, 90)
    values = np.linalg.svd(np.linalg.svd(A, full_matrices=False)[2] @ S.T, compute_uv=False)
    ratio = np.sqrt(np.linalg.det(sketched @ sketched.T) / np.linalg.det(A @ A.T))
    np.testing.assert_allclose(ratio, values.prod(), rtol=1e-10)
    eps = max(values.max() - 1, 1 - values.min())
    assert (1 - eps) ** 3 <= ratio <= (1 + eps) ** 3


@makers
def test_star(kind):
    for r, d, k in ((1, 4, 0), (2, 5, 1), (4, 9, 0), (4, 9, 2), (5, 9, 2), (5, 9, 3), (6, 8, 5), (20, 60, 7)):
        S, A = MAKERS[kind](r, d, 3), gaussian(r + k, 3, k, d)
        star = cr.sketched_star(A, S)
        assert star.factors.shape == (3, r - k, d)
        assert star.log_norm.shape == (3,)
        for b in range(3):
            v, sketched = star.factors[b], A[b] @ S.T
            assert np.abs(v @ A[b].T).max(initial=0) <= 1e-11 * d  # first proposition
            if np.linalg.matrix_rank(sketched) < k:
                assert not v.any()
                assert np.isneginf(star.log_norm[b])
                continue
            Y = gaussian(b, r - k, d)
            rows = np.concatenate([Y, A[b]]) @ S.T
            value = np.linalg.det(v @ Y.T) * np.exp(star.log_norm[b])
            size = np.linalg.norm(rows, axis=1).prod()  # Hadamard: what rounding of a determinant is relative to
            np.testing.assert_allclose(value, np.linalg.det(rows), rtol=1e-7, atol=1e-12 * size)  # orientation, norm
            if k == r - 1:
                cross = cr.sketched_cross(A[b], S)
                np.testing.assert_allclose(v[0] * np.exp(star.log_norm[b]), cross, rtol=1e-7, atol=1e-9)


def test_star_scales_precisions_and_plain_matrices():
    S, A = SJLT(6, 20, rng=0), gaussian(0, 2, 3, 20)
    star = cr.sketched_star(A, S)
    for scale in (1e150, 1e-150):
        scaled = cr.sketched_star(scale * A, S)
        np.testing.assert_allclose(scaled.log_norm, star.log_norm + 3 * np.log(scale), rtol=1e-12)
        np.testing.assert_allclose(np.abs(scaled.factors @ A.swapaxes(1, 2)), 0, atol=1e-12)
    np.testing.assert_allclose(cr.sketched_star(A, S.toarray()).log_norm, star.log_norm, rtol=1e-12)
    single = cr.sketched_star(A.astype(np.float32), S)
    assert single.factors.dtype == single.log_norm.dtype == np.float32
    np.testing.assert_allclose(single.log_norm, star.log_norm, rtol=1e-5)
    A[1, 2] = A[1, 0] + A[1, 1]
    flat = cr.sketched_star(A, S)
    assert np.isneginf(flat.log_norm).tolist() == [False, True]
    assert not flat.factors[1].any()


def test_nearest_to_span_against_least_squares():
    X, A = gaussian(0, 30, 12), gaussian(1, 4, 12)
    exact = np.array([np.linalg.norm(x - A.T @ np.linalg.lstsq(A.T, x, rcond=None)[0]) for x in X])
    nearest = cr.nearest_to_span(X, A, n_rows=5)
    np.testing.assert_allclose(nearest.estimate, exact, rtol=1e-11)
    assert nearest.rows.tolist() == np.argsort(exact)[:5].tolist()
    np.testing.assert_array_equal(nearest.residual, nearest.estimate[nearest.rows])
    for scale in (1e150, 1e-150):
        np.testing.assert_allclose(cr.nearest_to_span(scale * X, A / scale).estimate, scale * exact, rtol=1e-11)
    assert cr.nearest_to_span(A.sum(axis=0)[None] + 0 * X[:1], A).residual[0] < 1e-14 * np.abs(A).sum()
    dependent = np.vstack([A, A[0] - A[3]])
    np.testing.assert_allclose(cr.nearest_to_span(X, dependent).estimate, exact, rtol=1e-10)
    for nothing in (np.zeros((1, 12)), np.empty((0, 12))):
        np.testing.assert_allclose(cr.nearest_to_span(X, nothing).estimate, np.linalg.norm(X, axis=1))
    single = cr.nearest_to_span(X.astype(np.float32), A.astype(np.float32))
    assert single.estimate.dtype == np.float32
    np.testing.assert_allclose(single.estimate, exact, rtol=1e-5)


@makers
def test_sketched_distances_obey_their_bound(kind):
    # No chance in it: ε is that of the sketch on span(A, x), from its singular values.
    X, A = gaussian(0, 25, 300), gaussian(1, 3, 300)
    S = MAKERS[kind](120, 300, 2)
    exact = cr.nearest_to_span(X, A).estimate
    nearest = cr.nearest_to_span(X, A, S, n_rows=4)
    worst = 0.0
    for x, distance, estimate in zip(X, exact, nearest.estimate, strict=True):
        U = np.linalg.svd(np.vstack([A, x]), full_matrices=False)[2]
        values = np.linalg.svd(U @ S.T, compute_uv=False)
        assert values.min() * distance * (1 - 1e-9) <= estimate <= values.max() * distance * (1 + 1e-9)
        worst = max(worst, values.max() - 1, 1 - values.min())
    assert worst < 1
    np.testing.assert_allclose(nearest.residual, exact[nearest.rows], rtol=1e-10)
    assert nearest.residual[0] <= (1 + worst) / (1 - worst) * exact.min()
    assert np.all(np.diff(nearest.estimate[nearest.rows]) >= 0)


def gaussian_estimates(k, r, cosine, m, n, seed):
    """Return n sets of m estimates (m, n) of the inner product cosine^k of two blades with k equal angles."""
    S = gaussian(seed, m, n, r, 2 * k) / np.sqrt(r)
    left, right = S[..., :k], cosine * S[..., :k] + np.sqrt(1 - cosine**2) * S[..., k:]
    return np.linalg.det(left.swapaxes(-1, -2) @ right) / math.exp(
        GaussianSketch(r, 2 * k, rng=0).log_minor_constant(k)
    )


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


@makers
def test_intervals_of_all_sketches_cover(kind):
    # 200 intervals of 10 estimates each that cover 0.91 or more: fewer than 160 with probability 1e-6, ten of them.
    A, B = gaussian(0, 2, 6), gaussian(0, 2, 6) + 0.3 * gaussian(1, 2, 6)
    maps, log_factor = drawn(kind, 4, 6, 2000), MAKERS[kind](4, 6, 0).log_minor_constant(2)

    def estimates(right):
        sign, log_abs = np.linalg.slogdet((A @ maps.swapaxes(1, 2)) @ (maps @ right.T))
        return sign.reshape(10, 200), log_abs.reshape(10, 200) - log_factor

    low, high, peak = mean_interval(*estimates(B), 0.95, "test")
    exact = np.linalg.det(A @ B.T) * np.exp(-peak)
    assert np.sum((low <= exact) & (exact <= high)) >= 160
    low, high = SketchedVolume(None, None, estimates(A)[1], None, None).interval()
    exact = 0.5 * np.linalg.slogdet(A @ A.T)[1]
    assert np.sum((low <= exact) & (exact <= high)) >= 160


@pytest.mark.parametrize(("k", "r", "m"), [(1, 2, 1), (2, 2, 1), (2, 3, 1), (5, 5, 4), (10, 100, 1)])
def test_intervals_of_gaussian_volumes_have_equal_tails(k, r, m):
    # N = 20,000 draws of the known law (Bartlett); the quantiles are good to 0.012, and 0.005 is 4 standard deviations
    # of a tail of 0.01 or less, 2 of one of 0.25: 0.02 leaves 6.
    logs = 0.5 * np.log(np.random.default_rng(k + r).chisquare(r - np.arange(k), size=(20_000, m, k))).sum(-1).mean(-1)
    mean = log_volume_moments(k, r)[0] + 0.5 * k * np.log(r)
    estimate = cr.sketched_volume(np.eye(k, 200), r, n_repeats=m, rng=0)._replace(log_volume=logs - mean)
    for confidence in (0.5, 0.9, 0.95, 0.99):
        low, high = estimate.interval(confidence)
        tail = (1 - confidence) / 2
        assert abs(np.mean(low > 0) - tail) < 0.02
        assert abs(np.mean(high < 0) - tail) < 0.02


def test_intervals_in_batches_scales_and_at_zero():
    S = SparseSign(30, 80, rng=0)
    A, B = gaussian(0, 4, 1, 3, 80), gaussian(1, 5, 3, 80)
    inner = cr.sketched_inner(A, B, S, n_repeats=9)
    low, high = inner.interval(0.9)
    assert low.shape == high.shape == (4, 5)
    assert np.all((low < inner.value) & (inner.value < high))
    member = cr.sketched_inner(A[2, 0], B[4], S, n_repeats=9).interval(0.9)
    np.testing.assert_allclose(member, (low[2, 4], high[2, 4]), rtol=1e-9)
    wide = inner.interval(0.99)
    assert np.all((wide[0] < low) & (high < wide[1]))
    scaled = cr.sketched_inner(2.0**40 * A, B, S, n_repeats=9).interval(0.9)
    np.testing.assert_allclose(scaled, (2.0**120 * low, 2.0**120 * high), rtol=1e-9)
    assert np.isnan(cr.sketched_inner(A, B, S, n_repeats=7).interval()).all()
    assert cr.sketched_inner(np.zeros((2, 80)), B[0, :2], S, n_repeats=8).interval() == (0, 0)
    volume = cr.sketched_volume(B, S, n_repeats=8)
    low, high = volume.interval()
    assert np.all((low < volume.log_volume) & (volume.log_volume < high))
    assert np.isneginf(cr.sketched_volume(np.zeros((2, 80)), S, n_repeats=8).interval()).all()
    for interval in (inner.interval, volume.interval, cr.sketched_volume(B, 30, rng=0).interval):
        for wrong in (0, 1, 95, "0.9", None):
            refused("'confidence' parameter of interval must be a number between 0", interval, wrong)


S, A, FOUR, NAN = GaussianSketch(3, 8, rng=0), gaussian(0, 2, 8), gaussian(0, 4, 8), np.full((2, 8), np.nan)
MATRIX = r"a sketch or a matrix"
ERRORS = [
    (cr.sketched_cross, (FOUR[:3], S), r"'A' .* \(\.\.\., 2, 8\), r-1 .* shape \(3, 8\)\. Got shape \(3, 8\)"),
    (cr.sketched_cross, (A[:, :7], S), r"Got shape \(2, 7\)"),
    (cr.sketched_cross, (A[0], S), r"Got shape \(8,\)"),
    (cr.sketched_cross, (NAN, S), "'A' parameter of sketched_cross must be finite"),
    (cr.sketched_cross, (A, None), rf"'S' parameter of sketched_cross must be {MATRIX}"),
    (cr.sketched_cross, (A, A[0]), rf"'S' parameter of sketched_cross must be {MATRIX}"),
    (lambda A: cr.sketched_cross(A, S, rtol=2), (A,), "'rtol'"),
    (cr.sketched_inner, (FOUR, A, S), r"'A' .* \(\.\.\., k, 8\) with k ≤ r = 3\. Got shape \(4, 8\)"),
    (cr.sketched_inner, (A, FOUR[:3], S), r"'B' .* \(\.\.\., 2, 8\), as many .*Got shape \(3, 8\)"),
    (cr.sketched_inner, (A, NAN, S), r"'B' parameter of sketched_inner must be finite"),
    (cr.sketched_inner, (1j * A, A, S), r"'A' .* an array of real numbers\. Got dtype complex128"),
    (cr.sketched_inner, (A, A, np.ones((3, 8))), r"'S' parameter of sketched_inner must be a sketch"),
    (lambda A: cr.sketched_inner(A, A, S, n_repeats=0), (A,), r"'n_repeats' .* sketched_inner must be an integer ≥ 1"),
    (cr.sketched_inner, (A, A, SJLT(3, 8, 2)), r"expected minors are known\. .*SparseSign has one"),
    (cr.sketched_volume, (FOUR, 3), r"'A' parameter of sketched_volume .* with k ≤ 3"),
    (cr.sketched_volume, (NAN, 3), r"'A' parameter of sketched_volume must be finite"),
    (cr.sketched_volume, (A, 0), r"'S' parameter of sketched_volume must be an integer ≥ 1"),
    (cr.sketched_volume, (A, np.ones((3, 8))), r"'S' .* must be a sketch, or an integer r for a Gaussian one"),
    (cr.sketched_volume, (A, SJLT(3, 8, 2)), r"'S' parameter of log_minor_constant"),
    (lambda A: cr.sketched_volume(A, 3, rtol=2), (A,), r"'rtol' parameter of sketched_volume"),
    *(
        (lambda A, rng=rng: cr.sketched_volume(A, S, rng=rng), (A,), "'rng' parameter of sketched_volume must be")
        for rng in ("0", 1.5, -1, [0.5], True)
    ),
    (log_volume_moments, (4, 3), r"'r' parameter of log_volume_moments must be an integer ≥ 4"),
    (cr.sketched_wedge, (FOUR, S), r"'A' parameter of sketched_wedge .* k ≤ 3"),
    (cr.sketched_wedge, (A, None), rf"'S' parameter of sketched_wedge must be {MATRIX}"),
    (cr.sketched_star, (FOUR[:3], S), r"'A' parameter of sketched_star .* k ≤ 2"),
    (cr.sketched_star, (A[0], S), r"'A' parameter of sketched_star .* Got shape \(8,\)"),
    (cr.sketched_star, (NAN, S), r"'A' parameter of sketched_star must be finite"),
    (cr.nearest_to_span, (A[:, :5], A), r"'X' parameter of nearest_to_span must be of shape \(n, 8\)"),
    (cr.nearest_to_span, (A, A[0]), r"'A' parameter of nearest_to_span must be of shape \(k, d\)"),
    (lambda A: cr.nearest_to_span(A, A, n_rows=3), (A,), r"'n_rows' .* from 1 to 2\. Got 3 .* no more rows"),
    (cr.nearest_to_span, (NAN, A), r"'X' parameter of nearest_to_span must be finite"),
    (cr.nearest_to_span, (A, FOUR[:3], S), r"'A' parameter of nearest_to_span .* k ≤ 2"),
]


@pytest.mark.parametrize(("function", "arguments", "message"), ERRORS)
def test_errors(function, arguments, message):
    refused(message, function, *arguments)
