"""Conformal versors by their parameters, and the translation, rotation, dilation, and transversion of a versor."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from clifford_rand._checks import check_tolerance, describe, fail, one_batch
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.keys import Keys, keys_of_masks
from clifford_rand.fusion.specialization import specialized
from clifford_rand.fusion.traced_array import decided, zeros
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga.conformal_object import down, origin
from clifford_rand.presets.cga.parts import direct_blade, from_parts, half_power, infinity, model_of, parts_of
from clifford_rand.presets.inputs import (
    Vectors,
    blade_of,
    coordinates_of,
    exact_beside,
    halved,
    largest,
    lengths,
    numbers_of,
    of_algebra,
    real_of,
    rotation,
    unit_factor,
    unit_scale,
)


@specialized(t=1)
def translator(algebra: Algebra, t: Vectors, /) -> Multivector:
    """Return the versors 1 - t n_∞ / 2, which move by +t, of shape (..., n).

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> cga.down(cga.translator(alg, [1, 2, 3]) >> cga.up(alg, [0, 0, 1])).round(12).tolist()
    [1.0, 2.0, 4.0]
    """
    n, null = model_of(algebra, "translator")
    T = coordinates_of(t, n, "t", "translator")
    shift = from_parts(algebra, null, T, np.zeros((), dtype=T.dtype), np.zeros((), dtype=T.dtype)) ^ infinity(
        algebra, dtype=T.dtype
    )
    return 1 - shift.new(shift.keys, halved(shift.coefficients))


@specialized()
@one_batch
def rotor(algebra: Algebra, /, axis: Multivector, angle: ArrayLike, *, rtol: float | None = None) -> Multivector:
    """Return the rotors cos(angle/2) - sin(angle/2) B/|B|: e12 turns e1 towards e2.

    B, the ``axis``, may be the dual of a line.

    Raises
    ------
    ArgumentError
        If B is not simple or does not turn (B² ≥ 0).

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> R = cga.rotor(alg, alg.e12, np.pi / 2)
    >>> (cga.down(R >> cga.up(alg, [1, 0, 3])).round(12) + 0.0).tolist()
    [0.0, 1.0, 3.0]
    """
    model_of(algebra, "rotor")
    B = exact_beside(of_algebra(axis, algebra, "axis", "rotor"), angle)
    part = blade_of(B, "axis", "rotor", "a bivector", exact=B.dtype == object)
    if part.grades != (2,):
        raise fail("axis", "rotor", "a bivector", describe(f"grade {part.grades[0]}"))
    rounding = 0.0 if part.dtype == object else 8 * float(np.finfo(part.dtype).eps)
    return rotation(part, angle, "rotor", "axis", rounding, rtol)


@specialized()
@one_batch
def motor(
    algebra: Algebra, /, axis: Multivector, angle: ArrayLike, shift: ArrayLike, *, rtol: float | None = None
) -> Multivector:
    """Return screw motions of 3-space: a right-handed turn about a direct `line`, and a shift along it.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> M = cga.motor(alg, cga.line(alg, [1, 0, 0], direction=[0, 0, 1]), np.pi / 2, 5)
    >>> cga.down(M >> cga.up(alg, [3, 0, 0])).round(12)
    array([1., 2., 5.])
    """
    n, null = model_of(algebra, "motor")
    if n != 3:
        hint = "Use translator(algebra, t) * rotor(algebra, axis, angle)."
        raise fail("algebra", "motor", "of 3-space, Algebra.cga(3)", algebra, hint)
    of_algebra(axis, algebra, "axis", "motor")
    L, _, flat = direct_blade(axis, "motor", False)
    if L.grades != (3,) or not flat.all():
        raise fail("axis", "motor", "a direct line", describe(f"a blade of grade {L.grades[0]} that is none"))
    B = L.dual() if null else -L.dual()  # eo ∧ ei = -e4 ∧ e5: the two pseudoscalars differ in sign
    e23, e13, e12 = (B.coefficients[..., B.keys.find(mask)] for mask in (0b110, 0b101, 0b011))
    u = np.stack([e23, -e13, e12], axis=-1)
    along = np.asanyarray(numbers_of(shift, u.dtype, "shift", "motor") / lengths(u))
    return translator(algebra, u * along[..., None]) * rotor(algebra, B, angle, rtol=rtol)


@specialized(center=1)
def dilator(algebra: Algebra, /, factor: ArrayLike, center: Vectors | None = None) -> Multivector:
    """Return the versors that scale lengths by ``factor`` > 0 about a center (the origin): exp(ln(factor)/2 n_o ∧ n_∞).

    Examples
    --------
    >>> alg = cr.Algebra.cga(2)
    >>> D = cga.dilator(alg, 3, [1, 0])
    >>> cga.down(D >> cga.up(alg, [2, 1])).round(12)
    array([4., 3.])
    """
    n, _ = model_of(algebra, "dilator")
    middle = None if center is None else coordinates_of(center, n, "center", "dilator")
    scale = numbers_of(factor, np.dtype(np.float64) if middle is None else middle.dtype, "factor", "dilator")
    if scale.dtype.kind != "f" or (scale <= 0).any():
        raise fail("factor", "dilator", "> 0", factor)
    root = np.sqrt(scale)
    about = (origin(algebra) ^ infinity(algebra)).astype(root.dtype)
    D = algebra.scalar((root + 1 / root) / 2) + about * ((root - 1 / root) / 2)
    if middle is not None:
        T = translator(algebra, middle)
        D = T * D * ~T
    return D


@specialized(center=1)
@one_batch
def inversion(algebra: Algebra, /, center: Vectors, radius: ArrayLike) -> Multivector:
    """Return unit dual spheres S: ``S >> P`` is on the ray from the center to P, at radius²/distance.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> S = cga.inversion(alg, [0, 0, 0], 2)
    >>> (cga.down(S >> cga.up(alg, [4, 0, 0])).round(12) + 0.0).tolist()  # 2² / 4
    [1.0, 0.0, 0.0]
    """
    n, null = model_of(algebra, "inversion")
    c = coordinates_of(center, n, "center", "inversion")
    r = numbers_of(radius, c.dtype, "radius", "inversion")
    if (r == 0).any():
        raise fail("radius", "inversion", "not 0", radius)
    unit = np.ones((), dtype=c.dtype)
    return from_parts(algebra, null, c, unit, half_power(c, r, "inversion")) / r


@specialized(b=1)
def transversion(algebra: Algebra, b: Vectors, /) -> Multivector:
    """Return the versors 1 - b n_o that invert in the unit sphere, move by b, of shape (..., n), and invert again.

    x goes to (x + x² b) / (1 + 2 x·b + x² b²), the special conformal transformation that fixes the origin and takes
    -b/b² to infinity.

    Examples
    --------
    >>> alg = cr.Algebra.cga(2)
    >>> cga.down(cga.transversion(alg, [0, 1]) >> cga.up(alg, [1, 0])).round(12)
    array([0.5, 0.5])
    """
    n, null = model_of(algebra, "transversion")
    B = coordinates_of(b, n, "b", "transversion")
    zero, unit = np.zeros((), dtype=B.dtype), np.ones((), dtype=B.dtype)
    return 1 - (from_parts(algebra, null, B, zero, zero) ^ from_parts(algebra, null, 0 * B, unit, zero))


@dataclass(frozen=True, eq=False)
class VersorParts:
    """The parameters of V = weight T R D K, or weight T R D J where ``has_inversion``; arrays over the batch.

    Made by `decompose`.

    Attributes
    ----------
    algebra : Algebra
    translation : ndarray (..., n)
        T moves by it: the image of the origin (of infinity where V has an inversion).
    rotor : Multivector
        R, a product of Euclidean unit vectors: even for rotations, odd with a reflection.
    factor : float
        D scales by it about the origin.
    transversion : ndarray (..., n)
        b of K = 1 - b n_o; 0 where V has an inversion.
    has_inversion : bool
        Where V takes the origin to infinity; J is the inversion in the unit sphere about the origin.
    weight : float
        Positive.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> parts = cga.decompose(cga.dilator(alg, 3, [1, 0, 0]))  # the origin goes to -2 e1
    >>> (parts.translation.round(12) + 0.0).tolist(), float(parts.factor.round(12)), bool(parts.has_inversion)
    ([-2.0, 0.0, 0.0], 3.0, False)
    """

    algebra: Algebra
    translation: NDArray[Any]
    rotor: Multivector
    factor: Any
    transversion: NDArray[Any]
    has_inversion: Any
    weight: Any

    def versors(self) -> tuple[Multivector, Multivector, Multivector, Multivector]:
        """Return T, R, D, and K or J.

        Examples
        --------
        >>> alg = cr.Algebra.cga(2)
        >>> V = cga.translator(alg, [1, 2]) * cga.dilator(alg, 3)
        >>> T, R, D, K = cga.decompose(V).versors()
        >>> T.isclose(cga.translator(alg, [1, 2])), R.isclose(1), (T * R * D * K).isclose(V)
        (True, True, True)
        """
        alg, where = self.algebra, np.asanyarray(self.has_inversion)
        K = transversion(alg, self.transversion)
        J = inversion(alg, np.zeros(alg.d - 2), 1.0).astype(K.dtype)
        last = K * np.where(where, 0.0, 1.0) + J * np.where(where, 1.0, 0.0) if where.any() else K
        return translator(alg, self.translation), self.rotor, dilator(alg, self.factor), last

    def versor(self) -> Multivector:
        """Return the product again, with its weight.

        Examples
        --------
        >>> alg = cr.Algebra.cga(2)
        >>> V = -2 * cga.inversion(alg, [1, 2], 3.0)
        >>> cga.decompose(V).versor().isclose(V)
        True
        """
        T, R, D, K = self.versors()
        return T * R * D * K * self.weight


@specialized()
def decompose(V: Multivector, /, *, rtol: float = 1e-9) -> VersorParts:
    """Return the translation, rotation, dilation and transversion whose product a conformal versor is.

    f: x ↦ V x V⁻¹ is f(x) = a + s R k(x) with the transversion k(x) = (x + x² b)/(1 + 2 x·b + x² b²). a = f(0); k takes
    f⁻¹(∞) to infinity; what is left keeps 0 and ∞: R (cosh + sinh n_o∧n_∞). A versor that takes 0 to infinity has no
    such form, and is f(x) = a + s R x/x².

    Parameters
    ----------
    V : Multivector
        Even or odd versors of any scale, V ~V > 0: motions, similarities, inversions and their products.
    rtol : float, default=1e-9
        How far V may be from a versor, relative to its components.

    Returns
    -------
    VersorParts

    Raises
    ------
    ArgumentError
        If V is not a versor, or V ~V < 0: a product with an odd number of imaginary spheres.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> parts = cga.decompose(cga.translator(alg, [1, 2, 3]) * cga.rotor(alg, alg.e12, 0.5) * cga.dilator(alg, 2))
    >>> parts.translation.round(12).tolist(), float(parts.factor.round(12)), bool(abs(parts.transversion).max() < 1e-12)
    ([1.0, 2.0, 3.0], 2.0, True)
    >>> parts.rotor.log().isclose(-0.25 * alg.e12)
    True
    """
    n, null = model_of(V, "decompose", "V")
    V = real_of(V, "V", "decompose", "a versor")
    rtol = check_tolerance(rtol, 1e-9, "decompose")
    if not np.all(V.is_versor(rtol=rtol)):
        raise fail("V", "decompose", "a versor", describe("another multivector"))
    count, alg = math.prod(V.shape), V.algebra
    flat = V.reshape(count)
    scaled = unit_scale(flat)
    scale = unit_factor(flat, scaled)
    # f(0) and f(∞)
    to_infinity, from_infinity = (_at_infinity((scaled >> P).grade(1), null) for P in (origin(alg), infinity(alg)))
    has_inversion = decided(to_infinity & ~from_infinity)
    keys = keys_of_masks(n + 2, tuple(range(1 << n)))
    a, b, R, factor = (zeros((count, *own), V.coefficients) for own in ((n,), (n,), (keys.size,), ()))
    weight = zeros((count,), V.coefficients) + scale
    for with_inversion in (False, True):
        at = np.flatnonzero(has_inversion == with_inversion)
        if len(at):
            part = scaled[at]
            if with_inversion:
                part = part * inversion(alg, np.zeros(n), 1.0)
            a[at], R[at], factor[at], b[at], size = _affine(part, keys, null, n, rtol)
            weight[at] *= size
    parities = {(k + int(inversions)) % 2 for k in V.grades for inversions in np.unique(has_inversion)}
    grades = tuple(k for k in range(n + 1) if k % 2 in parities)
    rotor = alg.new(keys, R.reshape(*V.shape, keys.size)).part(grades)
    a, b = (x.reshape(*V.shape, n) for x in (a, b))
    factor, has_inversion, weight = (x.reshape(V.shape)[()] for x in (factor, has_inversion, weight))
    return VersorParts(alg, a, rotor, factor, b, has_inversion, weight)


def _at_infinity(P: Any, null: bool) -> NDArray[np.bool_]:
    E, o, i = parts_of(P.on_keys(P.keys.filled), null)
    return np.asanyarray(abs(o) <= 64 * np.finfo(E.dtype).eps * np.maximum(largest(E), abs(i)))


def _affine(V: Any, keys: Keys, null: bool, n: int, rtol: float) -> tuple[Any, Any, Any, Any, Any]:
    """Return a, R, s, b and the weight of versors (N,) that take the origin to a finite point."""
    alg = V.algebra
    a = down((V >> origin(alg)).grade(1), rtol=rtol) + 0.0  # no -0.0
    V = translator(alg, -a) * V
    back = (~V >> infinity(alg)).grade(1)
    E, _, i = parts_of(back.on_keys(back.keys.filled), null)
    b = -E / (2 * i[..., None]) + 0.0  # no -0.0
    V = V * transversion(alg, -b)
    both = keys_of_masks(n + 2, tuple(mask | 0b11 << n for mask in range(1 << n)))
    plain = V.select_keys(keys).coefficients
    moved = zeros(plain.shape, plain)
    moved[..., [keys.find(int(mask) & ~(0b11 << n)) for mask in both.masks]] = V.select_keys(both).coefficients
    moved = moved if null else -moved  # e_{n+1} ∧ e_{n+2} = -n_o ∧ n_∞
    large, small = plain + moved, plain - moved  # weight √s R and weight R/√s
    up, low = np.asanyarray(lengths(large)), np.asanyarray(lengths(small))
    if ((large * small).sum(axis=-1) <= 0).any():
        raise fail("V", "decompose", "a versor with V ~V > 0", describe("one with V ~V < 0"), "Multiply by n_o ∧ n_∞.")
    R = np.where((up >= low)[:, None], large / up[:, None], small / low[:, None])
    return a, R, up / low, b, np.sqrt(up * low)
