"""Products with the kernel by tiles against the whole matrix, and one factor of it against an inverse and refits."""

import numpy as np
import pytest

from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.large_n.cholesky_fit import KernelFactor, left_out
from clifford_rand_nn.kernel_network.large_n.tiles import KernelTiles

KERNELS = (GateKernel(bias=0.7), GateKernel(angle=np.random.default_rng(3).standard_normal((4, 4))))


def rows(n, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("n", [3, 256, 700, 1300])
def test_products_are_those_of_the_matrix(kernel, dtype, rtol, n):
    X, V = rows(n), np.random.default_rng(1).standard_normal((n, 3))
    K, tiles = kernel(X), KernelTiles(kernel, X, dtype)
    size = np.abs(K) @ np.abs(V)
    assert (np.abs(tiles.multiply(V) - K @ V) <= rtol * size).all()
    new = rows(37, seed=2)
    there = kernel(new, X)
    assert (np.abs(tiles.multiply_from(new, V) - there @ V) <= rtol * (np.abs(there) @ np.abs(V))).all()
    np.testing.assert_allclose(tiles.matrix_from(new), there, rtol=0, atol=rtol * np.abs(there).max())
    whole = np.full((n, n), np.nan, dtype)
    tiles.fill_upper(whole)
    upper = np.triu_indices(n)
    np.testing.assert_allclose(whole[upper], K[upper], rtol=0, atol=10 * rtol * np.abs(K).max())
    np.testing.assert_allclose(tiles.diagonal(), np.diag(K), rtol=rtol)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-9), (np.float32, 3e-4)])
def test_factor_solves_and_has_the_diagonal_of_the_inverse(dtype, rtol):
    n, kernel = 700, GateKernel(bias=1.0)
    X, b = rows(n), np.random.default_rng(1).standard_normal((n, 2))
    radius = np.random.default_rng(2).uniform(0.5, 2.0, n)
    inverse = np.linalg.inv(kernel(X) + np.diag(radius))
    factor = KernelFactor(KernelTiles(kernel, X, dtype))
    assert factor.factorize(radius)
    size = np.abs(inverse @ b).max()
    np.testing.assert_allclose(factor.solve(b), inverse @ b, rtol=0, atol=rtol * size)
    np.testing.assert_allclose(factor.inverse_diagonal(150), np.diag(inverse)[-150:], rtol=rtol)
    np.testing.assert_allclose(factor.inverse_diagonal(), np.diag(inverse), rtol=rtol)
    np.testing.assert_allclose(factor.solve(b), inverse @ b, rtol=0, atol=rtol * size)  # now by the inverse factor
    assert factor.factorize(10 * radius)
    again = np.linalg.solve(kernel(X) + np.diag(10 * radius), b)
    np.testing.assert_allclose(factor.solve(b), again, rtol=0, atol=rtol * np.abs(again).max())


def test_a_matrix_that_is_not_positive_is_told():
    factor = KernelFactor(KernelTiles(GateKernel(), rows(50)))
    assert not factor.factorize(np.full(50, -1.0))


def test_leaving_one_out_by_the_factor_is_a_refit():
    n, kernel, rng = 60, GateKernel(bias=1.0), np.random.default_rng(4)
    X, y, radius = rows(n), rng.standard_normal((n, 2)), rng.uniform(0.1, 1.0, n)

    def fit(kept):
        A = np.zeros((len(kept) + 1, len(kept) + 1))
        A[:-1, :-1] = kernel(X[kept]) + np.diag(radius[kept])
        A[-1, :-1] = A[:-1, -1] = 1.0
        return np.linalg.solve(A, np.vstack([y[kept], np.zeros((1, 2))]))

    factor = KernelFactor(KernelTiles(kernel, X))
    assert factor.factorize(radius)
    alpha = fit(np.arange(n))[:-1]
    found = left_out(alpha, factor.inverse_diagonal(20), factor.solve(np.ones((n, 1)))[:, 0])
    for i in range(n - 20, n):
        kept = np.delete(np.arange(n), i)
        at = fit(kept)
        refit = kernel(X[i : i + 1], X[kept]) @ at[:-1] + at[-1]
        np.testing.assert_allclose(y[i] - found[i - n + 20], refit[0], atol=1e-8)
