"""Flats projected on each other, unit motors, screws, and motors from and to other forms, against NumPy and SciPy."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import sympy
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import clifford_rand as cr
from clifford_rand.presets import pga
from support.geometry import PGA, flat, gaussian
from support.geometry import close as agree
from support.refusals import refused

SPACE = PGA[3]
close = partial(agree, rtol=1e-13)


def motors(n, seed, *shape):
    return (0.8 * PGA[n].random_multivector(rng=np.random.default_rng(seed), shape=shape, grades=2)).exp()


def coordinates_on(p, U, X):
    """The point of {p + s U} nearest to X, and U's projector."""
    Q = np.linalg.qr(U.T)[0]
    return p + Q @ (Q.T @ (X - p)), Q @ Q.T


# ---- projections


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_points_and_directions_are_projected_on_any_flat(n):
    alg = PGA[n]
    for m in range(n):
        p, U, X = gaussian(m, n), gaussian(m + 10, m, n), gaussian(m + 20, 6, n)
        B = flat(alg, p, U) * -3.5
        feet = np.array([coordinates_on(p, U, x)[0] if m else p for x in X])
        P = pga.point(alg, X) * 2.0
        image = pga.project(P, B)
        close(pga.coordinates(image), feet, rtol=1e-12)
        close(pga.norm(image), np.full(6, 2.0), rtol=1e-12)
        rest = pga.reject(P, B)
        assert rest.isclose(pga.direction(alg, 2 * (X - feet)), rtol=1e-11).all()
        if m:
            v = pga.project(pga.direction(alg, X), B)
            assert v.isclose(pga.direction(alg, X @ coordinates_on(p, U, p)[1]), rtol=1e-11).all()


@pytest.mark.parametrize("n", [2, 3, 4])
def test_projections_of_any_two_flats_are_incident_idempotent_and_decompose(n):
    """Incident: every point of the smaller one lies in the other, by distance."""
    alg = PGA[n]
    for k in range(n):
        for m in range(n):
            p, q = gaussian(k, 5, n), gaussian(m + 7, 5, n)
            A = flat(alg, p, gaussian(k + 20, 5, k, n))
            B = flat(alg, q, gaussian(m + 40, 5, m, n)) * 4.0
            image, rest = pga.project(A, B), pga.reject(A, B)
            assert image.grades == A.grades
            assert image.is_blade().all()
            assert pga.project(image, B).isclose(image, rtol=1e-10).all()
            assert pga.reject(image, B).isclose(0, atol=1e-10).all()
            assert (image + rest).isclose(A, rtol=1e-10).all()
            inner, outer = (image, B) if k <= m else (B, image)
            start = pga.project(pga.point(alg, gaussian(3, 5, n)), inner)
            for seed in range(3):
                X = start + pga.project(pga.direction(alg, gaussian(seed, 5, n)), inner) if min(k, m) else start
                np.testing.assert_allclose(pga.distance(X, outer), 0, atol=1e-9)
            if k == m:
                cosine = pga.norm(image) / pga.norm(A)
                angles = np.array([pga.angle(a, b) for a, b in zip(A, B, strict=True)]) if k else 0.0
                close(cosine, np.abs(np.cos(angles)) * np.ones(5), rtol=1e-10)


def test_projections_with_a_known_answer():
    P, p = pga.point(SPACE, [1, 2, 3]), pga.plane(SPACE, [0, 0, 2], 2)
    L = pga.line(SPACE, [0, 0, 0], [1, 0, 1])
    shadow = pga.project(L, p)
    assert pga.is_incident(pga.point(SPACE, [7, 0, 1]), shadow)
    close(pga.distance(shadow, pga.line(SPACE, [0, 0, 1], [1, 0, 1])), 0.0)
    assert pga.project(pga.line(SPACE, [1, 1, 0], [1, 1, 5]), p).isclose(0, atol=1e-15)  # at right angles
    assert pga.project(p, P).isclose(pga.plane(SPACE, [0, 0, 2], 6))
    assert pga.reject(p, P).isclose(4 * SPACE.e0)
    across = pga.reject(p, L)
    assert pga.angle(across, L) == pytest.approx(np.pi / 2)
    np.testing.assert_allclose(pga.distance(pga.meet(p, L), across), 0, atol=1e-15)
    exact = pga.point(SPACE, np.array([Fraction(1, 3), Fraction(2), Fraction(1, 7)], dtype=object))
    plane = pga.plane(SPACE, np.array([Fraction(1), Fraction(2), Fraction(2)], dtype=object), Fraction(0))
    foot = pga.coordinates(pga.project(exact, plane))
    assert foot[0] + 2 * foot[1] + 2 * foot[2] == 0
    assert all(isinstance(x, Fraction) for x in foot)


