"""What two conformal objects have in common, classified."""

import math
from typing import Any

import numpy as np

from clifford_rand._checks import one_batch
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.geometry.subspaces import join_and_meet
from clifford_rand.presets.cga.assembly import FLAT, assemble
from clifford_rand.presets.cga.classification import Classified, Object, classify
from clifford_rand.presets.cga.scene import null_algebra, scene_of


@one_batch
def intersect(A: Object, B: Object, *, dual: bool = False, rtol: float = 1e-9) -> Classified:
    """Return what two objects have in common, and what it is: a circle, a tangent, an imaginary circle or other.

    Unlike `meet` it is right for objects that lie together in less than the whole space, as two circles of one plane in
    3-space do: it is the blade of all vectors that both blades contain.

    Parameters
    ----------
    A, B : Multivector or Classified
        Direct, or dual with ``dual``; batches broadcast, and each element may be of another kind.
    rtol : float, default=1e-9
        Directions of the conformal space with a smaller sine of their angle are taken as common, and smaller radii² are
        0, in the unit of the larger radius or the distance of the two.

    Returns
    -------
    Classified
        Direct objects. "dual sphere" (a vector that is no point) and "nothing" where the two are in general position
        without a common point; `has_points` tells in all cases.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(3)
    >>> S = cga.sphere(alg, [0, 0, 0], 5)
    >>> [str(cga.intersect(S, cga.plane(alg, [0, 0, 1], z)).name) for z in (3, 5, 7)]
    ['circle', 'tangent', 'imaginary circle']
    >>> C, D = cga.circle(alg, [0, 0, 0], 5, [0, 0, 1]), cga.circle(alg, [6, 0, 0], 5, [0, 0, 1])
    >>> cga.intersect(C, D)
    Classified(point pair, direction=-1.0*e2, location=[3.0, 0.0, 0.0], radius_squared=16)
    """
    a, b, middle, unit = scene_of(A, B, dual, None, "intersect")
    null = null_algebra(A.algebra)
    one = _meet(assemble(a, null), a.grade, assemble(b, null), b.grade, rtol)
    found = classify(one, rtol=rtol)
    location = found.location * unit[..., None]
    E = found.direction
    if np.any(np.asarray(found.kind) == FLAT):  # the point that is nearest to the origin of the caller
        foot = E.algebra.vector(np.nan_to_num(location + middle))
        across = ((foot ^ E) * ~E).select_keys(keys_of_grades(E.algebra.d, (1,))).coefficients
        location = np.where((np.asarray(found.kind) == FLAT)[..., None], across, location + middle)
    else:
        location = location + middle
    square = (np.asarray(found.radius_squared) * unit**2)[()]
    return Classified(A.algebra, found.grade, found.kind, E, location, square, found.weight)


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
        pieces.append((at, join_and_meet(first, second, "intersect", rtol)[1]))
    keys = keys_of_grades(A.algebra.d, tuple(sorted({g for _, piece in pieces for g in piece.grades})) or (0,))
    array = np.zeros((count, keys.size), dtype=A.dtype)
    for at, piece in pieces:
        array[at] = piece.on_keys(keys).coefficients
    return A.new(keys, array.reshape(*shape, keys.size))
