"""Linear maps of vectors by galgebra's names, around `clifford_rand.LinearMap`."""

import itertools
import operator
from collections.abc import Callable
from functools import partialmethod
from typing import Any

import numpy as np
import sympy as sp  # type: ignore[import-untyped]

from clifford_rand._checks import describe, fail
from clifford_rand.calculus.linear_map import LinearMap
from clifford_rand.compat.galgebra.multivector import Mv, of


class Lt:
    """A linear map of vectors, extended to all multivectors as an outermorphism.

    Parameters
    ----------
    source : list of vectors, list of lists, Matrix, function, rotor or str
        The images of the basis vectors, as vectors or as lists of components; the matrix whose columns they are; a
        linear function of vectors; a versor V for V x V⁻¹; or a name for a matrix of symbols.
    ga : Ga
    mode : {"g", "s", "a"}, default="g"
        Of symbols: any, a symmetric or a skew matrix.
    f : bool, default=False
        Of symbols: functions of the coordinates.

    Examples
    --------
    >>> from clifford_rand.compat.galgebra.ga import Ga
    >>> ga, a, b = Ga.build("a b", g=[1, 1])
    >>> L = ga.lt([a + b, 2 * a - b])
    >>> L.matrix(), L(a ^ b), L.det()
    (Matrix([
    [1,  2],
    [1, -1]]), -3*a^b, -3)
    """

    def __init__(self, source: Any, *, ga: Any, mode: str = "g", f: bool = False) -> None:
        self.Ga = ga
        if isinstance(source, LinearMap):
            self.map = source
        elif isinstance(source, str):
            self.map = LinearMap(ga.own, _symbols(ga, source, mode, f))
        elif isinstance(source, Mv):
            self.map = LinearMap.from_versor(source.inner)
        elif callable(source):
            self.map = LinearMap(ga.own, _matrix([_image(source, vector) for vector in ga.mv()]))
            _check_linear(self, source)
        elif isinstance(source, sp.MatrixBase):
            self.map = LinearMap(ga.own, np.array(source.tolist(), dtype=object))
        elif all(isinstance(image, Mv) for image in source):
            self.map = LinearMap(ga.own, _matrix(list(source)))
        else:
            self.map = LinearMap(ga.own, np.array(sp.Matrix(source).T.tolist(), dtype=object))

    def __call__(self, A: Any) -> Mv:
        """Return the image."""
        return of(self.Ga, self.map(A.inner if isinstance(A, Mv) else self.Ga.own.scalar(A)))

    def matrix(self) -> Any:
        """Return the matrix, whose columns are the images of the basis vectors."""
        return sp.Matrix(self.map.matrix.tolist())

    def det(self) -> Any:
        """Return the determinant."""
        return sp.sympify(self.map.det())

    def tr(self) -> Any:
        """Return the trace."""
        return sp.sympify(self.map.trace())

    def adj(self) -> "Lt":
        """Return the adjoint: a · adj(b) = L(a) · b."""
        return Lt(self.map.adjoint(), ga=self.Ga)

    def inv(self) -> "Lt":
        """Return the inverse."""
        return Lt(self.map.inv(), ga=self.Ga)

    def __add__(self, other: "Lt") -> "Lt":
        return Lt(self.map + other.map, ga=self.Ga)

    def __sub__(self, other: "Lt") -> "Lt":
        return Lt(self.map - other.map, ga=self.Ga)

    def __mul__(self, other: Any) -> "Lt":
        product = self.map @ other.map if isinstance(other, Lt) else self.map * other
        return Lt(product, ga=self.Ga)

    def __rmul__(self, factor: Any) -> "Lt":
        return Lt(self.map * factor, ga=self.Ga)

    def __neg__(self) -> "Lt":
        return Lt(-self.map, ga=self.Ga)

    def __str__(self) -> str:
        return "\n".join(f"Lt({vector}) = {self(vector)}" for vector in self.Ga.mv())

    __repr__ = __str__


def det(L: Lt) -> Any:
    """Return the determinant."""
    return L.det()


def _image(function: Any, vector: Any) -> Mv:
    image = function(vector)
    if not isinstance(image, Mv) or (image.inner.keys.size and image.grades != [1]):
        raise fail("source", "Lt", "a linear function whose values are vectors", describe(f"{image}"))
    return image


def _matrix(images: "list[Mv]") -> Any:
    return np.array([image.list() for image in images], dtype=object).T


