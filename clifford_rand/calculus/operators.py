"""Differential operators Σ C_I D_I on multivector fields: the vector derivative and what products make of it."""

from collections.abc import Callable, Iterable, Mapping
from functools import partialmethod
from itertools import product
from typing import Any

import numpy as np

from clifford_rand._checks import check_integer, describe, fail
from clifford_rand.basis.coefficients import is_scalar
from clifford_rand.calculus.fields import Variables
from clifford_rand.multivector import products
from clifford_rand.multivector.multivector import Multivector

Word = tuple[int, ...]  # (i, j): D_i D_j F, the last first


def _operators(rule: str) -> tuple[Any, Any]:
    """Return the methods of a product with the differential operator at the left and at the right."""

    def left(D: "DifferentialOperator", other: Any) -> Any:
        return D.product(rule, other) if _is_factor(other) else NotImplemented

    def right(D: "DifferentialOperator", other: Any) -> Any:
        return D.product_from_left(rule, other) if _is_factor(other) else NotImplemented

    return left, right


class DifferentialOperator:
    """A linear differential operator D = Σ_I C_I D_I: multivectors C_I times covariant derivatives along coordinates.

    Every product of an operator is that of its coefficients, and derivatives act on everything to their right:
    ``D * F``, ``D ^ F``, ``D | F`` (fat dot), ``D << F`` (left contraction) of a field are fields, Σ C_I * D_I F and so
    on; ``A * D``, ``a | D`` of a field A from the left are operators, Σ (A * C_I) D_I; products of two operators are
    operators by Leibniz' rule. Sums, scalar multiples and whole powers too. The derivative that acts to the left, the F
    with an overdot of Ḟ∇̇ = Σ (D_i F) e^i, is ``F * grad.leftward``.

    Attributes
    ----------
    chart : Coordinates or Variables
    terms : dict of tuple of int to Multivector
        C_I by the coordinates I = (i, j, …) of D_i D_j …, sorted where derivatives commute (flat space).

    Notes
    -----
    D_i is compatible with the metric, so that the product rule holds for all products. ``grad | grad`` is the scalar
    operator ∇ · ∇, and ``(grad | grad) * F`` the Laplacian of any F; ``grad ^ grad`` is the curvature, zero where space
    is flat. D. Hestenes and G. Sobczyk, "Clifford Algebra to Geometric Calculus", 1984, sections 2-1 and 4-1.

    Examples
    --------
    >>> alg = cr.Algebra(2)
    >>> x = alg.symbols("x", 1)
    >>> grad = cr.gradient(x)
    >>> grad
    <e1 D_x1 + e2 D_x2>
    >>> grad * grad == (grad | grad), grad * grad
    (True, <D_x1 D_x1 + D_x2 D_x2>)
    >>> a = alg.symbols("a", 1)
    >>> a | grad, (a | grad) * (x * x), (a * x) * grad.leftward
    (<a1 D_x1 + a2 D_x2>, 2*a1*x1 + 2*a2*x2, 2*a1*e1 + 2*a2*e2)
    """

    __array_ufunc__ = None  # an array times an operator is the operator's business
    __slots__ = ("chart", "terms")

    def __init__(self, chart: Any, terms: Mapping[Word, Multivector]) -> None:
        self.chart = chart
        flat = all(len(word) < 2 for word in terms) or chart.is_flat()
        # derivatives commute in flat space
        sums = _collected((tuple(sorted(word)) if flat else tuple(word), C) for word, C in terms.items())
        ordered = sorted(sums, key=lambda word: (-len(word), word))
        self.terms = {word: sums[word] for word in ordered if not np.all(sums[word].is_zero())}

    # ---- products

    def product(self, rule: str, other: Any) -> Any:
        """Return D times a field, or times another operator, by the name of a product of multivectors.

        Examples
        --------
        >>> polar = cr.Coordinates.named("polar")
        >>> r, theta = polar.symbols
        >>> polar.grad.product("fat_dot", r * polar.algebra.er), polar.grad | (r * polar.algebra.er)
        (2, 2)
        """
        _check_rule(rule)
        if isinstance(other, DifferentialOperator):
            return self._after(rule, other)
        F = self.chart.as_field(other, rule)
        known: dict[Word, Multivector] = {(): F}
        parts = [getattr(C, rule)(_derivative(self.chart, word, known)) for word, C in self.terms.items()]
        return _summed(parts, F)

    def product_from_left(self, rule: str, A: Any) -> "DifferentialOperator":
        """Return the operator A times D, which acts on what follows it.

        Examples
        --------
        >>> polar = cr.Coordinates.named("polar")
        >>> r, theta = polar.symbols
        >>> polar.grad.product_from_left("fat_dot", polar.algebra.etheta) * theta
        1/r
        """
        _check_rule(rule)
        field = self.chart.as_field(A, rule)
        return self._like({word: getattr(field, rule)(coefficient) for word, coefficient in self.terms.items()})

    def _after(self, rule: str, other: "DifferentialOperator") -> "DifferentialOperator":
        if other.chart is not self.chart:
            first_operator, second_operator = _together(self, other, rule)
            return first_operator.product(rule, second_operator)
        products: list[tuple[Word, Multivector]] = []
        for second, inner in other.terms.items():
            known: dict[Word, Multivector] = {(): inner}
            for first, coefficient in self.terms.items():
                for on_inner in product((True, False), repeat=len(first)):  # Leibniz: D_i on C_J, or on what follows
                    here = tuple(i for i, chosen in zip(first, on_inner, strict=True) if chosen)
                    on = tuple(i for i, chosen in zip(first, on_inner, strict=True) if not chosen)
                    # D on what follows
                    products.append((on + second, getattr(coefficient, rule)(_derivative(self.chart, here, known))))
        return self._like(_collected(products))

    def __call__(self, F: Any, /) -> Any:
        """Return D * F."""
        return self.product("gp", F)

    __mul__, __rmul__ = _operators("gp")
    __xor__, __rxor__ = _operators("wedge")
    __or__, __ror__ = _operators("fat_dot")
    __lshift__, __rlshift__ = _operators("lc")

    # ---- sums and powers

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, DifferentialOperator):
            if not _is_factor(other):
                return NotImplemented
            return self + self._like({(): self.chart.as_field(other, "+")})
        if other.chart is not self.chart:
            first, second = _together(self, other, "+")
            return first + second
        return self._like(_collected([*self.terms.items(), *other.terms.items()]))

    __radd__ = __add__

    def __neg__(self) -> "DifferentialOperator":
        return self._like({word: -coefficient for word, coefficient in self.terms.items()})

    def __sub__(self, other: Any) -> Any:
        return self + -other if _is_factor(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other if _is_factor(other) else NotImplemented

    def __truediv__(self, divisor: Any) -> Any:
        if not is_scalar(divisor):
            return NotImplemented
        return self._like({word: coefficient / divisor for word, coefficient in self.terms.items()})

    def __pow__(self, exponent: int) -> "DifferentialOperator":
        count = check_integer(exponent, "exponent", "**", low=0)
        result = self._like({(): self.chart.algebra.scalar(1)})
        for _ in range(count):
            result = result * self
        return result

    # ---- comparison and text

    def simplify(self, function: Callable[[Any], Any] | None = None) -> "DifferentialOperator":
        """Return the operator with simplified coefficients, by SymPy's ``simplify`` or a function of yours.

        Examples
        --------
        >>> import sympy
        >>> polar = cr.Coordinates.named("polar")
        >>> t = polar.symbols[1]
        >>> ((sympy.cos(t) ** 2 + sympy.sin(t) ** 2) * polar.partial(0)).simplify()
        <D_r>
        """
        return self._like({word: coefficient.simplify(function) for word, coefficient in self.terms.items()})

    def is_zero(self) -> bool:
        """Tell whether no coefficient is left once they are multiplied out.

        Examples
        --------
        >>> grad = cr.gradient(cr.Algebra(3).symbols("x", 1))
        >>> (grad ^ grad).is_zero(), (grad * grad).is_zero()
        (True, False)
        """
        return not self.terms

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DifferentialOperator):
            alike = other.chart is self.chart or (self.chart.is_constant() and other.chart.is_constant())
            return alike and self.chart.algebra == other.chart.algebra and (self - other).is_zero()
        return isinstance(other, int) and other == 0 and self.is_zero()

    __hash__ = None  # type: ignore[assignment]  # equal ones may be written differently

    @property
    def leftward(self) -> "LeftwardOperator":
        """The derivative that acts on what stands left of it: ``F * D.leftward`` is Σ (D_I F) C_I.

        Examples
        --------
        >>> x = cr.Algebra(2).symbols("x", 1)
        >>> (x.algebra.e12 * x) * cr.gradient(x).leftward
        2*e12
        """
        return LeftwardOperator(self)

    def _like(self, terms: Mapping[Word, Multivector]) -> "DifferentialOperator":
        return DifferentialOperator(self.chart, terms)

    def __repr__(self) -> str:
        text = " + ".join(self._term(word, coefficient) for word, coefficient in self.terms.items())
        return f"<{text or '0'}>"

    def _term(self, word: Word, coefficient: Multivector) -> str:
        slopes = " ".join(f"D_{self.chart.symbols[i]}" for i in word)
        text = repr(coefficient)
        if not slopes:
            return text
        if text == "1":
            return slopes
        several = int(np.count_nonzero(np.asarray(coefficient.coefficients != 0, dtype=bool))) > 1 or " " in text
        bare = "/" in text and not text.startswith("(")
        return f"({text}) {slopes}" if several or bare else f"{text} {slopes}"


