"""Sums, scalar multiples, quotients and integer powers."""

import operator
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.basis.coefficients import (
    INT,
    MOST,
    as_coefficients,
    common_dtype,
    exact_quotient,
    in_integers,
    is_scalar,
    largest,
)
from clifford_rand.basis.keys import union
from clifford_rand.errors import ArgumentError
from clifford_rand.multivector.storage import Storage


def _times(array: NDArray[Any], factor: Any) -> NDArray[Any]:
    """Return array · factor for a scalar or an array of scalars; i·∞ times a real number has no real part."""
    kind = factor.dtype.kind if isinstance(factor, np.ndarray) else type(factor)
    if array.dtype == INT and kind in ("i", int):
        size = abs(factor) if kind is int else largest(factor)
        return in_integers(np.multiply, max(largest(array) * size, size), array, np.asarray(factor))
    if array.dtype.kind in "if" and kind in ("c", complex):
        factor = np.asarray(factor, dtype=np.result_type(array.dtype if array.dtype.kind == "f" else factor, factor))
        product = np.empty(np.broadcast_shapes(array.shape, factor.shape), dtype=factor.dtype)
        product.real, product.imag = array * factor.real, array * factor.imag
        return product
    return np.asarray(array * factor)


class Arithmetic(Storage):
    """The vector space, and division by what has an inverse."""

    __slots__ = ()

    def _bad_operand(self, name: str, other: object) -> ArgumentError:
        return fail(
            "other",
            name,
            "a multivector, a number, a symbol or a NumPy array of scalars",
            describe(f"{type(other).__name__} {other!r}"),
        )

    def _sum(self, other: Any, combine: Callable[[Any, Any], Any]) -> Any:
        if other.__class__ is int and other == 0:  # sum() starts with it, and it adds no grade
            return self
        same = self._coerced(other)
        if same is None:
            return NotImplemented
        a, b = self, same
        if a.dtype is not b.dtype and a.dtype.kind != "O" and b.dtype.kind != "O":
            dtype = common_dtype(a.dtype, b.dtype)
            a, b = a.astype(dtype), b.astype(dtype)
        keys = union(a.keys, b.keys)
        x, y = a._on(keys).coefficients, b._on(keys).coefficients
        if x.dtype == INT and y.dtype == INT and (bound := largest(x) + largest(y)) > MOST:
            return self._make(keys, in_integers(combine, bound, x, y))
        return self._make(keys, combine(x, y))

    def __add__(self, other: Any) -> Any:
        return self._sum(other, operator.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._sum(other, operator.add)

    def __neg__(self) -> Self:
        return self._make(self.keys, -self.coefficients)

    def __pos__(self) -> Self:
        return self

    def _factor(self, other: Any) -> Any:
        """Return a scalar or an array of scalars with a component axis to broadcast, None for anything else."""
        if isinstance(other, np.ndarray):
            return as_coefficients(other, "other", type(self).__name__)[..., None]
        if is_scalar(other):  # Python numbers keep the dtype (NEP 50)
            return as_coefficients(other, "other", type(self).__name__) if isinstance(other, np.generic) else other
        return None

    def _scaled(self, other: Any) -> Any:
        array = self.coefficients
        if other.__class__ is float or (
            other.__class__ is int and (array.dtype != INT or max(largest(array), 1) * abs(other) <= MOST)
        ):
            return self._make(self.keys, array * other)  # the rest of this, for the most of its calls
        factor = self._factor(other)
        if factor is None:
            same = self._coerced(other)
            if same is None:
                return NotImplemented
            from clifford_rand.multivector.products import multiply

            return multiply("gp", self, same)
        return self._make(self.keys, as_coefficients(_times(array, factor), "other", "*"))

    def __truediv__(self, other: Any) -> Any:
        """Divide by a scalar, an array of scalars, or a multivector from the right: A B⁻¹."""
        factor = self._factor(other)
        if factor is None:
            return self._over(other)
        if "O" in (self.dtype.kind, np.asarray(factor).dtype.kind):
            return self._make(self.keys, exact_quotient(self.coefficients, factor))
        zero = np.asarray(factor) == 0
        if zero.any():
            raise ZeroDivisionError("division of a multivector by zero")
        return self._make(self.keys, as_coefficients(self.coefficients / factor, "other", "/"))

    def _over(self, other: Any) -> Any:
        same: Any = self._coerced(other)
        return NotImplemented if same is None else same.__class__.gp(self, same.inv())

    def __rtruediv__(self, other: Any) -> Any:
        same: Any = self._coerced(other)
        return NotImplemented if same is None else same.gp(self.inv())  # type: ignore[attr-defined]

    def __pow__(self, exponent: Any) -> Any:
        """Return an integer power, by squaring; negative ones through the inverse."""
        if isinstance(exponent, bool) or not isinstance(exponent, int | np.integer):
            raise fail("exponent", "**", "an integer", exponent, "Use exp(p * A.log()) for other powers of rotors.")
        base: Any = self if exponent >= 0 else self.inv()  # type: ignore[attr-defined]
        left = abs(int(exponent))
        result: Any = None
        while left:
            if left & 1:
                result = base if result is None else result * base
            left >>= 1
            if left:
                base = base * base
        return self.algebra.scalar(np.ones(self.shape, dtype=self.dtype)) if result is None else result
