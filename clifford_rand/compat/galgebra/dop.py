"""Differential operators by galgebra's names: partial derivatives `Pdop`, sums of them `Sdop`, the vector derivative.

`Dop` stands around `clifford_rand.calculus.operators.DifferentialOperator`.
"""

import itertools
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partialmethod
from typing import Any

import sympy as sp  # type: ignore[import-untyped]

from clifford_rand._checks import describe, fail
from clifford_rand.calculus.operators import DifferentialOperator
from clifford_rand.compat.galgebra.multivector import Mv, of, operand


def _pairs_of(arguments: Sequence[Any], name: str) -> list[tuple[Any, Any]]:
    """Return the terms that a list of pairs, or two lists, give."""
    if len(arguments) == 1:
        return list(arguments[0])
    if len(arguments) != 2:
        raise TypeError(f"{name} takes pairs, or two lists: {len(arguments)} were given")
    if not all(isinstance(terms, list | tuple) for terms in arguments):
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
        symbols = [symbol for symbol, n in self.pdiffs.items() for _ in range(n)]
        pairs = []
        for sides in itertools.product((0, 1), repeat=len(symbols)):
            orders = [Counter(s for s, side in zip(symbols, sides, strict=True) if side == k) for k in (0, 1)]
            pairs.append((Pdop(orders[0]), Pdop(orders[1])))
        return pairs

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
        sums: dict[Pdop, Any] = {}
        for coefficient, derivative in _pairs_of(arguments, "Sdop"):
            value = coefficient if isinstance(coefficient, Mv) else sp.sympify(coefficient)
            sums[derivative] = sums[derivative] + value if derivative in sums else value
        self.terms = tuple((value, derivative) for derivative, value in sums.items() if not _vanishes(value))

    def __mul__(self, what: Any) -> Any:
        if isinstance(what, Pdop):
            return Sdop([(value, derivative(what)) for value, derivative in self.terms])
        if isinstance(what, Sdop):
            terms = []
            for (value, derivative), (inner, second) in itertools.product(self.terms, what.terms):
                terms += [(value * on_inner(inner), rest(second)) for on_inner, rest in derivative.parts()]
            return Sdop(terms)
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


