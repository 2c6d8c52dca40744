"""The class `Blade`: k vectors that stand for their wedge, in any dimension and metric."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, describe, fail
from clifford_rand.blades.relations import Relations
from clifford_rand.blades.storage import Storage


class Blade(Relations):
    """The blade a1∧…∧ak of the rows of a matrix: k vectors and a scalar, never the C(d, k) components.

    Parameters
    ----------
    factors : array_like of shape (..., k, d)
        One vector per row, k ≤ d. float32 and float64 are kept, integers become float64. k = 0 is the scalar 1.
    algebra : Algebra, optional
        Any metric of numbers: diagonal or not, indefinite, degenerate. Default: Euclidean, ``Algebra(d)``.
    rtol : float, optional
        Rows scaled to length 1 count as dependent, and the blade as zero, where their smallest singular value is at
        most this. Default: 8·√k·eps.

    Attributes
    ----------
    factors : ndarray (..., k, d), read-only
    sign, log_scale : ndarray (...)
        The blade is sign · exp(log_scale) · f1∧…∧fk.
    algebra : Algebra
    d, grade : int
    shape : tuple of int
        The batch axes.

    Raises
    ------
    ArgumentError
        For more than d vectors, entries that are NaN, infinite or not real, an algebra of another dimension.

    Notes
    -----
    Products cost O(k² d), the star one QR factorisation. Determinants are computed in float64, and kept as logarithms:
    nothing overflows. ``a ^ b`` wedge, ``~a`` reverse, ``-a``, ``2 * a``; `clifford_rand.inner`, `clifford_rand.star`
    and `clifford_rand.wedge` take blades too. Signs are those of `Multivector`. Angles, distances, join, meet,
    `contains`, `canonical` and `isclose` are those of the coordinates, whatever the metric.

    Examples
    --------
    >>> import numpy as np
    >>> import clifford_rand as cr
    >>> A = cr.Blade([[1.0, 0, 0], [1, 2, 0]])
    >>> A.grade, A.to_multivector()
    (2, 2.0*e12)
    >>> (cr.star(A) ^ A).isclose(A.norm_squared() * cr.Blade(np.eye(3)))
    True
    >>> B = cr.Blade(np.random.default_rng(0).standard_normal((100, 10_000)))
    >>> B, bool(abs(B.log_inner(B)[1] - 2 * B.log_norm()) < 1e-9)
    (<Blade of grade 100 in Algebra(10000)>, True)
    """

    # ---- projection

    def project_vectors(self, X: ArrayLike, rtol: float | None = None) -> NDArray[Any]:
        """Return the orthogonal projections of vectors on the blade's subspace.

        Parameters
        ----------
        X : array_like of shape (..., d)
            Leading axes broadcast with the blade's batch.
        rtol : float, optional
            The blade is null, an error, where the metric on its subspace is this near to singular; see `is_null`.

        Raises
        ------
        ArgumentError
            If the blade is zero or null.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> cr.Blade([[1.0, 0, 0], [1, 1, 0]]).project_vectors([1.0, 2, 3]).round(12)
        array([1., 2., 0.])
        """
        from clifford_rand.blades.projection import project_rows

        return project_rows(self, X, "project_vectors", rtol, reject=False)

    def reject_vectors(self, X: ArrayLike, rtol: float | None = None) -> NDArray[Any]:
        """Return the parts of vectors orthogonal to the blade's subspace, x - projection of x.

        In Euclidean space they are orthogonal to rounding of their own length, however near the subspace they are.
        Parameters and errors are those of `project_vectors`.
        """
        from clifford_rand.blades.projection import project_rows

        return project_rows(self, X, "reject_vectors", rtol, reject=True)

    def project(self, b: Any, rtol: float | None = None) -> Self:
        """Return the projection of this blade on the subspace of the blade ``b``, as `Multivector.project`.

        It is the outermorphism of the projection of vectors, so zero where these become dependent. Scalars stay.

        Raises
        ------
        ArgumentError
            If ``b`` is zero or null.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> A, B = cr.Blade([[1.0, 0, 2]]), cr.Blade([[1.0, 0, 0], [0, 1, 0]])
        >>> A.project(B).isclose(cr.Blade([[1.0, 0, 0]]))
        True
        """
        from clifford_rand.blades.projection import project_blade

        return project_blade(self, self._target(b, "project"), rtol)  # type: ignore[no-any-return]

    def reject(self, b: Any, rtol: float | None = None) -> Self:
        """Return the rejection of this blade from the subspace of ``b``, as `Multivector.reject`.

        reject(a) ∧ b = a ∧ b: the outermorphism of the rejection of vectors. Scalars stay.

        Raises
        ------
        ArgumentError
            If ``b`` is zero or null.
        """
        from clifford_rand.blades.projection import reject_blade

        return reject_blade(self, self._target(b, "reject"), rtol)  # type: ignore[no-any-return]

    def _target(self, b: Any, owner: str) -> Storage:
        if isinstance(b, np.ndarray | list | tuple):
            hint = f"To {owner} vectors x use blade.{owner}_vectors(x)."
            raise fail("b", owner, "a Blade", describe("an array"), hint)
        return self._other(b, owner)

    # ---- normal forms

    def orthonormalized(self) -> Self:
        """Return the same blade with factors that are orthonormal in coordinates, and its volume in ``log_scale``."""
        return self._make(*self._frame)

    def normalized(self, rtol: float | None = None) -> Self:
        """Return the blade divided by its norm; an error for zero and null blades, see `is_null`.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> A = cr.Blade([[3e200, 4e200]]).normalized()
        >>> round(float(A.norm()), 12), A.isclose(cr.Blade([[0.6, 0.8]]))
        (1.0, True)
        """
        if np.any(self.is_null(rtol)):
            raise fail("blade", "normalized", "of non-zero norm", describe("a blade that is zero or null"))
        return self._times(1.0, -self.log_norm())

    def canonical(self) -> Self:
        """Return the blade with factors that depend, to rounding, on the blade alone.

        Reduced echelon form: at k *pivots* the factors have the identity, and the scalar sign · exp(log_scale) is the
        blade's coefficient there. Pivots are chosen from an orthonormal basis, each time the column with the largest
        part orthogonal to those before, the first of equal ones: entries stay moderate, and rounding cannot exchange
        pivots unless they differ by about 1e-6. O(k² d). The factors of zero are 0.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> A = cr.Blade([[1.0, 2, 3], [4, 5, 7]]).canonical()
        >>> A.factors.round(9), float(A.sign), round(float(A.log_scale), 9)  # log 5 for -5 e13
        (array([[1. , 0.2, 0. ],
               [0. , 0.6, 1. ]]), -1.0, 1.609437912)
        """
        from clifford_rand.blades.relations import canonical

        return canonical(self)  # type: ignore[no-any-return]

    # ---- multivectors

    def to_multivector(self) -> Any:
        """Return the `Multivector` of one grade, with all C(d, k) components.

        Raises
        ------
        ArgumentError
            If there would be more than 2^27 components, or they do not fit into the dtype.
        """
        from clifford_rand.blades.blade import to_multivector

        return to_multivector(self)

    @classmethod
    def from_multivector(cls, A: Any, rtol: float = 1e-9) -> Self:
        """Return the blade of a multivector that is one, with factors orthonormal in coordinates.

        Parameters
        ----------
        A : Multivector
            A blade other than zero, or a batch of blades of one grade; of numbers.
        rtol : float, default=1e-9
            As in `Multivector.is_blade`.

        Raises
        ------
        ArgumentError
            If A is not a blade.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> A = cr.Algebra(4)("3*e12 + 4*e13")
        >>> cr.Blade.from_multivector(A).to_multivector().isclose(A)
        True
        """
        from clifford_rand.blades.blade import factors_of

        factors, sign, log = factors_of(A, rtol)
        made = cls(as_real(factors, "A", "Blade.from_multivector"), A.algebra)
        return made._make(made.factors, sign, log)
