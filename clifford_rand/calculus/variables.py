"""Variables of fields whose basis is constant."""

from collections.abc import Sequence
from typing import Any

from clifford_rand.algebra import Algebra
from clifford_rand.calculus import fields
from clifford_rand.multivector.multivector import Multivector


class Variables:
    """Symbols that fields of an algebra depend on while its basis is constant: D_i is ∂/∂symbol."""

    is_constant = True

    def __init__(self, algebra: Algebra, symbols: Sequence[Any]) -> None:
        self.algebra = algebra
        self.symbols = tuple(symbols)

    as_field = fields.as_field

    def is_flat(self) -> bool:
        """Tell that derivatives commute."""
        return True

    def covariant(self, F: Any, i: int) -> Multivector:
        """Return ∂F/∂symbol."""
        return fields.slope(self, self.as_field(F, "covariant"), i)

    def __repr__(self) -> str:
        return f"<Variables ({', '.join(map(str, self.symbols))}) of {self.algebra!r}>"