class Dop:
    """A differential operator that acts on its right, ``grad * A``, or on its left, ``A * rgrad``.

    One that acts on its left has the operator whose coefficients are reversed: A D = ~(D' ~A), as the derivatives of a
    reverse are the reverses of derivatives.

    Examples
    --------
    >>> import sympy
    >>> from clifford_rand.compat.galgebra.ga import Ga
    >>> x, y = sympy.symbols("x y", real=True)
    >>> ga, ex, ey = Ga.build("e*x|y", g=[1, 1], coords=(x, y))
    >>> ga.grad * (x**2 * ey), ga.grad | (x * ex + y * ey)
    (2*x*e_x^e_y, 2)
    """

    __array_ufunc__ = None

    def __init__(self, *arguments: Any, ga: Any = None, cmpflg: bool = False) -> None:
        if ga is None:
            raise ValueError("the algebra ga must not be None")
        terms: dict[tuple[int, ...], Any] = {}
        coords = list(ga.coords or ())
        for coefficient, derivative in _pairs_of(arguments, "Dop"):
            if not isinstance(coefficient, Mv) or not isinstance(derivative, Pdop):
                pair = (coefficient, derivative)
                raise TypeError(f"Dop takes pairs of a multivector and a Pdop. Got {pair} instead.")
            word = tuple(coords.index(symbol) for symbol, n in derivative.pdiffs.items() for _ in range(n))
            inner = ~coefficient.inner if cmpflg else coefficient.inner
            terms[word] = terms[word] + inner if word in terms else inner
        chart = ga.needed_chart("Dop")
        self.Ga, self.operator, self.leftward = ga, DifferentialOperator(chart, terms), cmpflg

    def applied(self, other: Any, rule: str, from_left: bool = False) -> Any:
        """Return the product with what stands at the right, or with what stands at the left of the operator."""
        if isinstance(other, Dop):
            self._check_alike(other)
            first, second = (other, self) if self.leftward else (self, other)
            return self._like(first.operator.product(self._mirrored(rule), second.operator))
        inner = operand(self.Ga, other, "Dop")
        if inner is None:
            return NotImplemented
        field = ~inner if self.leftward else inner
        if from_left != self.leftward:
            return self._like(self.operator.product_from_left(self._mirrored(rule), field))
        result = self.operator.product(self._mirrored(rule), field)
        return of(self.Ga, ~result if self.leftward else result)

    def _check_alike(self, other: "Dop") -> None:
        if other.Ga != self.Ga or other.leftward != self.leftward:
            raise fail("other", "Dop", "of the same algebra, acting to the same side", describe(repr(other)))

    def _like(self, operator: DifferentialOperator) -> "Dop":
        return operator_of(self.Ga, operator, self.leftward)

    def _mirrored(self, rule: str) -> str:
        """Return the product of the reversed factors in the opposite order, where the operator acts on its left."""
        return {"lc": "rc", "rc": "lc"}.get(rule, rule) if self.leftward else rule

    __mul__, __rmul__ = partialmethod(applied, rule="gp"), partialmethod(applied, rule="gp", from_left=True)
    __xor__, __rxor__ = partialmethod(applied, rule="wedge"), partialmethod(applied, rule="wedge", from_left=True)
    __or__, __ror__ = partialmethod(applied, rule="hestenes"), partialmethod(applied, rule="hestenes", from_left=True)
    __lt__, __gt__ = partialmethod(applied, rule="lc"), partialmethod(applied, rule="rc")

    def _sum(self, other: Any, sign: int) -> Any:
        """Return the sum with an operator, or with a multivector or number, which then multiplies what D acts on."""
        if not isinstance(other, Dop):
            inner = operand(self.Ga, other, "Dop")
            if inner is None:
                return NotImplemented
            return self._like(self.operator + sign * (~inner if self.leftward else inner))
        self._check_alike(other)
        return self._like(self.operator + sign * other.operator)

    __add__ = __radd__ = partialmethod(_sum, sign=1)
    __sub__ = partialmethod(_sum, sign=-1)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._sum(other, 1)

    def __neg__(self) -> "Dop":
        return self._like(-self.operator)

    def __truediv__(self, divisor: Any) -> "Dop":
        return self._like(self.operator / divisor)

    def components(self) -> "tuple[Dop, ...]":
        """Return e^i D_i for each coordinate, the terms of the operator."""
        return tuple(
            self._like(DifferentialOperator(self.operator.chart, {word: coefficient}))
            for word, coefficient in self.operator.terms.items()
        )

    @property
    def terms(self) -> tuple[tuple[Mv, Pdop], ...]:
        """The pairs of a multivector and a derivative; partial ones where the basis vectors are constant."""
        coords = self.Ga.coords or ()
        return tuple(
            (
                of(self.Ga, ~coefficient if self.leftward else coefficient),
                Pdop({symbol: word.count(i) for i, symbol in enumerate(coords)}),
            )
            for word, coefficient in self.operator.terms.items()
        )

    def is_scalar(self) -> bool:
        """Tell whether all coefficients are scalars."""
        return all(coefficient.sparse().grades in ((), (0,)) for coefficient in self.operator.terms.values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dop) or (self.Ga, self.leftward) != (other.Ga, other.leftward):
            return False
        return bool(self.operator == other.operator)

    __hash__ = None

    def __repr__(self) -> str:
        return f"Dop({self.operator!r}{', leftward' if self.leftward else ''})"


def operator_of(ga: Any, operator: DifferentialOperator, leftward: bool) -> Dop:
    """Return the operator around one of this library."""
    D = object.__new__(Dop)
    D.Ga, D.operator, D.leftward = ga, operator, leftward
    return D
