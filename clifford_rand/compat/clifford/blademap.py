"""Maps between algebras that are given by pairs of blades."""

from collections.abc import Sequence
from typing import Any

from clifford_rand._checks import describe, fail
from clifford_rand.compat.clifford.layout import Layout
from clifford_rand.compat.clifford.multivector import MultiVector


class BladeMap:
    """The linear map that takes blades of one algebra to those of another, and back.

    Parameters
    ----------
    blades_map : list of (blade, blade)
    map_scalars : bool, default=True
        Take 1 to 1.

    Examples
    --------
    >>> from clifford_rand.compat.clifford import BladeMap, Cl
    >>> d, p = Cl(1, 3, names="d", firstIdx=0)[1], Cl(3, names="p")[1]
    >>> split = BladeMap([(d["d01"], p["p1"]), (d["d02"], p["p2"]), (d["d03"], p["p3"])])
    >>> split(2 + 3 * d["d02"]), split(p["p3"])
    (2 + (3^p2), (1^d03))
    """

    def __init__(self, blades_map: Sequence[tuple[MultiVector, MultiVector]], map_scalars: bool = True) -> None:
        first, second = blades_map[0]
        scalars = [(first.layout.scalar, second.layout.scalar)] if map_scalars else []
        self.blades_map = [*scalars, *blades_map]

    @property
    def b1(self) -> list[MultiVector]:
        """The blades of the first algebra."""
        return [a for a, _ in self.blades_map]

    @property
    def b2(self) -> list[MultiVector]:
        """The blades of the second algebra."""
        return [b for _, b in self.blades_map]

    @property
    def layout1(self) -> Layout:
        """The first algebra."""
        return self.b1[0].layout

    @property
    def layout2(self) -> Layout:
        """The second algebra."""
        return self.b2[0].layout

    def __call__(self, A: MultiVector) -> Any:
        """Return the image of A, in whichever direction; blades that are not named go to 0."""
        if A.layout not in (self.layout1, self.layout2):
            raise fail("A", "BladeMap", "of one of the two algebras", describe(repr(A.layout)))
        pairs = self.blades_map if A.layout == self.layout1 else [(b, a) for a, b in self.blades_map]
        terms = (
            A[source] * image if source[source] == 1 else A[source] / source[source] * image for source, image in pairs
        )
        return sum(terms, pairs[0][1] * 0)
