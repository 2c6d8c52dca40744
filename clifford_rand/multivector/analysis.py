"""Norms, inverses and the exponential."""

from typing import Any, Self

from clifford_rand.multivector.duality import Duality


class Analysis(Duality):
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
        from clifford_rand.functions.norms import norm_squared

        return norm_squared(self)  # type: ignore[arg-type]

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
        from clifford_rand.functions.norms import norm

        return norm(self)  # type: ignore[arg-type]

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
        from clifford_rand.functions.norms import normalized

        return normalized(self, rtol)  # type: ignore[arg-type, return-value]

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
        from clifford_rand.functions.inverse import inverse

        return inverse(self, rtol)  # type: ignore[arg-type, return-value]

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
        from clifford_rand.functions.exponential import exponential

        return exponential(self)  # type: ignore[arg-type, return-value]
