"""The exponential of a multivector, by closed forms or a Taylor polynomial with squaring, and the outer exponential.

With C(x) = cosh √x and S(x) = sinh √x / √x, both entire: exp B = C(B²) + B S(B²), so B² decides. A scalar part σ of A
commutes with the rest B and goes into the exponents, so that exp(-1000 + 1000 e1) = (1 + e1)/2 does not overflow.

Outer: of A = σ + N every factor of N raises the grade, so N^∧k = 0 for k > d, and σ enters by exp, cosh, sinh.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import copy_by_component
from clifford_rand.basis.keys import keys_of_grades, union
from clifford_rand.errors import ArgumentError
from clifford_rand.functions.closed_exponential import closed_exponential, exponential_of_one
from clifford_rand.functions.matrix_forms import is_closed, square_and_rest
from clifford_rand.functions.scaling import (
    as_inexact,
    eps_of,
    expand,
    is_exact,
    is_exact_zero,
    multiplied,
    power_of_two,
    sum_of_sizes,
    times_power,
    without_scalar,
)
from clifford_rand.functions.unit_form import closed_keys, unit_form

SCALAR = 4  # units of rounding, relative to the terms of B², below which the other parts of B² are rounding
THETA = 0.8  # θ^17/17! = 6e-17: what Taylor's polynomial of degree 16 leaves off is below the rounding of float64
MANY = 64  # components from which a product to look for a closed form is not repaid
LARGEST_POWER = 40  # squarings: the norm 10^12 leaves no digit of a general exponential


def exponential(A: MV) -> MV:
    """Return the exponential Σ A^k / k!, for any multivector in any metric.

    Closed forms where A² is a scalar (vectors, simple bivectors: cos and sin, cosh and sinh) and where A² = s + q
    with scalar q² (bivectors of four and five dimensions); otherwise scaling, a Taylor polynomial, and squaring. The
    result has the grades that can occur: exp of a bivector is even.

    Raises
    ------
    ArgumentError
        If the result is beyond the range of its dtype; for fractions and symbols unless A is a scalar plus commuting
        parts with B² = s + q, s and q² exactly numbers: screws, and bivectors of at most five dimensions, are.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> R = (-math.pi / 4 * alg.e12).exp()
    >>> (R * alg.e1 * ~R).isclose(alg.e2)
    True
    """
    if A.coefficients.ndim == 1 and A.coefficients.dtype.kind == "f":
        image = exponential_of_one(A)
        if image is not None:
            return image
    if is_exact(A):
        return _exact(A)
    A = as_inexact(A)
    if not np.isfinite(A.coefficients).all():
        raise fail("A", "exp", "finite", describe("NaN or infinite coefficients"))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        sigma, B = without_scalar(A)
        result = closed_exponential(sigma, B)
        if result is None or not np.isfinite(result.coefficients).all():
            exponent = power_of_two(B.coefficients)
            result = _of_square(sigma, multiplied(B, -exponent), exponent)
    if not np.isfinite(result.coefficients).all():
        rule = f"small enough for exp(A) to be a {A.dtype}"
        raise fail("A", "exp", rule, describe("a multivector whose exponential is out of range"))
    return result


def _with_scalar(scalar: Any, B: MV, factor: Any) -> MV:
    """Return scalar + factor · B for B without a scalar part."""
    keys = union(keys_of_grades(B.keys.d, (0,)), B.keys)
    array = np.empty((*B.shape, keys.size), dtype=B.dtype)
    array[..., 0] = scalar
    array[..., 1:] = B.coefficients * (factor[..., None] if isinstance(factor, np.ndarray) else factor)
    return B.new(keys, array)


def _of_square(sigma: Any, B: MV, exponent: NDArray[np.int64]) -> MV:
    """Return exp(σ + 2^n B), the largest component of B near 1; B² chooses the way."""
    if is_closed(B):
        # B² = square + rest: a number where B is simple
        square, part, size = square_and_rest(B)
        if np.all(part <= SCALAR * eps_of(B.dtype) * size):
            C, S = _cosh_and_sinhc(sigma, -square, exponent)
            return _with_scalar(C, B, S)
    many = B.keys.size > MANY and len(B.grades) > 1
    # B² = s + q; the anticommutator computes equal terms once
    s, q = without_scalar(B * B if many else B.anticommutator(B))
    if _is_rounding(q, B):
        C, S = _cosh_and_sinhc(sigma, s, exponent)
        return _with_scalar(C, B, S)
    return _general(sigma, B, exponent)


def _is_rounding(rest: MV, B: MV) -> bool:
    """Tell whether the part ``rest`` of B² is rounding, in every element of the batch."""
    if rest.keys.size == 0:
        return True
    largest = np.abs(rest.coefficients).max(axis=-1)
    if not largest.any():
        return True
    if not B.algebra.form.is_unit:
        return False  # the components do not bound the terms of the product
    terms = (np.abs(B.coefficients) ** 2).sum(axis=-1)
    return bool(np.all(largest <= SCALAR * eps_of(B.dtype) * terms))


def _cosh_and_sinhc(sigma: Any, s: Any, exponent: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return e^σ cosh z and 2^n e^σ sinh z / z for z = 2^n √s, the large exponents added before they are raised."""
    sigma, s = np.asarray(sigma), np.asarray(s)
    root = np.sqrt(s.astype(np.result_type(s, np.complex64)))
    z = times_power(root[..., None], exponent)[..., 0]
    plus, minus = np.exp(sigma + z), np.exp(sigma - z)
    # (e^z - e^-z)/2z = e^z (1 - e^-2z)/2z, and 1 where z is 0
    quotient = plus * np.where(z == 0, 1, -np.expm1(-2 * z) / np.where(z == 0, 1, 2 * z))
    pair = (plus + minus) / 2, times_power(quotient[..., None], exponent)[..., 0]
    return pair if s.dtype.kind == "c" else (pair[0].real, pair[1].real)


