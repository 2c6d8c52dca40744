"""Small things that all methods of blades share: checked rows, batch shapes, flags, short names."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, describe, fail
from clifford_rand.algebra import Algebra


def algebra_text(algebra: Algebra) -> str:
    """Return a short name of the algebra, whatever its dimension."""
    text = repr(algebra) if algebra.form.is_unit else ""
    return text if 0 < len(text) <= 40 else f"an algebra of {algebra.d} dimensions"


def broadcast(X: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return ``X`` with batch axes of ``shape`` before its last two."""
    return X if X.shape[:-2] == shape else np.broadcast_to(X, (*shape, *X.shape[-2:]))


def truth(flags: Any) -> Any:
    """Return a bool, or an array of them over the batch."""
    found = np.asarray(flags, dtype=bool)
    return found if found.ndim else bool(found)


def check_rows(X: ArrayLike, d: int, name: str, owner: str) -> NDArray[Any]:
    """Return vectors (..., d)."""
    array = as_real(X, name, owner)
    if array.ndim < 1 or array.shape[-1] != d:
        raise fail(name, owner, f"of shape (..., {d})", describe(f"shape {array.shape}"))
    return array


def count_of(shape: tuple[int, ...]) -> int:
    """Return the number of blades of a batch."""
    return math.prod(shape)
