"""Motors of the projective model: normalization onto M ~M = 1, and the screw that a motor of space is."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_tolerance, describe, fail
from clifford_rand.algebra import Algebra
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.fusion.specialization import specialized
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.inputs import lengths, real_of, unit_scale
from clifford_rand.presets.pga.flats import dimension_of
from clifford_rand.print_options import record_text

STEPS = 60  # of Newton's iteration for n ≥ 5: it is quadratic, and takes log2 of the condition before that
CLOSED = 4  # n up to which ⟨~M M⟩_4 squares to a number


@specialized()
def normalized(M: Multivector, /) -> Multivector:
    """Return M (~M M)^{-1/2}, so that M ~M = 1 to rounding: motors, reflections, flats, even or odd elements of any n.

    ~M M = s + q is a Study number for n ≤ 4, q of grade 4 with q² = t a number (0 for n = 3, where q = p e0123):

        (s + q)^{-1/2} = (c - q/(2c)) / √(s² - t),  c = √((s + √(s² - t))/2);  for n = 3: (1 - q/(2s)) / √s.

    Every even element of n ≤ 4 becomes a motor so, the mean of several motors for instance; a sum of lines becomes the
    axis of its screw. For n ≥ 5 it is Newton's iteration M ← M (3 - ~M M)/2, and the result must be a versor.
    Those are also what `Multivector.normalized` gives.

    Raises
    ------
    ArgumentError
        For an ideal element, whose norm is 0; for one that is neither even nor odd; for n ≥ 5 if M is not near a
        multiple of a versor.

    References
    ----------
    M. Roelfs and S. De Keninck, "Graded symmetry groups: plane and simple", Advances in Applied Clifford Algebras 33,
    2023, section 8 (Study numbers and their roots).

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> M = pga.normalized(alg("2 + e12 + e03 + 0.1*e0123"))
    >>> (M * ~M).isclose(1, atol=1e-15)
    True
    """
    n = dimension_of(M, "normalized", "M")
    M = real_of(M, "M", "normalized", "a multivector", finite=True)
    if len({k % 2 for k in M.sparse().grades}) > 1:
        raise fail("M", "normalized", "even or odd", describe(f"grades {M.sparse().grades}"), "Use even() or odd().")
    M = unit_scale(M)
    return _by_study(M) if n <= CLOSED else _by_newton(M)


def _square(M: Any) -> tuple[Any, NDArray[Any]]:
    """Return the grades 0 and 4 of ~M M, and the scalar part."""
    X = (~M).gp(M)
    X = X.select_keys(keys_of_grades(X.algebra.d, (0, 4) if X.algebra.d > 3 else (0,)))
    return X, X.coefficients[..., 0]


def _ideal(received: str) -> Exception:
    return fail("M", "normalized", "of non-zero norm", describe(received), "Ideal elements have no unit multiple.")


def _by_study(M: Any) -> Any:
    _, s = _square(M)
    body = (M.coefficients[..., M.keys.masks & 1 == 0] ** 2).sum(axis=-1)
    eps = float(np.finfo(M.dtype).eps)
    if (s > 64 * eps * body).all() and (body > 0).all():
        unit = M.normalized(rtol=0.0)
        X, s = _square(unit)
        if (np.abs(X.coefficients[..., 1:]).max(axis=-1, initial=0) <= 1e-6).all():
            return unit
    raise _ideal("an element at infinity, or a multivector other than a multiple of a motor: ~M M is not invertible")


def _trimmed(product: Any, M: Any) -> Any:
    """Return the product on M's grades, and on those that the other factor has made."""
    parts = {k: product.coefficients[..., product.keys.slices[k]] for k in product.grades}
    held = tuple(k for k, part in parts.items() if k in M.grades or part.any())
    return product.select_keys(keys_of_grades(product.algebra.d, held))


def _by_newton(M: Any) -> Any:
    eps = float(np.finfo(M.dtype).eps)
    for _ in range(STEPS):
        X = (~M).gp(M)
        s = np.asanyarray(X.scalar_part())
        if not (s > 0).all():
            raise _ideal("an element at infinity")
        X = X.new(X.keys, X.coefficients / s[..., None])
        M = M.new(M.keys, M.coefficients / np.sqrt(s)[..., None])
        rest = float(np.abs((X - 1).coefficients).max(initial=0))  # the distance of ~M M from 1
        M = _trimmed(M.gp(1.5 - X / 2), M)  # M ← M (3 - ~M M)/2
        if rest <= 64 * eps:
            break
    if not np.asanyarray(M.is_versor()).all():
        hint = "For data use motor_from_points or motor_from_matrix."
        raise fail("M", "normalized", "near a multiple of a motor", describe("another multivector"), hint)
    return M


class Screw(NamedTuple):
    """A motion of space as a turn about an axis and a shift along it, as `motor` takes it.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> found = pga.screw(pga.motor(alg, pga.line(alg, [1, 0, 0], [1, 0, 1]), 0.5, 2))
    >>> float(found.angle.round(12)), float(found.shift.round(12))
    (0.5, 2.0)
    >>> found.axis.isclose(pga.line(alg, [1, 0, 0], [1, 0, 1]))
    True
    """

    axis: Multivector
    """The lines, of norm 1; right-handed."""
    angle: NDArray[Any]
    """From 0 to π."""
    shift: NDArray[Any]
    """Along the axis, of any sign."""

    def __repr__(self) -> str:
        return record_text(self)

    @property
    def pitch(self) -> NDArray[Any]:
        """The shift for each radian, h in robotics: 2π times that in a turn; inf without a turn.

        Examples
        --------
        >>> alg = cr.Algebra.pga(3)
        >>> axis = pga.line(alg, [0, 0, 0], [0, 0, 1])
        >>> float(pga.screw(pga.motor(alg, axis, 0.5, 2)).pitch.round(12))
        4.0
        """
        angle, shift = np.asanyarray(self.angle), np.asanyarray(self.shift)
        slides = angle == 0
        return np.where(slides, np.where(shift == 0, 0, np.inf), shift / np.where(slides, 1, angle))[()]


