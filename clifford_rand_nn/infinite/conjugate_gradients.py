r"""Conjugate gradients for kernel regression with a free intercept: all outputs share each pass over the kernel."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clifford_rand._typing import Array

Map = Callable[[Array], Array]


class Step(NamedTuple):
    """Where conjugate gradients are: alpha (n, C) whose columns sum to zero, K alpha, and what is left of the right."""

    alpha: Array
    fitted: Array
    left: Array


def conjugate_gradients(
    multiply: Map, precondition: Map, radius: Array, right: Array, go_on: Callable[[Step, int], bool]
) -> Step:
    r"""Solve :math:`(K+\mathrm{diag}(\rho))\alpha = b - 1t^T,\ 1^T\alpha = 0` for all columns of b at once.

    Preconditioned conjugate gradients within the vectors that sum to zero (the constraint preconditioner of Gould,
    Hribar, Nocedal, SIAM J. Sci. Comput. 23, 2001): what the preconditioner returns is moved along its image of 1 until
    it sums to zero, so that the intercept never appears. Columns have steps of their own and share the products.
    Directions are corrected for a preconditioner in single precision (Polak and Ribière).

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
    z = inverse(left)
    direction, size = z.copy(), _dots(z, left)
    k = 0
    while go_on(step, k):
        image = multiply(direction)
        curved = _dots(direction, image + radius[:, None] * direction)
        length = np.divide(_dots(direction, step.left), curved, out=np.zeros_like(curved), where=curved > 0)
        new = step.left - length * (image + radius[:, None] * direction)
        new -= new.mean(axis=0)  # a constant is the intercept's
        z = inverse(new)
        turn = np.divide(_dots(z, new - step.left), size, out=np.zeros_like(size), where=size > 0)
        step = Step(step.alpha + length * direction, step.fitted + length * image, new)
        direction, size = z + np.maximum(turn, 0.0) * direction, _dots(z, new)
        k += 1
    return step


def _dots(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("ic,ic->c", a, b))
