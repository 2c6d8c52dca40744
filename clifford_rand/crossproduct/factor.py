"""Cross products by LAPACK, one LU factorization per matrix, as scaled vectors, ``vector * 2**exponent``."""

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from clifford_rand._threads import ONE_BLAS_THREAD, cpu_count, for_each_slice

_LN2 = float(np.log(2.0))
_SHORT = 8
_CHUNK = 2**15  # entries at a time: larger temporaries leave the cache, and are new pages every time
_BEYOND_EVERY_FLOAT = 1 << 14  # exponents past this overflow or underflow whatever the mantissa
_CHUNK_BYTES = 16 * 2**20  # measured: 64 MiB and 1 MiB are 10 to 50 % slower at d = 64 … 128
_MOST_BYTES = 64 * 2**20  # where it takes more than a chunk to give every processor a matrix
# getrf and trtrs release the GIL: on 2 cores, two threads over a batch are 1.4 times as fast at d = 32 and 1.7 times at
# d = 64. Below, the interpreter takes most of the time.
_OUR_THREADS_FROM = 32
# From d = 144 on OpenBLAS runs threads of its own. Those of NumPy's copy of it spin for some 0.1 s after a product, and
# SciPy's copy then waits for cores: with 2 busy cores a matrix of d = 384 took 204 ms right after a 400 × 400 product,
# and 2.0 ms with one BLAS thread; of d = 1000, 243 and 51 ms (17 and 19 ms on idle cores).
_BLAS_THREADS_FROM = 128
# A lone matrix of d = 1000 takes 17.5 ms in one thread; with two it took 14 ms on idle cores, but 19 to 100 ms within
# the 0.1 s in which NumPy's threads still spin. From here on the gain is worth the wait.
_LARGE = 2048
_TAME = 16  # rows of peak 2^-16 to 2^16 need no scale: no growth short of Wilkinson's takes them out of range
_LAPACK_FROM = 40  # dimensions up to which a call for each matrix takes longer than its work
_PRODUCT_BLOCK = 512  # mantissas in [1/2, 1) whose product stays above 2^-1022


class ScaledVectors(NamedTuple):
    """m vectors ``vector[b] * 2**exponent[b]``, (m, d); a zero vector stands for rank-deficient rows."""

    vector: NDArray[Any]
    exponent: NDArray[np.int64]


