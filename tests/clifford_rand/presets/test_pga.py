"""The projective model against coordinate geometry in NumPy."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.presets import pga
from support.geometry import PGA, flat, gaussian, relative, rodrigues

close = partial(relative, rtol=1e-12)


def flat_distance(p, U, q, V):
    """The least distance of {p + U s} and {q + V t}, by least squares."""
    A = np.concatenate([U, -V], axis=1)
    if A.shape[1] == 0:
        return np.linalg.norm(q - p)
    return np.linalg.norm(A @ np.linalg.lstsq(A, q - p, rcond=None)[0] - (q - p))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_points_are_meets_of_coordinate_planes_and_come_back(n):
    alg, X = PGA[n], gaussian(n, 3, 4, n)
    P = pga.point(alg, X)
    assert P.shape == (3, 4)
    close(pga.coordinates(P), X)
    close(pga.coordinates(P * -7.5), X)
    planes = [pga.plane(alg, np.eye(n)[i], X[..., i]) for i in range(n)]
    met = planes[0] if n == 1 else planes[0].wedge(*planes[1:])
    assert met.isclose(P).all()
    assert (P + pga.direction(alg, X)).isclose(pga.point(alg, 2 * X)).all()
    close(pga.ideal_norm(pga.direction(alg, X)), np.linalg.norm(X, axis=-1))
    close(pga.norm(3 * P), np.full((3, 4), 3.0))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_n_random_planes_meet_where_numpy_says_and_n_points_span_a_plane(n):
    alg, N, b = PGA[n], gaussian(n, n, n), gaussian(n + 9, n)
    planes = [pga.plane(alg, N[i], b[i]) for i in range(n)]
    close(pga.coordinates(planes[0].wedge(*planes[1:])), np.linalg.solve(N, b), rtol=1e-10)
    X = gaussian(n + 30, n, n)
    joined = pga.point(alg, X[0])
    for x in X[1:]:
        joined = joined & pga.point(alg, x)
    normal = np.linalg.solve(X, np.ones(n))  # normal·x = 1 on all of them
    expected = pga.plane(alg, normal, 1.0)
    ratio = joined.coefficients / expected.coefficients
    close(ratio, np.full(n + 1, ratio[0]), rtol=1e-9)


def test_3d_names_agree_with_the_usual_tables():
    alg = PGA[3]
    P = pga.point(alg, [2, 3, 5])
    assert [float(P[name]) for name in ("e123", "e032", "e013", "e021")] == [1, 2, 3, 5]
    p = pga.plane(alg, [2, 3, 5], 7)
    assert [float(p[name]) for name in ("e1", "e2", "e3", "e0")] == [2, 3, 5, -7]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_translators_move_by_t(n):
    alg, X, t = PGA[n], gaussian(n, 6, n), gaussian(n + 1, 6, n)
    T = pga.translator(alg, t)
    close(pga.coordinates(T >> pga.point(alg, X)), X + t)
    N, b = gaussian(n + 2, 6, n), gaussian(n + 3, 6)
    assert (T >> pga.plane(alg, N, b)).grade(1).isclose(pga.plane(alg, N, b + (N * t).sum(-1))).all()
    assert (T * ~T).isclose(1).all()


def test_motors_of_space_equal_4x4_matrices():
    alg, X = PGA[3], gaussian(5, 7, 3)
    for seed in range(20):
        p, u = gaussian(seed, 2, 3)
        angle, shift = 3 * gaussian(seed + 50, 2)
        u /= np.linalg.norm(u)
        S = np.eye(4)
        S[:3, :3] = rodrigues(u, angle)
        S[:3, 3] = p - S[:3, :3] @ p + shift * u
        axis = pga.line(alg, p, pga.direction(alg, u)) * 3.7
        M = pga.motor(alg, axis, angle, shift)
        moved = pga.coordinates(M >> pga.point(alg, X))
        close(moved, (np.c_[X, np.ones(7)] @ S.T)[:, :3])
        assert (M * ~M).isclose(1)
        other = pga.motor(alg, pga.line(alg, p, p + 2 * u), angle, shift)
        assert M.isclose(other, rtol=1e-10)
        L = pga.line(alg, X[0], X[1])
        assert (M >> L).grade(2).isclose(pga.line(alg, moved[0], moved[1]), rtol=1e-10)
        turned = pga.direction(alg, X) * 1.0
        assert (M >> turned).grade(3).isclose(pga.direction(alg, X @ S[:3, :3].T), rtol=1e-10).all()


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_bivectors_turn_their_first_vector_towards_their_second(n):
    """In the plane also about any point: counter-clockwise."""
    alg, X, angles = PGA[n], gaussian(n, 4, n), np.array([0.3, np.pi / 2, -2.0, 6.0])
    c = gaussian(1, n) * (n == 2)
    Y, R = X - c, pga.rotor(alg, pga.point(alg, c) * 4 if n == 2 else alg.e12, angles)
    x, y = Y[:, 0].copy(), Y[:, 1].copy()
    Y[:, 0], Y[:, 1] = np.cos(angles) * x - np.sin(angles) * y, np.sin(angles) * x + np.cos(angles) * y
    close(pga.coordinates(R >> pga.point(alg, X)), Y + c)


@pytest.mark.kept("2")
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_distance_of_any_two_flats(n):
    alg = PGA[n]
    for k in range(n):
        for m in range(n):
            for seed in range(3):
                (p, q), U, V = gaussian(seed, 2, n), gaussian(seed + 10, n, k), gaussian(seed + 20, n, m)
                if k and m and seed == 1:
                    V[:, 0] = U[:, 0]  # one common direction
                if seed == 2:
                    V[:, : min(k, m)] = U[:, : min(k, m)]  # parallel
                expected = flat_distance(p, U, q, V)
                a, b = flat(alg, p, U.T) * -2.5, flat(alg, q, V.T)
                close(pga.distance(a, b) + 1, expected + 1, rtol=1e-10)
                close(pga.distance(b, a) + 1, expected + 1, rtol=1e-10)
                assert pga.is_incident(a, b, rtol=1e-10) == (expected < 1e-10)


def test_a_line_at_infinity_along_its_own_direction_is_zero():
    """No second point was given that could be the same."""
    alg = PGA[3]
    infinite = pga.point(alg, [1.0, 0, 0]) - pga.point(alg, [0.0, 0, 0])
    assert pga.line(alg, infinite, direction=[1, 0, 0]) == 0


def test_distances_that_have_a_short_formula():
    alg, X, Y = PGA[3], gaussian(1, 50, 3), gaussian(2, 50, 3)
    P, Q = pga.point(alg, X), pga.point(alg, Y)
    close(pga.distance(P, Q), pga.norm(P & Q))
    close(pga.distance(P, Q), np.linalg.norm(X - Y, axis=-1))
    N, b = gaussian(3, 50, 3), gaussian(4, 50)
    close(pga.distance(P, pga.plane(alg, N, b)), np.abs((X * N).sum(-1) - b) / np.linalg.norm(N, axis=-1))
    apart = pga.distance(pga.plane(alg, N, b), pga.plane(alg, -2 * N, b))
    close(apart, 1.5 * np.abs(b) / np.linalg.norm(N, axis=-1), rtol=1e-9)
    A, B = gaussian(5, 50, 3), gaussian(6, 50, 3)
    normal = np.cross(A - X, B - Y)
    skew = np.abs(((Y - X) * normal).sum(-1)) / np.linalg.norm(normal, axis=-1)
    close(pga.distance(pga.line(alg, X, A), pga.line(alg, Y, B)), skew, rtol=1e-9)
    lines, plane = pga.line(alg, [[0, 0, 2.0], [0, 0, 2]], [[1, 1, 2.0], [1, 0, 3]]), pga.plane(alg, [0, 0, 1.0])
    np.testing.assert_allclose(pga.distance(lines, plane), [2, 0], atol=1e-12)  # one of them is parallel
    np.testing.assert_allclose(pga.distance(plane, lines[::-1]), [0, 2], atol=1e-12)


def test_angles():
    alg, U, V = PGA[3], gaussian(1, 40, 3), gaussian(2, 40, 3)
    X, Y = gaussian(3, 2, 40, 3)
    expected = np.arccos((U * V).sum(-1) / np.linalg.norm(U, axis=-1) / np.linalg.norm(V, axis=-1))
    lines = [pga.line(alg, p, pga.direction(alg, u)) for p, u in ((X, U), (Y, V))]
    planes = [pga.plane(alg, U, X[:, 0]), pga.plane(alg, V, 3.0)]
    close(pga.angle(*lines), expected)
    close(pga.angle(*planes), expected)
    close(pga.angle(lines[0], planes[1]), np.abs(np.pi / 2 - expected))
    close(pga.angle(planes[1], lines[0]), np.abs(np.pi / 2 - expected))
    tiny = 1e-9  # arccos would give 0
    close(pga.angle(pga.plane(alg, [1.0, 0, 0]), pga.plane(alg, [np.cos(tiny), np.sin(tiny), 0])), tiny, rtol=1e-6)
    assert pga.angle(pga.plane(alg, [0, 0, 1]), pga.line(alg, [1, 2, 3], [2, 2, 3])) == 0
    assert abs(pga.angle(pga.plane(alg, [0, 0, 1]), pga.line(alg, [0, 0, 0], [0, 0, 3])) - np.pi / 2) < 1e-15
    assert pga.angle(pga.plane(alg, [0, 0, 1]), pga.plane(alg, [0, 0, -2], 5)) == np.pi


def test_incidence():
    alg, X, Y = PGA[3], gaussian(1, 30, 3), gaussian(2, 30, 3)
    L = pga.line(alg, X, Y)
    s = gaussian(3, 30, 1)
    on = pga.point(alg, X + s * (Y - X))
    assert pga.is_incident(on, L).all()
    off = pga.point(alg, X + s * (Y - X) + 1e-6 * np.cross(X, Y))
    assert not pga.is_incident(off, L).any()
    assert pga.is_incident(off, L, rtol=1e-3).all()
    assert pga.is_incident(pga.line(alg, X, gaussian(4, 30, 3)), L).all()
    assert not pga.is_incident(pga.line(alg, gaussian(5, 30, 3), gaussian(4, 30, 3)), L).any()
    assert np.all(pga.line(alg, X, direction=Y) == pga.line(alg, X, pga.direction(alg, Y)))
    assert pga.is_incident(pga.point(alg, X + Y), pga.line(alg, X, direction=Y)).all()
    small = pga.line(alg, X * 1e-100, Y * 1e-100)
    apart = pga.point(alg, X * 1e-100 + 1e-106 * np.cross(X, Y))
    assert not pga.is_incident(apart, small, unit=1e-100).any()


@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_scales(scale):
    alg, X, Y = PGA[3], gaussian(1, 9, 3), gaussian(2, 9, 3)
    p, q, L = pga.point(alg, X), pga.point(alg, Y), pga.line(alg, X[::-1], Y)
    close(pga.coordinates(p * scale), X)
    close(pga.distance(p * scale, q * scale), np.linalg.norm(X - Y, axis=-1))
    close(pga.distance(p, L * scale), pga.distance(p, L))
    close(pga.norm(p * scale), np.full(9, scale))
    close(pga.angle(L * scale, pga.line(alg, X, Y)), pga.angle(L, pga.line(alg, X, Y)))
    close(pga.motor(alg, L * scale, 1.0, 2.0).coefficients, pga.motor(alg, L, 1.0, 2.0).coefficients)
    far, near = pga.point(alg, X * scale), pga.point(alg, Y * scale)
    close(pga.coordinates(far), X * scale)
    close(pga.distance(far, near), np.linalg.norm(X - Y, axis=-1) * scale)
    plane = pga.plane(alg, [0.0, 0, 2], 2 * scale)
    close(pga.distance(far, plane), np.abs(X[:, 2] - 1) * scale)
    close(pga.distance(pga.line(alg, [0.0, 0, 0], [1.0, 0, 0]), pga.line(alg, [0.0, 0, scale], [0, 1.0, scale])), scale)


def test_single_precision_and_exact_coordinates():
    alg = PGA[3]
    X = gaussian(1, 4, 3).astype(np.float32)
    P, L = pga.point(alg, X), pga.line(alg, X, X[::-1] + 1)
    assert pga.is_incident(P, L).all()
    exact = pga.line(alg, X.astype(float), X[::-1].astype(float) + 1)
    moved, expected = (pga.coordinates(pga.motor(alg, axis, 0.5, 1.0) >> P) for axis in (L, exact))
    close(moved, expected, rtol=1e-5)
    third = Fraction(1, 3)
    P = pga.point(alg, np.array([third, Fraction(2), Fraction(5, 7)], dtype=object))
    T = pga.translator(alg, np.array([third, third, third], dtype=object))
    moved = pga.coordinates((T >> P).grade(3) * Fraction(3))
    assert moved.tolist() == [2 * third, 2 + third, Fraction(5, 7) + third]


def test_points_from_vectors_and_batches_that_broadcast():
    alg, vga = PGA[3], cr.Algebra.vga(3)
    X = gaussian(1, 5, 1, 3)
    close(pga.coordinates(pga.point(alg, vga.vector(X))), X)
    N = gaussian(2, 4, 3)
    assert pga.distance(pga.point(alg, X), pga.plane(alg, N, gaussian(3, 4))).shape == (5, 4)
    assert pga.angle(pga.line(alg, X, X + 1), pga.plane(alg, N)).shape == (5, 4)
    assert pga.rotor(alg, alg.e12, gaussian(4, 6)).shape == (6,)


def test_coordinates_of_symbols_ask_for_no_rounding():
    import sympy

    s = sympy.Symbol("s", positive=True)
    P = pga.point(PGA[3], [s, 1, 2])
    assert pga.coordinates(P, rtol=1e-9).tolist() == pga.coordinates(P).tolist() == [s, 1, 2]
