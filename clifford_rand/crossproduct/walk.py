"""The walk: cross products of subsets that differ in few rows, by rank-one updates that are checked as they go."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import check_positive
from clifford_rand.crossproduct.exact import CrossProduct, checked_subsets
from clifford_rand.crossproduct.paths import check_rtol, null_vectors
from clifford_rand.crossproduct.scaled import to_direction, unit_scaled

_STEPS = 64  # of one check: a GEMM of that many normals with all rows that they should be orthogonal to
_FAR = 8  # a step that exchanges more than d / 8 rows starts anew: 4 d² flops an exchange, 2 d³/3 a factorization
_SMALLEST = 1e-6  # a pivot below loses six digits; a new factorization has them
_TILTED = 1e4  # the auxiliary row is nearly in the span of the others from here on: 1 / cos of its angle to the normal


def cross_walk(X: ArrayLike, index: ArrayLike, *, tol: float = 1e-10, rtol: float | None = None) -> CrossProduct:
    r"""Return the cross products of subsets of rows, each of which has most rows of the one before it.

    Row j of B is exchanged for x by B' = B + e_j (x - b_j)ᵀ, so with a = xᵀ B⁻¹ e_j

    .. math:: \det B' = a \det B, \qquad B'^{-1} = B^{-1} - \tfrac1a B^{-1} e_j (x^T B^{-1} - e_j^T)

    (Sherman and Morrison 1950), 4 d² flops instead of 2d³/3. B has the d-1 rows of the subset and an auxiliary one; the
    last column of its inverse is the normal. Every 64 steps all normals are multiplied by all their rows: where one is
    not orthogonal to ``tol`` the walk goes back and factors anew, and so it does where a pivot is small.

    Parameters
    ----------
    X : array_like (n, d)
        One vector per row.
    index : array_like of integers (m, d-1)
        Rows of ``X``. Subsets that follow each other should share most rows, in any order; others cost a
        factorization.
    tol : float
        Largest |x·v| / (|x| |v|) that is let pass, of a row x and its normal v; at least 1e-14.
    rtol : float, optional
        Relative pivot size up to which rows count as dependent, see `cross`.

    Returns
    -------
    CrossProduct
        ``direction`` (m, d) and ``log_norm`` (m,) as `cross_log` gives for each subset; 0 and -inf for dependent rows.

    Raises
    ------
    ArgumentError
        If ``X`` is not (n, d), not real or not finite, or ``index`` is not (m, d-1) rows of X.

    Examples
    --------
    >>> import numpy as np
    >>> import clifford_rand as cr
    >>> X = np.random.default_rng(0).standard_normal((6, 4))
    >>> found = cr.cross_walk(X, [[0, 1, 2], [0, 5, 2], [4, 5, 2]])
    >>> bool(np.allclose(found.direction[2], cr.cross_log(X[[4, 5, 2]]).direction))
    True
    """
    owner = "cross_walk"
    X, peaks, rows = checked_subsets(X, index, owner)
    tol = max(check_positive(tol, "tol", owner), 1e-14)
    direction, log_norm = walk(X, rows, peaks, tol, check_rtol(rtol, X.shape[1], X.dtype, owner))
    return CrossProduct(direction.astype(X.dtype), log_norm.astype(X.dtype))


def walk(
    X: NDArray[Any], index: NDArray[np.int64], peaks: NDArray[Any], tol: float, rtol: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return directions (m, d) and log-norms (m,) in float64; the arguments are checked."""
    m, d = len(index), X.shape[1]
    direction, log_norm = np.empty((m, d)), np.empty(m)
    if d < 3 or m < 2:
        found = to_direction(null_vectors(X, index, rtol, peaks))
        return found[0].astype(np.float64), found[1].astype(np.float64)
    scaled, exponent = unit_scaled(X.astype(np.float64), peaks=peaks)
    lengths = np.linalg.norm(scaled, axis=1)
    shift = exponent[index].sum(axis=1) * np.log(2.0)
    state: _State | None = None
    start = 0
    while start < m:
        if state is None:
            state = _State(scaled, index[start], rtol)
            direction[start], log_norm[start] = state.direction, state.log_norm
            start += 1
            if not state.regular:
                state = None
            continue
        stop = min(start + _STEPS, m)
        good = state.advance(scaled, lengths, index[start:stop], tol, direction[start:stop], log_norm[start:stop])
        if start + good < stop or state.worn(tol):
            state = None
        start += good
    return direction, log_norm + shift


class _State:
    """The inverse of [rows of the subset; auxiliary row], its determinant, and how far it can be trusted."""

    def __init__(self, X: NDArray[np.float64], subset: NDArray[np.int64], rtol: float) -> None:
        d = X.shape[1]
        rows = X[subset]
        found = to_direction(null_vectors(rows, np.arange(d - 1)[None], rtol, np.abs(rows).max(axis=1)))
        self.direction, self.log_norm = found[0][0], float(found[1][0])
        self.regular = bool(np.isfinite(self.log_norm))
        self.residual, self.tilt = 0.0, 1.0
        if self.regular:
            # x·cross = det [x; A]: the unit normal as auxiliary row, moved to the end by d - 1 swaps
            self.columns = np.ascontiguousarray(np.linalg.inv(np.concatenate([rows, found[0]])).T)
            self.det = np.array([self.log_norm, -1.0 if d % 2 == 0 else 1.0])
            self.slots = subset.copy()
            self.place = np.full(len(X), -1)
            self.place[subset] = np.arange(d - 1)

    def advance(
        self,
        X: NDArray[np.float64],
        lengths: NDArray[np.float64],
        index: NDArray[np.int64],
        tol: float,
        direction: NDArray[np.float64],
        log_norm: NDArray[np.float64],
    ) -> int:
        """Walk over the subsets ``index``; return how many of the results are right."""
        from clifford_rand.kernels.null_vectors import exchange_rows  # Numba loads here, not at import

        steps, d = len(index), X.shape[1]
        found, size = np.empty((steps, d)), np.empty(steps)
        done = exchange_rows(
            X, index, max(1, d // _FAR), _SMALLEST, self.slots, self.place, self.columns, self.det, found, size
        )
        if not done:
            return 0
        used, place = np.unique(index[:done], return_inverse=True)
        inner = found[:done] @ X[used].T
        residual = np.abs(np.take_along_axis(inner, place.reshape(done, d - 1), axis=1)) / lengths[index[:done]]
        worst = residual.max(axis=1)
        wrong = np.flatnonzero(~(worst <= tol))
        good = int(wrong[0]) if len(wrong) else done
        direction[:good] = found[:good] if d % 2 else -found[:good]
        log_norm[:good] = size[:good]
        if good:
            self.residual = float(worst[good - 1])
            self.tilt = 1.0 / max(float(np.abs(found[good - 1] @ self.direction)), 1e-300)
        return good

    def worn(self, tol: float) -> bool:
        """Tell whether a new factorization should come before the error does."""
        return self.residual > tol / 8 or self.tilt > _TILTED
