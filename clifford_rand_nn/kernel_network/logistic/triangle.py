"""Symmetric matrices of order n in the upper triangle of an array in C order, BLAS's lower one of its transpose."""

from typing import Any

from clifford_rand._threads import for_each_slice
from clifford_rand._typing import Array
from clifford_rand.machine.numba_code import compiled

_LEAST = 32  # pairs of rows, a long one and a short one, that are worth a thread
_BLOCK = 32


def scaled_plus_identity(K: Any, scale: Any, out: Any) -> None:
    """Write I + SKS, S = diag(scale (n,)), into the upper triangle of ``out`` (n, n), and zeros below."""
    half = (len(K) + 1) // 2
    for_each_slice(lambda part: _scaled(K, scale, part.start, part.stop, out), half, least=_LEAST)


def add_scaled(M: Any, scale: Array, out: Array) -> None:
    """Add SMS to the upper triangle of ``out``."""
    half = (len(M) + 1) // 2
    for_each_slice(lambda part: _added(M, scale, part.start, part.stop, out), half, least=_LEAST)


def mirror(M: Any) -> None:
    """Copy the upper triangle to the lower one."""
    half = (len(M) + 1) // 2
    for_each_slice(lambda part: _mirrored(M, part.start, part.stop), half, least=_LEAST)


@compiled()
def _scaled(K: Any, scale: Any, first: int, last: int, out: Any) -> None:
    n = len(K)
    for k in range(2 * first, min(2 * last, n)):
        i = k // 2 if k % 2 == 0 else n - 1 - k // 2
        for j in range(i):
            out[i, j] = 0.0
        for j in range(i, n):
            out[i, j] = scale[i] * K[i, j] * scale[j]
        out[i, i] += 1.0


@compiled()
def _added(M: Any, scale: Any, first: int, last: int, out: Any) -> None:
    n = len(M)
    for k in range(2 * first, min(2 * last, n)):
        i = k // 2 if k % 2 == 0 else n - 1 - k // 2
        for j in range(i, n):
            out[i, j] += scale[i] * M[i, j] * scale[j]


@compiled()
def _mirrored(M: Any, first: int, last: int) -> None:
    n = len(M)
    for begin in range(2 * first, min(2 * last, n), _BLOCK):  # in blocks that a cache holds
        for a in range(0, begin + _BLOCK, _BLOCK):
            for i in range(begin, min(begin + _BLOCK, 2 * last, n)):
                for j in range(a, min(a + _BLOCK, i)):
                    M[i, j] = M[j, i]
