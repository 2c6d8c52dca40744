"""What multivectors do to each other: sandwiches, projections, linear maps, matrices."""

from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike, NDArray

from clifford_rand import geometry
from clifford_rand.multivector.subspaces import Subspaces

if TYPE_CHECKING:
    from clifford_rand.algebra import Algebra


class Geometry(Subspaces):
    """Versors and blades at work."""

    __slots__ = ()

    # ---- sandwiches

    def sandwich(self, X: Any) -> Self:
        """Return R X R⁻¹ (``R >> X``), R this multivector.

        The length of R does not count. A versor R keeps the grades of X; any other R gives all that arise. The sign is
        literally that of R X R⁻¹: a vector n takes x to n x n⁻¹, minus the reflection of x in the hyperplane orthogonal
        to n. The reflection is n x̂ n⁻¹, ``n >> x.involute()``, or ``x.reflect(n)``.

        Parameters
        ----------
        X : Multivector, scalar or array of scalars
            Batch axes broadcast. A large batch with one R is one matrix product, of the matrix of the map and all of X.

        Raises
        ------
        ArgumentError
            If R has no inverse.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> (1 + alg.e12) >> alg.e1
        -1.0*e2
        >>> alg.e1 >> alg.e1, alg.e1 >> alg.e2
        (1.0*e1, -1.0*e2)
        """
        return geometry.versors.sandwich(self, self._other(X, "sandwich"))

    def __rshift__(self, other: Any) -> Any:
        same = self._coerced(other)
        return NotImplemented if same is None else self.sandwich(same)

    def __rrshift__(self, other: Any) -> Any:
        same = self._coerced(other)
        return NotImplemented if same is None else same.sandwich(self)

    def vector_matrix(self) -> NDArray[Any]:
        """Return the (..., d, d) matrix of x ↦ R x R⁻¹ on the components of vectors, R this versor.

        Column i has the components of R e_i R⁻¹; Mᵀ G M = G.

        Raises
        ------
        ArgumentError
            If R is not a versor.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(2)
        >>> (1 + alg.e12).vector_matrix()
        array([[ 0.,  1.],
               [-1.,  0.]])
        """
        return geometry.versors.vector_matrix(self)

    def is_versor(self, rtol: float = 1e-9) -> Any:
        """Tell whether A is a product of invertible vectors: a bool, or an array of them over the batch.

        It is where A is even or odd, invertible, and A x A⁻¹ a vector for all vectors x.

        Parameters
        ----------
        rtol : float, default=1e-9
            Relative to the sum of the squares of the components; at least 256 eps of the dtype.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(4)
        >>> (1 + alg.e12).is_versor(), (1 + alg.e1).is_versor(), (1 + alg.e1234).is_versor()
        (True, False, False)
        """
        return geometry.versors.is_versor(self, rtol)

    # ---- projection and reflection

    def project(self, B: Any) -> Self:
        """Return (A ⌋ B) B⁻¹, the orthogonal projection of A on the subspace of the blade B.

        On every grade it is the outermorphism of the projection of vectors: project(A ∧ C) = project(A) ∧ project(C),
        project(B) = B, and projecting again changes nothing. Scalars stay.

        Raises
        ------
        ArgumentError
            If B is not a blade, or is null (B ~B = 0).

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> alg("e1 + 2*e3").project(alg.e12)
        1.0*e1
        """
        return geometry.projections.project(self, self._other(B, "project"))

    def reject(self, B: Any) -> Self:
        """Return (A ∧ B) B⁻¹, the part of A orthogonal to the subspace of the blade B.

        For vectors it is a - a.project(B), and on every grade the outermorphism of that map: reject(A) ∧ B = A ∧ B, and
        B ⌋ reject(A) = 0 unless both are scalars. Scalars stay.

        Raises
        ------
        ArgumentError
            If B is not a blade, or is null (B ~B = 0).

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> alg("e1 + 2*e3").reject(alg.e12)
        2.0*e3
        """
        return geometry.projections.reject(self, self._other(B, "reject"))

    def reflect(self, B: Any, *, inside: bool = False) -> Self:
        """Return the reflection of A in the mirror orthogonal to the blade B; a vector B is the normal of a hyperplane.

        (-1)^{rs} B A B⁻¹ for A of grade r and B of grade s: vectors in B are negated, vectors orthogonal to B stay.
        With ``inside=True`` the mirror is the subspace of B: (-1)^{r(s+1)} B A B⁻¹, vectors in B stay, those orthogonal
        to B are negated. Both are outermorphisms: reflect(A ∧ C) = reflect(A) ∧ reflect(C).

        Raises
        ------
        ArgumentError
            If B is not a blade, or is null (B ~B = 0).

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> x = alg("e1 + 2*e3")
        >>> x.reflect(alg.e3), x.reflect(alg.e3, inside=True)
        (1.0*e1 - 2.0*e3, -1.0*e1 + 2.0*e3)
        """
        return geometry.projections.reflect(self, self._other(B, "reflect"), inside=inside)

    # ---- linear maps and matrices

    def outermorphism(self, F: ArrayLike, target: "Algebra | None" = None) -> Self:
        """Return F(A), the linear map F of the vectors carried over to all grades: F(A ∧ B) = F(A) ∧ F(B).

        Parameters
        ----------
        F : array_like of shape (..., d', d)
            The image of basis vector i in column i. Leading axes broadcast with the batch.
        target : Algebra, optional
            The algebra of the images, with d' basis vectors; A's own by default.

        Raises
        ------
        ArgumentError
            If the shape of F does not fit.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(2)
        >>> F = [[1, 2], [3, 4]]
        >>> alg.e1.outermorphism(F), alg.I.outermorphism(F)  # F(I) = det(F) I
        (e1 + 3*e2, -2*e12)
        """
        return geometry.linear_maps.outermorphism(self, F, target)

    def left_matrix(self) -> NDArray[Any]:
        """Return the matrix of X ↦ A X on all components: left_matrix(A) @ X.dense().values is (A X).dense().values.

        (..., 2^d, 2^d), for d ≤ 12. It is a representation: left_matrix(A B) = left_matrix(A) @ left_matrix(B).

        Examples
        --------
        >>> import clifford_rand as cr
        >>> cr.Algebra(0, 1).e1.left_matrix()  # i as a real matrix
        array([[ 0, -1],
               [ 1,  0]])
        """
        return geometry.linear_maps.left_matrix(self)

    def right_matrix(self) -> NDArray[Any]:
        """Return the matrix of X ↦ X A on all components, (..., 2^d, 2^d), for d ≤ 12."""
        return geometry.linear_maps.right_matrix(self)

    def spinor_matrix(self) -> NDArray[Any]:
        """Return A as a complex matrix on spinors: products become matrix products.

        (..., 2^m, 2^m) for d = 2m. For d = 2m + 1 two blocks (..., 2, 2^m, 2^m), one for each value of the central I.

        Raises
        ------
        ArgumentError
            If the basis is not orthogonal with squares 1 and -1.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(4)
        >>> product = alg.e1.spinor_matrix() @ alg.e2.spinor_matrix()
        >>> product.shape, bool((product == alg.e12.spinor_matrix()).all())
        ((4, 4), True)
        """
        return geometry.linear_maps.spinor_matrix(self)
