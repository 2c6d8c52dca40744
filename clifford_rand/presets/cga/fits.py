"""Points and objects: least-squares fits of rounds and flats by eigenvectors, and points on objects, to draw them."""

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clifford_rand._checks import as_real, check_fits, check_integer, check_listed, describe, fail, is_whole, one_batch
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import is_tensor, of_one_library
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.fusion.specialization import specialized
from clifford_rand.geometry.subspaces import wedge_rows
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga.classification import classify
from clifford_rand.presets.cga.conformal_object import ConformalObject, Object, down
from clifford_rand.presets.cga.parts import FLAT, ROUND, as_dual, assemble, model_of, null_space, squared
from clifford_rand.presets.inputs import Vectors, coordinates_of, euclidean, floats, numbers_of, of_algebra


def fit_round(
    algebra: Algebra, X: Vectors, m: int, /, *, weights: ArrayLike | None = None, dual: bool = False
) -> Multivector:
    """Return the m-dimensional rounds nearest to points: 1 point pairs, 2 circles, 3 spheres, n hyperspheres.

    Minimizes Σ w_i Σ_j (P_i·s_j)² over the dual vectors s_j, s_j·s_k = δ_jk, whose common points the round holds. For a
    sphere P·s = (r² - |x - c|²)/(2r), which is the distance to it but for a factor 1 + distance/(2r). So the round is
    spanned by the eigenvectors of Σ w P Pᵀ G, G the metric, of the negative and the m largest eigenvalues.

    Parameters
    ----------
    algebra : Algebra
        Conformal, of n-space.
    X : array_like (..., N, n) or Multivector
        N ≥ m + 1 points, or batches of conformal points (..., N).
    m : int
        From 1 to n.
    weights : array_like (..., N), optional
        ≥ 0, one for each point.
    dual : bool, default=False
        Return dual blades.

    Returns
    -------
    Multivector
        Direct blades of weight 1. Flats of dimension m - 1, of infinite radius, where those are nearest: points of a
        line have no circle.

    Raises
    ------
    ArgumentError
        For too few points, and points that lie on a smaller round or flat.

    References
    ----------
    L. Dorst, Total least squares fitting of k-spheres in n-D Euclidean space using an (n+2)-D isometric representation,
    J. Math. Imaging Vis. 50 (2014); for hyperspheres the fit of V. Pratt, SIGGRAPH 1987.

    Examples
    --------
    >>> alg = cr.Algebra.cga(2)
    >>> cga.classify(cga.fit_round(alg, [[3, 0], [0, 3], [-3, 0], [0, -3.0]], 2))
    ConformalObject(circle, direction=e12, location=[0.0, 0.0], radius_squared=9)
    """
    n, _ = model_of(algebra, "fit_round")
    return _fit_round(algebra, X, check_integer(m, "m", "fit_round", high=n), weights, dual, "fit_round")


def fit_sphere(algebra: Algebra, X: Vectors, /, *, weights: ArrayLike | None = None, dual: bool = False) -> Multivector:
    """Return the hyperspheres nearest to points (circles for n = 2): `fit_round` of dimension n.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> S = cga.fit_sphere(alg, 1 + 2 * np.eye(3)[[0, 1, 2, 0]] * [[1], [1], [1], [-1]])
    >>> cga.center(S).round(9).tolist(), float(cga.radius(S).round(9))
    ([1.0, 1.0, 1.0], 2.0)
    """
    return _fit_round(algebra, X, model_of(algebra, "fit_sphere")[0], weights, dual, "fit_sphere")


def fit_circle(algebra: Algebra, X: Vectors, /, *, weights: ArrayLike | None = None, dual: bool = False) -> Multivector:
    """Return the circles nearest to points of any dimension n ≥ 2: `fit_round` of dimension 2.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> K = cga.fit_circle(alg, [[2, 0, 1], [0, 2, 1], [-2, 0, 1], [0, -2, 1]])
    >>> (cga.center(K).round(9) + 0.0).tolist(), float(cga.radius(K).round(9))
    ([0.0, 0.0, 1.0], 2.0)
    """
    n, _ = model_of(algebra, "fit_circle")
    if n < 2:
        raise fail("algebra", "fit_circle", "of 2 or more dimensions", algebra)
    return _fit_round(algebra, X, 2, weights, dual, "fit_circle")


