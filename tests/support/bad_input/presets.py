"""Good calls of the presets: projective and conformal geometry, space-time."""

import numpy as np
from scipy.spatial.transform import Rotation

import clifford_rand as cr
from clifford_rand.presets import cga, pga, sta
from support.bad_input.algebra import _PATIENT
from support.bad_input.good import *

RNG = np.random.default_rng(8)
P3, P2, C3, STA = cr.Algebra.pga(3), cr.Algebra.pga(2), cr.Algebra.cga(3), cr.Algebra.sta()
POINT, OTHER_POINT = pga.point(P3, [1.0, 2, 3]), pga.point(P3, [0.5, -1, 2])
LINE3, PLANE3 = pga.line(P3, [1.0, 0, 0], [1.0, 0, 1]), pga.plane(P3, [0.0, 0.6, 0.8], 2.0)
MOTOR = pga.motor(P3, LINE3, 0.7, 0.5)
OTHER_MOTOR = pga.motor(P3, LINE3, 0.2, -0.3)
JOINTS = pga.screw_axis(P2, pga.point(P2, [[0.0, 0], [1, 0], [2, 0]]))
Q = np.array([0.3, 0.2, 0.1])
HOME = pga.translator(P2, [3.0, 0])
TARGET = pga.translator(P2, [1.0, 1])
SPHERE, PLANE, CIRCLE = (
    cga.sphere(C3, [1.0, 2, 3], 2.0),
    cga.plane(C3, [0.0, 0, 1], 3.5),
    cga.circle(C3, [1.0, 2, 3], 2.0, [0.0, 0, 1]),
)
PAIR, UP = cga.point_pair(C3, [1.0, 0, 0], [5.0, 0, 0]), cga.up(C3, [1.0, 2, 3])
VERSOR = cga.translator(C3, [1.0, 2, 3]) * cga.rotor(C3, C3.e12, 0.5) * cga.dilator(C3, 2.0)
X = RNG.standard_normal((8, 3))
CIRCLED = np.array([[2.0, 0, 1], [0, 2.1, 1], [-2, 0, 1.1], [0, -2, 1]])
EVENT, VELOCITY = sta.event(STA, 5.0, [3.0, 0, 1]), np.array([0.6, 0.1, 0])
FOUR = sta.four_velocity(STA, VELOCITY)
FARADAY = sta.faraday(STA, [2.0, 0, 1], [0.0, 1, 3])
BOOST = sta.boost(STA, VELOCITY) * sta.rotation(STA, [0.0, 0, 1], 0.5)


def point(value):
    """Return coordinates, which may be symbols or of a batch."""
    return numbers(np.array(value, float))


def amount(value):
    """Return a number that may be a symbol or an array of numbers."""
    return numbers(value)


