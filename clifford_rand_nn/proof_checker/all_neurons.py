"""ReLU networks against all neurons there are, by plane sweeps, simplicial cones, or bounds by moments.

*Plane*, for rows with one or two columns. Lines through the origin, orthogonal to rows x_i, and the axes cut the plane
of directions u into sectors. On a sector with rays a and b the active rows are the same, so that theta^T (X u)_+ = M u
with the (C, 2) matrix M, the sum of theta_i x_i^T over active rows. At a ray M loses or gains the term of the row that
it is orthogonal to.

* Norm l2: |M u|^2 <= r^2 |u|^2 for all u = s a + t b with s, t >= 0. With Q = r^2 I - M^T M that is the copositivity of
  the matrix of a^T Q a, a^T Q b and b^T Q b, which are integers.
* Norm l1: |M u| is convex and |u|_1 linear on a sector, so that the inequality at the rays is enough.

With free biases b the correlation theta^T (X u + b)_+ of a direction u is piecewise linear in b. It is 0 below the
pieces, and constant above them as theta sums to zero. So its norm is largest where X u + b is 0 at some row m, which
moves the origin to this row: x_i becomes x_i - x_m.

*Simplices*, without free biases. On the cone of rays a_1, ..., a_D a neuron is u = sum_k mu_k a_k, mu >= 0. The
activation (x.u)_+ of a row x is convex, so it is at most sum_k mu_k (x.a_k)_+, and at least sum_k mu_k s_k, where s_k =
x.a_k for all k, or s_k = 0 for all k. So each output of theta^T (X u)_+ is between sum_k mu_k L_k and sum_k mu_k U_k.
Let h_k = |max(U_k, -L_k)|_2. A vector g with g.a_k >= h_k for all k proves |theta^T (X u)_+|_2 <= g.u <= |g|_q |u|_p,
1/p + 1/q = 1. For one output U_k and -L_k bound it and its negative, for which there are trees of their own.

The roots are the 2^D orthants. A cone is split by a ray 2^s a_i + 2^t a_j, which replaces a_i in the first half and a_j
in the second: together they are the cone. So the leaves of all trees are all directions.

*Moments*, in any number of columns. For a direction u of a ball and z = x.u of a row x, numbers p, q, c are stated with
t (z)_+ <= c + p z + q z^2, where t is the row's theta, for one output and one sign. If q > 0 it holds for all z where
neither c + p z + q z^2 nor c + (p - t) z + q z^2 has two roots, 4 q c >= p^2 and 4 q c >= (p - t)^2. If q <= 0 the
difference is concave on both sides of 0; with c = 0 it is enough that it is not negative at the largest |z|, where -q
|z| <= -p and -q |z| <= p - t.

So theta^T (X u)_+ <= k + l.u + u^T Q u with k = sum c, l = sum p x and Q = sum q x x^T. On the ball, where
sum_k u_k^2 / g_k <= s, this is at most R if the form [[diag(lambda / g) - Q, -l / 2], [-l^T / 2, R - k - s lambda]] is
positive definite, lambda >= 0. Bounds of several outputs are squared and added up.

The ball is that of the norm, g = 1 and s = 1; the ball of the norm l1 is inside. With a free bias b the rows are x - m
for a stated center m, u is (v, b + v.m), and P is a square that no |x - m|^2 exceeds. As theta sums to zero, a neuron
whose plane misses the rows has the value of one whose plane touches them, with |b + v.m|^2 <= P. So g = (1, ..., 1, P),
s = 2.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise, product
from typing import Any, NamedTuple

from .check import MOST_OPERATIONS, ZERO, Problem, Table, dot, fraction, integer, require, table

PLANE_THEOREM = (
    "on a cell of the arrangement of the rows' hyperplanes a ReLU neuron is linear (Pilanci and Ergen, ICML 2020), and "
    "a quadratic form on a sector is decided by its 2 x 2 matrix (Hadeler, Linear Algebra Appl. 49, 1983)"
)
Pair = tuple[int, int]
Turn = tuple[Pair, Pair, Sequence[int]]  # a ray, and the term of M that ends there: a row and its theta
SIMPLICES_THEOREM = (
    "a convex function on a simplex is at most the interpolation of its values at the vertices (Rockafellar, "
    '"Convex Analysis", 1970, theorem 4.3; branch and bound: Horst and Tuy, "Global Optimization", 1996)'
)
MOST_SHIFT = 2048  # of a ray; shifts that are needed are small
MOST_BITS = 2**15  # of a ray; a file of kilobytes could double its rays without end
Row = tuple[list[int], list[int], list[int]]  # x, its theta, and its products with the rays of a cone
MOMENTS_THEOREM = (
    "a quadratic function is bounded on a ball by a multiplier of its radius (S-lemma: Polik and Terlaky, SIAM Review "
    "49, 2007)"
)


def plane_family(problem: Problem, stated: dict[str, Any]) -> tuple[Fraction, str, str]:
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
    return ZERO, f"all networks of any width ({count:,} sectors of directions)", PLANE_THEOREM


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


class SimplicialCone(NamedTuple):
    """Rays, undecided rows, for each output the sum of theta x over rows that are active everywhere, and a sign."""

    rays: list[list[int]]
    rows: list[Row]
    active: list[list[int]]
    sign: int

    def decided(self) -> "SimplicialCone":
        """Return the cone with rows that are active everywhere in the sum, and without those that are nowhere."""
        rows, active = [], [list(part) for part in self.active]
        for row in self.rows:
            x, theta, products = row
            if min(products) >= 0:
                active = [
                    [m + t * v for m, v in zip(part, x, strict=True)] for part, t in zip(active, theta, strict=True)
                ]
            elif max(products) > 0:
                rows.append(row)
        return self._replace(rows=rows, active=active)

    def halves(self, i: int, j: int, shift: int) -> list["SimplicialCone"]:
        """Return the halves by the ray 2^s a_i + 2^t a_j, where s = shift and t = 0, or s = 0 and t = -shift."""
        require(i != j and min(i, j) >= 0, "an edge has one end")
        require(abs(shift) <= MOST_SHIFT, "a ray is shifted too far")
        s, t = max(shift, 0), max(-shift, 0)
        new = [(a << s) + (b << t) for a, b in zip(self.rays[i], self.rays[j], strict=True)]
        require(max(map(abs, new)).bit_length() <= MOST_BITS, "a ray is too long")
        moved = [((row[2][i] << s) + (row[2][j] << t), row) for row in self.rows]
        halves = []
        for k in (i, j):
            rows = [(x, theta, [*p[:k], value, *p[k + 1 :]]) for value, (x, theta, p) in moved]
            halves.append(
                SimplicialCone([*self.rays[:k], new, *self.rays[k + 1 :]], rows, self.active, self.sign).decided()
            )
        return halves

    def heights(self, reference: list[int]) -> list[list[int]]:
        """Return max(U_k, -L_k) for every ray and output, or that of the sign for one output."""
        heights, sides = [], []
        for x, theta, products in self.rows:
            low, high = -min(products), max(products)
            side = high >= low << 30 or (high << 30 > low and dot(x, reference) > 0)  # any choice is valid
            sides.append((theta, products, side))
        for k, ray in enumerate(self.rays):
            ends = []
            for c, part in enumerate(self.active):
                upper = lower = dot(part, ray)
                for theta, products, side in sides:
                    high, low = theta[c] * max(products[k], 0), theta[c] * products[k] * side
                    upper += max(high, low)
                    lower += min(high, low)
                ends.append(
                    max(upper, -lower) if len(self.active) > 1 else self.sign * (upper if self.sign > 0 else lower)
                )
            heights.append(ends)
        return heights


def simplices_family(problem: Problem, stated: dict[str, Any]) -> tuple[Fraction, str, str]:
    """Verify the inequality for all neurons; the conjugate is 0."""
    require(problem.bias != "free" and problem.penalty in ("l1", "l2"), "biases are free, or the penalty is not a norm")
    X, theta, D, nodes = problem.rows, problem.theta, len(problem.rows.numerators[0]), stated["nodes"]
    require(isinstance(nodes, list) and len(nodes) >= 2**D, "there is a tree for every orthant")
    scale, radius, leaves = integer(stated["denominator"]), problem.radius, 0
    require(scale > 0, "the denominator is not positive")
    outputs, unit = len(theta.numerators[0]), X.denominator * theta.denominator
    axes = [[int(i == k) for i in range(D)] for k in range(D)]
    orthants = [
        [[s * v for v in axis] for s, axis in zip(signs, axes, strict=True)] for signs in product((1, -1), repeat=D)
    ]
    waiting = []
    for sign in (1, -1) if outputs == 1 else (1,):
        for rays in orthants:
            rows = [(x, t, [dot(x, ray) for ray in rays]) for x, t in zip(X.numerators, theta.numerators, strict=True)]
            waiting.append(SimplicialCone(rays, rows, [[0] * D] * outputs, sign))
    waiting = [cone.decided() for cone in reversed(waiting)]
    for text in nodes:  # the trees one after the other, each node before its halves
        numbers = [int(word) for word in text.split(" ")]
        require(" ".join(map(str, numbers)) == text and bool(waiting), "a node is malformed, or of no tree")
        cone = waiting.pop()
        if len(numbers) == 3:
            waiting += reversed(cone.halves(*numbers))
            continue
        require(len(numbers) == 2 * D, "a leaf is not a vector and a reference direction")
        g, reference = numbers[:D], numbers[D:]
        norm = dot(g, g) <= (radius * scale) ** 2 if problem.p == 2 else max(map(abs, g)) <= radius * scale
        require(norm, "a vector is longer than the dual norm")
        for ray, ends in zip(cone.rays, cone.heights(reference), strict=True):
            value = dot(ray, g) * unit
            if outputs == 1:
                enough = value >= ends[0] * scale
            else:
                enough = value >= 0 and value**2 >= dot(ends, ends) * scale**2
            require(enough, "a vector does not bound its cone")
        leaves += 1
    require(not waiting, "a cone has no leaf")
    return ZERO, f"all networks of any width ({leaves:,} cones of directions)", SIMPLICES_THEOREM


def moments_family(problem: Problem, stated: dict[str, Any]) -> tuple[Fraction, str, str]:
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
            values.append(bound(rows, Table(problem.theta.denominator, [theta]), squares, size, own))
        total += max(values) ** 2
    require(total <= problem.radius**2, "a neuron exceeds the dual norm")
    return ZERO, "all networks of any width (bounded by second moments)", MOMENTS_THEOREM


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


def bound(rows: Table, theta: Table, squares: list[Fraction], size: int, stated: dict[str, Any]) -> Fraction:
    """Return the stated bound R of one output and sign, which is verified."""
    n, D = len(rows.numerators), len(squares)
    functions = table(stated["functions"], "the functions of rows", n, 3)
    level, value, f, r = fraction(stated["level"]), fraction(stated["value"]), functions.denominator, rows.denominator
    require(level >= 0 and value >= 0 and min(squares) > 0, "a multiplier or a bound is negative")
    for row, t, numbers in zip(rows.numerators, theta.numerators[0], functions.numerators, strict=True):
        p, q, c = (theta.denominator * number for number in numbers)
        rest = p - f * t
        if q > 0:
            holds = 4 * q * c >= max(p * p, rest * rest)
        else:
            longest = sum((g * x * x for g, x in zip(squares, row, strict=True)), ZERO) * size / r**2
            holds = c == 0 and p <= 0 <= rest and q * q * longest <= min(p * p, rest * rest)
        require(holds, "a function of a row is below its activation")
    columns, parts = list(zip(*rows.numerators, strict=True)), list(zip(*functions.numerators, strict=True))
    linear = [Fraction(dot(parts[0], column), f * r) for column in columns]
    weighted = [[a * x for a, x in zip(parts[1], column, strict=True)] for column in columns]
    form = [[Fraction(-dot(first, second), f * r * r) for second in columns] for first in weighted]
    for k in range(D):
        form[k][k] += level / squares[k]
        form[k].append(-linear[k] / 2)
    form.append([*(-x / 2 for x in linear), value - Fraction(sum(parts[2]), f) - size * level])
    require(is_definite(form), "a quadratic function exceeds its bound")
    return value


def is_definite(form: list[list[Fraction]]) -> bool:
    """Tell whether all leading minors are positive: elimination without fractions (Bareiss, Math. Comp. 22, 1968)."""
    q = math.lcm(*(x.denominator for row in form for x in row))
    M, previous = [[int(x * q) for x in row] for row in form], 1
    while M:
        (pivot, *row), *rest = M
        if pivot <= 0:
            return False
        M = [[(pivot * x - line[0] * y) // previous for x, y in zip(line[1:], row, strict=True)] for line in rest]
        previous = pivot
    return True
