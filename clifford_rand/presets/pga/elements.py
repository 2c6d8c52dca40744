"""Elements, versors and screw axes of projective algebra from coordinates, and coordinates of points."""

from typing import Any

import numpy as np

from clifford_rand._checks import check_tolerance, describe, fail, one_batch
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.fusion.specialization import specialized
from clifford_rand.geometry.interpolation import slerp
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.inputs import (
    Vectors,
    blade_of,
    check_ends,
    coordinates_of,
    direction_of,
    exact_beside,
    lengths,
    numbers_of,
    of_algebra,
    rotation,
    unit_scale,
)
from clifford_rand.presets.pga.flats import dimension_of, meet, norm


def _n_vector(algebra: Algebra, X: NDArray[Any], weight: int) -> Multivector:
    """Return ∧_i (weight e_i - X_i e0) to first order in X: blades without e_n come first, the one without e0 last."""
    n = X.shape[-1]
    signs = np.where(np.arange(n, 0, -1) % 2 == 1, -1, 1)
    last = np.full((*X.shape[:-1], 1), weight, dtype=X.dtype)
    array = np.concatenate([X[..., ::-1] * signs.astype(np.int8), last], axis=-1)
    return algebra.new(keys_of_grades(n + 1, (n,)), array)


@specialized(X=1)
def point(algebra: Algebra, X: Vectors, /) -> Multivector:
    """Return points from coordinates (..., n), or vectors of the Euclidean algebra: (e1 - X1 e0) ∧ … ∧ (en - Xn e0).

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> pga.coordinates(pga.point(alg, [1, 2, 3]))
    array([1., 2., 3.])
    """
    n = dimension_of(algebra, "point")
    return _n_vector(algebra, coordinates_of(X, n, "X", "point"), 1)


@specialized(X=1)
def direction(algebra: Algebra, X: Vectors, /) -> Multivector:
    """Return the ideal points in directions (..., n): point(X) + direction(t) is point(X + t).

    Examples
    --------
    >>> pga.direction(cr.Algebra.pga(2), [1.0, 0.0]).sparse()
    -e02
    """
    n = dimension_of(algebra, "direction")
    return _n_vector(algebra, coordinates_of(X, n, "X", "direction"), 0)


@specialized(normal=1)
@one_batch
def plane(algebra: Algebra, /, normal: Vectors, offset: ArrayLike = 0.0) -> Multivector:
    """Return the hyperplane normal·x = offset (a line for n = 2): the vector normal - offset e0.

    Parameters
    ----------
    algebra : Algebra
    normal : array_like of shape (..., n)
        Of any length; for a unit normal ``offset`` is the distance from the origin, along the normal.
    offset : float or array_like

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> float(pga.distance(pga.plane(alg, [0, 0, 1], 5), pga.point(alg, [7, 7, 3])))
    2.0
    """
    n = dimension_of(algebra, "plane")
    N = coordinates_of(normal, n, "normal", "plane")
    shift = numbers_of(offset, N.dtype, "offset", "plane")
    batch = np.broadcast_shapes(N.shape[:-1], shift.shape)
    parts = [np.broadcast_to(-shift, batch)[..., None], np.broadcast_to(N, (*batch, n))]
    return algebra.vector(np.concatenate(parts, axis=-1))


def line(algebra: Algebra, P: Vectors, Q: Vectors | None = None, /, *, direction: Vectors | None = None) -> Multivector:
    """Return the line from P to Q, P & Q, or through P along a direction. Arrays are coordinates of points.

    Q may be an ideal point: ``line(algebra, P, pga.direction(algebra, u))`` is ``line(algebra, P, direction=u)``.

    Raises
    ------
    ArgumentError
        If both are the same point, or the direction is 0.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> pga.line(alg, [0, 0, 0], direction=[0, 0, 1]).sparse()  # the axis of z
    e12
    >>> pga.line(alg, [0, 0, 0], [0, 0, 1]).sparse()
    e12
    """
    check_ends(Q, direction)
    return _line(algebra, P, Q, direction)


