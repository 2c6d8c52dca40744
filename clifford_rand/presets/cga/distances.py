"""Distances and closest points of any two conformal objects that hold points."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_tolerance, describe, fail, one_batch
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.geometry.subspaces import span_of
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga import closest
from clifford_rand.presets.cga.assembly import ROUND, TANGENT
from clifford_rand.presets.cga.classification import Classified, Object, described
from clifford_rand.presets.cga.measures import down, model_of
from clifford_rand.presets.inputs import lengths, of_algebra, tolerance


@one_batch
def closest_points(
    A: Object, B: Object, *, dual: bool = False, rtol: float | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return points (..., n) of A and of B that are nearest to each other: one such couple where there are more.

    Points, point pairs, lines, planes, circles, spheres, and what they are called in more dimensions. Spheres are
    surfaces: the centre is at a distance r. Exact minima by linear algebra, a secular equation (flat and sphere), or
    the roots of a polynomial of degree 8 (a circle and a sphere of any dimension). Only two spheres of dimension ≥ 2,
    neither of them a hypersphere, which takes n ≥ 4, are searched from many starts.

    Parameters
    ----------
    A, B : Multivector or Classified
        Direct, or dual with ``dual``; batches broadcast, and may hold objects of several kinds.
    rtol : float, optional
        For `classify`, and directions closer than this are taken as parallel; there eps^(3/4) by default.

    Raises
    ------
    ArgumentError
        For imaginary rounds, free blades and duals of flats, which hold no finite point.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(3)
    >>> C, L = cga.circle(alg, [0, 0, 0], 2, [0, 0, 1]), cga.line(alg, [5, 0, 1], [0, 1, 0])
    >>> [x.round(12).tolist() for x in cga.closest_points(C, L)]
    [[2.0, 0.0, 0.0], [5.0, 0.0, 1.0]]
    """
    a, b, _, x, y = _nearest(A, B, dual, rtol, "closest_points", "AB")
    return a + x, b + y


@one_batch
def distance(P: Object, Q: Object, *, dual: bool = False, rtol: float | None = None) -> Any:
    """Return the least distances of the points on P and Q, of any two objects, as `closest_points` finds them.

    Of two points: sqrt(-2 P·Q) at weight 1, from the coordinates, where nothing cancels.

    Raises
    ------
    ArgumentError
        For objects that hold no finite point.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(2)
    >>> float(cga.distance(cga.up(alg, [0, 0]), 5 * cga.up(alg, [3, 4])))
    5.0
    >>> float(cga.distance(cga.circle(alg, [0, 0], 1), cga.line(alg, [0, 3], [1, 0])))
    2.0
    """
    model_of(getattr(P, "algebra", P), "distance")
    if isinstance(P, Multivector) and isinstance(Q, Multivector) and P.grades == Q.grades == (1,) and not dual:
        return lengths(down(P) - down(of_algebra(Q, P.algebra, "Q", "distance")))
    _, _, D, x, y = _nearest(P, Q, dual, rtol, "distance", "PQ")
    return lengths(D + y - x)


def _nearest(A: Any, B: Any, dual: bool, rtol: float | None, owner: str, names: str) -> Any:
    """Return both centres, their difference, and the closest points less the centres."""
    model_of(getattr(A, "algebra", A), owner)
    if rtol is not None:
        rtol = check_tolerance(rtol, 0.0, owner)
    found = [described(X, A.algebra, name, owner, dual, rtol) for X, name in zip((A, B), names, strict=True)]
    for name, one in zip(names, found, strict=True):
        if not np.all(one.has_points):
            without = np.unique(np.asarray(one.name)[~np.asarray(one.has_points)]).tolist()
            raise fail(name, owner, "an object that holds finite points", describe(", ".join(without)))
    shape = np.broadcast_shapes(*(one.shape for one in found))
    n, count = A.algebra.d - 2, math.prod(shape)
    a, b = (np.broadcast_to(one.location, (*shape, n)).reshape(count, n) for one in found)
    D = b - a
    groups = [_groups(one, shape) for one in found]
    x, y = np.zeros_like(D), np.zeros_like(D)
    for first, (at, U, r) in groups[0].items():
        for second, (where, V, s) in groups[1].items():
            both, i, j = np.intersect1d(at, where, return_indices=True)
            if len(both):
                x[both], y[both] = _solve(first, second, D[both], U[i], r[i], V[j], s[j], tolerance(rtol, D.dtype))
    return tuple(array.reshape(*shape, n) for array in (a, b, D, x, y))


def _groups(described: Classified, shape: tuple[int, ...]) -> dict[tuple[bool, int], Any]:
    """Return, for each (round, dimension) in the batch, which elements, orthonormal columns (..., n, m) and radii."""
    n, E = described.algebra.d - 2, described.direction
    is_round = np.asarray(described.kind) == ROUND
    m = np.where(np.asarray(described.kind) == TANGENT, 0, described.dimension)
    is_round, m, radius = (np.broadcast_to(v, shape).reshape(-1) for v in (is_round, m, described.radius))
    rows = np.broadcast_to(E.coefficients, (*shape, E.keys.size)).reshape(len(m), E.keys.size)
    groups = {}
    for kind, k in sorted({(bool(kind), int(k)) for kind, k in zip(is_round, m, strict=True)}):
        at = np.flatnonzero((is_round == kind) & (m == k))
        U = np.zeros((len(at), n, 0), dtype=rows.dtype)
        if k:
            part = E.new(E.keys, rows[at]).select_keys(keys_of_grades(n, (k,)))
            U = np.swapaxes(span_of(part.coefficients, n, k)[0], -1, -2)
        groups[kind, k] = (at, U, radius[at])
    return groups


def _rank(kind: tuple[bool, int], n: int) -> int:
    """Return the order in which `_solve` takes two: point pairs, flats, hyperspheres, spheres, circles."""
    is_round, m = kind
    if not is_round:
        return 1
    return 0 if m == 1 else 2 if m == n else 4 if m == 2 else 3


def _solve(
    first: tuple[bool, int], second: tuple[bool, int], D: Any, U: Any, r: Any, V: Any, s: Any, rtol: float
) -> tuple[Any, Any]:
    """Choose the way by what both are, (round, dimension)."""
    n = D.shape[-1]
    rank, other = _rank(first, n), _rank(second, n)
    if rank > other:
        y, x = _solve(second, first, -D, V, s, U, r, rtol)
        return x, y
    if rank == 0:  # the nearer point of the pair
        choices = []
        for x in (r[:, None] * U[..., 0], -r[:, None] * U[..., 0]):
            _, y = _solve((False, 0), second, D - x, U[..., :0], r, V, s, rtol)
            choices.append((x, y, lengths(D + y - x)))
        (x, y, size), (x2, y2, size2) = choices
        nearer = (size <= size2)[:, None]
        return np.where(nearer, x, x2), np.where(nearer, y, y2)
    if rank == 1:
        if other == 1:
            return closest.of_flats(D, U, V, rtol)
        return closest.of_flat_and_sphere(D, U, V, s)
    if rank == 2:
        return closest.of_hypersphere_and_sphere(D, U, r, V, s)
    return closest.of_sphere_and_circle(D, U, r, V, s) if other == 4 else closest.of_spheres(D, U, r, V, s)
