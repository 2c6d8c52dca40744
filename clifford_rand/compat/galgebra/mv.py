"""The class `Mv` of ``galgebra`` around a multivector of this library, and its functions of multivectors."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy  # type: ignore[import-untyped]

from clifford_rand._checks import describe, fail
from clifford_rand.basis.coefficients import is_scalar
from clifford_rand.basis.keys import keys_of_masks
from clifford_rand.functions.norms import expand
from clifford_rand.multivector import display
from clifford_rand.symbolic import each, positive_root

if TYPE_CHECKING:
    from clifford_rand.compat.galgebra.ga import Ga as Space
    from clifford_rand.multivector.multivector import Multivector

_KINDS = ("scalar", "vector", "bivector", "grade2", "pseudo", "mv", "even", "spinor", "odd", "grade")


def of(ga: "Space", inner: Any) -> "Mv":
    """Return the multivector around one of this library, its numbers SymPy's, multiplied out, without what is zero."""
    if inner.dtype != object:  # an integer would be divided as a floating number
        inner = inner.new(inner.keys, each(lambda value: value, inner.coefficients))
    made = object.__new__(Mv)
    made.Ga, made.inner, made.title = ga, expand(inner).sparse(), None
    return made


def _grades(n: int, kind: str, more: tuple[Any, ...]) -> tuple[int, ...]:
    if kind not in _KINDS:
        raise fail("kind", "Mv", f"a grade or one of {', '.join(_KINDS)}", kind)
    if len(more) != (kind == "grade"):
        raise TypeError(f"Mv takes {'the grade' if kind == 'grade' else 'nothing'} after {kind!r}. Got {more} instead.")
    if kind == "grade":
        return (int(more[0]),)
    whole = tuple(range(n + 1))
    known = {"scalar": (0,), "vector": (1,), "bivector": (2,), "grade2": (2,), "pseudo": (n,), "mv": whole}
    return known.get(kind) or (whole[1::2] if kind == "odd" else whole[0::2])


def _sum_of_blades(ga: "Space", value: Any) -> Any:
    """Return the multivector of this library of an expression that is linear in the symbols of blades."""
    found: dict[int, Any] = {}
    for term in sympy.Add.make_args(sympy.expand(sympy.sympify(value))):
        factors, blades = term.args_cnc()
        mask = 0 if not blades else ga.masks.get(str(blades[0]), -1)
        if len(blades) > 1 or mask < 0:
            raise fail("expr", "Mv", f"linear in the symbols of blades, {', '.join(list(ga.masks)[:4])}, …", value)
        found[mask] = found.get(mask, 0) + sympy.Mul(*factors)
    keys = keys_of_masks(ga.n, tuple(found))
    array = np.empty(keys.size, dtype=object)
    array[:] = [found[int(mask)] for mask in keys.masks]
    return ga.own.scalar(sympy.Integer(0)).new(keys, array)


def operand(ga: Any, other: Any, owner: str) -> "Multivector | None":
    """Return a multivector or number beside one of ``ga`` as one of this library; None if it is neither."""
    if isinstance(other, Mv):
        if other.Ga != ga:
            raise fail("other", owner, f"a multivector of {ga!r}", describe(f"one of {other.Ga!r}"))
        return other.inner
    return ga.own.scalar(other) if is_scalar(other) else None


def _binary(rule: Callable[[Any, Any], Any], reflected: bool = False) -> Any:
    def method(self: "Mv", other: Any) -> Any:
        second = operand(self.Ga, other, "Mv")
        if second is None:
            return NotImplemented
        return of(self.Ga, rule(second, self.inner) if reflected else rule(self.inner, second))

    return method


