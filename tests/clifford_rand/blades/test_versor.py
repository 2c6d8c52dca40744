"""Versors by their vectors: they agree with multivectors, with Householder's QR of SciPy, and with their own laws."""

import tracemalloc

import numpy as np
import pytest
import scipy.linalg
from scipy import sparse

import clifford_rand as cr
from clifford_rand.blades import blocks
from support.refusals import refused

pytestmark = pytest.mark.usefixtures("small_blocks")


def multivector(rows):
    alg = cr.Algebra(rows.shape[1])
    V = alg.scalar(1.0)
    for row in rows:
        V = V * alg.vector(row)
    return V


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("k", [0, 1, 2, 3, 4, 7])
def test_agreement_with_multivectors(k, d):
    rng = np.random.default_rng(10 * d + k)
    rows, more, X = rng.standard_normal((k, d)), rng.standard_normal((2, d)), rng.standard_normal((3, d))
    V, W = cr.LargeVersor(rows), cr.LargeVersor(more)
    R, S = multivector(rows), multivector(more)
    alg = R.algebra
    assert V.is_even() == (k % 2 == 0)
    for versor, product in [(V, R), (V * W, R * S), (~V, ~R), (V.reverse(), ~R), (V.inv(), R.inv()), (W * ~V, S * ~R)]:
        np.testing.assert_allclose(versor >> X, (product >> alg.vector(X)).values, atol=1e-12)
        np.testing.assert_allclose(versor.vector_matrix(), product.vector_matrix(), atol=1e-12)
        np.testing.assert_allclose(versor.log_norm(), np.log(product.norm()), atol=1e-12)
    reflected = multivector(rows).involute() * alg.vector(X) * R.inv()
    np.testing.assert_allclose(V.sandwich(X, twisted=True), reflected.part((1,)).values, atol=1e-11)
    grade = min(2, d)
    A = cr.Blade(X[:grade])
    expected = R >> A.to_multivector()  # the sign of each vector counts
    assert (V >> A).to_multivector().isclose(expected, rtol=1e-11)
    assert (V >> cr.LargeBlade(X[:grade])).to_blade().to_multivector().isclose(expected, rtol=1e-11)
    np.testing.assert_allclose((V >> W).vector_matrix(), (R * S * R.inv()).vector_matrix(), atol=1e-11)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 9, 10, 40])
@pytest.mark.parametrize("determinant", [1, -1])
def test_orthogonal_matrices_and_back(d, determinant):
    F = cr.random_rotation(d, rng=d)
    F[0] *= determinant
    V = cr.LargeVersor.from_vector_matrix(F, twisted=True)
    np.testing.assert_allclose(V.vector_matrix(twisted=True), F, atol=1e-13)
    assert V.n_vectors == np.linalg.matrix_rank(F - np.eye(d))
    assert V.is_even() == (determinant == 1)
    if determinant == 1 or d % 2 == 0:
        np.testing.assert_allclose(cr.LargeVersor.from_vector_matrix(F).vector_matrix(), F, atol=1e-13)
    else:
        refused("determinant -1", lambda: cr.LargeVersor.from_vector_matrix(F))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [0, 1, 2, 5, 30])
def test_as_few_vectors_as_reflections(k, dtype):
    d = 300
    F = cr.LargeVersor(np.random.default_rng(k).standard_normal((k, d))).vector_matrix(twisted=True).astype(dtype)
    V = cr.LargeVersor.from_vector_matrix(F, twisted=True)
    assert (V.n_vectors, V.dtype) == (k, dtype)
    np.testing.assert_allclose(V.vector_matrix(twisted=True), F, atol=20 * np.finfo(dtype).eps)


def test_equal_to_householder_reflections_of_scipy():
    """Q of a QR factorization is a product of its reflectors."""
    rng = np.random.default_rng(0)
    d, k = 400, 30
    (packed, tau), _ = scipy.linalg.qr(rng.standard_normal((d, k)), mode="raw")
    reflectors = np.tril(packed, -1) + np.eye(d, k)
    X = rng.standard_normal((20, d))
    lapack = scipy.linalg.lapack.dormqr("L", "N", packed, tau, X.T, 64 * d)[0].T
    np.testing.assert_allclose(cr.LargeVersor(reflectors.T).sandwich(X, twisted=True), lapack, atol=1e-13)


