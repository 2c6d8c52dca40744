"""Samples that compiled code cannot compute, recomputed by the plain function."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.keys import union
from clifford_rand.multivector.multivector import Multivector

Places = tuple[NDArray[Any], ...]  # one array of indices for each batch axis


def taken(value: Any, shape: tuple[int, ...], places: Places) -> Any:
    """Return an argument for some samples of a batch; what has no batch axes is left as it is."""
    if value.__class__ in (tuple, list):
        return value.__class__(taken(one, shape, places) for one in value)
    if isinstance(value, Multivector) and value.ndim:
        return value.algebra.new(value.keys, np.broadcast_to(value.coefficients, (*shape, value.keys.size))[places])
    if isinstance(value, np.ndarray) and value.ndim:
        return np.broadcast_to(value, shape)[places]
    return value


def mended(result: Any, plain: Any, places: Places) -> Any:
    """Return a result with some samples as the plain function has them, of the blades of both."""
    if isinstance(result, tuple | list):
        parts = [mended(one, other, places) for one, other in zip(result, plain, strict=True)]
        kind: Any = type(result)
        return kind._make(parts) if hasattr(kind, "_make") else kind(parts)
    if isinstance(result, Multivector) and result.ndim:
        keys = union(result.keys, plain.keys)
        dtype = np.result_type(result.dtype, plain.dtype)
        rows = np.zeros((keys.size, *result.shape), dtype)
        values = np.moveaxis(rows, 0, -1)
        values[..., keys.place(result.keys)] = result.coefficients
        new = np.zeros((*plain.shape, keys.size), dtype)
        new[..., keys.place(plain.keys)] = plain.coefficients
        values[_own(places, result.shape)] = new
        return result.algebra.new(keys, values)
    if isinstance(result, np.ndarray) and result.ndim:
        values = result.astype(np.result_type(result, plain))
        values[_own(places, result.shape)] = plain
        return values
    return result


def _own(places: Places, shape: tuple[int, ...]) -> Places:
    """Return the places in the batch axes of a result that are fewer, or of size 1."""
    last = places[len(places) - len(shape) :]
    return tuple(place if size > 1 else np.zeros_like(place) for place, size in zip(last, shape, strict=True))
