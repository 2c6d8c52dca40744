"""Product tables applied to batches: components lie apart, so every row of a table is a SIMD loop over samples."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.compiler.decorator import compiled

TILE = 512  # samples whose components stay in the first-level cache: 4 KiB each

Table = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[Any]]  # indptr, left, right, coef


# The tables are arguments: one compiled kernel for each dtype serves every algebra and every product. Four rows of a
# table share one pass over a component of the result. No product and sum are fused, and none are added in another
# order: the bits are those of `ordered`, which computes the same as long as this is not loaded.
@compiled()
def _component(table: Table, k: int, A: NDArray[Any], B: NDArray[Any], low: int, row: NDArray[Any]) -> None:
    """Write Σ A[left] B[right] coef over the rows of component k to ``row``, for its samples from ``low`` on."""
    indptr, left, right, coef = table
    e, end = indptr[k], indptr[k + 1]
    high = low + row.size
    if e == end:
        row[:] = A.dtype.type(0)
        return
    a0, b0, s0 = A[left[e], low:high], B[right[e], low:high], coef[e]
    for t in range(row.size):
        row[t] = a0[t] * b0[t] * s0
    e += 1
    while e + 4 <= end:  # row holds the sum of the terms before e
        a0, a1, a2, a3 = (
            A[left[e], low:high],
            A[left[e + 1], low:high],
            A[left[e + 2], low:high],
            A[left[e + 3], low:high],
        )
        b0, b1, b2 = B[right[e], low:high], B[right[e + 1], low:high], B[right[e + 2], low:high]
        b3 = B[right[e + 3], low:high]
        s0, s1, s2, s3 = coef[e], coef[e + 1], coef[e + 2], coef[e + 3]
        for t in range(row.size):
            total = row[t] + a0[t] * b0[t] * s0
            total += a1[t] * b1[t] * s1
            total += a2[t] * b2[t] * s2
            row[t] = total + a3[t] * b3[t] * s3
        e += 4
    while e < end:
        a0, b0, s0 = A[left[e], low:high], B[right[e], low:high], coef[e]
        for t in range(row.size):
            row[t] += a0[t] * b0[t] * s0
        e += 1


@compiled()
def apply_table(table: Table, A: NDArray[Any], B: NDArray[Any], samples: tuple[int, int], out: NDArray[Any]) -> None:
    """Write Σ_n A[left[n]] B[right[n]] coef[n] to ``out[k]``, the sum over the rows n of component k, in their order.

    A (n_a, N), B (n_b, N), out (n_out, N), all of one dtype, as ``coef``; ``samples`` are the first and the stop.
    """
    first, stop = samples
    row = np.empty(TILE, A.dtype)
    for low in range(first, stop, TILE):
        part = row[: min(TILE, stop - low)]
        for k in range(len(out)):
            _component(table, k, A, B, low, part)
            target = out[k, low : low + part.size]
            for t in range(part.size):
                target[t] = part[t]


@compiled()
def apply_table_once(table: Table, a: NDArray[Any], b: NDArray[Any], out: NDArray[Any]) -> None:
    """Write the product of one a (n_a,) and one b (n_b,) to ``out`` (n_out,): see `apply_table`."""
    indptr, left, right, coef = table
    for k in range(len(out)):
        e, end = indptr[k], indptr[k + 1]
        total = a.dtype.type(0)
        if e < end:  # not 0 + the first term, which would lose the sign of a zero
            total = a[left[e]] * b[right[e]] * coef[e]
        for n in range(e + 1, end):
            total += a[left[n]] * b[right[n]] * coef[n]
        out[k] = total
