"""Conformal objects from coordinates, and points on them, to draw them: curves and grids of coordinates."""

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from clifford_rand._checks import as_real, check_fits, check_integer, check_listed, describe, fail, is_whole, one_batch
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.arrays import is_tensor, of_one_library
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.compiler.scalar import TraceError
from clifford_rand.fusion.specialization import specialized
from clifford_rand.fusion.traced_array import is_traced
from clifford_rand.geometry.subspaces import wedge_rows
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga.classification import ConformalObject, Object, classify
from clifford_rand.presets.cga.measures import as_dual, from_parts, half_power, is_dual, model_of
from clifford_rand.presets.cga.parts import FLAT, ROUND, flat_parts, joined, round_parts
from clifford_rand.presets.inputs import (
    Vectors,
    coordinates_of,
    direction_of,
    euclidean,
    floats,
    halved,
    has_direction,
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
    if has_direction(Q, direction):
        return _line_along(algebra, P, direction, dual=dual)
    return _line_through(algebra, P, Q, dual=dual)


@specialized(P=1, direction=1)
@one_batch
def _line_along(algebra: Algebra, P: Vectors, direction: Any, *, dual: bool = False) -> Multivector:
    n, null = model_of(algebra, "line")
    D, c = direction_of(direction, n), coordinates_of(P, n, "P", "line")
    return _flat(algebra, null, euclidean(n).vector(D), c, dual)


@specialized(P=1, Q=1)
@one_batch
def _line_through(algebra: Algebra, P: Vectors, Q: Any, *, dual: bool = False) -> Multivector:
    n, null = model_of(algebra, "line")
    c = coordinates_of(P, n, "P", "line")
    D = coordinates_of(Q, n, "Q", "line") - c
    if np.asanyarray((D == 0).all(axis=-1)).any():
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


def sample(
    X: Object,
    /,
    n_points: int | Sequence[int] = 64,
    *,
    extent: ArrayLike = 1.0,
    around: ArrayLike | None = None,
    dual: bool = False,
    rtol: float | None = None,
) -> NDArray[Any]:
    """Return points on objects: curves of circles and lines, grids of spheres and planes, both points of a pair.

    A flat c + U t is taken at t from -extent to extent, a round c + r U v at v by spherical coordinates: angles from 0
    to π, and the last from 0 to 2π, so that a circle closes.

    Parameters
    ----------
    X : Multivector or ConformalObject
        Objects of one kind: a batch has circles, or lines, not both.
    n_points : int or sequence of int, default=64
        How many values of each parameter: one for circles and lines, two for spheres and planes.
    extent : float or array
        Half the length that is shown of lines and planes.
    around : array_like (..., n), optional
        The point whose projection is the middle of what is shown of a flat; the origin by default.
    dual, rtol
        As in `classify`.

    Returns
    -------
    ndarray or tensor (..., n_1, …, n_p, n)
        p = 0 for points; point pairs are (..., 2, n).

    Raises
    ------
    ArgumentError
        For objects that hold no finite point, and batches of several kinds.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> [cga.sample(cga.sphere(alg, [0, 0, 1], 2), (20, 40)).shape, cga.sample(cga.up(alg, [0, 0, 1])).shape]
    [(20, 40, 3), (3,)]
    >>> cga.sample(cga.line(alg, [0, 0, 1], direction=[1, 0, 0]), 2).tolist()
    [[-1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
    """
    kind, middle, scale, U = _shown(X, extent, dual=dual, rtol=rtol)
    if kind not in (FLAT, ROUND):
        return middle
    m, n = U.shape[-2:]
    p = m if kind == FLAT else m - 1
    counts = (n_points,) * p if n_points.__class__ is int and n_points > 0 else _counts(n_points, p)
    weights, grid = _weights(kind, m, counts)
    centers = [] if kind != FLAT or around is None else [coordinates_of(around, n, "around", "sample")]
    middle, scale, U, weights, *centers = of_one_library([middle, scale, U, weights, *centers])
    for center in centers:
        middle = middle + (U.swapaxes(-1, -2) @ (U @ (center - middle)[..., None]))[..., 0]
    spread = weights @ U if m else 0 * middle[..., None, :]
    points = middle[..., None, :] + scale[..., None, None] * spread
    points = points.reshape(*points.shape[:-2], *grid, n)
    return points if is_tensor(points) else np.asanyarray(points, dtype=U.dtype)


@specialized(symbols=False)
def _shown(X: Any, extent: ArrayLike, *, dual: bool, rtol: float | None) -> tuple[str, NDArray[Any], Any, NDArray[Any]]:
    """Return the one kind of objects, their locations, radii or extents, and directions (..., m, n)."""
    objects = X if isinstance(X, ConformalObject) else classify(X, dual=dual, rtol=rtol)
    if not np.size(objects.kind):
        raise fail("X", "sample", "one object or more", describe(f"a batch of shape {objects.shape}"))
    if not np.all(objects.has_points):
        names = ", ".join(np.unique(objects.name).tolist())
        raise fail("X", "sample", "objects that hold finite points", describe(names))
    if np.unique(objects.kind).size > 1 or np.unique(objects.dimension).size > 1:
        names = ", ".join(np.unique(objects.name).tolist())
        raise fail("X", "sample", "objects of one kind", describe(names), "Take them one by one.")
    kind, U = str(np.asanyarray(objects.kind).flat[0]), objects.directions()
    half = floats(numbers_of(extent, U.dtype, "extent", "sample"), "extent", "sample")
    if half.dtype.kind != "f" or (half <= 0).any():
        raise fail("extent", "sample", "numbers > 0", extent)
    return kind, objects.location, half if kind == FLAT else np.asanyarray(objects.radius), U


def _counts(n_points: Any, p: int) -> tuple[int, ...]:
    rule = f"one number of points, or {p}"
    listed = [n_points] * p if is_whole(n_points) else check_listed(n_points, "n_points", "sample", rule)
    if len(listed) != p:
        raise fail("n_points", "sample", rule, describe(f"{len(listed)} numbers"))
    return tuple(check_integer(size, "n_points", "sample") for size in listed)


@functools.lru_cache(maxsize=16)
def _weights(kind: str, m: int, counts: tuple[int, ...]) -> tuple[NDArray[Any], tuple[int, ...]]:
    """Return coordinates (N, m) and their grid: from -1 to 1 in flats, both points of a pair, or a unit sphere."""
    check_fits(8 * (len(counts) + 2) ** 2 * math.prod(counts), "n_points", "sample")
    if kind == FLAT:
        ranges = [np.linspace(-1.0, 1.0, size) for size in counts]
        points = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1) if ranges else np.zeros((0,))
    else:
        points = _sphere(counts) if m > 1 else np.array([[1.0], [-1.0]])
    return points.reshape(-1, m) if m else points, points.shape[:-1]


def _sphere(counts: tuple[int, ...]) -> NDArray[Any]:
    """Return spherical coordinates of unit vectors: (*counts, len(counts) + 1)."""
    ends = [np.pi] * (len(counts) - 1) + [2 * np.pi]
    angles = np.meshgrid(*(np.linspace(0, end, size) for end, size in zip(ends, counts, strict=True)), indexing="ij")
    sines, columns = np.ones_like(angles[0]), []
    for angle in angles:
        columns.append(sines * np.cos(angle))
        sines = sines * np.sin(angle)
    columns.append(sines)
    return np.stack(columns, axis=-1)
