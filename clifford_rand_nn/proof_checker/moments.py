"""ReLU networks in any number of columns, against all neurons there are: a quadratic bound of what a neuron adds up.

For a direction u of a ball and z = x.u of a row x, numbers p, q, c are stated with t (z)_+ <= c + p z + q z^2, where t
is the row's theta, for one output and one sign. If q > 0 it holds for all z where neither c + p z + q z^2 nor
c + (p - t) z + q z^2 has two roots, 4 q c >= p^2 and 4 q c >= (p - t)^2. If q <= 0 the difference is concave on both
sides of 0; with c = 0 it is enough that it is not negative at the largest |z|, where -q |z| <= -p and -q |z| <= p - t.

So theta^T (X u)_+ <= k + l.u + u^T Q u with k = sum c, l = sum p x and Q = sum q x x^T. On the ball, where
sum_k u_k^2 / g_k <= s, this is at most R if the form [[diag(lambda / g) - Q, -l / 2], [-l^T / 2, R - k - s lambda]] is
nowhere negative, lambda >= 0. Bounds of several outputs are squared and added up.

Directions may be split into cells by the sides of rows, the leaves of a tree. On its side sign, (x.u)_+ of a row is x.u
or 0, and its cut sign (x.u) (w + v.u) is not negative, where w >= |v.u| on the ball: it is added to the function.

The ball is that of the norm, g = 1 and s = 1; the ball of the norm l1 is inside. With a free bias b the rows are x - m
for a stated center m, u is (v, b + v.m), and P is a square that no |x - m|^2 exceeds. As theta sums to zero, a neuron
whose plane misses the rows has the value of one whose plane touches them, with |b + v.m|^2 <= P. So g = (1, ..., 1, P),
s = 2.
"""

import math
from fractions import Fraction
from typing import Any

from .check import ZERO, Problem, Table, dot, fraction, integer, require, table
from .cones import is_semidefinite

THEOREM = (
    "a quadratic function is bounded on a ball by a multiplier of its radius (S-lemma: Polik and Terlaky, SIAM Review "
    "49, 2007)"
)


def family(problem: Problem, stated: dict[str, Any]) -> tuple[Fraction, str, str]:
    """Verify the inequality for all neurons; the conjugate is 0."""
    require(problem.penalty in ("l1", "l2"), "the penalty of neurons is a norm")
    rows, squares, size = ball(problem, stated)
    outputs, total = len(problem.theta.numerators[0]), ZERO
    bounds = stated["bounds"]
    require(len(bounds) == 2 * outputs, "there is not one bound for each output and sign")
    for c in range(outputs):
        values = []
        for sign, own in zip((1, -1), bounds[2 * c : 2 * c + 2], strict=True):
            theta = [sign * row[c] for row in problem.theta.numerators]
            values.append(largest(rows, Table(problem.theta.denominator, [theta]), squares, size, own, {}))
        total += max(values) ** 2
    require(total <= problem.radius**2, "a neuron exceeds the dual norm")
    return ZERO, "all networks of any width (bounded by second moments)", THEOREM


