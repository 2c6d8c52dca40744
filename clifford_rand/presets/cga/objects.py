"""Conformal objects from coordinates: spheres, planes, circles, lines, point pairs, flats and rounds."""

import functools
import operator
from typing import Any

import numpy as np

from clifford_rand._checks import as_real, describe, fail, one_batch
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.compiler.scalar import TraceError
from clifford_rand.fusion.specialization import specialized
from clifford_rand.fusion.traced_array import is_traced
from clifford_rand.geometry.subspaces import wedge_rows
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga.parts import (
    as_dual,
    flat_parts,
    from_parts,
    half_power,
    is_dual,
    joined,
    model_of,
    round_parts,
)
from clifford_rand.presets.inputs import (
    Vectors,
    check_ends,
    coordinates_of,
    direction_of,
    euclidean,
    halved,
    lengths,
    numbers_of,
)

CLEARLY = 1e-6  # |a ∧ b ∧ …| relative to the lengths, from which a wedge has the digits of an orthogonal basis


@specialized(center=1)
@one_batch
def sphere(algebra: Algebra, /, center: Vectors, radius: ArrayLike, *, dual: bool = False) -> Multivector:
    """Return spheres (circles for n = 2): with ``dual`` the vectors up(center) - radius² n_∞ / 2, else their `undual`.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> S = cga.sphere(alg, [1, 2, 3], 2)
    >>> S.grades, cga.center(S).round(12), float(cga.radius(S))
    ((4,), array([1., 2., 3.]), 2.0)
    """
    n, null = model_of(algebra, "sphere")
    c = coordinates_of(center, n, "center", "sphere")
    r = numbers_of(radius, c.dtype, "radius", "sphere")
    spheres = from_parts(algebra, null, c, np.ones((), dtype=c.dtype), half_power(c, r, "sphere"))
    return spheres if is_dual(dual) else spheres.undual()


@specialized(normal=1)
@one_batch
def plane(algebra: Algebra, /, normal: Vectors, offset: ArrayLike = 0.0, *, dual: bool = False) -> Multivector:
    """Return hyperplanes normal·x = offset: with ``dual`` the vectors normal + offset n_∞, else their `undual`.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> (cga.classify(cga.plane(alg, [0, 0, 1], 3)).location.round(12) + 0.0).tolist()
    [0.0, 0.0, 3.0]
    >>> cga.contains_point(cga.plane(alg, [0, 0, 1], 3), cga.up(alg, [[7, 7, 3], [7, 7, 4]])).tolist()
    [True, False]
    """
    n, null = model_of(algebra, "plane")
    N = coordinates_of(normal, n, "normal", "plane")
    i = numbers_of(offset, N.dtype, "offset", "plane")
    planes = from_parts(algebra, null, N, np.zeros((), dtype=N.dtype), i)
    return planes if is_dual(dual) else planes.undual()


@specialized(center=1, normal=1)
@one_batch
def circle(
    algebra: Algebra,
    /,
    center: Vectors,
    radius: ArrayLike,
    normal: ArrayLike | None = None,
    *,
    dual: bool = False,
) -> Multivector:
    """Return circles of the plane, or of 3-space about a ``normal``.

    Elsewhere take `round_about`, or ``A ^ B ^ C`` of three points.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> C = cga.circle(alg, [1, 0, 0], 2, [0, 0, 1])
    >>> cga.contains_point(C, cga.up(alg, [[3, 0, 0], [1, 2, 0], [1, 0, 2]]))
    array([ True,  True, False])
    """
    n, null = model_of(algebra, "circle")
    if n not in (2, 3):
        hint = "Use round_about, or the wedge of three points."
        raise fail("algebra", "circle", "of 2 or 3 dimensions", algebra, hint)
    if (normal is None) != (n == 2):
        rule = "a vector (..., 3) in 3-space" if n == 3 else "None in the plane"
        raise fail("normal", "circle", rule, normal)
    if normal is None:
        return sphere(algebra, center, radius, dual=dual)
    N, c = coordinates_of(normal, n, "normal", "circle"), coordinates_of(center, n, "center", "circle")
    r = numbers_of(radius, c.dtype, "radius", "circle")
    half_power(c, r, "circle")
    E = euclidean(n).vector(N).undual()
    return _round(algebra, null, E if null else -E, c, r * r, dual)


