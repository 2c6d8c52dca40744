"""Functions of kingdon's multivectors, compiled by `clifford_rand.fused`."""

import functools
from collections.abc import Callable
from typing import Any

from clifford_rand.compat.kingdon.multivector import MultiVector, of
from clifford_rand.fusion.function import fused


class Registered:
    """A function of multivectors; ``codegen`` is the plain one, ``fused`` the compiled one of this library's."""

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        functools.update_wrapper(self, function)
        self.codegen = function
        self.__name__ = name or function.__name__
        self._fused: dict[Any, Any] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Return the function's value."""
        multivectors = [A for A in arguments if isinstance(A, MultiVector)]
        batches = any(A.inner.ndim for A in multivectors) and not any(A.issymbolic for A in multivectors)
        if not batches:
            return self.codegen(*arguments)
        algebra = multivectors[0].algebra
        places = tuple(isinstance(A, MultiVector) for A in arguments)
        if (algebra, places) not in self._fused:
            self._fused[algebra, places] = fused(self._inner(algebra, places))
        values = self._fused[algebra, places](*(A.inner if isinstance(A, MultiVector) else A for A in arguments))
        return _outer(algebra, values)

    def _inner(self, algebra: Any, places: tuple[bool, ...]) -> Callable[..., Any]:
        def function(*inner: Any) -> Any:
            pairs = zip(inner, places, strict=True)
            return _bare(self.codegen(*(of(algebra, A) if wrapped else A for A, wrapped in pairs)))

        return function


def _bare(value: Any) -> Any:
    if isinstance(value, MultiVector):
        return value.inner
    return type(value)(map(_bare, value)) if isinstance(value, list | tuple) else value


def _outer(algebra: Any, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_outer(algebra, entry) for entry in value)
    return of(algebra, value) if hasattr(value, "keys") and hasattr(value, "algebra") else value
