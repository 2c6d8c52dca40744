"""Conjugate gradients by blocks, coupled, and with a free intercept, against a dense solve."""

import numpy as np
import pytest

from clifford_rand_nn.kernel_network.large_n.problem import solve_with_intercept
from clifford_rand_nn.solvers.conjugate_gradient import conjugate_gradient


def system(n=60, C=3, seed=0):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, n))
    return B @ B.T / n, rng.uniform(0.5, 2.0, n), rng.standard_normal((n, C))


def solution(K, radius, b):
    n = len(K)
    A = np.block([[K + np.diag(radius), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    return np.linalg.solve(A, np.vstack([b, np.zeros((1, b.shape[1]))]))[:-1]


def test_with_the_inverse_one_product_is_enough():
    K, radius, b = system()
    inverse = np.linalg.inv(K + np.diag(radius))
    step = solve_with_intercept(lambda V: K @ V, lambda V: inverse @ V, radius, b, lambda step: step.n_products == 1)
    np.testing.assert_allclose(step.x, solution(K, radius, b), atol=1e-10)
    np.testing.assert_allclose(step.images[0], K @ step.x, atol=1e-10)
    assert np.abs(step.residual).max() < 1e-10


@pytest.mark.parametrize("C", [1, 3])
def test_blocks_end_within_the_rank_and_columns_that_depend_are_no_harm(C):
    K, radius, b = system(C=C)
    b = np.column_stack([b, b[:, 0]])  # one column twice
    step = solve_with_intercept(lambda V: K @ V, lambda V: V / radius[:, None], radius, b, lambda s: s.n_products == 60)
    np.testing.assert_allclose(step.x, solution(K, radius, b), atol=1e-8)
    assert np.abs(step.x.sum(axis=0)).max() < 1e-10


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
