"""Products with the kernel by tiles, its share of half-spaces, its factor, and conjugate gradients with them."""

import numpy as np
import pytest

from clifford_rand_nn.kernel_network.cholesky import KernelFactor, left_out
from clifford_rand_nn.kernel_network.kernel_functions import arc_inplace
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.kernel_products import KernelTiles
from clifford_rand_nn.kernel_network.many_rows_problem import solve_with_intercept
from clifford_rand_nn.solvers.iterations import conjugate_gradient

KERNELS = (GateKernel(bias=0.7), GateKernel(frame=np.random.default_rng(3).standard_normal((4, 3))))


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
    assert not factor.factorize(-radius)


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
    found, _ = left_out(alpha, factor.inverse_diagonal(20), factor.solve(np.ones((n, 1)))[:, 0])
    for i in range(n - 20, n):
        kept = np.delete(np.arange(n), i)
        at = fit(kept)
        refit = kernel(X[i : i + 1], X[kept]) @ at[:-1] + at[-1]
        np.testing.assert_allclose(y[i] - found[i - n + 20], refit[0], atol=1e-8)


@pytest.mark.parametrize(("dtype", "allowed", "near"), [(np.float64, 4e-16, 2e-8), (np.float32, 1e-7, 1.7e-4)])
@pytest.mark.parametrize("is_near", [False, True])
def test_share_is_that_of_the_arc_cosine(dtype, allowed, near, is_near):
    """Next to equal and opposite rows, too, where a cosine knows less of the angle."""
    c = np.cos(np.linspace(0.01, np.pi - 0.01, 100_001))
    c = np.append(c, [0.0, 0.5, -0.5, np.nextafter(dtype(0.5), dtype(1))])
    steps = np.arange(1, 200) * np.finfo(dtype).eps / 2
    c = (np.append(1 - steps, steps - 1) if is_near else c).astype(dtype)[None]
    share = np.ones_like(c)
    arc_inplace(share, c, np.ones(1, dtype), np.ones(c.shape[1], dtype))
    exact = 0.5 - np.arccos(c.astype(np.longdouble)) / (2 * np.pi)
    assert share.dtype == dtype
    assert np.abs(share - exact).max() < (near if is_near else allowed)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equal_rows_share_half_opposite_rows_nothing_and_zeros_stay(dtype):
    above = 1 + 2 * np.finfo(dtype).eps  # a cosine that rounding put beyond 1
    inner = np.array([[4.0 * above, -4.0 * above, 0.0], [0.0, 0.0, 0.0]], dtype=dtype)
    arc_inplace(inner, inner.copy(), np.array([2.0, 0.0], dtype), np.array([2.0, 2.0, 1.0], dtype))
    np.testing.assert_allclose(inner, [[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]], rtol=1e-6)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-14), (np.float32, 2e-6)])
