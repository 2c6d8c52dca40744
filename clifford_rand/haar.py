"""Uniformly random blades and rotations: orthonormal rows with the Haar law."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_generator, check_fits, check_integer, check_shape, fail, is_whole
from clifford_rand._threads import stacked
from clifford_rand.blades.blade import Blade


def haar_blade(
    k: int, d: int, *, rng: np.random.Generator | int | None = None, shape: int | tuple[int, ...] = ()
) -> Blade:
    r"""Return a unit k-blade whose subspace is uniform among the k-dimensional subspaces of R^d.

    .. math:: F F^T = I_k, \qquad F \sim F H \text{ for every orthogonal } H, \qquad \mathbb E[F^T F] = (k/d) I_d.

    The rows of F, ``factors`` of the blade :math:`f_1 \wedge … \wedge f_k`, are orthonormal. Not only their span is
    uniform, on the Grassmannian, but the frame itself, on the Stiefel manifold; k = d gives a Haar-distributed
    orthogonal matrix, of determinant 1 or -1 with probability 1/2 each. The columns of a Gaussian matrix (d, k) are
    orthonormalized by QR, O(dk²), with the signs that make R's diagonal positive: without them the law is that of the
    QR algorithm's own signs, not Haar's.

    Parameters
    ----------
    k : int
        Grade, from 0 to d.
    d : int
        Dimension.
    rng : Generator, int or None
        Source of randomness, or its seed.
    shape : int or tuple of int
        Batch axes.

    Returns
    -------
    Blade
        A batch of ``shape`` in Euclidean R^d, of orthonormal factors (*shape, k, d) in float64.

    Raises
    ------
    ArgumentError
        If ``d`` is not a positive integer, ``k`` not one from 0 to d, or ``shape`` not made of integers ≥ 0.

    References
    ----------
    Mezzadri, "How to generate random matrices from the classical compact groups", Notices of the AMS 54,
    2007, Section 5.

    Examples
    --------
    >>> B = cr.haar_blade(2, 5, rng=0)
    >>> B, bool(np.allclose(B.factors @ B.factors.T, np.eye(2)))
    (<Blade of grade 2 in Algebra(5)>, True)
    >>> cr.haar_blade(4, 5, rng=0, shape=(10, 3)).shape
    (10, 3)
    """
    owner = "haar_blade"
    d = check_integer(d, "d", owner)
    k = check_integer(k, "k", owner, low=0, high=d, hint="A k-blade of R^d has at most d factors.")
    return Blade(_frames(_batch(shape, owner), k, d, as_generator(rng, owner), owner))


def random_rotation(
    d: int, *, rng: np.random.Generator | int | None = None, shape: int | tuple[int, ...] = ()
) -> NDArray[np.float64]:
    r"""Return rotation matrices of R^d with the Haar law of SO(d): :math:`Q Q^T = I`, det Q = 1.

    They are Haar-distributed orthogonal matrices, the last row of which is negated where the determinant is -1.

    Parameters
    ----------
    d : int
        Dimension.
    rng : Generator, int or None
        Source of randomness, or its seed.
    shape : int or tuple of int
        Batch axes.

    Returns
    -------
    ndarray (*shape, d, d) of float64

    Raises
    ------
    ArgumentError
        If ``d`` is not a positive integer, or ``shape`` not made of integers ≥ 0.

    Examples
    --------
    >>> Q = cr.random_rotation(4, rng=0)
    >>> bool(np.allclose(Q @ Q.T, np.eye(4))), round(float(np.linalg.det(Q)), 12)
    (True, 1.0)
    """
    owner = "random_rotation"
    d = check_integer(d, "d", owner)
    Q = _frames(_batch(shape, owner), d, d, as_generator(rng, owner), owner)
    Q[..., -1, :] *= stacked(np.linalg.slogdet)(Q)[0][..., None]
    return Q


def _batch(shape: Any, owner: str) -> tuple[int, ...]:
    """Return ``shape`` as a tuple of integers ≥ 0."""
    axes = shape if isinstance(shape, tuple | list) else (shape,)
    if not all(is_whole(n) and n >= 0 for n in axes):
        raise fail("shape", owner, "an integer ≥ 0 or a tuple of them", shape)
    return check_shape(shape, "shape", owner)


def _frames(shape: tuple[int, ...], k: int, d: int, rng: np.random.Generator, owner: str) -> NDArray[np.float64]:
    """Return frames (*shape, k, d): Q of the QR factorization with a positive diagonal of R, transposed."""
    check_fits(32 * math.prod((*shape, k, d)), "d" if math.prod(shape) <= 1 else "shape", owner)  # four such arrays
    if k == 0 or 0 in shape:
        return np.empty((*shape, k, d))
    Q, R = stacked(np.linalg.qr)(rng.standard_normal((*shape, d, k)))
    sign = np.copysign(1.0, np.diagonal(R, axis1=-2, axis2=-1))
    return np.ascontiguousarray(np.swapaxes(Q * sign[..., None, :], -1, -2))
