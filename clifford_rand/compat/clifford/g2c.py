"""The conformal algebra of 2-space: ``layout``, each blade by its name, ``eo``, ``einf``, ``up``, ``down``."""

from clifford_rand.compat.clifford.layout import Cl, conformalize

layout_orig, blades_orig = Cl(2)
layout, blades, stuff = conformalize(layout_orig)
globals().update({name: blade for name, blade in blades.items() if name})
globals().update(stuff)
