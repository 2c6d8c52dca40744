"""Gated networks with infinitely many Gaussian gates: functions of the kernel K, with half the square of its norm.

    K(z, z') = E[1(g.z >= 0) 1(g.z' >= 0)] z.z' = z.z' (pi - angle) / (2 pi),  g ~ N(0, I)

With a family of "steps" s and "levels" v there are gates in single columns, too, and s (1 - sum_c |v_c - v'_c|) is
added. With r_c the range of column c it is s times (1 - sum_c r_c) + sum_c r_c (1 - |v_c - v'_c| / r_c), and positive
semidefinite where sum_c r_c <= 1: in brackets is the share of thresholds in the range with both values on one side.
With "boxes" it is s exp(-sum_c |v_c - v'_c|), a product of kernels that are positive definite for all levels.

The network is f_i = sum_j K(z_i, z_j) alpha_j + t with the penalty sum_c alpha_c^T K alpha_c / 2, and the conjugate is
sum_c theta_c^T K theta_c / (2 W beta). Rows are integers over one denominator, so that s = z.z' and N = |z|^2 |z'|^2 -
s^2 are exact, and nothing cancels for rows that are nearly parallel. With g = arctan(sqrt(N) / |s|), K is s (1/2 - g /
(2 pi)) for s > 0, and s g / (2 pi) for s < 0.

*Errors*, in units of 2^-P. tan(g/2) = sqrt(N) / (|s| + |z| |z'|) is computed to 3: both roots miss less than a unit,
|z| |z'| >= 1, and the quotient is rounded down. Half the angle has the tangent t / (1 + sqrt(1 + t^2)), whose
derivative is at most 1/2, so that two steps lead to tan(g/8) <= 0.2 within 3/4 + 2/2 + 2 < 4; arctan increases no
error. In its series a power misses at most t^2 e + 1 < 1.1, e the error of the one before, a term less than 1.1/3 + 1 <
2, and all terms from the J-th, the first of power 0, less than 2: together less than 2 (J + 1) <= 64. By Machin's
formula pi misses less than 16 (64 + 1) + 4 (64 + 1) < 2^11. So g / (2 pi) = 4 arctan(tan(g/8)) / pi < 1/4 misses less
than 4 (64 + 4) / 3 + 2^11 / 12 + 1 < 2^9, and K less than |s| 2^(9-P), at most 2^(9-P) max |z|^2. What steps add is
exact, and rounded down to a unit; of boxes it may be above that by s 2^-234 (logarithms.py).
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from .check import MOST_ENTRIES, Outputs, Problem, Table, dot, fraction, require, table
from .logarithms import exp_above

P = 128  # bits behind the point
ERROR = 2**9  # of K / |s|, in units
THEOREM = (
    "weak duality in the reproducing kernel Hilbert space of the gates; its kernel is z.z' times that of Cho and Saul, "
    '"Kernel methods for deep learning", NIPS 2009, eq. 6 of order 0'
)


def arctan(t: int) -> int:
    """Return arctan t, 0 <= t <= 0.2, within 64 units."""
    square, power, total, j = t * t, t, 0, 0
    while power:
        term = power // (2 * j + 1)
        total += -term if j % 2 else term
        power = power * square >> 2 * P
        j += 1
    return total


PI = 16 * arctan(2**P // 5) - 4 * arctan(2**P // 239)


def share(s: int, N: int) -> int:
    """Return arctan(sqrt(N) / |s|) / (2 pi), s != 0, within ERROR units."""
    t = (math.isqrt(N << 2 * P) << P) // ((abs(s) << P) + math.isqrt(s * s + N << 2 * P))
    for _ in range(2):
        t = (t << P) // (2**P + math.isqrt(4**P + t * t))
    return (arctan(t) << P + 2) // PI


class Steps(NamedTuple):
    """Gates in single columns or boxes: weight s in the units of products of rows, levels integers over one."""

    weight: Fraction
    denominator: int
    levels: tuple[tuple[int, ...], ...]
    boxes: bool

    @classmethod
    def of(cls, problem: Problem, stated: dict[str, Any]) -> "Steps | None":
        """Return those of a family, or None."""
        if "steps" not in stated:
            return None
        width = len(stated["levels"]["numerators"][0])
        levels = table(stated["levels"], "levels", len(problem.y.numerators), width)
        ranges = [max(column) - min(column) for column in zip(*levels.numerators, strict=True)]
        boxes = stated.get("boxes", False)
        require(isinstance(boxes, bool), "boxes is not true or false")
        require(boxes or sum(ranges) <= levels.denominator, "the levels have ranges of more than one in all")
        weight, own = fraction(stated["steps"]), tuple(map(tuple, levels.numerators))
        require(weight >= 0, "the weight of steps is negative")
        return cls(weight * problem.rows.denominator**2, levels.denominator, own, boxes)


@lru_cache(maxsize=1)
def kernel(rows: tuple[tuple[int, ...], ...], steps: Steps | None) -> tuple[list[list[int]], int]:
    """Return K of rows of integers, (n, n), and what its entries miss at most, both in units."""
    require(len(rows) ** 2 <= MOST_ENTRIES, f"{len(rows):,} rows are more than the checker holds")
    squares = [dot(z, z) for z in rows]
    weight, denominator, levels, boxes = steps or (Fraction(0), 1, (), False)
    K = [[0] * len(rows) for _ in rows]
    for i, z in enumerate(rows):
        for j in range(i + 1):
            s = dot(z, rows[j])
            if s:
                h = share(s, squares[i] * squares[j] - s * s)
                K[i][j] = s * (2 ** (P - 1) - h if s > 0 else h)
            if weight:
                apart = sum(abs(a - b) for a, b in zip(levels[i], levels[j], strict=True))
                near = exp_above(Fraction(apart, denominator)) if boxes else Fraction(denominator - apart, denominator)
                K[i][j] += (weight.numerator * near.numerator << P) // (weight.denominator * near.denominator)
            K[j][i] = K[i][j]
    return K, ERROR * max(squares) + 2 + int(weight) // 2 ** (234 - P)


class Products(NamedTuple):
    """K a for coefficients a of the rows, (n, C), within an error, and sum_c a_c^T K a_c or a number above it."""

    outputs: Outputs
    error: Fraction
    form: Fraction

    @classmethod
    def of(cls, problem: Problem, coefficients: Table, family: dict[str, Any]) -> "Products":
        """Return those of a problem, with one row for all of its duplicates."""
        steps = Steps.of(problem, family)
        levels = steps.levels if steps else ((),) * len(problem.rows.numerators)
        rows = list(zip(map(tuple, problem.rows.numerators), levels, strict=True))
        place = {row: k for k, row in enumerate(dict.fromkeys(rows))}
        columns = [[0] * len(place) for _ in coefficients.numerators[0]]
        for row, values in zip(rows, coefficients.numerators, strict=True):
            for column, value in zip(columns, values, strict=True):
                column[place[row]] += value
        K, error = kernel(tuple(row for row, _ in place), steps and steps._replace(levels=tuple(v for _, v in place)))
        images = [[dot(line, column) for line in K] for column in columns]
        sizes = [sum(map(abs, column)) for column in columns]
        form = sum(map(dot, columns, images)) + error * dot(sizes, sizes)
        unit = problem.rows.denominator**2 * coefficients.denominator << P
        outputs = [[Fraction(image[place[row]], unit) for image in images] for row in rows]
        return cls(outputs, Fraction(error * max(sizes), unit), Fraction(form, unit * coefficients.denominator))


def network(problem: Problem, stated: dict[str, Any], family: dict[str, Any]) -> tuple[Outputs, Fraction, Fraction]:
    """Return K alpha, half the squared norm or a number above it, and how much an output may miss."""
    n, outputs = len(problem.y.numerators), len(problem.y.numerators[0])
    products = Products.of(problem, table(stated["alpha"], "alpha", n, outputs), family)
    return products.outputs, products.form / 2, products.error


def family(problem: Problem, stated: dict[str, Any]) -> tuple[Fraction, str, str]:
    """Return the conjugate of the penalty."""
    require(problem.penalty == "squared", "infinitely many gates have squared norms")
    require(problem.bias != "free", "biases of infinitely many gates are not free")
    form = Products.of(problem, problem.theta, stated).form
    kernel.cache_clear()  # it is a large matrix
    also = f" and gates in {'boxes' if stated.get('boxes') else 'single columns'}" if "steps" in stated else ""
    words = f"all gated networks with infinitely many Gaussian gates{also} on these rows (standardized by the network)"
    return form / (2 * problem.radius), words, THEOREM
