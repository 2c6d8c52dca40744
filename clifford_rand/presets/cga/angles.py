"""Angles of conformal objects, of every two kinds."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail, one_batch
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.presets.cga.assembly import FLAT, ROUND, assemble
from clifford_rand.presets.cga.classification import Object
from clifford_rand.presets.cga.scene import null_algebra, scene_of
from clifford_rand.presets.inputs import largest, tolerance


def _unit_blades(A: Any, B: Any, dual: bool, rtol: float | None, owner: str) -> tuple[Any, Any]:
    """Return A and B, about their own centre, with X·X = -1: real rounds and flats that are no points."""
    a, b, _, _ = scene_of(A, B, dual, rtol, owner)
    made = []
    for name, one in (("A", a), ("B", b)):
        square = np.asarray(one.radius_squared)
        flat = np.asarray(one.kind) == FLAT
        sound = (flat | ((np.asarray(one.kind) == ROUND) & (square > 0))) & (np.asarray(one.dimension) > 0)
        if not sound.all():
            others = ", ".join(np.unique(np.asarray(one.name)[~sound]).tolist())
            raise fail(name, owner, "a line, plane, or other flat, or a real round", describe(others))
        weight = 1 / np.sqrt(np.where(flat, 1, square))
        if np.unique(one.grade).size > 1:
            raise fail(name, owner, "of one grade", describe(f"grades {np.unique(one.grade).tolist()}"))
        made.append(assemble(replace(one, weight=weight), null_algebra(one.algebra)))
    return made[0], made[1]


def _inner(A: Any, B: Any) -> NDArray[Any]:
    return np.asarray(A.inner(B).scalar_part())


@one_batch
def inversive_product(A: Object, B: Object, *, dual: bool = False, rtol: float | None = None) -> Any:
    """Return -A·B for A·A = B·B = -1, of two rounds or flats of one grade: a conformal invariant.

    The cosine of the angle where they meet; beyond ±1 for hyperspheres that do not, where it is ± the hyperbolic cosine
    of the inversive distance. Two spheres at a distance D: (r² + s² - D²)/(2 r s).

    References
    ----------
    H. S. M. Coxeter, Inversive distance, Annali di Matematica 71 (1966).

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(3)
    >>> float(cga.inversive_product(cga.sphere(alg, [0, 0, 0], 1), cga.sphere(alg, [4, 0, 0], 2)).round(12))
    -2.75
    """
    a, b = _unit_blades(A, B, dual, rtol, "inversive_product")
    if a.grades != b.grades:
        raise fail("B", "inversive_product", f"of grade {a.grades[0]}", describe(f"grade {b.grades[0]}"), "Use angle.")
    return (-_inner(a, b))[()]


@one_batch
def angle(A: Object, B: Object, *, dual: bool = False, rtol: float | None = None) -> Any:
    """Return the angles of two objects, of any kinds: where they meet, or of their directions if both are flat.

    Two of one grade: arccos(-A·B) for A·A = B·B = -1, from 0 to π by their orientations. For hyperspheres and
    hyperplanes it is that of the normals, which point inwards as `sphere` makes them; for circles and lines with a
    common point that of the tangents there; for skew lines that of the directions. Of two grades: from 0 to π/2, of the
    smaller and its projection on the other.

    Parameters
    ----------
    A, B : Multivector or Classified
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
    >>> import clifford_rand as cr, numpy as np
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(3)
    >>> S, P = cga.sphere(alg, [0, 0, 0], 2), cga.plane(alg, [0, 0, 1], 1)
    >>> [float(np.degrees(cga.angle(S, X)).round(9)) for X in (P, cga.line(alg, [0, 1, 0], [1, 0, 0]))]
    [120.0, 60.0]
    """
    a, b = _unit_blades(A, B, dual, rtol, "angle")
    if a.grades[0] > b.grades[0]:
        a, b = b, a
    size = largest(a.coefficients) * largest(b.coefficients)
    size = size * np.maximum(size, 1)
    if a.grades != b.grades:
        keys = keys_of_grades(b.algebra.d, a.grades)
        shadow = -((a << b) * ~b).select_keys(keys)
        square = -_inner(shadow, shadow)
        none = square <= tolerance(rtol, a.dtype) * size
        length = np.sqrt(np.where(none, 1, square))
        unit = shadow.new(keys, np.where(none[..., None], 0, shadow.coefficients / length[..., None]))
        minus, plus = -_inner(a - unit, a - unit), -_inner(a + unit, a + unit)
        minus, plus = np.where(none, 1, minus), np.where(none, 1, plus)
        minus = np.where(square < -tolerance(rtol, a.dtype) * size, np.nan, minus)
    else:
        minus, plus = -_inner(a - b, a - b), -_inner(a + b, a + b)
    slack = tolerance(rtol, a.dtype) * size
    minus, plus = (np.where(x < -slack, np.nan, np.maximum(x, 0)) for x in (minus, plus))
    return (2 * np.arctan2(np.sqrt(minus), np.sqrt(plus)))[()]
