"""Copies with signs: components in their order, backwards, or from given places, each with its own sign."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.compiler.cache import compiled


# Indices are unsigned: Numba asks of a signed one whether it counts from the end, and LLVM does not vectorize that.
@compiled()
def copy_signed(a: NDArray[Any], signs: NDArray[np.int8], backwards: bool, out: NDArray[Any]) -> None:
    """Write ``signs[i] * a[i]`` to ``out[i]``, or ``signs[i] * a[n-1-i]``; all (n,)."""
    n = np.uint64(out.size)
    if backwards:
        last = n - np.uint64(1)
        for i in range(n):
            out[i] = a[last - i] * a.dtype.type(signs[i])
    else:
        for i in range(n):
            out[i] = a[i] * a.dtype.type(signs[i])


@compiled()
def copy_signed_rows(A: NDArray[Any], places: NDArray[np.int64], signs: NDArray[np.int8], out: NDArray[Any]) -> None:
    """Write ``signs[k] * A[places[k]]`` to ``out[k]``; A (n_in, N), out (n_out, N)."""
    n = np.uint64(A.shape[1])
    for k in range(np.uint64(out.shape[0])):
        place, sign = np.uint64(places[k]), A.dtype.type(signs[k])
        for i in range(n):
            out[k, i] = A[place, i] * sign
