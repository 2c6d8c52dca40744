"""Sums, scalar multiples, quotients and integer powers."""

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Self

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.basis.dtypes import common_dtype
from clifford_rand.basis.keys import union
from clifford_rand.errors import ArgumentError
from clifford_rand.multivector.coefficients import as_coefficients, is_scalar
from clifford_rand.multivector.storage import Storage

__all__ = ["Arithmetic"]


def _quotient(a: Any, b: Any) -> Any:
    return Fraction(a, b) if isinstance(a, int) and isinstance(b, int) else a / b


_exact_quotient = np.frompyfunc(_quotient, 2, 1)  # integers divide to fractions, as nothing exact may become a float


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
        return self._make(keys, combine(a._on(keys).coefficients, b._on(keys).coefficients))

    def __add__(self, other: Any) -> Any:
        return self._sum(other, operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._sum(other, operator.add)

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
        if is_scalar(other):
            if isinstance(other, int) and not -(2**63) <= other < 2**63:
                return np.asarray(other, dtype=object)
            return other  # Python numbers keep the dtype (NEP 50)
        return None

    def _scaled(self, other: Any) -> Any:
        factor = self._factor(other)
        if factor is None:
            same = self._coerced(other)
            if same is None:
                return NotImplemented
            from clifford_rand.multivector.products import multiply

            return multiply("gp", self, same)
        return self._make(self.keys, as_coefficients(self.coefficients * factor, "other", "*"))

    def __truediv__(self, other: Any) -> Any:
        """Divide by a scalar, an array of scalars, or a multivector from the right: A B⁻¹."""
        factor = self._factor(other)
        if factor is None:
            return self._over(other)
        if "O" in (self.dtype.kind, np.asarray(factor).dtype.kind):
            return self._make(self.keys, np.asarray(_exact_quotient(self.coefficients.astype(object), factor)))
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
