"""Bad input of the models: one error with the name, the rule, what was received, and what to do."""

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.presets import cga, pga, sta
from support.geometry import BASES, CGA
from support.refusals import refused

SPACE, STA = cr.Algebra.pga(3), cr.Algebra.sta()
PLANE = cr.Algebra.pga(2)


def imaginary(alg):
    return cga.meet(cga.sphere(alg, [0, 0, 0], 1.0), cga.plane(alg, [0, 0, 1], 3.0))


def mixed(alg):
    """A batch of a circle and a line."""
    C, L = cga.circle(alg, [1, 2, 3], 2.0, [0, 0, 1]), cga.line(alg, [1, 2, 3], direction=[0, 0, 1])
    return C * np.array([1.0, 0.0]) + L * np.array([0.0, 1.0])


CONFORMAL = [
    (lambda a: cga.up(a, [1.0, 2.0]), r"'X' parameter of up must be an array of shape \(\.\.\., 3\)"),
    (lambda a: cga.up(a, [1e200, 0, 0]), "'X' parameter of up must be small enough for its square"),
    (lambda a: cga.up(a, [np.inf, 0, 0]), "'X' parameter of up must be finite"),
    (lambda a: cga.up(cr.Algebra(5), [1, 2, 3]), r"'algebra' parameter of up must be a conformal.*Algebra\.cga"),
    (lambda a: cga.up(cr.Algebra.pga(3), [1, 2, 3]), "'algebra' parameter of up must be a conformal"),
    (lambda a: cga.down(cga.infinity(a)), "'P' parameter of down must be a finite point. Got a point at infinity"),
    (lambda a: cga.down(cga.sphere(a, [1, 2, 3], 1, dual=True)), "be a point, P² = 0. Got a sphere or a plane"),
    (lambda a: cga.down(cga.plane(a, [1, 2, 3], dual=True)), "must be a point, P² = 0. Got a sphere or a plane"),
    (lambda a: cga.down(cga.sphere(a, [1, 2, 3], 1)), "must be a point, of grade 1. Got grade 4"),
    (lambda a: cga.circle(a, [1, 2, 3], 1), "'normal' parameter of circle must be a vector"),
    (lambda a: cga.circle(CGA[2, False], [1, 2], 1, [1, 2]), "parameter of circle must be None in the plane"),
    (lambda a: cga.circle(CGA[4, False], [1, 2, 3, 4], 1), "'algebra' parameter of circle.*round_about, or the wedge"),
    (lambda a: cga.center(cga.plane(a, [1, 2, 3], 1)), "'X' parameter of center must be round. Got a flat"),
    (lambda a: cga.line(a, [1, 2, 3], [1, 2, 3]), "'Q' parameter of line must be another point than P"),
    (lambda a: cga.line(a, [1, 2, 3], direction=[0, 0, 0]), "'direction' parameter of line must be other than 0"),
    (lambda a: cga.line(a, [1, 2, 3], [1, 2, 4], direction=[0, 0, 1]), "'direction' parameter of line must be None"),
    (lambda a: cga.line(a, [1, 2, 3]), "'Q' parameter of line must be a point"),
    (lambda a: cga.radius(cga.line(a, [1, 2, 3], direction=[1, 0, 0])), "must be round. Got a flat"),
    (lambda a: cga.carrier(cga.plane(a, [1, 2, 3])), "'X' parameter of carrier must be round"),
    (lambda a: cga.normal(cga.sphere(a, [1, 2, 3], 1)), "'X' parameter of normal must be a hyperplane"),
    (lambda a: cga.normal(cga.line(a, [1, 2, 3], direction=[1, 0, 0])), "'X' parameter of normal must be a hyperplane"),
    (lambda a: cga.split_point_pair(cga.sphere(a, [1, 2, 3], 1)), "parameter of split_point_pair must be a pair"),
    (lambda a: cga.split_point_pair(cga.up(a, [1, 2, 3]) ^ cga.infinity(a)), "a pair of two finite points"),
    (
        lambda a: cga.split_point_pair(cga.meet(cga.line(a, [9, 0, 0], [9, 0, 1]), cga.sphere(a, [0, 0, 0], 1))),
        "must be a real pair",
    ),
    (lambda a: cga.rotor(a, cga.origin(a) ^ cga.infinity(a), 1.0), "of rotor must be a bivector that turns"),
    (lambda a: cga.rotor(a, a.e1 ^ cga.infinity(a), 1.0), "'axis' parameter of rotor must be a bivector that turns"),
    (lambda a: cga.rotor(a, a.e1, 1.0), "'axis' parameter of rotor must be a bivector. Got grade 1"),
    (lambda a: cga.motor(a, cga.circle(a, [1, 2, 3], 1, [1, 0, 0]), 1.0, 1.0), "of motor must be a direct"),
    (lambda a: cga.motor(CGA[2, False], CGA[2, False].e12, 1.0, 1.0), "parameter of motor must be of 3-space"),
    (lambda a: cga.dilator(a, -1.0), "'factor' parameter of dilator must be > 0"),
    (lambda a: cga.inversion(a, [0, 0, 0], 0), "'radius' parameter of inversion must be not 0"),
    (lambda a: cga.distance(cga.origin(a), CGA[2, False].e1), "parameter of distance must be a multivector of"),
    (lambda a: cga.radius(7), "'X' parameter of radius_squared must be a multivector of a conformal"),
    (lambda a: cga.distance(cga.up(a, [1, 2, 3]), cga.infinity(a) ^ a.e1), "'Q' .* finite points. Got direction"),
    (lambda a: cga.closest_points(imaginary(a), cga.up(a, [1, 2, 3])), ".* finite points. Got imaginary circle"),
    (lambda a: cga.angle(cga.up(a, [1, 2, 3]), cga.sphere(a, [0, 0, 0], 1)), "'A' .* a real round. Got point"),
    (lambda a: cga.angle(cga.sphere(a, [0, 0, 0], 1), imaginary(a)), "'B' .* a real round. Got imaginary circle"),
    (
        lambda a: cga.inversive_product(cga.sphere(a, [0, 0, 0], 1), cga.circle(a, [0, 0, 0], 1, [1, 0, 0])),
        "'B' parameter of inversive_product must be of grade 4. Got grade 3 instead. Use angle",
    ),
    (lambda a: cga.distance(5, a.e1), "'P' parameter of distance must be a multivector of a conformal algebra. Got 5"),
    (lambda a: cga.distance(cga.sphere(a, [0, 0, 0], 1), 5), "'Q' parameter of distance must be a multivector of"),
    (lambda a: cga.intersect(a.e1, cr.Algebra(2).e1), "'B' parameter of intersect must be a multivector of"),
    (lambda a: cga.classify(cr.Algebra(5).e1), r"'X' .* a multivector of a conformal algebra. Got Algebra\(5\)"),
    (lambda a: cga.classify(a.e1 * 0.0), "must be finite blades, not zero. Got zero"),
    (lambda a: cga.classify(a.e1 + a.e12), r"must be blades, each of one grade. Got .* grades \(1, 2\)"),
    (lambda a: cga.classify(a.e1 * 1j), "must be blades with real coefficients"),
    (lambda a: cga.flat(a, [0, 0, 0], [[1, 0, 0], [2, 0, 0]]), "'directions' .* linearly independent"),
    (lambda a: cga.round_about(a, [0, 0, 0], 1, [1, 0, 0]), r"'directions' .* \(\.\.\., m, 3\)"),
    (lambda a: cga.sample(cga.infinity(a)), "must be objects that hold finite points. Got infinity"),
    (lambda a: cga.sample(cga.sphere(a, [0, 0, 0], 1), (3, 3, 3)), "parameter of sample must be one number"),
    (lambda a: cga.sample(cga.up(a, np.zeros((0, 3)))), "'X' parameter of sample must be one object or more"),
    (lambda a: cga.sample(mixed(a)), "must be objects of one kind. Got circle, line"),
    (lambda a: cga.classify(mixed(a)).directions(), r"must be of blades of one dimension. Got dimensions \[1, 2\]"),
    (lambda a: cga.fit_round(a, np.ones((5, 3)), 4), "'m' parameter of fit_round must be"),
    (lambda a: cga.fit_sphere(a, np.ones(3)), r"points of shape \(\.\.\., N, n\)"),
    (lambda a: cga.fit_sphere(a, np.ones((3, 3))), "'weights' .* for 4 points or more. Got 3 points"),
    (lambda a: cga.fit_line(a, np.ones((4, 3)), weights=[1, -1, 1, 1]), "Got negative or infinite ones"),
    (lambda a: cga.fit_line(a, np.ones((3, 3)), weights=[1, 1]), r"'weights' .* of shape \(\.\.\., 3\)"),
    (lambda a: cga.fit_line(a, np.ones((3, 3))), "points that determine one"),
    (lambda a: cga.fit_circle(CGA[1, True], np.ones((4, 1))), "'algebra' parameter of fit_circle must be of 2 or"),
    (lambda a: cga.decompose(1 + a.e1), "'V' parameter of decompose must be a versor. Got another"),
    (lambda a: cga.decompose(a.e1 * 1j), "must be a versor with real coefficients"),
    (lambda a: cga.decompose(cga.up(a, [0, 0, 0]) + cga.infinity(a)), "decompose must be a versor with V ~V > 0"),
    (lambda a: cga.transversion(a, [1, 2]), r"'b' .* transversion must be an array of shape \(\.\.\., 3\)"),
]

