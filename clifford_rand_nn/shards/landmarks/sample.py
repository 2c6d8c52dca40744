"""What a sample of some thousand rows in memory decides: how rows are scaled, the law of the gates, the landmarks."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.candidates import Candidate, Problem, choose
from clifford_rand_nn.kernel_network.kernel import GateKernel
from clifford_rand_nn.kernel_network.large_n.landmarks import spread_rows
from clifford_rand_nn.kernel_network.metric.metric_frame import learn_frame
from clifford_rand_nn.kernel_network.metric.metric_selection import LearnedRounds, learned_rounds
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.kernel_network.training import COMPARED, Mistakes
from clifford_rand_nn.row_sums.sums import Block
from clifford_rand_nn.row_sums.targets import Targets
from clifford_rand_nn.shards.landmarks.terms import row_weights
from clifford_rand_nn.shards.scan import Facts, Sample
from clifford_rand_nn.sparse_rows import merged_rows

HELD = 4000  # rows that beta is judged on, or a tenth
_LEARNED = 3000  # rows that gates are learned from
_CANCELLED = 1e-6  # of the mean square of a column: a variance below, as a difference of sums, has lost its digits


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows of the sample in memory, with their targets.

    Attributes
    ----------
    index : (k,) int
        Among all rows.
    X : (k, d)
        As they come, float64.
    targets : (k, C)
    weights : (k,)
        Of mean 1 over all rows.
    """

    index: NDArray[np.int64]
    X: Array
    targets: Array
    weights: Array

    def take(self, rows: NDArray[np.intp]) -> "Drawn":
        """Return some of them."""
        return Drawn(self.index[rows], self.X[rows], self.targets[rows], self.weights[rows])

    def __len__(self) -> int:
        return len(self.index)


def block_of(sample: Sample, rows: NDArray[Any]) -> Block:
    """Return some rows of a sample as a block."""
    assert sample.y is not None
    return Block(sample.X[rows], sample.y[rows], None if sample.weights is None else sample.weights[rows], 0)


def parted(facts: Facts, targets: Targets, owner: str) -> tuple[Drawn, Drawn]:
    """Return the rows of the sample that count, those to learn from and those held out, each spread as by chance."""
    sample = facts.sample
    block = Block(sample.X, sample.y, sample.weights, 0)
    every = Drawn(sample.rows, sample.X.astype(np.float64), targets.of(block), row_weights(targets, block))
    every = every.take(np.flatnonzero(every.weights > 0))
    order = spread_rows(len(every), len(every))
    held = min(HELD, max(2, facts.n // 10), len(every) // 2)  # of one row R² is not defined
    if held < 1:
        found = describe(f"{len(every)} of weight > 0")
        raise fail("shards", owner, "at least ten rows", found, "Fit so few as arrays.")
    return every.take(order[held:]), every.take(np.sort(order[:held]))


@dataclass(frozen=True, eq=False)
class Chosen:
    """What the sample decided.

    Attributes
    ----------
    standard : Standardization
    kernel : GateKernel
    candidates : list of Candidate
        Of scalings and constant features, best first.
    rounds : LearnedRounds or None
        With rows as indices among all.
    metric : (d, d) or None
    rows : Drawn
        Rows that differ, landmarks among the first of them.
    """

    standard: Standardization
    kernel: GateKernel
    candidates: list[Candidate]
    rounds: LearnedRounds | None
    metric: Array | None
    rows: Drawn


def chosen_by(
    facts: Facts, learn: Drawn, beta: float | None, rounds: int, mistakes: Mistakes | None, owner: str
) -> Chosen:
    """Choose as a fit in memory does, but that columns are standardized by the sums of all rows."""
    problem, rows = _distinct(learn)
    if len(rows) < 2:
        raise fail("X", owner, "at least two rows that differ, so that one can be left out", describe("one sample"))
    few = np.sort(spread_rows(len(rows), min(len(rows), COMPARED)))
    best, table = choose(problem.take(few), beta)
    found = best.candidate
    standard = _standard(facts, problem, found.scaling)
    seen = standard.rows(problem.X)
    length = np.average(np.einsum("ij,ij->i", seen, seen), weights=problem.weights)
    kernel = GateKernel(bias=float(found.bias * np.sqrt(length if length > 0 else 1.0)))
    carried = found.beta * found.n / len(rows) if beta is None else beta
    told, metric = None, None
    if rounds:
        told = learned_rounds(
            kernel, seen, problem.targets, carried, weights=problem.weights, rounds=rounds, mistakes=mistakes
        )
    if told is not None and told.rounds:
        some = np.sort(spread_rows(len(rows), min(len(rows), _LEARNED)))
        part = problem.take(some)
        learned = learn_frame(
            kernel,
            seen[some],
            part.targets,
            carried * len(rows) / len(some),
            rounds=told.rounds,
            shape=told.shape,
            factors=told.factors if beta is None else None,
            weights=part.weights,
        )
        kernel, metric = learned.kernel, learned.metric
    if told is not None:
        told = replace(told, rows=rows.index[told.rows].astype(np.intp), folds=())
    return Chosen(standard, kernel, table, told, metric, rows)


def _distinct(rows: Drawn) -> tuple[Problem, Drawn]:
    """Return the problem of rows that differ, with the mean targets of copies, and these rows in their order."""
    first, place = merged_rows(rows.X)
    order = np.argsort(first)
    mass = np.bincount(place, rows.weights)
    means = np.stack([np.bincount(place, rows.weights * column) for column in rows.targets.T], axis=1) / mass[:, None]
    mass = mass[order]
    weights = None if (mass == mass[0]).all() else mass / mass.mean()
    kept = rows.take(first[order])
    return Problem(kept.X, means[order], weights), kept


def _standard(facts: Facts, problem: Problem, scaling: str) -> Standardization:
    """Return the standardization by the sums of all rows, of columns that vary in the sample.

    A column that is constant there is left out, as no landmark could tell what it is for. Where the variance is a small
    difference of large sums, that of the sample stays.
    """
    sampled = Standardization.of(problem.X, scaling, problem.weights)
    own = Standardization.of(problem.X, "column", problem.weights)
    mean, square = facts.sums / facts.weight, facts.squares / facts.weight
    with np.errstate(over="ignore", invalid="ignore"):
        variance = square - mean**2
        exact = np.isfinite(variance) & (variance > _CANCELLED * square) & (own.rate > 0)
    deviation = np.where(exact, np.sqrt(np.where(exact, variance, 0.0)), 0.0)
    rough = (own.rate > 0) & ~exact
    deviation[rough] = 1 / own.rate[rough]
    mean = np.where(exact, mean, sampled.mean)
    varies = deviation > 0
    if scaling == "common" and varies.any():
        top = float(deviation[varies].max())
        deviation = np.where(varies, top * np.sqrt(np.mean((deviation[varies] / top) ** 2)), 0.0)
    rate = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
    return Standardization(mean, np.where(np.isfinite(rate), rate, 0.0), sampled.bound)