class LeftwardOperator:
    """A derivative that acts to the left, as Ḟ∇̇ = Σ (D_i F) e^i; it has products with a field on its left alone.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> x = alg.symbols("x", 1)
    >>> F = alg.e12 * x
    >>> grad = cr.gradient(x)
    >>> grad * F, F * grad.leftward
    (-e12, 3*e12)
    """

    __array_ufunc__ = None
    __slots__ = ("operator",)

    def __init__(self, operator: DifferentialOperator) -> None:
        self.operator = operator

    def product_from_left(self, rule: str, F: Any) -> Multivector:
        """Return Σ (D_I F) ⊙ C_I by the name of a product of multivectors.

        Examples
        --------
        >>> polar = cr.Coordinates.named("polar")
        >>> r, theta = polar.symbols
        >>> polar.grad.leftward.product_from_left("gp", r * polar.algebra.er)
        2
        """
        _check_rule(rule)
        chart = self.operator.chart
        field = chart.as_field(F, rule)
        known: dict[Word, Multivector] = {(): field}
        parts = [getattr(_derivative(chart, word, known), rule)(C) for word, C in self.operator.terms.items()]
        return _summed(parts, field)

    __rmul__ = partialmethod(product_from_left, "gp")
    __rxor__ = partialmethod(product_from_left, "wedge")
    __ror__ = partialmethod(product_from_left, "fat_dot")

    def __repr__(self) -> str:
        return f"{self.operator!r}, acting to the left"


