"""cosh √s, sinh √s / √s and its derivative as terms of a traced function, for s of either sign and without a branch.

Only additions, products, roots and roundings, so that a compiler computes several samples at once. Angles are
reduced by multiples of π in three parts, exponents by multiples of ln 2 in two (W. J. Cody and W. Waite, Software
Manual for the Elementary Functions, 1980, chapters 6 and 8); what is left goes into the Taylor polynomial, whose first
omitted term is below the rounding.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from clifford_rand.compiler.scalar import TracedScalar

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


def exponential(z: TracedScalar) -> TracedScalar:
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
    large = exponential(z)
    shrunk = 1 / large
    series = polynomial(s, _inverse_factorials(range(1, 2 * DEGREES[_kind(s)][2] + 2, 2)))
    sinhc: Any = np.where(s < 1, series, (large - shrunk) * HALF * (1 / z))
    return (large + shrunk) * HALF, sinhc


def _complex(s: TracedScalar) -> Pair:
    z, near = s.sqrt(), abs(s) < 1
    series = polynomial(s, _inverse_factorials(range(1, 2 * DEGREES[np.float64][2] + 2, 2)))
    safe = np.where(near, 1, z)
    return z.call("cosh"), np.where(near, series, np.sinh(safe) * (1 / safe))  # type: ignore[return-value]
