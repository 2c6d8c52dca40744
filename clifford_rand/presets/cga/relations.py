"""Relations of two conformal objects: distances, closest points, angles, inversive products, and intersections.

Both are taken about their own center, and for angles and intersections in their own unit of length, where nothing is
lost to rounding.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_tolerance, describe, fail, one_batch
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.fusion.specialization import specialized
from clifford_rand.fusion.traced_array import is_traced, zeros
from clifford_rand.geometry.subspaces import span_and_intersection, traced_intersection
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga.classification import classify, described
from clifford_rand.presets.cga.closest_pairs import loci_of, solve
from clifford_rand.presets.cga.conformal_object import ConformalObject, Object, down
from clifford_rand.presets.cga.parts import FLAT, ROUND, assemble, model_of, null_space, rounding
from clifford_rand.presets.inputs import largest, lengths, of_algebra, tolerance

ROUNDING = 16  # units of rounding of coordinates within which two points are one


@specialized()
@one_batch
def closest_points(
    A: Object, B: Object, /, *, dual: bool = False, rtol: float | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return points (..., n) of A and of B that are nearest to each other: one such couple where there are more.

    Points, point pairs, lines, planes, circles, spheres, and what they are called in more dimensions. Spheres are
    surfaces: the center is at a distance r. Exact minima by linear algebra, a secular equation (flat and sphere), or
    Newton's method with a proof of the least value (a circle and a flat or sphere of any dimension). Only two spheres
    of dimension ≥ 2, neither of them a hypersphere, which takes n ≥ 4, are searched from many starts.

    Parameters
    ----------
    A, B : Multivector or ConformalObject
        Direct, or dual with ``dual``; batches broadcast, and may hold objects of several kinds.
    rtol : float, optional
        For `classify`, and directions closer than this are taken as parallel; there eps^(3/4) by default.

    Raises
    ------
    ArgumentError
        For imaginary rounds, free blades and duals of flats, which hold no finite point.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> C, L = cga.circle(alg, [0, 0, 0], 2, [0, 0, 1]), cga.line(alg, [5, 0, 1], direction=[0, 1, 0])
    >>> [x.round(12).tolist() for x in cga.closest_points(C, L)]
    [[2.0, 0.0, 0.0], [5.0, 0.0, 1.0]]
    """
    a, b, _, x, y = _nearest(A, B, dual, rtol, "closest_points", "AB")
    return a + x, b + y


@specialized()
@one_batch
def distance(P: Object, Q: Object, /, *, dual: bool = False, rtol: float | None = None) -> Any:
    """Return the least distances of the points on P and Q, of any two objects, as `closest_points` finds them.

    Of two points: sqrt(-2 P·Q) at weight 1, from the coordinates, where nothing cancels. Of other objects 0 where the
    closest points differ by rounding only.

    Raises
    ------
    ArgumentError
        For objects that hold no finite point.

    Examples
    --------
    >>> alg = cr.Algebra.cga(2)
    >>> float(cga.distance(cga.up(alg, [0, 0]), 5 * cga.up(alg, [3, 4])))
    5.0
    >>> float(cga.distance(cga.circle(alg, [0, 0], 1), cga.line(alg, [0, 3], direction=[1, 0])))
    2.0
    """
    model_of(P, "distance", "P")
    if isinstance(P, Multivector) and isinstance(Q, Multivector) and P.grades == Q.grades == (1,) and not dual:
        return lengths(down(P) - down(of_algebra(Q, P.algebra, "Q", "distance")))
    _, _, D, x, y = _nearest(P, Q, dual, rtol, "distance", "PQ")
    between = D + y - x
    is_apart = largest(between) > ROUNDING * float(np.finfo(D.dtype).eps) * (largest(D) + largest(y))
    return lengths(np.where(is_apart[..., None], between, 0))


