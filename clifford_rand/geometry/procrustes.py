"""The rotation that takes points nearest to others: moments in one pass, and the orthogonal Procrustes problem.

Arrays in, arrays out: points (..., N, n), weights (..., N).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

ENTRIES = 2**16  # of a block of points: a few of them stay in the second-level cache
ROWS = 256  # of a block at least, however many problems there are
TIES = 64  # units of rounding, relative to the spread of both sets, below which a direction tells nothing


class Moments(NamedTuple):
    """Sums over the points, weighted; the second ones about the means."""

    weight: Array
    mean_x: Array
    mean_y: Array
    cross: Array
    """Σ w (y - ȳ)(x - x̄)ᵀ, (..., n, n)."""
    square_x: Array
    """Σ w |x - x̄|²."""
    square_y: Array


def moments(X: Array, Y: Array, w: Array | None, *, about_origin: bool = False) -> Moments:
    """Return the moments in one pass: sums about the first points, so that a far origin costs no digits.

    With ``about_origin`` all are about 0, and the means are 0.
    """
    n = X.shape[-1]
    batch = np.broadcast_shapes(X.shape[:-2], Y.shape[:-2], () if w is None else w.shape[:-1])
    dtype = np.result_type(X, Y)
    first_x = np.zeros(n, dtype=dtype) if about_origin else X[..., :1, :]
    first_y = np.zeros(n, dtype=dtype) if about_origin else Y[..., :1, :]
    cross = np.zeros((*batch, n, n))
    sums, squares = (np.zeros((*batch, n)), np.zeros((*batch, n))), (np.zeros(batch), np.zeros(batch))
    rows = max(ROWS, ENTRIES // max(1, n * int(np.prod(batch))))
    total = np.zeros(batch)
    for start in range(0, X.shape[-2], rows):
        part = slice(start, start + rows)
        x, y = X[..., part, :] - first_x, Y[..., part, :] - first_y
        u, v = x, y
        if w is not None:
            each = w[..., part, None]
            u, v = x * each, y * each
            total += each[..., 0].sum(axis=-1)
        cross += np.swapaxes(y, -1, -2) @ u
        for k, (one, weighted) in enumerate(((x, u), (y, v))):
            sums[k][...] += weighted.sum(axis=-2)
            squares[k][...] += np.einsum("...ij,...ij->...", one, weighted)
    if w is None:
        total += X.shape[-2]
    if about_origin:
        zero = np.zeros((*batch, n))
        return Moments(total, zero, zero, cross, *squares)
    mean_x, mean_y = (part / total[..., None] for part in sums)
    cross -= total[..., None, None] * mean_y[..., :, None] * mean_x[..., None, :]
    square_x, square_y = (
        np.maximum(square - total * np.square(mean).sum(axis=-1), 0)
        for square, mean in zip(squares, (mean_x, mean_y), strict=True)
    )
    return Moments(total, mean_x + np.squeeze(first_x, -2), mean_y + np.squeeze(first_y, -2), cross, square_x, square_y)


def nearest_rotation(cross: Array, size: Array) -> Array:
    """Return the rotations Q (..., n, n) of greatest tr(Qᵀ cross); where there are several, that of greatest trace.

    Q = U diag(1, …, 1, det U det V) Vᵀ from cross = U S Vᵀ (Kabsch 1976, Umeyama 1991 eq. 40 to 43): never a
    reflection. Where singular values are zero beside ``size``, as those of points on a line of space, every rotation of
    what is left serves as well. The one of least angles there maximizes tr(Q), which is a Procrustes problem again:
    it is solved by adding δ times the identity's part on the null spaces, δ below the other singular values.
    """
    n = cross.shape[-1]
    U, S, Vt = np.linalg.svd(cross)
    known = TIES * float(np.finfo(cross.dtype).eps) * np.asarray(size)[..., None] < S
    if not known.all():
        free = ~known
        least = np.where(known, S, np.inf).min(axis=-1)
        delta = np.where(np.isfinite(least), least, 1.0)[..., None, None] / 2
        inner = delta * free[..., :, None] * free[..., None, :] * np.swapaxes(Vt @ U, -1, -2)
        inner += np.where(known, S, 0)[..., :, None] * np.eye(n)
        A, _, Bt = np.linalg.svd(inner)
        U, Vt = U @ A, Bt @ Vt
    sign = np.linalg.det(U) * np.linalg.det(Vt)
    U[..., :, -1] *= np.where(sign < 0, -1, 1)[..., None]
    return np.asarray(U @ Vt)