def _both(rule: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    return _binary(rule), _binary(rule, reflected=True)


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

    Ga: "Space"
    inner: Any
    title: str | None

    def __init__(self, *arguments: Any, ga: "Space", **options: Any) -> None:
        self.Ga, self.title = ga, None
        function = options.pop("f", None)
        options.pop("coords", None)
        if options:
            raise TypeError(f"Mv has no argument {', '.join(options)}")
        if not arguments:
            arguments = (0,)
        first, kind, more = arguments[0], arguments[1:2], arguments[2:]
        if not kind:
            if isinstance(first, Mv):
                self.inner = first.inner
            elif isinstance(first, str):
                raise TypeError(f"a name needs a kind, as in mv({first!r}, 'vector')")
            else:
                self.inner = of(ga, _sum_of_blades(ga, first)).inner
            return
        if isinstance(first, Mv):
            raise TypeError(f"a multivector has its kind. Got {kind[0]!r} beside it.")
        if isinstance(kind[0], int):
            grades: tuple[int, ...] = (kind[0],)
        elif isinstance(kind[0], str):
            grades = _grades(ga.n, kind[0], more)
        else:
            raise TypeError(f"a kind is text or a grade. Got {kind[0]!r} instead.")
        if isinstance(first, str):
            self.title = first
            keys = ga.own.scalar(0).algebra.keys_of(grades, "Mv", "grades")
            self.inner = ga.own.multivector(_named(ga, first, keys.masks, function), grades)
            return
        if function is not None:
            raise TypeError("coefficients are what they are: f is for names")
        values = [first] if grades == (0,) and not isinstance(first, list | tuple) else list(first)
        self.inner = of(
            ga, ga.own.multivector(np.array([sympy.sympify(v) for v in values], dtype=object), grades)
        ).inner

    # ---- what is stored

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
        raise sympy.SympifyError(f"a multivector is no SymPy expression; A.obj is one: {self}")

    def scalar(self) -> Any:
        """Return the coefficient of 1."""
        return sympy.sympify(self.inner.scalar_part())

    def get_grade(self, r: int) -> "Mv":
        """Return the part of grade r."""
        return of(self.Ga, self.inner.grade(*([r] if 0 <= r <= self.Ga.n else [])))

    grade = get_grade

    def even(self) -> "Mv":
        """Return the part of even grades."""
        return of(self.Ga, self.inner.even())

    def odd(self) -> "Mv":
        """Return the part of odd grades."""
        return of(self.Ga, self.inner.odd())

    def get_coefs(self, grade: int) -> list[Any]:
        """Return the coefficients of all blades of a grade, which the multivector has alone."""
        if self.inner.keys.size and self.grades != [grade]:
            raise fail("grade", "get_coefs", f"that of the multivector, {self.grades}", grade)
        return [sympy.sympify(value) for value in self.inner.grade(grade).values.tolist()]

    def blade_coefs(self, blade_lst: "Sequence[Mv] | None" = None) -> list[Any]:
        """Return the coefficients of basis blades, of those that are stored by default."""
        if blade_lst is None:
            return [value for _, value in self._terms()]
        found = []
        for blade in blade_lst:
            if not blade.is_base():
                raise fail("blade_lst", "blade_coefs", "of basis blades", describe(f"{blade}"))
            place = self.inner.keys.find(int(blade.inner.keys.masks[0])) if self.inner.keys.size else -1
            found.append(sympy.Integer(0) if place < 0 else sympy.sympify(self.inner.coefficients[place]))
        return found

    def list(self) -> "list[Any]":
        """Return the coefficients of the basis vectors."""
        return [sympy.sympify(value) for value in self.inner.grade(1).values.tolist()]

    def components(self) -> Any:
        """Return the terms."""
        own = self.inner.algebra
        return [
            of(self.Ga, v * own.scalar(1).new(keys_of_masks(own.d, (k,)), np.ones(1, dtype=np.int64)))
            for k, v in self._terms()
        ]

    # ---- operators

    __add__ = __radd__ = _binary(lambda a, b: a + b)
    __sub__, __rsub__ = _both(lambda a, b: a - b)
    __mul__, __rmul__ = _both(lambda a, b: a * b)
    __xor__, __rxor__ = _both(lambda a, b: a ^ b)
    __or__, __ror__ = _both(lambda a, b: a.hestenes(b))
    __lt__ = _binary(lambda a, b: a.lc(b))
    __gt__ = _binary(lambda a, b: a.rc(b))
    __rshift__, __rrshift__ = _both(lambda a, b: a.commutator(b))
    __lshift__, __rlshift__ = _both(lambda a, b: a.anticommutator(b))

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Mv):
            return self * other.inv()
        return self * (1 / sympy.sympify(other)) if is_scalar(other) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return other * self.inv()

    def __pow__(self, exponent: int) -> "Mv":
        return of(self.Ga, self.inner**exponent)

    def __neg__(self) -> "Mv":
        return of(self.Ga, -self.inner)

    def __pos__(self) -> "Mv":
        return self

    def __eq__(self, other: object) -> Any:
        if not (isinstance(other, Mv) or is_scalar(other)):
            return NotImplemented
        if isinstance(other, Mv) and other.Ga != self.Ga:
            return False
        return (self - other)._simplified_zero()

    def _simplified_zero(self) -> bool:
        return all(_is_zero(value) for _, value in self._terms())

    def __hash__(self) -> int:
        return hash(self.inner)

    def is_zero(self) -> bool:
        """Tell whether every coefficient simplifies to zero."""
        return self._simplified_zero()

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

    # ---- involutions, duals, inverses

    def rev(self) -> "Mv":
        """Return the reverse."""
        return of(self.Ga, ~self.inner)

    __invert__ = rev

    def g_invol(self) -> "Mv":
        """Return the grade involution."""
        return of(self.Ga, self.inner.involute())

    def ccon(self) -> "Mv":
        """Return the Clifford conjugate."""
        return of(self.Ga, self.inner.conjugate())

    def dual(self) -> Any:
        """Return A I, galgebra's mode "I+", with its normalized pseudoscalar."""
        return self * self.Ga.I()

    def undual(self) -> Any:
        """Return what `dual` was taken of."""
        return self * self.Ga.I().inv()

    def inv(self) -> "Mv":
        """Return the inverse."""
        if self.is_scalar():
            return of(self.Ga, self.Ga.own.scalar(1 / self.scalar()))
        return of(self.Ga, self.inner.inv())

    hitzer_inverse = shirokov_inverse = inv

    # ---- norms

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
        found = self.qform()
        if self.Ga.g.is_positive_definite or hint == "+" or found.is_nonnegative:
            return found
        return -found if hint == "-" or found.is_nonpositive else sympy.Abs(found)

    def norm(self, hint: str = "0") -> Any:
        """Return the square root of `norm2`."""
        root = sympy.sqrt(sympy.factor(self.norm2(hint)))
        return root if root.is_nonnegative else sympy.Abs(root)

    __abs__ = norm

    def mag2(self) -> Any:
        """Return the sum of `norm2` over the grades."""
        return sum((sympy.Abs(self.get_grade(k).norm2()) for k in range(self.Ga.n + 1)), sympy.Integer(0))

    def mag(self) -> Any:
        """Return the square root of `mag2`."""
        return sympy.sqrt(self.mag2())

    # ---- functions

    def exp(self, hint: str = "-") -> "Mv":
        """Return the exponential; ``hint`` is the sign of A² where nobody knows it: "-" gives cos and sin."""
        if self.is_scalar():
            return of(self.Ga, self.Ga.own.scalar(sympy.exp(self.scalar())))
        square = self * self
        if not square.is_scalar():
            return of(self.Ga, self.inner.exp())
        s = sympy.simplify(square.scalar())
        if s == 0:
            return self + 1
        sign = -1 if s.is_negative or (not s.is_positive and hint == "-") else 1
        size = positive_root(sign * s)  # of either sign: what follows is even in it
        cosine, sine = (sympy.cosh(size), sympy.sinh(size)) if sign > 0 else (sympy.cos(size), sympy.sin(size))
        return self * (sine / size) + cosine

    def project_in_blade(self, blade: "Mv") -> "Mv":
        """Return the projection on a blade that is not null."""
        return of(self.Ga, self.inner.project(blade._invertible("project_in_blade").inner))

    def reflect_in_blade(self, blade: "Mv") -> "Mv":
        """Return the reflection in the subspace of a blade that is not null: vectors in it stay."""
        return of(self.Ga, self.inner.reflect(blade._invertible("reflect_in_blade").inner, inside=True))

    def _invertible(self, owner: str) -> "Mv":
        if not self.is_blade():
            raise fail("blade", owner, "a blade", describe(f"{self}"))
        if _is_zero(self.qform()):
            raise fail("blade", owner, "a blade that has an inverse", describe(f"{self}, a null blade"))
        return self

    def rotate_multivector(self, itheta: "Mv", hint: str = "-") -> Any:
        """Return R A ~R with R = exp(-itheta/2)."""
        return (-itheta / 2).exp(hint) * self * (itheta / 2).exp(hint)

    def func(self, fct: Callable[[Any], Any]) -> "Mv":
        """Return the multivector of fct of every coefficient."""
        return of(self.Ga, self.inner.simplify(fct))

    def simplify(self, modes: Any = sympy.simplify) -> "Mv":
        """Return the coefficients simplified, by one function or by several in turn."""
        made = self
        for mode in modes if isinstance(modes, list | tuple) else (modes,):
            made = made.func(mode)
        return made

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
        chart, known = self.Ga.chart, list(self.Ga.coords or ())
        if chart is not None and coord in known:
            return of(self.Ga, chart.covariant(self.inner, known.index(coord)))
        return self.func(lambda value: sympy.diff(value, coord))

    def pdiff(self, var: Any) -> "Mv":
        """Return `diff`."""
        return self.diff(var)

    # ---- what it looks like

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


