"""Cl(2): layout, blades, and each blade by its name."""

from clifford_rand.compat.clifford.layout import Cl

layout, blades = Cl(2)
globals().update({name: blade for name, blade in blades.items() if name})
