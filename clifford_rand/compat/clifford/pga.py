"""Cl(3, 0, 1), projective geometry of 3-space: layout, blades, and each blade by its name; e0² = 0."""

from clifford_rand.compat.clifford.layout import Cl

layout, blades = Cl(3, 0, 1, firstIdx=0)
globals().update({name: blade for name, blade in blades.items() if name})