@pytest.mark.parametrize("same", [False, True])
def test_lengths_and_volumes_stay(same):
    """Also where all vectors are nearly the same one, so that their Gram matrix is singular to rounding."""
    rng = np.random.default_rng(1)
    d, k = 500, 60
    rows = rng.standard_normal((k, d))
    if same:
        rows = rows[:1] + 1e-9 * rows
    V, X = cr.LargeVersor(rows), rng.standard_normal((5, d))
    moved = V >> X
    np.testing.assert_allclose(moved @ moved.T, X @ X.T, atol=1e-11)
    np.testing.assert_allclose(V.inv() >> moved, X, atol=1e-11)
    A, B = cr.LargeBlade(X[:2]), cr.LargeBlade(X[2:4])
    np.testing.assert_allclose((V >> A).inner(V >> B), A.inner(B), rtol=1e-9)
    assert ((V >> A) ^ (V >> B)).grade == 4


@pytest.mark.parametrize("kind", ["float32", "memory map", "csr", "list"])
def test_kinds_of_rows(kind, rows_of):
    rng = np.random.default_rng(2)
    rows, X = rows_of(kind, rng.standard_normal((6, 60)))
    V, exact, Y = cr.LargeVersor(rows), cr.LargeVersor(X), rng.standard_normal((4, 60))
    assert V.dtype == (np.float32 if kind in ("float32", "memory map") else np.float64)
    np.testing.assert_allclose(V >> Y, exact >> Y, atol=1e-13)  # vectors of float64 stay so
    np.testing.assert_allclose(V >> Y.astype(np.float32), exact >> Y.astype(np.float32), atol=2e-6)
    out = np.empty((4, 60))
    assert V.sandwich(Y, out=out) is out
    np.testing.assert_array_equal(out, V >> Y)
    np.testing.assert_allclose((V >> sparse.csr_array(Y)), exact >> Y, atol=1e-13)
    np.testing.assert_allclose((V >> cr.LargeBlade(rows)).log_norm(), cr.LargeBlade(X).log_norm(), atol=1e-12)


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e300])
def test_vectors_of_every_length(size):
    rows = np.random.default_rng(3).standard_normal((4, 30))
    V = cr.LargeVersor(rows * [[size], [1], [size], [1]])
    np.testing.assert_allclose(V.vector_matrix(), cr.LargeVersor(rows).vector_matrix(), atol=1e-13)
    np.testing.assert_allclose(V.log_norm() - 2 * np.log(size), cr.LargeVersor(rows).log_norm(), atol=1e-11)
    np.testing.assert_allclose((V * V.inv()).log_norm(), 0, atol=1e-11)


def test_memory_and_operations(monkeypatch):
    """Blocks alone are held, and vectors are multiplied twice: once by the versor's, once by their combinations."""
    monkeypatch.undo()
    monkeypatch.setattr(blocks, "BLOCK", 2**14)
    rng = np.random.default_rng(4)
    d, k, n = 100_000, 10, 8
    V, X, out = cr.LargeVersor(rng.standard_normal((k, d))), rng.standard_normal((n, d)), np.empty((n, d))
    V.log_norm()
    taken = []
    take = blocks.Dense.take
    monkeypatch.setattr(blocks.Dense, "take", lambda self, c: taken.append(self.shape[0]) or take(self, c))
    tracemalloc.start()
    V.sandwich(X, out=out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**21
    assert len(taken) <= 4 * (d // (2**14 // (2 * n + 2 * k + n)) + 1)


def test_refusals():
    V = cr.LargeVersor(np.eye(2, 4))
    refused("vector 1, which is 0", lambda: cr.LargeVersor([[1, 0], [0, 0]]).norm())
    refused("finite", lambda: cr.LargeVersor([[1, np.nan]]).norm())
    refused("of shape", lambda: cr.LargeVersor([1, 2]))
    refused("real numbers", lambda: cr.LargeVersor([["a"]]))
    refused("of 4 dimensions", lambda: V * cr.LargeVersor(np.eye(2, 5)))
    refused("of 4 dimensions", lambda: V >> np.eye(3))
    refused("finite", lambda: V >> [[1, np.inf, 0, 0]])
    refused("Euclidean metric", lambda: V >> cr.Blade(np.eye(2, 4), cr.Algebra(3, 1)))
    refused("Euclidean metric", lambda: V >> cr.Blade(np.eye(2, 4), cr.Algebra(3, 0, 1)))
    refused("orthogonal matrix", lambda: cr.LargeVersor.from_vector_matrix(np.ones((3, 3))))
    refused("of shape", lambda: cr.LargeVersor.from_vector_matrix(np.ones((3, 2))))
    refused("twisted", lambda: V.sandwich(np.eye(4), twisted=1))
    with pytest.raises(TypeError):
        V * 2
    with pytest.raises(TypeError):
        np.eye(4) * V
