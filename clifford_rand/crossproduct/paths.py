"""Paths to a cross product of floats, and the rule that chooses one; of integers and fractions, by elimination."""

import math
import sys
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_real, check_tolerance, describe, extremes, fail
from clifford_rand._threads import for_each_slice
from clifford_rand.compiler.decorator import has_compiler
from clifford_rand.crossproduct.factor import ScaledVectors, by_lapack, renormalized, row_peaks

_CLOSED_UP_TO = 3  # dimensions
# Measured on 2 cores, float64, steady state, microseconds a matrix:
#   d          6    12    24    32    48    64    80   100   128   160   256
#   kernel  0.34  0.54   1.8   3.5   7.8    16    26    51   102   155   713
#   LAPACK   5.0   6.7    12    16    25    30    54    56    88   240   635
# The kernel costs 1.3 s to compile, once per machine and precision, and 0.4 s to load, once per process: at m = 2048
# a call gains 10 to 50 ms by it. Small batches must not wait for that; LAPACK takes them in milliseconds.
_KERNEL_FROM_M = 2048
_KERNEL_UP_TO_D = 100
_PAIRS_FROM_M = 2**15  # of R³: 8 ns a pair by the kernel, 50 to 100 by NumPy, which is some 2 ms a call from here on
_PAIRS_OF_A_CALL = 400
_PAIRS_AT_A_TIME = 3 * 2**9  # whose arrays stay below 128 KiB, from where the system gives new pages to each
_PAIRS_OF_A_LOAD = 2**23
_rented = 0  # pairs that NumPy did
# Rows that depend on each other up to rounding leave a pivot of up to about d·eps, and of more where the dependence
# itself is ill-conditioned: of products of Gaussian matrices of rank d-2, d = 4 … 300, 64·d·eps misses 0 … 0.7 %,
# 8·d·eps 0.5 … 16 %. float32 cannot afford 64: at d = 400 that is 3e-3, a pivot that real features have.
_NOISE = {np.float64: 64, np.float32: 8}
_HINTS = {  # by the number of rows, less d; -2 for all smaller numbers
    1: "Pass the transpose: one vector per row.",
    0: "The hyperplane through d points has the normal of A[:-1] - A[-1]; for a determinant use numpy.linalg.slogdet.",
    -2: "Fewer vectors have a volume, cr.Blade(A).log_norm(), and an orthogonal complement, cr.Blade(A).star().",
}


