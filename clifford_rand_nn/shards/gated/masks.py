"""Patterns of zeros and ones times numbers, for rows with one output: a loop each that makes no array of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.compiler.cache import compiled


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
    _spread(on, theta, out)
    return out


@compiled(error_model="numpy", fastmath={"reassoc", "contract"})
def _sums(Z: Any, on: Any, out: Any) -> None:
    for j in range(Z.shape[0]):
        total = 0.0
        for p in range(Z.shape[1]):
            total += Z[j, p] * on[j, p]
        out[j] = total


@compiled(error_model="numpy")
def _spread(on: Any, theta: Any, out: Any) -> None:
    for j in range(on.shape[0]):
        for p in range(on.shape[1]):
            out[j, p] = theta[j] * on[j, p]
