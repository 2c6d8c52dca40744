"""Norm, inverse, sandwich and exponential of traced multivectors and scalars, each without a branch.

What the plain functions decide from values is decided here from what vanishes for all arguments. What is left becomes a
guard: a condition that the compiled code checks in every sample, and where it does not hold the plain function is run,
which then finds another way or raises its error.

Functions of scalars take additions, products, roots and roundings, so that a compiler computes several samples at once.
Angles are reduced by multiples of π in three parts, exponents by multiples of ln 2 in two (Cody and Waite, Software
Manual for the Elementary Functions, 1980, chapters 6 and 8); then Taylor polynomials are exact to rounding.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from clifford_rand.compiler.scalar import TracedScalar, TraceError
from clifford_rand.functions.norms import LARGEST_STUDY
from clifford_rand.functions.scaling import safe_range
from clifford_rand.functions.study import inverse_root

VERSOR = 1e-9  # the rest of R ~R relative to its scalar, as in Multivector.sandwich
EXACT = 1e-12  # the same where it enters the result to first order
ROUNDING = 256  # units of rounding that neither is below
SIMPLE = 5  # dimensions up to which R ~R scalar, R even or odd, makes R x ~R a vector
LARGEST_ANGLE = {np.float32: 1e4, np.float64: 1e6}  # that is reduced by π to the rounding of the angle itself
LARGEST_GROWTH = {np.float32: 40.0, np.float64: 300.0}  # exponents of which two together are within range
Pair = tuple[TracedScalar, TracedScalar]

DEGREES = {np.float32: (6, 7, 4), np.float64: (11, 14, 9)}  # terms of sin and cos on [0, π/2], exp, series in s
BITS = {np.float32: 12, np.float64: 30}  # of each part of π and ln 2, so that products with small integers are exact
TINY = {np.float32: 1e-30, np.float64: 1e-300}  # added to squares whose root is divided by: nothing beside 1
PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
LN2 = Fraction("0.693147180559945309417232121458176568075500134360255254120680009493393621969694716")
# The derivative is a difference divided by s: its error is a rounding over s, but it multiplies what is of order s. So
# the first two terms of its series serve where s is so small that the others are nothing.
NEAR = {np.float32: 1e-3, np.float64: 1e-6}
SLOPE = (Fraction(1, 6), Fraction(1, 60))
HALF = Fraction(1, 2)


def cosh_and_sinhc(s: TracedScalar) -> Pair:
    """Return cosh √s and sinh √s / √s: cos and sin of √-s for s < 0, both 1 for s = 0."""
    if s.is_zero:
        return s + 1, s + 1
    if s.trace.graph.whole:
        return s.call("cosh_root"), s.call("sinhc_root")
    if not s.is_real:
        return _complex(s)
    z = (abs(s) + TINY[_kind(s)]).sqrt()
    if s.sign < 0:
        return _cos_and_sinc(z)
    boost = _hyperbolic(s, z)
    if s.sign > 0:
        return boost
    cosine, sinc = _cos_and_sinc(z)
    return np.where(s < 0, cosine, boost[0]), np.where(s < 0, sinc, boost[1])  # type: ignore[return-value]


def sinhc_derivative(s: TracedScalar, C: TracedScalar, S: TracedScalar) -> TracedScalar:
    """Return d/ds (sinh √s / √s) = (C - S) / (2s) from C = cosh √s and S = sinh √s / √s."""
    if s.trace.graph.whole:
        return s.call("sinhc_root_slope")
    near = abs(s) < NEAR[_kind(s)]
    quotient = (C - S) * HALF * (1 / np.where(near, 1, s))
    return np.where(near, polynomial(s, SLOPE), quotient)  # type: ignore[return-value]


def scalar_exponential(z: TracedScalar) -> TracedScalar:
    """Return e^z."""
    if z.trace.graph.whole or not z.is_real:
        return z.call("exp")
    # z = k ln 2 + r with |r| ≤ ln 2 / 2, e^z = 2^k e^r
    k = (z * float(1 / LN2)).call("rint")
    r = _reduced(z, k, LN2, 2)
    return k.call("pow2") * polynomial(r, _inverse_factorials(range(DEGREES[_kind(z)][1])))


def polynomial(x: TracedScalar, coefficients: Iterable[Fraction]) -> TracedScalar:
    """Return Σ c_k x^k by Horner's rule."""
    total = x * 0
    for coefficient in reversed(tuple(coefficients)):
        total = total * x + coefficient
    return total


