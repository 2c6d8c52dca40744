"""Plane-based projective algebra of Euclidean n-space, Cl(n, 0, 1): vectors are planes, n-vectors are points.

`Algebra.pga(n)` has e0² = 0 first, then e1, …, en. A hyperplane normal·x = offset is the vector normal - offset e0.
Elements meet by ``^`` and are joined by ``&``. A motor M moves by ``M >> A``, which is M A ~M for the motors made here:
translators by +t, rotors counter-clockwise. Elements are homogeneous: every function but the norms ignores their scale.
"""

from clifford_rand.presets.pga.elements import coordinates, direction, line, plane, point
from clifford_rand.presets.pga.measure import angle, distance, ideal_norm, is_incident, norm
from clifford_rand.presets.pga.motions import motor, rotor, translator

__all__ = [
    "angle",
    "coordinates",
    "direction",
    "distance",
    "ideal_norm",
    "is_incident",
    "line",
    "motor",
    "norm",
    "plane",
    "point",
    "rotor",
    "translator",
]