def fit_flat(
    algebra: Algebra, X: Vectors, m: int, /, *, weights: ArrayLike | None = None, dual: bool = False
) -> Multivector:
    """Return the m-dimensional flats nearest to points: 1 lines, 2 planes; Σ w distance² is least.

    Through the weighted mean along the first m principal directions. Parameters as in `fit_round`.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> X = [[1, 0, 2.1], [-1, 0, 2.1], [0, 1, 1.9], [0, -1, 1.9]]
    >>> (cga.classify(cga.fit_flat(alg, X, 2)).location.round(9) + 0.0).tolist()
    [0.0, 0.0, 2.0]
    """
    n, _ = model_of(algebra, "fit_flat")
    return _fit_flat(algebra, X, check_integer(m, "m", "fit_flat", high=n), weights, dual, "fit_flat")


def fit_line(algebra: Algebra, X: Vectors, /, *, weights: ArrayLike | None = None, dual: bool = False) -> Multivector:
    """Return the lines nearest to points: Σ w distance² is least.

    Examples
    --------
    >>> alg = cr.Algebra.cga(2)
    >>> cga.classify(cga.fit_line(alg, [[0, 1], [1, 1.2], [2, 0.8], [3, 1.0]], weights=[1, 0, 0, 1]))
    ConformalObject(line, direction=e1, location=[0.0, 1.0])
    """
    model_of(algebra, "fit_line")
    return _fit_flat(algebra, X, 1, weights, dual, "fit_line")


def fit_plane(algebra: Algebra, X: Vectors, /, *, weights: ArrayLike | None = None, dual: bool = False) -> Multivector:
    """Return the hyperplanes nearest to points: Σ w distance² is least.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> P = cga.fit_plane(alg, [[1, 0, 2.1], [-1, 0, 2.1], [0, 1, 1.9], [0, -1, 1.9]])
    >>> float(cga.distance(P, cga.up(alg, [5, 5, 0])).round(9))
    2.0
    """
    n, _ = model_of(algebra, "fit_plane")
    return _fit_flat(algebra, X, n - 1, weights, dual, "fit_plane")