PROJECTIVE = [
    (lambda a: pga.point(a, [1.0, 2.0]), r"'X' parameter of point must be an array of shape \(\.\.\., 3\).*\(2,\)"),
    (lambda a: pga.point(a, [1.0, 2.0, np.nan]), "'X' parameter of point must be finite"),
    (lambda a: pga.point(a, cr.Algebra(2).e1), "parameter of point must be an array of coordinates or a vector of"),
    (lambda a: pga.point(cr.Algebra(4), [1, 2, 3]), r"'algebra' parameter of point must be a projective.*Algebra\.pga"),
    (lambda a: pga.point("pga", [1, 2, 3]), "'algebra' parameter of point must be a projective"),
    (lambda a: pga.coordinates(pga.direction(a, [1, 0, 0])), "a point of weight ≠ 0. Got an ideal point"),
    (lambda a: pga.coordinates(pga.plane(a, [1, 0, 0])), "of coordinates must be a point, of grade 3. Got grade 1"),
    (lambda a: pga.coordinates(pga.point(a, [1, 2, 3]) + a.e1), r"a point. Got a multivector of grades \(1, 3\)"),
    (lambda a: pga.coordinates(pga.point(a, [1, 2, 3]) * 0), "must be a point, not zero"),
    (lambda a: pga.coordinates(7), "'P' parameter of coordinates must be a multivector of a projective"),
    (
        lambda a: pga.motor_to_quaternion(cr.Algebra(3).e12 + 1),
        r"'M' .* projective algebra\. Got Algebra\(3\) instead\. Use Algebra\.pga\(n\)\.convert\(M\)",
    ),
    (lambda a: pga.line(a, [1, 2, 3], [1, 2, 3]), "'Q' parameter of line must be another point than P"),
    (lambda a: pga.line(a, [1, 2, 3], direction=[0, 0, 0]), "'direction' parameter of line must be other than 0"),
    (lambda a: pga.line(a, [1, 2, 3], [1, 2, 4], direction=[0, 0, 1]), "'direction' parameter of line must be None"),
    (lambda a: pga.line(a, [1, 2, 3]), "'Q' parameter of line must be a point"),
    (lambda a: pga.line(a, a.e1, [1, 2, 3]), "'P' parameter of line must be a point, of grade 3"),
    (lambda a: pga.rotor(a, a.e01, 1.0), "'axis' parameter of rotor must be a bivector that turns.*translator"),
    (lambda a: pga.rotor(a, a.e12 + a.e03, 1.0), "'axis' parameter of rotor must be one axis"),
    (lambda a: pga.rotor(a, a.e1, 1.0), "'axis' parameter of rotor must be an axis, of grade 2"),
    (lambda a: pga.rotor(a, cr.Algebra(3).e12, 1.0), r"of rotor must be a multivector of Algebra\.pga\(3\)"),
    (lambda a: pga.rotor(a, a.e12, 1j), "'angle' parameter of rotor must be a real number"),
    (lambda a: pga.rotor(a, a.e12, np.inf), "'angle' parameter of rotor must be finite"),
    (lambda a: pga.motor(PLANE, PLANE.e12, 1.0, 1.0), "'algebra' parameter of motor must be of 3-space"),
    (lambda a: pga.distance(a.e1, pga.direction(a, [1, 0, 0])), "'b' parameter of distance must be not ideal"),
    (lambda a: pga.distance(a.e1, cr.Algebra.pga(2).e1), "'b' parameter of distance must be a multivector of"),
    (lambda a: pga.distance(a.I, a.e1), "'a' parameter of distance must be a flat, of grade 1 to 3"),
    (lambda a: pga.distance(pga.point(a, [1j, 0, 0]), a.e1), "with real coefficients. Got dtype complex128"),
    (lambda a: pga.angle(pga.point(a, [1, 2, 3]), a.e1), "'a' parameter of angle must be a flat with directions"),
    (lambda a: pga.norm(a.e1 * 1j), "'A' parameter of norm must be a multivector with real coefficients"),
    (lambda a: pga.project(a.e1, a.e0), "'B' parameter of project must be a flat that is not ideal"),
    (lambda a: pga.reject(a.e1, pga.direction(a, [1, 0, 0])), "'B' parameter of reject must be a flat that is"),
    (lambda a: pga.project(a.e1, cr.Algebra(3).e1), "'B' parameter of project must be a multivector of"),
    (lambda a: pga.point(a, [1, 2, 3]).project(a.e3), "'A' parameter of project .* degenerate .*pga.project"),
    (lambda a: a.e3.project(a.e0), r"'B' parameter of project must be a blade that is not null.*pga\.project"),
    (lambda a: pga.normalized(a.e01), "'M' parameter of normalized must be of non-zero norm.*Ideal"),
    (lambda a: pga.normalized(a.e1 + a.e12), r"must be even or odd. Got grades \(1, 2\)"),
    (lambda a: pga.normalized(a.e12 * np.nan), "must be finite"),
    (lambda a: pga.normalized(a.e12 * 1j), "with real coefficients"),
    (lambda a: pga.screw(1 + a.e0123 + a.e12), "'M' parameter of screw must be a motor.*normalized"),
    (lambda a: pga.screw(a.e1), "'M' parameter of screw must be a motor, an even versor"),
    (lambda a: pga.screw(PLANE.e12), r"a motor of space, of Algebra\.pga\(3\)"),
    (lambda a: pga.motor_to_matrix(a.e123), "'M' parameter of motor_to_matrix must be a motor"),
    (lambda a: pga.motor_from_matrix(a, np.eye(3)), r"shape \(\.\.\., 4, 4\). Got shape \(3, 3\)"),
    (lambda a: pga.motor_from_matrix(a, np.diag([1.0, 1, -1, 1])), "a rotation, of determinant 1"),
    (lambda a: pga.motor_from_matrix(a, np.diag([1.0, 1, 2, 1])), "a rotation: FᵀF = 1.*motor_from_points"),
    (lambda a: pga.motor_from_matrix(a, np.eye(4).T + np.eye(4, k=-3)), "its last row is 0, 0, 0, 1"),
    (lambda a: cr.rotor_from_matrix(a, np.eye(4)), "'algebra' parameter of rotor_from_matrix must be the algebra of"),
    (lambda a: pga.motor_from_quaternion(a, [1, 0, 0]), r"shape \(\.\.\., 4\). Got shape \(3,\)"),
    (lambda a: pga.motor_from_quaternion(PLANE, [1, 0, 0, 0]), "must be of 3-space"),
    (lambda a: pga.motor_from_rotation(a, [1.0]), "a scipy.spatial.transform.Rotation.*motor_from_matrix"),
    (lambda a: pga.motor_to_dual_quaternion(a.e1), r"must be even. Got grades \(1,\)"),
    (lambda a: pga.screw_axis(SPACE, SPACE.e01), "'axis' parameter of screw_axis must be not ideal.*slide_axis"),
    (lambda a: pga.screw_axis(SPACE, SPACE.e1), "'axis' parameter of screw_axis must be an axis, of grade 2"),
    (lambda a: pga.screw_axis(PLANE, PLANE.e12, 1.0), "'pitch' parameter of screw_axis must be 0 but in space"),
    (lambda a: pga.slide_axis(SPACE, [1, 2]), r"'u' parameter of slide_axis .* \(\.\.\., 3\)"),
]