def test_the_foot_of_a_symbolic_point():
    names = sympy.symbols("x y z a b c d", real=True)
    X, N, d = np.array(names[:3], dtype=object), np.array(names[3:6], dtype=object), names[6]
    foot = pga.coordinates(pga.project(pga.point(SPACE, X), pga.plane(SPACE, N, d)))
    expected = X - (X @ N - d) / (N @ N) * N
    assert [sympy.simplify(a - b) for a, b in zip(foot, expected, strict=True)] == [0, 0, 0]


def test_multivectors_of_tensors_are_taken_or_refused_by_name():
    xp = pytest.importorskip("array_api_strict")
    plane = SPACE.vector(xp.asarray([0.0, 0.0, 0.0, 2.0]))
    assert pga.project(plane, plane).to_numpy().isclose(2 * SPACE.e3)
    assert pga.normalized(plane).to_numpy().isclose(SPACE.e3)
    refused(r"parameter of slerp must be a multivector of NumPy.*to_numpy", cr.slerp, plane * plane, plane * plane, 0.5)


def test_meet_and_join_are_wedge_and_vee_and_what_to_do_where_they_vanish():
    X = gaussian(0, 3, 4, 3)
    P, Q, R = (pga.point(SPACE, x) for x in X)
    plane = pga.join(pga.join(P, Q), R)
    for point in (P, Q, R):
        np.testing.assert_allclose(pga.distance(point, plane), 0, atol=1e-13)
    first, second = pga.line(SPACE, X[0, 0], X[1, 0]), pga.line(SPACE, X[0, 0], X[2, 0])
    assert pga.meet(first, second).isclose(0, atol=1e-14)
    close(pga.coordinates(first.span(second)), X[0, 0], rtol=1e-12)
    np.testing.assert_allclose(pga.distance(first.intersection(second), R[0]), 0, atol=1e-13)
    parallel = pga.meet(pga.plane(SPACE, [0, 0, 1], 1), pga.plane(SPACE, [0, 0, 1], 2))
    assert pga.norm(parallel) == 0
    assert not parallel.isclose(0)


# ---- unit motors


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_even_and_odd_element_becomes_a_unit_versor(n):
    alg, rng = PGA[n], np.random.default_rng(n)
    for grades in (range(0, n + 2, 2), range(1, n + 2, 2)):
        A = alg.random_multivector(rng=rng, shape=(3, 300), grades=tuple(grades))
        M = pga.normalized(A)
        for X in (M * ~M, ~M * M):
            assert (np.abs((X - 1).values).max(axis=-1) <= 1e-14 * np.square(M.values).max(axis=-1)).all()
        assert M.is_versor().all()
        again = pga.normalized(M)
        assert M.isclose(again, rtol=1e-13).all()
        assert pga.normalized(1e140 * A).isclose(M, rtol=1e-12).all()


def test_a_motor_with_a_pseudoscalar_in_its_norm():
    """Of M times a Study number near 1 the motor comes back, by every path; a sum of lines becomes a line."""
    M = motors(3, 0, 20)
    dirty = M * (2 + 0.1 * SPACE.I)
    fused = cr.fused(lambda A: A.normalized())
    for found in (pga.normalized(dirty), dirty.normalized(), fused(dirty), cr.stack([A.normalized() for A in dirty])):
        assert found.isclose(M, rtol=1e-13).all()
    assert fused(dirty[0]).isclose(M[0], rtol=1e-13)
    line = pga.normalized(SPACE.random_multivector(rng=np.random.default_rng(5), shape=(9,), grades=2))
    assert line.grade(2).is_blade().all()
    assert line.grades == (2,)


@pytest.mark.parametrize("n", [5, 6])
def test_motors_of_many_dimensions_by_iteration(n):
    rng = np.random.default_rng(n)
    M = motors(n, n, 7)
    assert pga.normalized(M * 3.7).isclose(M, rtol=1e-12).all()
    slightly = M * (1 + 1e-10 * PGA[n].random_multivector(rng=rng, shape=(7,), grades=4))
    X = pga.normalized(slightly)
    np.testing.assert_allclose((X * ~X - 1).values, 0, atol=1e-14 * np.square(X.values).max())
    with pytest.raises(cr.ArgumentError, match="near a multiple of a motor"):
        pga.normalized(PGA[n].random_multivector(rng=rng, shape=(7,), grades=(0, 2, 4)))


