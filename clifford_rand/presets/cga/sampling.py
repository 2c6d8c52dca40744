"""Points on conformal objects, to draw them: curves and grids of coordinates."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import check_fits, check_integer, check_listed, describe, fail, is_whole
from clifford_rand.presets.cga.classification import Classified, Object, classify
from clifford_rand.presets.cga.parts import FLAT, ROUND
from clifford_rand.presets.inputs import coordinates_of, floats, numbers_of


def sample(
    X: Object,
    count: int | Sequence[int] = 64,
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
    X : Multivector or Classified
        Objects of one kind: a batch has circles, or lines, not both.
    count : int or sequence of int, default=64
        How many values of each parameter: one for circles and lines, two for spheres and planes.
    extent : float or array
        Half the length that is shown of lines and planes.
    around : array_like (..., n), optional
        The point whose projection is the middle of what is shown of a flat; the origin by default.
    dual, rtol
        As in `classify`.

    Returns
    -------
    ndarray (..., count_1, …, count_p, n)
        p = 0 for points; point pairs are (..., 2, n).

    Raises
    ------
    ArgumentError
        For objects that hold no finite point, and batches of several kinds.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(3)
    >>> [cga.sample(cga.sphere(alg, [0, 0, 1], 2), (20, 40)).shape, cga.sample(cga.up(alg, [0, 0, 1])).shape]
    [(20, 40, 3), (3,)]
    >>> cga.sample(cga.line(alg, [0, 0, 1], [1, 0, 0]), 2).tolist()
    [[-1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
    """
    objects = X if isinstance(X, Classified) else classify(X, dual=dual, rtol=rtol)
    if not np.size(objects.kind):
        raise fail("X", "sample", "one object or more", describe(f"a batch of shape {objects.shape}"))
    kinds = np.unique(objects.name)
    if not np.all(objects.has_points):
        raise fail("X", "sample", "objects that hold finite points", describe(", ".join(kinds.tolist())))
    if len(kinds) > 1:
        raise fail("X", "sample", "objects of one kind", describe(", ".join(kinds.tolist())), "Take them one by one.")
    kind, n = str(np.asarray(objects.kind).flat[0]), objects.algebra.d - 2
    if kind not in (FLAT, ROUND):
        return objects.location
    U = objects.directions()
    m = U.shape[-2]
    counts = _counts(count, m if kind == FLAT else m - 1)
    half = floats(numbers_of(extent, U.dtype, "extent", "sample"), "extent", "sample")
    if half.dtype.kind != "f" or (half <= 0).any():
        raise fail("extent", "sample", "numbers > 0", extent)
    if kind == FLAT:
        ranges = [np.linspace(-1.0, 1.0, size) for size in counts]
        weights = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1) if m else np.zeros((0,))
        middle = objects.location
        if around is not None:
            apart = coordinates_of(around, n, "around", "sample") - middle
            middle = middle + (np.swapaxes(U, -1, -2) @ (U @ apart[..., None]))[..., 0]
        scale = half
    else:
        weights = _sphere(counts) if m > 1 else np.array([[1.0], [-1.0]])
        middle, scale = objects.location, np.asarray(objects.radius)
    grid = weights.shape[:-1]
    spread = np.reshape(weights, (-1, m)) @ U if m else np.zeros((*U.shape[:-2], 1, n))
    points = middle[..., None, :] + scale[..., None, None] * spread
    return np.asarray(points.reshape(*points.shape[:-2], *grid, n), dtype=U.dtype)


def _counts(count: Any, p: int) -> tuple[int, ...]:
    rule = f"one number of points, or {p}"
    listed = [count] * p if is_whole(count) else check_listed(count, "count", "sample", rule)
    if len(listed) != p:
        raise fail("count", "sample", rule, describe(f"{len(listed)} numbers"))
    counts = tuple(check_integer(size, "count", "sample") for size in listed)
    check_fits(8 * (p + 2) ** 2 * math.prod(counts), "count", "sample")
    return counts


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
