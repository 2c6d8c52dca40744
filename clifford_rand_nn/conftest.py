"""Names that the examples of docstrings use: those of `clifford_rand`."""

from clifford_rand.conftest import doctest_names

__all__ = ["doctest_names"]