# ---- screws


def test_screws_and_back():
    M = (2 * SPACE.random_multivector(rng=np.random.default_rng(1), shape=(5, 100), grades=2)).exp()
    found = pga.screw(M * 2.5)
    made = pga.motor(SPACE, *found)
    sign = np.sign((made * ~M).scalar_part())
    assert (made * sign).isclose(M, rtol=1e-13).all()
    assert ((found.angle >= 0) & (found.angle <= np.pi)).all()
    close(found.pitch, found.shift / found.angle)
    close(pga.norm(found.axis), np.ones((5, 100)))
    assert (found.axis ^ found.axis).isclose(0, atol=1e-11).all()
    moved = M >> found.axis  # stays where it is
    assert moved.grade(2).isclose(found.axis, rtol=1e-10).all()


def test_screws_that_have_a_known_answer():
    axis = pga.line(SPACE, [1, 2, 3], [1, 2, 4])
    found = pga.screw(pga.motor(SPACE, axis, [0.5, np.pi, 3.5, -1.0], 2.0))
    close(found.angle, [0.5, np.pi, 2 * np.pi - 3.5, 1.0])
    close(found.shift, [2.0, found.shift[1], -2.0, -2.0])
    assert abs(found.shift[1]) == pytest.approx(2.0)
    for line in found.axis:
        np.testing.assert_allclose(pga.distance(pga.point(SPACE, [1, 2, 9]), line), 0, atol=1e-13)
    slides = pga.screw(pga.translator(SPACE, [[0, 3, 4], [0, 0, 0]]))
    assert slides.angle.tolist() == [0, 0]
    assert slides.shift.tolist() == [5, 0]
    assert slides.pitch.tolist() == [np.inf, 0]
    assert pga.motor(SPACE, *slides).isclose(pga.translator(SPACE, [[0, 3, 4], [0, 0, 0]])).all()
    for angle in (1e-3, 1e-8, 1e-12):  # the axis is far away, the motion is not lost
        M = pga.translator(SPACE, [1, 2, 3]) * pga.rotor(SPACE, SPACE.e12, angle)
        assert pga.motor(SPACE, *pga.screw(M)).isclose(M, rtol=1e-15)


# ---- other forms


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_matrices_move_points_as_motors_do_and_come_back(n):
    alg = PGA[n]
    M = pga.normalized(motors(n, n, 3, 20))
    matrix = pga.motor_to_matrix(-2.0 * M)
    X = gaussian(n, 3, 20, n)
    moved = (matrix @ np.concatenate([X, np.ones((3, 20, 1))], axis=-1)[..., None])[..., :n, 0]
    close(pga.coordinates(M >> pga.point(alg, X)), moved, rtol=1e-14)
    N = pga.motor_from_matrix(alg, matrix)
    assert (N.scalar_part() >= 0).all()
    sign = np.where(M.scalar_part() < 0, -1, 1)
    np.testing.assert_allclose((N - sign * M).values, 0, atol=1e-14 * np.abs(M.values).max())
    close(pga.motor_to_matrix(N), matrix, rtol=1e-14)
    close(pga.motor_to_matrix(M[0] * M[1]), matrix[0] @ matrix[1], rtol=1e-14)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_rotors_of_rotations_near_half_turns_and_near_none(n):
    alg, rng = cr.Algebra(n), np.random.default_rng(n)
    S = rng.standard_normal((n, n))
    S -= S.T
    planes = np.linalg.qr(rng.standard_normal((n, n)))[0]
    for size in (0.0, 1e-12, 1e-6, 1.0):
        turn = np.eye(n)
        turn[: n - n % 2, : n - n % 2] *= -1  # half a turn in every plane
        for F in (expm(size * S), planes @ turn @ planes.T @ expm(size * S), turn @ expm(size * S)):
            R = cr.rotor_from_matrix(alg, F)
            np.testing.assert_allclose(R.vector_matrix(), F, atol=1e-14)
            assert (R * ~R).isclose(1, rtol=1e-14)
    assert cr.rotor_from_matrix(alg, np.eye(n)).isclose(1, rtol=1e-15)


