"""Norms, inverses, exponentials, logarithms, square roots, and the split of a bivector into commuting simple parts."""

from typing import Any, Self

from clifford_rand import functions
from clifford_rand.multivector.involutions import Involutions


class Analysis(Involutions):
    """Functions of one multivector."""

    __slots__ = ()

    def norm_squared(self) -> Any:
        """Return ⟨A ~A⟩_0 = inner(A, A), which is negative or zero for some A unless the metric is Euclidean.

        Returns
        -------
        number, or an array of them over the batch
            In the dtype of the coefficients.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> float(cr.Algebra(3)("3.0*e1 + 4.0*e23").norm_squared()), int(cr.Algebra(1, 1).e2.norm_squared())
        (25.0, -1)
        """
        return functions.norms.norm_squared(self)  # type: ignore[arg-type]

    def norm(self) -> Any:
        """Return √|⟨A ~A⟩_0|, without overflow or underflow on the way.

        Returns
        -------
        number, or an array of them over the batch
            Exact for fractions and symbols: an integer, a fraction or a SymPy expression.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> float(alg("3*e1 + 4*e23").norm()), float((1e200 * alg.e12).norm())
        (5.0, 1e+200)
        """
        return functions.norms.norm(self)  # type: ignore[arg-type]

    def normalized(self, rtol: float | None = None) -> Self:
        """Return A / norm(A).

        Parameters
        ----------
        rtol : float, optional
            |⟨A ~A⟩_0| is zero if it is not above ``rtol`` times the sum of its absolute terms; 16 eps by default.

        Raises
        ------
        ArgumentError
            For zero and for null multivectors, whose norm is zero.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> cr.Algebra(3)("3*e1 + 4*e2").normalized()
        0.6*e1 + 0.8*e2
        """
        return functions.norms.normalized(self, rtol)  # type: ignore[arg-type, return-value]

    def inv(self, rtol: float | None = None) -> Self:
        """Return the inverse A⁻¹, A A⁻¹ = A⁻¹ A = 1, of any multivector that has one, in any metric.

        ~A / (A ~A) where that is a scalar (versors, blades); otherwise through matrices, or for fractions and symbols
        by the characteristic polynomial (Shirokov 2021, Theorem 3), without rounding.

        Parameters
        ----------
        rtol : float, optional
            A is singular if 1/(|A| |A⁻¹|) ≤ ``rtol``, |A| the root of the sum of squared components in an
            orthonormal basis, blades with null vectors left out. By default 4 eps 2^⌈d/2⌉, less for versors.

        Returns
        -------
        Multivector
            Of the grades that can occur: the inverse of an even A is even, that of a vector a vector.

        Raises
        ------
        ArgumentError
            If A is singular; the message holds the reciprocal condition number found.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> (2 * alg.e12).inv(), (1e-7 * alg.e1).inv().isclose(1e7 * alg.e1)
        (-0.5*e12, True)
        >>> (2 + alg.e1).inv().isclose((2 - alg.e1) / 3)
        True
        """
        return functions.inverse.inverse(self, rtol)

    inverse = inv

    def exp(self) -> Self:
        """Return the exponential Σ A^k / k!, for any multivector in any metric.

        Closed forms where A² is a scalar (vectors, simple bivectors: cos and sin, cosh and sinh) and where A² = s + q
        with scalar q² (bivectors of four and five dimensions); otherwise scaling, a Taylor polynomial, and squaring.

        Returns
        -------
        Multivector
            Of the grades that can occur: exp of a bivector is even.

        Raises
        ------
        ArgumentError
            If the result is beyond the range of its dtype; for fractions and symbols unless A² is exactly a scalar.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> from math import pi
        >>> alg = cr.Algebra(3)
        >>> R = (-pi / 4 * alg.e12).exp()
        >>> (R * alg.e1 * ~R).isclose(alg.e2)
        True
        """
        return functions.exponential.exponential(self)

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
        return functions.logarithm.log(self)

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
        return functions.logarithm.sqrt(self)

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
        return functions.bivector_split.split(self, rtol)
