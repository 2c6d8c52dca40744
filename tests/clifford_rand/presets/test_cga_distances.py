"""Distances, angles and intersections of conformal objects, against coordinates."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from clifford_rand.presets import cga
from support.geometry import BASES, CGA, close, gaussian, through

KINDS = {n: [("flat", m) for m in range(n)] + [("round", m) for m in range(1, n + 1)] for n in (2, 3, 4)}


class Thing:
    """A random flat or round with its coordinates: c + U t, or c + r U v."""

    def __init__(self, alg, kind, m, seed, batch=3):
        n = alg.d - 2
        rng = np.random.default_rng(seed)
        self.kind, self.m = kind, m
        self.c = 1.5 * rng.standard_normal((batch, n))
        self.U = np.swapaxes(np.linalg.qr(rng.standard_normal((batch, n, n)))[0], -1, -2)[:, :m]
        self.r = np.exp(0.4 * rng.standard_normal(batch))
        ends = self.c[:, None] + (self.r[:, None, None] if kind == "round" else 1) * self.U
        points = [ends[:, i] for i in range(m)]
        points.append(self.c - self.r[:, None] * self.U[:, 0] if kind == "round" else self.c)
        self.blade = through(alg, points, *([cga.infinity(alg)] if kind == "flat" else []))

    def point(self, i, z):
        if self.kind == "round":
            z = self.r[i] * z / np.linalg.norm(z, axis=-1, keepdims=True)
        return self.c[i] + z @ self.U[i]

    def apart(self, i, q):
        """Distances of points from element i of this batch."""
        q = q - self.c[i]
        inside = q @ self.U[i].T
        across = np.linalg.norm(q - inside @ self.U[i], axis=-1)
        return np.hypot(across, np.linalg.norm(inside, axis=-1) - self.r[i]) if self.kind == "round" else across


def least_distance(a, b, i, seed):
    """Least distance of two things by starts on b and SciPy's minimizer."""
    if b.m == 0:
        return a.apart(i, b.c[i])
    z = np.random.default_rng(seed).standard_normal((400, b.m)) * (1 if b.kind == "round" else 3)
    if b.kind == "round" and b.m <= 2:
        turn = np.linspace(0, 2 * np.pi, 400)
        z = np.array([[1.0], [-1.0]]) if b.m == 1 else np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    found = a.apart(i, b.point(i, z))
    starts = z[np.argsort(found)[:2]]
    return min(minimize(lambda z: a.apart(i, b.point(i, z)) ** 2, start, tol=1e-15).fun for start in starts) ** 0.5


@pytest.mark.parametrize("n", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4))])
def test_every_two_objects_have_the_least_distance(n):
    """In both bases; the minimizer takes coordinates, which do not know the basis."""
    for seed, (first, second) in enumerate(itertools.combinations_with_replacement(KINDS[n], 2)):
        a, b = Thing(CGA[n, False], *first, 2 * seed), Thing(CGA[n, False], *second, 2 * seed + 1)
        least = [least_distance(a, b, i, seed) for i in range(3)]
        for null in (False, True):
            A, B = (Thing(CGA[n, null], *kind, 2 * seed + i).blade for i, kind in enumerate((first, second)))
            found, (p, q) = cga.distance(A, B), cga.closest_points(A, B)
            np.testing.assert_allclose(found, least, rtol=0, atol=2e-6)  # the square of SciPy's is to 1e-12
            close(cga.distance(B, A), found)
            close(cga.distance(B.dual(), A.dual(), dual=True), found, 1e-8)
            close(np.linalg.norm(p - q, axis=-1), found, 1e-9)
            assert all(max(a.apart(i, p[i]), b.apart(i, q[i])) < 1e-8 for i in range(3))


@pytest.mark.slow
@pytest.mark.parametrize("alg", BASES)
def test_objects_that_touch_are_at_distance_zero(alg):
    p, u, v = gaussian(1, 3), *(x / np.linalg.norm(x) for x in gaussian(2, 2, 3))
    circle = cga.circle(alg, p - 2 * u, 2.0, np.cross(u, v))
    line, plane = cga.line(alg, p - v, direction=v), cga.plane(alg, v, v @ p)
    sphere, other = cga.sphere(alg, p + 3 * u, 3.0), cga.circle(alg, p + 2 * u, 2.0, np.cross(u, v))
    for A, B in itertools.combinations((circle, line, plane, sphere, other, cga.up(alg, p)), 2):
        assert cga.distance(A, B) < 1e-7  # the square root of rounding where they are tangent
    assert cga.distance(circle, line) < 1e-12
    assert cga.distance(sphere, line) < 1e-12