def _nearest(A: Any, B: Any, dual: bool, rtol: float | None, owner: str, names: str) -> Any:
    """Return both centers, their difference, and the closest points less the centers."""
    model_of(A, owner, "A")
    if rtol is not None:
        rtol = check_tolerance(rtol, 0.0, owner)
    objects = [described(X, A.algebra, name, owner, dual, rtol) for X, name in zip((A, B), names, strict=True)]
    for name, X in zip(names, objects, strict=True):
        if not np.all(X.has_points):
            without = np.unique(np.asanyarray(X.name)[~np.asanyarray(X.has_points)]).tolist()
            raise fail(name, owner, "an object that holds finite points", describe(", ".join(without)))
    shape = np.broadcast_shapes(*(X.shape for X in objects))
    n, count = A.algebra.d - 2, math.prod(shape)
    a, b = (np.broadcast_to(X.location, (*shape, n)).reshape(count, n) for X in objects)
    D = b - a
    first, second = (loci_of(X, shape) for X in objects)
    x, y = np.zeros_like(D), np.zeros_like(D)
    for at, P in first:
        for where, Q in second:
            both, i, j = np.intersect1d(at, where, return_indices=True)
            if len(both):
                x[both], y[both] = solve(P.take(i), Q.take(j), D[both], tolerance(rtol, D.dtype))
    return tuple(array.reshape(*shape, n) for array in (a, b, D, x, y))


def scene_of(
    A: Any, B: Any, dual: bool, rtol: float | None, owner: str
) -> tuple[ConformalObject, ConformalObject, NDArray[Any], NDArray[Any]]:
    """Return both objects with weight 1 about the middle of their locations in their own unit, and middle and unit."""
    model_of(A, owner, "A")
    objects = [described(X, A.algebra, name, owner, dual, rtol) for X, name in ((A, "A"), (B, "B"))]
    places = np.broadcast_arrays(*(X.location for X in objects))
    known = [np.isfinite(place).all(axis=-1, keepdims=True) for place in places]
    count = known[0].astype(places[0].dtype) + known[1]
    middle = sum(np.where(here, place, 0) for here, place in zip(known, places, strict=True)) / np.maximum(count, 1)
    sizes = [np.sqrt(np.abs(np.nan_to_num(np.asanyarray(X.radius_squared)))) for X in objects]
    apart = lengths(np.where(known[0] & known[1], places[1] - places[0], 0))
    far = largest(middle)
    unit = np.where(apart > rounding(None, middle.dtype) * far, apart, 0)
    unit = np.maximum(np.maximum(*sizes), unit)  # the larger radius, or the distance where it is not rounding
    unit = np.where(unit > 0, unit, np.where(far > 0, far, 1))
    A, B = (_moved(X, middle, unit) for X in objects)
    return A, B, middle, unit


def _moved(X: ConformalObject, middle: NDArray[Any], unit: NDArray[Any]) -> ConformalObject:
    """Return an object with weight 1 where ``middle`` is the origin and ``unit`` the unit of length."""
    shape = np.broadcast_shapes(X.shape, unit.shape)
    location = (X.location - middle) / unit[..., None]
    grade, kind = (np.broadcast_to(x, shape) for x in (X.grade, X.kind))
    E = X.direction
    direction = E.new(E.keys, np.broadcast_to(E.coefficients, (*shape, E.keys.size)))
    square = np.asanyarray(X.radius_squared) / unit**2
    return ConformalObject(X.algebra, grade, kind, direction, location, square, np.ones(shape, dtype=location.dtype))


def _unit_blades(A: Any, B: Any, dual: bool, rtol: float | None, owner: str) -> tuple[Any, Any]:
    """Return A and B, about their own center, with X·X = -1: real rounds and flats other than points."""
    a, b, _, _ = scene_of(A, B, dual, rtol, owner)
    blades = []
    for name, X in (("A", a), ("B", b)):
        square = np.asanyarray(X.radius_squared)
        flat = np.asanyarray(X.kind) == FLAT
        sound = (flat | ((np.asanyarray(X.kind) == ROUND) & (square > 0))) & (np.asanyarray(X.dimension) > 0)
        if not sound.all():
            wrong = ", ".join(np.unique(np.asanyarray(X.name)[~sound]).tolist())
            raise fail(name, owner, "a line, plane, or other flat, or a real round", describe(wrong))
        weight = 1 / np.sqrt(np.where(flat, 1, square))
        if np.unique(X.grade).size > 1:
            raise fail(name, owner, "of one grade", describe(f"grades {np.unique(X.grade).tolist()}"))
        blades.append(assemble(replace(X, weight=weight), null_space(X.algebra.d - 2)))
    return blades[0], blades[1]