CALLS = {
    "pga.motor_from_dual_quaternion": good(thing(P3), numbers([1.0, 0, 0, 0, 0, 0.5, 1, 1.5])),
    "pga.motor_from_matrix": good(thing(P2), numbers([[0.0, -1, 5], [1, 0, 0], [0, 0, 1]]), rtol=tolerance(1e-9)),
    "pga.motor_from_quaternion": good(thing(P3), numbers([0.6, 0.8, 0, 0]), numbers([1.0, 2, 3], missing="right")),
    "pga.motor_from_rotation": good(
        thing(P3), thing(Rotation.from_rotvec([0, 0, 1.0])), numbers([0.0, 0, 5], missing="right")
    ),
    **{
        f"pga.{name}": good(element(MOTOR))
        for name in ("motor_to_dual_quaternion", "motor_to_matrix", "motor_to_quaternion", "normalized")
    },
    "pga.motor_to_rotation": through(lambda M: pga.motor_to_rotation(M)[1], element(MOTOR)),
    "pga.coordinates": good(element(POINT), tolerance(1e-9)),
    "pga.direction": good(thing(P3), point([1.0, 0, 2])),
    "pga.line": [
        good(thing(P3), point([1.0, 0, 2]), point([0.5, 1, 1])),
        good(P3, element(POINT), element(OTHER_POINT)),
    ],
    "pga.plane": good(thing(P3), point([0.0, 0.6, 0.8]), amount(2.0)),
    "pga.point": good(thing(P3), point([1.0, 2, 3])),
    "pga.join": good(element(POINT), element(LINE3)),
    "pga.meet": good(element(LINE3), element(PLANE3)),
    "pga.project": good(element(POINT), element(LINE3)),
    "pga.reject": good(element(POINT), element(PLANE3)),
    "pga.body_jacobian": good(element(JOINTS), vector(Q, every="other"), element(HOME, missing="right")),
    "pga.forward_kinematics": good(element(JOINTS), vector(Q, every="other"), element(HOME, missing="right")),
    "pga.joint_motors": good(element(JOINTS), vector(Q, every="other")),
    "pga.space_jacobian": good(element(JOINTS), vector(Q, every="other")),
    "pga.screw_axis": good(thing(P3), element(LINE3), amount(0.1)),
    "pga.slide_axis": good(thing(P3), point([0.0, 1, 2])),
    "pga.angle": good(element(LINE3), element(PLANE3)),
    "pga.distance": good(element(POINT), element(LINE3), rtol=tolerance(1e-9)),
    "pga.is_incident": good(element(POINT), element(LINE3), rtol=tolerance(1e-9), unit=positive(1.0)),
    "pga.norm": good(element(LINE3)),
    "pga.ideal_norm": good(element(LINE3)),
    "pga.Screw": through(lambda M: pga.screw(M).axis, element(MOTOR, every="other")),
    "Screw.pitch": through(lambda M: pga.screw(M).pitch, element(MOTOR, every="other")),
    "pga.screw": good(element(MOTOR), rtol=tolerance(1e-9)),
    "pga.InverseKinematics": through(lambda: pga.inverse_kinematics(JOINTS, TARGET, Q, HOME).q),
    "pga.damped_step": good(
        element(JOINTS),
        vector(Q, every="other"),
        element(TARGET),
        element(HOME, missing="right"),
        damping=numbers(0.1, every="right", NaN="other"),
        length=positive(1.0),
    ),
    "pga.inverse_kinematics": good(
        element(JOINTS),
        element(TARGET),
        vector(Q, every="other"),
        element(HOME, missing="right"),
        length=positive(1.0),
        tolerance=positive(1e-10, zero="right", minus_zero="right"),
        max_steps=count(30, **_PATIENT),
    ),
    "pga.motor": good(thing(P3), element(LINE3), amount(0.7), amount(0.5), rtol=tolerance(1e-9)),
    "pga.rotor": good(thing(P3), element(LINE3), amount(0.7), rtol=tolerance(1e-9)),
    "pga.sclerp": good(element(MOTOR), element(OTHER_MOTOR), amount(0.4), shortest=flag(True)),
    "pga.translator": good(thing(P3), point([1.0, 2, 3])),
    "cga.angle": good(element(SPHERE), element(PLANE), dual=flag(False), rtol=tolerance(1e-9)),
    "cga.inversive_product": good(element(SPHERE), element(PLANE), dual=flag(False), rtol=tolerance(1e-9)),
    "cga.Classified": through(lambda X: cga.classify(X).location, element(CIRCLE)),
    **{
        f"Classified.{name}": through(lambda X, name=name: _get(cga.classify(X), name), element(CIRCLE))
        for name in ("blade", "dimension", "directions", "has_points", "imaginary", "name", "radius", "shape")
    },
    "Classified.blade ": through(lambda dual: cga.classify(CIRCLE).blade(dual=dual), flag(True)),
    "cga.classify": good(element(CIRCLE), dual=flag(False), rtol=tolerance(1e-9)),
    "cga.VersorParts": through(lambda V: cga.decompose(V).rotor, element(VERSOR)),
    "VersorParts.versor": through(lambda V: cga.decompose(V).versor(), element(VERSOR)),
    "VersorParts.versors": through(lambda V: cga.decompose(V).versors(), element(VERSOR)),
    "cga.decompose": good(element(VERSOR), rtol=tolerance(1e-9)),
    "cga.closest_points": good(element(CIRCLE), element(PLANE), dual=flag(False), rtol=tolerance(1e-9)),
    "cga.distance": good(element(UP), element(CIRCLE), dual=flag(False), rtol=tolerance(1e-9)),
    "cga.fit_circle": good(thing(C3), rows(CIRCLED), weights(np.ones(4)), dual=flag(False)),
    "cga.fit_flat": good(thing(C3), rows(X), count(2), weights(np.ones(8)), dual=flag(False)),
    "cga.fit_line": good(thing(C3), rows(X), weights(np.ones(8)), dual=flag(False)),
    "cga.fit_plane": good(thing(C3), rows(X), weights(np.ones(8)), dual=flag(False)),
    "cga.fit_round": good(thing(C3), rows(X), count(2), weights(np.ones(8)), dual=flag(False)),
    "cga.fit_sphere": good(thing(C3), rows(X), weights(np.ones(8)), dual=flag(False)),
    "cga.flat": good(thing(C3), point([0.0, 0, 1]), numbers([[1.0, 0, 0], [1, 1, 0]]), dual=flag(True)),
    "cga.round_about": good(
        thing(C3), point([0.0, 0, 1]), amount(2.0), numbers([[1.0, 0, 0], [1, 1, 0]]), dual=flag(True)
    ),
    "cga.intersect": through(
        lambda A, B, **o: cga.intersect(A, B, **o).location,
        element(SPHERE),
        element(PLANE),
        dual=flag(False),
        rtol=tolerance(1e-9),
    ),
    "cga.carrier": good(element(CIRCLE), dual=flag(False), rtol=tolerance(1e-9)),
    "cga.centre": good(element(CIRCLE), rtol=tolerance(1e-9)),
    "cga.down": good(element(UP), tolerance(1e-9)),
    "cga.infinity": good(thing(C3), dtype(np.float32)),
    "cga.is_incident": good(element(UP), element(SPHERE), dual=flag(False), rtol=tolerance(1e-9)),
    "cga.meet": good(element(SPHERE), element(PLANE), dual=flag(False)),
    "cga.normal": good(element(CIRCLE), dual=flag(False), rtol=tolerance(1e-9)),
    "cga.origin": good(thing(C3)),
    "cga.point": good(thing(C3), point([1.0, 2, 3])),
    "cga.up": good(thing(C3), point([1.0, 2, 3])),
    "cga.radius": good(element(CIRCLE), dual=flag(False), rtol=tolerance(1e-9)),
    "cga.radius_squared": good(element(CIRCLE), dual=flag(False), rtol=tolerance(1e-9)),
    "cga.split_point_pair": good(element(PAIR), dual=flag(False), rtol=tolerance(1e-9)),
    "cga.circle": good(thing(C3), point([1.0, 0, 0]), amount(2.0), point([0.0, 0, 1]), dual=flag(False)),
    "cga.line": good(thing(C3), point([1.0, 2, 3]), point([0.0, 0, 2]), dual=flag(False)),
    "cga.plane": good(thing(C3), point([0.0, 0.6, 0.8]), amount(3.0), dual=flag(False)),
    "cga.point_pair": good(thing(C3), point([1.0, 0, 0]), point([5.0, 0, 1]), dual=flag(False)),
    "cga.sphere": good(thing(C3), point([1.0, 2, 3]), amount(2.0), dual=flag(False)),
    "cga.sample": good(
        element(CIRCLE),
        count(8, a_list_of_it="right"),
        extent=numbers(1.0, every="right"),
        around=numbers([0.0, 0, 0], every="right", missing="right", NaN="other"),
        dual=flag(False),
        rtol=tolerance(1e-9),
    ),
    "cga.dilator": good(thing(C3), amount(3.0), numbers(np.array([1.0, 0, 1]), missing="right")),
    "cga.inversion": good(thing(C3), point([1.0, 0, 1]), amount(2.0)),
    "cga.motor": good(
        thing(C3), element(cga.line(C3, [1.0, 0, 0], [0.0, 0, 1])), amount(0.7), amount(5.0), rtol=tolerance(1e-9)
    ),
    "cga.rotor": good(thing(C3), element(1.0 * C3.e12), amount(0.7), rtol=tolerance(1e-9)),
    "cga.translator": good(thing(C3), point([1.0, 2, 3])),
    "cga.transversion": good(thing(C3), point([0.0, 1, 0.5])),
    "sta.electric_and_magnetic": good(element(FARADAY), element(FOUR, missing="right")),
    "sta.energy_momentum": good(element(FARADAY), element(FOUR)),
    "sta.faraday": good(thing(STA), point([2.0, 0, 1]), point([0.0, 1, 3])),
    "sta.field_invariants": good(element(FARADAY)),
    "sta.lorentz_force": good(element(FARADAY), element(FOUR), amount(3.0)),
    "sta.stress_energy_tensor": good(element(FARADAY)),
    "sta.boost": good(thing(STA), point(VELOCITY)),
    "sta.boost_and_rotation": good(element(BOOST)),
    "sta.boost_to": good(element(FOUR)),
    "sta.event": good(thing(STA), amount(5.0), point([3.0, 0, 4])),
    "sta.four_velocity": good(thing(STA), point(VELOCITY)),
    "sta.from_lorentz_matrix": good(thing(STA), numbers(np.diag([1.0, -1, -1, 1])), rtol=tolerance(1e-9)),
    "sta.lorentz_matrix": good(element(BOOST)),
    "sta.rotation": good(thing(STA), point([0.0, 0.6, 0.8]), amount(0.5)),
    "sta.spacetime_split": good(element(EVENT), element(FOUR, missing="right")),
    "sta.time_and_space": good(element(EVENT), element(FOUR, missing="right")),
    "sta.add_velocities": good(point([0.5, 0.1, 0]), point([0.3, 0, 0.2])),
    "sta.gamma": good(point(VELOCITY)),
    "sta.interval": good(element(EVENT), element(sta.event(STA, 1.0, [2.0, 0, 0]))),
    "sta.proper_time": good(element(sta.event(STA, [0.0, 5, 10], [[0.0, 0, 0], [4, 0, 0], [0, 0, 0]]))),
    "sta.rapidity": good(point(VELOCITY)),
    "sta.velocity": good(element(EVENT)),
    "sta.velocity_of_rapidity": good(point([1.0, 0, 0.5])),
}


def _get(value, name):
    found = getattr(value, name)
    return found() if callable(found) else found
