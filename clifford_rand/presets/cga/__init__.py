"""Conformal algebra of Euclidean n-space, Cl(n+1, 1): points are null vectors, spheres and planes are blades.

Both bases of `Algebra.cga` do: e_{n+1}² = 1, e_{n+2}² = -1 with n_o = (e_{n+2} - e_{n+1})/2, n_∞ = e_{n+1} + e_{n+2};
or the null basis with eo = n_o and ei = n_∞. Always n_o·n_∞ = -1. Objects are *direct*, the wedge of points on them:
X holds P where P ∧ X = 0. With ``dual=True`` a function takes or makes the dual ``X.dual()``: P ⌋ X* = 0. Objects are
homogeneous: their scale means nothing. A versor V moves by ``V >> X``, which is V X ~V for the versors made here.

Examples assume ``import clifford_rand as cr, numpy as np`` and ``from clifford_rand.presets import cga``.
"""

from clifford_rand.presets.cga.classification import (
    carrier,
    center,
    classify,
    normal,
    radius,
    radius_squared,
    split_point_pair,
)
from clifford_rand.presets.cga.conformal_object import ConformalObject, contains_point, down, meet, origin, point, up
from clifford_rand.presets.cga.fits import fit_circle, fit_flat, fit_line, fit_plane, fit_round, fit_sphere, sample
from clifford_rand.presets.cga.objects import circle, flat, line, plane, point_pair, round_about, sphere
from clifford_rand.presets.cga.parts import infinity
from clifford_rand.presets.cga.relations import angle, closest_points, distance, intersect, inversive_product
from clifford_rand.presets.cga.versors import (
    VersorParts,
    decompose,
    dilator,
    inversion,
    motor,
    rotor,
    translator,
    transversion,
)

__all__ = [
    "ConformalObject", "VersorParts", "angle", "carrier", "center", "circle", "classify", "closest_points",
    "contains_point", "decompose", "dilator", "distance", "down", "fit_circle", "fit_flat", "fit_line", "fit_plane",
    "fit_round", "fit_sphere", "flat", "infinity", "intersect", "inversion", "inversive_product", "line", "meet",
    "motor", "normal", "origin", "plane", "point", "point_pair", "radius", "radius_squared", "rotor", "round_about",
    "sample", "sphere", "split_point_pair", "translator", "transversion", "up",
]  # fmt: skip
