"""Distances and closest points of any two conformal objects that hold points."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_tolerance, describe, fail, one_batch
from clifford_rand.fusion.specialization import specialized
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga.classification import described
from clifford_rand.presets.cga.closest_pairs import (
    Array,
    of_flat_and_sphere,
    of_flats,
    of_hypersphere_and_sphere,
    of_sphere_and_circle,
    of_spheres,
)
from clifford_rand.presets.cga.conformal_object import ConformalObject, Object
from clifford_rand.presets.cga.measures import down, model_of
from clifford_rand.presets.cga.parts import ROUND, TANGENT
from clifford_rand.presets.inputs import directions_of, lengths, of_algebra, tolerance


@specialized()
@one_batch
def closest_points(
    A: Object, B: Object, /, *, dual: bool = False, rtol: float | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return points (..., n) of A and of B that are nearest to each other: one such couple where there are more.

    Points, point pairs, lines, planes, circles, spheres, and what they are called in more dimensions. Spheres are
    surfaces: the center is at a distance r. Exact minima by linear algebra, a secular equation (flat and sphere), or
    the roots of a polynomial of degree 8 (a circle and a sphere of any dimension). Only two spheres of dimension ≥ 2,
    neither of them a hypersphere, which takes n ≥ 4, are searched from many starts.

    Parameters
    ----------
    A, B : Multivector or ConformalObject
        Direct, or dual with ``dual``; batches broadcast, and may hold objects of several kinds.
    rtol : float, optional
        For `classify`, and directions closer than this are taken as parallel; there eps^(3/4) by default.

    Raises
    ------
    ArgumentError
        For imaginary rounds, free blades and duals of flats, which hold no finite point.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> C, L = cga.circle(alg, [0, 0, 0], 2, [0, 0, 1]), cga.line(alg, [5, 0, 1], direction=[0, 1, 0])
    >>> [x.round(12).tolist() for x in cga.closest_points(C, L)]
    [[2.0, 0.0, 0.0], [5.0, 0.0, 1.0]]
    """
    a, b, _, x, y = _nearest(A, B, dual, rtol, "closest_points", "AB")
    return a + x, b + y


@specialized()
@one_batch
def distance(P: Object, Q: Object, /, *, dual: bool = False, rtol: float | None = None) -> Any:
    """Return the least distances of the points on P and Q, of any two objects, as `closest_points` finds them.

    Of two points: sqrt(-2 P·Q) at weight 1, from the coordinates, where nothing cancels.

    Raises
    ------
    ArgumentError
        For objects that hold no finite point.

    Examples
    --------
    >>> alg = cr.Algebra.cga(2)
    >>> float(cga.distance(cga.up(alg, [0, 0]), 5 * cga.up(alg, [3, 4])))
    5.0
    >>> float(cga.distance(cga.circle(alg, [0, 0], 1), cga.line(alg, [0, 3], direction=[1, 0])))
    2.0
    """
    model_of(P, "distance", "P")
    if isinstance(P, Multivector) and isinstance(Q, Multivector) and P.grades == Q.grades == (1,) and not dual:
        return lengths(down(P) - down(of_algebra(Q, P.algebra, "Q", "distance")))
    _, _, D, x, y = _nearest(P, Q, dual, rtol, "distance", "PQ")
    return lengths(D + y - x)


def _nearest(A: Any, B: Any, dual: bool, rtol: float | None, owner: str, names: str) -> Any:
    """Return both centers, their difference, and the closest points less the centers."""
    model_of(A, owner, "A")
    if rtol is not None:
        rtol = check_tolerance(rtol, 0.0, owner)
    objects = [described(X, A.algebra, name, owner, dual, rtol) for X, name in zip((A, B), names, strict=True)]
    for name, X in zip(names, objects, strict=True):
        if not np.all(X.has_points):
            without = np.unique(np.asanyarray(X.name)[~np.asanyarray(X.has_points)]).tolist()
            raise fail(name, owner, "an object that holds finite points", describe(", ".join(without)))
    shape = np.broadcast_shapes(*(X.shape for X in objects))
    n, count = A.algebra.d - 2, math.prod(shape)
    a, b = (np.broadcast_to(X.location, (*shape, n)).reshape(count, n) for X in objects)
    D = b - a
    first, second = (_loci(X, shape) for X in objects)
    x, y = np.zeros_like(D), np.zeros_like(D)
    for at, P in first:
        for where, Q in second:
            both, i, j = np.intersect1d(at, where, return_indices=True)
            if len(both):
                x[both], y[both] = _solve(P.take(i), Q.take(j), D[both], tolerance(rtol, D.dtype))
    return tuple(array.reshape(*shape, n) for array in (a, b, D, x, y))


class _Locus(NamedTuple):
    """Spheres or flats of one dimension about the origin: orthonormal columns U (N, n, m), radii r (N,) of spheres."""

    is_round: bool
    U: Array
    r: Array

    def take(self, rows: Array) -> "_Locus":
        return _Locus(self.is_round, self.U[rows], self.r[rows])

    @property
    def rank(self) -> int:
        """The order in which `_solve` takes two: point pairs, flats, hyperspheres, spheres, circles."""
        n, m = self.U.shape[-2:]
        if not self.is_round:
            return 1
        return 0 if m == 1 else 2 if m == n else 4 if m == 2 else 3


def _loci(described: ConformalObject, shape: tuple[int, ...]) -> list[tuple[Array, _Locus]]:
    """Return, for each kind and dimension in the batch, which elements have it, and their loci."""
    n, E = described.algebra.d - 2, described.direction
    is_round = np.asanyarray(described.kind) == ROUND
    m = np.where(np.asanyarray(described.kind) == TANGENT, 0, described.dimension)
    is_round, m, radius = (np.broadcast_to(v, shape).reshape(-1) for v in (is_round, m, described.radius))
    rows = np.broadcast_to(E.coefficients, (*shape, E.keys.size)).reshape(len(m), E.keys.size)
    loci = []
    for kind, k in sorted({(bool(kind), int(k)) for kind, k in zip(is_round, m, strict=True)}):
        at = np.flatnonzero((is_round == kind) & (m == k))
        U = np.zeros((len(at), n, 0), dtype=rows.dtype)
        if k:
            U = np.swapaxes(directions_of(E.new(E.keys, rows[at]), n, k), -1, -2)
        loci.append((at, _Locus(kind, U, radius[at])))
    return loci


def _solve(P: _Locus, Q: _Locus, D: Array, rtol: float) -> tuple[Array, Array]:
    """Return the closest points by the method for both kinds."""
    if P.rank > Q.rank:
        y, x = _solve(Q, P, -D, rtol)
        return x, y
    if P.rank == 0:  # the nearer point of the pair
        choices = []
        for x in (P.r[:, None] * P.U[..., 0], -P.r[:, None] * P.U[..., 0]):
            _, y = _solve(_Locus(False, P.U[..., :0], P.r), Q, D - x, rtol)
            choices.append((x, y, lengths(D + y - x)))
        (x, y, size), (x2, y2, size2) = choices
        nearer = (size <= size2)[:, None]
        return np.where(nearer, x, x2), np.where(nearer, y, y2)
    if P.rank == 1:
        return of_flats(D, P.U, Q.U, rtol) if Q.rank == 1 else of_flat_and_sphere(D, P.U, Q.U, Q.r)
    if P.rank == 2:
        return of_hypersphere_and_sphere(D, P.U, P.r, Q.U, Q.r)
    return (of_sphere_and_circle if Q.rank == 4 else of_spheres)(D, P.U, P.r, Q.U, Q.r)
