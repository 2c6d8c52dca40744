"""Flats of the projective model on each other: projection, rejection, meet and join."""

from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.basis.coefficients import exact_quotient
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.inputs import blade_of, of_algebra, unit_scale
from clifford_rand.presets.pga.measures import dimension_of, has_e0


def _two(A: Multivector, B: Multivector, owner: str) -> tuple[Any, Any]:
    """Return two flats of one projective algebra, each the part of its one grade."""
    dimension_of(getattr(A, "algebra", A), owner)
    of_algebra(B, A.algebra, "B", owner)
    what = "a point, line, plane or other flat"
    return blade_of(A, "A", owner, what, exact=True), blade_of(B, "B", owner, what, exact=True)


def project(A: Multivector, B: Multivector) -> Multivector:
    """Return (A · B) B⁻¹, the orthogonal projection of a flat A onto a flat B; · is the fat dot.

    Of a flat A of at least B's grade it is the image: the foot of a point in a plane or on a line, the shadow of a line
    in a plane. Of a flat A of smaller grade it is the parallel through B: the plane through a point or a line, the line
    through a point, each the one nearest to A. Either way the result and B are incident, to project again changes
    nothing, and ``A = project(A, B) + reject(A, B)``. The weight of A is kept, times the cosine of the angle of A and
    B where that matters; so 0 comes back where the image is no flat of A's grade, as for a line at right angles to a
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
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import pga
    >>> alg = cr.Algebra.pga(3)
    >>> P, p, L = pga.point(alg, [1, 2, 3]), pga.plane(alg, [0, 0, 1]), pga.line(alg, [0, 0, 0], [1, 0, 0])
    >>> pga.coordinates(pga.project(P, p)) + 0.0, pga.coordinates(pga.project(P, L)) + 0.0
    (array([1., 2., 0.]), array([1., 0., 0.]))
    >>> pga.project(p, P)  # the parallel plane through P
    -3.0*e0 + 1.0*e3
    """
    A, B = _two(A, B, "project")
    return _projected(A, B, "project")


def reject(A: Multivector, B: Multivector) -> Multivector:
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
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import pga
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
    square = np.asarray((E * E).sum(axis=-1))
    if np.asarray(square == 0, dtype=bool).any():
        rule = "a flat that is not ideal"
        raise fail("B", owner, rule, describe("an element at infinity, which has no inverse"))
    reverse = ~B
    over = exact_quotient if B.dtype == object else np.divide
    inverse = reverse.new(reverse.keys, over(reverse.coefficients, square[..., None]))
    common = A.fat_dot(B)
    image = common.wedge(inverse) if r >= s else common.fat_dot(inverse)
    return image.on_keys(A.keys)


def meet(A: Multivector, B: Multivector) -> Multivector:
    """Return A ∧ B, what two flats have in common: two planes in a line, a plane and a line in a point.

    Parallel ones meet in an ideal element. It is 0 where flats meet that need not, such as two lines of space that
    cross, or where one holds the other: ``A.join(B)``, the span of the planes of both, is their common point then.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import pga
    >>> alg = cr.Algebra.pga(3)
    >>> L = pga.meet(pga.plane(alg, [1, 0, 0], 1), pga.plane(alg, [0, 1, 0], 2))
    >>> pga.coordinates(pga.meet(L, pga.plane(alg, [0, 0, 1], 3)))
    array([1., 2., 3.])
    """
    A, B = _two(A, B, "meet")
    return A ^ B


def join(A: Multivector, B: Multivector) -> Multivector:
    """Return A & B, the flat that holds two flats: two points and their line, a point, a line and their plane.

    It is 0 where a smaller flat holds both, such as the plane of two lines that cross: ``A.meet(B)``, the planes that
    they have in common, is that one then.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import pga
    >>> alg = cr.Algebra.pga(3)
    >>> P, L = pga.point(alg, [0, 0, 5]), pga.line(alg, [0, 0, 0], [1, 0, 0])
    >>> pga.join(P, L)  # normal to e2
    -5.0*e2
    """
    A, B = _two(A, B, "join")
    return A & B
