"""Compiled loops over rows: half precision made single or double, and activation patterns times numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.compiler.cache import compiled

_LIFT = np.float32(2.0**112)  # single precision has 127 where half has 15


@compiled(error_model="numpy")
def _spread_bits(bits: Any, last: Any, out: Any) -> None:
    for i in range(bits.shape[0]):
        for j in range(bits.shape[1]):
            h = np.uint32(bits[i, j])
            moved = ((h & np.uint32(0x8000)) << np.uint32(16)) | ((h & np.uint32(0x7FFF)) << np.uint32(13))
            out[i, j] = np.uint32(moved).view(np.float32) * _LIFT
        for j in range(bits.shape[1], out.shape[1]):
            out[i, j] = last


def single(X: NDArray[Any], feature: float | None = None) -> NDArray[np.float32]:
    """Return finite rows (k, d) in single precision, with a column beside them that is ``feature`` if one is given.

    Examples
    --------
    >>> single(np.array([[1.5, -6e-8]], np.float16), 1.0).tolist()
    [[1.5, -5.960464477539063e-08, 1.0]]
    """
    return _lifted(X, feature, np.float32)


def double(X: NDArray[Any], feature: float | None = None) -> NDArray[np.float64]:
    """Return finite rows (k, d) in double precision, an array of their own, with a column that is ``feature``.

    Examples
    --------
    >>> double(np.array([[1.5, -6e-8]], np.float16)).tolist()
    [[1.5, -5.960464477539063e-08]]
    """
    return _lifted(X, feature, np.float64)


def _lifted(X: NDArray[Any], feature: float | None, dtype: Any) -> NDArray[Any]:
    (k, d), last = X.shape, 0.0 if feature is None else feature
    out = np.empty((k, d + (feature is not None)), dtype=dtype)
    if X.dtype == np.float16:
        bits = np.ascontiguousarray(X).view(np.uint16)  # whole rows: with strides it would not be vectorized
        _spread_bits(bits, last, out)
    else:
        out[:, :d], out[:, d:] = X, last
    return out


def masked_sums(Z: NDArray[Any], on: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the sums over p of on[j, p] Z[j, p], (k,), added up in double precision.

    Examples
    --------
    >>> masked_sums(np.array([[1.0, 2.0, 4.0]]), np.array([[1, 0, 1]], np.uint8))
    array([5.])
    """
    out = np.empty(len(Z))
    _sums(Z, on, out)
    return out


def masked(on: NDArray[np.uint8], theta: NDArray[np.float64], dtype: Any) -> NDArray[Any]:
    """Return on[j, p] theta[j], (k, P), in a precision.

    Examples
    --------
    >>> masked(np.array([[1, 0]], np.uint8), np.array([3.0]), np.float32)
    array([[3., 0.]], dtype=float32)
    """
    out = np.empty(on.shape, dtype)
    _spread_mask(on, theta, out)
    return out


@compiled(error_model="numpy", fastmath={"reassoc", "contract"})
def _sums(Z: Any, on: Any, out: Any) -> None:
    for j in range(Z.shape[0]):
        total = 0.0
        for p in range(Z.shape[1]):
            total += Z[j, p] * on[j, p]
        out[j] = total


@compiled(error_model="numpy")
def _spread_mask(on: Any, theta: Any, out: Any) -> None:
    for j in range(on.shape[0]):
        for p in range(on.shape[1]):
            out[j, p] = theta[j] * on[j, p]