SPACETIME = [
    (lambda a: sta.boost(cr.Algebra(3, 1), [0, 0, 0]), r"'algebra' .* the space-time .*Algebra\.sta"),
    (lambda a: sta.boost(a, [1.0, 0, 0]), "'velocity' .* slower than light.* a speed of 1"),
    (lambda a: sta.gamma([0.9, 0.9, 0]), "'velocity' parameter of gamma must be slower than light"),
    (lambda a: sta.velocity(a.g0 + a.g1), "'p' parameter of velocity must be timelike"),
    (lambda a: sta.boost_to(-a.g0), "'u' parameter of boost_to must be in the future"),
    (lambda a: sta.rotor(a, [0, 0, 0], 1.0), "'axis' parameter of rotor must be not zero"),
    (lambda a: sta.proper_time(sta.event(a, [0, 1], [[0, 0, 0], [2, 0, 0]])), "'path' .* Got a spacelike step"),
    (lambda a: sta.proper_time(a.g0), r"'path' parameter of proper_time must be vectors of batch shape"),
    (lambda a: sta.rotor_from_lorentz_matrix(a, np.ones((4, 4))), "'F' .* a Lorentz transformation, FᵀηF = η"),
    (lambda a: sta.rotor_from_lorentz_matrix(a, np.eye(3)), r"'F' .* of shape \(\.\.\., 4, 4\)"),
    (lambda a: sta.field_invariants(a.g0), "'F' parameter of field_invariants must be a bivector"),
    (lambda a: sta.energy_momentum(a.g12, a.g12), "'a' parameter of energy_momentum must be a vector"),
    (lambda a: sta.lorentz_force(a.g12, 1), "'u' parameter of lorentz_force must be a vector"),
    (lambda a: sta.boost_and_rotation(a.g0), "'V' parameter of boost_and_rotation must be a rotor"),
    (lambda a: sta.boost_and_rotation(a.g01), "'V' parameter of boost_and_rotation must be such that V ~V > 0"),
    (lambda a: sta.time_and_space(a.g12), "'x' parameter of time_and_space must be vectors"),
]


CASES = [(alg, *case) for alg in BASES for case in CONFORMAL]
CASES += [(SPACE, *case) for case in PROJECTIVE] + [(STA, *case) for case in SPACETIME]


@pytest.mark.parametrize(("alg", "work", "message"), CASES)
def test_bad_input_gets_one_clear_error(alg, work, message):
    refused(message, work, alg)
