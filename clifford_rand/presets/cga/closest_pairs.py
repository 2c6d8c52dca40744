"""Closest points of two flats or spheres, each about its own center, by a method for each pair of kinds.

A sphere is c + r U v with |v| = 1, a flat c + U t, U of orthonormal columns. Arrays have one batch axis, first. D is
the second center less the first; points are returned less their own centers.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand.fusion.traced_array import decided, refuse_symbols
from clifford_rand.presets.cga.conformal_object import ConformalObject
from clifford_rand.presets.cga.parts import ROUND, TANGENT
from clifford_rand.presets.inputs import directions_of, lengths, plane_directions, rejected

Array = NDArray[Any]
# Of two spheres: random starts, alternations, the best that Newton's method polishes, its steps
STARTS, ROUNDS, KEPT, POLISHED = 8, 40, 6, 40
# Of a circle: descents, and steps of Newton's method of each at most and at least, the last of them shorter than NEAR
TURNS, STEPS, FEWEST, NEAR = 5, 60, 5, 1e-7


class Locus(NamedTuple):
    """Spheres or flats of one dimension about the origin: orthonormal columns U (N, n, m), radii r (N,) of spheres."""

    is_round: bool
    U: Array
    r: Array

    def take(self, rows: Array) -> "Locus":
        """Return those of some rows."""
        return Locus(self.is_round, self.U[rows], self.r[rows])

    @property
    def rank(self) -> int:
        """The order in which `solve` takes two: point pairs, flats, hyperspheres, spheres, circles."""
        n, m = self.U.shape[-2:]
        if not self.is_round:
            return 1
        return 0 if m == 1 else 2 if m == n else 4 if m == 2 else 3


def loci_of(described: ConformalObject, shape: tuple[int, ...]) -> list[tuple[Array, Locus]]:
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
        loci.append((at, Locus(kind, U, radius[at])))
    return loci


def solve(P: Locus, Q: Locus, D: Array, rtol: float) -> tuple[Array, Array]:
    """Return the closest points by the method for both kinds."""
    if P.rank > Q.rank:
        y, x = solve(Q, P, -D, rtol)
        return x, y
    if P.rank == 0:  # the nearer point of the pair
        choices = []
        for x in (P.r[:, None] * P.U[..., 0], -P.r[:, None] * P.U[..., 0]):
            _, y = solve(Locus(False, P.U[..., :0], P.r), Q, D - x, rtol)
            choices.append((x, y, lengths(D + y - x)))
        (x, y, size), (x2, y2, size2) = choices
        nearer = (size <= size2)[:, None]
        return np.where(nearer, x, x2), np.where(nearer, y, y2)
    if P.rank == 1:
        return of_flats(D, P.U, Q.U, rtol) if Q.rank == 1 else of_flat_and_sphere(D, P.U, Q.U, Q.r)
    if P.rank == 2:
        return of_hypersphere_and_sphere(D, P.U, P.r, Q.U, Q.r)
    return (of_sphere_and_circle if Q.rank == 4 else of_spheres)(D, P.U, P.r, Q.U, Q.r)


def _times(U: Array, x: Array) -> Array:
    return np.asanyarray((U @ x[..., None])[..., 0])


def _back(U: Array, x: Array) -> Array:
    return np.asanyarray((np.swapaxes(U, -1, -2) @ x[..., None])[..., 0])


def _unit(x: Array) -> Array:
    """Return unit vectors; the first basis vector for zero."""
    size = np.asanyarray(lengths(x))
    first = np.zeros(x.shape[-1], dtype=x.dtype)
    first[0] = 1
    return np.where((size > 0)[..., None], x / np.where(size > 0, size, 1)[..., None], first)


def of_flats(D: Array, U: Array, V: Array, rtol: float) -> tuple[Array, Array]:
    """Return U t and V s with D + V s - U t of least length.

    Gram and Schmidt's method on the columns of V across U: units q and combinations w of the columns, q = w across U.
    Columns that the others span to ``rtol`` are left out. V s = -Σ (q·D) w.
    """
    pairs: list[tuple[Array, Array]] = []
    y, columns = np.zeros_like(D), [U[..., j] for j in range(U.shape[-1])]
    for j in range(V.shape[-1]):
        w = V[..., j]
        q = rejected(w, columns)
        for unit, combination in 2 * pairs:
            part = (unit * q).sum(axis=-1)[..., None]
            q, w = q - part * unit, w - part * combination
        q = rejected(q, columns)
        size = np.sqrt((q * q).sum(axis=-1))  # of a part of a unit vector, which may be rounding
        is_own = decided(size > rtol)[..., None]
        size = np.where(is_own, size[..., None], 1)
        pairs.append((np.where(is_own, q / size, 0), np.where(is_own, w / size, 0)))
        y = y - (pairs[-1][0] * D).sum(axis=-1)[..., None] * pairs[-1][1]
    return _times(U, _back(U, D + y)) if U.shape[-1] else np.zeros_like(D), y


def on_unit_sphere(b: Array, M: Array) -> Array:
    """Return v, |v| = 1, of least |M v + b|, the global minimum: (MᵀM + μ) v = -Mᵀb with MᵀM + μ ≥ 0.

    With δ = μ + a_min, Σ (g_i / (a_i - a_min + δ))² = 1 has one root δ > 0; where the gradient g has no part in the
    eigenspace of a_min (the hard case of Moré and Sorensen 1983) a tiny one takes its place, and completes v.
    """
    left, sizes, right = np.linalg.svd(M)
    m = M.shape[-1]
    a = np.zeros((*sizes.shape[:-1], m), dtype=M.dtype)
    a[..., : sizes.shape[-1]] = sizes
    top = np.where(a[..., :1] > 0, a[..., :1], 1)
    a = a / top
    g = np.zeros_like(a)
    g[..., : sizes.shape[-1]] = a[..., : sizes.shape[-1]] * (_back(left, b) / top)[..., : sizes.shape[-1]]
    last, tiny = g[..., -1], float(np.finfo(M.dtype).tiny) ** 0.25
    g[..., -1] = np.where(abs(last) > tiny, last, np.where(last < 0, -tiny, tiny))
    gap = (a - a[..., -1:]) * (a + a[..., -1:])  # a_i² - a_min² without cancellation
    low, high = abs(g[..., -1:]), np.sqrt((g * g).sum(axis=-1, keepdims=True))
    for _ in range(64):
        delta = np.sqrt(low) * np.sqrt(high)  # bisection of the exponent
        beyond = ((g / (gap + delta)) ** 2).sum(axis=-1, keepdims=True) > 1
        low, high = np.where(beyond, delta, low), np.where(beyond, high, delta)
    return _back(right, _unit(-g / (gap + np.sqrt(low) * np.sqrt(high))))


def on_unit_circle(b: Array, M: Array, a: Any = None, r: Any = None) -> Array:
    """Return v in the plane, |v| = 1, of the least F = |b + M v|²/2, or F = a·v - r |b + M v|: the global minimum.

    Newton's method from the best of four places, and a proof. F is the least value if for no unit vector u

        |b + M u|² - 2F, or (a·u - F)² - r² |b + M u|², is negative.

    Where F' = 0 this is (1 - cos φ) (2ωF'' + e - e cos φ - k sin φ), φ the angle from v to u and ω = 1, or r |b + M v|.
    So F is the least value where 2ωF'' + e ≥ √(e² + k²); elsewhere it is smaller at the angle of (e, k).
    """

    def slopes(v: Array) -> tuple[Array, ...]:
        """Return F, F', F'', ω, e, k."""
        across = np.stack([-v[..., 1], v[..., 0]], axis=-1)
        m, n = _times(M, v), _times(M, across)
        w = b + m
        F, F1, F2 = (w * w).sum(axis=-1) / 2, (w * n).sum(axis=-1), (n * n).sum(axis=-1) - (w * m).sum(axis=-1)
        e, k = (m * m).sum(axis=-1) - (n * n).sum(axis=-1), 2 * (m * n).sum(axis=-1)
        if a is None:
            return F, F1, F2, np.ones_like(F), e, k
        A, B, size = (a * v).sum(axis=-1), (a * across).sum(axis=-1), np.sqrt(2 * F)
        safe = np.where(size > 0, size, 1)
        F1 = F1 / safe
        F2 = -A - r * ((F2 - F1 * F1) / safe)
        return A - r * size, B - r * F1, F2, r * size, A * A - B * B - r * r * e, 2 * A * B - r * r * k

    refuse_symbols(b)
    eps = float(np.finfo(b.dtype).eps)
    places = [np.broadcast_to(np.array(v, dtype=b.dtype), (len(b), 2)) for v in ((1, 0), (0, 1), (-1, 0), (0, -1))]
    v, least = places[0], slopes(places[0])[0]
    for place in places[1:]:
        value = slopes(place)[0]
        v, least = np.where((value < least)[:, None], place, v), np.minimum(value, least)
    for _ in range(TURNS):
        v = _descended(slopes, v, eps)
        _, _, curvature, omega, e, k = slopes(v)
        both, length = omega * curvature, np.sqrt(e * e + k * k)
        is_least = decided(2 * both + e >= length - 64 * eps * (abs(both) + length))
        if is_least.all():
            break
        length = np.where(length > 0, length, 1)
        v = np.where(is_least[:, None], v, _turned(v, e / length, k / length))
    return v


