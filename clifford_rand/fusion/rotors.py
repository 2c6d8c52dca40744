"""Logarithm and square root of traced rotors in at most five dimensions, without a branch and without an angle.

R = S + B with S = s + Q, a Study number: Q is of grade 4 and Q² = t. log R = f(S) B with f(x) = arcosh x / √(x² - 1),
and √R = (n + R) / √(2 (n + S)) for R ~R = n². By f(x) = f(c)/c with c = √((1 + x)/2) the argument comes near 1, where
f is a series. Pairs (x, y) are x + y Q.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from clifford_rand.compiler.scalar import TraceError
from clifford_rand.fusion.analysis import EXACT, SIMPLE, scalar_terms

Pair = tuple[int, int]

HALVINGS = 6  # of the argument: turns by 310°, boosts up to e^20
NEAR_ONE = 0.04  # |1 - x|/2 up to which the series serves: the terms left out are below 1e-17
SERIES = tuple(Fraction(4**k * math.factorial(k) ** 2, math.factorial(2 * k + 1)) for k in range(13))
LOWEST = -0.9  # S / n from which on n + S is more than rounding
LEAST = 1e-12  # (n + S) / n: half an angle within 1e-6 of π, where two logarithms meet
UNIT = 64  # units of rounding, relative to Σ R_i², within which R ~R is 1


def logarithm(R: Any) -> Any:
    """Return log R = f(S) B for R ~R = 1, which is a guard."""
    study = _Study(R, "its logarithm")
    graph, trace = R.trace.graph, R.trace
    one = graph.constant(1)
    eps = float(np.finfo(trace.precision).eps)
    away = graph.call("abs", graph.add(study.norm, -one))
    trace.need("le", away, graph.mul(graph.constant(UNIT * eps), scalar_terms(R)))
    first = study.above(one)
    product = x = study.root(study.half(first[0]), study.half(first[1]))
    for _ in range(HALVINGS - 1):
        x = study.root(study.half(graph.add(one, x[0])), study.half(x[1]))
        product = study.times(product, x)
    far = graph.call("abs", graph.add(one, -x[0]))
    if x[1]:
        far = graph.add(far, graph.mul(graph.call("abs", x[1]), study.size))
    trace.need("le", far, graph.constant(2 * NEAR_ONE))
    w = (study.half(graph.add(one, -x[0])), study.half(-x[1]))
    total: Pair = (0, 0)
    for coefficient in reversed(SERIES):
        total = study.times(total, w)
        total = (graph.add(total[0], graph.constant(coefficient)), total[1])
    f = study.over(total, product)
    return study.B.times(f[0]) + study.Q.product("anticommutator", study.B).grade(2).times(f[1])


def square_root(R: Any) -> Any:
    """Return √R = (n + R) / √(2 (n + S))."""
    study = _Study(R, "its square root")
    graph = R.trace.graph
    n = graph.call("sqrt", study.norm)
    first = study.above(n)
    root = study.root(graph.add(first[0], first[0]), graph.add(first[1], first[1]))
    inverse = study.over((graph.constant(1), 0), root)
    return (R + R.scalar(n)) * (study.Q.times(inverse[1]) + R.scalar(inverse[0]))


class _Study:
    """The parts s, B, Q of a rotor, n² = R ~R and t = Q² (None without Q), and arithmetic of numbers x + y Q."""

    def __init__(self, R: Any, what: str) -> None:
        graph = R.trace.graph
        if R.algebra.d > SIMPLE or any(k % 2 for k in R.grades) or not all(graph.real[abs(ref)] for ref in R.refs):
            raise TraceError(f"it has a multivector of grades {R.grades} in {what}, which has no closed form here")
        self.R, self.graph = R, graph
        self.s, self.B, self.Q = R.terms.get(0, 0), R.grade(2), R.grade(4) if R.algebra.d > 3 else R.of({})
        square = (R * ~R).terms
        self.norm = square.pop(0, 0)
        if not self.norm:
            raise TraceError(f"it has a multivector without inverse in {what}")
        size = graph.mul(graph.constant(max(EXACT, 256 * float(np.finfo(R.trace.precision).eps))), self.norm)
        R.trace.need("lt", 0, self.norm)
        for ref in square.values():
            R.trace.need("le", graph.call("abs", ref), size)
        self.t = (self.Q * self.Q).terms.get(0, 0) if self.Q.refs else None
        self.size = graph.call("sqrt", graph.call("abs", self.t)) if self.t else 0

    def above(self, n: int) -> Pair:
        """Return n + S, with a guard that it is not rounding.

        Near S = -n it is B² / (S - n), to the precision of B. With two planes only one of them may be there, and B² is
        then a difference itself.
        """
        graph, q = self.graph, self.graph.constant(1) if self.t is not None else 0
        direct = graph.add(n, self.s)
        if self.t:
            lowest = graph.mul(graph.constant(LOWEST), n)
            self.R.trace.need("lt", lowest, graph.add(self.s, -self.size))
            return direct, q
        low = graph.call("lt", self.s, 0)
        square = (self.B * self.B).terms.get(0, 0)
        divisor = graph.call("where", low, graph.add(self.s, -n), n)
        quotient = self.over((square, graph.mul(graph.add(self.s, self.s), q)), (divisor, q))
        total = graph.call("where", low, quotient[0], direct)
        self.R.trace.need("lt", graph.mul(graph.constant(LEAST), n), total)
        return total, graph.call("where", low, quotient[1], q)

    def half(self, ref: int) -> int:
        """Return x/2."""
        return self.graph.mul(self.graph.constant(Fraction(1, 2)), ref)

    def times(self, a: Pair, b: Pair) -> Pair:
        """Return the product."""
        add, mul = self.graph.add, self.graph.mul
        return (
            add(mul(a[0], b[0]), mul(mul(a[1], b[1]), self.t or 0)),
            add(mul(a[0], b[1]), mul(a[1], b[0])),
        )

    def root(self, a: int, b: int) -> Pair:
        """Return √(a + b Q) of positive real part, c + e Q with 2c² = a + √(a² - b² t) and e = b/2c."""
        graph = self.graph
        if b and self.t:
            inner = graph.add(graph.mul(a, a), -graph.mul(graph.mul(b, b), self.t))
            a = self.half(graph.add(a, graph.call("sqrt", inner)))
        c = graph.call("sqrt", a)
        return c, graph.mul(b, graph.call("reciprocal", graph.add(c, c))) if b else 0

    def over(self, a: Pair, b: Pair) -> Pair:
        """Return the quotient."""
        graph = self.graph
        n = graph.add(graph.mul(b[0], b[0]), -graph.mul(graph.mul(b[1], b[1]), self.t or 0))
        inverse = graph.call("reciprocal", n)
        top = self.times(a, (b[0], -b[1]))
        return graph.mul(top[0], inverse), graph.mul(top[1], inverse)
