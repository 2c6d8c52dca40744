"""Classification of conformal blades as round, tangent, flat or free, with center, radius and direction.

Every blade is one of T_c[(n_o + r² n_∞/2) ∧ E], a round, or a tangent if r = 0; up(c) ∧ E ∧ n_∞, a flat; E ∧ n_∞, free;
T_c[E], the dual of a flat; times a weight. E is a Euclidean blade of length 1, T_c the translation by c. Table 14.1 of
L. Dorst, D. Fontijne and S. Mann, Geometric Algebra for Computer Science, Morgan Kaufmann 2009.
"""

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.algebra import Algebra
from clifford_rand.basis import layout
from clifford_rand.basis.arrays import is_tensor, namespace, values_of
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.fusion.specialization import specialized
from clifford_rand.fusion.traced_array import decided, zeros
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga.measures import as_dual, is_dual, model_of, rounding
from clifford_rand.presets.cga.parts import (
    DROP,
    DUAL_FLAT,
    FLAT,
    FREE,
    ROUND,
    TANGENT,
    Parts,
    assemble,
    imprecise,
    round_of,
    split,
)
from clifford_rand.presets.cga.rounds import check_blades
from clifford_rand.presets.inputs import (
    directions_of,
    euclidean,
    largest,
    lengths,
    of_algebra,
    real_of,
    refuse_tensors,
    root,
    tolerance,
    unit_factor,
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
        real_round = (
            (np.asanyarray(self.kind) == ROUND) & (np.asanyarray(self.grade) > 1) & ~np.asanyarray(self.is_imaginary())
        )
        return np.asanyarray(np.isin(self.kind, (FLAT, TANGENT)) | real_round)[()]

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
def classify(X: Multivector, /, *, dual: bool = False, rtol: float | None = None) -> ConformalObject:
    """Return what blades are, with their parameters: circles, lines, tangents, imaginary spheres and so on.

    With X = A + n_o∧O + n_∞∧I + n_o∧n_∞∧M: a round or tangent has E = O, center (A + M)/O and
    radius² = 2 I·E + |c_∥|² - |c_⊥|²; a flat has A = O = 0; a free blade M = 0 too; a dual flat O = M = 0 only.

    Parameters
    ----------
    X : Multivector
        Direct blades (dual with ``dual``), of any scale; in a batch each may be of a grade and a kind of its own.
    rtol : float, optional
        What counts as 0, relative to the largest component; 64 eps by default, which is rounding and no more. A radius²
        is 0 within this times h, h the largest component for weight 1 (of points e_{n+1}, e_{n+2} times (1 + h)²).

    Raises
    ------
    ArgumentError
        For zero, other multivectors than blades, complex or exact coefficients, and rounds whose coefficients are too
        inexact to tell from a tangent: wedges of points far from the origin.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> A, B, C = (cga.up(alg, x) for x in ([1, 0, 2], [0, 1, 2], [-1, 0, 2]))
    >>> cga.classify(A ^ B ^ C)
    ConformalObject(circle, direction=e12, location=[0.0, 0.0, 2.0], radius_squared=1)
    >>> cga.classify(A ^ B ^ cga.infinity(alg)).name, cga.classify(A).name
    (np.str_('line'), np.str_('point'))
    """
    n, null = model_of(X, "classify", "X")
    X = real_of(X, "X", "classify", "blades")
    X = X.undual() if is_dual(dual) else X
    size = largest(X.coefficients)
    if not (np.isfinite(size) & (size > 0)).all():
        raise fail("X", "classify", "finite blades, not zero", describe("zero, NaN or infinity"))
    groups = []
    eps = rounding(rtol, X.dtype)
    for k, rows in _grades(X, size):
        keys = keys_of_grades(n + 2, (k,))
        part = X.new(keys, X.select_keys(keys).coefficients.reshape(-1, keys.size)[rows])
        check_blades(part, "classify")
        groups += [(k, kind, rows[at], rest) for kind, at, *rest in _of_one_grade(part, null, eps)]
    return _gathered(X.algebra, X.shape, X.dtype, groups)


def described(X: Any, algebra: object, name: str, owner: str, dual: bool, rtol: float | None) -> ConformalObject:
    """Return X classified, as a multivector of ``algebra``."""
    if isinstance(X, ConformalObject) and X.algebra == algebra:
        return X
    return classify(of_algebra(X, algebra, name, owner), dual=dual, rtol=rtol)


def _grades(X: Any, size: NDArray[Any]) -> list[tuple[int, NDArray[np.int64]]]:
    """Return the grades of the elements of a batch, and which have them: other grades have to be rounding."""
    limit = tolerance(None, X.dtype) * size
    nonzero = [(largest(X.coefficients[..., X.keys.slices[k]]) > limit).reshape(-1) for k in X.grades]
    if (np.sum(nonzero, axis=0) > 1).any():
        several = tuple(k for k, row in zip(X.grades, nonzero, strict=True) if row.any())
        raise fail("X", "classify", "blades, each of one grade", describe(f"multivectors of grades {several}"))
    groups = [(k, np.flatnonzero(row)) for k, row in zip(X.grades, nonzero, strict=True)]
    return [(k, rows) for k, rows in groups if len(rows)] or groups[:1]


def _of_one_grade(X: Any, null: bool, eps: float) -> list[Any]:
    """Return, for each kind among blades (N,) of one grade, (kind, which, E, location, radius², weight)."""
    scaled, k = unit_scale(X), X.grades[0]
    factor = unit_factor(X, scaled)
    # A, O, I, M ≠ 0: rounds have O (or A and M), flats M alone beside I, duals of flats A, free blades I only
    A, O, _, M = (largest(P.coefficients) > eps * largest(scaled.coefficients) for P in split(scaled, null))  # noqa: E741
    kinds = np.where(O | (A & M), ROUND, np.where(A, DUAL_FLAT, np.where(M, FLAT, FREE)))
    groups = []
    for kind in (ROUND, FLAT, FREE, DUAL_FLAT):
        at = np.flatnonzero(kinds == kind)
        if not len(at):
            continue
        parts = split(scaled[at], null)
        if kind == ROUND:
            rounds = round_of(scaled[at], parts, null, factor[at])
            tangent = decided(abs(rounds.radius_squared) <= eps * rounds.top + rounds.excess)
            if k > 1 and not rounds.is_known(tangent).all():
                raise imprecise("classify")
            square = np.where(tangent, 0, rounds.radius_squared)
            for subkind, which in ((ROUND, ~tangent), (TANGENT, tangent)):
                parameters = (at, rounds.E, rounds.c, square, rounds.weight)
                groups += [(subkind, *(x[which] for x in parameters))] if which.any() else []
            continue
        sign = -1 if k % 2 else 1  # of E in the parts, see `flat_parts`
        E = {FLAT: parts.M * sign, FREE: parts.I * -sign, DUAL_FLAT: parts.A}[kind]
        size = lengths(E.coefficients)
        E, parts = E / size, Parts(*(P / size for P in parts))
        groups.append((kind, at, E, _location(kind, parts, E), np.full(len(at), np.nan), size * factor[at]))
    return groups


def _vector(A: Any) -> NDArray[Any]:
    """Return the coordinates (..., n) of the part of grade 1."""
    return np.asanyarray(A.select_keys(keys_of_grades(A.algebra.d, (1,))).coefficients)


def _location(kind: str, parts: Parts, E: Any) -> NDArray[Any]:
    if kind == FREE:
        return np.full((*E.shape, E.algebra.d), np.nan, dtype=E.dtype)
    return (-_vector(parts.I * ~parts.M) if kind == FLAT else _vector(parts.I * ~E)) + 0.0  # no -0.0


def _gathered(algebra: Algebra, shape: tuple[int, ...], dtype: Any, groups: list[Any]) -> ConformalObject:
    """Return one batch from groups (grade, kind, places, parameters)."""
    n, count = algebra.d - 2, math.prod(shape)
    keys = keys_of_grades(n, tuple(sorted({k - DROP[kind] for k, kind, *_ in groups} or {0})))
    grade, kind_of = np.zeros(count, dtype=np.int64), np.full(count, FREE, dtype="<U9")
    like = groups[0][3][0].coefficients if groups else np.zeros(0, dtype=dtype)
    E, location, square, weight = (zeros((count, *own), like) for own in ((keys.size,), (n,), (), ()))
    for k, kind, places, (direction, c, rho, size) in groups:
        grade[places], kind_of[places], E[places] = k, kind, direction.on_keys(keys).coefficients
        location[places], square[places], weight[places] = c, rho, size
    direction = euclidean(n).new(keys, layout.own(E.reshape(*shape, keys.size)))
    grade, kind_of, square, weight = (array.reshape(shape)[()] for array in (grade, kind_of, square, weight))
    return ConformalObject(algebra, grade, kind_of, direction, location.reshape(*shape, n), square, weight)
