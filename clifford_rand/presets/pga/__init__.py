"""Plane-based projective algebra of Euclidean n-space, Cl(n, 0, 1): vectors are planes, n-vectors are points.

`Algebra.pga(n)` has e0² = 0 first, then e1, …, en. A hyperplane normal·x = offset is the vector normal - offset e0.
Elements meet by ``^`` and are joined by ``&``. A motor M moves by ``M >> A``, which is M A ~M for the motors made here:
translators by +t, rotors counter-clockwise. Elements are homogeneous: every function but the norms ignores their scale.

Examples assume ``import clifford_rand as cr, numpy as np`` and ``from clifford_rand.presets import pga``.
"""

from clifford_rand.presets.pga.conversions import (
    motor_from_dual_quaternion,
    motor_from_matrix,
    motor_from_quaternion,
    motor_from_rotation,
    motor_to_dual_quaternion,
    motor_to_matrix,
    motor_to_quaternion,
    motor_to_rotation,
)
from clifford_rand.presets.pga.elements import (
    coordinates,
    direction,
    line,
    motor,
    plane,
    point,
    rotor,
    sclerp,
    screw_axis,
    slide_axis,
    translator,
)
from clifford_rand.presets.pga.flats import angle, distance, ideal_norm, is_incident, join, meet, norm, project, reject
from clifford_rand.presets.pga.motors import Screw, normalized, screw
from clifford_rand.robots.robot import Robot
from clifford_rand.robots.search import InverseKinematicsResult

__all__ = [
    "InverseKinematicsResult", "Robot", "Screw", "angle", "coordinates", "direction", "distance", "ideal_norm",
    "is_incident", "join", "line", "meet", "motor", "motor_from_dual_quaternion", "motor_from_matrix",
    "motor_from_quaternion", "motor_from_rotation", "motor_to_dual_quaternion", "motor_to_matrix",
    "motor_to_quaternion", "motor_to_rotation", "norm", "normalized", "plane", "point", "project", "reject", "rotor",
    "sclerp", "screw", "screw_axis", "slide_axis", "translator",
]  # fmt: skip
