"""Product tables applied to batches: components lie apart, so every row of a table is a SIMD loop over samples."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.compiler.cache import compiled

TILE = 512  # samples whose components stay in the first-level cache: 4 KiB each


# The tables are arguments: one compiled kernel for each dtype serves every algebra and every product. Four rows of a
# table share one pass over a component of the result. No product and sum are fused, and none are added in another
# order: the bits are those of `ordered`, which computes the same as long as this is not loaded.
@compiled()
def _component(A, B, indptr, left, right, coef, k, at_a, at_b, width, row):  # type: ignore[no-untyped-def]
    """Write component k of the product of ``width`` samples, from ``at_a`` and ``at_b`` on, to ``row``."""
    e, end = indptr[k], indptr[k + 1]
    if e == end:
        row[:width] = A.dtype.type(0)
        return
    a0, b0, s0 = A[left[e], at_a : at_a + width], B[right[e], at_b : at_b + width], coef[e]
    for t in range(width):
        row[t] = a0[t] * b0[t] * s0
    e += 1
    while e + 4 <= end:
        a0, a1 = A[left[e], at_a : at_a + width], A[left[e + 1], at_a : at_a + width]
        a2, a3 = A[left[e + 2], at_a : at_a + width], A[left[e + 3], at_a : at_a + width]
        b0, b1 = B[right[e], at_b : at_b + width], B[right[e + 1], at_b : at_b + width]
        b2, b3 = B[right[e + 2], at_b : at_b + width], B[right[e + 3], at_b : at_b + width]
        s0, s1, s2, s3 = coef[e], coef[e + 1], coef[e + 2], coef[e + 3]
        for t in range(width):
            total = row[t] + a0[t] * b0[t] * s0
            total += a1[t] * b1[t] * s1
            total += a2[t] * b2[t] * s2
            row[t] = total + a3[t] * b3[t] * s3
        e += 4
    while e < end:
        a0, b0, s0 = A[left[e], at_a : at_a + width], B[right[e], at_b : at_b + width], coef[e]
        for t in range(width):
            row[t] += a0[t] * b0[t] * s0
        e += 1


@compiled()
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
    """Write Σ_n A[left[n]] B[right[n]] coef[n] to ``out[k]``, the sum over the rows n of component k, in their order.

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


@compiled()
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
        e, end = indptr[k], indptr[k + 1]
        total = a.dtype.type(0)
        if e < end:
            total = a[left[e]] * b[right[e]] * coef[e]
        for n in range(e + 1, end):
            total += a[left[n]] * b[right[n]] * coef[n]
        out[k] = total


@compiled()
def apply_table_once_complex(
    a: NDArray[Any],
    b: NDArray[Any],
    indptr: NDArray[np.int32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    coef: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Write the product of one complex a and b by four real ones: (A + iB)(C + iD) = AC - BD + i(AD + BC)."""
    zero = coef.dtype.type(0)
    for k in range(len(out)):
        e, end = indptr[k], indptr[k + 1]
        ac, bd, ad, bc = zero, zero, zero, zero
        for n in range(e, end):
            x, y, c = a[left[n]], b[right[n]], coef[n]
            if n == e:
                ac, bd, ad, bc = x.real * y.real * c, x.imag * y.imag * c, x.real * y.imag * c, x.imag * y.real * c
            else:
                ac += x.real * y.real * c
                bd += x.imag * y.imag * c
                ad += x.real * y.imag * c
                bc += x.imag * y.real * c
        out[k] = complex(ac - bd, ad + bc)
