"""Cross products of all (d-1)-subsets of rows, and along a walk that exchanges rows."""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import (
    as_real,
    check_bool,
    check_fits,
    check_integer,
    check_positive,
    describe,
    fail,
    quantity,
)
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.crossproduct.exact import CrossProduct, checked_subsets
from clifford_rand.crossproduct.factor import to_direction, to_value, unit_scaled
from clifford_rand.crossproduct.paths import check_rtol, finite_peaks, null_vectors

_Callback = Callable[[int, int], object] | None
_CHUNK_BYTES = 32 * 2**20  # of gathered rows and results
# Measured on 2 cores, microseconds a subset in revolving-door order, elimination one by one and walk:
#   d            8    16    24    32    48    64   100
#   one by one 0.5   0.9   1.7   3.0   7.9    15    52
#   walk       1.2   1.6   2.1   2.9   4.6   6.4    13
_WALK_FROM_D = 32
_MOST = 2**62  # ranks are int64
_STEPS = 64  # of one check: a GEMM of that many normals with all rows that they should be orthogonal to
_FAR = 8  # a step that exchanges more than d / 8 rows starts anew: 4 d² flops an exchange, 2 d³/3 a factorization
_SMALLEST = 1e-6  # a pivot below loses six digits; a new factorization has them
_TILTED = 1e4  # the auxiliary row is nearly in the span of the others from here on: 1 / cos of its angle to the normal


def subsets_of_ranks(n: int, k: int, start: int, stop: int) -> NDArray[np.int64]:
    """Return the k-subsets of range(n) with ranks ``start`` to ``stop - 1``, each ascending, (stop - start, k).

    Revolving-door order (Nijenhuis and Wilf 1978; unranking: Kreher and Stinson, "Combinatorial Algorithms", 1999,
    algorithm 2.12), vectorized over the ranks: the largest element is x with C(x, k) ≤ rank < C(x+1, k), and the rest
    is taken from the reversed list of (k-1)-subsets of range(x).
    """
    if math.comb(n, k) > _MOST:
        raise OverflowError(f"C({n}, {k}) subsets are more than 2^62")
    rank = np.arange(start, stop, dtype=np.int64)
    result = np.empty((len(rank), k), dtype=np.int64)
    for i in range(k, 0, -1):
        binomials = np.array([min(math.comb(x, i), _MOST) for x in range(n + 1)], dtype=np.int64)
        x = np.searchsorted(binomials, rank, side="right") - 1
        result[:, i - 1] = x
        rank = binomials[x + 1] - rank - 1
    return result


class CrossChunk(NamedTuple):
    """Some subsets with their cross products.

    Attributes
    ----------
    subsets : ndarray (m, d-1)
        The rows of each subset, ascending.
    vectors : ndarray (m, d)
        Their cross products, or unit directions.
    """

    subsets: NDArray[np.int64]
    vectors: NDArray[Any]


class EveryCross:
    """The cross products of all subsets, as an iterable of `CrossChunk`; ``len`` is the number of chunks.

    It can be iterated again, and cut by `chunk`; so it can be shared among processes. Made by `cross_all`.

    Attributes
    ----------
    n_subsets : int
        C(n, d-1).
    """

    def __init__(
        self, X: NDArray, peaks: NDArray, size: int, normalize: bool, tol: float, rtol: float, callback: _Callback
    ) -> None:
        self._X, self._peaks = X, peaks
        self._size, self._normalize, self._tol, self._rtol, self._callback = size, normalize, tol, rtol, callback
        self.n_subsets = math.comb(len(X), X.shape[1] - 1)

    def __len__(self) -> int:
        return (self.n_subsets + self._size - 1) // self._size

    def chunk(self, i: int) -> CrossChunk:
        """Return chunk ``i``, from 0 to ``len - 1``, computed alone."""
        i = check_integer(i, "i", "chunk", low=0, high=len(self) - 1)
        n, d = self._X.shape
        start = i * self._size
        index = subsets_of_ranks(n, d - 1, start, min(start + self._size, self.n_subsets))
        if d >= _WALK_FROM_D and self._normalize:
            direction, _ = walk(self._X, index, self._peaks, self._tol, self._rtol)
            return CrossChunk(index, direction.astype(self._X.dtype))
        scaled = null_vectors(self._X, index, self._rtol, self._peaks)
        return CrossChunk(index, to_direction(scaled)[0] if self._normalize else to_value(scaled))

    def __iter__(self) -> Iterator[CrossChunk]:
        done = 0
        for i in range(len(self)):
            part = self.chunk(i)
            yield part
            done += len(part.subsets)
            if self._callback is not None:
                self._callback(done, self.n_subsets)

    def __repr__(self) -> str:
        n, d = self._X.shape
        return f"<all {self.n_subsets} cross products of {d - 1} of {n} rows in R^{d}, in {len(self)} chunks>"


