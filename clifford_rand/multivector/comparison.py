"""Equality, exact and to rounding; scalars as numbers: conversion to Python's and NumPy's, order, rounding."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_broadcast, check_number, describe, fail
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import INT, ROUNDING, is_symbolic, largest
from clifford_rand.basis.keys import union

# what to use instead of functions without a meaning for multivectors
_PRODUCTS = "A | B, A * B, A.inner(B) and A.wedge(B) are the products; A.left_matrix() is A as a matrix."
_INSTEAD = {
    **dict.fromkeys(("dot", "vdot", "inner", "matmul", "einsum", "tensordot", "outer", "kron"), _PRODUCTS),
    "cross": "cr.cross and A.commutator(B) are near to it.",
    "norm": "A.norm() has the norm of each element.",
    "inv": "A.inv() is the inverse.",
    "det": "A.left_matrix() is A as a matrix.",
    **dict.fromkeys(("copyto", "put"), "A multivector is a value: A.replace makes another."),
    **dict.fromkeys(("putmask", "place"), "A multivector is a value: np.where and A.replace make another."),
    **dict.fromkeys(("save", "savez"), "cr.save(A, path) writes the file."),
    **dict.fromkeys(
        ("max", "min", "amax", "amin", "argmax", "argmin", "sort", "argsort", "median", "std", "var"),
        "Multivectors have no order; A.norm() and A['e12'] are arrays of numbers.",
    ),
}


def _same(x: Any, y: Any) -> bool:
    """Compare exact numbers or symbols."""
    if not (is_symbolic(x) or is_symbolic(y)):
        return bool(x == y)
    from clifford_rand.symbolic.coefficients import is_same

    return is_same(x, y)


equal_entries = np.frompyfunc(_same, 2, 1)


def _hashable(value: Any) -> Any:
    if not is_symbolic(value):
        return value
    from clifford_rand.symbolic.coefficients import plain

    return plain(value)


def aligned(A: MV, other: MV, owner: str = "==") -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the coefficients of both on the blades that either has, their batch shapes such that they broadcast."""
    if A.coefficients.shape[:-1] != other.coefficients.shape[:-1]:
        check_broadcast("other", owner, A.shape, other.shape)
    keys = union(A.keys, other.keys)
    return A.on_keys(keys).coefficients, other.on_keys(keys).coefficients


def equal(A: MV, other: object) -> Any:
    """Compare exactly: a bool, or an array of them over the batch."""
    if isinstance(other, type(A)) and other.algebra != A.algebra:
        return False
    same = A.coerce(other, keep=False)
    if same is None:
        return NotImplemented
    a, b = aligned(A, same)
    one_by_one = "O" in (a.dtype.kind, b.dtype.kind) or (
        a.dtype.kind != b.dtype.kind and any(x.dtype == INT and largest(x) > 2**53 for x in (a, b))
    )
    same_entries = np.asarray(equal_entries(a, b) if one_by_one else a == b, dtype=bool).all(axis=-1)
    return bool(same_entries) if same_entries.ndim == 0 else same_entries


def unequal(A: MV, other: object) -> Any:
    """Return the opposite of `equal`."""
    same = equal(A, other)
    return same if same is NotImplemented else (not same if isinstance(same, bool) else ~same)


def hash_of(A: MV) -> int:
    """Return a hash that equal multivectors, and equal scalars, share."""
    if A.ndim:
        raise TypeError("a batch of multivectors is not hashable, as == compares it element by element")
    pairs = zip(map(int, A.keys.masks), A.coefficients.tolist(), strict=True)
    if A.dtype.kind == "O":
        pairs = ((mask, _hashable(value)) for mask, value in pairs if not _same(value, 0))  # type: ignore[assignment]
    terms = {mask: value for mask, value in pairs if value != 0}
    if not terms.keys() - {0}:
        return hash(terms.get(0, 0))
    return hash(frozenset(terms.items()))