def _turned(v: Array, cosine: Array, sine: Array) -> Array:
    return np.stack([cosine * v[..., 0] - sine * v[..., 1], cosine * v[..., 1] + sine * v[..., 0]], axis=-1)


def _descended(slopes: Any, v: Array, eps: float) -> Array:
    """Return the local minima that Newton's method finds from unit vectors v of the plane; no step goes up."""
    value, slope, curvature, *_ = slopes(v)
    reach = np.ones_like(value)
    for step in range(STEPS):
        size, noise = abs(slope), 8 * eps * (abs(value) + abs(curvature))
        is_convex = size < curvature
        tangent = np.where(slope > 0, -reach, reach) * np.where(is_convex, size / np.where(is_convex, curvature, 1), 1)
        tangent = np.where((size <= noise) & (curvature >= -noise), 0, tangent)
        cosine = 1 / np.sqrt(1 + tangent * tangent)
        there = _turned(v, cosine, tangent * cosine)
        values = slopes(there)[:3]
        falls = values[0] <= value + 8 * noise
        v, reach = np.where(falls[:, None], there, v), np.where(falls, 1, reach / 4)
        value, slope, curvature = (np.where(falls, *x) for x in zip(values, (value, slope, curvature), strict=True))
        if step >= FEWEST and not decided(abs(tangent) > NEAR).any():
            break
    return v


