"""Stored components of multivectors, errors of missing attributes, methods that are loaded late.

For ``A.e12`` and attributes of SymPy's expressions, `__getattr__` would do it for every name, and would make each
attribute of every multivector five times as slow to read (Python 3.11: 19 ns for 3.4), some ten in each operation.

``(norms,) = methods_of("clifford_rand.functions", "norms")``, and in a class ``norm = norms.norm``: at its first use
the method becomes the function itself, as if the class had been written with it. The import takes half as long.
"""

import importlib
from collections.abc import Callable
from itertools import combinations
from types import FunctionType
from typing import Any, Self

import numpy as np

from clifford_rand._checks import check_instance, describe, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.basis.coefficients import (
    INT,
    as_coefficients,
    as_tensor,
    copy_by_component,
    is_scalar,
    is_tensor,
    read_only,
)
from clifford_rand.basis.keys import Keys, check_size, keys_of_grades
from clifford_rand.basis.rules import MOST_LISTED
from clifford_rand.errors import OF_MULTIVECTOR, suggestion

# methods of `Multivector`, `Algebra` and `Coordinates` for this package, most without checks
INTERNAL = frozenset(
    ("new", "coerce", "operand", "on_keys", "select_keys", "multiply", "image", "part", "new_tensor", "keys_of")
) | {"place", "parse_blade", "as_field"}
_new = object.__new__

Rule = str | Callable[[Any, Any], Any]


class _Missing:
    """An attribute that no multivector has, and what to write instead."""

    __slots__ = ("name", "remedy")

    def __init__(self, name: str, remedy: str) -> None:
        self.name, self.remedy = name, remedy

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {self.name!r}")
        raise AttributeError(f"a multivector has no attribute {self.name!r}{self.remedy}")  # Python adds no second one


def _names() -> list[str]:
    """Return the names of vectors e0 to e9, of bivectors and trivectors of them, and of all blades of e0 to e5."""
    suffixes = ["".join(digits) for k in (1, 2, 3) for digits in combinations("0123456789", k)]
    suffixes += [b + a for a, b in combinations("0123456789", 2)]
    suffixes += ["".join(digits) for k in (4, 5, 6) for digits in combinations("012345", k)]
    return ["e" + digits for digits in suffixes]


# read by the functions of SymPy that take one expression apart: cancel, collect, limit, nsimplify, series, solve, …
_OF_EXPRESSIONS = "atoms has is_Add is_Number is_Poly is_Relational is_extended_real series xreplace _eval_conjugate"


def of_another_algebra(A: Any, other: Any) -> Exception:
    """Return the error of operands of two algebras."""
    rule, received = f"of the same algebra, {A.algebra!r}", describe(f"a multivector of {other.algebra!r}")
    return fail("other", "Multivector", rule, received, "Convert it with algebra.convert(…).")


class BladeAttributes:
    """Names of basis blades, of attributes of expressions and of other packages; their errors say what to write."""

    __slots__ = ()


_OF_SYMPY = ", as SymPy's expressions have. A.simplify(f) applies a function f of expressions to each coefficient."
for _name, _remedy in (
    *((name, f". Its coefficient is A[{name!r}], the blade itself alg.{name}.") for name in _names()),
    *((name, _OF_SYMPY) for name in _OF_EXPRESSIONS.split()),
    *((name, f".{suggestion(OF_MULTIVECTOR, name)}") for name in " ".join(OF_MULTIVECTOR).split()),
):
    setattr(BladeAttributes, _name, _Missing(_name, _remedy))


