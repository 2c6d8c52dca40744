"""Logarithm and square root of traced rotors in at most five dimensions, by the closed forms of `functions.study`.

R = n (S + B) with S = s + Q, a Study number: Q is of grade 4 and Q² = t. log R = f(S) B for n = 1, √R = √n (c + g B).
What the plain functions decide from values is a guard here, which the compiled code checks in every sample.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from clifford_rand.compiler.scalar import TracedScalar, TraceError
from clifford_rand.functions.study import angle_and_half
from clifford_rand.fusion.analysis import EXACT, SIMPLE, scalar_terms

ELEMENTARY = SimpleNamespace(sqrt=np.sqrt, where=np.where)  # of traced scalars, which NumPy's functions trace
LARGEST = 1e30  # |S| of a boost by 70, which the halvings of the argument bring near 1
LOWEST = -0.9  # S from which on 1 + S is more than rounding where there are two planes
LEAST = 1e-12  # 1 + S: half an angle within 1e-6 of π, where two logarithms meet
UNIT = 64  # units of rounding, relative to Σ R_i², within which R ~R is 1


def logarithm(R: Any) -> Any:
    """Return log R = f(S) B for R ~R = 1, which is a guard."""
    norm, B, Q, (f0, f1, *_) = _angle_and_half(R, "its logarithm", unit=True)
    trace, graph = R.trace, R.trace.graph
    away = graph.call("abs", graph.add(norm.ref, -graph.constant(1)))
    trace.need("le", away, graph.mul(graph.constant(UNIT * float(np.finfo(trace.precision).eps)), scalar_terms(R)))
    return _times_study(B, f0, Q, f1)


def square_root(R: Any) -> Any:
    """Return √R = √n (c + g B), c = √((1 + S)/2) and g = 1/(2c)."""
    norm, B, Q, (_, _, c0, c1, g0, g1) = _angle_and_half(R, "its square root", unit=False)
    root = Q.times(_ref(R, c1)) + R.scalar(_ref(R, c0)) + _times_study(B, g0, Q, g1)
    return root.times(_ref(R, norm.sqrt().sqrt()))


def _angle_and_half(R: Any, what: str, *, unit: bool) -> tuple[TracedScalar, Any, Any, tuple[Any, ...]]:
    """Return n² = R ~R, B and Q of R/n, and the values of `functions.study.angle_and_half`, with their guards."""
    trace, graph = R.trace, R.trace.graph
    if R.algebra.d > SIMPLE or any(k % 2 for k in R.grades) or not all(graph.real[abs(ref)] for ref in R.refs):
        raise TraceError(f"it has a multivector of grades {R.grades} in {what}, which has no closed form here")
    square = (R * ~R).terms
    norm = R.scalar(square.pop(0, 0))
    if not norm.ref:
        raise TraceError(f"it has a multivector without inverse in {what}")
    trace.need("lt", 0, norm.ref)
    size = graph.mul(graph.constant(max(EXACT, 256 * float(np.finfo(trace.precision).eps))), norm.ref)
    for ref in square.values():
        trace.need("le", graph.call("abs", ref), size)
    if not unit:
        R = R.times(_ref(R, 1 / norm.sqrt()))
    s, B, Q = R["1"], R.grade(2), R.grade(4) if R.algebra.d > 3 else R.of({})
    t = R.scalar((Q * Q).terms.get(0, 0))
    X = R.scalar((B * B).terms.get(0, 0))
    # near S = -1, 1 + S is B²/(S - 1) to the precision of B, unless that is a difference of two planes itself
    apart = abs(t).sqrt() if t.ref else R.scalar(0)
    if t.ref:
        trace.need("lt", graph.constant(LOWEST), (s - apart).ref)
    above = np.where(s < 0, X / (s - 1), 1 + s)
    trace.need("lt", graph.constant(LEAST), above.ref)
    trace.need("lt", (abs(s) + apart).ref, graph.constant(LARGEST))
    return norm, B, Q, angle_and_half(ELEMENTARY, s, X, t if t.ref else 0, "study")


def _ref(R: Any, x: Any) -> int:
    """Return the node of a traced scalar, or of a number."""
    return int(R.trace.scalar(x).ref)


def _times_study(B: Any, x: Any, Q: Any, y: Any) -> Any:
    """Return (x + y Q) B, of grade 2."""
    return B.times(_ref(B, x)) + Q.product("anticommutator", B).grade(2).times(_ref(B, y))