def _is_factor(other: Any) -> bool:
    return isinstance(other, DifferentialOperator | Multivector) or is_scalar(other)


def _together(a: DifferentialOperator, b: DifferentialOperator, owner: str) -> list[DifferentialOperator]:
    """Return two operators with the variables of both, which a constant basis allows."""
    if not (a.chart.is_constant() and b.chart.is_constant() and a.chart.algebra == b.chart.algebra):
        raise fail("other", owner, "an operator of the same coordinates", describe(repr(b.chart)))
    symbols = tuple(dict.fromkeys(a.chart.symbols + b.chart.symbols))
    chart = Variables(a.chart.algebra, symbols)
    place = {symbol: i for i, symbol in enumerate(symbols)}
    return [
        DifferentialOperator(chart, {tuple(place[D.chart.symbols[i]] for i in word): C for word, C in D.terms.items()})
        for D in (a, b)
    ]


def _collected(terms: Iterable[tuple[Word, Multivector]]) -> dict[Word, Multivector]:
    """Return the sums of the coefficients of each word."""
    sums: dict[Word, Multivector] = {}
    for word, coefficient in terms:
        sums[word] = sums[word] + coefficient if word in sums else coefficient
    return sums


def _summed(parts: list[Multivector], F: Multivector) -> Multivector:
    """Return the sum, or zero if there is nothing to sum."""
    return sum(parts[1:], parts[0]) if parts else F * 0


def _derivative(chart: Any, word: Word, known: dict[Word, Multivector]) -> Multivector:
    """Return D_i D_j … F, where ``known`` has those of shorter words, F itself for ()."""
    if word not in known:
        known[word] = chart.covariant(_derivative(chart, word[1:], known), word[0])
    return known[word]


def _check_rule(rule: Any) -> None:
    if not isinstance(rule, str) or not hasattr(products, rule):
        raise fail("rule", "a product of operators", 'the name of a product, as "gp" or "wedge"', rule)