def of_flat_and_sphere(D: Array, U: Array, V: Array, s: Array) -> tuple[Array, Array]:
    """Return the closest points of a flat along U and of the sphere of radius s in the span of V."""
    if not U.shape[-1]:
        return np.zeros_like(D), on_sphere(-D, V, s)
    if V.shape[-1] == V.shape[-2]:  # of the point next to the center, or where the flat enters the sphere
        x = _times(U, _back(U, D))
        rest = s * s - ((D - x) ** 2).sum(axis=-1)
        x = x + np.sqrt(np.where(rest > 0, rest, 0))[..., None] * U[..., 0]
        return x, on_sphere(x - D, V, s)

    if U.shape[-2:] == (3, 2):  # a plane: the height of the circle's points above it is a cosine of their angle
        normal = np.cross(U[..., 0], U[..., 1])
        w = _back(V, normal)
        size = np.asanyarray(s * lengths(w))
        y = _at_angle(V, s, w, -(normal * D).sum(axis=-1) / np.where(size > 0, size, 1))
        return _times(U, _back(U, D + y)), y

    def outside(x: Array) -> Array:
        return x - U @ (np.swapaxes(U, -1, -2) @ x)

    least = on_unit_circle if V.shape[-1] == 2 else on_unit_sphere
    v = least(outside(D[..., None])[..., 0], s[..., None, None] * outside(V))
    y = s[..., None] * _times(V, v)
    return _times(U, _back(U, D + y)), y


def on_sphere(q: Array, U: Array, r: Array) -> Array:
    """Return the point of the sphere of radius r in the span of U that is closest to q."""
    return r[..., None] * _times(U, _unit(_back(U, q)))


def of_hypersphere_and_sphere(D: Array, U: Array, r: Array, V: Array, s: Array) -> tuple[Array, Array]:
    """Return the closest points where U spans the space and V a plane or more: |D + s V v| as near to r as can be."""
    w = _back(V, D)
    h = np.asanyarray(lengths(w))
    excess = r * r - (D * D).sum(axis=-1) - s * s
    y = _at_angle(V, s, w, excess / np.where(h > 0, 2 * s * h, 1))  # |D + s V v|² = r² where it can be
    return on_sphere(D + y, U, r), y


def _at_angle(V: Array, s: Array, w: Array, cosine: Array) -> Array:
    """Return points of the sphere of radius s in the span of V at an angle from V w, its cosine within ±1."""
    cosine, along = np.clip(cosine, -1, 1), _unit(w)
    sine = np.sqrt((1 - cosine) * (1 + cosine))
    return s[..., None] * _times(V, cosine[..., None] * along + sine[..., None] * _aside(along))


def _aside(along: Array) -> Array:
    """Return a unit vector orthogonal to each unit vector."""
    if along.shape[-1] == 2:
        return np.stack([-along[..., 1], along[..., 0]], axis=-1)
    if along.shape[-1] == 3:
        return np.asanyarray(plane_directions(along)[0])
    least = np.argmin(abs(along), axis=-1)[..., None]
    aside = -along * np.take_along_axis(along, least, -1)
    np.put_along_axis(aside, least, np.take_along_axis(aside, least, -1) + 1, -1)
    return _unit(aside)


