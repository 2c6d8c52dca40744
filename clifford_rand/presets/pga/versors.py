"""Translators, rotors and motors of projective algebra."""

import numpy as np
from numpy.typing import ArrayLike

from clifford_rand._checks import fail, one_batch
from clifford_rand.algebra import Algebra
from clifford_rand.geometry.interpolation import slerp
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.inputs import (
    blade_of,
    coordinates_of,
    exact_beside,
    lengths,
    numbers_of,
    of_algebra,
    rotation,
    unit_scale,
)
from clifford_rand.presets.pga.measures import dimension_of

sclerp = slerp  # its name where motors are concerned


def translator(alg: Algebra, t: ArrayLike | Multivector) -> Multivector:
    """Return the motors 1 - e0 t / 2, which move by +t, of shape (..., n).

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import pga
    >>> alg = cr.Algebra.pga(2)
    >>> T = pga.translator(alg, [1, 2])
    >>> pga.coordinates(T >> pga.point(alg, [10, 10]))
    array([11., 12.])
    """
    n = dimension_of(alg, "translator")
    step = coordinates_of(t, n, "t", "translator")
    shift = alg.vector(np.concatenate([np.zeros_like(step[..., :1]), step], axis=-1))
    return 1 - (alg.e0 ^ shift) / 2


@one_batch
def rotor(alg: Algebra, axis: Multivector, angle: ArrayLike, *, rtol: float | None = None) -> Multivector:
    """Return the rotors cos(angle/2) - sin(angle/2) axis/|axis|, which turn counter-clockwise about an axis.

    Parameters
    ----------
    alg : Algebra
    axis : Multivector
        Of grade 2: a point for n = 2; a line for n = 3, right-handed about its direction from P to Q; for every n the
        bivector e12, which turns e1 towards e2.
    angle : float or array_like
    rtol : float, optional
        How far axis ∧ axis may be from zero; eps^(3/4) by default.

    Raises
    ------
    ArgumentError
        For an ideal axis and for a bivector that is not simple.

    Examples
    --------
    >>> import clifford_rand as cr, numpy as np
    >>> from clifford_rand.presets import pga
    >>> alg = cr.Algebra.pga(2)
    >>> R = pga.rotor(alg, pga.point(alg, [1, 1]), np.pi / 2)
    >>> pga.coordinates(R >> pga.point(alg, [2, 1])).round(12)
    array([1., 2.])
    """
    dimension_of(alg, "rotor")
    axis = exact_beside(of_algebra(axis, alg, "axis", "rotor"), angle)
    B = blade_of(axis, "axis", "rotor", "an axis", grade=2, exact=axis.dtype == object)
    return rotation(B, angle, "rotor", "axis", 0.0, rtol)


@one_batch
def motor(
    alg: Algebra, axis: Multivector, angle: ArrayLike, shift: ArrayLike, *, rtol: float | None = None
) -> Multivector:
    """Return screw motions of 3-space: a turn about a line and a shift along it, in the line's direction.

    In other dimensions, and for other shifts, multiply: ``translator(alg, t) * rotor(alg, axis, angle)`` turns first.

    Examples
    --------
    >>> import clifford_rand as cr, numpy as np
    >>> from clifford_rand.presets import pga
    >>> alg = cr.Algebra.pga(3)
    >>> M = pga.motor(alg, pga.line(alg, [1, 0, 0], [1, 0, 1]), np.pi, 5)
    >>> pga.coordinates(M >> pga.point(alg, [0, 0, 0])).round(12) + 0.0
    array([2., 0., 5.])
    """
    n = dimension_of(alg, "motor")
    if n != 3:
        raise fail(
            "alg", "motor", "of 3-space, Algebra.pga(3)", alg, "Use translator(alg, t) * rotor(alg, axis, angle)."
        )
    axis = exact_beside(exact_beside(axis, angle), shift)
    R = rotor(alg, axis, angle, rtol=rtol)
    B = unit_scale(blade_of(axis, "axis", "motor", "an axis", grade=2, exact=True))
    u = B.coefficients[..., [5, 4, 3]] * np.array([1, -1, 1], dtype=np.int8)  # e23, -e13, e12: the line's direction
    along = numbers_of(shift, B.dtype, "shift", "motor")
    return translator(alg, u * np.asarray(along / lengths(u))[..., None]) * R
