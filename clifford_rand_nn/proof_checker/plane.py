"""ReLU networks on rows with one or two columns, against all neurons there are: a sweep over all directions.

Lines through the origin, orthogonal to rows x_i, and the axes cut the plane of directions u into sectors. On a sector
with rays a and b the active rows are the same, so that theta^T (X u)_+ = M u with the (C, 2) matrix M, the sum of
theta_i x_i^T over active rows. At a ray M loses or gains the term of the row that it is orthogonal to.

* Norm l2: |M u|^2 <= r^2 |u|^2 for all u = s a + t b with s, t >= 0. With Q = r^2 I - M^T M that is the copositivity of
  the matrix of a^T Q a, a^T Q b and b^T Q b, which are integers.
* Norm l1: |M u| is convex and |u|_1 linear on a sector, so that the inequality at the rays is enough.

With free biases b the correlation theta^T (X u + b)_+ of a direction u is piecewise linear in b. It is 0 below the
pieces, and constant above them as theta sums to zero. So its norm is largest where X u + b is 0 at some row m, which
moves the origin to this row: x_i becomes x_i - x_m.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from .check import MOST_OPERATIONS, ZERO, Problem, dot, require

THEOREM = (
    "on a cell of the arrangement of the rows' hyperplanes a ReLU neuron is linear (Pilanci and Ergen, ICML 2020), and "
    "a quadratic form on a sector is decided by its 2 x 2 matrix (Hadeler, Linear Algebra Appl. 49, 1983)"
)

Pair = tuple[int, int]
Turn = tuple[Pair, Pair, Sequence[int]]  # a ray, and the term of M that ends there: a row and its theta


def family(problem: Problem, stated: dict[str, Any]) -> tuple[Fraction, str, str]:
    """Verify the inequality for all neurons; the conjugate is 0."""
    free = problem.bias == "free"
    require(problem.intercept or not free, "free biases need a free intercept")
    require(problem.penalty in ("l1", "l2"), "the penalty of neurons is a norm")
    require(len(problem.rows.numerators[0]) <= 2, "the rows have more than two columns")
    rows = [(row[0], row[1] if len(row) > 1 else 0) for row in problem.rows.numerators]
    limit = math.floor((problem.radius * problem.rows.denominator * problem.theta.denominator) ** 2)  # r^2, or below
    count, origins = 0, sorted(set(rows)) if free else [(0, 0)]
    require(len(origins) * len(rows) <= MOST_OPERATIONS // 1000, "the rows are more than the checker goes through")
    for px, py in origins:
        moved = [(x - px, y - py) for x, y in rows]
        count += swept(moved, problem.theta.numerators, limit, problem.p)
    return ZERO, f"all networks of any width ({count:,} sectors of directions)", THEOREM


def swept(rows: Sequence[Pair], theta: Sequence[Sequence[int]], limit: int, p: int) -> int:
    """Verify the inequality, with r^2 = limit, for neurons without biases; return the number of sectors."""
    start = [(0, 0)] * len(theta[0])  # M just before the ray (1, 0)
    whole = [(0, 0)] * len(theta[0])  # M if all rows were active: M less that of u is that of -u
    turns: list[Turn] = [(axis, (0, 0), theta[0]) for axis in ((1, 0), (0, 1))]
    for (x, y), goal in zip(rows, theta, strict=True):
        whole = [(m0 + t * x, m1 + t * y) for (m0, m1), t in zip(whole, goal, strict=True)]
        if x > 0 or (x == 0 and y < 0):
            start = [(m0 + t * x, m1 + t * y) for (m0, m1), t in zip(start, goal, strict=True)]
            turns.append(((-y, x), (x, y), goal))
        elif x or y:
            turns.append(((y, -x), (-x, -y), goal))
    turns.sort(key=cmp_to_key(clockwise))  # from angle 0 to 180
    count, M = 0, start
    for (a, (x, y), goal), (b, _, _) in pairwise([*turns, ((-1, 0), (0, 0), theta[0])]):
        M = [(m0 - t * x, m1 - t * y) for (m0, m1), t in zip(M, goal, strict=True)]
        if a[0] * b[1] != a[1] * b[0]:
            opposite = [(w0 - m0, w1 - m1) for (w0, w1), (m0, m1) in zip(whole, M, strict=True)]
            require(holds(M, a, b, limit, p) and holds(opposite, a, b, limit, p), "a neuron exceeds the dual norm")
            count += 2
    return count


def clockwise(first: Turn, second: Turn) -> int:
    """Return a negative number if the first ray has the smaller angle, both in [0, 180) degrees."""
    (a, b), (c, d) = first[0], second[0]
    return b * c - a * d


def holds(M: Sequence[Pair], a: Pair, b: Pair, limit: int, p: int) -> bool:
    """Tell whether |M u|_2^2 <= limit |u|_p^2 for all u between the rays a and b."""
    at_a, at_b = ([m0 * x + m1 * y for m0, m1 in M] for x, y in (a, b))
    if p == 1:
        return all(dot(z, z) <= limit * (abs(x) + abs(y)) ** 2 for z, (x, y) in ((at_a, a), (at_b, b)))
    pairs = (a, a, at_a, at_a), (a, b, at_a, at_b), (b, b, at_b, at_b)
    aa, ab, bb = (limit * dot(u, v) - dot(y, z) for u, v, y, z in pairs)
    return aa >= 0 and bb >= 0 and (ab >= 0 or ab * ab <= aa * bb)
