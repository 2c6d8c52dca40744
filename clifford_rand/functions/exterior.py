"""The exterior algebra as functions: wedge, inner and star of every object that has them, and the outer exponential.

A = σ + N with a scalar σ: every factor of N raises the grade, so N^∧k = 0 for k > d, and σ enters by exp, cosh, sinh.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import MV
from clifford_rand.errors import ArgumentError
from clifford_rand.functions.exponential import without_scalar
from clifford_rand.functions.scaling import is_exact_zero


def _method(value: Any, name: str) -> Any:
    method = getattr(value, name, None)
    if method is None:
        raise fail("a", name, "a multivector or a Blade", describe(f"{type(value).__name__} {value!r}"))
    return method


def wedge(a: Any, /, *more: Any) -> Any:
    """Return the outer product a ∧ b ∧ … of one or more factors.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> cr.wedge(alg.e1, alg.e2, alg.e3)
    e123
    """
    method = _method(a, "wedge")
    return method(*more) if more else a


def inner(a: Any, b: Any, /) -> Any:
    """Return ⟨a ~b⟩_0, for blades det(a_iᵀ G b_j).

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> cr.inner(alg.e12, 2 * alg.e12)
    2
    """
    return _method(a, "inner")(b)


def star(a: Any, /) -> Any:
    """Return the Hodge star I ~a: (star a) ∧ b = inner(a, b) I for b of a's grade, in any metric.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> cr.star(cr.wedge(alg.e1, alg.e2))  # the cross product
    e3
    """
    return _method(a, "star")()


def outerexp(A: MV) -> MV:
    """Return the outer exponential Σ A^∧k / k!, with outer products for powers.

    Of a bivector B = F1 + F2 + … of orthogonal planes it is Π (1 + F_i), so for rotors exp(B) = Π cos|F_i| times the
    outer exponential of Σ tan|F_i| F_i/|F_i| (M. Roelfs and S. De Keninck, Graded symmetry groups: plane and simple,
    Advances in Applied Clifford Algebras 33, 2023).

    Examples
    --------
    >>> alg = cr.Algebra(4)
    >>> (2.0 * alg.e12 + 3 * alg.e34).outerexp()
    1.0 + 2.0*e12 + 3.0*e34 + 6.0*e1234
    """
    even, odd = _terms(A)
    return even + odd


def outersin(A: MV) -> MV:
    """Return the odd terms Σ A^∧(2k+1) / (2k+1)! of the outer exponential; no sign alternates, as in kingdon.

    Examples
    --------
    >>> alg = cr.Algebra(6)
    >>> (1.0 * alg.e12 + alg.e34 + alg.e56).outersin()
    e12 + e34 + e56 + e123456
    """
    return _terms(A)[1]


def outercos(A: MV) -> MV:
    """Return the even terms Σ A^∧(2k) / (2k)! of the outer exponential; no sign alternates, as in kingdon.

    Examples
    --------
    >>> alg = cr.Algebra(4)
    >>> (2.0 * alg.e12 + 3 * alg.e34).outercos()
    1.0 + 6.0*e1234
    """
    return _terms(A)[0]


def outertan(A: MV) -> MV:
    """Return outersin(A) outercos(A)⁻¹, by the geometric product and inverse, as in kingdon.

    Raises
    ------
    ArgumentError
        If outercos(A) has no inverse.

    Examples
    --------
    >>> cr.Algebra(3).e12.outertan()
    e12
    """
    even, odd = _terms(A)
    try:
        return odd * even.inv()
    except (ArgumentError, ZeroDivisionError) as error:
        rule = "a multivector whose outercos has an inverse"
        raise fail("A", "outertan", rule, describe("one whose outercos is singular")) from error


def _terms(A: MV) -> tuple[MV, MV]:
    """Return the even and the odd terms."""
    # factorials divide: integers become floats
    if A.dtype.kind == "i":
        A = A.new(A.keys, A.coefficients.astype(np.float64))
    exact = A.dtype.kind == "O"
    sigma, N = without_scalar(A)
    # 1 and N, the terms k = 0 and 1; sums[k % 2] takes the others
    sums: list[Any] = [A.algebra.scalar(np.ones(A.shape, dtype=A.dtype)), N]
    power = N
    for k in range(2, A.algebra.d + 1):
        # N^∧k, zero at the latest for k > d
        power = power.wedge(N)
        if not power.keys.size or not np.any(power.coefficients != 0):
            break
        sums[k % 2] = sums[k % 2] + power * (Fraction(1, math.factorial(k)) if exact else 1 / math.factorial(k))
    even, odd = sums
    zero = all(is_exact_zero(value) for value in np.ravel(sigma)) if exact else not np.any(sigma)
    if zero:
        return even, odd
    if exact:
        from clifford_rand.symbolic.closed_forms import sine_and_cosine

        sinh, cosh = (np.asarray(part, dtype=object) for part in np.frompyfunc(sine_and_cosine(1), 1, 2)(sigma))
    else:
        sinh, cosh = np.sinh(sigma), np.cosh(sigma)
    # e^σ = cosh σ + sinh σ, sorted by parity
    return even * cosh + odd * sinh, even * sinh + odd * cosh
