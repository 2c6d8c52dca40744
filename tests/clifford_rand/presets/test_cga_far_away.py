"""Conformal objects far from the origin: right to 1e-9 of the distance, or refused."""

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.presets import cga
from support.geometry import CGA, MODELS, through
from support.refusals import refused

MODELS = MODELS[2:]  # from the plane on
RADIUS = 1.3


def scene(n, distance):
    """Return a center at a distance and orthonormal rows."""
    rng = np.random.default_rng(n)
    m = rng.standard_normal(n)
    return distance * m / np.linalg.norm(m), np.linalg.qr(rng.standard_normal((n, n)))[0]


def rounds(n, null, distance):
    """Return {(name, m): round of dimension m and radius 1.3}, as constructed, and fitted."""
    alg = CGA[n, null]
    c, Q = scene(n, distance)
    rng = np.random.default_rng(7)
    found = {("sphere", n): cga.sphere(alg, c, RADIUS)}
    if n == 3:
        found["circle", 2] = cga.circle(alg, c, RADIUS, 5 * np.cross(Q[0], Q[1]))
    for m in range(1, n + 1):
        found["round_about", m] = cga.round_about(alg, c, RADIUS, Q[:m])
        V = rng.standard_normal((m + 4, m))
        X = c + RADIUS * V / np.linalg.norm(V, axis=1, keepdims=True) @ Q[:m]
        if m > 1:
            found["fit", m] = cga.fit_round(alg, X, m)
    found["point_pair", 1] = cga.point_pair(alg, c - RADIUS * Q[0], c + RADIUS * Q[0])
    return alg, c, Q, found


@pytest.mark.parametrize(("n", "null"), MODELS)
@pytest.mark.parametrize("distance", [10, 1e3, 1e6])
def test_constructed_and_fitted_rounds_keep_their_parameters(n, null, distance):
    alg, c, Q, found = rounds(n, null, distance)
    near = 1e-9 * distance
    for (name, m), X in found.items():
        for scale in (1, 2.0**-9):
            described = cga.classify(scale * X)
            assert str(described.kind) == "round", name
            assert abs(described.radius - RADIUS) <= near
            assert abs(cga.radius(scale * X) - RADIUS) <= near
            assert abs(cga.center(scale * X) - c).max() <= near
            assert abs(described.location - c).max() <= near
        assert abs(np.linalg.norm(described.directions() @ Q[:m].T) - np.sqrt(m)) <= near, name
    if n == 3:
        assert abs(abs(cga.normal(found["circle", 2]) @ np.cross(Q[0], Q[1])) - 1) <= near
    points = np.stack([cga.down(P) for P in cga.split_point_pair(found["point_pair", 1])])
    assert abs(points - np.stack([c - RADIUS * Q[0], c + RADIUS * Q[0]])).max() <= near
    other = cga.sphere(alg, c + 5 * np.eye(n)[0], RADIUS)
    S = found["sphere", n]
    assert abs(cga.distance(S, other) - (5 - 2 * RADIUS)) <= near
    third = cga.sphere(alg, c + 0.5 * np.eye(n)[0], RADIUS)
    assert abs(cga.intersect(S, third).radius - np.sqrt(RADIUS**2 - 0.25**2)) <= near


@pytest.mark.parametrize("n", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4))])
@pytest.mark.parametrize("null", [False, True])
def test_wedges_of_points_are_right_or_refused(null, n):
    """What the products of a wedge have lost cannot come back: the answer is right to 1e-3, or a sentence."""
    kept = 0
    alg = CGA[n, null]
    for distance in 10.0 ** np.arange(1, 6):
        c, Q = scene(n, distance)
        for m in range(1, n + (distance < 3e3)):  # of n + 1 points no grade of X ~X tells the rounding
            V = np.random.default_rng(m).standard_normal((m + 1, m)) if m > 1 else np.array([[1.0], [-1.0]])
            points = c + RADIUS * V / np.linalg.norm(V, axis=1, keepdims=True) @ Q[:m]
            X = through(alg, points)
            for measure in (cga.radius, lambda A: cga.classify(A).radius, cga.center):
                try:
                    error = np.linalg.norm(measure(X) - (c if measure is cga.center else RADIUS))
                except cr.ArgumentError:
                    assert distance > 30
                    continue
                assert error <= 1e-3, (n, m, distance)
                kept += 1
    assert kept >= 6 * n


@pytest.mark.parametrize("size", [1.0, 3.0])
@pytest.mark.parametrize("corner", [(1, 0), (0, 1), (1, 1)])
def test_wedges_of_three_points_in_a_coordinate_plane_have_a_radius_or_none(corner, size):
    """No grade of X ~X tells what is lost there: from 1e5 on the radius was 9e7 and more for .7."""
    alg, answers = cr.Algebra.cga(3), 0
    for distance in 10.0 ** np.arange(0, 7):
        points = distance * np.array([*corner, 0.0]) + size * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
        try:
            radius = cga.radius(through(alg, points))
        except cr.ArgumentError:
            assert distance > 30
            continue
        assert radius == pytest.approx(size * 0.5**0.5, rel=1e-3)
        answers += 1
    assert answers >= 2


@pytest.mark.parametrize("null", [False, True])
def test_a_radius_below_the_rounding_of_c_squared_is_refused(null):
    alg = CGA[3, null]
    assert cga.radius(cga.sphere(alg, [1e6, 0, 0], 1.0)) == 1
    assert cga.classify(cga.sphere(alg, [1e6, 0, 0], 1.0)).radius == 1
    for make in (
        lambda c, r: cga.sphere(alg, c, r),
        lambda c, r: cga.circle(alg, c, r, [0, 0, 1]),
        lambda c, r: cga.round_about(alg, c, r, [[1, 0, 0], [0, 1, 0]]),
        lambda c, r: cga.inversion(alg, c, r),
    ):
        refused(r"'radius' .* of the distance of the center from the origin", make, [8e6, 1e6, 0], 0.5)
        refused(r"'center' .* within 8\.4e\+06 of the origin", make, [3e7, 0, 0], 1.0)


@pytest.mark.parametrize(("null", "distance"), [(False, 1e2), (False, 1e3), (True, 1e2), (True, 1e4), (True, 1e6)])
def test_screws_about_far_axes_move_points_as_matrices_do(null, distance):
    """In the basis of e4 and e5 the terms of R P ~R are c² times P, so R P comes first: it has rounding c times P."""
    alg, rng = CGA[3, null], np.random.default_rng(5)
    for _ in range(20):
        c, u = scene(3, distance)[0] + rng.standard_normal(3), rng.standard_normal(3)
        u, angle = u / np.linalg.norm(u), rng.uniform(0.1, 3)
        R = cga.motor(alg, cga.line(alg, c, direction=u), angle, 0.5)
        x = rng.standard_normal((4, 3))  # about c
        turned = np.cos(angle) * x + np.sin(angle) * np.cross(u, x) + (1 - np.cos(angle)) * np.outer(x @ u, u)
        for moved in (cga.down(R >> cga.up(alg, c + x)), [cga.down(R >> cga.up(alg, c + one)) for one in x]):
            assert abs(moved - (c + turned + 0.5 * u)).max() <= 2e-9 * distance