@pytest.mark.kept("2-True")
@pytest.mark.parametrize(("n", "null"), [(2, True), (3, False), (4, True)])
def test_motions_keep_distances_and_dilations_scale_them(n, null):
    alg = CGA[n, null]
    V = cga.translator(alg, gaussian(1, n)) * cga.rotor(alg, alg.e1 ^ alg.e2, 0.7)
    D = cga.dilator(alg, 2.5, gaussian(2, n))
    for seed, (first, second) in enumerate(itertools.combinations_with_replacement(KINDS[n], 2)):
        a, b = (Thing(alg, *kind, seed + 50 * i).blade for i, kind in enumerate((first, second)))
        apart = cga.distance(a, b)
        close(cga.distance(V >> a, V >> b), apart, 1e-7)
        close(cga.distance(D >> a, D >> b), 2.5 * apart, 1e-7)


@pytest.mark.kept("2-True")
@pytest.mark.parametrize(("n", "null"), [(n, null) for n in (2, 3, 4) for null in (False, True)])
def test_angles_against_coordinates(n, null):
    alg = CGA[n, null]
    a, b, N, M = gaussian(1, n), gaussian(2, n), gaussian(3, n), gaussian(4, n)
    N, M = (x / np.linalg.norm(x) for x in (N, M))
    D = np.linalg.norm(a - b)
    r, s = 0.8 * D, 0.6 * D
    cosine = (r * r + s * s - D * D) / (2 * r * s)
    A, B = cga.sphere(alg, a, r), cga.sphere(alg, b, s)
    close(cga.angle(A, B), np.arccos(cosine))
    close(cga.inversive_product(A, B), cosine)
    planes = cga.plane(alg, N, 0.3), cga.plane(alg, M, -0.2)
    close(cga.angle(*planes), np.arccos(N @ M))
    lines = cga.line(alg, a, direction=N), cga.line(alg, b, direction=M)
    close(cga.angle(*lines), np.arccos(N @ M))  # skew
    if n > 2:
        close(cga.angle(planes[0], lines[1]), np.arcsin(abs(N @ M)))
    height = 0.3 * r
    plane = cga.plane(alg, N, N @ a + height)
    close(cga.angle(A, plane), np.arccos(-height / r))
    # a line at a distance h of the center crosses the sphere at the angle arccos(h/r)
    aside = M - (M @ N) * N
    line = cga.line(alg, a + height * aside / np.linalg.norm(aside), direction=N)
    close(min(cga.angle(A, line), np.pi - cga.angle(A, line)), np.arccos(height / r), 1e-9)
    apart = cga.sphere(alg, b, 0.1 * D)
    assert np.isnan(cga.angle(A, apart))
    assert abs(cga.inversive_product(A, apart)) > 1
    tiny = cga.line(alg, a, direction=N), cga.line(alg, b, direction=N + 1e-9 * aside / np.linalg.norm(aside))
    assert cga.angle(*tiny) == pytest.approx(1e-9, rel=1e-6)


@pytest.mark.parametrize("alg", BASES)
def test_angles_of_curves_are_those_of_their_tangents_and_conformal(alg):
    for seed in range(5):
        p, q, x, y = gaussian(seed, 4, 3)
        P, Q, X, Y = (cga.up(alg, v) for v in (p, q, x, y))
        first, second, line = P ^ Q ^ X, P ^ Q ^ Y, P ^ X ^ cga.infinity(alg)

        def tangent(c, p=p):
            """Of the circle at p: orthogonal to the ray from the center, in its plane."""
            found = cga.classify(c)
            ray = p - found.location
            U = found.directions()
            turn = U.T @ (np.array([[0, -1], [1, 0]]) @ (U @ ray))
            return turn / np.linalg.norm(turn)

        direction = (x - p) / np.linalg.norm(x - p)
        expected = np.arccos(abs(tangent(first) @ tangent(second)))
        angle = cga.angle(first, second)
        close(min(angle, np.pi - angle), expected, 1e-8)
        other = cga.angle(first, line)
        close(min(other, np.pi - other), np.arccos(abs(tangent(first) @ direction)), 1e-8)
        V = cga.inversion(alg, gaussian(seed + 20, 3), 1.3) * cga.translator(alg, gaussian(seed + 40, 3))
        close(cga.angle(V >> first, V >> second), angle, 1e-8)
        close(cga.angle(V >> first, V >> line), other, 1e-8)


@pytest.mark.parametrize("alg", BASES)
def test_an_object_inside_another_is_at_angle_zero_and_normals_at_a_right_one(alg):
    z, x = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    circle, sphere, plane = cga.circle(alg, x, 2.0, z), cga.sphere(alg, x, 2.0), cga.plane(alg, z, 0.0)
    for whole in (sphere, plane):
        close(cga.angle(circle, whole), 0.0, 1e-7)
        close(cga.angle(whole, cga.line(alg, x, direction=z)), np.pi / 2)
    close(cga.angle(cga.line(alg, x, direction=[1.0, 1, 0]), plane), 0.0, 1e-9)
    close(cga.angle(sphere, plane), np.pi / 2)
    close(cga.angle(circle, circle), 0.0)
    close(cga.angle(circle, -circle), np.pi)
    assert cga.angle(sphere, cga.plane(alg, z, [0.0, 1.0, 3.0])).tolist() == pytest.approx(
        [np.pi / 2, 2 * np.pi / 3, np.nan], nan_ok=True
    )