def _kind(x: TracedScalar) -> Any:
    return x.trace.precision.type


def _inverse_factorials(orders: Iterable[int]) -> list[Fraction]:
    return [Fraction(1, math.factorial(j)) for j in orders]


def _reduced(z: TracedScalar, k: TracedScalar, unit: Fraction, parts: int) -> TracedScalar:
    """Return z - k · unit, the unit in parts of few bits."""
    bits, rest = BITS[_kind(z)], unit
    for part in range(parts):
        scale = Fraction(2) ** (bits * (part + 1))
        head = Fraction(round(rest * scale)) / scale if part < parts - 1 else Fraction(float(rest))
        z = z - k * head
        rest -= head
    return z


def _cos_and_sinc(z: TracedScalar) -> Pair:
    """Return cos z and sin z / z for z > 0."""
    # z = k π + r with |r| ≤ π/2: cos z = (-1)^k cos r, sin z = (-1)^k sin r
    k = (z * float(1 / PI)).call("rint")
    r = _reduced(z, k, PI, 3)
    odd = k - (k * HALF).call("floor") * 2
    sign = 1 - odd * 2
    square, terms = r * r, DEGREES[_kind(z)][0]
    sine = polynomial(square, [Fraction((-1) ** j, math.factorial(2 * j + 1)) for j in range(terms)])
    cosine = polynomial(square, [Fraction((-1) ** j, math.factorial(2 * j)) for j in range(terms)])
    return sign * cosine, sign * r * (1 / z) * sine


def _hyperbolic(s: TracedScalar, z: TracedScalar) -> Pair:
    """Return cosh z and sinh z / z for z = √s > 0, the latter by its series where s is small."""
    large = scalar_exponential(z)
    shrunk = 1 / large
    series = polynomial(s, _inverse_factorials(range(1, 2 * DEGREES[_kind(s)][2] + 2, 2)))
    sinhc: Any = np.where(s < 1, series, (large - shrunk) * HALF * (1 / z))
    return (large + shrunk) * HALF, sinhc


def _complex(s: TracedScalar) -> Pair:
    z, near = s.sqrt(), abs(s) < 1
    series = polynomial(s, _inverse_factorials(range(1, 2 * DEGREES[np.float64][2] + 2, 2)))
    safe = np.where(near, 1, z)
    return z.call("cosh"), np.where(near, series, np.sinh(safe) * (1 / safe))  # type: ignore[return-value]


def norm(A: Any) -> TracedScalar:
    """Return √|⟨A ~A⟩_0|."""
    _guard_range(A)
    return abs(A.norm_squared()).sqrt()


def normalized(A: Any) -> Any:
    """Return (A ~A)^{-1/2} A for even and odd A with A ~A = s + q, q² = t < s²; else A / √|⟨A ~A⟩_0|."""
    square = A.norm_squared()
    if square.is_zero:
        raise TraceError("it normalizes a multivector whose norm is zero")
    guard_divisor(A, square, scalar_terms(A))
    product = A * ~A if len(A.refs) <= LARGEST_STUDY else A.of({})
    q = product.part(tuple(k for k in product.grades if k and k % 4 == 0))
    if not q.refs:
        return A * (1 / abs(square).sqrt())
    if product.part(tuple(k for k in product.grades if k % 4 == 1)).refs:
        raise TraceError("it normalizes a multivector of even and odd grades, and values decide how")
    s, q, t = _split_square(q + product.grade(0), "its norm")
    A.trace.require(EXACT * (s * s) < s * s - t)
    x, y = inverse_root(np, s, t)
    return (q * y + x) * A


def inverse(A: Any) -> Any:
    """Return A⁻¹ = ~A N⁻¹ for N = A ~A = s + q with q² a scalar t: N⁻¹ = (s - q) / (s² - t)."""
    reverse, terms = ~A, scalar_terms(A)
    s, q, t = _split_square(A * reverse, "its inverse")
    divisor, result = s, reverse
    if q.refs:
        divisor, result, terms = s * s - t, reverse * (s - q), terms * terms
    guard_divisor(A, divisor, terms)
    return result * (1 / divisor)


