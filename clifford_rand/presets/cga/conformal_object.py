"""The class `ConformalObject`: blades by kind, center, radius and direction; points n_o + X + X² n_∞/2; the meet."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._typing import ArrayLike
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import is_tensor, namespace, values_of
from clifford_rand.fusion.specialization import specialized
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga.parts import (
    DROP,
    FLAT,
    FREE,
    ROUND,
    TANGENT,
    as_dual,
    assemble,
    from_parts,
    is_dual,
    model_of,
    parts_of,
    squared,
)
from clifford_rand.presets.inputs import (
    blade_of,
    coordinates_of,
    directions_of,
    halved,
    largest,
    of_algebra,
    refuse_tensors,
    root,
    tolerance,
    unit_scale,
    with_floats,
)


@dataclass(frozen=True, eq=False)
class ConformalObject:
    """Conformal blades by their parameters, each field an array over the batch. Made by `classify` and `intersect`.

    Attributes
    ----------
    algebra : Algebra
    grade : int
        Of the direct blade.
    kind : str
        "round", "tangent", "flat", "free" or "dual flat".
    direction : Multivector
        Unit blades E of Algebra(n): what a round or flat extends along, its orientation included; the normals of a dual
        flat. A point has the scalar ±1.
    location : ndarray (..., n)
        Centers of rounds and tangents; of flats (and the flats that dual flats are duals of) the point nearest to the
        origin; nan for free blades.
    radius_squared : float
        Negative for imaginary rounds, 0 for tangents, nan for all others.
    weight : float
        Positive.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> X = cga.classify(cga.sphere(alg, [1, 2, 3], 4))
    >>> str(X.kind), str(X.name), X.location.round(12).tolist(), float(X.radius_squared.round(9))
    ('round', 'sphere', [1.0, 2.0, 3.0], 16.0)
    >>> X.shape, int(X.dimension), float(X.radius.round(9))
    ((), 3, 4.0)
    >>> X.blade().isclose(cga.sphere(alg, [1, 2, 3], 4))
    True
    """

    algebra: Algebra
    grade: Any
    kind: Any
    direction: Multivector
    location: NDArray[Any]
    radius_squared: Any
    weight: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the batch.

        Examples
        --------
        >>> cga.classify(cga.sphere(cr.Algebra.cga(3), [[1, 2, 3], [4, 5, 6]], 1)).shape
        (2,)
        """
        return np.shape(self.kind)

    @property
    def dimension(self) -> Any:
        """The dimensions of the directions: 1 for lines and point pairs, 2 for planes and circles.

        Examples
        --------
        >>> int(cga.classify(cga.circle(cr.Algebra.cga(3), [1, 2, 3], 4, [0, 0, 1])).dimension)
        2
        """
        drop: Any = sum(less * (np.asanyarray(self.kind) == kind).astype(np.int64) for kind, less in DROP.items())
        return (self.grade - drop)[()]

    @property
    def radius(self) -> Any:
        """The radii; nan for imaginary rounds and for what has none.

        Examples
        --------
        >>> float(cga.classify(cga.sphere(cr.Algebra.cga(3), [1, 2, 3], 4)).radius.round(9))
        4.0
        """
        square = self.radius_squared
        if not is_tensor(square) and np.asanyarray(square).dtype == object:
            return root(square)[()]
        xp = namespace(square) if is_tensor(square) else np
        return xp.sqrt(xp.where(square >= 0, square, np.nan))[()]

    def is_imaginary(self) -> Any:
        """Where rounds have a negative radius²: no point lies on them.

        Examples
        --------
        >>> far = cga.sphere(cr.Algebra.cga(3), [[0, 0, 0], [5, 0, 0]], 1)
        >>> bool(cga.intersect(far[0], far[1]).is_imaginary())
        True
        """
        square = values_of(self.radius_squared)
        if square.dtype == object:  # of symbols where SymPy knows it
            signs = [bool(x.is_negative) if hasattr(x, "is_negative") else x < 0 for x in square.ravel().tolist()]
            return np.array(signs).reshape(square.shape)[()]
        return np.asanyarray(np.nan_to_num(square) < 0)[()]

    @property
    def has_points(self) -> Any:
        """Where finite points lie on the blade: flats, tangents, and real rounds but vectors other than points.

        Examples
        --------
        >>> alg = cr.Algebra.cga(3)
        >>> [bool(cga.classify(P).has_points) for P in (cga.infinity(alg), cga.up(alg, [1, 2, 3]))]
        [False, True]
        """
        kind, grade = np.asanyarray(self.kind), np.asanyarray(self.grade)
        real_round = (kind == ROUND) & (grade > 1) & ~np.asanyarray(self.is_imaginary())
        return np.asanyarray(np.isin(kind, (FLAT, TANGENT)) | real_round)[()]

    @property
    def name(self) -> Any:
        """The usual names: "circle", "imaginary sphere", "line", "flat point", "tangent", "infinity" and so on.

        Examples
        --------
        >>> str(cga.classify(cga.line(cr.Algebra.cga(3), [1, 2, 3], direction=[0, 0, 1])).name)
        'line'
        """
        return np.vectorize(_name, otypes=[str])(self.kind, self.grade, self.dimension, self.is_imaginary())[()]

    def directions(self) -> NDArray[Any]:
        """Return orthonormal rows (..., m, n) that span the directions, which must be of one dimension m.

        Examples
        --------
        >>> abs(cga.classify(cga.line(cr.Algebra.cga(3), [1, 2, 3], direction=[0, 0, 2])).directions()).tolist()
        [[0.0, 0.0, 1.0]]
        """
        refuse_tensors(self.direction, "self", "directions")
        E = with_floats(self.direction, "self", "directions")
        n, dimensions = self.algebra.d - 2, np.unique(self.dimension).tolist()
        if len(dimensions) != 1:
            raise fail("self", "directions", "of blades of one dimension", describe(f"dimensions {dimensions}"))
        return directions_of(E, n, dimensions[0])

    def blade(self, *, dual: bool = False) -> Multivector:
        """Return the blades again, with their weights; batches of several grades have all of them.

        Examples
        --------
        >>> X = -3 * cga.circle(cr.Algebra.cga(3), [1, 2, 3], 4, [0, 0, 1])
        >>> cga.classify(X).blade().isclose(X), cga.classify(X).blade(dual=True).isclose(X.dual())
        (True, True)
        """
        refuse_tensors(self.direction, "self", "blade")
        return as_dual(assemble(self, self.algebra), dual)

    def __getitem__(self, item: Any) -> "ConformalObject":
        fields = (self.grade, self.kind, self.radius_squared, self.weight)
        grade, kind, square, weight = ((x if is_tensor(x) else np.asanyarray(x))[item] for x in fields)
        return ConformalObject(self.algebra, grade, kind, self.direction[item], self.location[item], square, weight)

    def __repr__(self) -> str:
        if self.shape:
            names, counts = np.unique(self.name, return_counts=True)
            inside = ", ".join(f"{count} × {name}" for name, count in zip(names, counts, strict=True))
            return f"ConformalObject({inside}, shape={self.shape})"
        E, location, square = self.direction, values_of(self.location), values_of(self.radius_squared)
        E = cast(Any, E).to_numpy() if is_tensor(E.coefficients) else E
        if location.dtype == object:
            known = {"direction": E.sparse(), "location": location.tolist(), "radius_squared": square[()]}
            return f"ConformalObject({self.name}, {', '.join(f'{name}={value}' for name, value in known.items())})"
        unit = E.new(E.keys, np.where(abs(E.coefficients) < 1e-12, 0, E.coefficients)).sparse()
        parts = [str(self.name), f"direction={unit}"]
        if np.isfinite(location).all():
            parts.append(f"location={(np.round(location, 12) + 0.0).tolist()}")
        if np.isfinite(square):
            parts.append(f"radius_squared={float(square):.6g}")
        return f"ConformalObject({', '.join(parts)})"


