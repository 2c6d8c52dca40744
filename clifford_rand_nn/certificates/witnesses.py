r"""Witnesses of proofs, what a proof states of its family beside the dual point.

Of all neurons they are trees of simplicial cones in a few dimensions, by branch and bound, else quadratic functions
(`clifford_rand_nn.certificates.moment_witnesses`); of infinitely many gates the rows as the kernel takes them, with
coefficients. Of given patterns they are multipliers of the inequalities of each cone, see
`clifford_rand_nn.proof_checker.cones`: those of the least dual norm. The least length belongs to the rows of a
projection (`Cones`), the least largest entry to a linear program. Cells of directions are halved until a cell's
multipliers bound all of it. Multipliers are rounded like the dual point.
"""

from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog, nnls

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array, NDArray
from clifford_rand_nn.certificates.claims import KernelClaim
from clifford_rand_nn.certificates.dual_points import DualPoint, Stated, over_common_denominator, rational, table
from clifford_rand_nn.kernel_network.standardization import RowSpan
from clifford_rand_nn.pricing.cone_best import Cones
from clifford_rand_nn.pricing.simplices import SimplexPricer, SimplicialCones
from clifford_rand_nn.proof_checker.check import Problem, dot, read_problem
from clifford_rand_nn.proof_checker.cones import Cone, axes_of, between, is_copositive, name

_MARGIN = 1e-9  # relative: patterns and projections nearer to the radius are bounded as well as possible
_TOL_BITS = 36  # cells are halved until they are within 2^-36 of the squared radius, and the dual point is shrunk by it
_MAX_CELLS = 4000  # of a pattern
_MAX_CORNER = 2**40  # of a cell, whose corners are one direction to 1e-12
_MAX_OUTPUTS = 4  # that are independent: their signs make 16 cells; the pricing of more only relaxes
_TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}  # HiGHS takes no less
_MOST_SEARCHES = 12  # for dual points that are shrunk by 2^-27 at most
_SPLIT = 2000  # multiplications that take as long as a split of a cone of few rows, and bound what a tree holds
_BELOW = 1 - 1e-15  # of the radius, so that what double precision bounds by it is below it
_ARCTANGENT, _EXPONENTIAL = 170, 220  # multiplications that take as long (17 and 22 us)
_RULE = "of a network whose bound is over all functions of the kernel of its training rows"
Corner = tuple[int, ...]
Weights = tuple[NDArray[np.intp], Array]