def cross_all(
    X: ArrayLike,
    /,
    *,
    normalize: bool = False,
    batch_size: int | None = None,
    tol: float = 1e-10,
    rtol: float | None = None,
    callback: _Callback = None,
) -> EveryCross:
    """Return the cross products of every (d-1)-subset of the rows, as an iterable of chunks with their index.

    Subsets come in revolving-door order, each ascending: neighbors differ in one row. Up to d = 3 closed forms, then
    elimination, and from d = 32 on, for unit directions, the walk of `cross_walk` do the work.

    Parameters
    ----------
    X : array_like (n, d)
        One vector per row, n ≥ d-1.
    normalize : bool
        Unit directions, which never overflow.
    batch_size : int, optional
        Subsets of a chunk; by default as many as take about 32 MiB. Memory is that of ``X`` and one chunk.
    tol : float
        Of the walk, see `cross_walk`.
    rtol : float, optional
        Relative pivot size up to which rows count as dependent, see `cross`; their product is 0.
    callback : callable, optional
        Called as ``callback(subsets done, all subsets)`` after each chunk; or wrap the result in any progress bar, as
        it has a length.

    Returns
    -------
    EveryCross
        Iterable of ``CrossChunk(subsets, vectors)``.

    Raises
    ------
    ArgumentError
        If ``X`` is not (n, d) with n ≥ d-1, not real or not finite, or there are more than 2^62 subsets.

    Examples
    --------
    >>> for subsets, vectors in cr.cross_all(np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])):
    ...     print(subsets.tolist(), vectors.tolist())
    [[0, 1], [1, 2], [0, 2]] [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]
    """
    owner = "cross_all"
    X = as_real(X, "X", owner, finite=False)
    if X.ndim != 2 or X.shape[1] < 1 or len(X) < X.shape[1] - 1:
        raise fail("X", owner, "of shape (n, d) with n ≥ d-1, one vector per row", describe(f"shape {X.shape}"))
    peaks = finite_peaks(X, "X", owner)
    n, d = X.shape
    total = math.comb(n, d - 1)
    if total > 2**62:
        received = describe(f"C({n}, {d - 1}) = {quantity(total, '')}")
        raise fail("X", owner, "such that C(n, d-1) ≤ 2^62", received, "Sample subsets instead, for cross_many.")
    default = max(1, _CHUNK_BYTES // (d * (d + 8) * 8))
    size = default if batch_size is None else check_integer(batch_size, "batch_size", owner)
    check_fits(16 * d * min(size, total), "batch_size", owner)  # one of subsets and vectors
    if callback is not None and not callable(callback):
        raise fail("callback", owner, "a function of two integers, or None", callback)
    limit = max(check_positive(tol, "tol", owner), 1e-14)
    unit, tolerance = check_bool(normalize, "normalize", owner), check_rtol(rtol, d, X.dtype, owner)
    return EveryCross(X, peaks, size, unit, limit, tolerance, callback)


def cross_walk(X: ArrayLike, /, index: ArrayLike, *, tol: float = 1e-10, rtol: float | None = None) -> CrossProduct:
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
        products = to_direction(null_vectors(X, index, rtol, peaks))
        return products[0].astype(np.float64), products[1].astype(np.float64)
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
        if start + good < stop or state.needs_refactorization(tol):
            state = None
        start += good
    return direction, log_norm + shift


class _State:
    """The inverse of [rows of the subset; auxiliary row], its determinant, and how far it can be trusted."""

    def __init__(self, X: NDArray[np.float64], subset: NDArray[np.int64], rtol: float) -> None:
        d = X.shape[1]
        rows = X[subset]
        product = to_direction(null_vectors(rows, np.arange(d - 1)[None], rtol, np.abs(rows).max(axis=1)))
        self.direction, self.log_norm = product[0][0], float(product[1][0])
        self.regular = bool(np.isfinite(self.log_norm))
        self.residual, self.tilt = 0.0, 1.0
        if self.regular:
            # x·cross = det [x; A]: the unit normal as auxiliary row, moved to the end by d - 1 swaps
            self.columns = np.ascontiguousarray(np.linalg.inv(np.concatenate([rows, product[0]])).T)
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
        from clifford_rand.crossproduct.null_vectors import exchange_rows  # Numba loads here, not at import

        steps, d = len(index), X.shape[1]
        directions, size = np.empty((steps, d)), np.empty(steps)
        limits, subset = (max(1, d // _FAR), _SMALLEST), (self.slots, self.place)
        done = exchange_rows(X, index, limits, subset, (self.columns, self.det), (directions, size))
        if not done:
            return 0
        used, place = np.unique(index[:done], return_inverse=True)
        inner = directions[:done] @ X[used].T
        residual = np.abs(np.take_along_axis(inner, place.reshape(done, d - 1), axis=1)) / lengths[index[:done]]
        worst = residual.max(axis=1)
        wrong = np.flatnonzero(~(worst <= tol))
        good = int(wrong[0]) if len(wrong) else done
        direction[:good] = directions[:good] if d % 2 else -directions[:good]
        log_norm[:good] = size[:good]
        if good:
            self.residual = float(worst[good - 1])
            self.tilt = 1.0 / max(float(np.abs(directions[good - 1] @ self.direction)), 1e-300)
        return good

    def needs_refactorization(self, tol: float) -> bool:
        """Tell whether a new factorization should come before the error does."""
        return self.residual > tol / 8 or self.tilt > _TILTED
