"""Sums, scalar multiples, quotients and powers."""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_broadcast, fail
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import (
    INT,
    MOST,
    as_coefficients,
    common_dtype,
    exact_quotient,
    in_integers,
    is_scalar,
    is_symbolic,
    largest,
)
from clifford_rand.basis.keys import union
from clifford_rand.multivector.products import multiply


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


def _sum(A: MV, other: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """Return A + B or A - B."""
    if other.__class__ is int and other == 0:  # sum() starts with it, and it adds no grade
        return A
    same = other if other.__class__ is A.__class__ and other.algebra is A.algebra else A.coerce(other)
    if same is None:
        return NotImplemented
    try:
        if same.__class__ is not A.__class__:  # a tensor
            return combine(same.coerce(A), same)
        a, b = A, same
        if a.keys is b.keys and a.dtype is b.dtype and a.dtype.kind == "f":
            return a.new(a.keys, combine(a.coefficients, b.coefficients))  # the rest, for the most of its calls
        if a.dtype is not b.dtype and a.dtype.kind != "O" and b.dtype.kind != "O":
            dtype = common_dtype(a.dtype, b.dtype)
            a, b = a.astype(dtype), b.astype(dtype)
        keys = union(a.keys, b.keys)
        x, y = a.on_keys(keys).coefficients, b.on_keys(keys).coefficients
        if x.dtype == INT and y.dtype == INT and (bound := largest(x) + largest(y)) > MOST:
            return A.new(keys, in_integers(combine, bound, x, y))
        return A.new(keys, combine(x, y))
    except ValueError:
        check_broadcast("other", "+", A.shape, same.shape)
        raise


def add(A: MV, other: Any) -> Any:
    """Return A + B."""
    return _sum(A, other, operator.add)


def subtract(A: MV, other: Any) -> Any:
    """Return A - B."""
    return _sum(A, other, operator.sub)


def subtract_from(A: MV, other: Any) -> Any:
    """Return B - A."""
    return _sum(-A, other, operator.add)


def negative(A: MV) -> MV:
    """Return -A."""
    return A.new(A.keys, -A.coefficients)


def positive(A: MV) -> MV:
    """Return A."""
    return A


def _factor(A: MV, other: Any) -> Any:
    """Return a scalar or an array of scalars with a component axis to broadcast, None for anything else."""
    if isinstance(other, np.ndarray):
        if hasattr(other, "multivector"):  # of traced scalars, which take A as one of their own
            return None
        return as_coefficients(other, "other", type(A).__name__)[..., None]
    if is_scalar(other):  # Python numbers keep the dtype (NEP 50)
        if not isinstance(other, np.generic):
            return other
        number = as_coefficients(other, "other", type(A).__name__)
        return number.astype(common_dtype(A.dtype, number.dtype)) if number.dtype == INT else number
    return None


def scale(A: MV, other: Any) -> Any:
    """Return A times a scalar, an array of scalars, or a multivector from the right."""
    array = A.coefficients
    if other.__class__ is float or (
        other.__class__ is int and (array.dtype != INT or max(largest(array), 1) * abs(other) <= MOST)
    ):
        return A.new(A.keys, array * other)  # the rest of this, for the most of its calls
    factor = _factor(A, other)
    if factor is None:
        same = A.coerce(other)
        if same is None:
            return NotImplemented
        return A.multiply("gp", same)
    try:
        return A.new(A.keys, as_coefficients(_times(array, factor), "other", "*"))
    except ValueError:
        check_broadcast("other", "*", A.shape, np.shape(other))
        raise


def times(A: MV, other: Any) -> Any:
    """Return A B, or a scalar multiple of A."""
    if other.__class__ is A.__class__ and other.algebra is A.algebra:
        return multiply(A, "gp", other)
    return scale(A, other)


def divide(A: MV, other: Any) -> Any:
    """Divide by a scalar, an array of scalars, or a multivector from the right: A B⁻¹."""
    factor = _factor(A, other)
    if factor is None:
        same: Any = A.coerce(other)
        return NotImplemented if same is None else A.multiply("gp", same.inv())
    zero = np.asarray(factor) == 0
    exact = "O" in (A.dtype.kind, np.asarray(factor).dtype.kind)
    if not exact and zero.any():
        raise ZeroDivisionError("division of a multivector by zero")
    try:
        quotient = exact_quotient(A.coefficients, factor) if exact else A.coefficients / factor
    except ValueError:
        check_broadcast("other", "/", A.shape, np.shape(other))
        raise
    return A.new(A.keys, quotient if exact else as_coefficients(quotient, "other", "/"))


def divide_into(A: MV, other: Any) -> Any:
    """Return B A⁻¹ for what is not a multivector."""
    same: Any = A.coerce(other)
    return NotImplemented if same is None else same.multiply("gp", A.inv())


def power(A: MV, exponent: Any) -> Any:
    """Return an integer power, by squaring; negative ones through the inverse; other powers as exp(p log A).

    The power ½ is `Multivector.sqrt`. A scalar multivector is an exponent as a number is.
    """
    if exponent.__class__ is A.__class__ and exponent.keys.grades in ((0,), ()) and not exponent.ndim:
        exponent = np.asarray(exponent["1"]).item()
    is_array = A.coefficients.__class__ is np.ndarray
    if isinstance(exponent, bool) or not isinstance(exponent, int | np.integer):
        if not is_array:
            raise fail("exponent", "**", "an integer", exponent, "Use exp(p * A.log()) for other powers of rotors.")
        return _fractional_power(A, exponent)
    base: Any = A if exponent >= 0 else A.inv()
    left = abs(int(exponent))
    result: Any = None
    while left:
        if left & 1:
            result = base if result is None else result * base
        left >>= 1
        if left:
            base = base * base
    if result is not None:
        return result
    return A.algebra.scalar(np.ones(A.shape, dtype=A.dtype)) if is_array else A.coerce(1.0)


def _fractional_power(A: MV, exponent: Any) -> MV:
    """Return exp(p log A), by roots for p = ±1/2; of a scalar the power that the number has."""
    number = isinstance(exponent, float | complex | np.inexact | Fraction) or is_symbolic(exponent)
    if not number:
        raise fail("exponent", "**", "a number", exponent)
    if not is_symbolic(exponent) and abs(exponent) == 0.5:
        root = A.sqrt()
        return root if exponent == 0.5 else root.inv()
    exponent = float(exponent) if isinstance(exponent, Fraction) and A.dtype.kind != "O" else exponent
    if A.keys.grades not in ((0,), ()):
        return (A.log() * exponent).exp()
    values = A["1"] if is_symbolic(exponent) or A.dtype.kind != "i" else A["1"].astype(np.float64)
    if not is_symbolic(exponent) and A.dtype.kind in "if":
        if (values < 0).any():
            return (A.log() * exponent).exp()
        if (values == 0).any() and exponent.real < 0:
            raise ZeroDivisionError("zero to a negative power")
    return A.algebra.scalar(values**exponent)


def power_of(A: MV, base: Any) -> Any:
    """Return b^A = exp(A log b) for a number b > 0, or an array of them."""
    if is_symbolic(base) or not (is_scalar(base) or isinstance(base, np.ndarray)):
        return NotImplemented
    if np.iscomplexobj(base) or not np.all(np.asarray(base) > 0):
        raise fail("base", "**", "a number > 0 where the exponent is a multivector", base)
    return (A * (np.log(base) if isinstance(base, np.ndarray) else math.log(base))).exp()