class ConeWitness:
    """The function that states the family of given patterns for a dual point, and for shrunk ones.

    ``proof`` has the problem and the data, ``rows`` (n, D) are those of which the norm charges all weights, ``on``
    (P, n) the patterns, and ``patterns`` their stated form.
    """

    def __init__(self, proof: Stated, rows: Array, on: NDArray[np.bool_], patterns: list[str]) -> None:
        self.proof, self.patterns = proof, patterns
        self.p, self.free = 1 if proof["problem"]["penalty"] == "l1" else 2, proof["problem"]["bias"] == "free"
        # with an offset the place of the origin is free, and the mean costs no digits
        self.cones = Cones(np.ascontiguousarray(rows - rows.mean(axis=0)) if self.free else rows, on, self.free)
        self._first: DualPoint | None = None
        self._searches: dict[int, _Search] = {}

    def __call__(self, dual: DualPoint) -> Stated:
        """Return the family; the multipliers of the first dual point are scaled like the dual point for later ones."""
        if self._first is None:
            self._first, theta = dual, dual.doubles()
            problem = read_problem(self.proof | {"dual": dual.stated()}, Path())
            searches = ((k, self._search(problem, theta, k)) for k in range(len(self.patterns)))
            self._searches = {k: search for k, search in searches if search is not None}
        factor = max(1, dual.denominator // self._first.denominator - 1)  # 2^k - 1 over 2^k times the denominator
        witnesses = [{"pattern": str(k), **search.stated(factor)} for k, search in self._searches.items()]
        return {"kind": "cones", "patterns": self.patterns, "witnesses": witnesses}

    def _search(self, problem: Problem, theta: Array, k: int) -> "_Search | None":
        """Return the multipliers of a pattern; None if the dual norm bounds its neurons without any."""
        on = self.cones.on[k]
        if not on.any() or (self.free and on.all()):  # no neuron, or no multipliers
            return None
        G = self.cones.data[on].T @ theta[on]
        size = np.linalg.norm(G, ord=2) if self.p == 2 else np.linalg.norm(G, axis=1).max()
        cone = Cone(problem, on.tolist(), {"multipliers": {}})
        if size <= float(problem.radius) * (1 - _MARGIN) and not (self.free and any(row[-1] for row in cone.sums)):
            return None
        return _Search(self, k, problem, G)

    def weights(self, k: int, goal: Array, c: float, enough: float) -> Weights:
        """Return rows, and multipliers that bound a goal as well as possible, or by ``enough``; c is what b adds."""
        data, sign = self.cones.data, np.where(self.cones.on[k], 1.0, -1.0)
        residual, active = self.cones.project(np.array([k]), goal[None], np.array([c]))
        if self.p == 1 and np.abs(residual).max() > enough:
            weights = _least_entry(sign[:, None] * data, goal, sign if self.free else None, c)
            if weights is not None:
                return np.arange(len(data)), weights
        rows, first = active[0][active[0] >= 0].astype(np.intp), int(self.free)
        # the first active row of a free bias takes what the others leave of the equation
        base = data[rows[0]] if self.free else np.zeros_like(goal)
        S, target = sign[rows[first:], None] * (data[rows[first:]] - base), c * base - goal
        weights, lengths, scale = np.zeros(len(rows)), np.linalg.norm(S, axis=1), float(np.linalg.norm(target))
        if len(S) and scale and lengths.all():
            weights[first:] = nnls((S / lengths[:, None]).T, target / scale)[0] * scale / lengths
        if self.free:
            weights[0] = max(0.0, sign[rows[0]] * (-c - sign[rows] @ weights))
        return rows, weights


class _Search:
    """The search for multipliers of a pattern, with goals G (D, C) for directions of outputs."""

    def __init__(self, witness: ConeWitness, k: int, problem: Problem, G: Array) -> None:
        self.witness, self.k, self.G, self.problem = witness, k, G, problem
        self.multipliers: dict[str, list[tuple[int, int]]] = {}
        self.cone = Cone(problem, witness.cones.on[k].tolist(), {"multipliers": {}})
        self.cone.limit += self.cone.limit >> _TOL_BITS
        self.cells: Stated = {}
        self.count = 0
        axes = axes_of(problem)
        if len(axes) > _MAX_OUTPUTS:
            rule, value = f"of at most {_MAX_OUTPUTS} independent outputs over given patterns", describe(f"{len(axes)}")
            raise fail("certificate", "the proof", rule, value, "Gated networks have exact proofs for any number.")
        for signs in product((1, -1), repeat=len(axes)):
            cell = self._halved([tuple(s * x for x in axis) for s, axis in zip(signs, axes, strict=True)])
            if cell:
                self.cells[name(signs)] = cell

    def _halved(self, corners: list[Corner]) -> list[object]:
        """Return the halves of a cell as a proof states them; an empty list for a whole one."""
        for a in corners:
            if name(a) not in self.multipliers:
                self.multipliers[name(a)] = self._rounded(a)
                self.cone.multipliers = self.stated(1)["multipliers"]
                self._admit(a)
        self.count += 1
        if len(corners) == 1 or all(map(is_copositive, self.cone.forms(corners))):
            return []
        if self.count > _MAX_CELLS or max(abs(x) for a in corners for x in a) > _MAX_CORNER:
            raise ArithmeticError(f"{_MAX_CELLS:,} cells of directions do not bound the outputs of a pattern")
        lengths = np.linalg.norm(np.array(corners, dtype=float), axis=1)
        unit = np.array(corners, dtype=float) / lengths[:, None]
        first, second = min(combinations(range(len(corners)), 2), key=lambda jk: float(unit[jk[0]] @ unit[jk[1]]))
        shift = round(np.log2(lengths[second] / lengths[first]))  # sums of corners of other lengths hardly halve
        middle = between(corners[first], corners[second], shift)
        halves = ([middle if k == corner else a for k, a in enumerate(corners)] for corner in (second, first))
        return [str(first), str(second), str(shift), *map(self._halved, halves)]

    def _admit(self, a: Corner) -> None:
        """Raise the limit for a corner whose multipliers are inexact, as no halving makes up for it."""
        rho = self.cone.bound(a)
        square = dot(rho, rho) if self.witness.p == 2 else max(map(abs, rho)) ** 2
        needed = square // dot(a, a) + 1
        self.cone.limit = max(self.cone.limit, needed + (needed >> _TOL_BITS))

    def _rounded(self, a: Corner) -> list[tuple[int, int]]:
        """Return rows and multipliers on the grid of the dual point, of which one balances a free bias."""
        denominator, free = self.problem.theta.denominator, self.witness.free
        share = sum(x * row[-1] for x, row in zip(a, self.cone.sums, strict=True)) if free else 0
        direction = np.array(a, dtype=float)
        enough = float(self.problem.radius) * float(np.linalg.norm(direction)) * (1 - _MARGIN)
        rows, weights = self.witness.weights(self.k, self.G @ direction, share / denominator, enough)
        numerators = [round(Fraction(float(w)) * denominator) for w in weights]
        sign = [1 if on else -1 for on in self.witness.cones.on[self.k, rows]]
        missing = -share - sum(s * m for s, m in zip(sign, numerators, strict=True)) if free else 0
        if missing and len(rows):
            best = max(range(len(rows)), key=lambda j: numerators[j] + sign[j] * missing)
            numerators[best] += sign[best] * missing
        return list(zip(rows.tolist(), numerators, strict=True))

    def stated(self, factor: int) -> Stated:
        """Return cells and multipliers, times a factor, as a proof states them."""
        return {
            "cells": self.cells,
            "multipliers": {a: [[str(i), str(factor * m)] for i, m in own if m] for a, own in self.multipliers.items()},
        }


def _least_entry(S: Array, goal: Array, sign: Array | None, c: float) -> Array | None:
    """Return the multipliers of the least largest entry of goal + Sᵀλ, S (n, D), with sign·λ = -c if given.

    None if HiGHS gives up. A second program improves the multipliers by the tolerance times what they leave, which far
    from 0 is little.
    """
    (n, D), weights = S.shape, np.zeros(len(S))
    largest = np.abs(S).max() if sign is not None else np.abs(S).max(axis=1)  # without an equation each row by itself
    unit = np.where(largest > 0, largest, 1.0)
    A = np.concatenate([np.column_stack([side * S.T / unit, -np.ones(D)]) for side in (1, -1)])
    for _ in range(2):
        rest, missing = goal + S.T @ weights, 0.0 if sign is None else -c - float(sign @ weights)
        scale = max(float(np.abs(rest).max()), abs(missing) * float(unit.max()))
        if not scale:
            break
        equation = {} if sign is None else {"A_eq": np.append(sign, 0.0)[None], "b_eq": [missing * float(unit) / scale]}
        limits, ends = np.concatenate([-rest, rest]) / scale, [*(-weights * unit / scale).tolist(), 0.0]
        solution = linprog(
            np.append(np.zeros(n), 1.0),
            A_ub=A,
            b_ub=limits,
            **equation,
            bounds=[(end, None) for end in ends],
            method="highs-ds",
            options=_TOLERANCES,
        )
        if solution.x is None:  # numbers too far apart: what there is stays
            return weights if weights.any() else None
        weights = np.maximum(weights + solution.x[:n] * scale / unit, 0)
    return weights


class SimplexWitness:
    """The function that states all neurons for a dual point: cones whose bounds are at most the radius.

    ``radius`` is the largest correlation that a neuron of norm one may have. A search takes at most ``most``
    multiplications.
    """

    def __init__(self, pricer: SimplexPricer, radius: Fraction, most: float) -> None:
        self.pricer, self.radius = pricer, float(radius) * _BELOW
        self.max_splits, self.failures = int(most / (pricer.X.size + _SPLIT)), 0

    def __call__(self, dual: DualPoint) -> Stated:
        """Return the family; one that is not a proof where no tree was found.

        Raises ArgumentError: no search of many has found one.
        """
        trees = self.pricer.witness(dual.doubles(), self.radius, self.max_splits)
        if trees is not None:
            return stated_trees(*trees)
        self.failures += 1
        if self.failures > _MOST_SEARCHES:
            value = describe("bounds by branch and bound in double precision that stay above the radius")
            raise fail("certificate", "the proof", "of a family that has an exact proof", value)
        return {"kind": "simplices", "denominator": "1", "nodes": []}


def stated_trees(splits: NDArray[np.intp], leaves: SimplicialCones) -> Stated:
    """Return the trees of a search as a proof states them, each node before its halves."""
    vectors, denominator = over_common_denominator(leaves.vectors)
    references = over_common_denominator(leaves.references)[0]
    numbers = {node: [*v, *r] for node, v, r in zip(leaves.nodes.tolist(), vectors, references, strict=True)}
    numbers |= {node: [i, j, s - t] for node, i, j, s, t, _ in splits.tolist()}
    children = {node: [child + 1, child] for node, *_, child in splits.tolist()}
    nodes, waiting = [], list(range(len(numbers) - 2 * len(children)))[::-1]
    while waiting:
        node = waiting.pop()
        waiting += children.get(node, [])
        nodes.append(" ".join(map(str, numbers[node])))
    return {"kind": "simplices", "denominator": str(denominator), "nodes": nodes}


def kernel_network(claim: KernelClaim, X: Any) -> tuple[Array, Stated]:
    """Return the rows (n, D) without the constant feature, and the network as a proof states it.

    Rows are standardized, and multiplied by the frame of a learned metric, in double precision; the proof is one for
    the results, as exact numbers. A duplicate of a row has the coefficients 0.

    Raises ArgumentError: the bound is over landmarks; rows are known by their products alone; or the network has rows
    that are not among X.
    """
    network = claim.network
    if claim.landmarks:
        raise _refused(f"a bound over the span of {len(network.rows):,} landmarks", "Fit at most 3000 unique rows.")
    if isinstance(network.standard, RowSpan):
        raise _refused("rows of more columns than rows, known by their products", "Select columns, or reduce them.")
    rows = network.standard.rows(X) + 0.0  # no negative zeros
    unique, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    number = {row.tobytes(): i for row, i in zip(unique, first, strict=True)}
    alpha = np.zeros((len(rows), network.alpha.shape[1]))
    for row, coefficients in zip(network.rows + 0.0, network.alpha, strict=True):
        if row.tobytes() not in number:
            raise _refused("a network of other rows", "Pass the training rows.")
        alpha[number[row.tobytes()]] += coefficients
    z = np.asarray(network.kernel.features(unique), dtype=np.float64)[place.ravel()]
    stated = {"kind": "kernel", "alpha": table(alpha), "t": table(network.intercept[None])}
    return z[:, :-1] if network.kernel.bias else z, stated


def kernel_family(claim: KernelClaim, X: Any) -> Stated:
    """Return the family as a proof states it, with the levels of rows X (n, d) where there are steps."""
    network = claim.network
    family: Stated = {"kind": "kernel"}
    if not network.kernel.steps:
        return family
    levels = np.asarray(network.kernel.parts(network.standard.rows(X))[1], dtype=np.float64)
    family |= {"steps": rational(network.kernel.steps), "levels": table(levels)}
    return family | {"boxes": True} if network.kernel.decay else family


def kernel_operations(rows: Array, family: Stated) -> int:
    """Return the multiplications that take as long as the kernel of rows (n, D) with the steps of a family."""
    unique = len(np.unique(rows, axis=0))
    levels = len(family["levels"]["numerators"][0]) if "levels" in family else 0
    pair = rows.shape[1] + levels + _ARCTANGENT + _EXPONENTIAL * family.get("boxes", False)
    return int(unique * (unique + 1) // 2 * pair)


def _refused(what: str, hint: str) -> Exception:
    return fail("certificate", "the proof", _RULE, describe(what), hint)
