"""ReLU networks without free biases, against all neurons there are: trees of simplicial cones of directions.

On the cone of rays a_1, ..., a_D a neuron is u = sum_k mu_k a_k, mu >= 0. The activation (x.u)_+ of a row x is convex,
so it is at most sum_k mu_k (x.a_k)_+, and at least sum_k mu_k s_k, where s_k = x.a_k for all k, or s_k = 0 for all k.
So each output of theta^T (X u)_+ is between sum_k mu_k L_k and sum_k mu_k U_k. Let h_k = |max(U_k, -L_k)|_2. A vector g
with g.a_k >= h_k for all k proves |theta^T (X u)_+|_2 <= g.u <= |g|_q |u|_p, 1/p + 1/q = 1. For one output U_k and -L_k
bound it and its negative, for which there are trees of their own.

The roots are the 2^D orthants. A cone is split by a ray 2^s a_i + 2^t a_j, which replaces a_i in the first half and a_j
in the second: together they are the cone. So the leaves of all trees are all directions.
"""

from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from .check import ZERO, Problem, dot, integer, require

THEOREM = (
    "a convex function on a simplex is at most the interpolation of its values at the vertices (Rockafellar, "
    '"Convex Analysis", 1970, theorem 4.3; branch and bound: Horst and Tuy, "Global Optimization", 1996)'
)
MOST_SHIFT = 2048  # of a ray; shifts that are needed are small
MOST_BITS = 2**15  # of a ray; a file of kilobytes could double its rays without end

Row = tuple[list[int], list[int], list[int]]  # x, its theta, and its products with the rays of a cone


class Cone(NamedTuple):
    """Rays, undecided rows, for each output the sum of theta x over rows that are active everywhere, and a sign."""

    rays: list[list[int]]
    rows: list[Row]
    active: list[list[int]]
    sign: int

    def decided(self) -> "Cone":
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

    def halves(self, i: int, j: int, shift: int) -> list["Cone"]:
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
            halves.append(Cone([*self.rays[:k], new, *self.rays[k + 1 :]], rows, self.active, self.sign).decided())
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


def family(problem: Problem, stated: dict[str, Any]) -> tuple[Fraction, str, str]:
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
            waiting.append(Cone(rays, rows, [[0] * D] * outputs, sign))
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
    return ZERO, f"all networks of any width ({leaves:,} cones of directions)", THEOREM
