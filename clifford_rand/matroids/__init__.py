"""Oriented matroids of vectors, and numbers of chambers of hyperplane arrangements, without rounding."""
