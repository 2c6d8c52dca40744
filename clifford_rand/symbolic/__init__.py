"""Symbolic coefficients, by SymPy: the only package that imports SymPy, loaded when a symbolic method is called."""
