"""The class `Multivector`: everything its bases hold, and its display."""

from clifford_rand.multivector import display
from clifford_rand.multivector.symbols import Symbols


class Multivector(Symbols):
    """A multivector, or a batch of them: keys (basis blades) and coefficients.

    Made by an `Algebra`: ``alg.e12``, ``alg("e1 - 2*e23")``, ``alg.vector(X)``, ``alg.multivector(values, grades)``.
    Dense, graded and sparse multivectors are one class: the keys say which blades are stored, all others are zero.

    Attributes
    ----------
    algebra : Algebra
    keys : Keys
        The stored blades, by grade then lexicographically.
    coefficients : ndarray of shape (..., keys.size)
        Batch axes first, components last; `values` fills up the grades.

    Notes
    -----
    Operators: ``*`` geometric, ``^`` outer, ``|`` fat dot, ``&`` regressive, ``<<`` left contraction, ``>>`` sandwich
    R X R⁻¹, ``~`` reverse, ``/`` and ``**`` by the inverse. Python's precedence holds: ``+`` binds closer than ``^``
    and ``|``.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> alg = cr.Algebra(3)
    >>> alg("e1 - 2*e23") * alg.e1
    1 - 2*e123
    >>> alg.vector([[1, 0, 0], [0, 2, 0]]) * alg.vector([1, 1, 1])  # a batch of two
    <Multivector batch of Algebra(3): shape=(2,), grades=(0, 2), dtype=int64>
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return display.exact_text(self)

    def __str__(self) -> str:
        return display.rounded_text(self)

    def __format__(self, specification: str) -> str:
        """Format every coefficient: ``f"{A:.3f}"``."""
        if not specification:
            return str(self)
        return display.formatted_text(self, specification)

    def _repr_latex_(self) -> str:
        return display.latex_text(self)

    def _repr_html_(self) -> str | None:
        return display.html_text(self)
