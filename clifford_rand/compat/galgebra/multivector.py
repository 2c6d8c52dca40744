"""The class `Mv` of ``galgebra`` around a multivector of this library."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import sympy  # type: ignore[import-untyped]

from clifford_rand._checks import describe, fail
from clifford_rand.basis.coefficients import is_scalar
from clifford_rand.basis.keys import keys_of_masks
from clifford_rand.functions.scaling import expand
from clifford_rand.multivector import display
from clifford_rand.multivector.base import binary, both, unary
from clifford_rand.symbolic.coefficients import each, positive_root, simplifies_to_zero


def of(ga: Any, inner: Any) -> "Mv":
    """Return the multivector around one of this library, its numbers SymPy's, multiplied out, without what is zero."""
    if inner.dtype != object:  # an integer would be divided as a floating number
        inner = inner.new(inner.keys, each(lambda value: value, inner.coefficients))
    A = object.__new__(Mv)
    A.Ga, A.inner, A.title = ga, expand(inner).sparse(), None
    return A


def operand(ga: Any, other: Any, owner: str) -> Any:
    """Return a multivector or number beside one of ``ga`` as one of this library; None if it is neither."""
    if isinstance(other, Mv):
        if other.Ga != ga:
            raise fail("other", owner, f"a multivector of {ga!r}", describe(f"one of {other.Ga!r}"))
        return other.inner
    return ga.own.scalar(other) if is_scalar(other) else None


