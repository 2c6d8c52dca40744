"""Points on conformal objects, to draw them: curves and grids of coordinates."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clifford_rand._checks import check_fits, check_integer, check_listed, describe, fail, is_whole
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.basis.arrays import is_tensor, of_one_library
from clifford_rand.fusion.specialization import specialized
from clifford_rand.presets.cga.classification import classify
from clifford_rand.presets.cga.conformal_object import ConformalObject, Object
from clifford_rand.presets.cga.parts import FLAT, ROUND
from clifford_rand.presets.inputs import coordinates_of, floats, numbers_of


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