@specialized(P=1, Q=1, direction=1)
def _line(algebra: Algebra, P: Vectors, Q: Any, direction: Any) -> Multivector:
    n = dimension_of(algebra, "line")
    start = _end(algebra, P, n, "P")
    joined = start & (_n_vector(algebra, direction_of(direction, n), 0) if Q is None else _end(algebra, Q, n, "Q"))
    if Q is not None and np.asanyarray((joined.coefficients == 0).all(axis=-1)).any():
        raise fail("Q", "line", "another point than P", describe("the same point"))
    return joined


def _end(algebra: Algebra, P: Vectors, n: int, name: str) -> Multivector:
    """Return a point of a line."""
    if isinstance(P, Multivector) and P.algebra == algebra:
        return blade_of(P, name, "line", "a point", grade=n, exact=True)
    return point(algebra, coordinates_of(P, n, name, "line"))


@specialized()
def coordinates(P: Multivector, /, *, rtol: float = 0.0) -> NDArray[Any]:
    """Return the coordinates (..., n) of points.

    Parameters
    ----------
    P : Multivector
        Points, of grade n and of any weight.
    rtol : float, default=0
        A weight of at most ``rtol`` times the largest component counts as zero.

    Raises
    ------
    ArgumentError
        For an ideal point, which has weight zero.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> pga.coordinates(-2 * pga.point(alg, [1, 2, 3])).tolist()  # of any weight
    [1.0, 2.0, 3.0]
    """
    n = dimension_of(P, "coordinates", "P")
    values = blade_of(P, "P", "coordinates", "a point", grade=n, exact=True).coefficients
    weight = values[..., -1:]
    rtol = check_tolerance(rtol, 0.0, "coordinates") if values.dtype != object else 0  # exact numbers have no rounding
    limit = rtol * np.abs(values).max(axis=-1, keepdims=True) if rtol else 0
    if np.asanyarray(abs(weight) <= limit if rtol else weight == 0, dtype=bool).any():
        raise fail("P", "coordinates", "a point of weight ≠ 0", describe("an ideal point"), "It is a direction.")
    signs = np.where(np.arange(1, n + 1) % 2 == 1, -1, 1).astype(np.int8)
    return values[..., -2::-1] * signs / weight


@specialized(symbols=False)  # its logarithm is a series
@one_batch
def sclerp(A: Multivector, B: Multivector, t: ArrayLike, /, *, shortest: bool = True) -> Multivector:
    """Return A exp(t log(~A B)), the screw motion from one motor to another: `clifford_rand.slerp`, its other name.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> screw = pga.motor(alg, alg.e12, np.pi / 2, 4.0)
    >>> pga.sclerp(alg.scalar(1.0), screw, 0.5).isclose(pga.motor(alg, alg.e12, np.pi / 4, 2.0))
    True
    """
    M: Multivector = slerp(A, B, t, shortest=shortest)
    return M


@specialized(t=1)
def translator(algebra: Algebra, t: Vectors, /) -> Multivector:
    """Return the motors 1 - e0 t / 2, which move by +t, of shape (..., n).

    Examples
    --------
    >>> alg = cr.Algebra.pga(2)
    >>> T = pga.translator(alg, [1, 2])
    >>> pga.coordinates(T >> pga.point(alg, [10, 10]))
    array([11., 12.])
    """
    n = dimension_of(algebra, "translator")
    step = coordinates_of(t, n, "t", "translator")
    shift = algebra.vector(np.concatenate([np.zeros_like(step[..., :1]), step], axis=-1))
    return 1 - (algebra.e0 ^ shift) / 2


@specialized()
@one_batch
def rotor(algebra: Algebra, /, axis: Multivector, angle: ArrayLike, *, rtol: float | None = None) -> Multivector:
    """Return the rotors cos(angle/2) - sin(angle/2) axis/|axis|, which turn counter-clockwise about an axis.

    Parameters
    ----------
    algebra : Algebra
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
    >>> alg = cr.Algebra.pga(2)
    >>> R = pga.rotor(alg, pga.point(alg, [1, 1]), np.pi / 2)
    >>> pga.coordinates(R >> pga.point(alg, [2, 1])).round(12)
    array([1., 2.])
    """
    dimension_of(algebra, "rotor")
    axis = exact_beside(of_algebra(axis, algebra, "axis", "rotor"), angle)
    B = blade_of(axis, "axis", "rotor", "an axis", grade=2, exact=axis.dtype == object)
    return rotation(B, angle, "rotor", "axis", 0.0, rtol)


