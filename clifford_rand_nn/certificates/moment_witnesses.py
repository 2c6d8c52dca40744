r"""Witnesses of proofs by moments: quadratic functions that bound activations, and the least bounds that these prove.

Functions of rows are those of a pricer in double precision, moved to where they are above activations for certain. With
these as exact numbers, a cell has the form :math:`[[\Lambda-Q,-l/2],[-l^T/2,R-k]]` of the checker, and the least R with
which it is nowhere negative is :math:`k+\frac14l^T(\Lambda-Q)^{-1}l`, by elimination in integers, rounded up.
"""

from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clifford_rand._typing import Array, NDArray
from clifford_rand_nn.certificates.dual_points import DualPoint, Stated, double, rational, table
from clifford_rand_nn.pricing.moments import MomentPricer, enclosing_ball
from clifford_rand_nn.proof_checker.check import Table, read_problem
from clifford_rand_nn.proof_checker.cones import remainder
from clifford_rand_nn.proof_checker.moments import ball, form, integers

_EDGE, _RAISES = 1e-15, 20  # of Σ|θ|r, by which a multiplier is raised; each of so many raises is four times the last


def moment_family(pricer: MomentPricer, proof: Stated, dual: DualPoint) -> Stated:
    """Return bounds of all neurons for a dual point, of an output and its negative each, as trees of cells.

    ``pricer``: of the rows of ``proof``, which has the problem and the data.
    """
    stated: Stated = {"kind": "moments"}
    if pricer.bias:
        center, radius = enclosing_ball(pricer.X)
        stated |= {
            "center": table(center[None]),
            "square": rational(Fraction(radius * (1 + pricer.rounding_of_functions)) ** 2),
        }
    problem = read_problem(proof | {"dual": dual.stated()}, Path())
    sums = _Sums(pricer, problem.theta, dual.doubles(), *ball(problem, stated))
    return stated | {"bounds": [_moment_tree(sums, cells, 0) for cells in pricer.cells]}


class _Sums(NamedTuple):
    """What quadratic functions bound: the pricer, theta exactly and in double precision, the rows and their ball."""

    pricer: MomentPricer
    exact: Table
    theta: Array
    rows: Table
    squares: list[Fraction]
    size: int


def _moment_tree(sums: _Sums, cells: NDArray[np.intp], depth: int) -> Stated:
    """Return the tree of cells whose paths are the same up to a depth."""
    paths = sums.pricer.multipliers.paths[cells]
    row = abs(int(paths[0, depth])) if depth < paths.shape[1] else 0
    if not row:
        return _moment_bound(sums, int(cells[0]))
    sides = (("on", row), ("off", -row))
    halves = {side: _moment_tree(sums, cells[paths[:, depth] == step], depth + 1) for side, step in sides}
    return {"row": str(row - 1), **halves}


def _moment_bound(sums: _Sums, cell: int) -> Stated:
    """Return the functions of rows, the multiplier of a cell, and the least bound that these prove exactly."""
    pricer = sums.pricer
    rates, slopes, squares, tree, path, cuts = (part[cell] for part in pricer.multipliers)
    room = pricer.rounding_of_functions
    output, sign = tree // 2, int((-1) ** tree)
    own, reach = sign * sums.theta[:, output], np.maximum(pricer.reach, np.finfo(np.float64).tiny)
    # t(z)₊ <= c + pz + qz² from the bounds of |z|
    p = np.where(own > 0, own / 2, own * (1 + (1 - room) * slopes) / 2)
    q = np.where(own > 0, own * rates / (4 * reach), own * np.maximum(squares - 2 * room, 0) / (2 * reach))
    c = np.where(q > 0, p**2 / np.where(q > 0, 4 * q, 1.0) * (1 + room), 0.0)
    steps = path[path != 0]
    fixed = np.abs(steps) - 1
    bound: Stated = {"functions": table(np.delete(np.column_stack([p, q, c]), fixed, axis=0))}
    if len(fixed):  # for products with z instead of t, and for directions (v, b + v·m)
        own_cuts = cuts[: len(fixed)] * (np.abs(own) @ pricer.reach) / reach[fixed, None]
        if pricer.bias:
            own_cuts[:, 1:] /= 2**0.5
            own_cuts[:, -1] /= enclosing_ball(pricer.X)[1]
        own_cuts[:, 0] *= 1 + room * 4
        bound["cuts"] = table(own_cuts)
    sides = {abs(step) - 1: 1 if step > 0 else -1 for step in steps.tolist()}
    exact = Table(sums.exact.denominator, [[sign * row[output] for row in sums.exact.numerators]])
    level = pricer.quadratic(sums.theta, cell).largest()[1] / (2 if pricer.bias else 1)
    unit = float(np.abs(own) @ pricer.reach) * _EDGE
    for k in range(_RAISES):
        bound["level"] = rational(level + unit * 4.0**k)
        matrix, denominator = integers(form(sums.rows, exact, sums.squares, sums.size, bound, sides))
        left = remainder(matrix)
        if left is not None:
            value = Fraction(-left[0], left[1] * denominator)  # what the last entry lacks
            return bound | {"value": rational(max(double(value, up=True), 0.0))}
    raise ArithmeticError("no multiplier bounds a quadratic function")