def test_small_scenes_and_far_ones():
    """Lines 1e-10 apart are not the same; what is 1e4 away keeps c eps in the null basis."""
    alg = BASES[1]
    z, x = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    line = cga.line(alg, 0 * x, direction=z)
    for A, B, name in (
        (cga.plane(alg, z, 0.0), cga.plane(alg, z, 1e-10), "direction"),
        (line, cga.line(alg, 1e-10 * x, direction=x), "flat point"),
        (line, cga.line(alg, [0, 1e-10, 0], direction=x), "infinity"),
        (cga.sphere(alg, 0 * x, 5e-6), cga.plane(alg, z, 3e-6), "circle"),
    ):
        small = cga.intersect(A, B)
        assert small.name == name
    close(small.radius * 1e6, 4.0)
    at = 1e4 * (x + z)
    far = cga.intersect(cga.sphere(alg, at, 5.0), cga.sphere(alg, at + 8 * x, 5.0))
    close(far.location - at, 4 * x, 1e-6)
    close(far.radius, 3.0, 1e-6)
    circle, other = (cga.circle(alg, [1e4, y, 0], 1.0, z) for y in (0, 5))
    close(cga.distance(circle, other), 3.0, 1e-6)
    close(cga.angle(cga.sphere(alg, at, 5.0), cga.sphere(alg, at + 8 * x, 5.0)), np.arccos((50 - 64) / 50), 1e-7)


@pytest.mark.parametrize("alg", BASES)
def test_intersections_and_what_they_are(alg):
    z, x = [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]
    S = cga.sphere(alg, [0, 0, 0], 5.0)
    found = cga.intersect(S, cga.sphere(alg, [[8.0, 0, 0], [10.0, 0, 0], [12.0, 0, 0]], 5.0))
    assert found.name.tolist() == ["circle", "tangent", "imaginary circle"]
    close(found.location, [[4, 0, 0], [5, 0, 0], [6, 0, 0]])
    close(found.radius_squared, [9, 0, -11], 1e-9)
    first, second, aside = (
        cga.line(alg, p, direction=u) for p, u in (([0, 0, 0], x), ([3.0, 0, 0], z), ([0, 1.0, 1.0], z))
    )
    C, axis = cga.circle(alg, [0, 0, 0], 5.0, z), cga.intersect(cga.plane(alg, z, 1.0), cga.plane(alg, x, 2.0))
    for A, B, name in (
        (S, cga.sphere(alg, [0, 0, 0], 3.0), "dual flat"),  # concentric
        (cga.plane(alg, z, 1.0), cga.plane(alg, z, 2.0), "direction"),
        (cga.plane(alg, z, 1.0), cga.plane(alg, x, 2.0), "line"),
        (first, second, "flat point"),  # both hold the point, and infinity
        (first, aside, "infinity"),
        (C, cga.circle(alg, [10.0, 0, 0], 5.0, [0, 1, 0]), "point"),
        (C, C, "circle"),
        (S, cga.up(alg, [3.0, 4, 0]), "point"),
    ):
        assert cga.intersect(A, B).name == name
    close(axis.location, [2, 0, 1])
    close(cga.intersect(first, second).location, [3, 0, 0])
    both = cga.intersect(C, cga.circle(alg, [[6.0, 0, 0], [10.0, 0, 0], [12.0, 0, 0]], 5.0, z))
    assert both.name.tolist() == ["point pair", "tangent", "imaginary point pair"]
    close(both.location[0], [3, 0, 0])
    close(both.radius_squared[0], 16)
    for A, B in ((C, cga.circle(alg, [5.0, 0, 0], 2.0, [0, 1, 0])), (S, cga.up(alg, [3.0, 4, 1]))):  # one is linked
        assert not cga.intersect(A, B).has_points
    third = cga.intersect(both[0], cga.plane(alg, x, 3.0))  # what is classified goes on
    close(third.location, [3, 0, 0])
    close(cga.distance(both[0], cga.up(alg, [3.0, 4, 2])), 2.0)
    close(cga.angle(found[0], cga.plane(alg, x, 4.0)), 0.0, 1e-6)
    dual = cga.intersect(S.dual(), cga.plane(alg, z, 3.0, dual=True), dual=True)
    close(dual.radius, 4)
    for o, u in np.random.default_rng(5).standard_normal((10, 2, 3)):  # equal but for rounding, which is no distance
        lines = (cga.line(alg, o, direction=u), cga.line(alg, o + 3 * u, direction=-u))
        planes = (cga.plane(alg, u, u @ o), cga.plane(alg, -3 * u, -3 * u @ o))
        pairs = (lines, planes, (cga.up(alg, o), 2.7 * cga.up(alg, o)))
        assert [cga.intersect(*pair).name for pair in pairs] == ["line", "plane", "point"]
