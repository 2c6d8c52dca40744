"""Cl(3): layout, blades, and each blade by its name."""

from clifford_rand.compat.clifford.layout import Cl

layout, blades = Cl(3)
globals().update({name: blade for name, blade in blades.items() if name})