class StoredComponents(BladeAttributes):
    """Keys and coefficients of a multivector of an algebra, and how others are made of them."""

    __slots__ = ("algebra", "coefficients", "keys")

    algebra: Any
    keys: Keys
    coefficients: NDArray[Any]
    _op_priority = 1000.0  # for SymPy, which takes what has it for no number: symbol * scalar is a multivector

    def __init__(self, algebra: Any, keys: Keys, coefficients: ArrayLike) -> None:
        owner = type(self).__name__
        if not hasattr(algebra, "form"):
            raise fail("algebra", owner, "an Algebra", algebra)
        check_instance(keys, Keys, "keys", owner, "the keys of a multivector, A.keys")
        array = as_coefficients(coefficients, "coefficients", owner)
        if array.ndim == 0 or array.shape[-1] != keys.size:
            rule = f"an array with {keys.size} components on its last axis"
            raise fail("coefficients", owner, rule, describe(f"shape {array.shape}"))
        self.algebra = algebra
        self.keys = keys
        self.coefficients = read_only(copy_by_component(array))

    def new(self, keys: Keys, coefficients: NDArray[Any]) -> Self:
        """Return a multivector of the same algebra, its array one that nobody else holds; without checks."""
        coefficients.setflags(False)  # type: ignore[call-arg]  # by keyword it takes three times as long
        A = _new(self.__class__)
        A.algebra = self.algebra
        A.keys = keys
        A.coefficients = coefficients
        return A

    def coerce(self, other: object, *, keep: bool = True) -> Any:
        """Return ``other`` (a scalar, an array of scalars) as a multivector of this algebra; None if it is neither.

        With ``keep`` a Python number takes the dtype of this multivector (NEP 50).
        """
        if isinstance(other, StoredComponents):
            if other.algebra is not self.algebra and other.algebra != self.algebra:
                raise of_another_algebra(self, other)
            return other
        of_traced = getattr(other, "multivector", None)
        if of_traced is not None:  # an array of traced scalars
            return of_traced(self.algebra, keys_of_grades(self.algebra.d, (0,)), other[..., None])  # type: ignore[index]
        if is_scalar(other) or isinstance(other, np.ndarray):
            exact = self.dtype.kind == "O" or (self.dtype == INT and isinstance(other, int))
            if keep and isinstance(other, int | float | complex) and not (exact or isinstance(other, np.generic)):
                other = np.asarray(other, dtype=np.result_type(self.dtype, other))
            array = as_coefficients(other, "other", type(self).__name__, own=True)  # type: ignore[arg-type]
            return self.new(keys_of_grades(self.algebra.d, (0,)), array[..., None])
        if getattr(other, "is_Matrix", False):  # SymPy's
            rule, hint = "a number, a symbol or an array of them", "np.array(M) * A is a batch."
            raise fail("other", type(self).__name__, rule, describe("a matrix of SymPy"), hint)
        if is_tensor(other):
            array = as_tensor(other, "other", type(self).__name__)
            return self.algebra.new_tensor(keys_of_grades(self.algebra.d, (0,)), array[..., None])
        return None

    def __dir__(self) -> list[str]:
        held = {name for kind in type(self).__mro__ if kind is not BladeAttributes for name in vars(kind)}
        hidden = {name for name in vars(BladeAttributes) if not name.startswith("_")} - held | INTERNAL
        return [name for name in object.__dir__(self) if name not in hidden]

    def _ipython_key_completions_(self) -> list[str]:
        return [self.algebra.names.blade(int(mask)) for mask in self.keys.masks[:MOST_LISTED]]

    def __reduce__(self) -> Any:
        return type(self), (self.algebra, self.keys, self.coefficients)

    def __copy__(self, memo: object = None) -> Self:
        return self

    __deepcopy__ = __copy__

    def copy(self) -> Self:
        """Return a multivector with coefficients of its own, as a part of a batch holds on to all of it.

        Examples
        --------
        >>> A = cr.Algebra(3).vector([[1, 2, 3], [4, 5, 6]])
        >>> A[0].copy() == A[0], np.shares_memory(A[0].copy().coefficients, A.coefficients)
        (True, False)
        """
        return self.new(self.keys, copy_by_component(self.coefficients))

    # ---- what is stored

    @property
    def shape(self) -> tuple[int, ...]:
        """The batch axes: ``()`` for one multivector.

        Examples
        --------
        >>> A = cr.Algebra(2).vector([[1, 2], [3, 4], [5, 6]])
        >>> A.shape, A.ndim, A.dtype, A.grades
        ((3,), 1, dtype('int64'), (1,))
        """
        return self.coefficients.shape[:-1]

    @property
    def ndim(self) -> int:
        """The number of batch axes.

        Examples
        --------
        >>> cr.Algebra(2).e1.ndim, cr.Algebra(2).vector([[1, 2], [3, 4]]).ndim
        (0, 1)
        """
        return self.coefficients.ndim - 1

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the coefficients.

        Examples
        --------
        >>> cr.Algebra(2).e1.dtype, (0.5 * cr.Algebra(2).e1).dtype
        (dtype('int64'), dtype('float64'))
        """
        return self.coefficients.dtype

    @property
    def grades(self) -> tuple[int, ...]:
        """The grades that it may have: for each there are components, zero or not, in `values`.

        Examples
        --------
        >>> alg = cr.Algebra(3)
        >>> (alg.e1 + alg.e123).grades
        (1, 3)
        """
        return self.keys.grades

    @property
    def values(self) -> NDArray[Any]:
        """The components of all blades of `grades`, by grade then lexicographically: (..., n), read-only.

        A dense multivector has all 2^d of them; blades of these grades that are not stored are filled up with zeros.

        Examples
        --------
        >>> alg = cr.Algebra(3)
        >>> (alg.e1 + 2 * alg.e31).values  # e1 e2 e3, e12 e13 e23
        array([ 1,  0,  0,  0, -2,  0])
        """
        filled = self.keys.filled
        check_size(filled.size, "values", "the array of components")
        return self.on_keys(filled).coefficients  # type: ignore[attr-defined]


def name_methods(owner: type) -> None:
    """Give functions of modules the names that they have as methods of a class."""
    names: dict[FunctionType, list[str]] = {}
    for name, function in vars(owner).items():
        if isinstance(function, FunctionType):
            names.setdefault(function, []).append(name)
    for function, held in names.items():
        _named_as_method(function, owner, held)


def _named_as_method(function: FunctionType, owner: type, names: list[str]) -> FunctionType:
    """Let a function with another name call itself as the method that it is: in errors, in help, and to pickle."""
    if function.__name__ not in names:
        function.__name__, function.__qualname__ = names[0], f"{owner.__name__}.{names[0]}"
        function.__module__ = owner.__module__
    return function


class LazyMethod:
    """A function of a module, put into the class in its place at the first use."""

    def __init__(self, module: str, function: str) -> None:
        self.module, self.function = module, function
        self.names: list[str] = []

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner = owner
        self.names.append(name)

    def __get__(self, instance: object, owner: type) -> Any:
        function = _named_as_method(
            getattr(importlib.import_module(self.module), self.function), self.owner, self.names
        )
        for name in self.names:
            setattr(self.owner, name, function)
        return function.__get__(instance, owner)


class _Module:
    """A module whose functions are methods of a class."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> LazyMethod:
        return LazyMethod(self._module, name)


