"""f(σ + B) for B² = s a number: the mean of f at the eigenvalues σ ± √s, and B times the divided difference."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import MV
from clifford_rand.basis import layout
from clifford_rand.basis.keys import Keys, keys_of_grades, union
from clifford_rand.functions.closed_exponential import plane_exponential
from clifford_rand.functions.exponential import without_scalar

NEAR = 0.1  # half the distance of two eigenvalues, by that of a singularity, up to which quadrature is exact
ROUNDING = 64 * float(np.finfo(np.float64).eps)
NODES = 6  # of Gauss and Legendre: the nearest singularity lies on the ellipse of ρ = 20, so an error of 20^-12

Array = NDArray[np.complex128]
Function = Callable[[Any], Any]


def by_two_eigenvalues(A: MV, f: Function, derivative: Function, distance: Function) -> tuple[Keys, Array] | None:
    """Return keys, the scalar first, and the complex coefficients of f(A); None where they do not say that B² = s.

    ``distance`` is that of a number from the nearest singularity of f. On a branch cut ``derivative`` is of f's side.
    """
    sigma, B = without_scalar(A)
    code = plane_exponential(A.algebra.form, B.keys) if B.keys.size else None
    if B.keys.size and (code is None or code.planes == 2):
        return None
    if code is not None:
        B = B.on_keys(code.work)
    b = layout.components(B.coefficients)
    s = np.zeros(b.shape[1]) if code is None else np.broadcast_to(np.asarray(code.square(b)[0]), b.shape[1:])
    h, centre = np.sqrt(s.astype(np.complex128)), np.ravel(np.broadcast_to(sigma, A.shape)).astype(np.complex128)
    plus, minus = f(centre + h), f(centre - h)
    near = np.abs(h) <= NEAR * distance(centre)
    odd = np.asarray((plus - minus) / (2 * np.where(near, 1, h)))
    if near.any():  # the mean of the derivative between them, unless they lie on two sides of a branch cut
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        mean = np.where(near, 0, odd)
        mean[near] = derivative(centre[near, None] + h[near, None] * nodes) @ weights / 2
        step = 2 * h * mean
        rounding = np.abs(plus) + np.abs(minus) + np.abs(centre * mean)
        jump = np.abs(plus - minus - step) > np.abs(step) + ROUNDING * rounding
        odd = np.where(near & jump, (plus - minus) / (2 * np.where(h, h, 1)), mean)
    values = layout.coefficients(np.concatenate([((plus + minus) / 2)[None], odd * b]), A.shape)
    return union(keys_of_grades(A.keys.d, (0,)), B.keys), values
