"""Linear maps of multivectors by matrices, between two layouts."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.basis.rules import bits_of
from clifford_rand.compat.clifford.layout import Layout, pretty_call
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
        same = self.layout_src is self.layout_dst
        layouts = [("", self.layout_src)]
        if not same:
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
        images: dict[int, Any] = {0: target.scalar}
        vectors = [target.algebra.vector(column) for column in np.asarray(matrix).T]
        for mask in sorted(layout_src.order.index_to_bitmap.tolist())[1:]:
            first, *_ = bits_of(mask)
            images[mask] = vectors[first] ^ images[mask & (mask - 1)]
        columns = [images[mask].value for mask in layout_src.order.index_to_bitmap.tolist()]
        super().__init__(np.array(columns).T, layout_src, target)
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
    known = {one: one for one in source if one in target} if mapping is None else mapping
    unknown = [*(one for one in known if one not in source), *(one for one in known.values() if one not in target)]
    if unknown:
        rule = f"of ids in {source} to ids in {target}"
        raise fail("mapping", "between_basis_vectors", rule, describe(f"{unknown}"))
    matrix = np.zeros((len(target), len(source)), dtype=np.int64)
    for here, there in known.items():
        matrix[target.index(there), source.index(here)] = 1
    return OutermorphismMatrix(matrix, layout_src, layout_dst)
