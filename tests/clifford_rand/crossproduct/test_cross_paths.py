"""Closed form, LAPACK and kernel, each forced, against the definition and one another; the rule that chooses."""

import importlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from clifford_rand.crossproduct.exact import cross_log
from clifford_rand.crossproduct.factor import by_lapack, to_direction, to_value
from clifford_rand.crossproduct.paths import by_closed_form, by_kernel, choose_path, default_rtol, ordinary_pairs
from support.geometry import gaussian


def batch(seed, m, d, dtype=np.float64):
    """Return X (n, d) and an index (m, d-1) of distinct rows in random order."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2 * d + 3, d)).astype(dtype)
    return X, np.stack([rng.permutation(len(X))[: d - 1] for _ in range(m)]).astype(np.int64)


PATHS = {"closed": by_closed_form, "lapack": by_lapack, "kernel": by_kernel}
CASES = [("closed", d) for d in (1, 2, 3)] + [(name, d) for name in ("lapack", "kernel") for d in range(2, 9)]


@pytest.mark.parametrize(("name", "d"), CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_definition(name, d, dtype, by_minors):
    X, index = batch(d, 40, d, dtype)
    value = to_value(PATHS[name](X, index, default_rtol(d, np.dtype(dtype))))
    expected = by_minors(X[index].astype(np.float64))
    assert value.dtype == dtype
    error = np.abs(value - expected).max(axis=1) / np.abs(expected).max(axis=1)
    assert error.max() < 1e4 * np.finfo(dtype).eps


@pytest.mark.parametrize("d", [12, 50, 130])
@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
def test_kernel_equals_lapack(d, dtype):
    X, index = batch(d, 90, d, dtype)
    rtol = default_rtol(d, np.dtype(dtype))
    (u, log_u), (v, log_v) = (to_direction(path(X, index, rtol)) for path in (by_kernel, by_lapack))
    assert np.abs(u - v).max() < 3e5 * np.finfo(dtype).eps  # condition number times eps; signs included
    np.testing.assert_allclose(log_u, log_v, rtol=1e4 * np.finfo(dtype).eps, atol=1e4 * np.finfo(dtype).eps)


WIDE = [("closed", 2), ("closed", 3), *((name, d) for name in ("lapack", "kernel") for d in (3, 4, 7, 30, 90))]


@pytest.mark.parametrize(("name", "d"), [*WIDE, ("lapack", 200)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rank_deficient_rows_leave_the_others_alone(name, d, dtype):
    """Proportional rows (at d = 2 zero), a zero row, a sum, rows of rank d-2 and (d-1)//2; and a matrix without any."""
    A = gaussian(d, 6, d - 1, d)
    A[0, -1] = 3.7 * A[0, 0] if d > 2 else 0
    A[1, d // 2 - 1] = 0
    A[2, -1] = A[2, :-1].sum(axis=0)
    for i, rank in ((3, d - 2), (4, (d - 1) // 2)):
        A[i] = gaussian(d, d - 1, rank) @ gaussian(d + 1, rank, d)
    for scale in (1, 1e-30, 1e30):
        X = (scale * A).astype(dtype).reshape(-1, d)
        index = np.arange(len(X)).reshape(6, d - 1)
        direction, log_norm = to_direction(PATHS[name](X, index, default_rtol(d, np.dtype(dtype))))
        assert not direction[:5].any()
        assert np.all(log_norm[:5] == -np.inf)
        assert not to_value(PATHS[name](X, index[:5], default_rtol(d, np.dtype(dtype)))).any()
        alone, log_alone = to_direction(PATHS[name](X, index[5:], 1e-14))
        np.testing.assert_allclose(direction[5:], alone, rtol=0, atol=1e-6)
        np.testing.assert_allclose(log_norm[5:], log_alone, rtol=1e-5)


@pytest.mark.parametrize(("name", "d"), WIDE)
def test_extreme_scales_on_every_path(name, d):
    """Of all rows, and of the first; at 2^-1060 there are 14 bits left."""
    A = gaussian(d, 7, d - 1, d)
    index = np.arange(7 * (d - 1)).reshape(7, d - 1)

    def product(A):
        return to_direction(PATHS[name](A.reshape(-1, d), index, 1e-14))

    u, log_u = product(A)
    for power in (-1060, -600, 600, 1020):
        atol, rtol = (1e-2, 1e-3) if power == -1060 else (1e-12, 1e-13)
        for rows in (d - 1, 1):
            scaled = A.copy()
            scaled[:, :rows] = np.ldexp(A[:, :rows], power)
            v, log_v = product(scaled)
            np.testing.assert_allclose(v, u, rtol=0, atol=atol * (1 if d < 90 else 1e2))
            np.testing.assert_allclose(log_v, log_u + rows * power * np.log(2), rtol=rtol)


@pytest.mark.parametrize("name", ["lapack", "kernel"])
def test_chunks_and_threads_cover_the_batch(name, monkeypatch):
    monkeypatch.setattr("clifford_rand._threads.cpu_count", lambda: 3)
    monkeypatch.setattr("clifford_rand.crossproduct.factor._CHUNK_BYTES", 300 * 39 * 40 * 8)
    X, index = batch(1, 1001, 40)
    value = to_value(PATHS[name](X, index, 1e-14))
    for b in (0, 299, 300, 333, 334, 667, 668, 1000):
        alone = to_value(PATHS[name](X, index[b : b + 1], 1e-14))[0]
        np.testing.assert_allclose(value[b], alone, rtol=0, atol=1e-12 * np.abs(alone).max())
    assert np.isfinite(value).all()


def test_lapack_leaves_the_number_of_blas_threads_as_it_was():
    controller = pytest.importorskip("threadpoolctl").ThreadpoolController()
    before = [library["num_threads"] for library in controller.info()]
    X, index = batch(0, 12, 150)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: by_lapack(X, index, 1e-14), range(16)))
    assert [library["num_threads"] for library in controller.info()] == before


@pytest.mark.parametrize("name", PATHS)
def test_empty_batch_on_every_path(name):
    vector, exponent = PATHS[name](np.ones((4, 3)), np.empty((0, 2), np.int64), 1e-14)
    assert vector.shape == (0, 3)
    assert exponent.shape == (0,)


def both_ways(X, index, monkeypatch):
    """The pairs of rows by NumPy and by the kernel."""
    importlib.import_module("clifford_rand.crossproduct.null_vectors")  # from now on the kernel is taken
    rtol = default_rtol(3, X.dtype)
    by_kernel = ordinary_pairs(X, index, rtol)
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "clifford_rand.crossproduct.null_vectors")
        return ordinary_pairs(X, index, rtol), by_kernel


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("m", [1, 40, 2**15])
def test_pairs_are_numpys_cross_bit_for_bit_both_ways(dtype, m, monkeypatch):
    X = np.random.default_rng(m).standard_normal((2 * m, 3)).astype(dtype)
    X.setflags(write=False)
    index = np.random.default_rng(m + 1).integers(0, 2 * m, (m, 2))
    index[0, 1] = index[0, 0]  # dependent
    for chosen, first, second in ((None, X[::2], X[1::2]), (index, X[index[:, 0]], X[index[:, 1]])):
        expected = np.cross(first, second)
        if chosen is not None:
            expected[index[:, 0] == index[:, 1]] = 0.0
        for found in both_ways(X, chosen, monkeypatch):
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("entry", [np.nan, np.inf, 1e200, -1e-200])
def test_pairs_of_rows_out_of_the_ordinary_are_left_to_the_way_that_scales(entry, monkeypatch):
    X = np.ones((4, 3)) + np.eye(4, 3)
    X[3] = [entry, 0, 0]
    assert both_ways(X, None, monkeypatch) == (None, None)


