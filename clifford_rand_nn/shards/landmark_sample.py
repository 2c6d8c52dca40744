"""Choices from a sample of some thousand rows in memory: scaling, constant feature, gate distribution, landmarks."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.candidates import Candidate, Problem, beta_for, kernel_parameters
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.kernel_products import spread_rows
from clifford_rand_nn.kernel_network.metric_selection import MetricSelection
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.kernel_network.training import COMPARED, Choices, choose_kernel, learned_gates
from clifford_rand_nn.row_sums import Block, Targets
from clifford_rand_nn.shards.scan import Facts, Sample
from clifford_rand_nn.sparse_rows import group_means, merged_rows

HELD = 4000  # rows that beta is judged on, or a tenth
_LEARNED = 3000  # rows that gates are learned from
_CANCELED = 1e-6  # of the mean square of a column: a variance below, as a difference of sums, has lost its digits


@dataclass(frozen=True, eq=False)
class SampleRows:
    """Rows of the sample in memory, with their targets."""

    index: NDArray[np.int64]  # (k,): among all rows
    X: Array  # (k, d): unscaled, float64
    targets: Array  # (k, C)
    weights: Array  # (k,): of mean 1 over all rows

    def take(self, rows: NDArray[np.intp]) -> "SampleRows":
        """Return some of them."""
        return SampleRows(self.index[rows], self.X[rows], self.targets[rows], self.weights[rows])

    def stored(self, sample: Sample) -> Block:
        """Return the rows as they are stored, in their order here."""
        rows = np.searchsorted(sample.rows, self.index)
        assert sample.y is not None
        return Block(sample.X[rows], sample.y[rows], None if sample.weights is None else sample.weights[rows], 0)

    def __len__(self) -> int:
        return len(self.index)


def split_sample(facts: Facts, targets: Targets, owner: str) -> tuple[SampleRows, SampleRows]:
    """Return the rows of the sample that count, those to learn from and those held out, each spread as by chance."""
    sample = facts.sample
    block = Block(sample.X, sample.y, sample.weights, 0)
    rows = SampleRows(sample.rows, sample.X.astype(np.float64), targets.of(block), targets.row_weights(block))
    rows = rows.take(np.flatnonzero(rows.weights > 0))
    order = spread_rows(len(rows), len(rows))
    held = min(HELD, max(2, facts.n // 10), len(rows) // 2)  # of one row R² is not defined
    if held < 1:
        received = describe(f"{len(rows)} of weight > 0")
        raise fail("shards", owner, "at least ten rows", received, "Fit so few as arrays.")
    return rows.take(order[held:]), rows.take(np.sort(order[:held]))


@dataclass(frozen=True, eq=False)
class Selection:
    """Choices that the sample decided."""

    standard: Standardization
    kernel: GateKernel
    candidates: list[Candidate]  # of scalings and constant features, best first
    metric_selection: MetricSelection | None  # with rows as indices among all
    metric: Array | None  # (d, d)
    rows: SampleRows  # unique rows, landmarks among the first of them


def select_on_sample(facts: Facts, learn: SampleRows, choices: Choices, owner: str) -> Selection:
    """Choose as a fit in memory does; columns are standardized by the sums of all rows."""
    sample, rows = _unique_rows(learn)
    if len(rows) < 2:
        raise fail("X", owner, "at least two unique rows, so that one can be left out", describe("one sample"))
    problem = replace(sample, statistics=cache(lambda *scale: sample.statistics_by(_standard(facts, sample, *scale))))
    compared = np.sort(spread_rows(len(rows), min(len(rows), COMPARED)))
    best, table, metric_selection = choose_kernel(problem, compared, choices)
    chosen, metric = best.candidate, None
    standard, Z, kernel = problem.kernel_rows(*kernel_parameters(chosen), products=False)
    beta = beta_for(chosen, len(rows)) if choices.beta is None else choices.beta
    some = np.sort(spread_rows(len(rows), min(len(rows), _LEARNED)))
    if metric_selection is not None and metric_selection.is_learned:
        learned = learned_gates(kernel, Z, problem, beta, choices, some, metric_selection)
        kernel, metric = learned.kernel, learned.metric
    if metric_selection is not None:
        indices = rows.index[metric_selection.rows].astype(np.intp)
        metric_selection = replace(metric_selection, rows=indices, folds=())
    return Selection(standard, kernel, table, metric_selection, metric, rows)


def _unique_rows(rows: SampleRows) -> tuple[Problem, SampleRows]:
    """Return the problem of unique rows, with the mean targets of duplicates, and these rows in their order."""
    first, place = merged_rows(rows.X)
    order = np.argsort(first)
    mass = np.bincount(place, rows.weights)
    means = group_means(rows.targets, place, rows.weights)
    mass = mass[order]
    weights = None if (mass == mass[0]).all() else mass / mass.mean()
    unique = rows.take(first[order])
    return Problem(unique.X, means[order], weights), unique


def _standard(facts: Facts, problem: Problem, scaling: str, steps: bool) -> Standardization:
    """Return the standardization by the sums of all rows, of columns that vary in the sample.

    A column that is constant there is left out, as no landmark could tell what it is for. Where the variance is a small
    difference of large sums, that of the sample stays, and so do ranks.
    """
    sampled = Standardization.of(problem.X, scaling, problem.weights, steps)
    if sampled.scores is not None:
        return sampled
    own = Standardization.of(problem.X, "column", problem.weights)
    mean, square = facts.sums / facts.weight, facts.squares / facts.weight
    with np.errstate(over="ignore", invalid="ignore"):
        variance = square - mean**2
        exact = np.isfinite(variance) & (variance > _CANCELED * square) & (own.rate > 0)
    deviation = np.where(exact, np.sqrt(np.where(exact, variance, 0.0)), 0.0)
    rough = (own.rate > 0) & ~exact
    deviation[rough] = 1 / own.rate[rough]
    mean = np.where(exact, mean, sampled.mean)
    varies = deviation > 0
    if scaling == "common" and varies.any():
        top = float(deviation[varies].max())
        deviation = np.where(varies, top * np.sqrt(np.mean((deviation[varies] / top) ** 2)), 0.0)
    rate = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
    return sampled._replace(mean=mean, rate=np.where(np.isfinite(rate), rate, 0.0))