class Mv:
    """A multivector with symbolic coefficients, as ``galgebra`` has it, around `inner`, one of this library.

    ``Mv(name, kind)`` has a symbol for each blade: a kind is a grade, "scalar", "vector", "bivector", "pseudo",
    "spinor" (or "even"), "odd", "mv", or "grade" and the grade. With ``f=True`` the symbols are functions of the
    coordinates, with ``f=(x, …)`` of those. ``Mv(coefficients, kind)`` has numbers or expressions, ``Mv(expr)`` is a
    scalar or an expression that is linear in the symbols of blades.

    Notes
    -----
    Operators are galgebra's: ``|`` Hestenes' product, ``<`` and ``>`` left and right contraction, ``>>`` commutator
    (AB - BA)/2, ``<<`` anticommutator. ``==`` tells whether the difference simplifies to zero.

    Examples
    --------
    >>> from clifford_rand.compat.galgebra.ga import Ga
    >>> ga, ex, ey = Ga.build("e*x|y", g=[1, 1])
    >>> A = ga.mv("A", "vector")
    >>> A * ex, (A * ex).grades, A.get_coefs(1)
    (A__x - A__y*e_x^e_y, [0, 2], [A__x, A__y])
    """

    __slots__ = ("Ga", "inner", "title")
    __array_ufunc__ = None

    Ga: Any
    inner: Any

    def __init__(self, *arguments: Any, ga: Any, **options: Any) -> None:
        function = options.pop("f", None)
        options.pop("coords", None)
        if options:
            raise TypeError(f"Mv has no argument {', '.join(options)}")
        first, kind, more = (arguments or (0,))[0], arguments[1:2], arguments[2:]
        self.Ga, self.title = ga, first if kind and isinstance(first, str) else None
        if not isinstance(first, Mv):
            inner = ga.of_kind(first, kind[0], more, function) if kind else ga.sum_of_blades(first)
            self.inner = inner if self.title else of(ga, inner).inner
        elif kind:
            raise TypeError(f"a multivector has its kind. Got {kind[0]!r} beside it.")
        else:
            self.inner = first.inner

    def wrap(self, inner: Any) -> "Mv":
        """Return the multivector of the same algebra around one of this library."""
        return of(self.Ga, inner)

    def with_operand(self, other: Any, function: Callable[["Mv"], Any]) -> Any:
        """Return ``function`` of a multivector of the same algebra or of a number, else NotImplemented."""
        inner = operand(self.Ga, other, "Mv")
        return NotImplemented if inner is None else function(self.wrap(inner))

    # ---- stored coefficients

    @property
    def grades(self) -> list[int]:
        """The grades that are not zero; [0] of zero."""
        return sorted({int(mask).bit_count() for mask in self.inner.keys.masks}) if self.inner.keys.size else [0]

    @property
    def i_grade(self) -> int | None:
        """The grade, None if there are several."""
        return self.grades[0] if len(self.grades) == 1 else None

    def pure_grade(self) -> int:
        """Return the grade; -1 if there are several."""
        return self.grades[0] if len(self.grades) == 1 else -1

    def _terms(self) -> list[tuple[int, Any]]:
        pairs = zip(map(int, self.inner.keys.masks), self.inner.coefficients.tolist(), strict=True)
        return [(mask, sympy.sympify(value)) for mask, value in pairs] if self.inner.keys.size else []

    @property
    def obj(self) -> Any:
        """The expression in the non-commutative symbols of blades."""
        name = self.Ga.name_of
        return sympy.Add(*(v * sympy.Symbol(name(k), commutative=False) if k else v for k, v in self._terms()))

    @property
    def free_symbols(self) -> set[Any]:
        """The symbols of the coefficients."""
        return set().union(*(value.free_symbols for _, value in self._terms()))

    def _sympy_(self) -> Any:
        raise sympy.SympifyError(f"a multivector is not a SymPy expression; A.obj is one: {self}")

    def scalar(self) -> Any:
        """Return the coefficient of 1."""
        return sympy.sympify(self.inner.scalar_part())

    def get_grade(self, r: int) -> "Mv":
        """Return the part of grade r."""
        return self.wrap(self.inner.part((r,) if 0 <= r <= self.Ga.n else ()))

    grade = get_grade

    even = unary("even", "Return the part of even grades.")
    odd = unary("odd", "Return the part of odd grades.")

    def get_coefs(self, grade: int) -> list[Any]:
        """Return the coefficients of all blades of a grade, which the multivector has alone."""
        if self.inner.keys.size and self.grades != [grade]:
            raise fail("grade", "get_coefs", f"that of the multivector, {self.grades}", grade)
        return [sympy.sympify(value) for value in self.inner.grade(grade).values.tolist()]

    def blade_coefs(self, blade_lst: "Sequence[Mv] | None" = None) -> list[Any]:
        """Return the coefficients of basis blades, of those that are stored by default."""
        if blade_lst is None:
            return [value for _, value in self._terms()]
        values = dict(self._terms())
        for blade in blade_lst:
            if not blade.is_base():
                raise fail("blade_lst", "blade_coefs", "of basis blades", describe(f"{blade}"))
        return [values.get(int(blade.inner.keys.masks[0]), sympy.Integer(0)) for blade in blade_lst]

    def list(self) -> "list[Any]":
        """Return the coefficients of the basis vectors."""
        return [sympy.sympify(value) for value in self.inner.grade(1).values.tolist()]

    def components(self) -> Any:
        """Return the terms."""
        return [self.wrap(self.inner.select_keys(keys_of_masks(self.Ga.n, (mask,)))) for mask, _ in self._terms()]

    # ---- operators

    __add__ = __radd__ = binary("__add__")
    __sub__, __rsub__ = both("__sub__")
    __mul__, __rmul__ = both("gp")
    __xor__, __rxor__ = both("wedge")
    __or__, __ror__ = both("hestenes")
    __lt__ = binary("lc")
    __gt__ = binary("rc")
    __rshift__, __rrshift__ = both("commutator")
    __lshift__, __rlshift__ = both("anticommutator")

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Mv):
            return self * other.inv()
        return self * (1 / sympy.sympify(other)) if is_scalar(other) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return other * self.inv()

    def __pow__(self, exponent: int) -> "Mv":
        return self.wrap(self.inner**exponent)

    __neg__ = unary("__neg__", "Return -A.")

    def __pos__(self) -> "Mv":
        return self

    def __eq__(self, other: object) -> Any:
        if not (isinstance(other, Mv) or is_scalar(other)):
            return NotImplemented
        if isinstance(other, Mv) and other.Ga != self.Ga:
            return False
        return (self - other).is_zero()

    def __hash__(self) -> int:
        return hash(self.inner)

    def is_zero(self) -> bool:
        """Tell whether every coefficient simplifies to zero."""
        return all(simplifies_to_zero(value) for _, value in self._terms())

    def is_scalar(self) -> bool:
        """Tell whether the grade is 0."""
        return self.grades == [0]

    def is_vector(self) -> bool:
        """Tell whether the grade is 1."""
        return self.grades == [1]

    def is_base(self) -> bool:
        """Tell whether it is a basis blade, its coefficient 1."""
        return len(self._terms()) == 1 and bool(self._terms()[0][1] == 1)

    def is_blade(self) -> bool:
        """Tell whether it is a wedge of vectors, other than zero."""
        return bool(self.inner.is_blade())

    def is_versor(self) -> bool:
        """Tell whether it is a product of vectors that have inverses."""
        return bool(self.inner.keys.size and self.inner.is_versor())

    rev = __invert__ = unary("reverse", "Return the reverse.")
    g_invol = unary("involute", "Return the grade involution.")
    ccon = unary("conjugate", "Return the Clifford conjugate.")

    def dual(self) -> Any:
        """Return A I, galgebra's mode "I+", with its normalized pseudoscalar."""
        return self * self.Ga.I()

    def undual(self) -> Any:
        """Return what `dual` was taken of."""
        return self * self.Ga.I().inv()

    def inv(self) -> "Mv":
        """Return the inverse."""
        if self.is_scalar():
            return self.wrap(self.Ga.own.scalar(1 / self.scalar()))
        return self.wrap(self.inner.inv())

    hitzer_inverse = shirokov_inverse = inv

    def sp(self, B: Any, switch: str = "") -> Any:
        """Return ⟨A B⟩_0, or ⟨~A B⟩_0 with ``switch="rev"``."""
        if not isinstance(B, Mv):
            raise fail("B", "sp", "a multivector", B)
        left = {"": self, "rev": self.rev()}.get(switch)
        if left is None:
            raise fail("switch", "sp", '"" or "rev"', switch)
        return (left * B).scalar()

    def qform(self) -> Any:
        """Return ⟨~A A⟩_0."""
        return sympy.expand((self.rev() * self).scalar())

    def norm2(self, hint: str = "0") -> Any:
        """Return |⟨~A A⟩_0|, whose sign is "+" or "-" by hint, where the metric does not say it."""
        square = self.qform()
        if self.Ga.g.is_positive_definite or hint == "+" or square.is_nonnegative:
            return square
        return -square if hint == "-" or square.is_nonpositive else sympy.Abs(square)

    def norm(self, hint: str = "0") -> Any:
        """Return the square root of `norm2`."""
        root = sympy.sqrt(sympy.factor(self.norm2(hint)))
        return root if root.is_nonnegative else sympy.Abs(root)

    __abs__ = norm

    def mag2(self) -> Any:
        """Return the sum of `norm2` over the grades."""
        return sympy.Add(*(sympy.Abs(self.get_grade(k).norm2()) for k in range(self.Ga.n + 1)))

    def mag(self) -> Any:
        """Return the square root of `mag2`."""
        return sympy.sqrt(self.mag2())

    # ---- functions

    def exp(self, hint: str = "-") -> "Mv":
        """Return the exponential; ``hint`` is the sign of A² where nobody knows it: "-" gives cos and sin."""
        if self.is_scalar():
            return self.wrap(self.Ga.own.scalar(sympy.exp(self.scalar())))
        square = self * self
        if not square.is_scalar():
            return self.wrap(self.inner.exp())
        s = sympy.simplify(square.scalar())
        if s == 0:
            return self + 1
        sign = -1 if s.is_negative or (not s.is_positive and hint == "-") else 1
        size = positive_root(sign * s)  # of either sign: what follows is even in it
        cosine, sine = (sympy.cosh(size), sympy.sinh(size)) if sign > 0 else (sympy.cos(size), sympy.sin(size))
        return self * (sine / size) + cosine

    def project_in_blade(self, blade: "Mv") -> "Mv":
        """Return the projection on a blade that is not null."""
        return self.wrap(self.inner.project(blade.inner))

    def reflect_in_blade(self, blade: "Mv") -> "Mv":
        """Return the reflection in the subspace of a blade that is not null: vectors in it stay."""
        return self.wrap(self.inner.reflect(blade.inner, inside=True))

    def rotate_multivector(self, itheta: "Mv", hint: str = "-") -> Any:
        """Return R A ~R with R = exp(-itheta/2)."""
        return (-itheta / 2).exp(hint) * self * (itheta / 2).exp(hint)

    def func(self, fct: Callable[[Any], Any]) -> "Mv":
        """Return the multivector of fct of every coefficient."""
        return self.wrap(self.inner.simplify(fct))

    def simplify(self, modes: Any = sympy.simplify) -> "Mv":
        """Return the coefficients simplified, by one function or by several in turn."""
        return reduce(Mv.func, modes if isinstance(modes, list | tuple) else (modes,), self)

    def trigsimp(self) -> "Mv":
        """Return the coefficients simplified by `sympy.trigsimp`."""
        return self.func(sympy.trigsimp)

    def expand(self) -> "Mv":
        """Return the coefficients multiplied out."""
        return self.func(sympy.expand)

    def subs(self, *replacements: Any, **options: Any) -> "Mv":
        """Return the multivector after SymPy's ``subs``."""
        return self.func(lambda value: value.subs(*replacements, **options))

    def diff(self, coord: Any) -> "Mv":
        """Return the derivative by a coordinate, along which the basis vectors may turn."""
        chart, coords = self.Ga.chart, list(self.Ga.coords or ())
        if chart is not None and coord in coords:
            return self.wrap(chart.covariant(self.inner, coords.index(coord)))
        return self.func(lambda value: sympy.diff(value, coord))

    pdiff = diff

    # ---- text

    def __str__(self) -> str:
        pieces: list[str] = []
        for mask, value in self._terms():
            negative, size, compound = display.sign_and_size(value, repr)
            name = self.Ga.name_of(mask)
            if compound and (name or negative):
                size = f"({size})" if not size.startswith("(") or value.is_Add else size
            text = size if not name else name if size == "1" else f"{size}*{name}"
            pieces.append(((" - " if negative else " + ") if pieces else "-" if negative else "") + text)
        return "".join(pieces) or "0"

    __repr__ = __str__
