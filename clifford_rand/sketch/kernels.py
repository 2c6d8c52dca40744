"""Sparse sign matrices and Walsh-Hadamard transforms times the rows of a matrix, in one pass over it."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import for_each_slice
from clifford_rand.compiler.decorator import compiled

_BLOCK_BYTES = 16 * 2**20
_TILE = 32  # rows of a tile: four registers of float64
_COLUMNS = 128


def over_rows(kernel: Callable[..., object], X: NDArray[Any], arguments: tuple[Any, ...], width: int) -> NDArray[Any]:
    """Return (n, width), written by ``kernel(rows of X, *arguments, rows of the result)`` in slices, one thread each.

    The rows are writeable and in C order, as the kernels are compiled for: Numba types a read-only array apart and
    would compile once more for it. A memory map that was opened to be read, and an array in another order, are copied a
    block at a time; the others are not copied.
    """
    out = np.empty((len(X), width), X.dtype)
    usable = X.flags.c_contiguous and X.flags.writeable and X.flags.aligned and X.dtype.isnative
    step = max(1, len(X) if usable else _BLOCK_BYTES // max(1, X.shape[1] * X.itemsize))

    def run(part: slice) -> None:
        for start in range(part.start, part.stop, step):
            rows = slice(start, min(start + step, part.stop))
            block = np.asarray(X[rows]) if usable else np.array(X[rows], X.dtype.newbyteorder("="), order="C")
            kernel(block, *arguments, out[rows])

    for_each_slice(run, len(X))
    return out


def over_columns(
    x: NDArray[Any], starts: NDArray[np.int64], place: NDArray[np.uint32], sign: NDArray[Any], scale: float, width: int
) -> NDArray[Any]:
    """Return (width, k), written by `sparse_columns` in slices of the columns of x (d, k), one thread each."""
    out = np.empty((width, x.shape[1]), x.dtype)
    if not (x.flags.c_contiguous and x.flags.writeable and x.flags.aligned):
        x = np.array(x, order="C")

    def run(part: slice) -> None:
        sparse_columns(x, (starts, place, sign), scale, (part.start, part.stop), out)

    for_each_slice(run, x.shape[1], least=_COLUMNS)
    return out


@compiled(fastmath={"contract"})
def sparse_rows(
    X: NDArray[Any],
    starts: NDArray[np.int64],
    place: NDArray[np.uint32],
    sign: NDArray[Any],
    block: int,
    scale: float,
    out: NDArray[Any],
) -> None:
    """Write ``out[b, i] = scale · Σ sign[e] X[b, place[e]]`` over the entries e of row i, from the first block on.

    Thirty-two rows of X at a time are transposed, a block of columns of it into the second-level cache, so that an
    entry of the matrix is one multiplication of registers: it is read once for 32 numbers. The entries of row i in
    block k, of ``block`` columns, begin at ``starts[k · width + i]``, and ``place`` counts from its first column. X
    (n, d) is in C order, ``sign`` and ``out`` (n, width) are of its dtype.
    """
    n, d = X.shape
    width = out.shape[1]
    x = np.zeros((min(block, d), _TILE), X.dtype)
    y = np.empty((width, _TILE), X.dtype)
    factor = X.dtype.type(scale)
    for first in range(0, n, _TILE):
        held = min(_TILE, n - first)
        y[:] = 0.0
        for k in range((d + block - 1) // block):
            start = k * block
            if held == _TILE:  # a loop of constant length, three times as fast
                for j in range(min(block, d - start)):
                    for t in range(_TILE):
                        x[j, t] = X[first + t, start + j]
            else:
                for j in range(min(block, d - start)):
                    for t in range(held):
                        x[j, t] = X[first + t, start + j]
            for i in range(width):
                total = y[i]
                e, last = starts[k * width + i], starts[k * width + i + 1]
                while e + 4 <= last:
                    s0, s1, s2, s3 = sign[e], sign[e + 1], sign[e + 2], sign[e + 3]
                    x0, x1, x2, x3 = x[place[e]], x[place[e + 1]], x[place[e + 2]], x[place[e + 3]]
                    for t in range(_TILE):
                        total[t] += s0 * x0[t] + s1 * x1[t] + s2 * x2[t] + s3 * x3[t]
                    e += 4
                while e < last:
                    s0, x0 = sign[e], x[place[e]]
                    for t in range(_TILE):
                        total[t] += s0 * x0[t]
                    e += 1
        for t in range(held):
            for i in range(width):
                out[first + t, i] = factor * y[i, t]


@compiled(fastmath={"contract"})
def sparse_columns(
    x: NDArray[Any],
    matrix: tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[Any]],
    scale: float,
    columns: tuple[int, int],
    out: NDArray[Any],
) -> None:
    """Write ``out[i, c] = scale · Σ sign[e] x[place[e], c]`` over the entries e of row i, for some ``columns`` c.

    Some hundred columns at a time: of every row of x so much as stays in the second-level cache. The matrix is (starts,
    place, sign), in one block, and ``columns`` are the first and the stop; x (d, k) and ``out`` (width, k) in C order.
    """
    starts, place, sign = matrix
    first, last = columns
    factor = x.dtype.type(scale)
    for start in range(first, last, _COLUMNS):
        stop = min(start + _COLUMNS, last)
        for i in range(out.shape[0]):
            total = out[i, start:stop]
            total[:] = 0.0
            for e in range(starts[i], starts[i + 1]):
                s, row = factor * sign[e], x[place[e], start:stop]
                for c in range(total.size):
                    total[c] += s * row[c]


@compiled()
def _two(a: NDArray[Any], h: int) -> None:
    """Add and subtract entries that lie ``h`` apart, in place."""
    for start in range(0, a.size, 2 * h):
        u = a[start : start + h]
        v = a[start + h : start + 2 * h]
        for k in range(u.size):
            x, y = u[k], v[k]
            u[k] = x + y
            v[k] = x - y


@compiled()
def _four(a: NDArray[Any], h: int) -> None:
    """Two stages at once, ``h`` and ``2 h``: half the traffic with the first-level cache."""
    for start in range(0, a.size, 4 * h):
        p = a[start : start + h]
        q = a[start + h : start + 2 * h]
        r = a[start + 2 * h : start + 3 * h]
        s = a[start + 3 * h : start + 4 * h]
        for k in range(p.size):
            x, y = p[k] + q[k], p[k] - q[k]
            z, w = r[k] + s[k], r[k] - s[k]
            p[k] = x + z
            q[k] = y + w
            r[k] = x - z
            s[k] = y - w


@compiled()
def _stages(a: NDArray[Any], first: int) -> None:
    """Transform along the strides ``first``, 2·``first``, … up to half the length."""
    h = first
    while 4 * h <= a.size:
        _four(a, h)
        h *= 4
    if 2 * h <= a.size:
        _two(a, h)


@compiled()
def hadamard_rows(
    X: NDArray[Any],
    scatter: tuple[NDArray[np.int64], NDArray[Any]],
    size: int,
    low: int,
    gather: tuple[NDArray[np.int64], NDArray[Any]],
    out: NDArray[Any],
) -> None:
    """Write ``out[b, j] = weight_out[j] · (H z)[outof[j]]``, z zero but for ``z[into[i]] = weight_in[i] · X[b, i]``.

    H is the Hadamard matrix of order ``size`` with entries ±1, H[i, j] = (-1)^{popcount(i & j)}. Strides below ``low``
    would leave the vector unit idle; after the others the row is transposed from (size/low, low) to (low, size/low),
    which makes them the longest; 1 is for no transposition. ``scatter`` is (into, weight_in), distinct places, and
    ``gather`` (outof, weight_out), places of that transposed row. X (n, m) is in C order, ``out`` (n, p) of its dtype.
    """
    into, weight_in = scatter
    outof, weight_out = gather
    z = np.empty(size, X.dtype)
    transposed = np.empty(size, X.dtype)
    high = size // low
    for b in range(X.shape[0]):
        x = X[b]
        z[:] = 0.0
        for i in range(x.size):
            z[into[i]] = weight_in[i] * x[i]
        _stages(z, low)
        source = z
        if low > 1:
            for i in range(low):
                column = transposed[i * high : (i + 1) * high]
                for k in range(column.size):
                    column[k] = z[k * low + i]
            _stages(transposed, high)
            source = transposed
        y = out[b]
        for j in range(y.size):
            y[j] = weight_out[j] * source[outof[j]]
