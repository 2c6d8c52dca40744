"""How coefficients lie in memory: (..., K) to the eye, component by component in memory.

A kernel runs over the samples of one component in vector registers, and the part of a grade is a view of whole
components. Any other layout, of a slice of a batch say, is as right and only slower.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def components(array: NDArray[Any]) -> NDArray[Any]:
    """Return coefficients (..., K) as components (K, N), contiguous: a view where they lie so."""
    if array.ndim == 1:
        return np.ascontiguousarray(array)[:, None]
    if array.ndim == 2:
        return np.ascontiguousarray(array.T)
    size = math.prod(array.shape[:-1])
    return np.ascontiguousarray(np.moveaxis(array, -1, 0)).reshape(array.shape[-1], size)


def coefficients(parts: NDArray[Any], batch: tuple[int, ...]) -> NDArray[Any]:
    """Return components (K, N) as coefficients (*batch, K), a view."""
    if not batch:
        return parts[:, 0]
    return parts.T if len(batch) == 1 else np.moveaxis(parts.reshape(len(parts), *batch), 0, -1)


def empty(batch: tuple[int, ...], size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array (*batch, size) to be filled, component by component in memory."""
    return np.moveaxis(np.empty((size, *batch), dtype=dtype), 0, -1) if batch else np.empty(size, dtype=dtype)


def zeros(batch: tuple[int, ...], size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array (*batch, size) of zeros, component by component in memory."""
    return np.moveaxis(np.zeros((size, *batch), dtype=dtype), 0, -1) if batch else np.zeros(size, dtype=dtype)


def own(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of coefficients (..., K), component by component in memory."""
    if array.ndim < 2:
        return array.copy()
    return np.moveaxis(np.moveaxis(array, -1, 0).copy(order="C"), 0, -1)
