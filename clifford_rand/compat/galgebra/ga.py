"""The class `Ga` of ``galgebra``: an algebra by names of basis vectors, a metric with symbols, and coordinates."""

import itertools
import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp  # type: ignore[import-untyped]

from clifford_rand._checks import fail
from clifford_rand._threads import cached_property
from clifford_rand.algebra import Algebra
from clifford_rand.basis.keys import keys_of_masks
from clifford_rand.basis.rules import bits_of
from clifford_rand.calculus.coordinates import Coordinates
from clifford_rand.compat.galgebra.dop import Dop, Pdop, Sdop, operator_of
from clifford_rand.compat.galgebra.lt import Lt
from clifford_rand.compat.galgebra.multivector import Mv, of

_KINDS = ("scalar", "vector", "bivector", "grade2", "pseudo", "mv", "even", "spinor", "odd", "grade")


def _names(text: str, coords: Sequence[Any] | None) -> list[str]:
    """Return the names of basis vectors: of ``e*x|y|z``, of ``a b c``, or of ``e`` with coordinates."""
    root, star, indices = text.partition("*")
    if star:
        return [f"{root}_{index}" for index in indices.split("|")]
    listed = text.replace(",", " ").split()
    if len(listed) == 1 and coords is not None and len(coords) > 1:
        return [f"{text}_{coord}" for coord in coords]
    return listed


def _symbolic(names: Sequence[str], rows: Sequence[Sequence[Any]] | None) -> Any:
    """Return a metric whose entries are numbers or expressions where they are given, else the symbols (a.b)."""
    d = len(names)
    entries = sp.zeros(d, d)
    for i, j in itertools.combinations_with_replacement(range(d), 2):
        entry = "#" if rows is None else rows[i][j]
        free = isinstance(entry, str) and entry == "#"
        entries[i, j] = sp.Symbol(f"({names[i]}.{names[j]})", real=True) if free else sp.sympify(entry)
        entries[j, i] = entries[i, j]
    return entries


def _metric(names: Sequence[str], g: Any) -> Any:
    if isinstance(g, str):
        rows = [row.split() for row in g.split(",")]
        return _symbolic(names, [[0] * i + row if len(row) < len(names) else row for i, row in enumerate(rows)])
    if g is None:
        return _symbolic(names, None)
    if isinstance(g, sp.MatrixBase):
        return sp.Matrix(g)
    listed = list(g)
    return sp.Matrix(listed) if isinstance(listed[0], list | tuple) else sp.diag(*listed)


def _grades(n: int, kind: str, more: tuple[Any, ...]) -> tuple[int, ...]:
    if kind not in _KINDS:
        raise fail("kind", "Mv", f"a grade or one of {', '.join(_KINDS)}", kind)
    if len(more) != (kind == "grade"):
        raise TypeError(f"Mv takes {'the grade' if kind == 'grade' else 'nothing'} after {kind!r}. Got {more} instead.")
    if kind == "grade":
        return (int(more[0]),)
    whole = tuple(range(n + 1))
    grades_of = {"scalar": (0,), "vector": (1,), "bivector": (2,), "grade2": (2,), "pseudo": (n,), "mv": whole}
    return grades_of.get(kind) or (whole[1::2] if kind == "odd" else whole[0::2])


