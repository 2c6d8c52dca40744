"""The conformal model, in both bases, against coordinate geometry in NumPy."""

from fractions import Fraction

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.presets import cga
from support.geometry import BASES, CGA, MODELS, gaussian, rodrigues, same, through
from support.geometry import relative as close
from support.refusals import refused

MODELS = MODELS[2:]  # from the plane on


def circumsphere(X):
    """Center and radius of the sphere through n + 1 points of n-space: |x|² - 2 c·x + |c|² = r²."""
    c = np.linalg.solve(2 * (X[1:] - X[0]), (X[1:] ** 2).sum(1) - (X[0] ** 2).sum())
    return c, np.linalg.norm(X[0] - c)


@pytest.mark.parametrize(("n", "null"), CGA)
def test_points(n, null):
    alg, X, Y = CGA[n, null], gaussian(n, 3, 4, n), gaussian(n + 1, 3, 4, n)
    o, i = cga.origin(alg), cga.infinity(alg)
    assert o * o == 0
    assert i * i == 0
    assert (o | i) == -1
    P, Q = cga.up(alg, X), cga.up(alg, Y)
    assert P.shape == (3, 4)
    assert np.abs((P | P)["1"]).max() < 1e-13
    close((P | i)["1"], -np.ones((3, 4)))
    close(cga.down(P), X)
    close(cga.down(P * -3.5), X)
    apart = np.linalg.norm(X - Y, axis=-1)
    close(cga.distance(P * 2.0, Q * -7.0), apart)
    close(np.sqrt(-2 * (P | Q)["1"]), apart)
    vectors = cr.Algebra.vga(n).vector(X)
    assert (cga.point(alg, vectors) == P).all()


@pytest.mark.kept("2-True")
@pytest.mark.parametrize(("n", "null"), MODELS)
def test_sphere_through_points_is_the_circumsphere(n, null):
    alg = CGA[n, null]
    for seed in range(10):
        X = gaussian(seed, n + 1, n)
        c, r = circumsphere(X)
        S = through(alg, X) * -4.0
        scale = max(1.0, np.linalg.norm(c))
        close(cga.center(S) / scale, c / scale, 1e-7)
        close(cga.radius(S), r, 1e-7)
        same(S, cga.sphere(alg, c, r), 1e-8)
        assert cga.contains_point(S, cga.up(alg, X), rtol=1e-9).all()
        assert not cga.contains_point(S, cga.up(alg, c), rtol=1e-9)
        dual = cga.sphere(alg, c, r, dual=True)
        same(dual, S.dual(), 1e-8)
        close(cga.center(dual), c, 1e-9)
        close(cga.radius(dual * -2.0, dual=True), r, 1e-9)
        assert cga.contains_point(dual, cga.up(alg, X), dual=True, rtol=1e-9).all()
        if n == 2:
            same(S, cga.circle(alg, c, r), 1e-8)


@pytest.mark.parametrize(("n", "null"), MODELS)
def test_planes(n, null):
    alg, N, b = CGA[n, null], gaussian(n, 6, n), gaussian(n + 1, 6)
    unit = N / np.linalg.norm(N, axis=-1, keepdims=True)
    for dual in (False, True):
        plane = cga.plane(alg, N, b, dual=dual)
        close(cga.normal(plane, dual=dual), unit)
        X = gaussian(n + 2, 6, n)
        X += ((b - (X * N).sum(-1)) / (N * N).sum(-1))[:, None] * N
        assert cga.contains_point(plane, cga.up(alg, X), dual=dual).all()
        assert not cga.contains_point(plane, cga.up(alg, X + 0.01 * N), dual=dual).any()
    points = gaussian(n + 3, n, n)
    same(through(alg, points, cga.infinity(alg)), cga.plane(alg, np.linalg.solve(points, np.ones(n)), 1.0), 1e-9)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("alg", BASES)
def test_circles_and_lines_of_space(alg, seed):
    c, N, other = gaussian(seed, 3, 3)
    r = 1.5 + seed
    u = np.cross(N, other)
    u /= np.linalg.norm(u)
    v = np.cross(N, u) / np.linalg.norm(N)
    C = cga.circle(alg, c, r, N)
    angles = gaussian(seed + 50, 3)
    X = c + r * (np.cos(angles)[:, None] * u + np.sin(angles)[:, None] * v)
    same(C, through(alg, X), 1e-7)
    close(cga.center(C), c, 1e-9)
    close(cga.radius(C), r, 1e-9)
    close(cga.normal(C), N / np.linalg.norm(N), 1e-9)
    same(cga.carrier(C), cga.plane(alg, N, N @ c))
    dual = cga.circle(alg, c, r, N, dual=True)
    same(dual, C.dual())
    close(cga.radius(dual, dual=True), r, 1e-9)
    close(cga.normal(dual, dual=True), N / np.linalg.norm(N), 1e-9)
    L = cga.line(alg, c, direction=N)
    same(L, cga.up(alg, c) ^ cga.up(alg, c - 2 * N) ^ cga.infinity(alg))
    assert cga.contains_point(L, cga.up(alg, c + gaussian(seed, 5, 1) * N)).all()
    assert not cga.contains_point(L, cga.up(alg, X)).any()
    same(cga.line(alg, c, direction=N, dual=True), L.dual())
    same(cga.line(alg, c, c + N), cga.up(alg, c) ^ cga.up(alg, c + N) ^ cga.infinity(alg))
    same(cga.line(alg, c, c + N, dual=True), L.dual())