def sandwich(R: Any, X: Any) -> Any:
    """Return R X R⁻¹ = R X ~R / ⟨R ~R⟩_0 for a versor R, of the grades of X; that R is one is a guard.

    With R ~R = n + q it is R X ~R (n - q) / n² to second order in q.
    """
    trace, d, X = R.trace, R.algebra.d, R.operand(X, "sandwich")
    parities = {k % 2 for k in R.grades}
    if len(parities) != 1 or (d > SIMPLE and max(R.grades) > 2):
        raise TraceError("it has R >> X for an R that may be no versor; write R * X * R.inv()")
    square = R * ~R
    n, rest = square["1"], square.part(tuple(k for k in square.grades if k))
    guard_divisor(R, n, scalar_terms(R))
    product = R * X * ~R
    if rest.refs:
        changes = (product * rest).part(X.grades).refs
        size = max(EXACT if changes else VERSOR, rounding(trace.precision)) * abs(n)
        for part in rest.scalars():
            trace.require(abs(part) <= size)
    return product.part(X.grades) * (1 / n)


def exponential(A: Any) -> Any:
    """Return exp(A): σ + B with B² = s + q, q² a scalar t; q commutes with B."""
    trace, kind = A.trace, A.trace.precision.type
    sigma, B = A["1"], A.part(tuple(k for k in A.grades if k))
    s, q, t = _split_square(B * B, "its exponential")
    size = abs(s) if t.is_zero else abs(s) + abs(t).sqrt()
    turns = s.is_real and s.sign < 0  # in all its planes
    trace.require(size < (LARGEST_ANGLE if turns else LARGEST_GROWTH)[kind] ** 2)
    if not q.refs:  # one plane: C + S B
        C, S = cosh_and_sinhc(s)
        result = B * S + C
    elif t.is_zero:  # q² = 0: to first order in q, f(s + q) = f(s) + f'(s) q, and C' = S/2
        C, S = cosh_and_sinhc(s)
        result = B * S + C + q * (HALF * S) + (q * B) * sinhc_derivative(s, C, S)
    else:
        result = _of_two_planes(B, s, q, t)
    if not sigma.is_zero:
        trace.require(abs(sigma) < LARGEST_GROWTH[kind])
        result = result * scalar_exponential(sigma)
    return result


def _of_two_planes(B: Any, s: TracedScalar, q: Any, t: TracedScalar) -> Any:
    """Return C(P)C(M) + ½S(P)S(M) q + S₀ B + S₁ qB for P + M = s, 4PM = t: the squares of the two planes of B.

    C = cosh √, S = sinh √/√; S₁ = (C(P)S(M) - S(P)C(M)) / (2(P - M)), S₀ = ½(S(P)C(M) + C(P)S(M)) - s S₁; where P and
    M are close, S₁ is the divided difference (S(x₊) - S(x₋)) / (x₊ - x₋) of x± = s ± √t, and where both are small the
    first terms of its series.
    """
    trace, algebra = B.trace, B.algebra
    p, negative, _ = algebra.form.counts
    if B.grades != (2,) or not algebra.form.is_numeric or (p >= 2 and negative >= 2) or not s.is_real:
        raise TraceError("it has the exponential of a multivector whose planes may be complex")
    if trace.graph.whole:
        raise TraceError("it has the exponential of two planes, which does not differentiate where they meet")
    delta = abs(s * s - t).sqrt()  # real planes: a negative discriminant is round-off
    falls = s < 0
    first: Any = HALF * (s + np.where(falls, -delta, delta))  # the larger in size
    second: Any = Fraction(1, 4) * t * (1 / np.where(first == 0, 1, first))
    # P ≥ M, and at most one plane is hyperbolic: M ≤ 0, and P ≤ 0 where no vector squares to another sign
    P: Any = np.where(falls, second, first)
    M: Any = -abs(np.where(falls, first, second))
    if t.sign < 0:
        P = abs(P)
    elif not p or not negative:
        P = -abs(P)
    CP, SP = cosh_and_sinhc(P)
    CM, SM = cosh_and_sinhc(M)
    apart, rho = P - M, abs(t).sqrt()
    difference: Any = CP * SM - SP * CM
    divisor: Any = apart
    if t.sign >= 0:  # x± are far apart where two planes turn alike
        alike = (t > 0) & (apart < rho)
        plus, minus = (cosh_and_sinhc(-abs(s + root))[1] for root in (rho, -rho))
        difference, divisor = np.where(alike, plus - minus, difference), np.where(alike, rho, apart)
    small = abs(s) + rho < NEAR[trace.precision.type]
    quotient = HALF * difference * (1 / np.where(small, 1, divisor))
    S1 = np.where(small, polynomial(s, SLOPE), quotient)
    S0 = HALF * (SP * CM + CP * SM) - s * S1  # symmetric in P and M, whose difference has lost digits where it is small
    return B * S0 + CP * CM + q * (HALF * SP * SM) + (q * B) * S1


