"""Multivectors: keys and coefficients, products and functions of them."""