def test_quaternions_and_dual_quaternions_multiply_as_motors_do():
    def times(p, q):
        w, v, x, u = p[..., :1], p[..., 1:], q[..., :1], q[..., 1:]
        return np.concatenate([w * x - (v * u).sum(-1, keepdims=True), w * u + x * v + np.cross(v, u)], axis=-1)

    p, q = gaussian(0, 2, 30, 8)
    product = np.concatenate(
        [times(p[:, :4], q[:, :4]), times(p[:, :4], q[:, 4:]) + times(p[:, 4:], q[:, :4])], axis=-1
    )
    A, B = (pga.motor_from_dual_quaternion(SPACE, x) for x in (p, q))
    close(pga.motor_to_dual_quaternion(A * B), product)
    close(pga.motor_to_dual_quaternion(A), p)
    r, t = p[:, :4] / np.linalg.norm(p[:, :4], axis=-1, keepdims=True), gaussian(1, 30, 3)
    M = pga.motor_from_quaternion(SPACE, r, t)
    close((M * ~M).scalar_part(), np.ones(30))
    back, step = pga.motor_to_quaternion(M)
    close(back, r)
    close(step, t)
    dual = times(np.concatenate([np.zeros((30, 1)), t], axis=-1), r) / 2
    close(pga.motor_to_dual_quaternion(M), np.concatenate([r, dual], axis=-1))
    assert pga.motor_from_quaternion(SPACE, r).isclose(pga.motor_from_quaternion(SPACE, r, np.zeros(3))).all()


def test_rotations_of_scipy_come_and_go():
    rotation, t, X = Rotation.random(12, random_state=3), gaussian(1, 12, 3), gaussian(2, 12, 3)
    M = pga.motor_from_rotation(SPACE, rotation, t)
    close(pga.coordinates(M >> pga.point(SPACE, X)), rotation.apply(X) + t)
    back, step = pga.motor_to_rotation(M * 3.0)
    close((back * rotation.inv()).magnitude(), np.zeros(12), rtol=1e-15)
    close(step, t)
    close(pga.motor_to_matrix(M)[:, :3, :3], rotation.as_matrix())
    euler = pga.motor_from_rotation(SPACE, Rotation.from_euler("ZYX", [0.1, 0.2, 0.3]))
    made = pga.rotor(SPACE, SPACE.e12, 0.1) * pga.rotor(SPACE, SPACE.e31, 0.2) * pga.rotor(SPACE, SPACE.e23, 0.3)
    assert euler.isclose(made, rtol=1e-15)


@pytest.mark.parametrize("number", [Fraction(1, 2), np.array(0.5, dtype=object), sympy.Rational(1, 2)])
def test_motors_of_exact_turns_and_shifts(number):
    line = pga.line(SPACE, [1.0, 0, 0], [1.0, 0, 1])
    assert pga.motor(SPACE, line, number, number).astype(float).isclose(pga.motor(SPACE, line, 0.5, 0.5))
    assert pga.rotor(SPACE, line, number).isclose(pga.rotor(SPACE, line, 0.5))
    refused(r"'angle' parameter of rotor must be a real number", pga.rotor, SPACE, line, 0.5j)


def test_a_last_row_is_0_0_0_1_to_the_tolerance_of_the_rotation():
    """As that of scipy.linalg.expm, which is off by 1e-17 to 1e-15."""
    M = pga.translator(SPACE, [1, 2, 3]) * pga.rotor(SPACE, SPACE.e12, 0.7)
    matrix = pga.motor_to_matrix(M)
    for off in (1e-17, 1e-15, 5e-7):
        near = matrix + off * np.array([[0.0], [0], [0], [1]]) * [1, -1, 1, 1]
        np.testing.assert_array_equal(
            pga.motor_from_matrix(SPACE, near).coefficients, pga.motor_from_matrix(SPACE, matrix).coefficients
        )
    for off, rtol in ((2e-6, None), (1e-8, 1e-9)):
        near = matrix + off * np.array([[0.0], [0], [0], [1]])
        with pytest.raises(ValueError, match=r"its last row is 0, 0, 0, 1\. Got a last row off by"):
            pga.motor_from_matrix(SPACE, near, rtol=rtol)
    assert pga.motor_from_matrix(SPACE, np.eye(4, dtype=np.int64)).isclose(SPACE.scalar(1.0))
