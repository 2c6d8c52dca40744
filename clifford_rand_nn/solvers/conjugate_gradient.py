r"""Preconditioned conjugate gradients, by blocks: the only one of the package, for one system or for many at once.

`conjugate_gradient` is the loop. Where each product is a pass over data that may be interrupted, `first_iterate` and
`next_iterate` are its two halves, and a `CGIterate` is all that the steps from there depend on.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clifford_rand._typing import Array

Operator = Callable[[Array], Array]

# Share of the largest eigenvalue of the curvature of directions of unit length, below which one is round-off of others.
_DEPENDENT = 1e-6


class CGIterate(NamedTuple):
    r"""A point of conjugate gradients, and the directions from there.

    ``residual``: :math:`b-Ax`. ``size``: :math:`\mathrm{tr}(r^TM^{-1}r)`, the squared residual in the metric of the
    preconditioner. ``is_exhausted``: whether no direction has a positive curvature, or the preconditioner returns what
    is not finite.
    """

    x: Array
    images: tuple[Array, ...]  # linear images of x, accumulated as x is; none before the first product
    residual: Array
    direction: Array  # conjugate to all before in exact arithmetic; at the start the preconditioned right-hand side
    size: float
    n_products: int = 0
    is_exhausted: bool = False


def conjugate_gradient(
    apply: Callable[[Array], tuple[Array, ...]],
    rhs: Array,  # b
    preconditioner: Operator,
    *,
    rtol: float = 0.0,  # of the first residual, in the metric of the preconditioner
    max_iter: int,  # products with A at most
    stop: Callable[[CGIterate], bool] | None = None,  # of the iterate; called before each product
    coupled: bool = False,
) -> CGIterate:
    r"""Solve :math:`Ax=b` with A symmetric and positive semidefinite.

    The columns of b (n, C) are C systems with one matrix: each takes the best step in the directions of all of them
    (block conjugate gradients; O'Leary, "The block conjugate gradient algorithm and related methods", Linear Algebra
    Appl. 29, 1980, section 3). With 26 classes (letter, 6,000 rows) 14 products do instead of 19. ``coupled`` makes
    them one system, as where A mixes them; then these are the steps of Hestenes and Stiefel.

    ``apply``: of P, in the shape of b: returns :math:`AP`, and after it linear images of P that are wanted of x as
    well. ``preconditioner``: :math:`M^{-1}`, symmetric and positive definite on the range of A. It may project on a
    subspace, where the solution is then (Gould, Hribar, Nocedal, SIAM J. Sci. Comput. 23, 2001).

    Examples
    --------
    >>> A, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[3.0], [4.0]])
    >>> conjugate_gradient(lambda p: (A @ p,), b, lambda r: r, max_iter=2).x.ravel().round(12)
    array([1., 1.])
    """
    iterate = first_iterate(rhs, preconditioner)
    least = rtol**2 * iterate.size  # sizes are squares
    while iterate.n_products < max_iter and iterate.size > least and not iterate.is_exhausted:
        if stop is not None and stop(iterate):
            break
        direction = normalized(iterate.direction, coupled)
        product, *images = apply(direction)
        iterate = next_iterate(iterate, direction, product, tuple(images), preconditioner, coupled)
    return iterate


def first_iterate(rhs: Array, preconditioner: Operator) -> CGIterate:
    """Return the iterate x = 0."""
    z = preconditioner(rhs)
    size = float(np.vdot(rhs, z))
    return CGIterate(np.zeros_like(rhs), (), rhs, z, size, is_exhausted=not np.isfinite(size))


def normalized(direction: Array, coupled: bool = False) -> Array:
    """Return directions of unit length, so that their curvatures compare; those that are zero stay so."""
    columns = _columns(direction, coupled)
    return np.asarray(
        (columns / (np.linalg.norm(columns, axis=0) + np.finfo(np.float64).tiny)).reshape(direction.shape)
    )


def next_iterate(
    iterate: CGIterate,
    direction: Array,
    product: Array,
    images: tuple[Array, ...],
    preconditioner: Operator,
    coupled: bool = False,
) -> CGIterate:
    r"""Return the iterate after the best step in the directions P, whose product AP and images are known.

    With :math:`T` such that :math:`T^TP^TAPT=I`, the step is :math:`PTT^TP^Tr`, and the next directions are
    :math:`z-PTT^T(AP)^Tz`, :math:`z=M^{-1}r`, conjugate to these.
    """
    # the best step minimizes ½ tr(XᵀAX) - tr(BᵀX) over X + P S
    P, AP = _columns(direction, coupled), _columns(product, coupled)
    curvature = P.T @ AP
    if not np.isfinite(curvature).all():
        return iterate._replace(n_products=iterate.n_products + 1, is_exhausted=True)
    # PᵀAP = V Λ Vᵀ: T = V Λ^{-1/2}, without directions that are round-off of others
    values, T = np.linalg.eigh(0.5 * (curvature + curvature.T))
    independent = values > _DEPENDENT * max(values[-1], 0.0)
    if not independent.any():
        return iterate._replace(n_products=iterate.n_products + 1, is_exhausted=True)
    T = T[:, independent] / np.sqrt(values[independent])
    steps = T @ (T.T @ (P.T @ _columns(iterate.residual, coupled)))

    def moved(total: Array, along: Array, sign: float = 1.0) -> Array:
        return np.asarray(total + sign * (_columns(along, coupled) @ steps).reshape(along.shape))

    x, residual = moved(iterate.x, direction), moved(iterate.residual, product, -1.0)
    sums = iterate.images or tuple(np.zeros_like(image) for image in images)
    images = tuple(moved(total, image) for total, image in zip(sums, images, strict=True))
    z = preconditioner(residual)
    size = float(np.vdot(residual, z))
    # conjugate to P: Pᵀ A (z - P T Tᵀ (AP)ᵀ z) = 0
    following = z - (P @ (T @ (T.T @ (AP.T @ _columns(z, coupled))))).reshape(z.shape)
    return CGIterate(x, images, residual, following, size, iterate.n_products + 1, not np.isfinite(z).all())


def _columns(values: Array, coupled: bool) -> Array:
    """Return arrays of any shape as a matrix: a column for each system."""
    return values.reshape(-1, 1 if coupled else values.shape[-1])