def test_lengths_do_not_matter_to_the_angle(dtype, rtol):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((20, 3)).astype(dtype), rng.standard_normal((31, 3)).astype(dtype)
    lengths, lengths2 = np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)
    inner, other = a @ b.T, np.ones((20, 31), dtype)
    arc_inplace(other, inner, lengths, lengths2)
    arc_inplace(inner, inner.copy() * 8, 2 * lengths, 4 * lengths2)
    np.testing.assert_allclose(inner, (a @ b.T) * other, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_array_for_both_gives_what_two_give(dtype):
    a = np.random.default_rng(1).standard_normal((30, 4)).astype(dtype)
    lengths, inner = np.linalg.norm(a, axis=1), a @ a.T
    own, other = inner.copy(), inner.copy()
    arc_inplace(own[:7], own[:7], lengths[:7], lengths)  # two views
    arc_inplace(own[7:], own[7:], lengths[7:], lengths)
    arc_inplace(other, inner, lengths, lengths)
    np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize("apart", [0.0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3])
def test_near_copies_and_opposites_keep_their_angle(apart):
    """To rounding, where a cosine knows 1e-8: bounds of networks that tell copies apart hang on it."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((5, 4))
    X = np.vstack([X, 3 * X + apart * rng.standard_normal(X.shape), apart - X])
    K = GateKernel(1.0)
    z = np.column_stack([X, np.ones(len(X))]).astype(np.longdouble)
    u = z / np.sqrt(np.sum(z**2, axis=1))[:, None]
    near, far = (np.sqrt(np.sum((u[:, None] - sign * u[None]) ** 2, axis=2)) for sign in (1, -1))
    share = 0.5 - np.arctan2(near, far) / np.pi
    lengths = np.linalg.norm(z.astype(float), axis=1)
    for found in (K(X), KernelTiles(K, X).matrix_from(X)):
        error = np.abs(found - (z @ z.T) * share) / np.outer(lengths, lengths)
        assert error.max() < 2e-13


def system(n=60, C=3, seed=0):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, n))
    return B @ B.T / n, rng.uniform(0.5, 2.0, n), rng.standard_normal((n, C))


def solution(K, radius, b):
    n = len(K)
    A = np.block([[K + np.diag(radius), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    return np.linalg.solve(A, np.vstack([b, np.zeros((1, b.shape[1]))]))[:-1]


@pytest.mark.parametrize("C", [1, 3])
def test_blocks_end_within_the_rank_and_columns_that_depend_are_no_harm(C):
    K, radius, b = system(C=C)
    b = np.column_stack([b, b[:, 0]])  # one column twice
    step = solve_with_intercept(lambda V: K @ V, lambda V: V / radius[:, None], radius, b, lambda s: s.n_products == 60)
    np.testing.assert_allclose(step.x, solution(K, radius, b), atol=1e-8)
    assert np.abs(step.x.sum(axis=0)).max() < 1e-10
    inverse = np.linalg.inv(K + np.diag(radius))  # with it one product is enough
    step = solve_with_intercept(lambda V: K @ V, lambda V: inverse @ V, radius, b, lambda s: s.n_products == 1)
    np.testing.assert_allclose(step.x, solution(K, radius, b), atol=1e-10)
    np.testing.assert_allclose(step.images[0], K @ step.x, atol=1e-10)
    assert np.abs(step.residual).max() < 1e-10


@pytest.mark.parametrize("coupled", [False, True])
def test_the_residual_and_the_images_belong_to_x_at_every_scale(coupled):
    K, _, b = system()
    for scale in (1e-120, 1.0, 1e120):
        result = conjugate_gradient(
            lambda p: (K @ p, 2 * p), scale * b, lambda r: r, rtol=1e-8, max_iter=2000, coupled=coupled
        )
        np.testing.assert_allclose(K @ result.x, scale * (b - result.residual / scale), atol=1e-9 * scale)
        np.testing.assert_allclose(result.images[0], 2 * result.x)
        assert np.vdot(result.residual / scale, result.residual / scale) <= 1e-15 * np.vdot(b, b)


def test_coupled_steps_are_those_of_hestenes_and_stiefel():
    K, _radius, b = system()
    x, r = np.zeros_like(b), b
    p = r
    for _ in range(5):
        step = np.vdot(r, r) / np.vdot(p, K @ p)
        x, after = x + step * p, r - step * (K @ p)
        p, r = after + np.vdot(after, after) / np.vdot(r, r) * p, after
    coupled = conjugate_gradient(lambda p: (K @ p,), b, lambda r: r, max_iter=5, coupled=True)
    np.testing.assert_allclose(coupled.x, x, rtol=1e-9, atol=1e-12)
    blocks = conjugate_gradient(lambda p: (K @ p,), b, lambda r: r, max_iter=5)
    energy = lambda x: 0.5 * np.vdot(x, K @ x) - np.vdot(b, x)  # noqa: E731
    assert energy(blocks.x) <= energy(coupled.x) + 1e-12


def test_no_curvature_and_values_that_are_not_finite_end_the_steps():
    b = np.ones((4, 1))
    flat = conjugate_gradient(lambda p: (0.0 * p,), b, lambda r: r, max_iter=9)
    assert flat.is_exhausted
    assert not flat.x.any()
    np.testing.assert_array_equal(flat.direction, b)
    broken = conjugate_gradient(lambda p: (p * np.nan,), b, lambda r: r, max_iter=9)
    assert broken.is_exhausted
    assert not broken.x.any()


def test_kept_tiles_give_the_products_of_new_ones():
    X = rows(2500)
    kernel = GateKernel(bias=1.0, steps=0.5, decay=2.0)
    X = np.hstack([X, np.abs(X) / 10])
    kept, new = KernelTiles(kernel, X, np.float32, keep_tiles=True), KernelTiles(kernel, X, np.float32)
    V = np.random.default_rng(0).standard_normal((2500, 2))
    for _ in range(2):  # those that were kept for fewer rows are replaced where they are too small
        np.testing.assert_allclose(
            kept.leading(1300).multiply(V[:1300]), new.leading(1300).multiply(V[:1300]), rtol=1e-5, atol=1e-3
        )
        np.testing.assert_array_equal(kept.multiply(V), new.multiply(V))
    calls = []
    kept.tile = lambda *slices: calls.append(slices)
    np.testing.assert_array_equal(kept.multiply(V), new.multiply(V))
    assert not calls
    assert sum(tile.nbytes for tile in kept._kept.values()) <= KernelTiles.kept_bytes(2500)