def ordinary_pairs(X: NDArray[Any], index: NDArray[np.int64] | None, rtol: float) -> NDArray[Any] | None:
    """Return the cross products (m, 3) of pairs of rows (n, 3) of ordinary size, None if some is not, or not finite.

    ``index`` is (m, 2), or None for the rows 2b and 2b + 1. The result is `numpy.cross` bit for bit, but 0 where the
    rows are dependent (see `by_closed_form`) and never -0, on both ways: the kernel, one pass and no array but the
    result, is taken where it is there already or the batch is worth its load.
    """
    m = len(X) // 2 if index is None else len(index)
    most = 2.0 ** (np.finfo(X.dtype).maxexp // 4)
    if not _pairs_by_kernel(m):
        return _pairs_by_numpy(X, index, rtol, most) if m else None
    from clifford_rand.crossproduct.null_vectors import pair_crosses

    if not (X.flags.c_contiguous and X.flags.writeable):  # Numba compiles once more for a read-only array
        X = X.copy()
    pairs = np.empty((0, 2), np.int64) if index is None else np.require(index, np.int64, ["C", "W"])
    vector, ordinary = np.empty((m, 3), X.dtype), list[bool]()

    def run(part: slice) -> None:
        chosen = pairs if index is None else pairs[part]
        ordinary.append(bool(pair_crosses(X, chosen, part.start, rtol, 1 / most, most, vector[part])))

    if m < 2**15:  # two threads of 0.1 ms each from here on
        run(slice(0, m))
    else:
        for_each_slice(run, m, least=2**14)
    return vector if all(ordinary) else None


def _pairs_by_numpy(X: NDArray[Any], index: NDArray[np.int64] | None, rtol: float, most: float) -> NDArray[Any] | None:
    """Return the cross products (m, 3) of pairs of rows, None if a row has no peak from 1/most to most/3."""
    m = len(X) // 2 if index is None else len(index)
    vector = np.empty((m, 3), X.dtype)
    for start in range(0, m, _PAIRS_AT_A_TIME):
        part = slice(start, start + _PAIRS_AT_A_TIME)
        some = X.reshape(m, 2, 3)[part] if index is None else X.take(index[part], axis=0)
        if not _write_pairs(some.transpose(1, 2, 0), rtol, most, vector[part]):
            return None
    return vector


def _write_pairs(pairs: NDArray[Any], rtol: float, most: float, vector: NDArray[Any]) -> bool:
    """Write the cross products of ``pairs`` (2, 3, m) to ``vector`` (m, 3), if every row is of ordinary size."""
    rows = np.empty((2, 5, pairs.shape[2]), pairs.dtype)  # x y z x y, so that each factor is three neighbors
    rows[:, :3] = pairs
    rows[:, 3:] = rows[:, :2]
    peaks = np.maximum.reduce(np.abs(rows[:, :3]), axis=1)
    low, high = extremes(peaks)
    if not 1 / most <= low <= high <= most / 3:
        return False
    a, b = rows
    minors = a[1:4] * b[2:5]
    minors -= a[2:5] * b[1:4]
    limit = peaks[0] * peaks[1]
    limit *= rtol
    dependent = np.maximum.reduce(np.abs(minors), axis=0) <= limit
    if dependent.item(dependent.argmax()):  # any, sooner
        minors[:, dependent] = 0.0
    minors += 0.0  # no -0
    for i in range(3):
        vector[:, i] = minors[i]
    return True


def _pairs_by_kernel(m: int) -> bool:
    """Tell whether the kernel is there, or worth its load: for a large batch, and once NumPy has cost as much."""
    global _rented
    if m < _PAIRS_FROM_M and "clifford_rand.crossproduct.null_vectors" not in sys.modules:
        _rented += m + _PAIRS_OF_A_CALL
        if _rented < _PAIRS_OF_A_LOAD:
            return False
    return has_compiler()


def by_closed_form(
    X: NDArray[Any], index: NDArray[np.int64], rtol: float, peaks: NDArray[Any] | None = None
) -> ScaledVectors:
    """Return the cross products of ``X[index[b]]``, index (m, d-1), for d ≤ 3.

    ×() = e1; ×(x) = (x2, -x1); ×(x, y) is `numpy.cross`. Rows at d = 3 are rank-deficient where
    max|×(x, y)| ≤ rtol·max|x|·max|y|, the second pivot of an elimination. ``peaks`` (n,) are those of X's rows.
    """
    m, d = len(index), X.shape[1]
    exponent = np.zeros(m, np.int64)
    if d == 1:
        return ScaledVectors(np.ones((m, 1), X.dtype), exponent)
    if d == 2:
        rows = X[index[:, 0]]
        return ScaledVectors(np.stack([rows[:, 1], -rows[:, 0]], axis=-1), exponent)
    # Rows of ordinary size are not scaled, so that the result is numpy.cross bit for bit; the others by 2^-shift.
    ordinary = ordinary_pairs(X, index, rtol)
    if ordinary is not None:
        return ScaledVectors(ordinary, exponent)
    peaks = row_peaks(X) if peaks is None else peaks
    shift = np.frexp(peaks)[1]
    shift[np.abs(shift) <= np.finfo(X.dtype).maxexp // 4] = 0
    if shift.any():
        X = np.ldexp(X, -shift[:, None])
        exponent += shift[index].sum(axis=-1)
    vector = _pairs_by_numpy(X, index, rtol, math.inf)  # zero rows are in range, too
    return ScaledVectors(np.asarray(vector), exponent)


def by_kernel(X: NDArray[Any], index: NDArray[np.int64], rtol: float) -> ScaledVectors:
    """Return the cross products of ``X[index[b]]``, index (m, d-1), by the Numba kernel on slices of the batch."""
    from clifford_rand.crossproduct.null_vectors import null_vectors as kernel  # Numba loads here, not at import

    m, d = len(index), X.shape[1]
    # Numba types a read-only array apart, and would compile once more for it.
    X = np.require(X, requirements=["C", "W"])
    index = np.require(index, np.int64, ["C", "W"])
    vector = np.empty((m, d), X.dtype)
    exponent = np.empty(m, np.int64)

    def run(part: slice) -> None:
        kernel(X, index[part], rtol, vector[part], exponent[part])

    for_each_slice(run, m, least=1 + 2**20 // d**3)
    return ScaledVectors(vector, exponent)


def choose_path(d: int, m: int) -> str:
    """Return "closed", "lapack" or "kernel" for m matrices (d-1, d)."""
    if d <= _CLOSED_UP_TO:
        return "closed"
    return "kernel" if m >= _KERNEL_FROM_M and d <= _KERNEL_UP_TO_D and has_compiler() else "lapack"


def default_rtol(d: int, dtype: np.dtype[Any]) -> float:
    """Return the relative pivot size up to which rows of ``dtype`` count as dependent."""
    eps = float(np.finfo(dtype).eps)
    return 4 * eps if d <= _CLOSED_UP_TO else _NOISE[dtype.type] * d * eps


def check_rtol(rtol: float | None, d: int, dtype: np.dtype[Any], owner: str) -> float:
    """Return ``rtol`` as a float in [0, 1), or the default for None."""
    return check_tolerance(rtol, default_rtol(d, dtype), owner)


def checked_shape(A: NDArray[Any], owner: str) -> NDArray[Any]:
    """Return an array of shape (..., d-1, d)."""
    if A.ndim < 2 or A.shape[-1] < 1 or A.shape[-2] != A.shape[-1] - 1:
        hint = _HINTS.get(max(A.shape[-2] - A.shape[-1], -2), "") if A.ndim >= 2 else ""
        raise fail("A", owner, "of shape (..., d-1, d), one vector per row", describe(f"shape {A.shape}"), hint)
    return A


def finite_peaks(X: NDArray[Any], name: str, owner: str) -> NDArray[Any]:
    """Return the largest absolute entry of every row (n, d), or raise if one is NaN or infinite: one pass for both."""
    peaks = row_peaks(X)
    if not np.isfinite(peaks).all():
        as_real(X, name, owner)
    return peaks


def null_vectors(X: NDArray[Any], index: NDArray[np.int64], rtol: float, peaks: NDArray[Any]) -> ScaledVectors:
    """Return the cross products of the rows ``X[index[b]]``, of peaks (n,), by the path that `choose_path` names."""
    name = choose_path(X.shape[1], len(index))
    path = by_kernel if name == "kernel" else partial(_WITH_PEAKS[name], peaks=peaks)
    scaled = path(X, index, rtol)
    if np.isfinite(scaled.vector).all():
        return scaled
    # Pivoting bounds the growth of an elimination by 2^(d-1) only. Matrices that reach it are curiosities
    # (Wilkinson's), but past d = 128 they overflow float32, and past d = 1024 float64.
    scaled = renormalized(path(X.astype(np.float64), index, rtol))
    if not np.isfinite(scaled.vector).all():
        raise FloatingPointError(
            "The elimination overflowed: its pivots grow like 2^d. Reorder the columns and try again."
        )
    return ScaledVectors(scaled.vector.astype(X.dtype), scaled.exponent)


_WITH_PEAKS = {"closed": by_closed_form, "lapack": by_lapack}


def exact_products(A: NDArray[Any], rtol: float | None, owner: str) -> NDArray[Any]:
    """Return the cross products (..., d) of the rows of ``A`` (..., d-1, d), an array of Python integers and fractions.

    The rows times their denominators are eliminated without fractions. The last pivot is one of the d minors, and the
    other components of the null vector follow by divisions that leave no remainder.
    """
    if rtol is not None:
        hint = "Integers and fractions are dependent or not, without a tolerance."
        raise fail("rtol", owner, "None for an array of objects", describe(f"rtol = {rtol!r}"), hint)
    from clifford_rand.functions.scaling import echelon, integer_rows  # of exact numbers alone

    rows, denominators = integer_rows(A, "A", owner)
    vectors = np.empty((*A.shape[:-2], A.shape[-1]), dtype=object)
    for place in np.ndindex(*A.shape[:-2]):
        common = math.prod(denominators[place].tolist())
        vector = _null_vector(echelon(rows[place]), *rows.shape[-2:])
        vectors[place] = [x // common if x % common == 0 else Fraction(x, common) for x in vector]
    return vectors


def _null_vector(form: Any, k: int, d: int) -> list[int]:
    """Return the cofactors (-1)^i det(rows without column i) of integers (k, d), k = d - 1, from their echelon form."""
    vector = [0] * d
    if len(form.pivots) < k:
        return vector
    free = next(i for i in range(d) if i == k or form.pivots[i] != i)
    minor = form.rows[-1, form.pivots[-1]] * form.sign if k else 1
    vector[free] = -minor if free % 2 else minor
    for r in reversed(range(k)):
        row, pivot = form.rows[r].tolist(), form.pivots[r]
        vector[pivot] = -sum(a * x for a, x in zip(row[pivot + 1 :], vector[pivot + 1 :], strict=True)) // row[pivot]
    return vector
