"""Conformal algebra of Euclidean n-space, Cl(n+1, 1): points are null vectors, spheres and planes are blades.

Both bases of `Algebra.cga` do: e_{n+1}² = 1, e_{n+2}² = -1 with n_o = (e_{n+2} - e_{n+1})/2, n_∞ = e_{n+1} + e_{n+2};
or the null basis with eo = n_o and ei = n_∞. Always n_o·n_∞ = -1. Objects are *direct*, the wedge of points on them:
X holds P where P ∧ X = 0. With ``dual=True`` a function takes or makes the dual ``X.dual()``: P ⌋ X* = 0. Objects are
homogeneous: their scale means nothing. A versor V moves by ``V >> X``, which is V X ~V for the versors made here.

Examples assume ``import clifford_rand as cr, numpy as np`` and ``from clifford_rand.presets import cga``.
"""

from clifford_rand.presets.cga.classification import Classified as Classified
from clifford_rand.presets.cga.classification import classify as classify
from clifford_rand.presets.cga.distances import closest_points as closest_points
from clifford_rand.presets.cga.distances import distance as distance
from clifford_rand.presets.cga.fits import fit_circle as fit_circle
from clifford_rand.presets.cga.fits import fit_flat as fit_flat
from clifford_rand.presets.cga.fits import fit_line as fit_line
from clifford_rand.presets.cga.fits import fit_plane as fit_plane
from clifford_rand.presets.cga.fits import fit_round as fit_round
from clifford_rand.presets.cga.fits import fit_sphere as fit_sphere
from clifford_rand.presets.cga.measures import contains_point as contains_point
from clifford_rand.presets.cga.measures import down as down
from clifford_rand.presets.cga.measures import infinity as infinity
from clifford_rand.presets.cga.measures import meet as meet
from clifford_rand.presets.cga.measures import origin as origin
from clifford_rand.presets.cga.measures import point as point
from clifford_rand.presets.cga.measures import up as up
from clifford_rand.presets.cga.objects import circle as circle
from clifford_rand.presets.cga.objects import flat as flat
from clifford_rand.presets.cga.objects import line as line
from clifford_rand.presets.cga.objects import plane as plane
from clifford_rand.presets.cga.objects import point_pair as point_pair
from clifford_rand.presets.cga.objects import round_about as round_about
from clifford_rand.presets.cga.objects import sample as sample
from clifford_rand.presets.cga.objects import sphere as sphere
from clifford_rand.presets.cga.relations import angle as angle
from clifford_rand.presets.cga.relations import intersect as intersect
from clifford_rand.presets.cga.relations import inversive_product as inversive_product
from clifford_rand.presets.cga.rounds import carrier as carrier
from clifford_rand.presets.cga.rounds import center as center
from clifford_rand.presets.cga.rounds import normal as normal
from clifford_rand.presets.cga.rounds import radius as radius
from clifford_rand.presets.cga.rounds import radius_squared as radius_squared
from clifford_rand.presets.cga.rounds import split_point_pair as split_point_pair
from clifford_rand.presets.cga.versors import VersorParts as VersorParts
from clifford_rand.presets.cga.versors import decompose as decompose
from clifford_rand.presets.cga.versors import dilator as dilator
from clifford_rand.presets.cga.versors import inversion as inversion
from clifford_rand.presets.cga.versors import motor as motor
from clifford_rand.presets.cga.versors import rotor as rotor
from clifford_rand.presets.cga.versors import translator as translator
from clifford_rand.presets.cga.versors import transversion as transversion
