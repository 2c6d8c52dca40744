"""Conformal algebra of Euclidean n-space, Cl(n+1, 1): points are null vectors, spheres and planes are blades.

Both bases of `Algebra.cga` do: e_{n+1}² = 1, e_{n+2}² = -1 with n_o = (e_{n+2} - e_{n+1})/2, n_∞ = e_{n+1} + e_{n+2};
or the null basis with eo = n_o and ei = n_∞. Always n_o·n_∞ = -1. Objects are *direct*, the wedge of points on them:
X holds P where P ∧ X = 0. With ``dual=True`` a function takes or makes the dual ``X.dual()``: P ⌋ X* = 0. Objects are
homogeneous: their scale means nothing. A versor V moves by ``V >> X``, which is V X ~V for the versors made here.
"""

import numpy as np
from numpy.typing import ArrayLike

from clifford_rand._checks import describe, fail
from clifford_rand.algebra import Algebra
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga_angle import angle as angle
from clifford_rand.presets.cga_angle import inversive_product as inversive_product
from clifford_rand.presets.cga_classify import Classified as Classified
from clifford_rand.presets.cga_classify import classify as classify
from clifford_rand.presets.cga_distance import closest_points as closest_points
from clifford_rand.presets.cga_distance import distance as distance
from clifford_rand.presets.cga_intersect import intersect as intersect
from clifford_rand.presets.cga_measure import carrier as carrier
from clifford_rand.presets.cga_measure import centre as centre
from clifford_rand.presets.cga_measure import direct_blade, from_parts, halved, model_of, squared
from clifford_rand.presets.cga_measure import down as down
from clifford_rand.presets.cga_measure import infinity as infinity
from clifford_rand.presets.cga_measure import is_incident as is_incident
from clifford_rand.presets.cga_measure import meet as meet
from clifford_rand.presets.cga_measure import normal as normal
from clifford_rand.presets.cga_measure import origin as origin
from clifford_rand.presets.cga_measure import point as point
from clifford_rand.presets.cga_measure import radius as radius
from clifford_rand.presets.cga_measure import radius_squared as radius_squared
from clifford_rand.presets.cga_measure import split_point_pair as split_point_pair
from clifford_rand.presets.cga_measure import up as up
from clifford_rand.presets.cga_sample import sample as sample
from clifford_rand.presets.inputs import blade_of, coordinates_of, lengths, numbers_of, of_algebra, rotation


def sphere(alg: Algebra, centre: ArrayLike | Multivector, radius: ArrayLike, *, dual: bool = False) -> Multivector:
    """Return spheres (circles for n = 2): with ``dual`` the vectors up(centre) - radius² n_∞ / 2, else their `undual`.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(3)
    >>> S = cga.sphere(alg, [1, 2, 3], 2)
    >>> S.grades, cga.centre(S).round(12), float(cga.radius(S))
    ((4,), array([1., 2., 3.]), 2.0)
    """
    n, null = model_of(alg, "sphere")
    c = coordinates_of(centre, n, "centre", "sphere")
    r = numbers_of(radius, c.dtype, "radius", "sphere")
    made = from_parts(alg, null, c, np.ones((), dtype=c.dtype), halved(squared(c, "centre", "sphere") - r * r))
    return made if dual else made.undual()


def plane(alg: Algebra, normal: ArrayLike | Multivector, offset: ArrayLike = 0.0, *, dual: bool = False) -> Multivector:
    """Return hyperplanes normal·x = offset: with ``dual`` the vectors normal + offset n_∞, else their `undual`."""
    n, null = model_of(alg, "plane")
    N = coordinates_of(normal, n, "normal", "plane")
    i = numbers_of(offset, N.dtype, "offset", "plane")
    made = from_parts(alg, null, N, np.zeros((), dtype=N.dtype), i)
    return made if dual else made.undual()


