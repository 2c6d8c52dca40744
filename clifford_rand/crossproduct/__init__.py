"""Generalized cross products: one, many, in any dimension."""
