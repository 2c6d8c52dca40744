"""The inverse of a multivector of fractions or symbols, by sums and products and one division by its determinant."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.coefficients import exact_quotient
from clifford_rand.functions.inverse import inverse_grades, singular
from clifford_rand.functions.norms import expand, is_exact_zero
from clifford_rand.functions.unit_form import used_vectors

if TYPE_CHECKING:
    from clifford_rand.multivector.multivector import Multivector


def exact_inverse(A: "Multivector") -> "Multivector":
    """Return ~A / (A ~A) where A ~A is exactly a scalar, adj(A) / det(A) otherwise."""
    A = A._make(A.keys, A.coefficients.astype(object))
    reverse = A.reverse()
    product = expand(A * reverse)
    rest = product.grade(*(k for k in product.grades if k))
    if all(is_exact_zero(value) for value in rest.coefficients.ravel().tolist()):
        return _over(reverse, product["1"])
    determinant, adjugate = determinant_and_adjugate(A)
    return _over(adjugate.grade(*inverse_grades(A.keys, A.algebra.d)), determinant)


def determinant_and_adjugate(A: "Multivector") -> tuple[Any, "Multivector"]:
    """Return (det A, adj A) with A adj A = det A, in any metric.

    With N = 2^⌈d/2⌉: U_1 = A, C_k = (N/k) ⟨U_k⟩_0, U_{k+1} = A (U_k - C_k); det A = -C_N and adj A = C_{N-1} - U_{N-1}
    (D. Shirokov, "On computing the determinant, other characteristic polynomial coefficients, and inverse in Clifford
    algebras of arbitrary dimension", Computational and Applied Mathematics 40, 2021, Theorem 3). Only the basis
    vectors that occur in A count for d.
    """
    n = 2 ** ((max(used_vectors(A.keys).bit_count(), 1) + 1) // 2)
    U = A
    for k in range(1, n):
        before = U - np.asarray(Fraction(n, k) * np.asarray(U["1"], dtype=object), dtype=object)
        U = expand(A * before)
    return -U["1"] if not A.ndim else -np.asarray(U["1"]), -before


def _over(A: "Multivector", divisor: Any) -> "Multivector":
    """Return A / divisor, fractions of integers, an error where the divisor is zero."""
    values: NDArray[Any] = np.asarray(divisor, dtype=object)
    if any(is_exact_zero(value) for value in values.ravel().tolist()):
        raise singular("determinant 0")
    return A._make(A.keys, exact_quotient(A.coefficients, values[..., None]))
