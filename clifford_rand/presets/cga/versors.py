"""Conformal versors by their parameters: translators, rotors, motors, dilators, inversions, transversions."""

import numpy as np
from numpy.typing import ArrayLike

from clifford_rand._checks import describe, fail, one_batch
from clifford_rand.algebra import Algebra
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga.measures import direct_blade, from_parts, half_power, infinity, model_of, origin
from clifford_rand.presets.inputs import (
    blade_of,
    coordinates_of,
    exact_beside,
    halved,
    lengths,
    numbers_of,
    of_algebra,
    rotation,
)


def translator(alg: Algebra, t: ArrayLike | Multivector) -> Multivector:
    """Return the versors 1 - t n_∞ / 2, which move by +t, of shape (..., n).

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(3)
    >>> cga.down(cga.translator(alg, [1, 2, 3]) >> cga.up(alg, [0, 0, 1])).round(12).tolist()
    [1.0, 2.0, 4.0]
    """
    n, null = model_of(alg, "translator")
    T = coordinates_of(t, n, "t", "translator")
    shift = from_parts(alg, null, T, np.zeros((), dtype=T.dtype), np.zeros((), dtype=T.dtype)) ^ infinity(alg, T.dtype)
    return 1 - shift.new(shift.keys, halved(shift.coefficients))


@one_batch
def rotor(alg: Algebra, B: Multivector, angle: ArrayLike, *, rtol: float | None = None) -> Multivector:
    """Return the rotors cos(angle/2) - sin(angle/2) B/|B|: e12 turns e1 towards e2.

    B may be the dual of a line.

    Raises
    ------
    ArgumentError
        If B is not simple or does not turn (B² ≥ 0).

    Examples
    --------
    >>> import clifford_rand as cr, numpy as np
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(3)
    >>> R = cga.rotor(alg, alg.e12, np.pi / 2)
    >>> (cga.down(R >> cga.up(alg, [1, 0, 3])).round(12) + 0.0).tolist()
    [0.0, 1.0, 3.0]
    """
    model_of(alg, "rotor")
    B = exact_beside(of_algebra(B, alg, "B", "rotor"), angle)
    part = blade_of(B, "B", "rotor", "a bivector", exact=B.dtype == object)
    if part.grades != (2,):
        raise fail("B", "rotor", "a bivector", describe(f"grade {part.grades[0]}"))
    rounding = 0.0 if part.dtype == object else 8 * float(np.finfo(part.dtype).eps)
    return rotation(part, angle, "rotor", "B", rounding, rtol)


@one_batch
def motor(
    alg: Algebra, axis: Multivector, angle: ArrayLike, shift: ArrayLike, *, rtol: float | None = None
) -> Multivector:
    """Return screw motions of 3-space: a right-handed turn about a direct `line`, and a shift along it.

    Examples
    --------
    >>> import clifford_rand as cr, numpy as np
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(3)
    >>> M = cga.motor(alg, cga.line(alg, [1, 0, 0], [0, 0, 1]), np.pi / 2, 5)
    >>> cga.down(M >> cga.up(alg, [3, 0, 0])).round(12)
    array([1., 2., 5.])
    """
    n, null = model_of(alg, "motor")
    if n != 3:
        raise fail("alg", "motor", "of 3-space, Algebra.cga(3)", alg, "Use translator(alg, t) * rotor(alg, B, angle).")
    of_algebra(axis, alg, "axis", "motor")
    L, _, flat = direct_blade(axis, "motor", False)
    if L.grades != (3,) or not flat.all():
        raise fail("axis", "motor", "a direct line", describe(f"a blade of grade {L.grades[0]} that is none"))
    B = L.dual() if null else -L.dual()  # eo ∧ ei = -e4 ∧ e5: the two pseudoscalars differ in sign
    e23, e13, e12 = (B.coefficients[..., B.keys.find(mask)] for mask in (0b110, 0b101, 0b011))
    u = np.stack([e23, -e13, e12], axis=-1)
    along = np.asarray(numbers_of(shift, u.dtype, "shift", "motor") / lengths(u))
    return translator(alg, u * along[..., None]) * rotor(alg, B, angle, rtol=rtol)


def dilator(alg: Algebra, factor: ArrayLike, centre: ArrayLike | Multivector | None = None) -> Multivector:
    """Return the versors that scale lengths by ``factor`` > 0 about a centre (the origin): exp(ln(factor)/2 n_o ∧ n_∞).

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(2)
    >>> D = cga.dilator(alg, 3, [1, 0])
    >>> cga.down(D >> cga.up(alg, [2, 1])).round(12)
    array([4., 3.])
    """
    n, _ = model_of(alg, "dilator")
    scale = numbers_of(factor, np.dtype(np.float64), "factor", "dilator")
    if scale.dtype.kind != "f" or (scale <= 0).any():
        raise fail("factor", "dilator", "> 0", factor)
    root = np.sqrt(scale)
    about = origin(alg) ^ infinity(alg)
    D = alg.scalar((root + 1 / root) / 2) + about * ((root - 1 / root) / 2)
    if centre is not None:
        T = translator(alg, coordinates_of(centre, n, "centre", "dilator"))
        D = T * D * ~T
    return D


@one_batch
def inversion(alg: Algebra, centre: ArrayLike | Multivector, radius: ArrayLike) -> Multivector:
    """Return unit dual spheres S: ``S >> P`` is on the ray from the centre to P, at radius²/distance.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(3)
    >>> S = cga.inversion(alg, [0, 0, 0], 2)
    >>> (cga.down(S >> cga.up(alg, [4, 0, 0])).round(12) + 0.0).tolist()  # 2² / 4
    [1.0, 0.0, 0.0]
    """
    r = numbers_of(radius, np.dtype(np.float64), "radius", "inversion")
    if (r == 0).any():
        raise fail("radius", "inversion", "not 0", radius)
    n, null = model_of(alg, "inversion")
    c = coordinates_of(centre, n, "centre", "inversion")
    one = np.ones((), dtype=c.dtype)
    return from_parts(alg, null, c, one, half_power(c, r, "inversion")) / r


def transversion(alg: Algebra, b: ArrayLike | Multivector) -> Multivector:
    """Return the versors 1 - b n_o that invert in the unit sphere, move by b, of shape (..., n), and invert again.

    x goes to (x + x² b) / (1 + 2 x·b + x² b²), the special conformal transformation that fixes the origin and takes
    -b/b² to infinity.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(2)
    >>> cga.down(cga.transversion(alg, [0, 1]) >> cga.up(alg, [1, 0])).round(12)
    array([0.5, 0.5])
    """
    n, null = model_of(alg, "transversion")
    B = coordinates_of(b, n, "b", "transversion")
    zero, one = np.zeros((), dtype=B.dtype), np.ones((), dtype=B.dtype)
    return 1 - (from_parts(alg, null, B, zero, zero) ^ from_parts(alg, null, 0 * B, one, zero))