def _check_linear(L: Lt, function: Any) -> None:
    x = L.Ga.mv("x_", "vector")
    if function(x) != L(x):
        raise fail("source", "Lt", "a linear function", describe(f"one with another value than the sum at {x}"))


def _symbols(ga: Any, name: str, mode: str, f: bool) -> Any:
    if mode not in ("g", "s", "a"):
        raise fail("mode", "Lt", '"g", "s" or "a"', mode)
    matrix = np.empty((ga.n, ga.n), dtype=object)
    for i in range(ga.n):
        for j in range(ga.n):
            low, high = (i, j) if mode == "g" or i <= j else (j, i)
            text = f"{name}_{ga.index_of(1 << low)}{ga.index_of(1 << high)}"
            entry = sp.Function(text, real=True)(*(ga.coords or ())) if f else sp.Symbol(text, real=True)
            matrix[i, j] = entry if mode != "a" or i < j else -entry if j < i else sp.Integer(0)
    return matrix


class Mlt:
    """A multilinear function of vectors: f(a, b, …) for a function, Σ T_ij… a^i b^j … for a name.

    Parameters
    ----------
    source : function, str or expression
        The function; the name of the symbols of its components; or an expression in the `slots`.
    ga : Ga
    nargs : int, optional
        The number of arguments, which a function knows itself.

    Examples
    --------
    >>> from clifford_rand.compat.galgebra.ga import Ga
    >>> from clifford_rand.compat.galgebra.lt import Mlt
    >>> ga, a, b = Ga.build("a b", g=[1, 1])
    >>> T = Mlt(lambda x, y: x ^ y, ga)
    >>> T(a, b), (T * T)(a, b, a, b), Mlt("S", ga, nargs=2)(a, 2 * b)
    (a^b, -1, 2*S_12)
    """

    def __init__(self, source: Any, ga: Any, nargs: int | None = None) -> None:
        self.Ga = ga
        self.fvalue: Any = None
        if callable(source):
            self.function, self.nargs = source, source.__code__.co_argcount if nargs is None else nargs
            return
        if nargs is None:
            raise TypeError("the number of arguments, nargs, is needed beside a name or an expression")
        self.nargs = nargs
        self.fvalue = _components(ga, source, nargs) if isinstance(source, str) else sp.sympify(source)
        self.function = self._by_components

    @staticmethod
    def slots(ga: Any, nargs: int) -> "list[list[Any]]":
        """Return the symbols that stand for the components of each argument."""
        return [[sp.Symbol(f"slot{k}_{ga.index_of(1 << i)}", real=True) for i in range(ga.n)] for k in range(nargs)]

    def _by_components(self, *vectors: Mv) -> Mv:
        pairs = zip(self.slots(self.Ga, self.nargs), vectors, strict=True)
        values = {slot: value for slots, vector in pairs for slot, value in zip(slots, vector.list(), strict=True)}
        return Mv(self.fvalue.subs(values, simultaneous=True), ga=self.Ga)

    def __call__(self, *vectors: Any) -> Any:
        """Return the value."""
        if len(vectors) != self.nargs:
            raise TypeError(f"{self.nargs} vectors are needed. Got {len(vectors)} instead.")
        return self.function(*vectors)

    def _sum(self, other: "Mlt", sign: int) -> "Mlt":
        if other.nargs != self.nargs:
            raise fail("other", "Mlt", f"of {self.nargs} arguments", other.nargs)
        return Mlt(lambda *x: self(*x) + sign * other(*x), self.Ga, self.nargs)

    def _product(self, other: "Mlt", product: Callable[[Any, Any], Any]) -> "Mlt":
        """Return the product, whose arguments are those of the first factor, then those of the second."""
        k = self.nargs
        return Mlt(lambda *x: product(self(*x[:k]), other(*x[k:])), self.Ga, k + other.nargs)

    __add__ = partialmethod(_sum, sign=1)
    __sub__ = partialmethod(_sum, sign=-1)
    __mul__ = partialmethod(_product, product=operator.mul)
    __xor__ = partialmethod(_product, product=operator.xor)
    __or__ = partialmethod(_product, product=operator.or_)


def _components(ga: Any, name: str, nargs: int) -> Any:
    total = sp.Integer(0)
    slots = Mlt.slots(ga, nargs)
    for places in itertools.product(range(ga.n), repeat=nargs):
        component = sp.Symbol(f"{name}_{''.join(ga.index_of(1 << i) for i in places)}", real=True)
        total += component * sp.Mul(*(slots[k][i] for k, i in enumerate(places)))
    return total