def _is_zero(value: Any) -> bool:
    expanded = sympy.expand(value)
    if expanded == 0:
        return True
    if expanded.is_number or expanded.is_polynomial(*expanded.free_symbols):
        return bool(sympy.simplify(expanded) == 0) if expanded.is_number else False
    together = sympy.cancel(sympy.together(expanded))
    return bool(together == 0 or sympy.simplify(together) == 0)


def _named(ga: "Space", name: str, masks: Any, function: Any) -> Any:
    """Return a symbol for each blade, or a function of coordinates: ``A__xy``."""
    names = [name + (f"__{ga.index_of(int(mask))}" if mask else "") for mask in masks]
    array = np.empty(len(names), dtype=object)
    if not function:
        array[:] = [sympy.Symbol(one, real=True) for one in names]
        return array
    arguments = ga.coords if function is True else tuple(function)
    if not arguments:
        raise fail("f", "Mv", "beside coordinates of the algebra, or those of the function", function)
    array[:] = [sympy.Function(one, real=True)(*arguments) for one in names]
    return array


# ---- functions of multivectors


def _checked(A: Any, owner: str) -> "Mv":
    if not isinstance(A, Mv):
        raise fail("A", owner, "a multivector", A)
    return A


def _function(name: str) -> Callable[..., Any]:
    def function(A: Any, *arguments: Any, **keywords: Any) -> Any:
        return getattr(_checked(A, name), name)(*arguments, **keywords)

    function.__name__, function.__doc__ = name, f"Return ``A.{name}(…)``."
    return function


