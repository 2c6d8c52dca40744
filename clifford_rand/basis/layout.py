"""The layout of coefficients in memory: (..., K) to the eye, component by component in memory.

A kernel runs over the samples of one component in vector registers, and the part of a grade is a view of whole
components. Any other layout, of a slice of a batch say, is as right and only slower.
"""

import math
from typing import Any

import numpy as np

from clifford_rand._typing import DTypeLike, NDArray


def apart(array: NDArray[Any]) -> NDArray[Any]:
    """Return coefficients (..., K) with the component axis first, a view (`numpy.moveaxis` takes 4 µs)."""
    return array.T if array.ndim == 2 else np.moveaxis(array, -1, 0)


def together(parts: NDArray[Any]) -> NDArray[Any]:
    """Return an array (K, ...) with the component axis last, a view."""
    return parts.T if parts.ndim == 2 else np.moveaxis(parts, 0, -1)


def components(array: NDArray[Any]) -> NDArray[Any]:
    """Return coefficients (..., K) as components (K, N), contiguous: a view where they lie so."""
    if array.ndim == 1:
        return np.ascontiguousarray(array)[:, None]
    if array.ndim == 2:
        return np.ascontiguousarray(array.T)
    size = math.prod(array.shape[:-1])
    return np.ascontiguousarray(apart(array)).reshape(array.shape[-1], size)


def coefficients(parts: NDArray[Any], batch: tuple[int, ...]) -> NDArray[Any]:
    """Return components (K, N) as coefficients (*batch, K), a view."""
    if not batch:
        return parts[:, 0]
    return parts.T if len(batch) == 1 else together(parts.reshape(len(parts), *batch))


def empty(batch: tuple[int, ...], size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array (*batch, size) to be filled, component by component in memory."""
    return together(np.empty((size, *batch), dtype=dtype)) if batch else np.empty(size, dtype=dtype)


def zeros(batch: tuple[int, ...], size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array (*batch, size) of zeros, component by component in memory."""
    return together(np.zeros((size, *batch), dtype=dtype)) if batch else np.zeros(size, dtype=dtype)


def own(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of coefficients (..., K), component by component in memory."""
    return array.copy() if array.ndim < 2 else together(apart(array).copy(order="C"))
