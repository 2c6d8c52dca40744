"""Conformal algebra of Euclidean n-space, Cl(n+1, 1): points are null vectors, spheres and planes are blades.

Both bases of `Algebra.cga` do: e_{n+1}² = 1, e_{n+2}² = -1 with n_o = (e_{n+2} - e_{n+1})/2, n_∞ = e_{n+1} + e_{n+2};
or the null basis with eo = n_o and ei = n_∞. Always n_o·n_∞ = -1. Objects are *direct*, the wedge of points on them:
X holds P where P ∧ X = 0. With ``dual=True`` a function takes or makes the dual ``X.dual()``: P ⌋ X* = 0. Objects are
homogeneous: their scale means nothing. A versor V moves by ``V >> X``, which is V X ~V for the versors made here.
"""

from clifford_rand.presets.cga.measure import (
    carrier,
    centre,
    distance,
    is_incident,
    meet,
    normal,
    radius,
    radius_squared,
    split_point_pair,
)
from clifford_rand.presets.cga.motions import dilator, inversion, motor, rotor, translator
from clifford_rand.presets.cga.objects import circle, line, plane, point_pair, sphere
from clifford_rand.presets.cga.points import down, infinity, origin, point, up

__all__ = [
    "carrier",
    "centre",
    "circle",
    "dilator",
    "distance",
    "down",
    "infinity",
    "inversion",
    "is_incident",
    "line",
    "meet",
    "motor",
    "normal",
    "origin",
    "plane",
    "point",
    "point_pair",
    "radius",
    "radius_squared",
    "rotor",
    "sphere",
    "split_point_pair",
    "translator",
    "up",
]
