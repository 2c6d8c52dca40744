"""Sparse sign matrices, s entries ±1 a column, times the rows of a matrix, in one pass over it."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


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
