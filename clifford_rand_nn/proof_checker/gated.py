"""Gated networks on given activation patterns: their objective, and the dual norm of each gate.

A gate with the pattern D adds D (X U + b) to the outputs and costs |U|_F, or half its square. The conjugate is 0 if
|X^T D theta|_F <= W beta for every gate, or the sum of |X^T D theta|_F^2 / (2 W beta). A free bias of a gate needs the
entries of theta on the gate to sum to zero.
"""

from fractions import Fraction
from itertools import chain, compress
from typing import Any

from .check import MOST_ENTRIES, ZERO, Outputs, Problem, dot, require, root_above, table

THEOREM = (
    "weak duality of the convex program of gated networks (Mishkin, Sahiner and Pilanci, "
    '"Fast convex optimization for two-layer ReLU networks", ICML 2022)'
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


def network(problem: Problem, stated: dict[str, Any], family: dict[str, Any]) -> tuple[Outputs, Fraction, Fraction]:
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


def family(problem: Problem, stated: dict[str, Any]) -> tuple[Fraction, str, str]:
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
        return Fraction(sum(squares), unit) / (2 * problem.radius), words, THEOREM
    require(max(squares, default=0) <= problem.radius**2 * unit, "a gate exceeds the dual norm")
    return ZERO, words, THEOREM
