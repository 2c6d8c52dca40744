"""Walsh-Hadamard transforms of the rows of a matrix, of which only chosen outputs are kept."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


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
