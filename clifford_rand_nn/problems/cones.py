"""Activation cones {u : (2D - I) X u ≥ 0}: the projection of a point."""

import numpy as np
from scipy.optimize import nnls

from clifford_rand._typing import Array

_ROUNDS = 60  # of adding the rows that a projection violates; it needs 1 to 5
_ROUNDING = 1e-14  # a product of a row and a point below this share of their lengths is zero
_STEPS_PER_ROW = 30  # of the active-set method for non-negative least squares; 1 to 3 are usual


def project_on_cone(A: Array, u: Array) -> Array:
    r"""Euclidean projection of u (r,) on :math:`\{u : Au\ge0\}`, A (n, r).

    :math:`u + A^T\Lambda` with :math:`\Lambda\ge0` of least squares (Moreau), over the violated rows first; rows
    that the projection violates are added until none is.
    """
    lengths = np.linalg.norm(A, axis=1)
    slack = _ROUNDING * lengths * np.linalg.norm(u)
    rows = A @ u < -slack
    v = u
    for _ in range(_ROUNDS):
        if not rows.any():
            break
        G = np.ascontiguousarray((A[rows] / lengths[rows, None]).T)
        v = u + G @ nnls(G, -u, maxiter=_STEPS_PER_ROW * G.shape[1] + 100)[0]
        if np.linalg.norm(v) <= _ROUNDING * np.linalg.norm(u):
            return np.zeros_like(u)
        new = (A @ v < -slack) & ~rows
        if not new.any():
            break
        rows |= new
    return np.asarray(v)
