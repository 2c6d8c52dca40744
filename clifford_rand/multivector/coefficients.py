"""What may be a coefficient: the dtypes of a multivector, and what counts as a scalar beside one."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_array, describe, fail

__all__ = ["as_coefficients", "is_scalar"]

_KEPT = frozenset(np.dtype(name) for name in ("f4", "f8", "c8", "c16", "i8", "O"))


def as_coefficients(value: ArrayLike, name: str, owner: str) -> NDArray[Any]:
    """Return an array of float32, float64, complex64, complex128, int64 or objects (fractions, symbols).

    Booleans and other integers become int64, float16 float32, extended precision float64 or complex128.
    """
    array = as_array(value, name, owner)
    if array.dtype in _KEPT:
        return array
    kind = array.dtype.kind
    if kind == "u" and array.itemsize == 8 and array.size and int(array.max()) > np.iinfo(np.int64).max:
        return array.astype(object)
    if kind in "biu":
        return array.astype(np.int64)
    if kind == "f":
        return array.astype(np.float32 if array.itemsize == 2 else np.float64)
    if kind == "c":
        return array.astype(np.complex128)
    raise fail(name, owner, "numbers, fractions or symbols", describe(f"dtype {array.dtype}"))


def is_scalar(value: object) -> bool:
    """Tell whether ``value`` is a number or a symbolic expression (which has ``free_symbols``)."""
    return isinstance(value, numbers.Number | np.generic) or hasattr(value, "free_symbols")
