"""Basis blades as bit masks: their order, names, signs, metrics and product tables."""
