"""Dictionaries of neurons: the columns of a convex program with one variable a column."""
