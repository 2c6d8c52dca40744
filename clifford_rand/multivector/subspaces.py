"""Blades as subspaces, and the factors of blades and versors."""

from typing import Any, Self

from clifford_rand import geometry
from clifford_rand.multivector.analysis import Analysis


class Subspaces(Analysis):
    """What a blade spans, with no metric, and the vectors that a multivector is made of."""

    __slots__ = ()

    def _other(self, other: Any, owner: str) -> Self:
        same = self._coerced(other)
        if same is None:
            raise self._bad_operand(owner, other)
        return same

    def is_blade(self, rtol: float = 1e-9) -> Any:
        """Tell whether A is a blade, a wedge of vectors, other than zero: a bool, or an array of them over the batch.

        No metric is used: null blades are blades.

        Parameters
        ----------
        rtol : float, default=1e-9
            Relative to the largest singular value of A's contractions; at least 256 eps of the dtype.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(4)
        >>> (alg.e12 + alg.e13).is_blade(), (alg.e12 + alg.e34).is_blade()
        (True, False)
        """
        return geometry.subspaces.is_blade(self, rtol)

    def factorise_blade(self, rtol: float = 1e-9) -> tuple[Any, list[Self]]:
        """Return (s, [a_1, …, a_k]) with A = s a_1 ∧ ⋯ ∧ a_k, s ≥ 0 and a_1, …, a_k orthonormal in coordinates.

        No metric is used, so null blades have factors too. Fractions and symbols: s is the first coefficient of A that
        is not zero, and the vectors are in reduced echelon form.

        Raises
        ------
        ArgumentError
            If A is not a blade (to ``rtol``).

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(4)
        >>> A = alg("3*e12 + 4*e13")
        >>> s, (a, b) = A.factorise_blade()
        >>> (s * (a ^ b)).isclose(A), round(float(s), 12)
        (True, 5.0)
        """
        return geometry.factors.factorise_blade(self, rtol)

    def factorise_versor(self, rtol: float = 1e-12) -> tuple[Any, list[Self]]:
        """Return (s, [a_1, …, a_k]) with A = s a_1 a_2 ⋯ a_k and a_i² = ±1 (1 for complex coefficients).

        Parameters
        ----------
        rtol : float, default=1e-12
            Parts of A below this, relative to the largest component, count as rounding noise.

        Raises
        ------
        ArgumentError
            If A is not a versor.

        Notes
        -----
        Dividing by a vector of the part of highest grade, a blade, lowers that grade (Fontijne, thesis, Amsterdam 2007,
        section 5.5): k is that grade, or more where all vectors of a part of highest grade are null.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> R = 3 + 4 * alg.e12
        >>> s, (a, b) = R.factorise_versor()
        >>> (s * a * b).isclose(R), round(float(s), 12)
        (True, 5.0)
        """
        return geometry.factors.factorise_versor(self, rtol)

    def factorise(self, rtol: float = 1e-9) -> tuple[Any, list[Self]]:
        """Return `factorise_blade` for a blade, and `factorise_versor` for a versor that is no blade.

        Raises
        ------
        ArgumentError
            If A is neither.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> len(alg.e123.factorise()[1]), len((1 + alg.e12).factorise()[1])
        (3, 2)
        """
        return geometry.factors.factorise(self, rtol)

    def join(self, B: Any, rtol: float = 1e-9) -> Self:
        """Return the join of two blades: the blade of the sum of their subspaces. No metric is used.

        With A = A' ∧ M and B = M ∧ B', join J and meet M are scaled so that J = A' ∧ M ∧ B'. J has length 1 in
        coordinates, and its first coefficient that is not small is positive; J = I if the subspaces span everything.

        Parameters
        ----------
        B : Multivector
            A blade other than zero, in any metric.
        rtol : float, default=1e-9
            A direction is common to both if the sine of its angle is at most this. In a batch each element has a
            dimension of its own, and the result all grades that arise.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3, 0, 1)
        >>> A, B = alg.e01, alg.e02
        >>> A.join(B), A.meet(B)
        (1.0*e012, 1.0*e0)
        """
        return geometry.subspaces.join_and_meet(self, self._other(B, "join"), "join", rtol)[0]

    def meet(self, B: Any, rtol: float = 1e-9) -> Self:
        """Return the meet of two blades: the blade of the intersection of their subspaces. No metric is used.

        Scaled as `join` says: M = A ∨ B where the join is I, and a scalar with M join(A, B) = A ∧ B where the subspaces
        have no vector in common.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(4)
        >>> alg.e12.meet(2 * alg.e23), alg.e12.meet(alg.e34)
        (2.0*e2, 1.0)
        """
        return geometry.subspaces.join_and_meet(self, self._other(B, "meet"), "meet", rtol)[1]
