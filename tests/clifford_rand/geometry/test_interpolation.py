"""slerp and splines of rotors, in several metrics, against SciPy and by their laws."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

import clifford_rand as cr
from clifford_rand.presets import pga
from support.refusals import refused

SPACE = cr.Algebra.pga(3)
ALGEBRAS = [cr.Algebra(2), cr.Algebra(3), cr.Algebra(4), cr.Algebra(1, 3), SPACE, cr.Algebra.pga(2), cr.Algebra.cga(3)]


def rotors(alg, seed, shape=(), size=0.5):
    return (size * alg.random_multivector(rng=np.random.default_rng(seed), shape=shape, grades=2)).exp()


def close(A, B, rtol=1e-12):
    scale = max(1.0, np.abs(A.values).max())
    np.testing.assert_allclose((A - B).values, 0, atol=rtol * scale)


@pytest.mark.parametrize("alg", ALGEBRAS, ids=repr)
def test_slerp_has_constant_velocity_and_both_ends(alg):
    A, B = rotors(alg, 0, (6,)), rotors(alg, 1, (6,))
    t = np.linspace(0, 1, 9)[:, None]
    R = cr.slerp(A, B, t)
    assert R.shape == (9, 6)
    close(R[0], A)
    sign = np.where((~A * B).scalar_part() < 0, -1, 1)
    close(R[-1], B * sign)
    close(R * ~R, alg.scalar(np.ones((9, 6))))
    steps = ~R[:-1] * R[1:]
    close(steps, steps[0][None], 1e-11)
    close(cr.slerp(A, B, 0.3), cr.slerp(B * sign, A, 0.7), 1e-11)
    moved = rotors(alg, 2)
    close(cr.slerp(moved * A, moved * B, 0.3), moved * cr.slerp(A, B, 0.3), 1e-11)
    close(cr.slerp(A, -B, 0.3), cr.slerp(A, B, 0.3), 1e-13)


def test_sclerp_is_a_screw_of_constant_velocity():
    A, B = rotors(SPACE, 3), rotors(SPACE, 4)
    whole, half = pga.screw(B * ~A), pga.screw(pga.sclerp(A, B, 0.25) * ~A)
    assert half.axis.isclose(whole.axis, rtol=1e-12)
    assert half.angle == pytest.approx(whole.angle / 4, rel=1e-12)
    assert half.shift == pytest.approx(whole.shift / 4, rel=1e-12)


def test_slerp_is_that_of_scipy():
    keys = Rotation.random(2, random_state=0)
    t = np.linspace(0, 1, 7)
    theirs = Slerp([0, 1], keys)(t).as_matrix()
    A, B = pga.motor_from_rotation(SPACE, keys)
    np.testing.assert_allclose(pga.motor_to_matrix(pga.sclerp(A, B, t))[:, :3, :3], theirs, atol=1e-14)


def test_the_longer_way_is_taken_if_asked_for():
    alg = cr.Algebra(2)
    A, B = alg.scalar(1.0), (-1.0 * alg.e12).exp()
    assert cr.slerp(A, -B, 0.5).isclose(cr.slerp(A, B, 0.5))
    assert cr.slerp(A, -B, 0.5, shortest=False).isclose(((np.pi - 1) / 2 * alg.e12).exp())


# ---- splines


@pytest.mark.parametrize("alg", ALGEBRAS, ids=repr)
def test_splines_interpolate_are_once_differentiable_and_move_along(alg):
    times = np.array([0.0, 0.5, 2.0, 2.5, 4.0])
    keys = rotors(alg, 5, (5, 3), 0.4)
    spline = cr.RotorSpline(times, keys * np.array([1, -1, 1, 1, -1])[:, None])
    sign = np.where((~spline(times) * keys).scalar_part() < 0, -1, 1)
    close(spline(times), keys * sign)
    knots = spline(times)
    assert ((~knots[:-1] * knots[1:]).scalar_part() >= 0).all()
    t = np.linspace(0.01, 3.99, 40)
    R = spline(t)
    close(R * ~R, alg.scalar(np.ones((40, 3))))
    h = 1e-5
    numeric = (~R * (spline(t + h) - spline(t - h))).grade(2) / (2 * h)
    close(spline.velocity(t), numeric, 1e-7)
    for time in times[1:-1]:
        close(spline.velocity(time - 1e-12), spline.velocity(time + 1e-12), 1e-9)
    close(spline.velocity(times), spline.velocities, 1e-12)
    first = rotors(alg, 6)
    close(cr.RotorSpline(times, first * spline.rotors)(t), first * R, 1e-11)


def test_a_constant_velocity_stays_constant_whatever_the_times():
    B = SPACE.random_multivector(rng=np.random.default_rng(7), shape=(), grades=2) * 0.3
    times = np.array([0.0, 0.7, 1.0, 3.0, 3.1])
    spline = cr.RotorSpline(times, (times * B).exp())
    t = np.linspace(0, 3.1, 50)
    close(spline(t), (t * B).exp(), 1e-13)
    close(spline.velocity(t), B, 1e-13)
    two = cr.RotorSpline([0, 2], (np.array([0.0, 2.0]) * B).exp())
    close(two(t[t < 2]), (t[t < 2] * B).exp(), 1e-13)


def test_the_error_falls_with_the_third_power_of_the_step_and_given_velocities_are_kept():
    def curve(t):
        t = np.asarray(t)[..., None]
        place = pga.translator(SPACE, np.concatenate([np.sin(t), np.cos(2 * t), t * t / 3], axis=-1))
        return place * pga.rotor(SPACE, SPACE.e12, np.sin(t[..., 0])) * pga.rotor(SPACE, SPACE.e23, np.cos(t[..., 0]))

    t = np.linspace(0, 3, 301)
    errors = []
    for k in (21, 41):
        times = np.linspace(0, 3, k)
        times[1:-1:2] += 1 / k  # a short step after each long one
        errors.append(np.abs((cr.RotorSpline(times, curve(times))(t) - curve(t)).values).max())
    assert errors[1] < errors[0] / 5
    h = 1e-5
    exact = (~curve(times) * (curve(times + h) - curve(times - h))).grade(2) / (2 * h)
    spline = cr.RotorSpline(times, curve(times), exact)
    assert np.abs((spline(t) - curve(t)).values).max() < errors[1] / 10
    close(spline.velocity(times), exact, 1e-12)


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda M: cr.slerp(2 * M[0], M[1], 0.5), r"'A' parameter of slerp must be a unit rotor.*pga\.normalized"),
        (lambda M: cr.slerp(M[0], cr.Algebra(3).e12, 0.5), "'B' parameter of slerp must be of the same algebra"),
        (lambda M: cr.slerp(M[0], 1.0, 0.5), "'B' parameter of slerp must be a multivector"),
        (lambda M: cr.slerp(M[0], M[1], np.nan), "'t' parameter of slerp must be finite"),
        (lambda M: cr.RotorSpline([0, 1, 1], M), "'times' parameter of RotorSpline must be two or more increasing"),
        (lambda M: cr.RotorSpline([0, 1], M), r"'rotors' parameter of RotorSpline must be a batch of 2"),
        (lambda M: cr.RotorSpline([0, 1, 2], M, M), r"'velocities' parameter of RotorSpline must be bivectors"),
        (lambda M: cr.RotorSpline([0, 1, 2], M)(2.5), "'t' parameter of RotorSpline must be between 0 and 2"),
    ],
)
def test_bad_input_gets_one_clear_error(work, message):
    refused(message, work, rotors(SPACE, 0, (3,)))
