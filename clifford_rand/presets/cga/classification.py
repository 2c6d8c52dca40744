"""Classification of conformal blades as round, tangent, flat or free; centers, radii, carriers, normals of rounds.

Every blade is one of T_c[(n_o + r² n_∞/2) ∧ E], a round, or a tangent if r = 0; up(c) ∧ E ∧ n_∞, a flat; E ∧ n_∞, free;
T_c[E], the dual of a flat; times a weight. E is a Euclidean blade of length 1, T_c the translation by c. Table 14.1 of
L. Dorst, D. Fontijne and S. Mann, Geometric Algebra for Computer Science, Morgan Kaufmann 2009.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import copy_by_component
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.fusion.specialization import specialized
from clifford_rand.fusion.traced_array import decided, zeros
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga.conformal_object import ConformalObject, up
from clifford_rand.presets.cga.parts import (
    DROP,
    DUAL_FLAT,
    FLAT,
    FREE,
    ROUND,
    TANGENT,
    Parts,
    Round,
    direct_blade,
    imprecise,
    is_dual,
    model_of,
    parts_of,
    round_of,
    rounding,
    split,
)
from clifford_rand.presets.inputs import (
    euclidean,
    largest,
    lengths,
    of_algebra,
    real_of,
    tolerance,
    unit_factor,
    unit_scale,
)

_BLADE = 1e-6  # length of X ~X above grade 0 for X of length 1: more than the rounding of a blade


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
    return [(k, rows) for k, rows in groups if len(rows)]


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
    direction = euclidean(n).new(keys, copy_by_component(E.reshape(*shape, keys.size)))
    grade, kind_of, square, weight = (array.reshape(shape)[()] for array in (grade, kind_of, square, weight))
    return ConformalObject(algebra, grade, kind_of, direction, location.reshape(*shape, n), square, weight)


@specialized()
def center(X: Multivector, /, *, rtol: float | None = None) -> NDArray[Any]:
    """Return the centers (..., n) of rounds (point pairs, circles, spheres), direct or dual: the point X n_∞ ~X.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> (cga.center(cga.circle(alg, [1, 2, 3], 2, [0, 0, 1])).round(12) + 0.0).tolist()
    [1.0, 2.0, 3.0]
    """
    return _round(X, "center", False, rtol).c + 0.0  # no -0.0


def _round(X: Any, owner: str, dual: bool, rtol: float | None) -> Round:
    """Return the parameters of rounds, which other blades have not."""
    whole, (X, _, flat) = X, direct_blade(X, owner, dual, rtol)
    factor = unit_factor(whole, X)
    if flat.any():
        raise fail("X", owner, "round", describe("a flat"), f"Lines and planes have no {owner.split('_')[0]}.")
    check_blades(X, owner)
    null = model_of(X.algebra, owner)[1]
    parts = split(X, null)
    _refuse_zero(largest(parts.O.coefficients), owner)
    parameters = round_of(X, parts, null, factor)
    if not (parameters.is_known(rounding=0) if owner == "center" else parameters.is_known()).all():
        raise imprecise(owner)
    return parameters


@specialized()
def radius_squared(X: Multivector, /, *, dual: bool = False, rtol: float | None = None) -> Any:
    """Return the squares of radii, to 1e-9 of the distance from the origin or 6e-6; negative for imaginary rounds.

    It is -⟨X ~X⟩ / ⟨Y ~Y⟩ with Y = n_∞ ⌋ X, by differences of squares of lengths, see `classify`. The meet of spheres
    far apart is imaginary.

    Raises
    ------
    ArgumentError
        For flats, and where the coefficients are too inexact: wedges of points far from the origin.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> S, P = cga.sphere(alg, [0, 0, 0], 3), cga.plane(alg, [0, 0, 1], [1, 5])
    >>> cga.radius_squared(cga.meet(S, P)).round(12).tolist()  # the second plane misses the sphere
    [8.0, -16.0]
    """
    return _round(X, "radius_squared", dual, rtol).radius_squared[()]


def check_blades(X: Any, owner: str) -> None:
    """Refuse multivectors of one grade other than blades: X ~X of a blade is a number, up to n = 3 of no other."""
    if 2 <= X.grades[0] <= X.algebra.d - 2:
        scaled = unit_scale(X)
        square, size = scaled * ~scaled, (scaled.coefficients**2).sum(axis=-1)
        if ((square.coefficients[..., square.keys.grade_of > 0] ** 2).sum(axis=-1) > (_BLADE * size) ** 2).any():
            received = describe(f"a multivector of grade {X.grades[0]} whose X ~X is not a number")
            hint = "A sum of two blades is a blade only if they share all but a vector."
            raise fail("X", owner, "blades", received, hint)


def _refuse_zero(size: NDArray[Any], owner: str) -> None:
    """Refuse directions of length 0: those of multivectors that are not blades."""
    if (size == 0).any():
        hint = "Rounded or edited coefficients are seldom those of a blade."
        raise fail("X", owner, "a blade of a round or a flat", describe("a multivector that is not a blade"), hint)


@specialized()
def radius(X: Multivector, /, *, dual: bool = False, rtol: float | None = None) -> Any:
    """Return the radii of point pairs (half their distance), circles and spheres.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> float(cga.radius(cga.point_pair(alg, [1, 0, 0], [5, 0, 0])).round(12))
    2.0
    """
    square = radius_squared(X, dual=dual, rtol=rtol)
    if np.any(square < 0):
        raise fail("X", "radius", "real", describe("an imaginary round"), "Use radius_squared.")
    return np.sqrt(square)


@specialized()
def carrier(X: Multivector, /, *, dual: bool = False, rtol: float | None = None) -> Multivector:
    """Return X ∧ n_∞, the line, plane or space in which a round lies (direct).

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> cga.classify(cga.carrier(cga.circle(alg, [1, 2, 3], 2, [0, 0, 1])))
    ConformalObject(plane, direction=-e12, location=[0.0, 0.0, 3.0])
    """
    scaled, carriers, flat = direct_blade(X, "carrier", dual, rtol)
    if flat.any():
        raise fail("X", "carrier", "round", describe("a flat"), "It is its own carrier.")
    factor = unit_factor(X, scaled)
    return carriers.new(carriers.keys, carriers.coefficients * factor[..., None])


@specialized()
def normal(X: Multivector, /, *, dual: bool = False, rtol: float | None = None) -> NDArray[Any]:
    """Return the unit normals (..., n) of hyperplanes, and of circles in 3-space (rounds of grade n).

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> (cga.normal(cga.circle(alg, [1, 2, 3], 2, [0, 3, 4])).round(12) + 0.0).tolist()
    [0.0, 0.6, 0.8]
    """
    X, carriers, flat = direct_blade(X, "normal", dual, rtol)
    n, null = model_of(X.algebra, "normal")
    is_plane = X.grades == (n + 1,) and flat.all()
    if not is_plane and (X.grades != (n,) or flat.any()):
        raise fail("X", "normal", "a hyperplane, or a round in one", describe(f"a blade of grade {X.grades[0]}"))
    E, _, _ = parts_of((X if is_plane else carriers).dual(), null)
    size = np.asanyarray(lengths(E))
    _refuse_zero(size, "normal")
    return np.asanyarray(E / size[..., None])


@specialized()
def split_point_pair(
    X: Multivector, /, *, dual: bool = False, rtol: float | None = None
) -> tuple[Multivector, Multivector]:
    """Return the points A and B of X = A ∧ B, of weight 1: the center, and half the distance to either side.

    Examples
    --------
    >>> alg = cr.Algebra.cga(2)
    >>> [cga.down(P).round(12).tolist() for P in cga.split_point_pair(cga.point_pair(alg, [1, 2], [3, 4]))]
    [[1.0, 2.0], [3.0, 4.0]]
    """
    X, _, flat = direct_blade(X, "split_point_pair", dual, rtol)
    if X.grades != (2,) or flat.any():
        raise fail("X", "split_point_pair", "a pair of two finite points", describe(f"a blade of grade {X.grades[0]}"))
    parameters = _round(X, "split_point_pair", False, rtol)
    square = parameters.radius_squared
    if (square <= 0).any():
        raise fail("X", "split_point_pair", "a real pair", describe("X² ≤ 0"), "Use center and radius_squared.")
    half = np.sqrt(square)[..., None] * parameters.E.coefficients
    return up(X.algebra, parameters.c - half), up(X.algebra, parameters.c + half)
