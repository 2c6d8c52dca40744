"""Conjugate gradients by blocks with a free intercept, against a dense solve."""

import numpy as np
import pytest

from clifford_rand_nn.kernel_network.large_n.conjugate_gradients import conjugate_gradients


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
    found = conjugate_gradients(lambda V: K @ V, lambda V: inverse @ V, radius, b, lambda step, k: k < 1)
    np.testing.assert_allclose(found.alpha, solution(K, radius, b), atol=1e-10)
    np.testing.assert_allclose(found.fitted, K @ found.alpha, atol=1e-10)
    assert np.abs(found.left).max() < 1e-10


@pytest.mark.parametrize("C", [1, 3])
def test_blocks_end_within_the_rank_and_columns_that_depend_are_no_harm(C):
    K, radius, b = system(C=C)
    b = np.column_stack([b, b[:, 0]])  # one column twice
    found = conjugate_gradients(lambda V: K @ V, lambda V: V / radius[:, None], radius, b, lambda step, k: k < 60)
    np.testing.assert_allclose(found.alpha, solution(K, radius, b), atol=1e-8)
    assert np.abs(found.alpha.sum(axis=0)).max() < 1e-10