even, odd, rev, ccon, g_invol = map(_function, ("even", "odd", "rev", "ccon", "g_invol"))
inv, hitzer_inverse, shirokov_inverse = map(_function, ("inv", "hitzer_inverse", "shirokov_inverse"))
dual, undual, scalar = map(_function, ("dual", "undual", "scalar"))
sp = _function("sp")
qform, norm, norm2, mag, mag2 = map(_function, ("qform", "norm", "norm2", "mag", "mag2"))


def grade(A: Any, r: int = 0) -> Mv:
    """Return the part of grade r."""
    return _checked(A, "grade").get_grade(r)


def exp(A: Any, hint: str = "-") -> Any:
    """Return the exponential of a multivector or of an expression."""
    return A.exp(hint) if isinstance(A, Mv) else sympy.exp(A)


def proj(B: Mv, A: Mv) -> Mv:
    """Return the projection of A on the blade B."""
    return _checked(A, "proj").project_in_blade(B)


def refl(B: Mv, A: Mv) -> Mv:
    """Return the reflection of A in the blade B."""
    return _checked(A, "refl").reflect_in_blade(B)


def rot(itheta: Mv, A: Mv, hint: str = "-") -> Any:
    """Return A rotated by the bivector itheta."""
    return _checked(A, "rot").rotate_multivector(itheta, hint)


def com(A: Mv, B: Mv) -> Any:
    """Return the commutator (AB - BA)/2."""
    return A >> B


def cross(v1: Mv, v2: Mv) -> Any:
    """Return -I (v1 ∧ v2), the cross product of two vectors of Euclidean space."""
    return -v1.Ga.I() * (v1 ^ v2)


def Nga(A: Any, prec: int = 5) -> Any:
    """Return the numbers among the coefficients to so many digits."""
    return A.func(lambda value: value.evalf(prec)) if isinstance(A, Mv) else sympy.sympify(A).evalf(prec)


def __getattr__(name: str) -> Any:
    if name != "Dop":  # which needs this module, and galgebra has it here
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from clifford_rand.compat.galgebra.dop import Dop

    return Dop
