"""Scalars are numbers: conversion to Python's and NumPy's, order, rounding; else an error with the grades."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_broadcast, describe, fail
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import ROUNDING, is_symbolic
from clifford_rand.multivector.comparison import equal_entries


def numbers_of(A: MV, what: str) -> NDArray[Any]:
    """Return a scalar, or a batch of scalars, as an array of numbers of the batch's shape.

    A multivector is a scalar here where every coefficient of another blade is zero to rounding, at most 64 eps of the
    coefficient of 1: of float64 1.4e-14. So ``R * ~R`` of a rotor is a number, also where its other grades cancel but
    for the last digit; ``1e-17*e12`` is none. (The rounding of a large boost is that of |R|²: say `scalar_part` there.)
    Of integers, fractions and symbols they are exactly zero.

    Raises
    ------
    TypeError
        For anything else, with the grades.
    """
    array = A.coefficients
    place = A.keys.find(0)
    found = array[..., place] if place >= 0 else np.zeros(A.shape, dtype=A.dtype)
    if A.keys.size == (place >= 0) or not array.size:
        return found
    kind = array.dtype.kind
    others = array[..., place + 1 :]  # 1 is the first of the blades
    if kind == "O":
        bad = ~np.asarray(equal_entries(others, 0), dtype=bool).all(axis=-1)
    else:
        largest = np.abs(others).max(axis=-1)
        eps = float(np.finfo(array.dtype).eps) if kind in "fc" else 0.0
        bad = ~(largest <= ROUNDING * eps * np.abs(found))
    if np.any(bad):
        raise TypeError(_no_number(A, others, bad, what))
    return found


def _no_number(A: MV, others: NDArray[Any], bad: Any, what: str) -> str:
    """Say which grades are in the way, and how large they are."""
    place = A.keys.find(0)
    live = np.asarray(others != 0, dtype=bool) & np.asarray(bad)[..., None]
    at = live.reshape(-1, others.shape[-1]).any(axis=0)
    grades = sorted({int(k) for k in A.keys.grade_of[place + 1 :][at]})
    if place >= 0 and np.any(np.asarray(bad) & np.asarray(A.coefficients[..., 0] != 0, dtype=bool)):
        grades = [0, *grades]
    listed = ", ".join(map(str, grades))
    hint = "A.scalar_part() is its scalar part, A.norm() its norm, A['e12'] a coefficient, A.coefficients all of them"
    return f"{what} needs a scalar, and this multivector has grade{'s' * (len(grades) > 1)} {listed}. {hint}."


def _number(A: MV, what: str) -> Any:
    """Return the number that one scalar is."""
    if A.ndim:
        raise TypeError(
            f"{what} needs one scalar, and this is a batch of shape {A.shape}. A.scalar_part() is an array of them."
        )
    return numbers_of(A, what)[()]


def to_float(A: MV) -> float:
    """Return the real number that a scalar is: see `numbers_of` for what is one."""
    return _converted(float, _real(_number(A, "float()"), "float()"))


def to_int(A: MV) -> int:
    """Return the integer part of the number that a scalar is."""
    return _converted(int, _real(_number(A, "int()"), "int()"))


def _real(number: Any, what: str) -> Any:
    """Refuse complex numbers, as Python does and NumPy does not."""
    if isinstance(number, np.complexfloating):
        raise TypeError(f"{what} needs a real scalar, and this one is complex: use complex(A)")
    return number


def to_complex(A: MV) -> complex:
    """Return the complex number that a scalar is."""
    return _converted(complex, _number(A, "complex()"))


def _converted(kind: type, number: Any) -> Any:
    """Return a number of Python's; of an expression with symbols there is none."""
    try:
        return kind(number)
    except TypeError:
        if not is_symbolic(number):
            raise
        rule = f"{kind.__name__}() needs a number, and this scalar has symbols: {number}"
        raise TypeError(f"{rule}. A.subs({{symbol: number}}) gives them values.") from None


def to_bool(A: MV) -> bool:
    """Tell whether a scalar is not zero; an error for what is no scalar, as neither answer would be meant."""
    if A.ndim:
        raise TypeError("a batch of multivectors is neither true nor false: compare it, and use .any() or .all()")
    try:
        return bool(numbers_of(A, "bool()")[()] != 0)
    except TypeError as error:
        rule = "a multivector is neither true nor false: compare it, as in A == 0 or A.isclose(0, atol=1e-12)"
        raise TypeError(f"{rule}; {error}") from None


def rounded(A: MV, digits: int | None = None) -> Any:
    """Return the number that a scalar is, rounded: ``round(A, 3)``. ``np.round(A, 3)`` rounds every coefficient."""
    number = _number(A, "round(), unlike np.round(),")
    return round(number.item() if isinstance(number, np.generic) else number, digits)


def to_array(A: MV, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
    """Return scalars as an array of numbers: ``np.asarray(A)``; with ``dtype=object`` one of multivectors."""
    if copy is False:
        raise ValueError("the numbers of a multivector are copied: leave copy=False out, or use A.coefficients")
    if dtype is not None and np.dtype(dtype) == object:
        listed = np.empty(A.shape, dtype=object)
        if not A.ndim:
            listed[()] = A
        for index in np.ndindex(*A.shape) if A.ndim else ():
            listed[index] = A[index]
        return listed
    found = numbers_of(A, "an array of numbers, as all coefficients are,")
    return np.array(found, dtype=dtype)


def order(compare: Callable[[Any, Any], Any], sign: str) -> Callable[[MV, Any], Any]:
    """Return the method of one of the operators < <= > >=."""

    def method(A: MV, other: Any) -> Any:
        B: Any = A.coerce(other, keep=False)
        if B is None:
            return NotImplemented
        if B.__class__ is not A.__class__:
            return compare(B.coerce(A)._scalars(sign), B._scalars(sign))
        a, b = numbers_of(A, sign), numbers_of(B, sign)
        if a.dtype.kind == "c" or b.dtype.kind == "c":
            found = describe("complex ones")
            raise fail("other", sign, "real numbers, as complex ones have no order", found, "Compare abs() of them.")
        try:
            found = compare(a[()], b[()])
        except ValueError:
            check_broadcast("other", sign, A.shape, B.shape)
            raise
        return bool(found) if isinstance(found, np.bool_) else found

    method.__doc__ = f"Compare scalars as numbers, A {sign} B: a bool, or an array of them over the batch."
    return method


less = order(operator.lt, "<")
less_equal = order(operator.le, "<=")
greater = order(operator.gt, ">")
greater_equal = order(operator.ge, ">=")