def _inner(A: Any, B: Any) -> NDArray[Any]:
    return np.asanyarray(A.inner(B).scalar_part())


@specialized()
@one_batch
def inversive_product(A: Object, B: Object, /, *, dual: bool = False, rtol: float | None = None) -> Any:
    """Return -A·B for A·A = B·B = -1, of two rounds or flats of one grade: a conformal invariant.

    The cosine of the angle where they meet; beyond ±1 for hyperspheres that do not, where it is ± the hyperbolic cosine
    of the inversive distance. Two spheres at a distance D: (r² + s² - D²)/(2 r s).

    References
    ----------
    H. S. M. Coxeter, Inversive distance, Annali di Matematica 71 (1966).

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> float(cga.inversive_product(cga.sphere(alg, [0, 0, 0], 1), cga.sphere(alg, [4, 0, 0], 2)).round(12))
    -2.75
    """
    a, b = _unit_blades(A, B, dual, rtol, "inversive_product")
    if a.grades != b.grades:
        raise fail("B", "inversive_product", f"of grade {a.grades[0]}", describe(f"grade {b.grades[0]}"), "Use angle.")
    return (-_inner(a, b))[()]


@specialized()
@one_batch
def angle(A: Object, B: Object, /, *, dual: bool = False, rtol: float | None = None) -> Any:
    """Return the angles of two objects, of any kinds: where they meet, or of their directions if both are flat.

    Two of one grade: arccos(-A·B) for A·A = B·B = -1, from 0 to π by their orientations. For hyperspheres and
    hyperplanes it is that of the normals, which point inwards as `sphere` makes them; for circles and lines with a
    common point that of the tangents there; for skew lines that of the directions. Of two grades: from 0 to π/2, of the
    smaller and its projection on the other.

    Parameters
    ----------
    A, B : Multivector or ConformalObject
        Lines, planes, other flats, point pairs, circles, spheres, …; direct, or dual with ``dual``.
    rtol : float, optional
        For `classify`.

    Returns
    -------
    float or ndarray
        nan where the cosine is beyond ±1: spheres apart from each other or one inside the other.

    Raises
    ------
    ArgumentError
        For points, imaginary rounds, and batches of several grades.

    Notes
    -----
    By Kahan's formula 2 atan2(|A - B|, |A + B|), so that small angles keep their digits.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> S, P = cga.sphere(alg, [0, 0, 0], 2), cga.plane(alg, [0, 0, 1], 1)
    >>> [float(np.degrees(cga.angle(S, X)).round(9)) for X in (P, cga.line(alg, [0, 1, 0], direction=[1, 0, 0]))]
    [120.0, 60.0]
    """
    a, b = _unit_blades(A, B, dual, rtol, "angle")
    if a.grades[0] > b.grades[0]:
        a, b = b, a
    size = largest(a.coefficients) * largest(b.coefficients)
    size = size * np.maximum(size, 1)
    if a.grades != b.grades:
        keys = keys_of_grades(b.algebra.d, a.grades)
        shadow = -((a << b) * ~b).select_keys(keys)  # the projection of the smaller on the other, b ~b = -1
        square = -_inner(shadow, shadow)
        none = square <= tolerance(rtol, a.dtype) * size
        length = np.sqrt(np.where(none, 1, square))
        unit = shadow.new(keys, np.where(none[..., None], 0, shadow.coefficients / length[..., None]))
        minus, plus = -_inner(a - unit, a - unit), -_inner(a + unit, a + unit)
        minus, plus = np.where(none, 1, minus), np.where(none, 1, plus)
        minus = np.where(square < -tolerance(rtol, a.dtype) * size, np.nan, minus)
    else:
        minus, plus = -_inner(a - b, a - b), -_inner(a + b, a + b)
    slack = tolerance(rtol, a.dtype) * size  # squares below zero by rounding are 0
    minus, plus = (np.where(x < -slack, np.nan, np.maximum(x, 0)) for x in (minus, plus))
    return (2 * np.arctan2(np.sqrt(minus), np.sqrt(plus)))[()]


