"""ReLU networks of neurons with given activation patterns, each in the cone of its pattern.

A neuron (u, b) of the pattern D is in the cone s_i (x_i u + b) >= 0, with s_i = 1 where D is on and -1 elsewhere. Its
outputs are z = theta^T D (X u + b). For a direction a of outputs and any multipliers lambda >= 0,

    a^T z <= rho^T u  with  rho = X^T D theta a + sum_i lambda_i s_i x_i,

where a free bias needs (sum_i D_i theta_i) a + sum_i lambda_i s_i = 0. So |rho| in the dual norm bounds a^T z over the
unit ball. Multipliers are stated for some directions; others have none.

The length of z is the largest a^T z over unit vectors a. All a are in the cones of signed axes, and a cell with corners
a_k is split at the sum of two of them, one of which may be shifted, times a power of two. At a = sum_k mu_k a_k, with
mu >= 0, the multipliers mu_k lambda_k give the bound rho = sum_k mu_k rho_k. It is at most r |a| if the form
r^2 |sum_k mu_k a_k|^2 - |sum_k mu_k rho_k|^2 is copositive; for the norm l1, whose dual norm is the largest entry, the
form of each entry. One output has two cells, a = 1 and a = -1.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import compress, product
from typing import Any

from .check import ZERO, Problem, dot, integer, require
from .gated import read_patterns

THEOREM = "weak duality of the convex program of ReLU networks (Pilanci and Ergen, ICML 2020), with cones' multipliers"

MOST_SHIFT = 64  # of a corner, which lengthens the integers of its cell
Form = list[list[int]]


def family(problem: Problem, stated: dict[str, Any]) -> tuple[Fraction, str, str]:
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
    return ZERO, f"all networks with these {len(patterns):,} activation patterns", THEOREM


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
        """Verify a cell, or its halves at two of its corners: [first, second, shift, cell, cell]; no shift is 0."""
        if not split:
            require(all(map(is_copositive, self.forms(corners))), "a neuron exceeds the dual norm")
            return
        first, second, *shifts = map(integer, split[:-2])
        middle = between(corners[first], corners[second], *shifts)
        for corner, cell in zip((second, first), split[-2:], strict=True):
            self.verify([middle if k == corner else a for k, a in enumerate(corners)], cell)


def between(a: Sequence[int], b: Sequence[int], shift: int = 0) -> tuple[int, ...]:
    """Return 2^shift a + b, or a + 2^-shift b."""
    require(abs(shift) <= MOST_SHIFT, "a corner is shifted too far")
    s, t = max(shift, 0), max(-shift, 0)
    return tuple((x << s) + (y << t) for x, y in zip(a, b, strict=True))


def is_copositive(form: Form) -> bool:
    """Tell whether a form is shown not to be negative for entries >= 0: without rows >= 0 it is semidefinite."""
    for k, row in enumerate(form):
        if min(row) >= 0:
            rest = [[x for j, x in enumerate(line) if j != k] for i, line in enumerate(form) if i != k]
            return is_copositive(rest)
    return is_semidefinite(form)


def is_semidefinite(form: Form) -> bool:
    """Tell whether a form of integers is nowhere negative."""
    left = remainder(form) if form else (0, 1)
    return left is not None and left[0] >= 0


def remainder(form: Form) -> tuple[int, int] | None:
    """Return what elimination leaves of the last entry (Bareiss, Math. Comp. 22, 1968), as an integer over another.

    If it is negative, the last entry lacks as much for the form to be nowhere negative; if None, any entry does.
    """
    previous = 1
    while len(form) > 1:
        (pivot, *row), *rest = form
        if pivot < 0 or (pivot == 0 and any(row)):
            return None
        if pivot == 0:
            form = [line[1:] for line in rest]
            continue
        form = [[(pivot * x - line[0] * y) // previous for x, y in zip(line[1:], row, strict=True)] for line in rest]
        previous = pivot
    return form[0][0], previous
