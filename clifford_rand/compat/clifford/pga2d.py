"""Cl(2, 0, 1), projective geometry of 2-space: layout, blades, and each blade by its name; e0² = 0."""

from clifford_rand.compat.clifford.layout import Cl

layout, blades = Cl(2, 0, 1, firstIdx=0)
globals().update({name: blade for name, blade in blades.items() if name})
