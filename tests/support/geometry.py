"""Random arrays, comparisons, and rotation matrices for the tests of models and of geometry."""

import numpy as np


def gaussian(seed, *shape):
    """Standard normal numbers of a seed."""
    return np.random.default_rng(seed).standard_normal(shape)


def close(a, b, rtol=1e-11):
    """Arrays of one shape agree to ``rtol`` times the larger of 1 and the largest entry."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == np.broadcast_shapes(a.shape, b.shape)
    np.testing.assert_allclose(a, b, rtol=0, atol=rtol * max(1.0, np.abs(b).max(initial=0.0)))


def rodrigues(u, angle):
    """The rotation matrix about a unit vector, by Rodrigues' formula."""
    K = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