def circle(
    alg: Algebra,
    centre: ArrayLike | Multivector,
    radius: ArrayLike,
    normal: ArrayLike | None = None,
    *,
    dual: bool = False,
) -> Multivector:
    """Return circles of the plane, or of 3-space about a ``normal``. Elsewhere take ``A ^ B ^ C`` of three points.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(3)
    >>> C = cga.circle(alg, [1, 0, 0], 2, [0, 0, 1])
    >>> cga.is_incident(cga.up(alg, [[3, 0, 0], [1, 2, 0], [1, 0, 2]]), C)
    array([ True,  True, False])
    """
    n, _ = model_of(alg, "circle")
    if n not in (2, 3):
        raise fail("alg", "circle", "of 2 or 3 dimensions", alg, "Use the wedge of three points.")
    if (normal is None) != (n == 2):
        rule = "a vector (..., 3) in 3-space" if n == 3 else "None in the plane"
        raise fail("normal", "circle", rule, normal)
    made = sphere(alg, centre, radius, dual=True)
    if normal is not None:
        N, c = coordinates_of(normal, n, "normal", "circle"), coordinates_of(centre, n, "centre", "circle")
        made = made ^ plane(alg, N, (N * c).sum(axis=-1), dual=True)
    return made if dual else made.undual()


def line(alg: Algebra, through: ArrayLike, direction: ArrayLike, *, dual: bool = False) -> Multivector:
    """Return lines up(through) ∧ direction ∧ n_∞. By points: ``A ^ B ^ infinity(alg)``."""
    n, null = model_of(alg, "line")
    D = coordinates_of(direction, n, "direction", "line")
    zero = np.zeros((), dtype=D.dtype)
    made = (
        up(alg, coordinates_of(through, n, "through", "line"))
        ^ from_parts(alg, null, D, zero, zero)
        ^ infinity(alg, D.dtype)
    )
    return made.dual() if dual else made


def point_pair(
    alg: Algebra, A: ArrayLike | Multivector, B: ArrayLike | Multivector, *, dual: bool = False
) -> Multivector:
    """Return the pairs up(A) ∧ up(B)."""
    made = up(alg, A) ^ up(alg, B)
    return made.dual() if dual else made


def translator(alg: Algebra, t: ArrayLike | Multivector) -> Multivector:
    """Return the versors 1 - t n_∞ / 2, which move by +t, of shape (..., n)."""
    n, null = model_of(alg, "translator")
    T = coordinates_of(t, n, "t", "translator")
    shift = from_parts(alg, null, T, np.zeros((), dtype=T.dtype), np.zeros((), dtype=T.dtype)) ^ infinity(alg, T.dtype)
    return 1 - shift._make(shift.keys, halved(shift.coefficients))


def rotor(alg: Algebra, B: Multivector, angle: ArrayLike, *, rtol: float | None = None) -> Multivector:
    """Return the rotors cos(angle/2) - sin(angle/2) B/|B|: e12 turns e1 towards e2.

    B may be the dual of a line.

    Raises
    ------
    ArgumentError
        If B is not simple or does not turn (B² ≥ 0).
    """
    model_of(alg, "rotor")
    part = blade_of(of_algebra(B, alg, "B", "rotor"), "B", "rotor", "a bivector")
    if part.grades != (2,):
        raise fail("B", "rotor", "a bivector", describe(f"grade {part.grades[0]}"))
    rounding = 8 * float(np.finfo(part.dtype).eps)
    return rotation(part, angle, "rotor", "B", rounding, rtol)


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
    along = numbers_of(shift, u.dtype, "shift", "motor") / lengths(u)
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


def inversion(alg: Algebra, centre: ArrayLike | Multivector, radius: ArrayLike) -> Multivector:
    """Return unit dual spheres S: ``S >> P`` is on the ray from the centre to P, at radius²/distance."""
    r = numbers_of(radius, np.dtype(np.float64), "radius", "inversion")
    if (r == 0).any():
        raise fail("radius", "inversion", "not 0", radius)
    return sphere(alg, centre, radius, dual=True) / r