Object = Multivector | ConformalObject  # the arguments of functions that measure


def _name(kind: str, grade: int, m: int, imaginary: bool) -> str:
    if kind == ROUND:
        name = {0: "dual sphere", 1: "point pair", 2: "circle", 3: "sphere"}.get(m, f"{m - 1}-sphere")
        return f"imaginary {name}" if imaginary and m else name
    if kind == FLAT:
        return {0: "flat point", 1: "line", 2: "plane"}.get(m, f"{m}-flat")
    if kind == TANGENT:
        return "tangent" if m else "point"
    if kind == FREE:
        return "direction" if m else "infinity"
    return "dual flat" if grade else "nothing"


@specialized()
def origin(algebra: Algebra, /) -> Multivector:
    """Return n_o, the point at 0.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3, null_basis=True)
    >>> cga.origin(alg).sparse(), cga.down(cga.origin(alg)).tolist()
    (eo, [0.0, 0.0, 0.0])
    """
    n, null = model_of(algebra, "origin")
    return from_parts(algebra, null, np.zeros(n), np.ones(()), np.zeros(()))


@specialized(X=1)
def up(algebra: Algebra, X: ArrayLike | Multivector, /) -> Multivector:
    """Return the points n_o + X + X² n_∞ / 2 at coordinates (..., n), or at vectors of the Euclidean algebra.

    Raises
    ------
    ArgumentError
        If X has not n coordinates, or X² overflows.

    Examples
    --------
    >>> cga.up(cr.Algebra.cga(2, null_basis=True), [3.0, 4.0])
    3.0*e1 + 4.0*e2 + eo + 12.5*ei
    """
    n, null = model_of(algebra, "up")
    E = coordinates_of(X, n, "X", "up")
    return from_parts(algebra, null, E, np.ones((), dtype=E.dtype), halved(squared(E, "X", "up")))