@pytest.mark.parametrize(("n", "null"), MODELS)
def test_point_pairs(n, null):
    alg, X, Y = CGA[n, null], gaussian(n, 20, n), gaussian(n + 1, 20, n)
    pair = cga.point_pair(alg, X, Y)
    close(cga.radius(pair * -3.0), np.linalg.norm(X - Y, axis=-1) / 2)
    close(cga.center(pair * -3.0), (X + Y) / 2)
    for made, dual, first, second in ((pair, False, X, Y), (pair * -3.0, False, Y, X), (pair.dual(), True, X, Y)):
        A, B = cga.split_point_pair(made, dual=dual)
        close(cga.down(A), first)
        close(cga.down(B), second)
    same(cga.point_pair(alg, X, Y, dual=True), pair.dual())


@pytest.mark.parametrize(("n", "null"), MODELS)
def test_meet_of_two_spheres(n, null):
    """Centers a, b, radii r, s: the plane of the meet is t = (D² + r² - s²)/(2 D) from a; its radius² is r² - t²."""
    alg, (a, b) = CGA[n, null], gaussian(n, 2, n)
    D = np.linalg.norm(b - a)
    for r, s in ((0.8 * D, 0.7 * D), (0.3 * D, 0.4 * D), (2.0 * D, 2.5 * D)):
        t = (D * D + r * r - s * s) / (2 * D)
        for dual in (False, True):
            M = cga.meet(cga.sphere(alg, a, r, dual=dual), cga.sphere(alg, b, s, dual=dual), dual=dual)
            close(cga.center(M), a + t * (b - a) / D, 1e-9)
            close(cga.radius_squared(M, dual=dual), r * r - t * t, 1e-9)
            if r * r < t * t:
                refused("an imaginary round", cga.radius, M, dual=dual)
            if n == 3:
                close(np.abs(cga.normal(M, dual=dual)), np.abs(b - a) / D, 1e-9)


@pytest.mark.parametrize("alg", BASES)
def test_line_meets_sphere_and_plane(alg):
    for seed in range(5):
        p, u, c, N = gaussian(seed, 4, 3)
        r = np.linalg.norm(c - p) + 1
        roots = np.roots([u @ u, 2 * u @ (p - c), (p - c) @ (p - c) - r * r])
        S, L = cga.sphere(alg, c, r), cga.line(alg, p, direction=u)
        found = np.array([cga.down(P) for P in cga.split_point_pair(cga.meet(L, S))])
        expected = p + np.sort(roots)[:, None] * u
        order = np.argsort((found - p) @ u)
        close(found[order], expected, 1e-9)
        hit = cga.meet(L, cga.plane(alg, N, 2.0))  # a flat point, P ∧ n_∞
        x = p + (2.0 - N @ p) / (N @ u) * u
        same(hit, cga.up(alg, x) ^ cga.infinity(alg))


@pytest.mark.parametrize(("n", "null"), MODELS)
def test_versors_against_coordinates(n, null):
    alg, X, t = CGA[n, null], gaussian(n, 6, n), gaussian(n + 1, 6, n)
    P, angle = cga.up(alg, X), gaussian(n + 2, 6)
    T = cga.translator(alg, t)
    assert (T * ~T).isclose(1).all()
    close(cga.down(T >> P), X + t)
    assert (T >> cga.sphere(alg, X, 2.0, dual=True)).grade(1).isclose(cga.sphere(alg, X + t, 2.0, dual=True)).all()
    R = cga.rotor(alg, (alg.e1 ^ alg.e2) * 3, angle)
    Y = X.copy()
    Y[:, 0] = np.cos(angle) * X[:, 0] - np.sin(angle) * X[:, 1]
    Y[:, 1] = np.sin(angle) * X[:, 0] + np.cos(angle) * X[:, 1]
    close(cga.down(R >> P), Y)
    c, factor = gaussian(n + 3, n), np.exp(gaussian(n + 4, 6))
    D = cga.dilator(alg, factor, c)
    assert (D * ~D).isclose(1).all()
    close(cga.down(D >> P), c + factor[:, None] * (X - c))
    close(cga.down(cga.dilator(alg, 2.5) >> P), 2.5 * X)
    close(cga.radius((D >> cga.sphere(alg, c, 3.0)).grade(n + 1)), 3 * factor, 1e-9)
    S = cga.inversion(alg, c, 1.7)
    assert (S * S).isclose(1)
    ray = X - c
    close(cga.down(S >> P), c + 1.7**2 * ray / (ray**2).sum(-1, keepdims=True), 1e-10)


