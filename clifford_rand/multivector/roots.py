"""Logarithms, square roots and the split of a bivector into commuting simple parts."""

from typing import Self

from clifford_rand.multivector.analysis import Analysis


class Roots(Analysis):
    """Inverse functions of the exponential and the square."""

    __slots__ = ()

    def log(self) -> Self:
        """Return a bivector B, plus log s, with s exp(B) = A: the logarithm of an even versor A with A ~A = s² > 0.

        For A = s (cos b + sin b N) with N² = -1 it is log s + b N; motors, boosts, null rotations and products of turns
        in several planes, of any angles, likewise, in every metric. Of the logarithms it is one of small norm: where A
        is minus the exponential of the principal logarithm of x ↦ A x A⁻¹, a full turn is added in one plane.

        Returns
        -------
        Multivector
            Grade 2, and a scalar if A ~A is not 1 to rounding. The batch shape and the dtype of A.

        Raises
        ------
        ArgumentError
            If A is not an even versor with A ~A > 0, or has no real bivector logarithm: minus a boost in Cl(1, 1), say.

        Notes
        -----
        Closed forms for d ≤ 3 and the motors of Cl(3, 0, 1). Else the real logarithm of the orthogonal map in so(G),
        improved by Gauss-Newton steps on exp(B) = A; exp(B) is then compared with A. Complex A: only where one
        plane turns.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(4)
        >>> B = 0.5 * alg.e12 + 0.25 * alg.e34
        >>> B.exp().log().isclose(B)
        True
        >>> print((-2 * alg("1.0")).log().grade(2))
        -3.14159265*e12
        """
        from clifford_rand.functions.logarithm import log

        return log(self)  # type: ignore[arg-type, return-value]

    def sqrt(self) -> Self:
        """Return an even versor Q with Q² = A, for an even versor A with A ~A > 0: exp(log(A)/2).

        Q of a rotor turns half as far. For A = s + B with B² a scalar and s > 0 it is (n + A)/√(2n(n + s)), n² = A ~A.

        Raises
        ------
        ArgumentError
            If A has no real logarithm: see `log`.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> Q = (alg.e2 * (alg.e1 + 0.0)).sqrt()
        >>> (Q * Q).isclose(alg.e21), Q.isclose((1 - alg.e12) / 2**0.5)
        (True, True)
        """
        from clifford_rand.functions.square_root import sqrt

        return sqrt(self)  # type: ignore[arg-type, return-value]

    def bivector_split(self, rtol: float = 1e-9) -> tuple[Self, ...]:
        """Return simple bivectors B_i with B = Σ B_i and B_i B_j = B_i∧B_j = B_j B_i, so exp(B) = Π exp(B_i).

        The planes of the B_i are orthogonal eigenplanes of x ↦ Bx - xB, of eigenvalues ±2λ_i with B_i² = λ_i². Where
        λ_i² is not real, which takes two positive and two negative directions, the parts are complex. A bivector that
        turns several planes equally fast has many splits, of which one is returned.

        Parameters
        ----------
        rtol : float, default=1e-9
            How exact a split must be: sum, simplicity and orthogonality, relative to the components.

        Returns
        -------
        tuple of Multivector
            Empty for B = 0; at most d/2 bivectors. In a batch, shorter splits are filled up with zeros.

        Raises
        ------
        ArgumentError
            If B is not a bivector, or has no split: some with coinciding λ in indefinite metrics do not.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> screw = cr.Algebra.pga(3)("e01 + 2.0*e23")
        >>> [str(part.sparse()) for part in screw.bivector_split()]
        ['2.0*e23', '1.0*e01']
        """
        from clifford_rand.functions.bivector_split import split

        return split(self, rtol)  # type: ignore[arg-type, return-value]
