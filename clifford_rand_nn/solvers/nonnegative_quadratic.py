"""A convex quadratic over nonnegative variables, for Newton steps in the weights of gates."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from clifford_rand._typing import Array

_ROUNDS = 20  # exchanges between active and idle gates before `scipy.optimize.nnls` takes over
_RIDGE = 1e-13  # relative, on the diagonal: gates may be dependent
_ROUNDING = 1e-12


def bounded_quadratic(H: Array, b: Array, active: NDArray[np.bool_]) -> Array:
    r"""Minimize :math:`\tfrac12x^THx - b^Tx` over x ≥ 0, from a guess at which entries are positive.

    ``H`` (P, P): positive semidefinite. ``b`` (P,). ``active`` (P,): the guess, as truth values.

    Examples
    --------
    >>> bounded_quadratic(np.eye(2), np.array([1.0, -1.0]), np.array([True, True]))
    array([1., 0.])
    """
    H = H + np.diag(_RIDGE * H.diagonal() + np.finfo(np.float64).tiny)
    least = _ROUNDING * float(np.abs(b).max(initial=0.0))
    free = active
    for _ in range(_ROUNDS):  # principal pivoting: quick, and it may cycle
        x = np.zeros(len(b))
        x[free] = np.linalg.solve(H[np.ix_(free, free)], b[free])
        wrong = np.where(free, x < 0, b - H @ x > least)
        if not wrong.any():
            return x
        free = free ^ wrong
    L = np.linalg.cholesky(H)
    return np.asarray(nnls(L.T, np.linalg.solve(L, b))[0])
