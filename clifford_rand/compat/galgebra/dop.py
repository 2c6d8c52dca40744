"""The vector derivative by galgebra's names, around `clifford_rand.calculus`."""

from typing import TYPE_CHECKING, Any

from clifford_rand._checks import describe, fail
from clifford_rand.calculus.operators import DifferentialOperator
from clifford_rand.compat.galgebra.mv import Mv, of, operand
from clifford_rand.compat.galgebra.scalar_operators import Pdop, Sdop, pairs_of

if TYPE_CHECKING:
    from clifford_rand.compat.galgebra.ga import Ga

__all__ = ["Dop", "Pdop", "Sdop"]


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

    def __init__(self, *arguments: Any, ga: "Ga | None" = None, cmpflg: bool = False) -> None:
        if ga is None:
            raise ValueError("the algebra ga must not be None")
        terms: dict[tuple[int, ...], Any] = {}
        coords = list(ga.coords or ())
        for coefficient, derivative in pairs_of(arguments, "Dop"):
            if not isinstance(coefficient, Mv) or not isinstance(derivative, Pdop):
                raise TypeError(
                    f"Dop takes pairs of a multivector and a Pdop. Got {(coefficient, derivative)} instead."
                )
            word = tuple(coords.index(symbol) for symbol, n in derivative.pdiffs.items() for _ in range(n))
            inner = ~coefficient.inner if cmpflg else coefficient.inner
            terms[word] = terms[word] + inner if word in terms else inner
        chart = ga.needed_chart("Dop")
        self.Ga, self.operator, self.leftward = ga, DifferentialOperator(chart, terms), cmpflg

    def _applied(self, rule: str, other: Any, from_left: bool) -> Any:
        """Return the product with what stands at the right, or with what stands at the left of the operator."""
        if isinstance(other, Dop):
            if other.Ga != self.Ga or other.leftward != self.leftward:
                raise fail("other", "Dop", "of the same algebra, acting to the same side", describe(repr(other)))
            first, second = (other, self) if self.leftward else (self, other)
            return _made(self.Ga, first.operator.product(self._mirrored(rule), second.operator), self.leftward)
        inner = operand(self.Ga, other, "Dop")
        if inner is None:
            return NotImplemented
        given = ~inner if self.leftward else inner
        if from_left != self.leftward:
            return _made(self.Ga, self.operator.product_from_left(self._mirrored(rule), given), self.leftward)
        found = self.operator.product(self._mirrored(rule), given)
        return of(self.Ga, ~found if self.leftward else found)

    def _mirrored(self, rule: str) -> str:
        """Return the product of the reversed factors in the opposite order, where the operator acts on its left."""
        return {"lc": "rc", "rc": "lc"}.get(rule, rule) if self.leftward else rule

    def __mul__(self, other: Any) -> Any:
        return self._applied("gp", other, from_left=False)

    def __rmul__(self, other: Any) -> Any:
        return self._applied("gp", other, from_left=True)

    def __xor__(self, other: Any) -> Any:
        return self._applied("wedge", other, from_left=False)

    def __rxor__(self, other: Any) -> Any:
        return self._applied("wedge", other, from_left=True)

    def __or__(self, other: Any) -> Any:
        return self._applied("hestenes", other, from_left=False)

    def __ror__(self, other: Any) -> Any:
        return self._applied("hestenes", other, from_left=True)

    def __lt__(self, other: Any) -> Any:
        return self._applied("lc", other, from_left=False)

    def __gt__(self, other: Any) -> Any:
        return self._applied("rc", other, from_left=False)

    def _sum(self, other: Any, sign: int) -> Any:
        """Return the sum with an operator, or with a multivector or number, which then multiplies what D acts on."""
        if not isinstance(other, Dop):
            inner = operand(self.Ga, other, "Dop")
            if inner is None:
                return NotImplemented
            return _made(self.Ga, self.operator + sign * (~inner if self.leftward else inner), self.leftward)
        if other.Ga != self.Ga or other.leftward != self.leftward:
            raise fail("other", "Dop", "of the same algebra, acting to the same side", describe(repr(other)))
        return _made(self.Ga, self.operator + sign * other.operator, self.leftward)

    def __add__(self, other: Any) -> Any:
        return self._sum(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._sum(other, 1)

    def __neg__(self) -> "Dop":
        return _made(self.Ga, -self.operator, self.leftward)

    def __truediv__(self, divisor: Any) -> "Dop":
        return _made(self.Ga, self.operator / divisor, self.leftward)

    def components(self) -> "tuple[Dop, ...]":
        """Return e^i D_i for each coordinate, the terms of the operator."""
        return tuple(
            _made(self.Ga, DifferentialOperator(self.operator.chart, {word: coefficient}), self.leftward)
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


def _made(ga: "Ga", operator: Any, leftward: bool = False) -> Dop:
    """Return the operator around one of this library."""
    made = object.__new__(Dop)
    made.Ga, made.operator, made.leftward = ga, operator, leftward
    return made


def grad_of(ga: "Ga", leftward: bool) -> Dop:
    """Return the vector derivative of an algebra with coordinates."""
    return _made(ga, ga.needed_chart("grad").grad, leftward)
