r"""Kernels of distances in single columns, :math:`D=\sum_j|v_j-v'_j|`, added to a kernel matrix in place."""

import math
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from clifford_rand.compiler.decorator import compiled

_PIECE = 512  # entries of a row whose sums stay in the first cache
_LOG2 = math.log(2)
_FARTHEST = 80.0  # exp(-80) is rounding of any kernel
_TERMS = {4: 8, 8: 13}  # of the series of exp on |r| ≤ log(2)/2, by bytes of a number: the next is 5e-9, and 4e-18


def add_column_kernel(out: Any, levels: Any, levels2: Any, weight: Any, decays: bool) -> None:
    """Add ``weight`` times 1 - D, or exp(-D), of levels (n, d) and levels2 (d, m), whose rows are contiguous."""
    digits, bytes_each = np.finfo(out.dtype).nmant, out.dtype.itemsize
    series = np.array([1 / math.factorial(k) for k in reversed(range(_TERMS[bytes_each]))], dtype=out.dtype)
    work = np.empty((4, _PIECE), dtype=out.dtype)
    _add(out, levels, levels2, weight, decays, (work, work[3].view(f"i{bytes_each}"), digits, series))


def _by_scipy(out: Any, levels: Any, levels2: Any, weight: Any, decays: bool, _: Any = None) -> None:
    distances = cdist(levels, levels2.T, "cityblock")
    out += weight * (np.exp(-distances) if decays else 1 - distances)


@compiled(error_model="numpy", fastmath={"contract"})
def _add_exponentials(row: Any, sums: Any, weight: Any, parts: Any) -> None:
    r"""Add ``weight`` times exp(-sums): :math:`e^{-D}=2^ke^r`, k integer, by shifts and a series, as loops of vectors.

    The library's exp is called for each number, which takes as long as the distances of 20 columns.
    """
    work, bits, digits, series = parts
    size, number = len(row), sums.dtype.type
    most, per, log2 = number(_FARTHEST), number(1 / _LOG2), number(_LOG2)
    start = number(1.5) * number(2) ** digits  # the last bits of start + x are the integer next to x
    r, p, power = work[1], work[2], work[3]
    for j in range(size):
        s = most if sums[j] > most else sums[j]
        power[j] = start - s * per
        r[j] = (start - power[j]) * log2 - s  # -D - k log(2)
    p[:size] = series[0]
    for k in range(1, len(series)):
        term = series[k]
        for j in range(size):
            p[j] = p[j] * r[j] + term
    zero = (np.int64(1) << (8 * bits.itemsize - digits - 2)) - 1  # the exponent of 1
    for j in range(size):
        bits[j] = (bits[j] + zero) << digits  # 2^k, as its bits are those of ``power``
    for j in range(size):
        row[j] += weight * p[j] * power[j]


@compiled(plain=_by_scipy, error_model="numpy", fastmath={"contract"})
def _add(out: Any, levels: Any, levels2: Any, weight: Any, decays: bool, parts: Any) -> None:
    (n, m), d = out.shape, len(levels2)
    sums = parts[0][0]
    for start in range(0, m, _PIECE):
        end = min(start + _PIECE, m)
        for i in range(n):
            sums[:] = 0
            row, own = out[i, start:end], levels[i]  # slices: indices that cannot be negative are vectorized
            for k in range(0, d - 3, 4):  # sums are read and written once for four columns
                a, b, c, e = own[k], own[k + 1], own[k + 2], own[k + 3]
                first, second = levels2[k, start:end], levels2[k + 1, start:end]
                third, fourth = levels2[k + 2, start:end], levels2[k + 3, start:end]
                for j in range(end - start):
                    sums[j] += (abs(a - first[j]) + abs(b - second[j])) + (abs(c - third[j]) + abs(e - fourth[j]))
            for k in range(d - d % 4, d):
                v, column = own[k], levels2[k, start:end]
                for j in range(end - start):
                    sums[j] += abs(v - column[j])
            if decays:
                _add_exponentials(row, sums, weight, parts)
            else:
                for j in range(end - start):
                    row[j] = (row[j] + weight) - weight * sums[j]