@pytest.mark.parametrize("alg", BASES)
def test_motors_equal_4x4_matrices(alg):
    X = gaussian(5, 7, 3)
    for seed in range(10):
        p, u = gaussian(seed, 2, 3)
        angle, shift = 3 * gaussian(seed + 50, 2)
        u, S = u / np.linalg.norm(u), rodrigues(u / np.linalg.norm(u), angle)
        M = cga.motor(alg, cga.line(alg, p, direction=2 * u), angle, shift)
        assert (M * ~M).isclose(1, rtol=1e-10)
        close(cga.down(M >> cga.up(alg, X)), (X - p) @ S.T + p + shift * u, 1e-10)
        line = cga.line(alg, p, direction=u, dual=True)
        pure = cga.rotor(alg, line, angle)
        R = cga.motor(alg, cga.line(alg, p, direction=u), angle, 0.0)
        assert pure.isclose(R, rtol=1e-10) or (~pure).isclose(R, rtol=1e-10)


@pytest.mark.parametrize("alg", BASES)
@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_scales(alg, scale):
    X, Y = gaussian(1, 9, 3), gaussian(2, 9, 3)
    pair, S, C = cga.point_pair(alg, X, Y), cga.sphere(alg, X, 2.0), cga.circle(alg, X, 2.0, Y)
    close(cga.down(cga.up(alg, X) * scale), X)
    close(cga.center(S * scale), X)
    close(cga.radius(S * scale), np.full(9, 2.0))
    close(cga.radius(cga.sphere(alg, X, 2.0, dual=True) * scale, dual=True), np.full(9, 2.0))
    close(cga.normal(C * scale), cga.normal(C))
    close(cga.down(cga.split_point_pair(pair * scale)[1]), Y)
    close(cga.distance(cga.up(alg, X) * scale, cga.up(alg, Y)), np.linalg.norm(X - Y, axis=-1))
    assert cga.contains_point(cga.point_pair(alg, X, Y) * scale, cga.up(alg, X) * scale).all()
    L = cga.line(alg, X, direction=Y)
    close(cga.motor(alg, L * scale, 1.0, 2.0).coefficients, cga.motor(alg, L, 1.0, 2.0).coefficients)
    far = cga.up(alg, X * scale)  # (1e150)² is still finite, and -P·n_∞ is lost in the basis of e4, e5
    close(cga.down(far), X * scale)
    close(cga.distance(far, cga.up(alg, Y * scale)), np.linalg.norm(X - Y, axis=-1) * scale)


@pytest.mark.parametrize("alg", BASES)
def test_single_exact_and_complex_coordinates(alg):
    X = gaussian(1, 4, 3).astype(np.float32)
    close(cga.radius(cga.sphere(alg, X, 2.0)), np.full(4, 2.0), 1e-4)
    assert cga.contains_point(cga.line(alg, X, direction=X[::-1]), cga.up(alg, X)).all()
    assert cga.dilator(alg, X[:, 0] ** 2).dtype == np.float32
    third = Fraction(1, 3)
    P = cga.up(alg, np.array([third, Fraction(2), Fraction(5)], dtype=object))
    assert P * P == 0
    T = cga.translator(alg, np.array([third, third, third], dtype=object))
    assert cga.down((T >> P).grade(1)).tolist() == [2 * third, 2 + third, 5 + third]
    Z = X + 1j * X[::-1]
    close(cga.down(cga.up(alg, Z)), Z, 1e-5)


def test_batches_broadcast():
    alg, X = BASES[0], gaussian(1, 5, 1, 3)
    assert cga.sphere(alg, X, np.ones(4)).shape == (5, 4)
    assert cga.circle(alg, X, 1.0, gaussian(2, 4, 3)).shape == (5, 4)
    assert cga.contains_point(cga.plane(alg, gaussian(2, 4, 3)), cga.up(alg, X)).shape == (5, 4)


def test_a_rotation_needs_a_simple_bivector():
    alg = CGA[4, False]
    refused("'axis' parameter of rotor must be one axis", cga.rotor, alg, alg.e12 + alg.e34, 1.0)