class Ga:
    """An algebra with symbolic coefficients, as ``galgebra`` has it.

    Parameters
    ----------
    bases : str
        ``"e*x|y|z"`` for e_x, e_y, e_z; ``"a b c"``; or ``"e"`` with coordinates.
    g : optional
        The squares, a matrix, or text with rows apart by commas, ``#`` being a symbol; by default all are, ``(a.b)``.
    coords : sequence of symbols, optional
        What multivector functions (``f=True``) depend on, and `grad` differentiates by.
    X : sequence of expressions, optional
        The point of the coordinates in a Euclidean space: the metric follows.
    norm : bool, default=False
        Basis vectors of length 1.

    Attributes
    ----------
    own : Algebra
        The algebra of this library.
    basis : list of Symbol
        Non-commutative symbols of the basis vectors.
    g : Matrix
        Their inner products.

    Examples
    --------
    >>> from clifford_rand.compat.galgebra.ga import Ga
    >>> ga, a, b, c = Ga.build("a b c")
    >>> a | (b ^ c)
    -(a.c)*b + (a.b)*c
    >>> ga.mv("F", "spinor")
    F + F__12*a^b + F__13*a^c + F__23*b^c
    """

    def __init__(
        self, bases: str, *, g: Any = None, coords: Sequence[Any] | None = None, X: Any = None, norm: bool = False
    ) -> None:
        names = _names(bases, coords)
        self.names, self.n = names, len(names)
        self.coords = None if coords is None else tuple(coords)
        self.basis = [sp.Symbol(name, commutative=False) for name in names]
        self.chart: Coordinates | None = None
        if self.coords is not None:
            frame = "unit" if norm else "coordinate"
            plain = [f"v{i}" for i in range(self.n)]
            if X is not None:
                self.chart = Coordinates(self.coords, position=list(X), frame=frame, names=plain)
            else:
                entries = _metric(names, g)
                if not entries.det().equals(0):
                    self.chart = Coordinates(self.coords, metric=entries.tolist(), frame=frame, names=plain)
        self.own = Algebra(metric=_metric(names, g).tolist()) if self.chart is None else self.chart.algebra
        self.g = sp.Matrix(self.own.metric.tolist())

    @staticmethod
    def build(*arguments: Any, **keywords: Any) -> tuple[Any, ...]:
        """Return (algebra, basis vector, …)."""
        ga = Ga(*arguments, **keywords)
        return (ga, *ga.mv())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ga) and (self.names, self.coords, self.own) == (other.names, other.coords, other.own)

    def __hash__(self) -> int:
        return hash((tuple(self.names), self.own))

    def __repr__(self) -> str:
        return f"Ga({' '.join(self.names)!r}, g={self.g.tolist()})"

    # ---- names

    def name_of(self, mask: int) -> str:
        """Return the name of a blade, ``e_x^e_y``."""
        return "^".join(self.names[i] for i in bits_of(mask))

    @cached_property
    def masks(self) -> dict[str, int]:
        """The masks of all blades by name."""
        return {self.name_of(mask): mask for mask in range(1, 2**self.n)}

    def index_of(self, mask: int) -> str:
        """Return the suffix of the coefficient of a blade after the name of its multivector, ``xy``."""
        if self.coords is not None:
            parts = [str(coord) for coord in self.coords]
        elif all("_" in name for name in self.names):
            parts = [re.split("_", name, maxsplit=1)[1] for name in self.names]
        else:
            parts = [str(i + 1) for i in range(self.n)]
        return "".join(parts[i] for i in bits_of(mask))

    # ---- multivectors

    def mv(self, root: Any = None, *arguments: Any, **keywords: Any) -> Any:
        """Return the basis vectors, or a multivector: `Mv` says of what; several names at once give several."""
        if root is None:
            return tuple(of(self, vector) for vector in self.own.basis_vectors())
        if isinstance(root, str) and " " in root:
            kinds = arguments[0].split(" ") if " " in str(arguments[0]) else [arguments[0]] * len(root.split(" "))
            return tuple(
                Mv(name, kind, *arguments[1:], ga=self, **keywords)
                for name, kind in zip(root.split(" "), kinds, strict=True)
            )
        return Mv(root, *arguments, ga=self, **keywords)

    def of_kind(self, first: Any, kind: Any, more: tuple[Any, ...], function: Any) -> Any:
        """Return the multivector of this library of a name or of coefficients, on the grades of a kind."""
        if isinstance(kind, int):
            grades: tuple[int, ...] = (kind,)
        elif isinstance(kind, str):
            grades = _grades(self.n, kind, more)
        else:
            raise TypeError(f"a kind is text or a grade. Got {kind!r} instead.")
        if isinstance(first, str):
            masks = self.own.keys_of(grades, "Mv", "grades").masks
            return self.own.multivector(self._named(first, masks, function), grades)
        if function is not None:
            raise TypeError("coefficients are what they are: f is for names")
        values = [first] if grades == (0,) and not isinstance(first, list | tuple) else list(first)
        return self.own.multivector(np.array([sp.sympify(v) for v in values], dtype=object), grades)

    def _named(self, name: str, masks: Any, function: Any) -> Any:
        """Return a symbol for each blade, or a function of coordinates: ``A__xy``."""
        names = [name + (f"__{self.index_of(int(mask))}" if mask else "") for mask in masks]
        array = np.empty(len(names), dtype=object)
        if not function:
            array[:] = [sp.Symbol(symbol, real=True) for symbol in names]
            return array
        arguments = self.coords if function is True else tuple(function)
        if not arguments:
            raise fail("f", "Mv", "beside coordinates of the algebra, or those of the function", function)
        array[:] = [sp.Function(symbol, real=True)(*arguments) for symbol in names]
        return array

    def sum_of_blades(self, value: Any) -> Any:
        """Return the multivector of this library of an expression that is linear in the symbols of blades."""
        if isinstance(value, str):
            raise TypeError(f"a name needs a kind, as in mv({value!r}, 'vector')")
        sums: dict[int, Any] = {}
        for term in sp.Add.make_args(sp.expand(sp.sympify(value))):
            factors, blades = term.args_cnc()
            mask = 0 if not blades else self.masks.get(str(blades[0]), -1)
            if len(blades) > 1 or mask < 0:
                shown = ", ".join(list(self.masks)[:4])
                raise fail("expr", "Mv", f"linear in the symbols of blades, {shown}, …", value)
            sums[mask] = sums.get(mask, 0) + sp.Mul(*factors)
        keys = keys_of_masks(self.n, tuple(sums))
        array = np.empty(keys.size, dtype=object)
        array[:] = [sums[int(mask)] for mask in keys.masks]
        return self.own.scalar(sp.Integer(0)).new(keys, array)

    def E(self) -> Mv:
        """Return the wedge of the basis vectors."""
        return of(self, self.own.I)

    def I(self) -> Mv:  # noqa: E743  # galgebra's name
        """Return the pseudoscalar over √|E²|; over √(-E²) where its sign is not known."""
        square = sp.sympify((self.own.I * self.own.I).scalar_part())
        size = sp.sqrt(sp.Abs(square) if square.is_number else -square)
        return of(self, self.own.I) / size

    @property
    def mv_I(self) -> Mv:
        """`E`, of which galgebra warns."""
        warnings.warn("ga.mv_I is deprecated: use ga.E().", DeprecationWarning, stacklevel=2)
        return self.E()

    @property
    def mv_x(self) -> Mv:
        """A vector with undefined coefficients, of which galgebra warns."""
        warnings.warn("ga.mv_x is deprecated: use ga.mv(…).", DeprecationWarning, stacklevel=2)
        return Mv("XxXx", "vector", ga=self)

    def mvr(self, norm: bool = True) -> tuple[Mv, ...]:
        """Return the reciprocal vectors, e_i · e^j = δ_ij; with ``norm=False`` times E² for oblique ones."""
        plain = norm or self.own.form.diagonal is not None
        factor = 1 if plain else (self.own.I * self.own.I).scalar_part()
        vectors = [e.inner for e in self.mv()]  # exact, as those of the algebra are integers
        return tuple(of(self, vector) * factor for vector in self.own.reciprocal_frame(vectors))

    @staticmethod
    def com(A: Mv, B: Mv) -> Any:
        """Return the commutator (AB - BA)/2."""
        return A >> B

    # ---- calculus

    def needed_chart(self, what: str) -> Coordinates:
        """Return the coordinates, or say that ``what`` needs them."""
        if self.chart is None:
            raise fail("coords", "Ga", f"given, and the metric not degenerate, for {what}", self.coords)
        return self.chart

    @property
    def grad(self) -> Dop:
        """The vector derivative, which acts on its right."""
        return operator_of(self, self.needed_chart("grad").grad, leftward=False)

    @property
    def rgrad(self) -> Dop:
        """The vector derivative that acts on its left."""
        return operator_of(self, self.needed_chart("grad").grad, leftward=True)

    def dop(self, *arguments: Any, **options: Any) -> Dop:
        """Return `dop.Dop` of pairs of a multivector and a `Pdop`."""
        return Dop(*arguments, ga=self, **options)

    sdop, pdop = Sdop, Pdop

    @property
    def grads(self) -> tuple[Dop, Dop]:
        """`grad` and `rgrad`."""
        return self.grad, self.rgrad

    def lt(self, source: Any, **options: Any) -> Lt:
        """Return a linear map of vectors: see `lt.Lt`."""
        return Lt(source, ga=self, **options)