def line(
    algebra: Algebra, P: Vectors, Q: Vectors | None = None, /, *, direction: Vectors | None = None, dual: bool = False
) -> Multivector:
    """Return lines from P to Q, up(P) ∧ up(Q) ∧ n_∞, or through P along a direction, up(P) ∧ direction ∧ n_∞.

    Raises
    ------
    ArgumentError
        If both are the same point, or the direction is 0.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> cga.classify(cga.line(alg, [1, 2, 3], direction=[0, 0, 2]))
    ConformalObject(line, direction=e3, location=[1.0, 2.0, 0.0])
    >>> bool(cga.contains_point(cga.line(alg, [1, 2, 3], [1, 2, 4]), cga.up(alg, [1, 2, 7])))
    True
    """
    check_ends(Q, direction)
    return _line(algebra, P, Q, direction, dual=dual)


@specialized(P=1, Q=1, direction=1)
@one_batch
def _line(algebra: Algebra, P: Vectors, Q: Any, direction: Any, *, dual: bool = False) -> Multivector:
    n, null = model_of(algebra, "line")
    c = coordinates_of(P, n, "P", "line")
    D = direction_of(direction, n) if Q is None else coordinates_of(Q, n, "Q", "line") - c
    if Q is not None and np.asanyarray((D == 0).all(axis=-1)).any():
        raise fail("Q", "line", "another point than P", describe("the same point"))
    return _flat(algebra, null, euclidean(n).vector(D), c, dual)


@specialized(A=1, B=1)
@one_batch
def point_pair(algebra: Algebra, A: Vectors, B: Vectors, /, *, dual: bool = False) -> Multivector:
    """Return the pairs up(A) ∧ up(B).

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> cga.classify(cga.point_pair(alg, [1, 0, 0], [5, 0, 0]))
    ConformalObject(point pair, direction=e1, location=[3.0, 0.0, 0.0], radius_squared=4)
    """
    n, null = model_of(algebra, "point_pair")
    a, b = (coordinates_of(X, n, name, "point_pair") for X, name in ((A, "A"), (B, "B")))
    square = halved(halved(np.asanyarray(((b - a) ** 2).sum(axis=-1))))
    return _round(algebra, null, euclidean(n).vector(b - a), halved(np.asanyarray(a + b)), square, dual)


def _flat(algebra: Algebra, null: bool, E: Any, c: NDArray[Any], dual: bool) -> Multivector:
    k = E.grades[0] + 2
    return as_dual(joined(algebra, null, k, flat_parts(E, E.algebra.vector(c), k)), dual)


def _round(algebra: Algebra, null: bool, E: Any, c: NDArray[Any], rho: NDArray[Any], dual: bool) -> Multivector:
    parts = round_parts(E, E.algebra.vector(c), rho, null)
    return as_dual(joined(algebra, null, E.grades[0] + 1, parts), dual)