def _points(
    algebra: Algebra, X: Any, weights: Any, least: int, owner: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return points (..., N, n) about their mean in their own unit, square roots of weights (..., N), mean and unit."""
    n = algebra.d - 2
    X = down(of_algebra(X, algebra, "X", owner)) if isinstance(X, Multivector) and X.algebra == algebra else X
    Y = np.ascontiguousarray(coordinates_of(X, n, "X", owner))  # the same sums whatever its layout was
    if Y.dtype.kind != "f":
        raise fail("X", owner, "real floating-point coordinates", describe(f"dtype {Y.dtype}"))
    if Y.ndim < 2:
        raise fail("X", owner, "points of shape (..., N, n)", describe(f"shape {Y.shape}"))
    w = (
        np.ones(Y.shape[-2:-1], dtype=Y.dtype)
        if weights is None
        else as_real(weights, "weights", owner, finite=False).astype(Y.dtype)
    )
    if w.shape[-1:] != Y.shape[-2:-1]:
        raise fail("weights", owner, f"of shape (..., {Y.shape[-2]})", describe(f"shape {w.shape}"))
    if not np.isfinite(w).all() or (w < 0).any() or ((w > 0).sum(axis=-1) < least).any():
        raise fail("weights", owner, f"finite and ≥ 0, and > 0 for {least} points or more", describe(_most(w, least)))
    w = w / w.sum(axis=-1, keepdims=True)
    mean = (w[..., None, :] @ Y)[..., 0, :]  # the weighted mean
    Y = Y - mean[..., None, :]
    unit = np.sqrt((w * squared(Y, "X", owner)).sum(axis=-1))
    unit = np.where(unit > 0, unit, 1)
    return Y / unit[..., None, None], np.sqrt(w), mean, unit


def _most(w: NDArray[Any], least: int) -> str:
    count = int((w > 0).sum(axis=-1).min(initial=w.shape[-1]))
    return f"{count} points with a weight > 0" if count < least else "negative or infinite ones"


@one_batch
def _fit_round(algebra: Algebra, X: Any, m: int, weights: Any, dual: bool, owner: str) -> Multivector:
    n = algebra.d - 2
    Y, w, mean, unit = _points(algebra, X, weights, m + 1, owner)
    ones = np.ones((*Y.shape[:-1], 1), dtype=Y.dtype)
    # points X + n_o + X²/2 n_∞, weighted
    P = w[..., None] * np.concatenate([Y, ones, (Y * Y).sum(axis=-1, keepdims=True) / 2], axis=-1)
    if P.shape[-2] > n + 2:
        P = np.linalg.qr(P, mode="r")  # the same PᵀP
    sizes, V = np.linalg.svd(P, full_matrices=False)[1:]
    if (sizes[..., m] <= 64 * np.finfo(Y.dtype).eps * sizes[..., 0]).any():
        raise fail("X", owner, "points that determine one", describe("points of a smaller round or flat"))
    null = null_space(n)
    G = null.metric.astype(Y.dtype)
    rows = sizes[..., None] * V  # Σ Vᵀ; its product with G has the eigenvalues of Σ w P Pᵀ G
    z = np.linalg.eigh(rows @ G @ np.swapaxes(rows, -1, -2))[1]
    kept = np.concatenate([z[..., :1], z[..., z.shape[-1] - m :]], axis=-1)  # the negative eigenvalue and the m largest
    span = np.linalg.qr(np.swapaxes(rows, -1, -2) @ kept)[0]
    fit = classify(null.new(keys_of_grades(n + 2, (m + 1,)), wedge_rows(np.swapaxes(span, -1, -2))))
    return _placed(algebra, fit, mean, unit, dual)


@one_batch
def _fit_flat(algebra: Algebra, X: Any, m: int, weights: Any, dual: bool, owner: str) -> Multivector:
    n = algebra.d - 2
    Y, w, mean, unit = _points(algebra, X, weights, m + 1, owner)
    rows = w[..., None] * Y
    sizes, V = np.linalg.svd(np.linalg.qr(rows, mode="r") if rows.shape[-2] > n else rows, full_matrices=False)[1:]
    if m and (sizes[..., m - 1] <= 64 * np.finfo(Y.dtype).eps).any():
        raise fail("X", owner, "points that determine one", describe("points of a smaller flat"))
    E = euclidean(n).new(keys_of_grades(n, (m,)), wedge_rows(V[..., :m, :]))
    shape = E.shape
    nothing, location = np.full(shape, np.nan, dtype=Y.dtype), np.zeros((*shape, n), dtype=Y.dtype)
    fit = ConformalObject(algebra, np.full(shape, m + 2), np.full(shape, FLAT), E, location, nothing, np.ones(shape))
    return _placed(algebra, fit, mean, unit, dual)


def _placed(algebra: Algebra, fit: ConformalObject, mean: NDArray[Any], unit: NDArray[Any], dual: bool) -> Multivector:
    """Return blades of weight 1 in the caller's coordinates; the first large component of E is positive."""
    E = fit.direction.coefficients
    first = np.argmax(abs(E) > abs(E).max(axis=-1, keepdims=True, initial=0) / 2, axis=-1)[..., None]
    E = E * np.sign(np.take_along_axis(E, first, axis=-1))
    parameters = {
        "direction": fit.direction.new(fit.direction.keys, E),
        "location": mean + unit[..., None] * fit.location + 0.0,  # no -0.0
        "radius_squared": fit.radius_squared * unit**2,
        "weight": np.ones_like(unit),
    }
    return as_dual(assemble(replace(fit, algebra=algebra, **parameters), algebra), dual)


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
