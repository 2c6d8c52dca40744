"""Product tables applied to batches: components lie apart, so every row of a table is a SIMD loop over samples."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

TILE = 512  # samples whose components stay in the first-level cache: 4 KiB each


# The tables are arguments: one compiled kernel for each dtype serves every algebra and every product. Four rows of a
# table share one pass over a component of the result.
@njit(cache=True, nogil=True, fastmath={"contract"})
def _component(A, B, indptr, left, right, coef, k, at_a, at_b, width, row):  # type: ignore[no-untyped-def]
    """Write component k of the product of ``width`` samples, from ``at_a`` and ``at_b`` on, to ``row``."""
    zero = A.dtype.type(0)
    for t in range(width):
        row[t] = zero
    e, end = indptr[k], indptr[k + 1]
    while e + 4 <= end:
        a0, a1 = A[left[e], at_a : at_a + width], A[left[e + 1], at_a : at_a + width]
        a2, a3 = A[left[e + 2], at_a : at_a + width], A[left[e + 3], at_a : at_a + width]
        b0, b1 = B[right[e], at_b : at_b + width], B[right[e + 1], at_b : at_b + width]
        b2, b3 = B[right[e + 2], at_b : at_b + width], B[right[e + 3], at_b : at_b + width]
        s0, s1, s2, s3 = coef[e], coef[e + 1], coef[e + 2], coef[e + 3]
        for t in range(width):
            row[t] += s0 * a0[t] * b0[t] + s1 * a1[t] * b1[t] + s2 * a2[t] * b2[t] + s3 * a3[t] * b3[t]
        e += 4
    while e < end:
        a0, b0, s0 = A[left[e], at_a : at_a + width], B[right[e], at_b : at_b + width], coef[e]
        for t in range(width):
            row[t] += s0 * a0[t] * b0[t]
        e += 1


@njit(cache=True, nogil=True, fastmath={"contract"})
def apply_table(
    A: NDArray[Any],
    B: NDArray[Any],
    indptr: NDArray[np.int32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    coef: NDArray[Any],
    first: int,
    last: int,
    out: NDArray[Any],
) -> None:
    """Write Σ_n coef[n] A[left[n]] B[right[n]] to ``out[k]``, the sum over the rows n of component k.

    A (n_a, N), B (n_b, N), out (n_out, N), all of one dtype, as ``coef``; the samples from ``first`` to ``last``.
    """
    row = np.empty(TILE, A.dtype)
    for low in range(first, last, TILE):
        width = min(TILE, last - low)
        for k in range(len(out)):
            _component(A, B, indptr, left, right, coef, k, low, low, width, row)
            target = out[k, low : low + width]
            for t in range(width):
                target[t] = row[t]


@njit(cache=True, nogil=True, fastmath={"contract"})
def apply_table_once(
    a: NDArray[Any],
    b: NDArray[Any],
    indptr: NDArray[np.int32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    coef: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Write the product of one a (n_a,) and one b (n_b,) to ``out`` (n_out,): see `apply_table`."""
    for k in range(len(out)):
        total = a.dtype.type(0)
        for e in range(indptr[k], indptr[k + 1]):
            total += coef[e] * a[left[e]] * b[right[e]]
        out[k] = total


@njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")
def apply_sandwich(
    R: NDArray[Any],
    X: NDArray[Any],
    square: tuple[NDArray[Any], ...],
    inner: tuple[NDArray[Any], ...],
    outer: tuple[NDArray[Any], ...],
    limit: float,
    first: int,
    last: int,
    out: NDArray[Any],
) -> bool:
    """Write R X ~R / ⟨R ~R⟩_0 to ``out``, and tell whether R ~R was a number other than zero in all samples.

    A table is (indptr, left, right, coef): ``square`` of R ~R, its scalar first; ``inner`` of P = R X; ``outer`` of
    P ~R, the components that are wanted. R (n_r, N), X (n_x, N), out (n_out, N), of one real dtype. What is below
    ``limit`` times Σ R_i² counts as zero.
    """
    fine = True
    row, norm = np.empty(TILE, R.dtype), np.empty(TILE, R.dtype)
    size, rest = np.empty(TILE, R.dtype), np.empty(TILE, R.dtype)
    product = np.empty((len(inner[0]) - 1, TILE), R.dtype)
    zero = R.dtype.type(0)
    for low in range(first, last, TILE):
        width = min(TILE, last - low)
        for t in range(width):
            size[t] = rest[t] = zero
        for i in range(len(R)):
            a = R[i, low : low + width]
            for t in range(width):
                size[t] += a[t] * a[t]
        _component(R, R, square[0], square[1], square[2], square[3], 0, low, low, width, norm)
        for k in range(1, len(square[0]) - 1):
            _component(R, R, square[0], square[1], square[2], square[3], k, low, low, width, row)
            for t in range(width):
                rest[t] = max(rest[t], abs(row[t]))
        for t in range(width):
            fine &= (abs(norm[t]) > limit * size[t]) & (rest[t] <= limit * size[t])
        for k in range(len(product)):
            _component(R, X, inner[0], inner[1], inner[2], inner[3], k, low, low, width, row)
            target = product[k]
            for t in range(width):
                target[t] = row[t]
        for k in range(len(out)):
            _component(product, R, outer[0], outer[1], outer[2], outer[3], k, 0, low, width, row)
            target = out[k, low : low + width]
            for t in range(width):
                target[t] = row[t] / norm[t]
    return fine