point = up


@specialized()
def down(P: Multivector, /, *, rtol: float | None = None) -> NDArray[Any]:
    """Return the coordinates (..., n) of points of any weight.

    Parameters
    ----------
    P : Multivector
        Null vectors.
    rtol : float, optional
        How far P² may be from zero, relative to the squares of its components; eps^(3/4) by default.

    Raises
    ------
    ArgumentError
        For n_∞, and for vectors that are spheres or planes.

    Notes
    -----
    The weight is -P·n_∞, or E²/(2i) for P = o n_o + E + i n_∞ with |i| > |o|: far from the
    origin the first is lost to rounding in the basis of e_{n+1} and e_{n+2}.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> cga.down(-2 * cga.up(alg, [1, 2, 3])).tolist()
    [1.0, 2.0, 3.0]
    """
    _, null = model_of(P, "down", "P")
    E, o, i = parts_of(unit_scale(blade_of(P, "P", "down", "a point", grade=1, exact=True)), null)
    square = (E * E).sum(axis=-1)
    if E.dtype == object:
        weight, rest = o, np.frompyfunc(lambda x: x.expand() if hasattr(x, "expand") else x, 1, 1)(square - 2 * o * i)
        is_null = rest == 0
    else:
        size = (abs(E) ** 2).sum(axis=-1) + abs(o) ** 2 + abs(i) ** 2
        is_null = abs(square - 2 * o * i) <= tolerance(rtol, E.dtype) * size
        weight = np.where(abs(i) > abs(o), square / np.where(i == 0, 1, 2 * i), o)
    if not np.asanyarray(is_null, dtype=bool).all():
        raise fail("P", "down", "a point, P² = 0", describe("a sphere or a plane"), "Use center or normal.")
    if np.asanyarray(weight == 0, dtype=bool).any():
        raise fail("P", "down", "a finite point", describe("a point at infinity"))
    return np.asanyarray(E / weight[..., None])


@specialized()
def contains_point(X: Multivector, P: Multivector, /, *, dual: bool = False, rtol: float | None = None) -> Any:
    """Tell whether objects contain points: P ∧ X = 0, relative to the components of both (dual: P ⌋ X = 0).

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> S = cga.sphere(alg, [0, 0, 0], 5)
    >>> cga.contains_point(S, cga.up(alg, [[3, 4, 0], [3, 3, 0]])).tolist()
    [True, False]
    """
    model_of(X, "contains_point", "X")
    of_algebra(P, X.algebra, "P", "contains_point")
    P = unit_scale(blade_of(P, "P", "contains_point", "a point", grade=1, exact=True))
    X = unit_scale(blade_of(X, "X", "contains_point", "a blade", exact=True))
    rest = P << X if is_dual(dual) else P ^ X
    scale = largest(P.coefficients) * largest(X.coefficients)
    return (largest(rest.coefficients) <= tolerance(rtol, rest.dtype) * scale)[()]


@specialized()
def meet(A: Multivector, B: Multivector, /, *, dual: bool = False) -> Multivector:
    """Return what two objects have in common: A & B for direct ones, A ^ B for dual ones.

    It is 0 where both lie in less than the whole space, as two circles of one plane in 3-space do.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> C = cga.meet(cga.sphere(alg, [0, 0, 0], 5), cga.plane(alg, [0, 0, 1], 3))
    >>> cga.center(C).round(12) + 0.0, float(cga.radius(C).round(12))
    (array([0., 0., 3.]), 4.0)
    """
    model_of(A, "meet", "A")
    of_algebra(B, A.algebra, "B", "meet")
    return A ^ B if is_dual(dual) else A & B
