"""The share of half-spaces against the arc cosine in extended precision, in both types, and at its ends."""

import numpy as np
import pytest

from clifford_rand_nn.kernel_network.arccos import arc_inplace
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.large_n.tiles import KernelTiles


@pytest.mark.parametrize(("dtype", "allowed"), [(np.float64, 4e-16), (np.float32, 1e-7)])
def test_share_is_that_of_the_arc_cosine(dtype, allowed):
    c = np.cos(np.linspace(0.01, np.pi - 0.01, 100_001)).astype(dtype)[None]
    c = np.hstack([c, [[0.0, 0.5, -0.5, np.nextafter(dtype(0.5), dtype(1))]]]).astype(dtype)
    share = np.ones_like(c)
    arc_inplace(share, c, np.ones(1, dtype), np.ones(c.shape[1], dtype))
    exact = 0.5 - np.arccos(c.astype(np.longdouble)) / (2 * np.pi)
    assert share.dtype == dtype
    assert np.abs(share - exact).max() < allowed


@pytest.mark.parametrize(("dtype", "allowed"), [(np.float64, 2e-8), (np.float32, 1.7e-4)])
def test_share_next_to_equal_and_opposite_rows(dtype, allowed):
    steps = np.arange(1, 200) * np.finfo(dtype).eps / 2
    c = np.concatenate([1 - steps, steps - 1]).astype(dtype)[None]
    share = np.ones_like(c)
    arc_inplace(share, c, np.ones(1, dtype), np.ones(c.shape[1], dtype))
    assert np.abs(share - (0.5 - np.arccos(c.astype(np.longdouble)) / (2 * np.pi))).max() < allowed


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


@pytest.mark.parametrize("angle", [False, True])
@pytest.mark.parametrize("apart", [0.0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3])
def test_near_copies_and_opposites_keep_their_angle(apart, angle):
    """To rounding, where a cosine knows 1e-8: bounds of networks that tell copies apart hang on it."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((5, 4))
    X = np.vstack([X, 3 * X + apart * rng.standard_normal(X.shape), apart - X])
    A = rng.standard_normal((5, 3)) if angle else None
    K = GateKernel(1.0, angle=A)
    z = np.column_stack([X, np.ones(len(X))]).astype(np.longdouble)
    a = z if A is None else z @ A.astype(np.longdouble)
    u = a / np.sqrt(np.sum(a**2, axis=1))[:, None]
    near, far = (np.sqrt(np.sum((u[:, None] - sign * u[None]) ** 2, axis=2)) for sign in (1, -1))
    share = 0.5 - np.arctan2(near, far) / np.pi
    lengths = np.linalg.norm(z.astype(float), axis=1)
    for found in (K(X), KernelTiles(K, X).matrix_from(X)):
        error = np.abs(found - (z @ z.T) * share) / np.outer(lengths, lengths)
        assert error.max() < 2e-13