# ---- any multivector


def _general(sigma: Any, B: MV, exponent: NDArray[np.int64]) -> MV:
    """Return exp(σ + 2^n B) by Taylor's polynomial of degree 16, scaled and squared, in an orthonormal basis.

    There Σ|components| of a power bounds its norm, and max(‖B³‖^{1/3}, ‖B⁴‖^{1/4}) decides the scaling (Al-Mohy and
    Higham, SIAM Journal on Matrix Analysis and Applications 31, 2009, Theorem 4.2).
    """
    form = unit_form(B, "exp")
    U = form.take(B)
    U = U.on_keys(closed_keys(U))
    own = power_of_two(U.coefficients)  # the change of basis may have changed the size
    U = multiplied(U, -own)
    exponent = exponent + own
    square = U * U
    # the bound of the scaling needs U³ and U⁴, Horner's rule U to U⁴
    cube, fourth = square * U, square * square
    bound = np.maximum(sum_of_sizes(cube) ** (1 / 3), sum_of_sizes(fourth) ** (1 / 4)).astype(np.float64)
    steps = np.maximum(0, np.ceil(np.log2(np.maximum(bound, 1e-300) / THETA)).astype(np.int64) + exponent)
    if steps.max(initial=0) > LARGEST_POWER:
        rule = f"of norm at most 2^{LARGEST_POWER} unless A² is a scalar"
        received = describe(f"norm {2.0 ** int(steps.max()):.3g}")
        raise fail("A", "exp", rule, received, "No digit of the result would be right.")
    # (U/2^n)^k
    powers = [multiplied(P, k * (exponent - steps)) for k, P in enumerate((U, square, cube, fourth), start=1)]
    result = powers[3] * (1 / math.factorial(16))
    # Σ_j (U⁴)^j (c_4j + c_{4j+1} U + c_{4j+2} U² + c_{4j+3} U³) (Paterson and Stockmeyer 1973)
    for low in (12, 8, 4, 0):
        if low < 12:
            result = result * powers[3]
        for k in (3, 2, 1):
            result = result + powers[k - 1] * (1 / math.factorial(low + k))
        result = result + 1 / math.factorial(low)
    # e^{σ/2^n}, squared n times with the polynomial, so that neither leaves the range alone
    growth = np.exp(np.asarray(sigma) / np.exp2(steps).astype(np.asarray(sigma).real.dtype))
    array = result.coefficients * growth[..., None]
    for step in range(int(steps.max(initial=0))):
        left = steps > step
        if array.ndim == 1 or left.all():
            array = _squared(result.new(result.keys, array))
        else:
            array = copy_by_component(array)  # that of a multivector is read-only
            array[left] = _squared(result.new(result.keys, array[left]))
    return form.give(result.new(result.keys, array), B)


def _squared(A: MV) -> NDArray[Any]:
    return (A * A).on_keys(A.keys).coefficients


# ---- fractions and symbols


