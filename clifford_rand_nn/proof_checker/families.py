"""Networks of given activation patterns, of listed neurons, or of all neurons whose hyperplanes rows or axes span.

*Gated.* A gate with the pattern D adds D (X U + b) to the outputs and costs |U|_F, or half its square. The conjugate is
0 if |X^T D theta|_F <= W beta for every gate, or the sum of |X^T D theta|_F^2 / (2 W beta). A free bias of a gate needs
the entries of theta on the gate to sum to zero.

*Cones.* A ReLU neuron (u, b) of the pattern D is in the cone s_i (x_i u + b) >= 0, with s_i = 1 where D is on and -1
elsewhere. Its outputs are z = theta^T D (X u + b). For a direction a of outputs and any multipliers lambda >= 0,

    a^T z <= rho^T u  with  rho = X^T D theta a + sum_i lambda_i s_i x_i,

where a free bias needs (sum_i D_i theta_i) a + sum_i lambda_i s_i = 0. So |rho| in the dual norm bounds a^T z over the
unit ball. Multipliers are stated for some directions; others have none.

The length of z is the largest a^T z over unit vectors a. All a are in the cones of signed axes, and a cell with corners
a_k is split at the sum of two of them. At a = sum_k mu_k a_k, mu >= 0, the multipliers mu_k lambda_k give the bound
rho = sum_k mu_k rho_k. It is at most r |a| if the form r^2 |sum_k mu_k a_k|^2 - |sum_k mu_k rho_k|^2 is copositive; for
the norm l1, whose dual norm is the largest entry, the form of each entry. One output has two cells, a = 1 and a = -1.

*Dictionaries.* With the l1 norm, rows and axes suffice for all neurons. On a cell, which these hyperplanes bound,
theta^T (X v + b)_+ is linear in (v, b), and with several outputs its norm is convex. So over |v|_1 <= 1 it is largest
at a ray of a cell, which is spanned by D - 1 hyperplanes, by D if there are free biases: the cross product of their
normals.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, combinations, compress, product
from typing import Any

from .check import MOST_ENTRIES, MOST_OPERATIONS, ZERO, Outputs, Problem, dot, integer, require, root_above, table

GATED_THEOREM = (
    "weak duality of the convex program of gated networks (Mishkin, Sahiner and Pilanci, "
    '"Fast convex optimization for two-layer ReLU networks", ICML 2022)'
)
CONES_THEOREM = (
    "weak duality of the convex program of ReLU networks (Pilanci and Ergen, ICML 2020), with cones' multipliers"
)
Form = list[list[int]]
DICTIONARY_THEOREM = (
    "a convex function on a polytope is largest at a vertex, so that the cross products of rows and axes stand for all "
    "neurons (Wang et al., arXiv:2406.02806, section 3.2, with the axes added)"
)


def read_patterns(stated: dict[str, Any], n: int) -> list[list[bool]]:
    """Return activation patterns, stated as hexadecimal numbers: bit i says whether row i is on."""
    texts = stated["patterns"]
    require(len(texts) * n <= MOST_ENTRIES, f"{len(texts):,} patterns are more than the checker holds")
    numbers = [int(text, 16) for text in texts]
    canonical = isinstance(texts, list) and [f"{number:x}" for number in numbers] == texts
    require(canonical, "a pattern is not a hexadecimal number")
    require(all(0 <= number < 2**n for number in numbers), "a pattern has more bits than there are rows")
    return [[bool(number >> i & 1) for i in range(n)] for number in numbers]


def gated_network(
    problem: Problem, stated: dict[str, Any], family: dict[str, Any]
) -> tuple[Outputs, Fraction, Fraction]:
    """Return f_i = sum_p D_ip (U_p x_i + b_p), sum_p |U_p|_F, or half the squares, or a number above it, and 0."""
    rows, outputs = problem.X.with_column(Fraction(1)), len(problem.y.numerators[0])
    patterns = read_patterns(family, len(rows.numerators))
    U = table(stated["U"], "U", len(patterns) * outputs, len(rows.numerators[0]))  # row p C + c: gate p, output c
    f = [[0] * outputs for _ in rows.numerators]
    penalty = ZERO
    for p, pattern in enumerate(patterns):
        own = range(p * outputs, (p + 1) * outputs)
        square = sum((v * v for v in chain(*(problem.charged(U.row(k)) for k in own))), ZERO)
        penalty += square / 2 if problem.penalty == "squared" else root_above(square)
        if any(any(U.numerators[k]) for k in own):
            for i in compress(range(len(f)), pattern):
                f[i] = [s + dot(U.numerators[k], rows.numerators[i]) for s, k in zip(f[i], own, strict=True)]
    q = U.denominator * rows.denominator
    return [[Fraction(value, q) for value in row] for row in f], penalty, ZERO


def gated_family(problem: Problem, stated: dict[str, Any]) -> tuple[Fraction, str, str]:
    """Return the conjugate of the penalty."""
    require(problem.penalty in ("l2", "squared"), "gates have the norm l2")
    rows, theta = problem.rows, problem.theta
    patterns = read_patterns(stated, len(rows.numerators))
    # theta_ic x_ik for every row, and for free biases theta_ic
    products = [
        [t * x for t in goal for x in [*row, *[1] * (problem.bias == "free")]]
        for row, goal in zip(rows.numerators, theta.numerators, strict=True)
    ]
    width = len(rows.numerators[0]) + (problem.bias == "free")
    squares = []
    for pattern in patterns:
        sums = [sum(column) for column in zip(*compress(products, pattern), strict=True)]
        if problem.bias == "free":
            require(not any(sums[width - 1 :: width]), "the dual point does not sum to zero on a gate")
        squares.append(dot(sums, sums))
    unit = (rows.denominator * theta.denominator) ** 2
    words = f"gated networks on these {len(patterns):,} activation patterns"
    if problem.penalty == "squared":
        return Fraction(sum(squares), unit) / (2 * problem.radius), words, GATED_THEOREM
    require(max(squares, default=0) <= problem.radius**2 * unit, "a gate exceeds the dual norm")
    return ZERO, words, GATED_THEOREM


def cones_family(problem: Problem, stated: dict[str, Any]) -> tuple[Fraction, str, str]:
    """Verify the inequality for every pattern; the conjugate is 0."""
    require(problem.penalty in ("l1", "l2"), "the penalty of neurons is a norm")
    patterns = read_patterns(stated, len(problem.rows.numerators))
    witnesses = {integer(witness["pattern"]): witness for witness in stated["witnesses"]}
    axes = axes_of(problem)
    for k, pattern in enumerate(patterns):
        if any(pattern):  # else the neuron is 0
            cone = Cone(problem, pattern, witnesses.get(k, {"multipliers": {}}))
            if k not in witnesses:  # the forms are r^2 - |theta^T D X u|^2, without a cone
                require(all(map(is_semidefinite, cone.forms(axes))), "a neuron exceeds the dual norm")
            require(k not in witnesses or len(axes) <= 12, "the directions of outputs are of more than 12 dimensions")
            for signs in product((1, -1), repeat=len(axes)) if k in witnesses else ():
                corners = [tuple(sign * x for x in axis) for sign, axis in zip(signs, axes, strict=True)]
                cone.verify(corners, witnesses[k]["cells"].get(name(signs), []))
    return ZERO, f"all networks with these {len(patterns):,} activation patterns", CONES_THEOREM


def axes_of(problem: Problem) -> list[tuple[int, ...]]:
    """Return directions that span those of the outputs."""
    C = len(problem.theta.numerators[0])
    axes = [tuple(int(i == c) for i in range(C)) for c in range(C)]
    if C > 1 and not any(map(sum, problem.theta.numerators)):  # of classes: then outputs sum to zero, too
        return [(*axis[:-1], -1) for axis in axes[:-1]]
    return axes


def name(numbers: Sequence[int]) -> str:
    """Return the key of a direction."""
    return " ".join(map(str, numbers))


class Cone:
    """The cone of a pattern, with multipliers for directions of outputs."""

    def __init__(self, problem: Problem, pattern: list[bool], witness: dict[str, Any]) -> None:
        self.pattern, self.multipliers, self.p = pattern, witness["multipliers"], problem.p
        self.limit = math.floor((problem.radius * problem.rows.denominator * problem.theta.denominator) ** 2)
        self.free = problem.bias == "free"
        self.rows = [[*row, int(self.free)] for row in problem.rows.numerators]
        active, theta = list(compress(self.rows, pattern)), list(compress(problem.theta.numerators, pattern))
        # (X 1)^T D theta, one row for each output
        self.sums = [[dot(t, x) for x in zip(*active, strict=True)] for t in zip(*theta, strict=True)]

    def bound(self, a: Sequence[int]) -> list[int]:
        """Return rho of a direction."""
        rho = [dot(a, column) for column in zip(*self.sums, strict=True)]
        for row, text in self.multipliers.get(name(a), []):
            i, multiplier = integer(row), integer(text)
            require(0 <= i < len(self.rows) and multiplier >= 0, "a multiplier is negative, or that of no row")
            signed = multiplier if self.pattern[i] else -multiplier
            rho = [r + signed * x for r, x in zip(rho, self.rows[i], strict=True)]
        require(rho.pop() == 0, "the multipliers do not balance a free bias")
        return rho

    def forms(self, corners: Sequence[Sequence[int]]) -> list[Form]:
        """Return the forms of a cell, which are to be copositive: one, or one for each entry."""
        rho = [self.bound(a) for a in corners]
        parts = [rho] if self.p == 2 else [[[entry] for entry in column] for column in zip(*rho, strict=True)]
        pairs = [list(zip(corners, part, strict=True)) for part in parts]
        return [[[self.limit * dot(a, b) - dot(r, s) for b, s in part] for a, r in part] for part in pairs]

    def verify(self, corners: list[tuple[int, ...]], split: list[Any]) -> None:
        """Verify a cell, which may be split at two of its corners: [first, second, cell, cell]."""
        if not split:
            require(all(map(is_copositive, self.forms(corners))), "a neuron exceeds the dual norm")
            return
        first, second = map(integer, split[:2])
        middle = tuple(x + y for x, y in zip(corners[first], corners[second], strict=True))
        for corner, cell in zip((second, first), split[2:], strict=True):
            self.verify([middle if k == corner else a for k, a in enumerate(corners)], cell)


def is_copositive(form: Form) -> bool:
    """Tell whether a form is shown not to be negative for entries >= 0: without rows >= 0 it is semidefinite."""
    for k, row in enumerate(form):
        if min(row) >= 0:
            rest = [[x for j, x in enumerate(line) if j != k] for i, line in enumerate(form) if i != k]
            return is_copositive(rest)
    return is_semidefinite(form)


def is_semidefinite(form: Form) -> bool:
    """Tell whether a form is nowhere negative, by elimination."""
    if not form:
        return True
    (pivot, *row), *rest = form
    if pivot <= 0:
        return pivot == 0 and not any(row) and is_semidefinite([line[1:] for line in rest])
    return is_semidefinite([[pivot * x - line[0] * y for x, y in zip(line[1:], row, strict=True)] for line in rest])


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


def neurons_family(problem: Problem, stated: dict[str, Any]) -> tuple[Fraction, str, str]:
    """Verify the inequality for listed neurons; the conjugate is 0."""
    columns, count = Columns(problem), len(stated["planes"]["numerators"])
    for plane in table(stated["planes"], "planes", count, len(problem.rows.numerators[0]) + 1).numerators:
        require(problem.bias == "free" or not plane[-1], "a neuron has a bias that no norm charges")
        require(not columns.exceeds(plane, both=False), "a neuron exceeds the dual norm")
    return ZERO, f"all networks of these {count:,} neurons", "weak duality of the group Lasso"


def dictionary_family(problem: Problem, stated: dict[str, Any]) -> tuple[Fraction, str, str]:
    """Verify the inequality for all neurons of a dictionary; the conjugate is 0."""
    columns, free = Columns(problem), problem.bias == "free"
    D = len(problem.rows.numerators[0])
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
    theorem = DICTIONARY_THEOREM if everything else "weak duality of the group Lasso"
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
