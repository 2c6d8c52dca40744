"""Projection, rejection and reflection of traced multivectors, and the two planes of a bivector.

The formulas are those of `geometry.projections` and `functions.closed_split`.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from clifford_rand.compiler.scalar import TraceError
from clifford_rand.fusion import analysis

APART = Fraction(1, 100)  # (x1 - x2)² / s² from which B and B∧B alone tell two planes apart


def project(A: Any, B: Any) -> Any:
    """Return (A ⌋ B) B⁻¹."""
    from clifford_rand.geometry.projections import refuse_flats  # not needed by functions that project nothing

    grade, inverse = _inverse_blade(B, "project")
    refuse_flats(A, grade)
    return A.lc(B).lc(inverse)


def reject(A: Any, B: Any) -> Any:
    """Return (A ∧ B) B⁻¹."""
    _, inverse = _inverse_blade(B, "reject")
    return A.wedge(B).rc(inverse)


def reflect(A: Any, B: Any, inside: bool) -> Any:
    """Return (-1)^{rs} B A B⁻¹, or with the mirror B itself (-1)^{r(s+1)} B A B⁻¹."""
    grade, _ = _inverse_blade(B, "reflect")
    return analysis.sandwich(B, A.involute() if (grade + inside) % 2 else A)


def _inverse_blade(B: Any, owner: str) -> tuple[int, Any]:
    """Return the grade and the inverse of a blade; that it is one, and not null, are guards.

    Of grades 2 and d - 2 it is one if it or its complement, a bivector, has B ∧ B = 0; of 0, 1, d - 1 and d always.
    """
    trace, graph, d = B.trace, B.trace.graph, B.algebra.d
    if len(B.grades) != 1:
        raise TraceError(f"it calls {owner} with a multivector of grades {B.grades}, which may be no blade")
    (grade,) = B.grades
    total = analysis.scalar_terms(B)
    if 1 < grade < d - 1:
        if grade not in (2, d - 2):
            raise TraceError(f"it calls {owner} with grade {grade} in {d} dimensions, which may be no blade")
        bivector = B if grade == 2 else B.right_complement()
        tolerance = max(analysis.VERSOR, analysis.ROUNDING * float(np.finfo(trace.precision).eps))
        sizes = [ref if graph.real[abs(ref)] else graph.call("abs", ref) for ref in B.refs]
        limit = graph.mul(graph.constant(tolerance), graph.sum(graph.mul(size, size) for size in sizes))
        for ref in bivector.wedge(bivector).refs:
            trace.need("le", graph.call("abs", ref), limit)
    norm = B.norm_squared().ref
    analysis.guard_divisor(B, norm, total)
    return grade, (~B).times(graph.call("reciprocal", norm))


def split(B: Any) -> tuple[Any, ...]:
    """Return the one or two simple bivectors that B is the sum of, those that turn faster first.

    With s = ⟨B²⟩_0, q = B∧B, t = q² and h = ⟨qB⟩_2 the squares of the two are x1, x2 = (s ± √(s² - t))/2, and they are
    (2 x1 B - h) and (h - 2 x2 B), divided by 2 (x1 - x2). How many there are must not depend on values: that B is
    neither zero nor, for two, simple are guards.
    """
    trace, graph = B.trace, B.trace.graph
    if B.grades != (2,) or not all(graph.real[abs(ref)] for ref in B.refs):
        raise TraceError(
            f"it calls bivector_split with a multivector of grades {B.grades} that may be no real bivector"
        )
    squares = graph.sum(graph.mul(ref, ref) for ref in B.refs)
    q = B.wedge(B)
    if not q.refs:
        trace.need("lt", 0, squares)
        return (B,)
    if B.algebra.d > analysis.SIMPLE:
        raise TraceError(f"it calls bivector_split in {B.algebra.d} dimensions, where there may be three planes")
    tolerance = graph.constant(max(analysis.VERSOR, analysis.ROUNDING * float(np.finfo(trace.precision).eps)))
    size = graph.sum(graph.call("abs", ref) for ref in q.refs)
    trace.need("lt", graph.mul(tolerance, squares), size)
    s = B.product("anticommutator", B).terms.get(0, 0)
    t = q.product("anticommutator", q).terms.get(0, 0)
    h = q.product("anticommutator", B).grade(2)
    square = graph.add(graph.mul(s, s), -t)
    trace.need("lt", graph.mul(graph.constant(APART), graph.mul(s, s)), square)
    root = graph.call("sqrt", square)
    difference = graph.call("where", graph.call("lt", s, 0), -root, root)
    twice = graph.add(s, difference)  # 2 x1; 2 x2 is t / (2 x1)
    factor = graph.call("reciprocal", graph.add(difference, difference))
    other = graph.mul(t, graph.call("reciprocal", twice))
    return (B.times(twice) - h).times(factor), (h - B.times(other)).times(factor)
