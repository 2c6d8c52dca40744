"""Random arrays, comparisons, and rotation matrices for the tests of models and of geometry."""

import numpy as np

import clifford_rand as cr
from clifford_rand.fusion.kernel import fields_of
from clifford_rand.presets import cga, pga

PGA = {n: cr.Algebra.pga(n) for n in (1, 2, 3, 4, 5, 6)}
CGA = {(n, null): cr.Algebra.cga(n, null_basis=null) for n in (1, 2, 3, 4, 5) for null in (False, True)}
MODELS = [(n, null) for n, null in CGA if n < 5]
BASES = [CGA[3, False], CGA[3, True]]  # conformal space in both bases


def gaussian(seed, *shape):
    """Standard normal numbers of a seed."""
    return np.random.default_rng(seed).standard_normal(shape)


def at_angles(angles, d, rng):
    """Orthonormal rows of two random subspaces of R^d of these principal angles."""
    k = len(angles)
    Q = np.linalg.qr(rng.standard_normal((d, 2 * k)))[0].T
    return Q[:k], np.cos(angles)[:, None] * Q[:k] + np.sin(angles)[:, None] * Q[k:]


def close(a, b, rtol=1e-11):
    """Arrays of one shape agree to ``rtol`` times the larger of 1 and the largest entry."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == np.broadcast_shapes(a.shape, b.shape)
    np.testing.assert_allclose(a, b, rtol=0, atol=rtol * max(1.0, np.abs(b).max(initial=0.0)))


def relative(a, b, rtol=1e-11):
    """Arrays of one shape agree to ``rtol`` times the largest entry, however small."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=0, atol=rtol * max(1e-300, np.abs(b).max(initial=0.0)))


def same(X, Y, rtol=1e-10):
    """Multivectors agree up to a factor, as homogeneous objects do."""
    a, b = (A.dense().coefficients for A in (X, Y))
    a, b = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (a, b))
    np.testing.assert_allclose(a * np.sign((a * b).sum(-1, keepdims=True)), b, rtol=0, atol=rtol)


def through(alg, points, *more):
    """The wedge of the conformal points at some places, and of further factors."""
    first, *rest = [cga.up(alg, x) for x in points] + list(more)
    return first.wedge(*rest) if rest else first


def flat(alg, p, U):
    """The join of projective points p (..., n) and directions U (..., k, n)."""
    X = pga.point(alg, p)
    for i in range(U.shape[-2]):
        X = X & pga.direction(alg, U[..., i, :])
    return X


def rodrigues(u, angle):
    """The rotation matrix about a unit vector, by Rodrigues' formula."""
    K = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def same_results(a, b, rtol=1e-9):
    """Compare results of any structure."""
    fields = fields_of(a)
    if fields is not None:
        return all(same_results(x, y, rtol) for x, y in zip(fields, fields_of(b), strict=True))
    if hasattr(a, "isclose"):
        return a.shape == b.shape and np.all(a.isclose(b, rtol=rtol, atol=1e-12))
    if isinstance(a, np.ndarray | np.generic) and a.dtype.kind in "fb":
        return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=rtol, atol=1e-9, equal_nan=True)
    return np.array_equal(a, b)
