"""Orthogonal complements in coordinates, with orientation and size: the Euclidean star of a wedge of vectors."""

import numpy as np
from numpy.typing import NDArray

from clifford_rand.blades.rows import is_singular, log_det_triangular

_STACKED_UP_TO = (
    32  # dimension up to which a batch is factored by one call; a large Q is not formed where few rows count
)

_Floats = NDArray[np.float64]


def complement(rows: _Floats, rtol: float, *, scaled: bool = False) -> tuple[_Floats, _Floats, _Floats]:
    """Return (C, sign, log) with star(r1∧…∧rk) = sign · exp(log) · c1∧…∧c_{d-k}, C orthonormal, Euclidean.

    With Rᵀ = Q [T; 0] and C the last columns of Q: star(r1∧…) = det(T) star(q1∧…∧qk), and star(q1∧…) = s c1∧… with
    s = det[C; q1 … qk] = (-1)^{k(d-k)} det Q, where det Q is -1 to the number of reflections. So one factorisation,
    2 k² (d - k/3) operations, gives the complement and no determinant is computed.

    Parameters
    ----------
    rows : ndarray (..., k, d)
    rtol : float
        Smallest singular value up to which the rows are dependent: sign 0 and log -inf.
    scaled : bool
        The rows are of the length that counts; otherwise they are compared at length 1.
    """
    *batch, k, d = rows.shape
    if k == 0:
        whole = np.broadcast_to(np.eye(d), (*batch, d, d))
        return whole, np.ones(batch), np.zeros(batch)
    count = int(np.prod(batch))
    if d <= _STACKED_UP_TO and count > 1:
        Q, T = np.linalg.qr(rows.swapaxes(-1, -2), mode="complete")
        T, C = T[..., :k, :], Q[..., k:].swapaxes(-1, -2)
        turn = np.sign(np.linalg.det(Q))
    else:
        C, T, turn = np.empty((*batch, d - k, d)), np.empty((*batch, k, k)), np.empty(batch)
        for index in np.ndindex(*batch):
            C[index], T[index], turn[index] = _factor(rows[index])
    sign, log = log_det_triangular(T)
    zero = is_singular(T, rtol, scaled=scaled)
    sign = sign * turn * (-1) ** (k * (d - k))
    return C, np.where(zero, 0.0, sign), np.where(zero, -np.inf, log)


def _factor(rows: _Floats) -> tuple[_Floats, _Floats, float]:
    """Return (C, T, det Q) of one matrix; only the last columns of Q are formed."""
    from scipy.linalg import get_lapack_funcs, qr

    k, d = rows.shape
    (reflectors, tau), T = qr(np.array(rows).T, mode="raw", overwrite_a=True, check_finite=False)
    last = np.zeros((d, d - k), order="F")
    last[k:] = np.eye(d - k)
    if k < d:
        (ormqr,) = get_lapack_funcs(("ormqr",), (reflectors,))
        size = int(ormqr("L", "N", reflectors, tau, last, -1)[1][0])
        last = ormqr("L", "N", reflectors, tau, last, size, overwrite_c=1)[0]
    return last.T, T[:k], float((-1) ** int(np.count_nonzero(tau)))
