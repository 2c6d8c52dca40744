r"""Conjugate gradients for kernel regression with a free intercept: all outputs share each pass over the kernel."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clifford_rand._typing import Array

Map = Callable[[Array], Array]

_DEPENDENT = 1e-6  # of the largest eigenvalue: directions of unit length that add nothing new but rounding


class Step(NamedTuple):
    """Where conjugate gradients are: alpha (n, C) whose columns sum to zero, K alpha, and what is left of the right."""

    alpha: Array
    fitted: Array
    left: Array


def conjugate_gradients(
    multiply: Map, precondition: Map, radius: Array, right: Array, go_on: Callable[[Step, int], bool]
) -> Step:
    r"""Solve :math:`(K+\mathrm{diag}(\rho))\alpha = b - 1t^T,\ 1^T\alpha = 0` for all columns of b at once.

    Preconditioned conjugate gradients by blocks (O'Leary, Linear Algebra Appl. 29, 1980): each column takes the best
    step in the directions of all of them, which are made orthonormal in :math:`K+\mathrm{diag}(\rho)` after each
    product, and those that add nothing are dropped. With 26 classes (letter, 6,000 rows) 14 products do instead of 19.
    All vectors sum to zero (the constraint preconditioner of Gould, Hribar, Nocedal, SIAM J. Sci. Comput. 23, 2001):
    what the preconditioner returns is moved along its image of 1, so that the intercept never appears. Where single
    precision is not enough for a preconditioner that is positive definite, or for a length, the steps end.

    Parameters
    ----------
    multiply : callable
        K times (n, C).
    precondition : callable
        An approximate inverse of :math:`K+\mathrm{diag}(\rho)` times (n, C), symmetric and positive definite.
    radius : (n,) array
        :math:`\rho = n\beta/\omega`.
    right : (n, C) array
        b.
    go_on : callable
        Of a `Step` and the number of products so far; called before each product.
    """
    ones = precondition(np.ones((len(right), 1)))
    ones /= ones.sum()

    def inverse(left: Array) -> Array:
        z = precondition(left)
        z -= ones * z.sum(axis=0)
        z -= z.mean(axis=0)  # what rounding left
        return z

    left = right - right.mean(axis=0)
    step = Step(np.zeros(right.shape), np.zeros(right.shape), left)
    directions = inverse(left)
    k = 0
    while go_on(step, k):
        directions /= np.linalg.norm(directions, axis=0) + np.finfo(np.float64).tiny
        image = multiply(directions)
        curved = image + radius[:, None] * directions
        values, turn = np.linalg.eigh(_product(directions, curved))
        kept = values > _DEPENDENT * max(values[-1], 0.0)
        if not kept.any():
            break
        turn = turn[:, kept] / np.sqrt(values[kept])  # so that directions are orthonormal in K + diag(radius)
        directions, image, curved = directions @ turn, image @ turn, curved @ turn
        length = directions.T @ step.left
        new = step.left - curved @ length
        new -= new.mean(axis=0)  # a constant is the intercept's
        step = Step(step.alpha + directions @ length, step.fitted + image @ length, new)
        z = inverse(new)
        if not np.isfinite(z).all():
            break
        directions = z - directions @ (curved.T @ z)
        k += 1
    return step


def _product(directions: Array, curved: Array) -> Array:
    product = directions.T @ curved
    return np.asarray(0.5 * (product + product.T))
