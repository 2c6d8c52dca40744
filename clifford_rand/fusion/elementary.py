"""cosh √s, sinh √s / √s and its derivative as nodes of a graph, for s of either sign and without a branch.

Only additions, products, roots and roundings, so that a compiler computes several samples at once. Angles are
reduced by multiples of π in three parts, exponents by multiples of ln 2 in two (W. J. Cody and W. Waite, Software
Manual for the Elementary Functions, 1980, chapters 6 and 8); what is left goes into the Taylor polynomial, whose first
omitted term is below the rounding.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from clifford_rand.compiler.graph import Graph

DEGREES = {np.float32: (6, 7, 4), np.float64: (11, 14, 9)}  # terms of sin and cos on [0, π/2], exp, series in s
BITS = {np.float32: 12, np.float64: 30}  # of each part of π and ln 2, so that products with small integers are exact
TINY = {np.float32: 1e-30, np.float64: 1e-300}  # added to squares whose root is divided by: nothing beside 1
PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
LN2 = Fraction("0.693147180559945309417232121458176568075500134360255254120680009493393621969694716")
# The derivative is a difference divided by s: its error is a rounding over s, but it multiplies what is of order s. So
# the first two terms of its series serve where s is so small that the others are nothing.
NEAR = {np.float32: 1e-3, np.float64: 1e-6}
SLOPE = [Fraction(1, 6), Fraction(1, 60)]


def cosh_and_sinhc(graph: Graph, s: int, precision: np.dtype) -> tuple[int, int]:
    """Return cosh √s and sinh √s / √s: cos and sin of √-s for s < 0, both 1 for s = 0."""
    kind: Any = precision.type
    if not s:
        return graph.constant(1), graph.constant(1)
    if graph.whole:
        return graph.call("cosh_root", s), graph.call("sinhc_root", s)
    if not graph.real[abs(s)]:
        return _complex(graph, s)
    z = graph.call("sqrt", graph.add(graph.call("abs", s), graph.constant(TINY[kind])))
    sign = graph.sign_of(s)
    turn = None if sign > 0 else _cos_and_sinc(graph, z, kind)
    if sign < 0 and turn:
        return turn
    boost = _hyperbolic(graph, s, z, kind)
    if turn is None:
        return boost
    negative = graph.call("lt", s, 0)
    return graph.call("where", negative, turn[0], boost[0]), graph.call("where", negative, turn[1], boost[1])


def sinhc_derivative(graph: Graph, s: int, C: int, S: int, precision: np.dtype) -> int:
    """Return d/ds (sinh √s / √s) = (C - S) / (2s) from C = cosh √s and S = sinh √s / √s."""
    if graph.whole:
        return graph.call("sinhc_root_slope", s)
    series = polynomial(graph, s, SLOPE)
    near = graph.call("lt", graph.call("abs", s), graph.constant(NEAR[precision.type]))
    safe = graph.call("where", near, graph.constant(1), s)
    quotient = graph.mul(graph.mul(graph.constant(Fraction(1, 2)), graph.add(C, -S)), graph.call("reciprocal", safe))
    return graph.call("where", near, series, quotient)


def grown(graph: Graph, z: int, precision: np.dtype) -> int:
    """Return e^z."""
    if graph.whole or not graph.real[abs(z)]:
        return graph.call("exp", z)
    kind: Any = precision.type
    k = graph.call("rint", graph.mul(z, graph.constant(float(1 / LN2))))
    r = _reduced(graph, z, k, LN2, kind, 2)
    terms = DEGREES[kind][1]
    return graph.mul(
        graph.call("pow2", k), polynomial(graph, r, [Fraction(1, math.factorial(j)) for j in range(terms)])
    )


def polynomial(graph: Graph, x: int, coefficients: list[Fraction]) -> int:
    """Return Σ c_k x^k by Horner's rule."""
    total = 0
    for coefficient in reversed(coefficients):
        total = graph.add(graph.mul(total, x), graph.constant(coefficient))
    return total


def _reduced(graph: Graph, z: int, k: int, unit: Fraction, kind: Any, parts: int) -> int:
    """Return z - k · unit, the unit in parts of few bits."""
    rest = unit
    for part in range(parts):
        scale = Fraction(2) ** (BITS[kind] * (part + 1))
        head = Fraction(round(rest * scale)) / scale if part < parts - 1 else Fraction(float(rest))
        z = graph.add(z, -graph.mul(k, graph.constant(head)))
        rest -= head
    return z


def _cos_and_sinc(graph: Graph, z: int, kind: Any) -> tuple[int, int]:
    """Return cos z and sin z / z for z > 0."""
    k = graph.call("rint", graph.mul(z, graph.constant(float(1 / PI))))
    r = _reduced(graph, z, k, PI, kind, 3)
    odd = graph.add(k, -graph.mul(graph.constant(2), graph.call("floor", graph.mul(k, graph.constant(Fraction(1, 2))))))
    sign = graph.add(graph.constant(1), -graph.mul(graph.constant(2), odd))
    square, terms = graph.mul(r, r), DEGREES[kind][0]
    sine = polynomial(graph, square, [Fraction((-1) ** j, math.factorial(2 * j + 1)) for j in range(terms)])
    cosine = polynomial(graph, square, [Fraction((-1) ** j, math.factorial(2 * j)) for j in range(terms)])
    ratio = graph.mul(graph.mul(sign, r), graph.call("reciprocal", z))
    return graph.mul(sign, cosine), graph.mul(ratio, sine)


def _hyperbolic(graph: Graph, s: int, z: int, kind: Any) -> tuple[int, int]:
    """Return cosh z and sinh z / z for z = √s > 0, the latter by its series where s is small."""
    large = grown(graph, z, np.dtype(kind))
    shrunk = graph.call("reciprocal", large)
    half = graph.constant(Fraction(1, 2))
    count = DEGREES[kind][2]
    series = polynomial(graph, s, [Fraction(1, math.factorial(2 * j + 1)) for j in range(count + 1)])
    quotient = graph.mul(graph.mul(half, graph.add(large, -shrunk)), graph.call("reciprocal", z))
    near = graph.call("lt", s, graph.constant(1))
    return graph.mul(half, graph.add(large, shrunk)), graph.call("where", near, series, quotient)


def _complex(graph: Graph, s: int) -> tuple[int, int]:
    z = graph.call("sqrt", s)
    near = graph.call("lt", graph.call("abs", s), graph.constant(1))
    series = polynomial(graph, s, [Fraction(1, math.factorial(2 * j + 1)) for j in range(DEGREES[np.float64][2] + 1)])
    safe = graph.call("where", near, graph.constant(1), z)
    quotient = graph.mul(graph.call("sinh", safe), graph.call("reciprocal", safe))
    return graph.call("cosh", z), graph.call("where", near, series, quotient)
