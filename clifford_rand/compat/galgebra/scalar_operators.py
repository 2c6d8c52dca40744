"""Partial derivatives of any order, `Pdop`, and sums of them with coefficients, `Sdop`, by galgebra's names."""

import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy as sp  # type: ignore[import-untyped]

from clifford_rand.compat.galgebra.mv import Mv


def pairs_of(arguments: Sequence[Any], name: str) -> list[tuple[Any, Any]]:
    """Return the terms that a list of pairs, or two lists, give."""
    if len(arguments) == 1:
        return list(arguments[0])
    if len(arguments) != 2:
        raise TypeError(f"{name} takes pairs, or two lists: {len(arguments)} were given")
    if not all(isinstance(one, list | tuple) for one in arguments):
        raise TypeError(f"the coefficients and the derivatives of {name} must be lists")
    if len(arguments[0]) != len(arguments[1]):
        raise ValueError(f"the two lists of {name} must have the same length")
    return list(zip(*arguments, strict=True))


class Pdop:
    """∂^n/∂x^i ∂y^j …, by the order for each symbol: ``Pdop(x)``, ``Pdop({x: 2, y: 1})``.

    Examples
    --------
    >>> import sympy
    >>> from clifford_rand.compat.galgebra.dop import Pdop
    >>> x, y = sympy.symbols("x y")
    >>> Pdop({x: 2}) * x**3, (Pdop(x) * Pdop(y))(x * y), Pdop(x) * (x * Pdop(y)) * y
    (6*x, 1, 1)
    """

    __array_ufunc__ = None

    def __init__(self, orders: Any) -> None:
        if orders is None:
            warnings.warn("Pdop(None) is deprecated: use Pdop({}).", DeprecationWarning, stacklevel=2)
            orders = {}
        if isinstance(orders, sp.Symbol):
            orders = {orders: 1}
        if not isinstance(orders, Mapping):
            raise TypeError(f"a dictionary or symbol is required. Got {orders!r} instead.")
        self.pdiffs = {symbol: int(n) for symbol, n in orders.items() if n}

    def __call__(self, what: Any) -> Any:
        """Return the derivative of an expression or a multivector, or the operator that differentiates twice."""
        if isinstance(what, Pdop):
            symbols = {**self.pdiffs, **what.pdiffs}
            return Pdop({symbol: self.pdiffs.get(symbol, 0) + what.pdiffs.get(symbol, 0) for symbol in symbols})
        if isinstance(what, Sdop):
            return Sdop([(1, self)]) * what
        for symbol, n in self.pdiffs.items():
            for _ in range(n):
                what = what.diff(symbol) if isinstance(what, Mv) else sp.diff(sp.sympify(what), symbol)
        return what

    __mul__ = __call__

    def __rmul__(self, coefficient: Any) -> "Sdop":
        return Sdop([(coefficient, self)])

    def parts(self) -> "list[tuple[Pdop, Pdop]]":
        """Return the pairs (D, E) of Leibniz' rule, as often as they occur: D E is this, D acts on the first factor."""
        ones = [symbol for symbol, n in self.pdiffs.items() for _ in range(n)]
        found = []
        for chosen in itertools.product((False, True), repeat=len(ones)):
            sides: list[dict[Any, int]] = [{}, {}]
            for symbol, side in zip(ones, chosen, strict=True):
                sides[side][symbol] = sides[side].get(symbol, 0) + 1
            found.append((Pdop(sides[0]), Pdop(sides[1])))
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pdop) and self.pdiffs == other.pdiffs

    def __hash__(self) -> int:
        return hash(frozenset(self.pdiffs.items()))

    def __repr__(self) -> str:
        return f"Pdop({self.pdiffs})"


class Sdop:
    """Σ c_i D_i, coefficients times partial derivatives: of a list of pairs (c, Pdop), two lists, or a symbol.

    Examples
    --------
    >>> import sympy
    >>> from clifford_rand.compat.galgebra.dop import Pdop, Sdop
    >>> x, y = sympy.symbols("x y")
    >>> euler = Sdop([(x, Pdop(x)), (y, Pdop(y))])
    >>> (euler + 1) * (x * y), euler * euler * x**2
    (3*x*y, 4*x**2)
    """

    __array_ufunc__ = None

    def __init__(self, *arguments: Any) -> None:
        if len(arguments) == 1 and isinstance(arguments[0], sp.Symbol):
            arguments = ([(sp.Integer(1), Pdop(arguments[0]))],)
        if len(arguments) == 1 and not isinstance(arguments[0], list | tuple):
            raise TypeError(f"a symbol or sequence is required. Got {arguments[0]!r} instead.")
        found: dict[Pdop, Any] = {}
        for coefficient, derivative in pairs_of(arguments, "Sdop"):
            value = coefficient if isinstance(coefficient, Mv) else sp.sympify(coefficient)
            found[derivative] = found[derivative] + value if derivative in found else value
        self.terms = tuple((value, derivative) for derivative, value in found.items() if not _vanishes(value))

    def __mul__(self, what: Any) -> Any:
        if isinstance(what, Pdop):
            return Sdop([(value, derivative(what)) for value, derivative in self.terms])
        if isinstance(what, Sdop):
            made = []
            for (value, derivative), (other, second) in itertools.product(self.terms, what.terms):
                made += [(value * here(other), there(second)) for here, there in derivative.parts()]
            return Sdop(made)
        return sum((value * derivative(what) for value, derivative in self.terms), what * 0)

    __call__ = __mul__

    def __rmul__(self, factor: Any) -> "Sdop":
        return Sdop([(factor * value, derivative) for value, derivative in self.terms])

    def _sum(self, other: Any, combine: Callable[[Any], Any]) -> "Sdop":
        terms = other.terms if isinstance(other, Sdop) else ((sp.sympify(other), Pdop({})),)
        return Sdop([*self.terms, *((combine(value), derivative) for value, derivative in terms)])

    def __add__(self, other: Any) -> "Sdop":
        return self._sum(other, lambda value: value)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Sdop":
        return self._sum(other, lambda value: -value)

    def __rsub__(self, other: Any) -> "Sdop":
        return -self + other

    def __neg__(self) -> "Sdop":
        return Sdop([(-value, derivative) for value, derivative in self.terms])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sdop) and not (self - other).terms

    def __hash__(self) -> int:
        return hash(frozenset(derivative for _, derivative in self.terms))

    def __repr__(self) -> str:
        return f"Sdop({list(self.terms)})"


def _vanishes(value: Any) -> bool:
    return bool(value.is_zero()) if isinstance(value, Mv) else bool(sp.simplify(value) == 0)