def cosh(A: Any) -> Any:
    """Return (exp A + exp(-A))/2, in which equal terms are one."""
    return (A.exp() + (-A).exp()) * 0.5


def sinh(A: Any) -> Any:
    """Return (exp A - exp(-A))/2, in which equal terms cancel."""
    return (A.exp() - (-A).exp()) * 0.5


def tanh(A: Any) -> Any:
    """Return sinh(A) cosh(A)⁻¹."""
    return A.sinh() * A.cosh().inv()


def outer_exponential(A: Any) -> Any:
    """Return Σ A^∧k / k!."""
    return outer_cosine(A) + outer_sine(A)


def outer_sine(A: Any) -> Any:
    """Return the odd terms of the outer exponential."""
    return _outer_series(A)[1]


def outer_cosine(A: Any) -> Any:
    """Return the even terms of the outer exponential."""
    return _outer_series(A)[0]


def outer_tangent(A: Any) -> Any:
    """Return the product of the outer sine and the inverse of the outer cosine."""
    even, odd = _outer_series(A)
    return odd * even.inv()


def _outer_series(A: Any) -> tuple[Any, Any]:
    """Return the even and the odd terms of Σ A^∧k / k!, which ends where A has no scalar part."""
    if 0 in A.grades:
        raise TraceError("it has the outer exponential of a multivector with a scalar part, a series that does not end")
    parts = [A.of({}) + 1, A.of({})]
    power, k = parts[0], 0
    while power.refs:  # power = A^∧k / k!
        k += 1
        power = power.wedge(A) * Fraction(1, k)
        parts[k % 2] = parts[k % 2] + power
    return parts[0], parts[1]


# ---- guards and parts


def _split_square(square: Any, what: str) -> tuple[TracedScalar, Any, TracedScalar]:
    """Return s, q and t of N = s + q with q² = t, for which there are closed forms."""
    q = square.part(tuple(k for k in square.grades if k))
    second = q * q
    if any(second.grades):
        raise TraceError(f"it has a multivector of grades {square.grades} in {what}, which has no closed form here")
    return square["1"], q, second["1"]


def rounding(precision: np.dtype) -> float:
    """Return the relative size below which a part is round-off."""
    return ROUNDING * float(np.finfo(precision).eps)


def scalar_terms(A: Any) -> TracedScalar:
    """Return Σ |w_S| a_S², the sum of the absolute terms of ⟨A ~A⟩_0 in an orthogonal basis."""
    form = A.algebra.form
    weights = [1] * len(A.refs) if form.diagonal is None else form.weight(A.keys.masks).tolist()
    sizes = [a if a.is_real else abs(a) for a in A.scalars()]
    return sum((abs(w) * (a * a) for w, a in zip(weights, sizes, strict=True) if w), start=A.scalar(0))


def _guard_range(A: Any) -> None:
    """Demand that no square over- or underflows; a multivector that is zero may."""
    terms = scalar_terms(A)
    if terms.is_zero:
        return
    low, high = safe_range(A.trace.precision)
    total = sum(map(abs, A.scalars()), start=A.scalar(0))
    A.trace.require((terms > low) | (total == 0))
    A.trace.require(terms < high)


def guard_divisor(A: Any, divisor: TracedScalar, terms: TracedScalar) -> None:
    """Demand a divisor within range that is more than round-off of its terms."""
    trace = A.trace
    if divisor.is_zero:
        raise TraceError("it divides by a multivector that has no inverse")
    size = abs(divisor)
    low, high = safe_range(trace.precision)
    trace.require(size > low)
    trace.require(size < high)
    if terms.ref != size.ref:
        trace.require(8 * float(np.finfo(trace.precision).eps) * len(A.refs) * terms < size)
