"""Plane-based projective algebra of Euclidean n-space, Cl(n, 0, 1): vectors are planes, n-vectors are points.

`Algebra.pga(n)` has e0² = 0 first, then e1, …, en. A hyperplane normal·x = offset is the vector normal - offset e0.
Elements meet by ``^`` and are joined by ``&``. A motor M moves by ``M >> A``, which is M A ~M for the motors made here:
translators by +t, rotors counter-clockwise. Elements are homogeneous: every function but the norms ignores their scale.

Examples assume ``import clifford_rand as cr, numpy as np`` and ``from clifford_rand.presets import pga``.
"""

from clifford_rand.presets.pga.conversions import motor_from_dual_quaternion as motor_from_dual_quaternion
from clifford_rand.presets.pga.conversions import motor_from_matrix as motor_from_matrix
from clifford_rand.presets.pga.conversions import motor_from_quaternion as motor_from_quaternion
from clifford_rand.presets.pga.conversions import motor_from_rotation as motor_from_rotation
from clifford_rand.presets.pga.conversions import motor_to_dual_quaternion as motor_to_dual_quaternion
from clifford_rand.presets.pga.conversions import motor_to_matrix as motor_to_matrix
from clifford_rand.presets.pga.conversions import motor_to_quaternion as motor_to_quaternion
from clifford_rand.presets.pga.conversions import motor_to_rotation as motor_to_rotation
from clifford_rand.presets.pga.elements import coordinates as coordinates
from clifford_rand.presets.pga.elements import direction as direction
from clifford_rand.presets.pga.elements import line as line
from clifford_rand.presets.pga.elements import motor as motor
from clifford_rand.presets.pga.elements import plane as plane
from clifford_rand.presets.pga.elements import point as point
from clifford_rand.presets.pga.elements import rotor as rotor
from clifford_rand.presets.pga.elements import sclerp as sclerp
from clifford_rand.presets.pga.elements import screw_axis as screw_axis
from clifford_rand.presets.pga.elements import slide_axis as slide_axis
from clifford_rand.presets.pga.elements import translator as translator
from clifford_rand.presets.pga.flats import angle as angle
from clifford_rand.presets.pga.flats import distance as distance
from clifford_rand.presets.pga.flats import ideal_norm as ideal_norm
from clifford_rand.presets.pga.flats import is_incident as is_incident
from clifford_rand.presets.pga.flats import join as join
from clifford_rand.presets.pga.flats import meet as meet
from clifford_rand.presets.pga.flats import norm as norm
from clifford_rand.presets.pga.flats import project as project
from clifford_rand.presets.pga.flats import reject as reject
from clifford_rand.presets.pga.motors import Screw as Screw
from clifford_rand.presets.pga.motors import normalized as normalized
from clifford_rand.presets.pga.motors import screw as screw
from clifford_rand.robots.robot import Robot as Robot
from clifford_rand.robots.search import InverseKinematicsResult as InverseKinematicsResult