def ball(problem: Problem, stated: dict[str, Any]) -> tuple[Table, list[Fraction], int]:
    """Return the rows with the squares g and the size s of the ball of directions."""
    rows = problem.rows
    if problem.bias != "free":
        return rows, [Fraction(1)] * len(rows.numerators[0]), 1
    require(problem.intercept, "free biases need a free intercept")
    center, limit = table(stated["center"], "the center", 1, len(rows.numerators[0])), fraction(stated["square"])
    q = math.lcm(rows.denominator, center.denominator)
    shift = [q // center.denominator * m for m in center.numerators[0]]
    moved = [[q // rows.denominator * x - m for x, m in zip(row, shift, strict=True)] for row in rows.numerators]
    require(max(dot(row, row) for row in moved) <= limit * q * q, "a row is further from the center")
    return Table(q, [[*row, q] for row in moved]), [Fraction(1)] * len(shift) + [limit], 2


Sides = dict[int, int]  # of rows that split: 1 or -1


def largest(rows: Table, theta: Table, squares: list[Fraction], size: int, stated: Any, sides: Sides) -> Fraction:
    """Return the largest bound of the cells of a tree: of both sides of a row, or of a leaf."""
    if "row" not in stated:
        return bound(rows, theta, squares, size, stated, sides)
    row = integer(stated["row"])
    require(0 <= row < len(rows.numerators) and row not in sides, "a cell is split by no row, or again by the same")
    halves = ((stated[name], sides | {row: sign}) for name, sign in (("on", 1), ("off", -1)))
    return max(largest(rows, theta, squares, size, half, own) for half, own in halves)


def bound(rows: Table, theta: Table, squares: list[Fraction], size: int, stated: Any, sides: Sides) -> Fraction:
    """Return the stated bound R of one output and sign in a cell, which is verified."""
    value = fraction(stated["value"])
    require(value >= 0, "a multiplier or a bound is negative")
    matrix = form(rows, theta, squares, size, stated, sides)
    matrix[-1][-1] += value
    require(is_semidefinite(integers(matrix)[0]), "a quadratic function exceeds its bound")
    return value


def integers(matrix: list[list[Fraction]]) -> tuple[list[list[int]], int]:
    """Return a matrix times the least common denominator of its entries, and this."""
    q = math.lcm(*(x.denominator for row in matrix for x in row))
    return [[int(x * q) for x in row] for row in matrix], q


def form(
    rows: Table, theta: Table, squares: list[Fraction], size: int, stated: Any, sides: Sides
) -> list[list[Fraction]]:
    """Return the form of a cell for R = 0; what the functions of rows have to be is verified."""
    n, D = len(rows.numerators), len(squares)
    functions = table(stated["functions"], "the functions of rows", n - len(sides), 3)
    level, f, r = fraction(stated["level"]), functions.denominator, rows.denominator
    require(level >= 0 and min(squares) > 0, "a multiplier or a bound is negative")
    free = [i for i in range(n) if i not in sides]
    open_rows = [rows.numerators[i] for i in free]
    for i, row, numbers in zip(free, open_rows, functions.numerators, strict=True):
        p, q, c = (theta.denominator * number for number in numbers)
        rest = p - f * theta.numerators[0][i]
        if q > 0:
            holds = 4 * q * c >= max(p * p, rest * rest)
        else:
            longest = sum((g * x * x for g, x in zip(squares, row, strict=True)), ZERO) * size / r**2
            holds = c == 0 and p <= 0 <= rest and q * q * longest <= min(p * p, rest * rest)
        require(holds, "a function of a row is below its activation")
    columns, parts = list(zip(*open_rows, strict=True)), list(zip(*functions.numerators, strict=True))
    linear = [Fraction(dot(parts[0], column), f * r) for column in columns]
    weighted = [[a * x for a, x in zip(parts[1], column, strict=True)] for column in columns]
    matrix = [[Fraction(-dot(first, second), f * r * r) for second in columns] for first in weighted]
    cuts = table(stated["cuts"], "the cuts of a cell", len(sides), 1 + D) if sides else Table(1, [])
    for k, (i, side) in enumerate(sides.items()):
        (w, *v), x = cuts.row(k), rows.row(i)
        length = sum((g * y * y for g, y in zip(squares, v, strict=True)), ZERO) * size
        require(w >= 0 and w * w >= length, "a cut is negative in the ball")
        slope = side * w + (Fraction(theta.numerators[0][i], theta.denominator) if side > 0 else 0)
        linear = [a + slope * b for a, b in zip(linear, x, strict=True)]
        matrix = [[matrix[j][m] - side * (x[j] * v[m] + x[m] * v[j]) / 2 for m in range(D)] for j in range(D)]
    for k in range(D):
        matrix[k][k] += level / squares[k]
        matrix[k].append(-linear[k] / 2)
    matrix.append([*(-x / 2 for x in linear), -Fraction(sum(parts[2]), f) - size * level])
    return matrix
