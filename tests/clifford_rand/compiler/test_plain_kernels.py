"""What takes the place of a kernel where there is no Numba computes what the kernel computes."""

import sys

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.compiler import loops
from clifford_rand.compiler.loops import LazyLoop
from clifford_rand.crossproduct import null_vectors, paths
from clifford_rand.plans import kernels, table_plan
from clifford_rand.plans.table_plan import TablePlan
from clifford_rand.sketch import dense, sparse
from clifford_rand_nn.kernel_network import kernel_functions
from clifford_rand_nn.problems import loss_functions
from clifford_rand_nn.shards import scan

precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def normal(seed, *shape, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def close(actual, expected, roundings=50):
    assert actual.dtype == expected.dtype
    size = np.abs(expected).max()
    np.testing.assert_allclose(actual, expected, rtol=0, atol=roundings * np.finfo(expected.dtype).eps * size)


def without(monkeypatch, *modules):
    for module in modules:
        monkeypatch.setattr(module, "has_compiler", lambda: False)


@precisions
@pytest.mark.parametrize(("n", "d"), [(1, 4), (3, 6), (1, 8), (300, 5)])
def test_wedge_products(dtype, n, d, monkeypatch):
    """Halves one after the other, and together."""
    without(monkeypatch, kernels)
    alg = cr.Algebra(d)
    keys = alg.multivector(np.ones(2**d)).keys
    order = np.argsort(keys.masks)
    a, b = normal(d, 2, n, 2**d, dtype=dtype)
    expected = TablePlan(alg.form, "wedge", keys, keys)(a, b)
    for together in (1, 2**12):
        monkeypatch.setattr(kernels, "_TOGETHER", together)
        product = kernels.wedge_products(a[:, order], b[:, order])
        close(product, expected[:, order])


def test_exchange_of_a_row():
    B, x = normal(0, 6, 6), normal(1, 6)
    columns = np.linalg.inv(B).T.copy()
    before = columns.copy()
    assert null_vectors._exchange_by_numpy(x, 2, 10.0, columns) == 0
    np.testing.assert_array_equal(columns, before)
    ratio = null_vectors._exchange_by_numpy(x, 2, 1e-9, columns)
    after = B.copy()
    after[2] = x
    assert ratio == pytest.approx(np.linalg.det(after) / np.linalg.det(B))
    close(columns.T, np.linalg.inv(after), 1e4)


@precisions
def test_many_crosses(dtype, monkeypatch):
    without(monkeypatch, paths)
    monkeypatch.setitem(sys.modules, "clifford_rand.crossproduct.null_vectors", None)  # whose import fails
    pairs, rows = normal(0, 2**16, 3, dtype=dtype), normal(1, 12, 4, dtype=dtype)
    index = np.arange(2**16).reshape(-1, 2)
    np.testing.assert_array_equal(cr.cross_many(pairs, index), np.cross(pairs[::2], pairs[1::2]))
    index = np.tile(np.arange(12).reshape(-1, 3), (1000, 1))
    crosses = cr.cross_many(rows, index)
    close(crosses[:4], np.stack([cr.cross(rows[i]) for i in index[:4]]), 1e3)
    np.testing.assert_array_equal(crosses, np.tile(crosses[:4], (1000, 1)))


def test_sketches_of_many_rows(monkeypatch):
    without(monkeypatch, sparse, dense)
    monkeypatch.setattr(sparse, "KERNEL_FROM", 2**10)
    monkeypatch.setattr(dense, "_KERNEL_FROM", 2**10)
    monkeypatch.setitem(sys.modules, "clifford_rand.sketch.kernels", None)
    X = normal(0, 80, 100)
    for S in (cr.SJLT(30, 100, rng=0), cr.SparseSign(30, 100, rng=0), cr.SRHT(30, 100, rng=0)):
        for actual, expected in ((X @ S.T, X @ S.toarray().T), (S @ X.T, S.toarray() @ X.T)):
            close(actual, expected)
        close(X[:, :30] @ S, X[:, :30] @ S.toarray())


def test_products_of_large_batches(monkeypatch):
    without(monkeypatch, table_plan, loops)
    monkeypatch.setattr(table_plan, "LOAD", 0)
    monkeypatch.setattr(table_plan, "LOAD_KERNEL", 0)
    monkeypatch.setattr(LazyLoop, "is_due", lambda self, nanoseconds: True)
    alg = cr.Algebra(3)
    A, B = (alg.multivector(normal(k, 600, 8)) for k in range(2))
    product = A * B
    for k in range(0, 600, 97):
        assert product[k].isclose(A[k] * B[k])


def test_a_loop_that_is_due_stays_numpys(monkeypatch):
    without(monkeypatch, loops)

    @cr.fused
    def turned(R, B):
        return (R >> B).exp()  # of sines and cosines, that are compiled at once where that can be

    alg = cr.Algebra(3)
    R, B = alg.vector(normal(0, 700, 3)).normalized() * alg.e1, alg.bivector(normal(1, 700, 3))
    assert np.all(turned(R, B).isclose((R >> B).exp()))
    assert "numba" in turned.backend


def test_sums_along_rays():
    f, y, w = normal(0, 300) * np.geomspace(1e-3, 1e3, 300), np.sign(normal(1, 300)), np.abs(normal(2, 300))
    scales = np.array([1e-6, 0.3, 1.0])
    theta, expected_theta = np.empty(300), np.empty(300)
    expected = loss_functions.logistic_rays(f, y, w, scales, expected_theta)
    np.testing.assert_allclose(loss_functions._rays_by_numpy(f, y, w, scales, theta), expected, rtol=1e-12)
    np.testing.assert_allclose(theta, expected_theta, rtol=1e-13)


@precisions
def test_kernel_matrices(dtype, monkeypatch):
    rows = normal(0, 40, 5, dtype=dtype)
    rows[7], rows[8], rows[9], rows[10] = rows[3], -rows[3], 0, rows[3] * dtype(1 + 1e-5)
    rows[11] = rows[3] + dtype(1e-6) * rows[4]
    lengths = np.linalg.norm(rows, axis=1)
    inner = rows @ rows.T

    def computed():
        shares, own, cosines = inner.copy(), inner.copy(), inner.copy()
        kernel_functions.arc_of_rows(shares, rows, rows, lengths, lengths)
        return shares, *kernel_functions.slope_factors(own, cosines, lengths, lengths), own, cosines

    expected = computed()
    without(monkeypatch, kernel_functions)
    for name in ("_near", "_near_shares", "_turning"):
        monkeypatch.setattr(kernel_functions, name, getattr(kernel_functions, f"{name}_by_numpy"))
    names = ("shares", "factors", "rates", "slopes", "cosines")
    for name, actual, value in zip(names, computed(), expected, strict=True):
        # shares are exact for near rows; slopes there divide by a sine that is not
        tolerance = 1e-3 if name in ("slopes", "cosines") else 8 * np.finfo(dtype).eps * max(1.0, np.abs(inner).max())
        np.testing.assert_allclose(actual, value, rtol=tolerance, atol=tolerance, err_msg=name)


@precisions
def test_passes_over_shards(dtype):
    X, w = normal(0, 9, 4, dtype=dtype), np.abs(normal(1, 9))
    sums, squares, lengths = np.ones(4), np.ones(4), np.empty(9)
    scan._add_moments_by_numpy(X, w, sums, squares, lengths)
    np.testing.assert_allclose(sums, 1 + w @ X.astype(float), rtol=1e-14)
    np.testing.assert_allclose(squares, 1 + w @ X.astype(float) ** 2, rtol=1e-14)
    np.testing.assert_allclose(lengths, (X.astype(float) ** 2).sum(axis=1), rtol=1e-14)
    half, spread = X.astype(np.float16), np.empty((9, 5), dtype)
    scan._spread_bits_by_numpy(half.view(np.uint16), 2.0, spread)
    np.testing.assert_array_equal(spread, np.column_stack([half, np.full(9, 2.0)]))