@specialized()
@one_batch
def motor(
    algebra: Algebra, /, axis: Multivector, angle: ArrayLike, shift: ArrayLike, *, rtol: float | None = None
) -> Multivector:
    """Return screw motions of 3-space: a turn about a line and a shift along it, in the line's direction.

    In other dimensions, and for other shifts, multiply: ``translator(algebra, t) * rotor(algebra, axis, angle)`` turns
    first.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> M = pga.motor(alg, pga.line(alg, [1, 0, 0], [1, 0, 1]), np.pi, 5)
    >>> pga.coordinates(M >> pga.point(alg, [0, 0, 0])).round(12) + 0.0
    array([2., 0., 5.])
    """
    n = dimension_of(algebra, "motor")
    if n != 3:
        hint = "Use translator(algebra, t) * rotor(algebra, axis, angle)."
        raise fail("algebra", "motor", "of 3-space, Algebra.pga(3)", algebra, hint)
    axis = exact_beside(exact_beside(axis, angle), shift)
    R = rotor(algebra, axis, angle, rtol=rtol)
    B = unit_scale(blade_of(axis, "axis", "motor", "an axis", grade=2, exact=True))
    u = B.coefficients[..., [5, 4, 3]] * np.array([1, -1, 1], dtype=np.int8)  # e23, -e13, e12: the line's direction
    along = numbers_of(shift, B.dtype, "shift", "motor")
    return translator(algebra, u * np.asanyarray(along / lengths(u))[..., None]) * R


@specialized()
def screw_axis(algebra: Algebra, /, axis: Multivector, pitch: ArrayLike = 0.0) -> Multivector:
    """Return the screw axes S of joints that turn about an axis, and shift by ``pitch`` along it for each radian.

    Parameters
    ----------
    algebra : Algebra
        ``Algebra.pga(n)``.
    axis : Multivector
        Of grade 2: a line of space, right-handed, a point of the plane. Its scale does not count.
    pitch : float or array_like, default=0
        Only in space. A prismatic joint, which only slides, is `slide_axis`.

    Returns
    -------
    Multivector
        axis/|axis| + pitch e0 ∧ u: exp(-q S/2) is the motor of the turn q and the shift q·pitch.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> line = pga.line(alg, [1, 0, 0], [1, 0, 1])
    >>> (-np.pi / 2 / 2 * pga.screw_axis(alg, line, 0.1)).exp().isclose(pga.motor(alg, line, np.pi / 2, np.pi / 20))
    True
    """
    n = dimension_of(algebra, "screw_axis")
    B = blade_of(of_algebra(axis, algebra, "axis", "screw_axis"), "axis", "screw_axis", "an axis", grade=2)
    size = np.asanyarray(norm(B))
    if (size == 0).any():
        hint = "slide_axis takes a direction."
        raise fail("axis", "screw_axis", "not ideal", describe("an axis at infinity"), hint)
    B = B.new(B.keys, B.coefficients / size[..., None])
    h = numbers_of(pitch, B.dtype, "pitch", "screw_axis")
    if not h.any():
        return B.new(B.keys, B.coefficients * np.ones_like(h)[..., None])
    if n != 3:
        raise fail("pitch", "screw_axis", "0 but in space", pitch, "Add slide_axis(algebra, u) to the axis.")
    u = B.coefficients[..., [5, 4, 3]] * np.array([1, -1, 1], dtype=np.int8)
    return B + h * slide_axis(algebra, u)


@specialized(u=1)
def slide_axis(algebra: Algebra, u: Vectors, /) -> Multivector:
    """Return the axes e0 ∧ u of prismatic joints, which slide by q u; u of any length.

    Examples
    --------
    >>> alg = cr.Algebra.pga(2)
    >>> (-2 / 2 * pga.slide_axis(alg, [0, 1])).exp().isclose(pga.translator(alg, [0, 2]))
    True
    """
    n = dimension_of(algebra, "slide_axis")
    along = coordinates_of(u, n, "u", "slide_axis")
    e0 = algebra.e0.new(algebra.e0.keys, np.ones(1, dtype=along.dtype))
    return meet(e0, algebra.vector(np.concatenate([np.zeros_like(along[..., :1]), along], axis=-1)))
