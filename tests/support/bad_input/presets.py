"""Good calls of the presets: projective and conformal geometry, space-time."""

import numpy as np
from scipy.spatial.transform import Rotation

import clifford_rand as cr
from clifford_rand.presets import cga, pga, sta
from support.bad_input.algebra import PATIENT
from support.bad_input.good import *

RNG = np.random.default_rng(8)
P3, P2, C3, STA = cr.Algebra.pga(3), cr.Algebra.pga(2), cr.Algebra.cga(3), cr.Algebra.sta()
POINT, OTHER_POINT = pga.point(P3, [1.0, 2, 3]), pga.point(P3, [0.5, -1, 2])
LINE3, PLANE3 = pga.line(P3, [1.0, 0, 0], [1.0, 0, 1]), pga.plane(P3, [0.0, 0.6, 0.8], 2.0)
MOTOR, OTHER_MOTOR = pga.motor(P3, LINE3, 0.7, 0.5), pga.motor(P3, LINE3, 0.2, -0.3)
AXES = pga.screw_axis(P3, pga.line(P3, [[0.0, 0, 0], [1, 0, 0]], pga.direction(P3, [0.0, 0, 1])))
ARM = pga.Robot(AXES, masses=[1.0, 2.0], centers=[[1.5, 0, 0], [1.2, 0.1, 0]])
Q2, V2, A2 = np.array([0.3, 0.2]), np.array([0.5, -0.1]), np.array([0.2, 0.4])
SPHERE, PLANE = cga.sphere(C3, [1.0, 2, 3], 2.0), cga.plane(C3, [0.0, 0, 1], 3.5)
CIRCLE = cga.circle(C3, [1.0, 2, 3], 2.0, [0.0, 0, 1])
PAIR, UP = cga.point_pair(C3, [1.0, 0, 0], [5.0, 0, 0]), cga.up(C3, [1.0, 2, 3])
VERSOR = cga.translator(C3, [1.0, 2, 3]) * cga.rotor(C3, C3.e12, 0.5) * cga.dilator(C3, 2.0)
X = RNG.standard_normal((8, 3))
CIRCLED = np.array([[2.0, 0, 1], [0, 2.1, 1], [-2, 0, 1.1], [0, -2, 1]])
EVENT, VELOCITY = sta.event(STA, 5.0, [3.0, 0, 1]), np.array([0.6, 0.1, 0])
FOUR = sta.four_velocity(STA, VELOCITY)
FARADAY = sta.faraday(STA, [2.0, 0, 1], [0.0, 1, 3])
BOOST = sta.boost(STA, VELOCITY) * sta.rotor(STA, [0.0, 0, 1], 0.5)
DUAL_RTOL = DUAL | RTOL


def _two_link(base):
    from support.robots import URDF

    return pga.Robot.from_urdf(URDF / "two_link.urdf", base=base).link_names


def point(value):
    """Return coordinates, which may be symbols or of a batch."""
    return numbers(np.array(value, float))


def _fit(X, k=None):
    return good(thing(C3), rows(X), *([count(k)] if k else []), weights=weights(np.ones(len(X))), **DUAL)