def apart_and_scale(a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return max |a - b| and max(|a|, |b|) over the components; infinite ones are equal, or apart by ∞ in no scale."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(a - b).max(axis=-1, initial=0)
    scale = np.maximum(np.abs(a).max(axis=-1, initial=0), np.abs(b).max(axis=-1, initial=0))
    if scale.dtype.kind == "f" and not np.isfinite(scale).all():
        known = np.isfinite(a) & np.isfinite(b)
        if not known.all():
            apart, scale = apart_and_scale(np.where(known, a, 0), np.where(known, b, 0))
            apart = np.where((known | (a == b)).all(axis=-1), apart, np.inf)
    return apart, scale


def isclose(A: MV, other: Any, /, *, rtol: float = 1e-9, atol: float = 0.0) -> Any:
    """Compare to rounding: max |a - b| ≤ atol + rtol · max(|a|, |b|), maxima over the components.

    Parameters
    ----------
    other : Multivector, scalar or array of scalars
    rtol : float, default=1e-9
        Relative to the largest component of either: a scale-free comparison.
    atol : float, default=0
        To compare with zero.

    Returns
    -------
    bool, or an array of them over the batch

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> (0.1 * alg.e1 + 0.2 * alg.e1).isclose(0.3 * alg.e1), 0.1 * alg.e1 + 0.2 * alg.e1 == 0.3 * alg.e1
    (True, False)
    """
    same = A.coerce(other)
    if same is None:
        raise fail("other", "isclose", "a multivector or a scalar", other)
    rtol = check_number(rtol, "rtol", "isclose", "a number ≥ 0", lambda x: x >= 0)
    atol = check_number(atol, "atol", "isclose", "a number ≥ 0", lambda x: x >= 0)
    if same.__class__ is not A.__class__:  # a tensor
        return same.isclose(A, rtol=rtol, atol=atol)
    a, b = aligned(A, same, "isclose")
    if "O" in (a.dtype.kind, b.dtype.kind):
        try:
            a, b = a.astype(np.complex128), b.astype(np.complex128)
        except TypeError:
            hint = "Compare with == or is_zero, or substitute numbers."
            raise fail("other", "isclose", "numeric", describe("symbols"), hint) from None
    apart, scale = apart_and_scale(a, b)
    close = apart <= atol + rtol * scale
    return bool(close) if close.ndim == 0 else close


def is_zero(A: MV) -> Any:
    """Tell whether every coefficient is exactly zero once it is multiplied out: a bool, or an array over the batch.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> a, b, c = (alg.symbols(name) for name in "abc")
    >>> ((a * b) * c - a * (b * c)).is_zero()
    True
    """
    if A.dtype == object:
        from clifford_rand.symbolic.coefficients import is_zero

        entries = [is_zero(value) for value in A.coefficients.ravel().tolist()]
        zero = np.array(entries, dtype=bool).reshape(A.coefficients.shape).all(axis=-1)
    else:
        zero = (A.coefficients == 0).all(axis=-1)
    return bool(zero) if zero.ndim == 0 else zero


def numbers_of(A: MV, what: str) -> NDArray[Any]:
    """Return a scalar, or a batch of scalars, as an array of numbers of the batch's shape.

    A multivector is a scalar here where every coefficient of another blade is zero to rounding, at most 64 eps of the
    coefficient of 1: of float64 1.4e-14. So ``R * ~R`` of a rotor is a number, also where its other grades cancel but
    for the last digit; ``1e-17*e12`` is none. (The rounding of a large boost is that of |R|²: say `scalar_part` there.)
    Of integers, fractions and symbols they are exactly zero; a tensor, of which no value is looked at, has the grade 0
    alone. TypeError with the grades for anything else.
    """
    array = A.coefficients
    if not isinstance(array, np.ndarray):
        if A.keys.grades != (0,):
            grades = ", ".join(map(str, A.grades))
            received = f"this multivector has the grades {grades}. A.scalar_part() is its scalar part."
            raise TypeError(f"{what} needs a scalar, and {received}")
        return array[..., 0]
    place = A.keys.find(0)
    scalar = array[..., place] if place >= 0 else np.zeros(A.shape, dtype=A.dtype)
    if A.keys.size == (place >= 0) or not array.size:
        return scalar
    kind = array.dtype.kind
    rest = array[..., place + 1 :]  # 1 is the first of the blades
    if kind == "O":
        bad = ~np.asarray(equal_entries(rest, 0), dtype=bool).all(axis=-1)
    else:
        largest = np.abs(rest).max(axis=-1)
        eps = float(np.finfo(array.dtype).eps) if kind in "fc" else 0.0
        bad = ~(largest <= ROUNDING * eps * np.abs(scalar))
    if np.any(bad):
        raise TypeError(_no_number(A, rest, bad, what))
    return scalar


def _no_number(A: MV, rest: NDArray[Any], bad: Any, what: str) -> str:
    """Say which grades are in the way, and how large they are."""
    place = A.keys.find(0)
    live = np.asarray(rest != 0, dtype=bool) & np.asarray(bad)[..., None]
    at = live.reshape(-1, rest.shape[-1]).any(axis=0)
    grades = sorted({int(k) for k in A.keys.grade_of[place + 1 :][at]})
    if place >= 0 and np.any(np.asarray(bad) & np.asarray(A.coefficients[..., 0] != 0, dtype=bool)):
        grades = [0, *grades]
    listed = ", ".join(map(str, grades))
    hint = "A.scalar_part() is its scalar part, A.norm() its norm, A['e12'] a coefficient, A.coefficients all of them"
    return f"{what} needs a scalar, and this multivector has grade{'s' * (len(grades) > 1)} {listed}. {hint}."


def _number(A: MV, what: str) -> Any:
    """Return the number that one scalar is."""
    if A.ndim:
        received = f"this is a batch of shape {A.shape}. A.scalar_part() is an array of them."
        raise TypeError(f"{what} needs one scalar, and {received}")
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
    """Tell whether a scalar is not zero; an error for what is not a scalar, as neither answer would be meant."""
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
    scalars = numbers_of(A, "an array of numbers, as all coefficients are,")
    return np.array(scalars, dtype=dtype)


def order(compare: Callable[[Any, Any], Any], sign: str) -> Callable[[MV, Any], Any]:
    """Return the method of one of the operators < <= > >=."""

    def method(A: MV, other: Any) -> Any:
        B: Any = A.coerce(other, keep=False)
        if B is None:
            return NotImplemented
        if B.__class__ is not A.__class__:
            return compare(B.coerce(A), B)
        a, b = numbers_of(A, sign), numbers_of(B, sign)
        if "c" in (getattr(x.dtype, "kind", "") for x in (a, b)):  # dtypes of tensors have none
            received = describe("complex ones")
            raise fail("other", sign, "real numbers, as complex ones have no order", received, "Compare abs() of them.")
        try:
            result = compare(a[()], b[()])
        except ValueError:
            check_broadcast("other", sign, A.shape, B.shape)
            raise
        return bool(result) if isinstance(result, np.bool_) else result

    method.__doc__ = f"Compare scalars as numbers, A {sign} B: a bool, or an array of them over the batch."
    return method


less = order(operator.lt, "<")
less_equal = order(operator.le, "<=")
greater = order(operator.gt, ">")
greater_equal = order(operator.ge, ">=")


def is_multivector(value: object) -> bool:
    """Tell whether a value is a multivector, of NumPy or of tensors."""
    return hasattr(value, "keys") and hasattr(value, "coefficients") and hasattr(value, "algebra")


def as_numbers(value: Any, name: str) -> Any:
    """Return arguments with scalars as numbers; a multivector that is not a scalar is an error with what to use."""
    if is_multivector(value):
        try:
            return numbers_of(value, name)[()]
        except TypeError as error:
            hint = _INSTEAD.get(name.split(".")[-1], "A.coefficients has the numbers, A.map(f) maps them.")
            raise TypeError(f"{str(error).split('. A.scalar_part')[0]}. {hint}") from None
    if isinstance(value, list | tuple):
        return type(value)([as_numbers(part, name) for part in value])
    return value
