"""A product table applied to two batches: tiles in structure-of-arrays order, every row of the table a SIMD loop."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


# The table is an argument: one compiled kernel for each dtype serves every algebra and every product. A tile of some
# dozen samples is transposed into the first-level cache; four rows of the table share one pass over a component.
@njit(cache=True, nogil=True, fastmath={"contract"})
def apply_table(
    A: NDArray[Any],
    B: NDArray[Any],
    indptr: NDArray[np.int32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    coef: NDArray[Any],
    tile: int,
    out: NDArray[Any],
) -> None:
    """Write Σ_n coef[n] A[:, left[n]] B[:, right[n]] to ``out[:, k]``, the sum over the rows n of component k.

    A (N, n_a), B (N, n_b), out (N, n_out), all of one dtype, as ``coef``.
    """
    n, size_a = A.shape
    size_b, size_out = B.shape[1], out.shape[1]
    a = np.empty((size_a, tile), A.dtype)
    b = np.empty((size_b, tile), A.dtype)
    result = np.empty((size_out, tile), A.dtype)
    zero = A.dtype.type(0)
    for start in range(0, n, tile):
        width = min(tile, n - start)
        for t in range(width):
            for i in range(size_a):
                a[i, t] = A[start + t, i]
            for i in range(size_b):
                b[i, t] = B[start + t, i]
        for k in range(size_out):
            row = result[k]
            for t in range(tile):
                row[t] = zero
            first, last = indptr[k], indptr[k + 1]
            e = first
            while e + 4 <= last:
                a0, a1, a2, a3 = a[left[e]], a[left[e + 1]], a[left[e + 2]], a[left[e + 3]]
                b0, b1, b2, b3 = b[right[e]], b[right[e + 1]], b[right[e + 2]], b[right[e + 3]]
                s0, s1, s2, s3 = coef[e], coef[e + 1], coef[e + 2], coef[e + 3]
                for t in range(tile):
                    row[t] += s0 * a0[t] * b0[t] + s1 * a1[t] * b1[t] + s2 * a2[t] * b2[t] + s3 * a3[t] * b3[t]
                e += 4
            while e < last:
                a0, b0, s0 = a[left[e]], b[right[e]], coef[e]
                for t in range(tile):
                    row[t] += s0 * a0[t] * b0[t]
                e += 1
        for t in range(width):
            for k in range(size_out):
                out[start + t, k] = result[k, t]
