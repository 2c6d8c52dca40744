"""A product table applied to two batches: components lie apart, so every row of the table is a SIMD loop."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

TILE = 512  # samples whose components stay in the first-level cache: 4 KiB each


# The table is an argument: one compiled kernel for each dtype serves every algebra and every product. Four rows of the
# table share one pass over a component of the result.
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
    zero = A.dtype.type(0)
    for low in range(first, last, TILE):
        high = min(last, low + TILE)
        width = high - low
        for k in range(len(out)):
            for t in range(width):
                row[t] = zero
            e, end = indptr[k], indptr[k + 1]
            while e + 4 <= end:
                a0, a1 = A[left[e], low:high], A[left[e + 1], low:high]
                a2, a3 = A[left[e + 2], low:high], A[left[e + 3], low:high]
                b0, b1 = B[right[e], low:high], B[right[e + 1], low:high]
                b2, b3 = B[right[e + 2], low:high], B[right[e + 3], low:high]
                s0, s1, s2, s3 = coef[e], coef[e + 1], coef[e + 2], coef[e + 3]
                for t in range(width):
                    row[t] += s0 * a0[t] * b0[t] + s1 * a1[t] * b1[t] + s2 * a2[t] * b2[t] + s3 * a3[t] * b3[t]
                e += 4
            while e < end:
                a0, b0, s0 = A[left[e], low:high], B[right[e], low:high], coef[e]
                for t in range(width):
                    row[t] += s0 * a0[t] * b0[t]
                e += 1
            target = out[k, low:high]
            for t in range(width):
                target[t] = row[t]
