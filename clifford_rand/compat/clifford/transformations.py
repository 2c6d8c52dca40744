"""Linear maps of multivectors between two layouts: by matrices, and by pairs of blades."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.calculus.linear_map import LinearMap
from clifford_rand.compat.clifford.io import pretty_call
from clifford_rand.compat.clifford.layout import Layout
from clifford_rand.compat.clifford.multivector import MultiVector


class LinearMatrix:
    """The linear map A ↦ M A of coefficients.

    Parameters
    ----------
    matrix : ndarray of shape (2^D, 2^S)
    layout_src, layout_dst : Layout
        Of S and D dimensions; ``layout_dst`` is ``layout_src`` by default.

    Examples
    --------
    >>> from clifford_rand.compat.clifford import Cl, transformations
    >>> layout, blades = Cl(2)
    >>> turn = transformations.LinearMatrix.from_rotor(1 + blades["e12"])
    >>> turn(blades["e1"]), turn.adjoint(blades["e1"])
    (-(1.0^e2), (1.0^e2))
    """

    def __init__(self, matrix: NDArray[Any], layout_src: Layout, layout_dst: Layout | None = None) -> None:
        self.layout_src, self.layout_dst = layout_src, layout_dst or layout_src
        expected = (self.layout_dst.gaDims, self.layout_src.gaDims)
        self._check(matrix, expected)
        self._matrix = self._shown = np.asarray(matrix)

    def _check(self, matrix: NDArray[Any], expected: tuple[int, int]) -> None:
        if np.shape(matrix) != expected:
            raise fail("matrix", type(self).__name__, f"of shape {expected}", describe(f"shape {np.shape(matrix)}"))

    def __call__(self, mv: MultiVector) -> MultiVector:
        """Return the image."""
        if mv.layout != self.layout_src:
            raise fail("mv", type(self).__name__, f"of {self.layout_src!r}", describe(repr(mv.layout)))
        return self.layout_dst.MultiVector(mv.value @ self._matrix.T)

    @property
    def adjoint(self) -> "LinearMatrix":
        """The map of the transposed matrix, back from the second layout."""
        return LinearMatrix(self._matrix.T, self.layout_dst, self.layout_src)

    @classmethod
    def from_function(
        cls, func: Callable[[MultiVector], MultiVector], layout_src: Layout, layout_dst: Layout | None = None
    ) -> "LinearMatrix":
        """Return the map that a linear function is: its images of the blades are the columns of the matrix."""
        images = [func(blade) for blade in layout_src.blades_list]
        target = layout_dst or images[0].layout
        for image in images:
            if image.layout != target:
                raise fail("func", "from_function", f"into {target!r}", describe(f"an image in {image.layout!r}"))
        return LinearMatrix(np.array([image.value for image in images]).T, layout_src, target)

    @classmethod
    def from_rotor(cls, rotor: MultiVector) -> "LinearMatrix":
        """Return the map X ↦ R X R⁻¹."""
        return cls.from_function(lambda X: rotor >> X, rotor.layout)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Write the map for IPython."""
        layouts = [("", self.layout_src)]
        if self.layout_src is not self.layout_dst:
            layouts = [("layout_src=", self.layout_src), ("layout_dst=", self.layout_dst)]
        pretty_call(printer, type(self).__name__, ("", self._shown), *layouts)


class OutermorphismMatrix(LinearMatrix):
    """The outermorphism of a linear map F of vectors: F(a ∧ b) = F(a) ∧ F(b), and 1 goes to 1.

    Parameters
    ----------
    matrix : ndarray of shape (D, S)
        Its columns are the images of the basis vectors.
    layout_src, layout_dst : Layout

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand.compat.clifford import Cl, transformations
    >>> layout, blades = Cl(2)
    >>> F = transformations.OutermorphismMatrix(np.array([[2, 1], [0, 3]]), layout)
    >>> F(blades["e2"]), F(blades["e12"])
    ((1^e1) + (3^e2), (6^e12))
    """

    def __init__(self, matrix: NDArray[Any], layout_src: Layout, layout_dst: Layout | None = None) -> None:
        target = layout_dst or layout_src
        self._check(matrix, (target.dims, layout_src.dims))
        F: Any = LinearMap(layout_src.algebra, matrix, target.algebra)
        super().__init__(np.array([F(blade).value for blade in layout_src.blades_list]).T, layout_src, target)
        self._shown = np.asarray(matrix)


def between_basis_vectors(
    layout_src: Layout, layout_dst: Layout, mapping: Mapping[Any, Any] | None = None
) -> OutermorphismMatrix:
    """Return the outermorphism that takes basis vectors to basis vectors, by their ids.

    Parameters
    ----------
    layout_src, layout_dst : Layout
    mapping : dict, optional
        Ids there for ids here; by default those that both have. Other vectors go to 0.
    """
    source, target = list(layout_src.ids.values), list(layout_dst.ids.values)
    pairs = {id: id for id in source if id in target} if mapping is None else mapping
    unknown = [*(id for id in pairs if id not in source), *(id for id in pairs.values() if id not in target)]
    if unknown:
        rule = f"of ids in {source} to ids in {target}"
        raise fail("mapping", "between_basis_vectors", rule, describe(f"{unknown}"))
    matrix = np.zeros((len(target), len(source)), dtype=np.int64)
    for here, there in pairs.items():
        matrix[target.index(there), source.index(here)] = 1
    return OutermorphismMatrix(matrix, layout_src, layout_dst)


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
        source, image = blades_map[0]
        scalars = [(source.layout.scalar, image.layout.scalar)] if map_scalars else []
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
        shares = (A[source] if source[source] == 1 else A[source] / source[source] for source, _ in pairs)
        return sum((share * image for share, (_, image) in zip(shares, pairs, strict=True)), pairs[0][1] * 0)