@specialized()
@one_batch
def intersect(A: Object, B: Object, /, *, dual: bool = False, rtol: float = 1e-9) -> ConformalObject:
    """Return what two objects have in common, and what it is: a circle, a tangent, an imaginary circle or other.

    Unlike `meet` it is right for objects that lie together in less than the whole space, as two circles of one plane in
    3-space do: it is the blade of all vectors that both blades contain.

    Parameters
    ----------
    A, B : Multivector or ConformalObject
        Direct, or dual with ``dual``; batches broadcast, and each element may be of another kind.
    rtol : float, default=1e-9
        Directions of the conformal space with a smaller sine of their angle are taken as common, and smaller radii² are
        0, in the unit of the larger radius or the distance of the two.

    Returns
    -------
    ConformalObject
        Direct objects. "dual sphere" (a vector that is no point) and "nothing" where the two are in general position
        without a common point; `has_points` tells in all cases.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> S = cga.sphere(alg, [0, 0, 0], 5)
    >>> [str(cga.intersect(S, cga.plane(alg, [0, 0, 1], z)).name) for z in (3, 5, 7)]
    ['circle', 'tangent', 'imaginary circle']
    >>> C, D = cga.circle(alg, [0, 0, 0], 5, [0, 0, 1]), cga.circle(alg, [6, 0, 0], 5, [0, 0, 1])
    >>> cga.intersect(C, D)
    ConformalObject(point pair, direction=-e2, location=[3.0, 0.0, 0.0], radius_squared=16)
    """
    a, b, middle, unit = scene_of(A, B, dual, None, "intersect")
    null = null_space(A.algebra.d - 2)
    meets = _meet(assemble(a, null), a.grade, assemble(b, null), b.grade, rtol)
    parameters = classify(meets, rtol=rtol)
    location = parameters.location * unit[..., None]
    E = parameters.direction
    if np.any(np.asanyarray(parameters.kind) == FLAT):  # the point that is nearest to the origin of the caller
        foot = E.algebra.vector(np.nan_to_num(location + middle))
        across = ((foot ^ E) * ~E).select_keys(keys_of_grades(E.algebra.d, (1,))).coefficients
        location = np.where((np.asanyarray(parameters.kind) == FLAT)[..., None], across, location + middle)
    else:
        location = location + middle
    square = (np.asanyarray(parameters.radius_squared) * unit**2)[()]
    return ConformalObject(A.algebra, parameters.grade, parameters.kind, E, location, square, parameters.weight)


def _meet(A: Any, k: Any, B: Any, m: Any, rtol: float) -> Any:
    """Return the intersections of subspaces in batches, each element of a grade of its own."""
    shape = np.broadcast_shapes(A.shape, B.shape)
    count = math.prod(shape)
    k, m = (np.broadcast_to(x, shape).reshape(-1) for x in (k, m))
    rows = [np.broadcast_to(X.coefficients, (*shape, X.keys.size)).reshape(count, X.keys.size) for X in (A, B)]
    pieces = []
    for i, j in sorted({(int(i), int(j)) for i, j in zip(k, m, strict=True)}):
        at = np.flatnonzero((k == i) & (m == j))
        first, second = (
            X.new(X.keys, row[at]).select_keys(keys_of_grades(X.algebra.d, (grade,)))
            for X, row, grade in zip((A, B), rows, (i, j), strict=True)
        )
        if is_traced(first):
            pieces.append((at, traced_intersection(first, second, rtol)))
        else:
            pieces.append((at, span_and_intersection(first, second, "intersect", rtol)[1]))
    keys = keys_of_grades(A.algebra.d, tuple(sorted({g for _, piece in pieces for g in piece.grades})) or (0,))
    array = zeros((count, keys.size), A.coefficients)
    for at, piece in pieces:
        array[at] = piece.on_keys(keys).coefficients
    return A.new(keys, array.reshape(*shape, keys.size))
