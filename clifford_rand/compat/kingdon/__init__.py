"""The package ``kingdon`` by its own names: change ``from kingdon import`` to ``from clifford_rand.compat.kingdon``."""

from clifford_rand.compat.kingdon.algebra import Algebra
from clifford_rand.compat.kingdon.multivector import MultiVector
from clifford_rand.symbolic.coefficients import symbols

__all__ = ["Algebra", "MultiVector", "symbols"]
