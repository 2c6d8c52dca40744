"""What every sketch shares: its shape, its transpose, and products with NumPy arrays from both sides."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, describe, fail

__all__ = ["Sketch"]

_Map = Callable[[NDArray[Any]], NDArray[Any]]


class Sketch(ABC):
    """A linear map of shape (r, d) that is applied, not stored as a dense matrix.

    A subclass sets ``shape`` and writes two methods on the columns of a matrix; ``S @ x``, ``X @ S.T``, ``S.T @ v``
    and ``V @ S`` follow, with float32 kept. NumPy leaves the operators to this class.
    """

    shape: tuple[int, int]
    __array_ufunc__ = None

    @abstractmethod
    def _apply(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return S x (r, k) for x (d, k), in x's dtype."""

    @abstractmethod
    def _apply_transposed(self, v: NDArray[Any]) -> NDArray[Any]:
        """Return Sᵀ v (d, k) for v (r, k), in v's dtype."""

    @property
    def T(self) -> "Sketch":
        """The transpose, of shape (d, r)."""
        return _Transposed(self)

    def __matmul__(self, x: ArrayLike) -> NDArray[Any]:
        """Return S x for x (d,) or (..., d, k)."""
        if isinstance(x, Sketch):
            return NotImplemented
        x = as_real(x, "x", f"{self} @ x", min_ndim=1, finite=False)
        axis = 0 if x.ndim == 1 else x.ndim - 2
        if x.shape[axis] != self.shape[1]:
            rule = f"of shape ({self.shape[1]},) or (..., {self.shape[1]}, k) to fit {self.shape}"
            raise fail("x", f"{self} @ x", rule, describe(f"shape {x.shape}"))
        return _along(self._apply, x, axis, self.shape)

    def __rmatmul__(self, X: ArrayLike) -> NDArray[Any]:
        """Return X S for X (..., r)."""
        if isinstance(X, Sketch):
            return NotImplemented
        X = as_real(X, "X", f"X @ {self}", min_ndim=1, finite=False)
        if X.shape[-1] != self.shape[0]:
            rule = f"of shape (..., {self.shape[0]}) to fit {self.shape}"
            raise fail("X", f"X @ {self}", rule, describe(f"shape {X.shape}"))
        return _along(self._apply_transposed, X, X.ndim - 1, self.shape[::-1])

    def toarray(self, dtype: np.dtype[Any] | type = np.float64) -> NDArray[Any]:
        """Return the dense matrix (r, d)."""
        return self @ np.eye(self.shape[1], dtype=dtype)


class _Transposed(Sketch):
    """The transpose of a sketch."""

    def __init__(self, sketch: Sketch) -> None:
        self._sketch = sketch
        self.shape = sketch.shape[::-1]

    def _apply(self, x: NDArray[Any]) -> NDArray[Any]:
        return self._sketch._apply_transposed(x)

    def _apply_transposed(self, v: NDArray[Any]) -> NDArray[Any]:
        return self._sketch._apply(v)

    @property
    def T(self) -> Sketch:
        return self._sketch

    def __repr__(self) -> str:
        return f"{self._sketch!r}.T"


def _along(apply: _Map, x: NDArray[Any], axis: int, shape: tuple[int, int]) -> NDArray[Any]:
    """Apply a map of columns, of ``shape``, along one axis of ``x``; the result is in C order."""
    columns = np.moveaxis(x, axis, 0)
    result = apply(columns.reshape(shape[1], -1)).reshape(shape[0], *columns.shape[1:])
    return np.ascontiguousarray(np.moveaxis(result, 0, axis))
