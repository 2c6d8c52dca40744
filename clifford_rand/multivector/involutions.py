"""Linear maps of the grades: parts, involutions, and the duals: star, dual by I⁻¹, complements without a metric."""

from collections.abc import Callable
from typing import Self

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.basis.keys import Keys, keys_of_array, keys_of_grades, keys_of_masks
from clifford_rand.basis.rules import as_masks, is_odd_swap, reverse_is_negative
from clifford_rand.multivector.products import Products


def _part(keys: Keys, grades: tuple[int, ...]) -> Keys:
    """Return the blades of these grades; a grade that is not stored has none, and is not filled up."""
    if keys.complete and all(k in keys.grades for k in grades):
        return keys_of_grades(keys.d, grades)
    held = [k for k in grades if k in keys.grades]
    masks = keys.masks if held else ()
    return keys_of_masks(keys.d, tuple(int(mask) for mask in masks if int(mask).bit_count() in held), grades)


class Involutions(Products):
    """Maps that act on each grade as 0, 1 or -1, and duals, which take grade k to grade d - k."""

    __slots__ = ()

    def grade(self, *grades: int) -> Self:
        """Return the part ⟨A⟩_k of one or several grades, which are the result's, also where nothing is stored.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> A = cr.Algebra(3)("1 + 2*e1 + 3*e12")
        >>> A.grade(1), A.grade(0, 2)
        (2*e1, 1 + 3*e12)
        """
        d = self.algebra.d
        for k in grades:
            if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k <= d:
                raise fail("grades", "grade", f"integers from 0 to {d}", k)
        return self._of_grades(tuple(sorted({int(k) for k in grades})))

    def _of_grades(self, wanted: tuple[int, ...]) -> Self:
        keys = _part(self.keys, wanted)
        if keys is self.keys:
            return self
        if keys.complete and len(keys.grades) == 1:
            return self._make(keys, self.coefficients[..., self.keys.slices[keys.grades[0]]])
        return self._make(keys, self.coefficients[..., np.isin(self.keys.grade_of, wanted)])

    def even(self) -> Self:
        """Return the part of even grades."""
        return self._of_grades(tuple(k for k in self.grades if k % 2 == 0))

    def odd(self) -> Self:
        """Return the part of odd grades."""
        return self._of_grades(tuple(k for k in self.grades if k % 2 == 1))

    def scalar_part(self) -> object:
        """Return the coefficient of 1: a number, or an array over the batch."""
        return self["1"]

    def _with_signs(self, is_negative: Callable[[int], bool]) -> Self:
        negative = [k for k in self.grades if is_negative(k)]
        if not negative:
            return self
        if len(negative) == len(self.grades):
            return -self
        array = self.coefficients.copy()
        for k in negative:
            part = array[..., self.keys.slices[k]]
            part *= -1  # not np.negative(part, out=part): NumPy 2.4.6 negates wrong entries of one column of (n, 8)
        return self._make(self.keys, array)

    def reverse(self) -> Self:
        """Return the reverse ~A, the factors of every product in the opposite order: (-1)^{k(k-1)/2} on grade k.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> cr.Algebra(3)("1 + e1 + e12 + e123").reverse()
        1 + e1 - e12 - e123
        """
        return self._with_signs(reverse_is_negative)

    __invert__ = reverse

    def involute(self) -> Self:
        """Return the grade involution Â, every vector negated: (-1)^k on grade k."""
        return self._with_signs(lambda k: k % 2 == 1)

    def conjugate(self) -> Self:
        """Return the Clifford conjugate, reverse and involution: (-1)^{k(k+1)/2} on grade k.

        Complex coefficients stay as they are; ``A.coefficients.conj()`` has their conjugates.
        """
        return self._with_signs(lambda k: k % 4 in (1, 2))

    # ---- duals

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