def row_peaks(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the largest absolute entry along the last axis, without an array of absolute values."""
    if 1 <= rows.shape[-1] <= _SHORT:  # NumPy reduces a short last axis at 20 ns a row, columns at 1 ns an entry
        columns: NDArray[Any] = np.abs(rows[..., 0])
        for i in range(1, rows.shape[-1]):
            columns = np.maximum(columns, np.abs(rows[..., i]))
        return columns
    peaks: NDArray[Any] = np.maximum(rows.max(axis=-1), -rows.min(axis=-1))
    return peaks


def unit_scaled(
    X: NDArray[Any], axis: int | None = -1, peaks: NDArray[Any] | None = None
) -> tuple[NDArray[Any], NDArray[np.intc]]:
    """Return ``X * 2**-exponent``, its largest absolute entries along ``axis`` in [1/2, 1) or 0, and the exponents.

    A power of two changes no digit, so that squares and products neither overflow nor vanish and nothing else is lost;
    `numpy.ldexp` is exact where 2**-exponent itself is not a float. ``peaks`` are the largest entries, where known.
    """
    if peaks is None:
        peaks = row_peaks(X) if axis == -1 else np.abs(X).max(axis=axis)
    exponent: NDArray[np.intc] = np.frexp(peaks)[1]
    return np.ldexp(X, -exponent if axis is None else -np.expand_dims(exponent, axis)), exponent


def renormalized(scaled: ScaledVectors) -> ScaledVectors:
    """Return the same vectors with every non-zero ``vector[b]`` of peak in [1/2, 1)."""
    vector, shift = unit_scaled(scaled.vector)
    return ScaledVectors(vector, scaled.exponent + shift)


def to_value(scaled: ScaledVectors) -> NDArray[Any]:
    """Return ``vector * 2**exponent`` (m, d): exact scaling, inf or 0 where the format ends, never NaN.

    The vectors are the caller's own: where every exponent is 0 they are the result.
    """
    if not scaled.exponent.any():
        np.add(scaled.vector, 0.0, out=scaled.vector)
        return scaled.vector
    exponent = np.clip(scaled.exponent, -_BEYOND_EVERY_FLOAT, _BEYOND_EVERY_FLOAT).astype(np.int32)
    value: NDArray[Any] = np.ldexp(scaled.vector, exponent[:, None])
    value += 0.0  # turns -0 to 0
    return value


def to_direction(scaled: ScaledVectors) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return unit directions (m, d) and natural log-norms (m,), both in the vectors' dtype; 0 and -inf for zeros."""
    m, d = scaled.vector.shape
    direction, log_norm = np.empty_like(scaled.vector), np.empty(m, scaled.vector.dtype)
    step = max(1, _CHUNK // d)
    for start in range(0, m, step):
        part = slice(start, start + step)
        _write_direction(*renormalized(ScaledVectors(*(x[part] for x in scaled))), direction[part], log_norm[part])
    return direction, log_norm


def _write_direction(
    vector: NDArray[Any], exponent: NDArray[np.int64], direction: NDArray[Any], log_norm: NDArray[Any]
) -> None:
    # float64 for the norm; it lies in [1/2, √d), or is 0
    norm = np.sqrt(np.einsum("bi,bi->b", vector, vector, dtype=np.float64))
    zero = norm == 0.0
    norm[zero] = 1.0
    log_norm[:] = np.where(zero, -np.inf, np.log(norm) + exponent * _LN2)
    direction[:] = vector / norm[:, None]
    direction += 0.0


def by_lapack(
    X: NDArray[Any], index: NDArray[np.int64], rtol: float, peaks: NDArray[Any] | None = None
) -> ScaledVectors:
    """Return the cross products of ``X[index[b]]``, index (m, d-1), d ≥ 2; ``peaks`` (n,) are those of X's rows.

    With Aᵀ = P [L1; l2ᵀ] U for the rows A: ×(A) = (-1)^{d-1} det(P) det(U) P z, L1ᵀ z1 = -l2, z = (z1, 1).
    A is rank-deficient where a pivot |U_ii| is at most ``rtol`` times the peak of row i.
    """
    m, d = len(index), X.shape[1]
    peaks = row_peaks(X) if peaks is None else peaks
    vector = np.empty((m, d), X.dtype)
    exponent = np.empty(m, np.int64)
    size = (d - 1) * d * X.itemsize
    step = max(1, min(max(_CHUNK_BYTES // size, cpu_count()), _MOST_BYTES // size))
    for start in range(0, m, step):
        chunk = slice(start, min(start + step, m))
        exponent[chunk] = _factor_chunk(X[index[chunk]], peaks[index[chunk]], rtol, vector[chunk])
    return ScaledVectors(vector, exponent)


def _factor_chunk(work: NDArray[Any], peaks: NDArray[Any], rtol: float, vector: NDArray[Any]) -> NDArray[np.int64]:
    """Overwrite ``work`` (m, d-1, d), of row peaks (m, d-1), write the vectors (m, d), return their exponents (m,)."""
    m, rows, d = work.shape
    peak, exponent = _scale_rows(work, peaks)
    pivot = np.empty((m, rows), work.dtype)
    swapped = np.empty((m, rows), np.int32)
    getrf, laswp, trtrs = get_lapack_funcs(("getrf", "laswp", "trtrs"), dtype=work.dtype)

    def factor(part: slice) -> None:
        for b in range(part.start, part.stop):
            lu, swapped[b], _ = getrf(work[b].T, overwrite_a=1)  # Fortran order already: no copy
            pivot[b] = lu.diagonal()
            z = vector[b]
            z[:rows] = trtrs(lu, -lu[rows], lower=1, trans=1, unitdiag=1)[0].ravel()
            z[rows] = 1.0
            z[:] = laswp(z[:, None], swapped[b], inc=-1).ravel()

    if d < _OUR_THREADS_FROM or (d >= _LARGE and m < cpu_count()):
        factor(slice(0, m))
    else:
        with ONE_BLAS_THREAD if d >= _BLAS_THREADS_FROM else nullcontext():
            for_each_slice(factor, m, least=1 + 2**17 // d**2)  # some 1 ms a thread

    with np.errstate(invalid="ignore", over="ignore"):
        deficient = (np.abs(pivot) <= rtol * peak).any(axis=1)
        odd = (np.count_nonzero(swapped != np.arange(rows), axis=1) + rows) % 2
        pivot[deficient] = 1.0
        mantissa, shift = _product(pivot)
        vector[deficient] = 0.0
        vector *= (np.where(odd, -mantissa, mantissa)[:, None]).astype(vector.dtype)
    return exponent + shift


def _scale_rows(work: NDArray[Any], peaks: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Scale rows by powers of two to peaks in [1/2, 1), unless all are tame; return peaks and sums of exponents.

    A row of A is a column of Aᵀ: its scale changes neither the order of the pivots nor L.
    """
    peak, shift = np.frexp(peaks)
    if np.abs(shift).max(initial=0) <= _TAME:
        return peaks, np.zeros(len(work), np.int64)
    if np.abs(shift).max(initial=0) < np.finfo(work.dtype).maxexp - 2:
        work *= np.ldexp(work.dtype.type(1), -shift)[..., None]
    else:  # 2**-shift itself may overflow
        np.ldexp(work, -shift[..., None], out=work)
    return peak, shift.sum(axis=-1, dtype=np.int64)


def _product(values: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return mantissa and exponent of the products along the last axis."""
    mantissa, shift = np.frexp(values.astype(np.float64))
    exponent = shift.sum(axis=-1, dtype=np.int64)
    while mantissa.shape[-1] > 1:
        blocks = np.arange(0, mantissa.shape[-1], _PRODUCT_BLOCK)
        mantissa, shift = np.frexp(np.multiply.reduceat(mantissa, blocks, axis=-1))
        exponent += shift.sum(axis=-1, dtype=np.int64)
    return mantissa[..., 0], exponent


def inverses(
    work: NDArray[Any], peaks: NDArray[Any], rtol: float
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return columns of inverses of (m, d, d), row peaks (m, d); exponents, log-determinants, signs, and the regular.

    Row i of each matrix is scaled by ``2**-exponent[i]`` first; ``columns[b, i]`` is column i of the inverse of the
    scaled matrix, the log-determinant is that of the given one. Regular: the reciprocal condition number of the scaled
    matrix, in the 1-norm, is above ``rtol``. ``work`` is overwritten.
    """
    m, d, _ = work.shape
    exponent = np.frexp(peaks)[1].astype(np.int64)
    if np.abs(exponent).max(initial=0) <= _TAME:
        exponent[:] = 0
    else:
        work = np.ldexp(work, -exponent[..., None])
    if d < _LAPACK_FROM:
        return _stacked_inverses(work, exponent, rtol)
    getrf, getri, getri_lwork = get_lapack_funcs(("getrf", "getri", "getri_lwork"), dtype=work.dtype)
    lwork = int(getri_lwork(d)[0].real)
    columns = np.zeros(work.shape, work.dtype)
    log_det = np.full(m, -np.inf)
    sign = np.ones(m)
    good = np.zeros(m, dtype=bool)
    norm = np.abs(work).sum(axis=-1).max(axis=-1)  # of the transpose, which is what LAPACK is given

    def invert(part: slice) -> None:
        for b in range(part.start, part.stop):
            lu, swapped, info = getrf(work[b].T, overwrite_a=1)
            diagonal = lu.diagonal()
            if info:
                continue
            log_det[b] = np.log(np.abs(diagonal)).sum(dtype=np.float64)
            odd = np.count_nonzero(swapped != np.arange(d)) + np.count_nonzero(diagonal < 0)
            sign[b] = -1.0 if odd % 2 else 1.0
            inverse, _ = getri(lu, swapped, lwork=lwork, overwrite_lu=1)
            columns[b] = inverse  # of Bᵀ, so its rows are the columns of B⁻¹
            largest = np.abs(inverse).sum(axis=0).max()
            good[b] = np.isfinite(largest) and norm[b] * largest * rtol < 1

    if d < _OUR_THREADS_FROM:
        invert(slice(0, m))
    else:
        with ONE_BLAS_THREAD if d < _LARGE or m > 1 else nullcontext():  # getri runs threads from smaller sizes on
            for_each_slice(invert, m, least=1 + 2**17 // d**2)
    return columns, exponent, log_det + exponent.sum(axis=1) * np.log(2.0), sign, good


def _stacked_inverses(
    work: NDArray[Any], exponent: NDArray[np.int64], rtol: float
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return what `inverses` does for matrices that are scaled, by NumPy's stacked factorizations: one call for all."""
    m, d, _ = work.shape
    columns = np.empty_like(work)
    log_det, sign = np.empty(m), np.empty(m)
    good = np.empty(m, dtype=bool)

    def invert(part: slice) -> None:
        B = work[part]
        sign[part], log_det[part] = np.linalg.slogdet(B.astype(np.float64, copy=False))
        singular = sign[part] == 0
        inverse = np.linalg.inv(np.where(singular[:, None, None], np.eye(d, dtype=B.dtype), B) if singular.any() else B)
        condition = np.abs(B).sum(axis=-1).max(axis=-1) * np.abs(inverse).sum(axis=-1).max(axis=-1)
        good[part] = ~singular & (condition * rtol < 1)  # not so for NaN and infinity
        columns[part] = inverse.swapaxes(-1, -2)

    for_each_slice(invert, m, least=1 + 2**17 // d**2)
    return columns, exponent, log_det + exponent.sum(axis=1) * np.log(2.0), np.where(sign == 0, 1.0, sign), good