@specialized()
def screw(M: Multivector, /, *, rtol: float | None = None) -> Screw:
    """Return the axis, the angle and the shift of motors of space (Chasles): ``motor(alg, *screw(M))`` is M or -M.

    With M = (1 - e0 t/2) R, R = cos(θ/2) - sin(θ/2) u* and u* the line through the origin along u, the shift is t·u,
    and the axis has its point ½ (s + cot(θ/2) u × s), s = t - (t·u) u, nearest to the origin.

    Parameters
    ----------
    M : Multivector
        Motors of `Algebra.pga(3)`, of any scale.
    rtol : float, optional
        sin(θ/2) up to which a motor counts as a pure shift, 4 eps by default. Its axis goes through the origin, along
        the shift; that of the identity is the axis of e3.

    Raises
    ------
    ArgumentError
        If M is not a motor.

    References
    ----------
    K. M. Lynch and F. C. Park, Modern Robotics, 2017, section 3.3.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> found = pga.screw(pga.motor(alg, pga.line(alg, [1, 0, 0], [1, 0, 1]), np.pi / 2, 3))
    >>> float(np.degrees(found.angle).round(9)), float(found.shift.round(9))
    (90.0, 3.0)
    >>> pga.coordinates(pga.project(pga.point(alg, [0, 0, 7]), found.axis)).round(9) + 0.0
    array([1., 0., 7.])
    """
    w, v, t = parts_of_motor(M, "screw")
    alg, dtype = M.algebra, t.dtype
    flip = np.where(w < 0, -1, 1).astype(dtype)
    w, v = w * flip, v * flip[..., None]
    sine = np.asanyarray(lengths(v))
    along = np.asanyarray(lengths(t))
    slides = sine <= check_tolerance(rtol, 4 * float(np.finfo(dtype).eps), "clifford_rand.presets")
    still = slides & (along == 0)
    e3 = np.array([0, 0, 1], dtype=dtype)
    slide = np.where(still[..., None], e3, t / np.where(along == 0, 1, along)[..., None])
    u = np.where(slides[..., None], slide, v / np.where(slides, 1, sine)[..., None])
    shift = np.where(slides, along, (t * u).sum(axis=-1))
    across = t - shift[..., None] * u  # s, the part of t across the axis
    point = (across + (w / np.where(slides, 1, sine))[..., None] * np.cross(u, across)) / 2  # ½ (s + cot(θ/2) u × s)
    angle = np.where(slides, 0, 2 * np.arctan2(sine, w))  # θ from sin(θ/2) and cos(θ/2)
    return Screw(line_of(alg, u, point), angle[()], shift[()])


def line_of(algebra: Algebra, u: NDArray[Any], point: NDArray[Any]) -> Multivector:
    """Return the lines of space through points along unit vectors u: u1 e23 + u2 e31 + u3 e12, and e0 ∧ (point × u)."""
    moment = np.cross(point, u)
    parts = [moment, u[..., 2:], -u[..., 1:2], u[..., :1]]  # e01 e02 e03, e12, e13, e23
    return algebra.new(keys_of_grades(4, (2,)), np.concatenate(parts, axis=-1))


def parts_of_motor(M: Multivector, owner: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return (cos(θ/2), sin(θ/2) u, t) of motors of space (1 - e0 t/2) R, R = cos(θ/2) - sin(θ/2) u*."""
    if dimension_of(M, owner, "M") != 3:
        raise fail("M", owner, "a motor of space, of Algebra.pga(3)", describe(f"one of {M.algebra!r}"))
    M = unit_motor(M, owner)
    e01, e02, e03, e12, e13, e23, e0123 = (M.coefficients[..., k] for k in range(1, 8))
    w = M.coefficients[..., 0]
    v = np.stack([-e23, e13, -e12], axis=-1)
    d = np.stack([-e01, -e02, -e03], axis=-1)  # the dual part as a quaternion (-e0123, d) is ½ t (w, v)
    t = 2 * (-(-e0123)[..., None] * v + w[..., None] * d - np.cross(d, v))
    return w, v, t


def unit_motor(M: Any, owner: str) -> Any:
    """Return M on all even grades and of length 1, if it is a motor: even, M ~M a number to 1e-9."""
    d, M = M.algebra.d, unit_scale(real_of(M, "M", owner, "a motor", finite=True))
    odd = M.coefficients[..., M.keys.grade_of % 2 == 1]
    if odd.any() and not np.abs(odd).max() <= 1e-9:
        raise fail("M", owner, "a motor, an even versor", describe(f"a multivector of grades {M.grades}"))
    even = M.on_keys(keys_of_grades(d, tuple(range(d + 1)))).even() if odd.size else M
    even = even.on_keys(keys_of_grades(d, tuple(range(0, d + 1, 2))))
    if not np.asanyarray(even.is_versor()).all():
        hint = "normalized(M) gives the motor near a sum of motors."
        raise fail("M", owner, "a motor, an even versor", describe("another multivector"), hint)
    s = _square(even)[1]
    return even.new(even.keys, even.coefficients / np.sqrt(s)[..., None])