def test_nearly_parallel_pairs_are_dependent_both_ways(monkeypatch):
    """(1, t, 0) and (1, 0, 0) have the product -t e3, which is 0 up to 4 eps by default."""
    eps = np.finfo(float).eps
    X = np.array([[1.0, 3 * eps, 0], [1, 0, 0], [1, 5 * eps, 0], [1, 0, 0]])
    for found in both_ways(X, None, monkeypatch):
        np.testing.assert_array_equal(found[:, 2], [0.0, -5 * eps])


def test_rule_of_choice():
    assert choose_path(1, 1) == choose_path(3, 10**6) == "closed"
    assert choose_path(4, 1) == choose_path(100, 256) == choose_path(1000, 10**4) == "lapack"
    assert choose_path(4, 10**5) == choose_path(64, 4096) == "kernel"


def test_small_work_neither_loads_nor_compiles_numba():
    code = (
        "import sys, numpy as np, clifford_rand as cr; cr.cross(np.eye(6)[:5]); cr.cross_log(np.ones((300, 9, 10)));"
        "cr.cross_many(np.eye(6), [[0, 1, 2, 3, 4]]); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("power", [-17, -16, 0, 16, 17])
def test_rows_are_scaled_past_tame_peaks_only_and_it_never_shows(power, dtype):
    """On both sides of the bound at which rows are scaled first, the product of rows times 2^p is exact in p."""
    A = np.random.default_rng(0).standard_normal((40, 41)).astype(dtype)
    plain, scaled = cross_log(A), cross_log(np.ldexp(A, power))
    np.testing.assert_array_equal(plain.direction, scaled.direction)
    expected = float(plain.log_norm) + 40 * power * np.log(2)
    assert float(scaled.log_norm) == pytest.approx(expected, rel=float(np.finfo(dtype).eps) * 160)