def _exact(A: MV) -> MV:
    """Return the exponential of σ plus parts that commute, each with a square s + q, s and t = q² numbers."""
    from clifford_rand.symbolic.closed_forms import exponential_of_square

    A = A.new(A.keys, A.coefficients.astype(object))
    sigma, B = without_scalar(A)
    result = A.algebra.scalar(np.ones(A.shape, dtype=object))
    # exp(Σ B_i) = Π exp(B_i) of parts that commute
    for part in [B] if _is_scalar(B.anticommutator(B)) else _commuting_parts(B):
        result = result * _exact_part(part)
    scalar = np.asarray(sigma, dtype=object)
    if all(is_exact_zero(value) for value in scalar.ravel().tolist()):
        return result
    both = np.frompyfunc(exponential_of_square, 1, 2)
    C, S = (np.asarray(part, dtype=object) for part in both(scalar * scalar))  # e^σ = C(σ²) + σ S(σ²)
    return result * np.asarray(C + scalar * S, dtype=object)


def _exact_part(B: MV) -> MV:
    """Return C + S B at X = B² = s + q: C₀ + C₁ q and S₀ + S₁ q, the means and differences at s ± √t, t = q²."""
    from clifford_rand.symbolic.closed_forms import exponential_of_pair

    s, q = without_scalar(expand(B.anticommutator(B)))
    square = expand(q.anticommutator(q))
    if not _is_scalar(square):
        rule = "a scalar plus commuting parts with squares s + q and scalars q², for fractions or symbols"
        received = describe(f"another part of grades {', '.join(map(str, B.grades))}")
        raise fail("A", "exp", rule, received, "Substitute numbers first, or convert with astype(float).")
    t = without_scalar(square)[0]
    C0, C1, S0, S1 = (np.asarray(x, dtype=object)[..., None] for x in np.frompyfunc(exponential_of_pair, 2, 4)(s, t))
    result = B.new(B.keys, np.asarray(B.coefficients * S0, dtype=object)) + C0[..., 0]
    if _is_scalar(q):
        return result
    twice = q.anticommutator(B)
    result = result + q.new(q.keys, np.asarray(q.coefficients * C1, dtype=object))
    return result + twice.new(twice.keys, np.asarray(twice.coefficients * S1, dtype=object))


def _is_scalar(A: MV) -> bool:
    """Tell whether all parts of an exact multivector but its scalar are zero."""
    return all(is_exact_zero(value) for value in without_scalar(A)[1].coefficients.ravel().tolist())


def _commuting_parts(B: MV) -> list[MV]:
    """Return parts of B that commute with each other: blades that do not commute are in one part."""
    from scipy.sparse.csgraph import connected_components

    blades = [B.new(B.keys, row) for row in np.eye(B.keys.size, dtype=np.int64)]
    # blades that do not commute are linked; parts are the connected components
    linked = np.array([[bool(a.commutator(b).coefficients.any()) for b in blades] for a in blades], dtype=bool)
    held = np.array([not _is_scalar(B.new(B.keys, B.coefficients * row)) for row in np.eye(B.keys.size, dtype=int)])
    count, label = connected_components(linked & held & held[:, None])
    masks = [(label == k) & held for k in range(count)]
    return [B.new(B.keys, np.where(mask, B.coefficients, 0)) for mask in masks if mask.any()]


# ---- the outer exponential


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
    even, odd = _outer_terms(A)
    return even + odd


def outersin(A: MV) -> MV:
    """Return the odd terms Σ A^∧(2k+1) / (2k+1)! of the outer exponential; no sign alternates, as in kingdon.

    Examples
    --------
    >>> alg = cr.Algebra(6)
    >>> (1.0 * alg.e12 + alg.e34 + alg.e56).outersin()
    e12 + e34 + e56 + e123456
    """
    return _outer_terms(A)[1]


def outercos(A: MV) -> MV:
    """Return the even terms Σ A^∧(2k) / (2k)! of the outer exponential; no sign alternates, as in kingdon.

    Examples
    --------
    >>> alg = cr.Algebra(4)
    >>> (2.0 * alg.e12 + 3 * alg.e34).outercos()
    1.0 + 6.0*e1234
    """
    return _outer_terms(A)[0]


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
    even, odd = _outer_terms(A)
    try:
        return odd * even.inv()
    except (ArgumentError, ZeroDivisionError) as error:
        rule = "a multivector whose outercos has an inverse"
        raise fail("A", "outertan", rule, describe("one whose outercos is singular")) from error


def _outer_terms(A: MV) -> tuple[MV, MV]:
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
