"""ReLU networks of listed neurons, or of all neurons whose hyperplanes are spanned by rows, or by rows and axes.

With the l1 norm, rows and axes suffice for all neurons. On a cell, which these hyperplanes bound, theta^T (X v + b)_+
is linear in (v, b), and with several outputs its norm is convex. So over |v|_1 <= 1 it is largest at a ray of a cell,
which is spanned by D - 1 hyperplanes, by D if there are free biases: the cross product of their normals.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from .check import MOST_OPERATIONS, ZERO, Problem, dot, require, table

THEOREM = (
    "a convex function on a polytope is largest at a vertex, so that the cross products of rows and axes stand for all "
    "neurons (Wang et al., arXiv:2406.02806, section 3.2, with the axes added)"
)


class Columns:
    """The columns (X v + b)_+ of neurons, and their correlations with the dual point."""

    def __init__(self, problem: Problem) -> None:
        self.p, self.rows = problem.p, problem.rows.with_column(Fraction(1)).numerators
        self.theta = list(zip(*problem.theta.numerators, strict=True))
        self.limit = (problem.radius * problem.rows.denominator * problem.theta.denominator) ** 2

    def square(self, plane: Sequence[int]) -> int:
        """Return the squared p-norm of the weights v of a plane (v, b)."""
        v = plane[:-1]
        return sum(map(abs, v)) ** 2 if self.p == 1 else dot(v, v)

    def exceeds(self, plane: Sequence[int], both: bool) -> bool:
        """Tell whether |theta^T (X v + b)_+| > W beta |v|; for (-v, -b), too, if both."""
        margins = [dot(row, plane) for row in self.rows]
        active = [max(0, z) for z in margins]
        on = [dot(column, active) for column in self.theta]
        largest = dot(on, on)
        if both:  # (-z)_+ = (z)_+ - z
            off = [s - dot(column, margins) for column, s in zip(self.theta, on, strict=True)]
            largest = max(largest, dot(off, off))
        return largest > self.limit * self.square(plane)


def family(problem: Problem, stated: dict[str, Any]) -> tuple[Fraction, str, str]:
    """Verify the inequality for listed neurons ("neurons") or all of a dictionary; the conjugate is 0."""
    columns, free = Columns(problem), problem.bias == "free"
    D = len(problem.rows.numerators[0])
    if stated["kind"] == "neurons":
        count = len(stated["planes"]["numerators"])
        for plane in table(stated["planes"], "planes", count, D + 1).numerators:
            require(free or not plane[-1], "a neuron has a bias that no norm charges")
            require(not columns.exceeds(plane, both=False), "a neuron exceeds the dual norm")
        return ZERO, f"all networks of these {count:,} neurons", "weak duality of the group Lasso"
    require(problem.intercept or not free, "free biases need a free intercept")
    require(isinstance(stated["axes"], bool), "it is not stated whether axes span hyperplanes")
    width = D + free
    spanning = [row[:width] for row in columns.rows]
    if stated["axes"]:
        spanning += [[int(i == k) for i in range(width)] for k in range(D)]
    subsets, count = math.comb(len(spanning), width - 1), 0
    operations = subsets * width * (len(columns.rows) + width**3)
    require(operations <= MOST_OPERATIONS, f"{subsets:,} subsets are more than the checker goes through")
    for subset in combinations(spanning, width - 1):
        plane = [(-1) ** i * determinant([[*row[:i], *row[i + 1 :]] for row in subset]) for i in range(width)]
        plane += [0] * (not free)
        if any(plane[:-1]):  # else dependent rows, or a constant neuron, whose value is the sum of theta
            count += 2
            require(not columns.exceeds(plane, both=True), "a hyperplane exceeds the dual norm")
    everything = problem.p == 1 and stated["axes"]
    words = "all networks of any width" if everything else "all networks of neurons that rows span"
    theorem = THEOREM if everything else "weak duality of the group Lasso"
    return ZERO, f"{words} ({count:,} hyperplanes, {subsets:,} subsets)", theorem


def determinant(matrix: Sequence[Sequence[int]]) -> int:
    """Return the determinant by elimination without fractions (Bareiss, Mathematics of Computation 22, 1968)."""
    rows, sign, last = [list(row) for row in matrix], 1, 1
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            rows[k], rows[pivot], sign = rows[pivot], rows[k], -sign
        top = rows[k]
        for row in rows[k + 1 :]:
            row[k + 1 :] = [(a * top[k] - row[k] * b) // last for a, b in zip(row[k + 1 :], top[k + 1 :], strict=True)]
        last = top[k]
    return sign * last