CALLS = catalogue({
    "pga.motor_from_dual_quaternion": good(thing(P3), numbers([1.0, 0, 0, 0, 0, 0.5, 1, 1.5])),
    "pga.motor_from_matrix": good(thing(P2), numbers([[0.0, -1, 5], [1, 0, 0], [0, 0, 1]]), **RTOL),
    "pga.motor_from_quaternion": good(thing(P3), numbers([0.6, 0.8, 0, 0]), numbers([1.0, 2, 3], missing="right")),
    "pga.motor_from_rotation": good(
        thing(P3), thing(Rotation.from_rotvec([0, 0, 1.0])), numbers([0.0, 0, 5], missing="right")),
    each("pga", "motor_to_dual_quaternion motor_to_matrix motor_to_quaternion normalized"): good(element(MOTOR)),
    "pga.motor_to_rotation": through(lambda M: pga.motor_to_rotation(M)[1], element(MOTOR)),
    "pga.coordinates": good(element(POINT), rtol=tolerance(1e-9)),
    "pga.direction pga.point pga.translator": good(thing(P3), point([1.0, 0, 2])),
    "pga.line": [
        good(thing(P3), point([1.0, 0, 2]), point([0.5, 1, 1])), good(P3, element(POINT), element(OTHER_POINT)),
        good(P3, [1.0, 0, 2], direction=point([0.5, 1, 1]))],
    "pga.plane": good(thing(P3), point([0.0, 0.6, 0.8]), numbers(2.0)),
    "pga.join pga.project": good(element(POINT), element(LINE3)),
    "pga.meet pga.angle": good(element(LINE3), element(PLANE3)),
    "pga.reject": good(element(POINT), element(PLANE3)),
    "pga.screw_axis": good(thing(P3), element(LINE3), numbers(0.1)),
    "pga.slide_axis": good(thing(P3), point([0.0, 1, 2])),
    "pga.distance": good(element(POINT), element(LINE3), **RTOL),
    "pga.is_incident": good(element(POINT), element(LINE3), unit=positive(1.0), **RTOL),
    "pga.norm pga.ideal_norm": good(element(LINE3)),
    "pga.Screw": through(lambda M: pga.screw(M).axis, element(MOTOR, every="other")),
    "Screw.pitch": through(lambda M: pga.screw(M).pitch, element(MOTOR, every="other")),
    "pga.screw": good(element(MOTOR), **RTOL),
    "pga.InverseKinematicsResult": through(lambda: ARM.inverse_kinematics(ARM.forward_kinematics(Q2)).q),
    "pga.Robot": [
        through(
            lambda *given, **options: pga.Robot(*given, **options).inverse_dynamics(Q2, V2, A2), element(AXES),
            gravity=vector(np.array([0.0, 0, -9.81]), every="other"),
            masses=vector(np.array([1.0, 2.0]), every="other"),
            base=word("fixed")),
        through(lambda home: pga.Robot(AXES, home).forward_kinematics(Q2), element(MOTOR, missing="right"))],
    "Robot.from_urdf": through(lambda base: _two_link(base), word("fixed")),
    each("Robot", "forward_kinematics link_motors link_matrix jacobian gravity_forces mass_matrix manipulability"): [
        good(ARM, vector(Q2, every="other"))],
    "+ Robot.jacobian": good(ARM, Q2, "link_1", frame=word("space")),
    "+ Robot.forward_kinematics": good(ARM, Q2, word("link_1", missing="right")),
    each("Robot", "bias_forces energy moved"): good(ARM, vector(Q2, every="other"), vector(V2, every="other")),
    each("Robot", "inverse_dynamics forward_dynamics"): good(
        ARM, vector(Q2, every="other"), vector(V2, every="other"), vector(A2, every="other")),
    "Robot.inverse_kinematics": through(
        lambda *given, **options: ARM.inverse_kinematics(*given, **options).q, element(ARM.forward_kinematics(Q2)),
        vector(Q2, every="other"), length=positive(1.0), tol=positive(1e-10), max_iter=count(30, **PATIENT),
        n_restarts=count(1, zero="right", **PATIENT), rng=rng(0)),
    "pga.motor": good(thing(P3), element(LINE3), numbers(0.7), numbers(0.5), **RTOL),
    "pga.rotor": good(thing(P3), element(LINE3), numbers(0.7), **RTOL),
    "pga.sclerp": good(element(MOTOR), element(OTHER_MOTOR), numbers(0.4), shortest=flag(True)),
    "cga.angle cga.inversive_product": good(element(SPHERE), element(PLANE), **DUAL_RTOL),
    "cga.ConformalObject": through(lambda X: cga.classify(X).location, element(CIRCLE)),
    each("ConformalObject", "blade dimension directions has_points is_imaginary name radius shape"): lambda name:
        through(lambda X: get(cga.classify(X), name), element(CIRCLE)),
    "+ ConformalObject.blade": through(lambda dual: cga.classify(CIRCLE).blade(dual=dual), flag(True)),
    "cga.VersorParts": through(lambda V: cga.decompose(V).rotor, element(VERSOR)),
    each("VersorParts", "versor versors"): lambda name:
        through(lambda V: get(cga.decompose(V), name), element(VERSOR)),
    "cga.decompose": good(element(VERSOR), **RTOL),
    each("cga", "classify carrier normal radius radius_squared"): good(element(CIRCLE), **DUAL_RTOL),
    "cga.closest_points": good(element(CIRCLE), element(PLANE), **DUAL_RTOL),
    "cga.distance": good(element(UP), element(CIRCLE), **DUAL_RTOL),
    "cga.fit_circle": _fit(CIRCLED),
    "cga.fit_flat cga.fit_round": _fit(X, 2),
    "cga.fit_line cga.fit_plane cga.fit_sphere": _fit(X),
    "cga.flat": good(thing(C3), point([0.0, 0, 1]), numbers([[1.0, 0, 0], [1, 1, 0]]), dual=flag(True)),
    "cga.round_about": good(
        thing(C3), point([0.0, 0, 1]), numbers(2.0), numbers([[1.0, 0, 0], [1, 1, 0]]), dual=flag(True)),
    "cga.intersect": through(
        lambda A, B, **o: cga.intersect(A, B, **o).location, element(SPHERE), element(PLANE), **DUAL_RTOL),
    "cga.center": good(element(CIRCLE), **RTOL),
    "cga.down": good(element(UP), rtol=tolerance(1e-9)),
    "cga.infinity": good(thing(C3), dtype=dtype(np.float32)),
    "cga.contains_point": good(element(SPHERE), element(UP), **DUAL_RTOL),
    "cga.meet": good(element(SPHERE), element(PLANE), **DUAL),
    "cga.origin": good(thing(C3)),
    each("cga", "point up translator transversion"): good(thing(C3), point([1.0, 2, 3])),
    "cga.split_point_pair": good(element(PAIR), **DUAL_RTOL),
    "cga.circle": good(thing(C3), point([1.0, 0, 0]), numbers(2.0), point([0.0, 0, 1]), **DUAL),
    "cga.line": [
        good(thing(C3), point([1.0, 2, 3]), point([0.0, 0, 2]), **DUAL),
        good(C3, [1.0, 2, 3], direction=point([0.0, 0, 2]))],
    "cga.plane": good(thing(C3), point([0.0, 0.6, 0.8]), numbers(3.0), **DUAL),
    "cga.point_pair": good(thing(C3), point([1.0, 0, 0]), point([5.0, 0, 1]), **DUAL),
    "cga.sphere": good(thing(C3), point([1.0, 2, 3]), numbers(2.0), **DUAL),
    "cga.sample": good(
        element(CIRCLE), count(8, a_list_of_it="right"), extent=numbers(1.0, every="right"),
        around=numbers([0.0, 0, 0], every="right", missing="right", NaN="other"), **DUAL_RTOL),
    "cga.dilator": good(thing(C3), numbers(3.0), numbers(np.array([1.0, 0, 1]), missing="right")),
    "cga.inversion": good(thing(C3), point([1.0, 0, 1]), numbers(2.0)),
    "cga.motor": good(
        thing(C3), element(cga.line(C3, [1.0, 0, 0], direction=[0.0, 0, 1])), numbers(0.7), numbers(5.0), **RTOL),
    "cga.rotor": good(thing(C3), element(1.0 * C3.e12), numbers(0.7), **RTOL),
    "sta.electric_and_magnetic": good(element(FARADAY), element(FOUR, missing="right")),
    "sta.energy_momentum": good(element(FARADAY), element(FOUR)),
    "sta.faraday": good(thing(STA), point([2.0, 0, 1]), point([0.0, 1, 3])),
    "sta.field_invariants sta.stress_energy_tensor": good(element(FARADAY)),
    "sta.lorentz_force": good(element(FARADAY), element(FOUR), numbers(3.0)),
    "sta.boost sta.four_velocity": good(thing(STA), point(VELOCITY)),
    "sta.boost_and_rotation sta.rotor_to_lorentz_matrix": good(element(BOOST)),
    "sta.boost_to": good(element(FOUR)),
    "sta.event": good(thing(STA), numbers(5.0), point([3.0, 0, 4])),
    "sta.rotor_from_lorentz_matrix": good(thing(STA), numbers(np.diag([1.0, -1, -1, 1])), **RTOL),
    "sta.rotor": good(thing(STA), point([0.0, 0.6, 0.8]), numbers(0.5)),
    "sta.spacetime_split sta.time_and_space": good(element(EVENT), element(FOUR, missing="right")),
    "sta.add_velocities": good(point([0.5, 0.1, 0]), point([0.3, 0, 0.2])),
    "sta.gamma sta.rapidity": good(point(VELOCITY)),
    "sta.interval": good(element(EVENT), element(sta.event(STA, 1.0, [2.0, 0, 0]))),
    "sta.proper_time": good(element(sta.event(STA, [0.0, 5, 10], [[0.0, 0, 0], [4, 0, 0], [0, 0, 0]]))),
    "sta.velocity": good(element(EVENT)),
    "sta.velocity_of_rapidity": good(point([1.0, 0, 0.5])),
})  # fmt: skip
