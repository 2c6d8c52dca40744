"""Sparse sign matrices and Walsh-Hadamard transforms times the rows of a matrix, in one pass over it."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from clifford_rand._threads import for_each_slice

_BLOCK_BYTES = 16 * 2**20


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


@njit(cache=True, nogil=True)
def scatter_rows(
    X: NDArray[Any], place: NDArray[np.int32], sign: NDArray[Any], scale: float, out: NDArray[Any]
) -> None:
    """Write ``out[b, i] = scale · Σ sign[j, t] X[b, j]`` over all j, t with ``place[j, t] = i``, j ascending.

    Parameters
    ----------
    X : (n, d) float array, C order
    place : (d, s) int32 array, from 0 to r-1
    sign : (d, s) array of X's dtype
    scale : float
    out : (n, r) array of X's dtype, output
    """
    s = place.shape[1]
    factor = X.dtype.type(scale)
    flat_place, flat_sign = place.ravel(), sign.ravel()
    for b in range(X.shape[0]):
        x, y = X[b], out[b]
        y[:] = 0.0
        if s == 1:
            for j in range(x.size):
                y[flat_place[j]] += flat_sign[j] * x[j]
        else:
            for j in range(x.size):
                for t in range(s):
                    y[flat_place[j * s + t]] += flat_sign[j * s + t] * x[j]
        if scale != 1.0:
            for i in range(y.size):
                y[i] *= factor


@njit(cache=True, nogil=True)
def gather_rows(V: NDArray[Any], place: NDArray[np.int32], sign: NDArray[Any], scale: float, out: NDArray[Any]) -> None:
    """Write ``out[b, j] = scale · Σ_t sign[j, t] V[b, place[j, t]]``: the transpose of `scatter_rows`.

    Parameters
    ----------
    V : (n, r) float array, C order
    place : (d, s) int32 array, from 0 to r-1
    sign : (d, s) array of V's dtype
    scale : float
    out : (n, d) array of V's dtype, output
    """
    d, s = place.shape
    factor = V.dtype.type(scale)
    flat_place, flat_sign = place.ravel(), sign.ravel()
    for b in range(V.shape[0]):
        v, y = V[b], out[b]
        if s == 1:
            for j in range(d):
                y[j] = flat_sign[j] * v[flat_place[j]]
        else:
            for j in range(d):
                total = V.dtype.type(0.0)
                for t in range(s):
                    total += flat_sign[j * s + t] * v[flat_place[j * s + t]]
                y[j] = total * factor


@njit(cache=True, nogil=True)
def _two(a: NDArray[Any], h: int) -> None:
    """Add and subtract entries that lie ``h`` apart, in place."""
    for start in range(0, a.size, 2 * h):
        u = a[start : start + h]
        v = a[start + h : start + 2 * h]
        for k in range(u.size):
            x, y = u[k], v[k]
            u[k] = x + y
            v[k] = x - y


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _stages(a: NDArray[Any], first: int) -> None:
    """Transform along the strides ``first``, 2·``first``, … up to half the length."""
    h = first
    while 4 * h <= a.size:
        _four(a, h)
        h *= 4
    if 2 * h <= a.size:
        _two(a, h)


@njit(cache=True, nogil=True)
def hadamard_rows(
    X: NDArray[Any],
    into: NDArray[np.int64],
    weight_in: NDArray[Any],
    size: int,
    low: int,
    outof: NDArray[np.int64],
    weight_out: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Write ``out[b, j] = weight_out[j] · (H z)[outof[j]]``, z zero but for ``z[into[i]] = weight_in[i] · X[b, i]``.

    H is the Hadamard matrix of order ``size`` with entries ±1, H[i, j] = (-1)^{popcount(i & j)}. Strides below ``low``
    would leave the vector unit idle; after the others the row is turned from (size/low, low) to (low, size/low), which
    makes them the longest. ``outof`` names places of that turned row.

    Parameters
    ----------
    X : (n, m) float array, C order
    into : (m,) int64 array, distinct places below ``size``
    weight_in : (m,) array of X's dtype
    size : int, a power of two
    low : int, 1 (no turn) or a power of two up to size
    outof : (p,) int64 array
    weight_out : (p,) array of X's dtype
    out : (n, p) array of X's dtype, output
    """
    z = np.empty(size, X.dtype)
    turned = np.empty(size, X.dtype)
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
                column = turned[i * high : (i + 1) * high]
                for k in range(column.size):
                    column[k] = z[k * low + i]
            _stages(turned, high)
            source = turned
        y = out[b]
        for j in range(y.size):
            y[j] = weight_out[j] * source[outof[j]]