def of_sphere_and_circle(D: Array, U: Array, r: Array, V: Array, s: Array) -> tuple[Array, Array]:
    """Return the closest points of a sphere of any dimension and a circle D + s V v.

    |q|² + r² - 2 r |Uᵀq| is the square of the distance of q = D + s V v from the sphere.
    """
    M = s[..., None, None] * (np.swapaxes(U, -1, -2) @ V)
    y = s[..., None] * _times(V, on_unit_circle(_back(U, D), M, s[..., None] * _back(V, D), r))
    return on_sphere(D + y, U, r), y


def of_spheres(D: Array, U: Array, r: Array, V: Array, s: Array) -> tuple[Array, Array]:
    """Return the closest points found of two spheres of more dimensions, each inside a flat, from many starts.

    Each round takes the point of one sphere that is closest to that of the other, so the distance never grows; the best
    of them are polished by Newton's method on both spheres at once.
    """
    m = V.shape[-1]
    rng = np.random.default_rng(0)
    principal = np.swapaxes(np.linalg.svd(np.swapaxes(U, -1, -2) @ V)[2], -1, -2)  # directions of both spans, in V
    random = np.broadcast_to(rng.standard_normal((m, STARTS)), (len(D), m, STARTS))
    starts = np.concatenate([principal, random, _back(V, D)[..., None]], axis=-1)
    v = _unit(np.swapaxes(np.concatenate([starts, -starts], axis=-1), -1, -2))
    D, U, r, V, s = (array[:, None] for array in (D, U, r, V, s))  # an axis for the starts
    y = s[..., None] * _times(V, v)
    for _ in range(ROUNDS):
        y = on_sphere(on_sphere(D + y, U, r) - D, V, s)  # alternating projections
    x = on_sphere(D + y, U, r)
    best = np.argsort(lengths(D + y - x), axis=-1)[:, :KEPT, None]
    x, y = np.take_along_axis(x, best, 1), np.take_along_axis(y, best, 1)
    u, v = _newton(D, U, r, V, s, _unit(_back(U, x)), _unit(_back(V, y)))
    x, y = r[..., None] * _times(U, u), s[..., None] * _times(V, v)
    best = np.argmin(lengths(D + y - x), axis=-1)[:, None, None]
    return np.take_along_axis(x, best, 1)[:, 0], np.take_along_axis(y, best, 1)[:, 0]


def _newton(D: Array, U: Array, r: Array, V: Array, s: Array, u: Array, v: Array) -> tuple[Array, Array]:
    """Polish u and v of least |D + s V v - r U u|, |u| = |v| = 1, in tangent spaces, curvatures taken as positive."""
    m = u.shape[-1]
    J = np.concatenate([-r[..., None, None] * U, s[..., None, None] * V], axis=-1)
    flat = np.swapaxes(J, -1, -2) @ J
    size = np.trace(flat, axis1=-2, axis2=-1)[..., None]
    which = np.arange(J.shape[-1]) < m
    eye = np.eye(J.shape[-1], dtype=D.dtype)

    def slopes(z: Array) -> tuple[Array, Array, Array, Array]:
        rest = D + _times(J, z)
        full = _back(J, rest)
        normals = np.stack([np.where(which, z, 0), np.where(which, 0, z)], axis=-1)
        both = _back(normals, full)  # the multipliers of |u| = 1 and |v| = 1
        return lengths(rest), full - _times(normals, both), normals, np.where(which, both[..., :1], both[..., 1:])

    z = np.concatenate([u, v], axis=-1)
    value, slope, normals, multipliers = slopes(z)
    for _ in range(POLISHED):
        tangent = eye - normals @ np.swapaxes(normals, -1, -2)  # projection on the tangent spaces of both spheres
        hessian = flat - multipliers[..., None] * eye  # of the Lagrangian
        curvature, axes = np.linalg.eigh(tangent @ hessian @ tangent)
        step = -_times(axes, _back(axes, slope) / np.maximum(abs(curvature), 1e-14 * size))
        at_most_half = step / np.maximum(1, 2 * np.asanyarray(lengths(step)))[..., None]  # of a radian
        step = _times(tangent, at_most_half)
        moved = z + step
        moved = np.concatenate([_unit(moved[..., :m]), _unit(moved[..., m:])], axis=-1)
        there = slopes(moved)
        shorter = np.asanyarray(lengths(there[1])) < np.asanyarray(lengths(slope))
        better = (there[0] < value) | ((there[0] <= value * (1 + 1e-12)) & shorter)
        if not better.any():
            break
        z = np.where(better[..., None], moved, z)
        value, slope, normals, multipliers = slopes(z)
    return z[..., :m], z[..., m:]
