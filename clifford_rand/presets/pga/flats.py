"""Flats of the projective model: norms, distances, angles, incidence; projection, rejection, meet, and join."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_number, describe, fail, one_batch, wrong_algebra
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import exact_quotient
from clifford_rand.basis.keys import keys_of_grades, keys_of_masks
from clifford_rand.fusion.specialization import specialized
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.inputs import (
    across,
    blade_of,
    directions_of,
    euclidean,
    lengths,
    of_algebra,
    real_of,
    tolerance,
    unit_scale,
)


def dimension_of(A: object, owner: str, name: str = "algebra") -> int:
    """Return n of Cl(n, 0, 1), of an algebra, or of the algebra of A."""
    alg = A if name == "algebra" else getattr(A, "algebra", A)
    diagonal = alg.form.diagonal if isinstance(alg, Algebra) and alg.form.is_unit else None
    if diagonal is None or len(diagonal) < 2 or diagonal[0] != 0 or not (diagonal[1:] == 1).all():
        raise wrong_algebra(alg, owner, name, "a projective algebra", "Algebra.pga(n)")
    return len(diagonal) - 1


def has_e0(A: Any) -> NDArray[np.bool_]:
    """Tell which blades hold e0."""
    return np.asanyarray(A.keys.masks & 1 == 1, dtype=bool)


@specialized()
def norm(A: Multivector, /) -> Any:
    """Return the norms sqrt(⟨A ~A⟩_0): the lengths of the parts without e0. 0 for ideal elements.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> float(pga.norm(pga.line(alg, [0, 0, 0], [3, 4, 0])).round(12)), float(pga.norm(pga.direction(alg, [3, 4, 0])))
    (5.0, 0.0)
    """
    dimension_of(A, "norm", "A")
    return lengths(real_of(A, "A", "norm", "a multivector").coefficients[..., ~has_e0(A)])


@specialized()
def ideal_norm(A: Multivector, /) -> Any:
    """Return the lengths of the parts with e0: the length of a `direction`.

    Examples
    --------
    >>> v = pga.direction(cr.Algebra.pga(3), [2, 3, 6])
    >>> float(pga.norm(v)), float(pga.ideal_norm(v))
    (0.0, 7.0)
    """
    dimension_of(A, "ideal_norm", "A")
    return lengths(real_of(A, "A", "ideal_norm", "a multivector").coefficients[..., has_e0(A)])


def _flat(A: Any, name: str, owner: str) -> tuple[int, Any, Any]:
    """Return (k, E, M) with A/|A| = E + e0 ∧ M, E a unit k-blade of the normals."""
    A = unit_scale(blade_of(A, name, owner, "a point, line, plane or other flat"))
    k, held = A.grades[0], has_e0(A)
    if not 1 <= k < A.algebra.d:
        raise fail(name, owner, f"a flat, of grade 1 to {A.algebra.d - 1}", describe(f"grade {k}"))
    masks = A.keys.masks
    size = lengths(A.coefficients[..., ~held])
    if np.any(size == 0):
        raise fail(name, owner, "not ideal", describe("an element at infinity"))
    scaled = A.coefficients / size[..., None]  # E is of length 1
    E = A.new(keys_of_masks(A.algebra.d, tuple(int(m) for m in masks[~held])), scaled[..., ~held])
    M = A.new(keys_of_masks(A.algebra.d, tuple(int(m) ^ 1 for m in masks[held])), scaled[..., held])
    return k, E, M


def _plain(A: Any) -> NDArray[Any]:
    """Return the coordinates (..., n) of a vector."""
    return A.select_keys(keys_of_grades(A.algebra.d, (1,))).coefficients[..., 1:]


def _foot(E: Any, M: Any) -> NDArray[Any]:
    """Return the point of the flat that is nearest to the origin: c E = -M."""
    return -_plain(M | ~E)  # c E = -M


def _directions(E: Any) -> list[Any]:
    """Return orthonormal directions of the flat with the normals E."""
    n, (k,) = E.algebra.d - 1, E.grades
    normals = euclidean(n).new(keys_of_masks(n, tuple(int(mask) >> 1 for mask in E.keys.masks)), E.coefficients)
    rows = directions_of(normals.star(), n, n - k)
    return [rows[..., i, :] for i in range(n - k)]


def _measure(a: Any, b: Any, owner: str, rtol: float | None) -> tuple[Any, Any]:
    """Return the distance of two flats and the larger distance of their feet from the origin."""
    dimension_of(a, owner, "a")
    of_algebra(b, a.algebra, "b", owner)
    (_, E, M), (_, F, N) = _flat(a, "a", owner), _flat(b, "b", owner)
    foot, foot_b = _foot(E, M), _foot(F, N)
    step = foot_b - foot
    rest = across(step, [*_directions(E), *_directions(F)], tolerance(rtol, step.dtype))
    return lengths(rest), np.maximum(lengths(foot), lengths(foot_b))


@specialized()
@one_batch
def distance(a: Multivector, b: Multivector, /, *, rtol: float | None = None) -> Any:
    """Return the least distances between the points of two flats: points, lines, skew or not, planes, any mix.

    Parameters
    ----------
    a, b : Multivector
        Flats of grade 1 to n; batches broadcast.
    rtol : float, optional
        Directions closer than this (in radians, nearly) are taken as parallel; eps^(3/4) by default.

    Raises
    ------
    ArgumentError
        For ideal elements.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> float(pga.distance(pga.line(alg, [0, 0, 0], [1, 0, 0]), pga.line(alg, [0, 0, 2], [0, 1, 2])))
    2.0
    """
    return _measure(a, b, "distance", rtol)[0]


@specialized()
@one_batch
def is_incident(a: Multivector, b: Multivector, /, *, rtol: float | None = None, unit: float = 1.0) -> Any:
    """Tell whether two flats have a point in common: a point on a line, two lines that cross, a line in a plane.

    Parameters
    ----------
    a, b : Multivector
    rtol : float, optional
        They have if their distance is at most ``rtol`` times the largest of ``unit`` and of their distances from the
        origin; eps^(3/4) by default.
    unit : float, default=1
        A typical length: e0 has no length of its own, so coefficients alone do not tell one.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> bool(pga.is_incident(pga.point(alg, [1, 1, 1]), pga.line(alg, [0, 0, 0], [3, 3, 3])))
    True
    """
    unit = check_number(unit, "unit", "is_incident", "a finite number ≥ 0", lambda x: 0 <= x < np.inf)
    apart, far = _measure(a, b, "is_incident", rtol)
    return apart <= tolerance(rtol, np.asanyarray(apart).dtype) * np.maximum(far, unit)


@specialized()
def angle(a: Multivector, b: Multivector, /) -> Any:
    """Return the angles between two lines, two planes, or a line and a plane.

    Flats of one grade: from 0 to π, by their orientations (planes: of the normals). Of two grades: from 0 to π/2.

    Raises
    ------
    ArgumentError
        For points and ideal elements.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> float(np.degrees(pga.angle(pga.line(alg, [0, 0, 0], [1, 0, 1]), pga.plane(alg, [0, 0, 1])))).__round__(9)
    45.0
    """
    n = dimension_of(a, "angle", "a")
    of_algebra(b, a.algebra, "b", "angle")
    (k, E, _), (m, F, _) = _flat(a, "a", "angle"), _flat(b, "b", "angle")
    for name, grade in (("a", k), ("b", m)):
        if grade == n > 1:
            raise fail(name, "angle", "a flat with directions", describe("a point"))
    if k > m:
        E, F = F, E
    if k != m:  # project the smaller blade of normals on the other
        shadow = ((E << F) | ~F).select_keys(E.keys)
        size = lengths(shadow.coefficients)[..., None]
        F = E.new(E.keys, np.where(size == 0, 0, shadow.coefficients / np.where(size == 0, 1, size)))
    # Kahan's formula, exact for small angles too; a zero shadow gives a right angle
    e, f = E.coefficients, F.coefficients
    return 2 * np.arctan2(lengths(e - f), lengths(e + f))


def _two(A: Multivector, B: Multivector, owner: str) -> tuple[Any, Any]:
    """Return two flats of one projective algebra, each the part of its one grade."""
    dimension_of(A, owner, "A")
    of_algebra(B, A.algebra, "B", owner)
    what = "a point, line, plane or other flat"
    return blade_of(A, "A", owner, what, exact=True), blade_of(B, "B", owner, what, exact=True)


@specialized()
def project(A: Multivector, B: Multivector, /) -> Multivector:
    """Return (A · B) B⁻¹, the orthogonal projection of a flat A onto a flat B; · is the fat dot.

    Of a flat A of at least B's grade it is the image: the foot of a point in a plane or on a line, the shadow of a line
    in a plane. Of a flat A of smaller grade it is the parallel through B: the plane through a point or a line, the line
    through a point, each the one nearest to A. Either way the result and B are incident, to project again changes
    nothing, and ``A = project(A, B) + reject(A, B)``. The weight of A is kept, times the cosine of the angle of A and
    B where that matters; so 0 comes back where the image is not a flat of A's grade, as for a line at right angles to a
    plane. A may be ideal, a `direction`.

    Parameters
    ----------
    A, B : Multivector
        Flats of grade 1 to n; batches broadcast. B is not ideal, and its scale does not count.

    Raises
    ------
    ArgumentError
        If B is ideal, so that it has no inverse.

    Notes
    -----
    `Multivector.project` is the projection of *subspaces*, the outermorphism of that of vectors; here vectors are
    planes, and a point is a wedge of n of them, whose projection on one plane vanishes as such.

    References
    ----------
    L. Dorst and S. De Keninck, "A guided tour to the plane-based geometric algebra PGA", 2022, section 2.8.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> P, p, L = pga.point(alg, [1, 2, 3]), pga.plane(alg, [0, 0, 1]), pga.line(alg, [0, 0, 0], [1, 0, 0])
    >>> pga.coordinates(pga.project(P, p)) + 0.0, pga.coordinates(pga.project(P, L)) + 0.0
    (array([1., 2., 0.]), array([1., 0., 0.]))
    >>> pga.project(p, P)  # the parallel plane through P
    -3.0*e0 + e3
    """
    A, B = _two(A, B, "project")
    return _projected(A, B, "project")


@specialized()
def reject(A: Multivector, B: Multivector, /) -> Multivector:
    """Return A - project(A, B), what an orthogonal projection takes away.

    Of a point it is the ideal point from its foot to it, whose length is the distance times the weight; of a plane and
    a point the offset times e0; of a plane and a line or a plane the plane through their meet at right angles to B,
    (A ∧ B) B⁻¹; of two lines that and what their commutator gives.

    Parameters
    ----------
    A, B : Multivector
        As for `project`.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> rest = pga.reject(pga.point(alg, [1, 2, 3]), pga.plane(alg, [0, 0, 1]))
    >>> rest.isclose(pga.direction(alg, [0, 0, 3])), float(pga.ideal_norm(rest))
    (True, 3.0)
    """
    A, B = _two(A, B, "reject")
    return A - _projected(A, B, "reject")


def _projected(A: Any, B: Any, owner: str) -> Any:
    B = unit_scale(B)
    r, s = A.grades[0], B.grades[0]
    E = B.coefficients[..., ~has_e0(B)]
    square = np.asanyarray((E * E).sum(axis=-1))  # B ~B, of the part without e0
    if np.asanyarray(square == 0, dtype=bool).any():
        rule = "a flat that is not ideal"
        raise fail("B", owner, rule, describe("an element at infinity, which has no inverse"))
    reverse = ~B
    over = exact_quotient if B.dtype == object else np.divide
    inverse = reverse.new(reverse.keys, over(reverse.coefficients, square[..., None]))
    common = A.fat_dot(B)  # A · B, then · B⁻¹
    image = common.wedge(inverse) if r >= s else common.fat_dot(inverse)
    return image.on_keys(A.keys)


@specialized()
def meet(A: Multivector, B: Multivector, /) -> Multivector:
    """Return A ∧ B, what two flats have in common: two planes in a line, a plane and a line in a point.

    Parallel ones meet in an ideal element. It is 0 where flats meet that need not, such as two lines of space that
    cross, or where one holds the other: ``A.span(B)``, the span of the planes of both, is their point then.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> L = pga.meet(pga.plane(alg, [1, 0, 0], 1), pga.plane(alg, [0, 1, 0], 2))
    >>> pga.coordinates(pga.meet(L, pga.plane(alg, [0, 0, 1], 3)))
    array([1., 2., 3.])
    """
    A, B = _two(A, B, "meet")
    return A ^ B


@specialized()
def join(A: Multivector, B: Multivector, /) -> Multivector:
    """Return A & B, the flat that holds two flats: two points and their line, a point, a line and their plane.

    It is 0 where a smaller flat holds both, such as the plane of two lines that cross. That one then is
    ``A.intersection(B)``, of the planes that they have in common.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> P, L = pga.point(alg, [0, 0, 5]), pga.line(alg, [0, 0, 0], [1, 0, 0])
    >>> pga.join(P, L)  # normal to e2
    -5.0*e2
    """
    A, B = _two(A, B, "join")
    return A & B
