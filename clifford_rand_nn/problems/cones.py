"""Activation cones {u : (2D - I) X u ≥ 0}: how far outside a point is, its projection, the support of a linear form."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, nnls

__all__ = ["project_on_cone", "support"]

Array = NDArray[np.float64]

_ROUNDS = 60  # of adding the rows that a projection violates; it needs 1 to 5
_ROUNDING = 1e-14  # a product of a row and a point below this share of their lengths is zero
_STEPS_PER_ROW = 30  # of the active-set method for non-negative least squares; 1 to 3 are usual
# The bias equation enters least squares with this weight: it is then met to the square of its inverse, 1e-10 of the
# bias, and the condition number stays below 1e5 times that of the rows.
_BIAS_WEIGHT = 1e5


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


def support(A: Array, g: Array, p: int, bias: bool) -> tuple[float, Array]:
    r"""Maximum of :math:`\langle g,u\rangle` over :math:`Au\ge0,\ ||w||_p\le1`, and the multipliers that prove it.

    u = (w, b) with a free last entry if ``bias``. By duality the value is

    .. math:: \min_{\Lambda\ge0}||g_w+A_w^T\Lambda||_q\quad\text{s.t.}\quad g_b+A_b^T\Lambda=0,

    non-negative least squares for p = q = 2 and a linear program for p = 1, q = ∞.

    Returns
    -------
    value : float
        The norm at Λ, which bounds the support where Λ meets the bias equation.
    multipliers : (n,)
    """
    n, r = A.shape
    size = float(np.abs(g).max(initial=0.0))
    if size == 0:
        return 0.0, np.zeros(n)
    lengths = np.linalg.norm(A, axis=1)
    used = lengths > 0
    G, unit = A[used].T / lengths[used], g / size
    d = r - 1 if bias else r
    if p == 2:
        weight = np.ones(r)
        weight[d:] = _BIAS_WEIGHT
        found = nnls(np.ascontiguousarray(weight[:, None] * G), -weight * unit, maxiter=_STEPS_PER_ROW * n + 100)[0]
        value = float(np.linalg.norm((unit + G @ found)[:d]))
    else:
        m = G.shape[1]
        columns = np.vstack([np.hstack([G[:d], -np.ones((d, 1))]), np.hstack([-G[:d], -np.ones((d, 1))])])
        equality = {"A_eq": np.hstack([G[d:], np.zeros((1, 1))]), "b_eq": -unit[d:]} if bias else {}
        program = linprog(
            np.append(np.zeros(m), 1.0),
            A_ub=columns,
            b_ub=np.concatenate([-unit[:d], unit[:d]]),
            bounds=(0, None),
            method="highs",
            **equality,
        )
        if program.x is None:  # a free bias of one sign gains without bound
            return np.inf, np.zeros(n)
        found = np.maximum(program.x[:m], 0)
        value = float(np.abs((unit + G @ found)[:d]).max(initial=0.0))
    multipliers = np.zeros(n)
    multipliers[used] = size * found / lengths[used]
    return size * value, multipliers
