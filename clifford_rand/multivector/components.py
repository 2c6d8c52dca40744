"""Stored blades and their coefficients: parts of some grades, filling up, leaving out, other dtypes, other numbers."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from clifford_rand._checks import check_broadcast, check_dtype, check_instance, describe, fail
from clifford_rand._typing import MV, DTypeLike, NDArray
from clifford_rand.basis.coefficients import (
    INT,
    as_coefficients,
    common_dtype,
    copy_by_component,
    empty_coefficients,
    zero_coefficients,
)
from clifford_rand.basis.keys import Keys, check_size, dense_keys, keys_of_masks, sorted_grades, union
from clifford_rand.multivector.batch import on_batch
from clifford_rand.multivector.comparison import equal_entries
from clifford_rand.plans.linear import part_plan


def replace(A: MV, coefficients: Any, at: Any = None) -> MV:
    """Return a multivector with other coefficients on some blades, or with other elements of a batch.

    It is what an assignment would be to an array: a multivector is a value, so there is none.

    Parameters
    ----------
    coefficients : dict {blade: number, or one for each of the batch}, or Multivector
        Blades that are not named stay. A multivector, a number or an array of numbers takes the place ``at``.
    at : index, optional
        Of the elements that change, any of NumPy's; the whole batch by default.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg("e1 + 2*e23").replace({"e1": 3.0, "e32": 1})
    3.0*e1 - e23
    >>> A = alg.vector([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> [str(one) for one in A.replace(2 * alg.e12, at=-1)]  # A[-1] = 2 * alg.e12
    ['e1', 'e2', '2*e12']
    >>> A.replace({"e1": 7}, at=slice(1, None)).values[:, 0].tolist()
    [1, 7, 7]
    """
    if callable(coefficients):  # sympy.lambdify, sympy.ccode
        hint = "SymPy's printers take no multivector: A.lambdify(x, y) is a function of its symbols."
        raise fail("coefficients", "replace", "a dict {blade: coefficient}", describe("a function"), hint)
    if at is not None:
        return _replaced_at(A, coefficients, at)
    if not isinstance(coefficients, Mapping):
        hint = "Another multivector takes the place of the elements that at= names."
        raise fail("coefficients", "replace", "a dict {blade: coefficient}", coefficients, hint)
    numbers: dict[int, NDArray[Any]] = {}
    for name, value in coefficients.items():
        mask, sign = A.algebra.parse_blade(name)
        if mask in numbers:
            rule = "a dict {blade: coefficient} with each blade once"
            raise fail("coefficients", "replace", rule, describe(f"{name!r} beside another name of that blade"))
        number = as_coefficients(value, name, "replace")
        numbers[mask] = number if sign > 0 else -number
    parts = A.on_keys(union(A.keys, keys_of_masks(A.algebra.d, tuple(numbers))))
    dtype = functools.reduce(common_dtype, (number.dtype for number in numbers.values()), A.dtype)
    for name, number in zip(coefficients, numbers.values(), strict=False):
        check_broadcast(name, "replace", A.shape, number.shape)
    batch = np.broadcast_shapes(A.shape, *(number.shape for number in numbers.values()))
    array = empty_coefficients(batch, parts.keys.size, dtype)
    array[...] = parts.coefficients
    for mask, number in numbers.items():
        array[..., parts.keys.find(mask)] = number
    return A.new(parts.keys, array)


def _replaced_at(A: MV, new: Any, at: Any) -> MV:
    """Return A with other elements at an index of the batch axes."""
    if not A.ndim:
        raise TypeError("a single multivector has no batch axis to index: leave at= out")
    try:
        old = A[at]
    except (TypeError, IndexError, OverflowError) as error:
        raise fail("at", "replace", f"an index of the batch axes {A.shape}", at, f"NumPy says: {error}") from error
    if not hasattr(old, "keys"):
        raise fail("at", "replace", f"an index of the batch axes {A.shape}", at)
    B = replace(old, new) if isinstance(new, Mapping) else A.operand(new, "replace")
    if not isinstance(B.coefficients, np.ndarray):
        hint = "A tensor has no part to replace."
        raise fail("coefficients", "replace", "of NumPy arrays", describe("a tensor"), hint)
    if B.shape != old.shape:
        check_broadcast("coefficients", "replace", old.shape, B.shape)
        if np.broadcast_shapes(old.shape, B.shape) != old.shape:
            rule = f"of a batch shape that broadcasts to {old.shape}"
            raise fail("coefficients", "replace", rule, describe(f"batch shape {B.shape}"))
    keys, dtype = union(A.keys, B.keys), common_dtype(A.dtype, B.dtype)
    array = copy_by_component(A.on_keys(keys).astype(dtype).coefficients)
    array[on_batch(at)] = B.on_keys(keys).coefficients
    return A.new(keys, array)


def mapped(A: MV, function: Callable[..., Any]) -> MV:
    """Return the multivector of f(coefficient), blade by blade: a number, or an array over the batch.

    Blades that are not stored stay zero.

    Parameters
    ----------
    function : callable
        Of a coefficient, or, where it takes two arguments, of a blade's name and its coefficient.

    Examples
    --------
    >>> A = cr.Algebra(3)("2 + e1 - 3*e12")
    >>> A.map(abs), A.map(lambda name, x: x if "1" in name[1:] else 10 * x)
    (2 + e1 + 3*e12, 20 + e1 - 3*e12)
    """
    columns = [as_coefficients(value, "function", "map") for value in _called(A, function)]
    for column in columns:
        check_broadcast("function", "map", A.shape, column.shape)
    dtype = functools.reduce(common_dtype, (column.dtype for column in columns)) if columns else A.dtype
    batch = np.broadcast_shapes(A.shape, *(column.shape for column in columns))
    array = empty_coefficients(batch, A.keys.size, dtype)
    for i, column in enumerate(columns):
        array[..., i] = column
    return A.new(A.keys, array)


def filtered(A: MV, function: Callable[..., Any] | None = None) -> MV:
    """Return the blades for which f(coefficient) is true, of a batch those where it is true somewhere.

    Parameters
    ----------
    function : callable, optional
        As for `map`; by default whether the coefficient is not zero, as `sparse` does.

    Examples
    --------
    >>> A = cr.Algebra(3)("2 + 1e-20*e1 - 3*e12")
    >>> A.filter(lambda x: abs(x) > 1e-12)
    2.0 - 3.0*e12
    """
    if function is None:
        return sparse(A)
    kept = [i for i, value in enumerate(_called(A, function)) if _holds_somewhere(value)]
    keys = keys_of_masks(A.algebra.d, tuple(int(A.keys.masks[i]) for i in kept))
    return A.new(keys, A.coefficients[..., kept])


def _holds_somewhere(value: Any) -> bool:
    try:
        return bool(np.any(np.asarray(value, dtype=bool)))
    except (TypeError, ValueError):  # an inequality of a symbol is neither
        raise fail("function", "filter", "true or false of every coefficient", value) from None


def _called(A: MV, function: Callable[..., Any]) -> list[Any]:
    """Return the values of a function of coefficients, or of names and coefficients."""
    columns = [A.coefficients[..., i][()] for i in range(A.keys.size)]
    return called(function, A.algebra, A.keys, columns)


def called(function: Callable[..., Any], algebra: Any, keys: Keys, columns: list[Any]) -> list[Any]:
    """Return the values of a function of the coefficients of some blades, or of names and coefficients."""
    check_instance(
        function, Callable, "function", "map and filter", "a function of a coefficient, or of a name and a coefficient"
    )
    if not takes_two(function):
        return [function(column) for column in columns]
    names = algebra.names
    return [
        function(names.blade(mask) if mask else "1", column)
        for mask, column in zip(map(int, keys.masks), columns, strict=True)
    ]


def takes_two(function: Callable[..., Any]) -> bool:
    """Tell whether a function needs two arguments; what is written in C may not say so, and then takes one."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is inspect.Parameter.empty for p in parameters) == 2


def on_keys(A: MV, keys: Keys) -> MV:
    """Return the same multivector on more keys."""
    if keys is A.keys:
        return A
    check_size(keys.size, type(A).__name__)
    array = zero_coefficients(A.shape, keys.size, A.dtype)
    array[..., keys.place(A.keys)] = A.coefficients
    return A.new(keys, array)


def dense(A: MV) -> MV:
    """Return the same multivector with all 2^d components.

    Examples
    --------
    >>> cr.Algebra(2).e1.dense().values
    array([0, 1, 0, 0])
    """
    d = A.algebra.d
    check_size(2**d, "dense", "the array of components")
    return A.on_keys(dense_keys(d))


def sparse(A: MV) -> MV:
    """Return the same multivector without the blades, and grades, whose coefficients are zero everywhere.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> (alg.vector([1, 0, 2])).sparse().keys.size
    2
    """
    array = A.coefficients
    nonzero = ~np.asarray(equal_entries(array, 0) if array.dtype.kind == "O" else array == 0, dtype=bool)
    kept = np.flatnonzero(nonzero.any(axis=tuple(range(A.ndim))))
    if len(kept) == A.keys.size:
        return A
    keys = keys_of_masks(A.algebra.d, tuple(int(mask) for mask in A.keys.masks[kept]))
    return A.new(keys, A.coefficients[..., kept])


def select(A: MV, keys: Keys) -> MV:
    """Return the components on ``keys`` only; those that are not stored are zero."""
    if keys is A.keys:
        return A
    held = [A.keys.find(int(mask)) for mask in keys.masks]
    array = zero_coefficients(A.shape, keys.size, A.dtype)
    places = [i for i, position in enumerate(held) if position >= 0]
    array[..., places] = A.coefficients[..., [held[i] for i in places]]
    return A.new(keys, array)


def astype(A: MV, dtype: DTypeLike) -> MV:
    """Return the multivector with coefficients of another dtype.

    Fractions of floats are cut off for integers; symbols must have values, as in `to_numeric`.

    Examples
    --------
    >>> A = cr.Algebra(2).vector([1.5, 2.0])
    >>> A.astype(int), A.astype(complex).dtype.kind
    (e1 + 2*e2, 'c')
    """
    return _as_numbers(A, check_dtype(dtype, "dtype", "astype"), "astype")


def to_numeric(A: MV, dtype: DTypeLike = np.float64) -> MV:
    """Return a multivector of numbers once every symbol has a value.

    Parameters
    ----------
    dtype : float64 by default, or float32, complex64, complex128, int64

    Raises
    ------
    ArgumentError
        If symbols are left, or a value is not of that kind (complex for float64, 1/2 for int64).

    Examples
    --------
    >>> import sympy
    >>> (sympy.sqrt(2) * cr.Algebra(2).e1).to_numeric()
    1.41421356*e1
    """
    return _as_numbers(A, check_dtype(dtype, "dtype", "to_numeric"), "to_numeric")


def _as_numbers(A: MV, dtype: np.dtype, owner: str) -> MV:
    if dtype == A.dtype:
        return A
    array = A.coefficients
    if array.dtype.kind == "O":
        from clifford_rand.symbolic.coefficients import numeric

        return A.new(A.keys, numeric(array, dtype, owner))
    if array.dtype.kind == "c" and dtype.kind in "fiub":
        if np.any(array.imag):
            rule = f"real for dtype {dtype}"
            raise fail("coefficients", owner, rule, describe("complex ones"), "A.map(np.real) cuts.")
        array = array.real
    if dtype.kind in "iu":
        dtype = INT
        if array.dtype.kind in "fc" and not (abs(array.real) < 2.0**63).all():
            raise fail("coefficients", owner, "within ±2^63 for integers", describe("larger ones, or NaN"))
    return A.new(A.keys, as_coefficients(array.astype(dtype), "dtype", owner))


def part(A: MV, grades: tuple[int, ...]) -> MV:
    """Return the part of some grades, which ascend."""
    metric = A.algebra.form
    plan = metric.plans.get((grades, A.keys))
    if plan is None:
        plan = part_plan(metric, grades, A.keys)
    return A.new(plan.keys, plan(A.coefficients))


def grade(A: MV, *grades: int) -> MV:
    """Return the part ⟨A⟩_k of one or several grades, which are the result's, also where nothing is stored.

    Examples
    --------
    >>> A = cr.Algebra(3)("1 + 2*e1 + 3*e12")
    >>> A.grade(1), A.grade(0, 2)
    (2*e1, 1 + 3*e12)
    """
    if len(grades) == 1 and grades[0].__class__ is int:  # what equals an integer, as True, is none
        plan = A.algebra.form.plans.get((grades, A.keys))
        if plan is not None:
            return A.new(plan.keys, plan(A.coefficients))
    return A.part(sorted_grades(grades, A.algebra.d))


def even(A: MV) -> MV:
    """Return the part of even grades.

    Examples
    --------
    >>> cr.Algebra(3)("1 + 2*e1 + 3*e12 + 4*e123").even()
    1 + 3*e12
    """
    return A.part(tuple(k for k in A.grades if k % 2 == 0))


def odd(A: MV) -> MV:
    """Return the part of odd grades.

    Examples
    --------
    >>> cr.Algebra(3)("1 + 2*e1 + 3*e12 + 4*e123").odd()
    2*e1 + 4*e123
    """
    return A.part(tuple(k for k in A.grades if k % 2 == 1))


def scalar_part(A: MV) -> object:
    """Return the coefficient of 1: a number, or an array over the batch.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> int((5 + alg.e12).scalar_part()), int(alg.e12.scalar_part())
    (5, 0)
    """
    return A["1"]