def methods_of(package: str, modules: str) -> list[_Module]:
    """Return the modules of a package, by their names, none of them loaded."""
    return [_Module(f"{package}.{module}") for module in modules.split()]


# ---- methods of multivectors of other packages, which stand around one of this library, ``inner``
#
# Their class has ``wrap(inner)``, which returns a multivector of its own, and ``with_operand(other, function)``, which
# returns ``function(B)`` of the other operand B as one of its own, or NotImplemented.


def unary(name: str, doc: str) -> Any:
    """Return the method of an operation of one multivector, by its name in this library."""

    def method(self: Any) -> Any:
        return self.wrap(getattr(self.inner, name)())

    method.__name__, method.__doc__ = name, doc
    return method


def binary(rule: Rule, reflected: bool = False) -> Any:
    """Return the method of an operation of two, by its name or by a function of both that returns one of this library.

    With ``reflected`` the multivector is the second factor.
    """
    combine: Any = (lambda A, B: getattr(A.inner, rule)(B.inner)) if isinstance(rule, str) else rule

    def method(self: Any, other: Any) -> Any:
        return self.with_operand(other, lambda B: self.wrap(combine(B, self) if reflected else combine(self, B)))

    return method


def both(rule: Rule) -> tuple[Any, Any]:
    """Return the methods of an operation with the multivector as the first and as the second factor."""
    return binary(rule), binary(rule, reflected=True)