def _direction(directions: ArrayLike, n: int, owner: str) -> Any:
    """Return the wedge of the rows (..., m, n), of length 1."""
    rows = as_real(directions, "directions", owner)
    if rows.ndim < 2 or rows.shape[-1] != n or rows.shape[-2] > n or not np.isfinite(rows).all():
        raise fail("directions", owner, f"finite, of shape (..., m, {n}), m ≤ {n}", describe(f"shape {rows.shape}"))
    rows = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
    m = rows.shape[-2]
    if is_traced(rows):
        return _traced_direction(rows, n)
    orthonormal, triangular = np.linalg.qr(np.swapaxes(rows, -1, -2))
    pivots = np.diagonal(triangular, axis1=-2, axis2=-1)
    lengths: NDArray[Any] = np.sqrt((rows * rows).sum(axis=-1))
    if (abs(pivots) <= 64 * np.finfo(rows.dtype).eps * lengths).any():
        raise fail("directions", owner, "linearly independent", describe("rows that are not"))
    E = wedge_rows(np.swapaxes(orthonormal, -1, -2)) * np.sign(pivots).prod(axis=-1)[..., None]
    return euclidean(n).new(keys_of_grades(n, (m,)), np.array(E))


def _traced_direction(rows: Any, n: int) -> Any:
    """Return the wedge of rows that are far from dependent, of length 1."""
    E: Any = functools.reduce(operator.xor, [euclidean(n).vector(rows[..., i, :]) for i in range(rows.shape[-2])])
    size, sizes = lengths(E.coefficients), lengths(rows)
    if not (size > CLEARLY * functools.reduce(np.multiply, [sizes[..., i] for i in range(rows.shape[-2])])).all():
        raise TraceError("rows are nearly dependent")
    return E.on_keys(keys_of_grades(n, E.grades)) / size


@specialized(through=1, directions=2)
@one_batch
def flat(algebra: Algebra, /, through: Vectors, directions: ArrayLike, *, dual: bool = False) -> Multivector:
    """Return the flats up(through) ∧ E ∧ n_∞ along m directions: flat points, lines, planes and so on.

    Parameters
    ----------
    algebra : Algebra
        Conformal, of n-space.
    through : array_like (..., n)
    directions : array_like (..., m, n)
        m ≥ 0 independent rows; E is their wedge, of length 1.
    dual : bool, default=False

    Examples
    --------
    >>> alg = cr.Algebra.cga(4)
    >>> cga.classify(cga.flat(alg, [0, 0, 0, 1], [[1, 0, 0, 0], [1, 1, 0, 0]]))
    ConformalObject(plane, direction=e12, location=[0.0, 0.0, 0.0, 1.0])
    """
    n, null = model_of(algebra, "flat")
    E = _direction(directions, n, "flat")
    return _flat(algebra, null, E, coordinates_of(through, n, "through", "flat"), dual)


@specialized(center=1, directions=2)
@one_batch
def round_about(
    algebra: Algebra, /, center: Vectors, radius: ArrayLike, directions: ArrayLike, *, dual: bool = False
) -> Multivector:
    """Return the rounds of a center, a radius and m directions: point pairs, circles, spheres in any n.

    T_c[(n_o + r² n_∞/2) ∧ E], as `classify` reads it; a tangent for radius 0.

    Parameters
    ----------
    algebra : Algebra
        Conformal, of n-space.
    center : array_like (..., n)
    radius : array_like (...)
    directions : array_like (..., m, n)
        m ≥ 1 independent rows; E is their wedge, of length 1.
    dual : bool, default=False

    Examples
    --------
    >>> alg = cr.Algebra.cga(4)
    >>> cga.classify(cga.round_about(alg, [0, 0, 0, 1], 2, [[1, 0, 0, 0], [0, 1, 0, 0]]))
    ConformalObject(circle, direction=e12, location=[0.0, 0.0, 0.0, 1.0], radius_squared=4)
    """
    n, null = model_of(algebra, "round_about")
    E = _direction(directions, n, "round_about")
    c = coordinates_of(center, n, "center", "round_about")
    r = numbers_of(radius, E.dtype, "radius", "round_about")
    half_power(c, r, "round_about")
    shape = np.broadcast_shapes(E.shape, c.shape[:-1], r.shape)
    E = E.new(E.keys, np.broadcast_to(E.coefficients, (*shape, E.keys.size)))
    return _round(algebra, null, E, np.broadcast_to(c, (*shape, n)), np.broadcast_to(r * r, shape), dual)
