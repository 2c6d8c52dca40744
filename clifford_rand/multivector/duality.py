"""One family of duals: the star of any metric, the dual by I⁻¹, and the complements, which use no metric."""

from typing import Self

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.basis.keys import keys_of_array, keys_of_grades
from clifford_rand.basis.rules import as_masks, is_odd_swap
from clifford_rand.multivector.involutions import Involutions


class Duality(Involutions):
    """Maps from grade k to grade d - k."""

    __slots__ = ()

    def star(self) -> Self:
        """Return the Hodge star I ~A, so that (star A) ^ B = inner(A, B) I for all B of A's grade, in any metric.

        star star A = (-1)^{k(d-k)} det(G) A. The cross product of d-1 vectors is the star of their wedge.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> alg.e1.star(), alg.e12.star()
        (e23, e3)
        >>> cr.Algebra(4).e123.star()
        -e4
        """
        return self.algebra.I * self.reverse()

    def star_right(self) -> Self:
        """Return ~A I = (-1)^{k(d-k)} star A, so that A ^ star_right B = inner(A, B) I."""
        return self.reverse() * self.algebra.I

    def _need_metric(self, name: str, other: str) -> None:
        if self.algebra.form.is_degenerate:
            raise fail(
                "metric",
                name,
                "non-degenerate, as I has no inverse where det G = 0",
                describe(repr(self.algebra)),
                f"Use {other}, which needs no metric, or star.",
            )

    def dual(self) -> Self:
        """Return A I⁻¹; `undual` takes it back. An error where det G = 0.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> cr.Algebra(3).e12.dual()
        e3
        """
        self._need_metric("dual", "left_complement")
        return self * self.algebra.inverse_I

    def undual(self) -> Self:
        """Return A I, the inverse of `dual`."""
        self._need_metric("undual", "right_complement")
        return self * self.algebra.I

    def _complement(self, left: bool) -> Self:
        d = self.algebra.d
        full = (1 << d) - 1
        masks = self.keys.masks
        other = full ^ masks if masks.dtype != object else as_masks([full ^ mask for mask in masks], d)
        odd = is_odd_swap(other, masks, d) if left else is_odd_swap(masks, other, d)
        keys, position = keys_of_array(d, other) if len(masks) else (keys_of_grades(d, ()), np.zeros(0, dtype=int))
        array = np.empty_like(self.coefficients)
        array[..., position] = np.where(odd, -self.coefficients, self.coefficients)
        return self._make(keys, array)

    def left_complement(self) -> Self:
        """Return the linear map with LC(X) ^ X = I on basis blades; no metric is used.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra.pga(3)
        >>> alg.e0.left_complement(), alg.e0.right_complement()
        (-e123, e123)
        """
        return self._complement(left=True)

    def right_complement(self) -> Self:
        """Return the linear map with X ^ RC(X) = I on basis blades; the inverse of `left_complement`."""
        return self._complement(left=False)
