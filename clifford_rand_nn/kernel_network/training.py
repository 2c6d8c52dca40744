"""From distinct rows to a network: what is chosen, the fit, what is proved, and what fits without a row say."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn._progress import phase, step_callback
from clifford_rand_nn.kernel_network.candidates import (
    BetaSearch,
    Candidate,
    Compared,
    Problem,
    beta_for,
    choose,
    compare,
    kernel_parameters,
    level,
)
from clifford_rand_nn.kernel_network.cholesky import KernelRidge, LeftOutFit, spread
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.kernel_products import KernelTiles, spread_rows
from clifford_rand_nn.kernel_network.leave_one_out import Judged, judge, null_value
from clifford_rand_nn.kernel_network.many_rows import LIMITS, ManyRowsSolution, solve_many
from clifford_rand_nn.kernel_network.metric_folds import Fold, outer_parts
from clifford_rand_nn.kernel_network.metric_frame import SHAPES, LearnedGates, change_rates, learn_frame
from clifford_rand_nn.kernel_network.metric_selection import MetricComparison, MetricSelection, compare_metrics
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.kernel_network.standardization import RowSpan, is_wide
from clifford_rand_nn.rounding import rounding_of_form
from clifford_rand_nn.solvers.base import HistoryRow, Status

COMPARED = 1000  # rows on which candidates are compared, if there are more
DECOMPOSED = 3000  # rows up to which a fit is one factor of all, and other losses are there
LEARNED = 2000  # rows that gates are learned from, if there are more, and others that compare betas
_UNSEEN = 800  # rows, at least, that are left to say how good learned gates are
_AROUND = 0.25, 4.0, 1.0  # times beta: what is compared on all rows, or on 6,000 of them
_LEAST_OUT_OF_SAMPLE = 200  # rows, at least, from which a promise is made
_LOST = 1e-9  # of the objective, by which rounding of alpha may move it: a thousandth of a gap that is said
_NULL = 16 * np.finfo(np.float64).eps  # of the largest eigenvalue: one below is rounding
_REPORTED_GAP, _NO_GAP = 1e-5, 1e-9  # a gap that is said: of the objective, and of that of the network without neurons
_ROUNDED = (
    "rounding leaves a relative gap of {:.1e}, where rows near each other differ in their targets; try a larger beta"
)
_ALL = "all gated networks whose gates have the kernel's distribution, in the limit of infinite width"


Mistakes = Callable[[Array, Array], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Choices:
    """Arguments: beta or None, most iterations of a learned metric, what a mistake is, seconds and bytes or None."""

    beta: float | None
    max_metric_iter: int
    mistakes: Mistakes | None = None
    max_time: float | None = None
    max_memory: float | None = None
    shapes: tuple[str, ...] = SHAPES  # of learned gates


@dataclass(frozen=True, eq=False)
class Trained:
    """A network on distinct rows, and what is known of it.

    ``primal``, ``dual``: objective and lower bound, in the 1/n scale of the distinct rows. ``outputs`` (n, C):
    predictions of fits that did not see the row, where ``out_of_sample``, by fits that made all the same choices, and
    ``left`` (n,) what the row is left of its residual by a fit that does, 1 - H of the row, if it is known, else 1.
    ``history``: of the solver, from the best constant on; of an eigendecomposition it is the second and last.
    """

    network: KernelNetwork
    rows: NDArray[np.intp]  # (k,), the distinct row that each row of the network is
    beta: float
    primal: float
    dual: float
    dual_point: Array  # (n, C)
    landmarks: bool  # whether the problem that was solved is that of functions in the span of the network's rows
    outputs: Array
    left: Array
    out_of_sample: NDArray[np.bool_]  # (n,)
    compared: Compared | None  # the best before gates were learned, on these rows; None for many rows
    candidates: list[Candidate]
    metric_selection: MetricSelection | None
    metric: Array | None  # (d, d)
    scope: str  # over what the dual value is a bound
    reason: str  # how the problem was solved, and what is approximated
    message: str = ""  # why it was ended before its tolerance, if it was
    history: tuple[HistoryRow, ...] = ()
    status: Status = Status.OPTIMAL  # of the solver


def train(problem: Problem, choices: Choices) -> Trained:
    """Select scaling, constant feature, beta and metric by leave-one-out and held-out rows; solve; bound.

    An output of which all targets are one number is that number, and says nothing of what is chosen: as a mean of
    numbers it would be off by its rounding, which is then all there is to fit, to compare and to bound.
    """
    height = level(problem.targets)
    trained = _train(replace(problem, targets=problem.targets - height), choices)
    network = replace(trained.network, intercept=trained.network.intercept + height)
    return replace(trained, network=network, outputs=trained.outputs + height)


def _train(problem: Problem, choices: Choices) -> Trained:
    began = time.perf_counter()
    n = problem.X.shape[0]
    few = np.sort(spread_rows(n, min(n, COMPARED)))
    with ONE_BLAS_THREAD:  # threads of BLAS gain nothing on eigenvectors (`of_each`); without them bits are the same
        best, table, selection = choose_kernel(problem, few, choices)
        if n <= DECOMPOSED:
            return _few(problem, best, table, choices, selection, began)
    return _many(problem, few, best, table, choices, selection, began)


def choose_kernel(
    problem: Problem, few: NDArray[np.intp], choices: Choices
) -> tuple[Compared, list[Candidate], MetricSelection | None]:
    """Return the best candidate, all that were compared, it first, and the metric selection if one is wanted.

    Candidates are compared on a few rows; metrics on all, or on 2000 of more than 3000. Of the best without steps,
    with gates in single columns and with gates in boxes the metric decides, which is learned with each: one that
    leave-one-out puts behind another is taken if it gains a metric with which the error on held-out rows is less by
    more than its standard error, with no more mistakes.
    """
    began = time.perf_counter()
    until = None if choices.max_time is None else began + choices.max_time / 2
    n, part = len(problem.targets), problem.take(few)
    phase("comparing scalings and constant features by leave-one-out")
    kinds, table = choose(part, choices.beta, until=until, n_rows=n)
    best = kinds[0] if n <= DECOMPOSED else _on_all_rows(part, kinds[0], choices.beta)
    wide = n > DECOMPOSED and is_wide(*problem.X.shape)  # the metric of the gates would be a square of the columns
    if not choices.max_metric_iter or wide or _is_short(choices, began):
        return best, table, None
    if isinstance(best.standard, RowSpan):  # its coordinates mix the columns, so half an entry means nothing
        choices = replace(choices, shapes=SHAPES[:1])
    phase("comparing learned metrics on held-out rows")
    judged = few if n <= DECOMPOSED else np.sort(spread_rows(n, LEARNED))
    judging = problem if n <= DECOMPOSED else problem.take(judged)
    tried: list[tuple[Compared, MetricComparison]] = []
    place = 0  # of the best so far
    for compared in kinds:
        compared = _on_all_rows(judging, compared, choices.beta)
        rows, beta = replace(compared.problem, X=compared.rows, statistics=None), compared.candidate.beta
        rival = tried[place][1] if tried else None
        comparison = compare_metrics(
            compared.kernel, rows, beta, choices.max_metric_iter, choices.shapes, choices.mistakes, rival
        )
        tried.append((compared, comparison))
        if comparison.is_learned and comparison.gains_on(tried[place][1]):
            place = len(tried) - 1
    table.sort(key=lambda candidate: candidate is not kinds[place].candidate)  # it first, the others in their order
    best, comparison = tried[place]
    selection = comparison.selection(_n_learned(problem) == n)
    if n > DECOMPOSED:
        selection = replace(selection, rows=judged[selection.rows], folds=())
        best = _on_all_rows(part, best, choices.beta)
    return best, table, selection


def _on_all_rows(problem: Problem, compared: Compared, beta: float | None) -> Compared:
    """Return a candidate, with the score that it has on a few rows, for all of them."""
    candidate, n = compared.candidate, len(problem.targets)
    if candidate.n_rows == n:
        return compared
    standard, rows, kernel = problem.kernel_rows(*kernel_parameters(candidate))
    beta = beta_for(candidate, n) if beta is None else beta
    return Compared(candidate._replace(beta=beta, n_rows=n), problem, standard, rows, kernel)


def _few(
    problem: Problem,
    best: Compared,
    table: list[Candidate],
    choices: Choices,
    selection: MetricSelection | None,
    began: float,
) -> Trained:
    """Train by a Cholesky factor, or by eigenvectors where beta is too small for one."""
    n = problem.X.shape[0]
    weights = np.ones(n) if problem.weights is None else problem.weights
    metric, out_of_sample = None, np.ones(n, dtype=bool)
    if selection is not None and selection.is_learned:
        seen = np.sort(spread_rows(n, _n_learned(problem)))
        learned = learned_gates(best.kernel, best.rows, problem, best.candidate.beta, choices, seen, selection)
        kernel, metric, beta = learned.kernel, learned.metric, learned.beta
        belongs = outer_parts(np.asarray(kernel.gated(best.rows), dtype=np.float64), problem.targets, None, n)[1]
        unseen = np.flatnonzero(~np.isin(belongs, belongs[seen]))
        fit = left_out_fit(replace(best, kernel=kernel), beta, unseen)
        if len(unseen):
            fold = Fold(kernel, seen, unseen)
            selection = replace(selection, rows=unseen, predictions=fit.outputs, left=fit.left, folds=(fold,))
        # rows that the gates were learned from are fitted: leave-one-out with these gates would say too much
        outputs, left = problem.targets - n * beta * fit.alpha / weights[:, None], np.ones(n)
        outputs[selection.rows], out_of_sample = selection.predictions, np.zeros(n, dtype=bool)
        left[selection.rows] = 1.0 if selection.left is None else selection.left
        out_of_sample[selection.rows] = True
        reason = "one Cholesky factorization, with the learned gates"
    else:
        if table[0].n_rows < n:  # it was compared on fewer
            phase(f"comparing betas on {n:,} rows")
            best, fit = beta_of_all_rows(problem, best, choices.beta)
            table = [best.candidate, *table]
        else:
            fit = left_out_fit(best, best.candidate.beta)
        kernel, beta, outputs, left = best.kernel, best.candidate.beta, fit.outputs, fit.left
        reason = "one Cholesky factorization for each beta" if fit.by_factor else "every beta by one eigendecomposition"
    diagonal, tiles = kernel.diagonal(best.rows), KernelTiles(kernel, best.rows)

    def judged_by_products(alpha: Array) -> tuple[Array, Judged]:
        # by K alpha, as the network predicts: no bound includes the error of an eigendecomposition, n eps |K|
        alpha = alpha - alpha.mean(axis=0)
        return alpha, judge(tiles.multiply(alpha), alpha, problem.targets, weights, beta, diagonal)

    alpha, judged = judged_by_products(fit.alpha)
    if beta * rounding_of_form(diagonal, alpha).sum() > _LOST * judged.objective:
        # the residual over beta in the null space of K is most of alpha, and K alpha is the rounding of it
        bound = judged.bound
        alpha, judged = judged_by_products(replace(best, kernel=kernel).loo.fit(beta, _NULL)[0])
        judged = judged._replace(bound=bound)
    zero = null_value(problem.targets, weights)
    end, gap = judged.objective, max(judged.objective - judged.bound.value, 0.0)
    share = gap / end if end > 0 else 0.0
    lost = _is_lost(gap, end, zero)
    ends = HistoryRow(0, 0.0, zero, 1.0), HistoryRow(1, time.perf_counter() - began, end, share)
    return Trained(
        network=KernelNetwork(best.standard, kernel, best.rows, alpha, judged.intercept),
        rows=np.arange(n),
        beta=beta,
        primal=judged.objective,
        dual=judged.bound.value,
        dual_point=judged.bound.theta,
        landmarks=False,
        outputs=outputs,
        left=left,
        out_of_sample=out_of_sample,
        compared=best,
        candidates=table,
        metric_selection=selection,
        metric=metric,
        scope=_ALL,
        reason=reason,
        message=_ROUNDED.format(share) if lost else "",
        history=ends,
        status=Status.STALLED if lost else Status.OPTIMAL,
    )


def left_out_fit(compared: Compared, beta: float, rows: NDArray[np.intp] | None = None) -> LeftOutFit:
    """Return the fit of a kernel, and what some rows, or all, are predicted to be without each, or its group."""
    problem, every = compared.problem, np.arange(len(compared.rows))
    n, rows = len(every), every if rows is None else rows
    ridge = KernelRidge(compared.kernel(compared.rows), problem.weights)
    if n * beta >= ridge.least:
        return ridge.left_out(problem.targets, n * beta, rows, every if problem.groups is None else problem.groups)
    loo = compared.loo
    left = loo.left(beta) if problem.groups is None else np.ones(n)
    return LeftOutFit(loo.predictions(np.array([beta]))[0][rows], left[rows], loo.fit(beta)[0], by_factor=False)


def beta_of_all_rows(problem: Problem, few: Compared, beta: float | None) -> tuple[Compared, LeftOutFit]:
    """Return a candidate that was compared on few rows for all of them, and its fit.

    Its beta is the best of those beside the one that the few rows found, each by one factorization. Where one would be
    too small for that, all are compared by an eigendecomposition.
    """
    compared = _on_all_rows(problem, few, beta)
    ridge = KernelRidge(compared.kernel(compared.rows), problem.weights)
    betas = BetaSearch(problem, ridge, compared.candidate.beta, only=beta is not None).best()
    if betas is None:
        best = compare(problem, *kernel_parameters(compared.candidate), beta=beta)
        return best, left_out_fit(best, best.candidate.beta)
    candidate = compared.candidate._replace(beta=betas.beta, mean_loss=betas.score)
    return replace(compared, candidate=candidate), betas.fit


def _n_learned(problem: Problem) -> int:
    """Return from how many rows gates are learned: beyond 2,000 others are left that say how good these are.

    Of groups all, as rows of one group say nothing of each other.
    """
    n = len(problem.targets)
    return n if n <= LEARNED or problem.groups is not None else min(LEARNED, n - _UNSEEN)


def _is_short(choices: Choices, began: float) -> bool:
    """Whether less time is left than the comparison took: learning gates takes several times as long."""
    return choices.max_time is not None and 2 * (time.perf_counter() - began) > choices.max_time


def _many(
    problem: Problem,
    compared: NDArray[np.intp],
    best: Compared,
    table: list[Candidate],
    choices: Choices,
    selection: MetricSelection | None,
    began: float,
) -> Trained:
    """Train where there are too many rows for eigenvectors; beta is carried from the rows that were compared.

    Where ``max_time`` ends the solver, the fit to these rows alone is the network if its objective is lower.
    """
    n, chosen = problem.X.shape[0], best.candidate
    standard, rows, kernel = problem.kernel_rows(*kernel_parameters(chosen))
    beta = beta_for(chosen, n) if choices.beta is None else choices.beta
    few = np.sort(spread_rows(n, LEARNED))
    if _is_short(choices, began):
        selection = None
    metric, unlearned = None, np.ones(n, dtype=bool)
    if selection is not None and selection.is_learned:
        learned = learned_gates(kernel, rows, problem, beta, choices, few, selection)
        kernel, metric = learned.kernel, learned.metric
        unlearned[few] = False
    if choices.beta is None:
        beta = _beta_of_part(problem, rows, kernel, beta)
    phase(f"solving for {n:,} rows")
    solution = solve_many(
        kernel,
        rows,
        problem.targets,
        problem.weights,
        # of groups beta is final: solve_many leaves out rows one by one
        betas=tuple(share * beta for share in (_AROUND if problem.groups is None and choices.beta is None else (1.0,))),
        limits=replace(LIMITS, max_time=choices.max_time, max_memory=choices.max_memory).after(
            time.perf_counter() - began, callback=step_callback(LIMITS.tol)
        ),
    )
    if solution.status is Status.MAX_TIME:
        solution = _better_fit(solution, kernel, rows, compared, problem, beta)
    outputs, left, out_of_sample = solution.fitted.copy(), np.ones(n), np.zeros(n, dtype=bool)
    outputs[solution.unseen_rows], out_of_sample[solution.unseen_rows] = solution.unseen, True
    left[solution.unseen_rows] = 1.0 if solution.left is None else solution.left
    out_of_sample &= unlearned
    # with groups, other rows of the same group were seen
    if problem.groups is not None or out_of_sample.sum() < _LEAST_OUT_OF_SAMPLE:
        out_of_sample[:], left[:] = False, 1.0
        if selection is not None:
            outputs[selection.rows], out_of_sample[selection.rows] = selection.predictions, True
            left[selection.rows] = 1.0 if selection.left is None else selection.left
        else:
            outputs[compared], left[compared] = left_out_fit(best, chosen.beta)[:2]
            out_of_sample[compared] = True
    landmarks = solution.way == "landmarks"
    zero = null_value(problem.targets, np.ones(n) if problem.weights is None else problem.weights)
    short = solution.status is not Status.OPTIMAL and _is_lost(solution.duality_gap, solution.objective, zero)
    return Trained(
        network=KernelNetwork(standard, kernel, rows[solution.centers], solution.alpha, solution.intercept),
        rows=solution.centers,
        beta=solution.beta,
        primal=solution.objective,
        dual=solution.objective - solution.duality_gap,
        dual_point=solution.dual_point,
        landmarks=landmarks,
        outputs=outputs,
        left=left,
        out_of_sample=out_of_sample,
        compared=None,
        candidates=table,
        metric_selection=selection,
        metric=metric,
        scope=solution.scope if landmarks else _ALL,
        reason=f"{solution.reason}. No gates were learned for so many columns"
        if is_wide(*problem.X.shape)
        else solution.reason,
        message=solution.message if short or solution.status.ends_all else "",
        history=solution.history,
        status=solution.status,
    )


def _beta_of_part(problem: Problem, rows: Array, kernel: GateKernel, near: float) -> float:
    """Return beta by leave-one-out on 2,000 rows, none of which the metric was learned from if there are 4,000."""
    n = len(rows)
    some = np.sort(spread_rows(n, n)[-LEARNED:])
    part = problem.take(some)
    ridge = KernelRidge(kernel(rows[some]), part.weights, single=True)
    betas = BetaSearch(part, ridge, near * n / len(some)).best()
    return near if betas is None else betas.beta * len(some) / n


def _better_fit(
    solution: ManyRowsSolution,
    kernel: GateKernel,
    rows: Array,
    few: NDArray[np.intp],
    problem: Problem,
    beta: float,
) -> ManyRowsSolution:
    """Return a solution, or the direct fit to a few rows where its objective for all rows is lower."""
    n, part = len(rows), problem.take(few)
    alpha = np.zeros(problem.targets.shape)
    alpha[few] = KernelRidge(kernel(rows[few]), part.weights).fit(part.targets, n * beta)[0]
    fitted = KernelTiles(kernel, rows[few]).multiply_from(rows, alpha[few])
    weights = np.ones(n) if problem.weights is None else problem.weights
    judged = judge(fitted, alpha, problem.targets, weights, beta, kernel.diagonal(rows))
    if judged.objective >= solution.objective:
        return solution
    gap = max(judged.objective - judged.bound.value, 0.0)
    fit = f"a direct fit to {len(few):,} of {n:,} rows" if len(few) < n else f"a direct fit to all {n:,} rows"
    return replace(
        solution,
        centers=few,
        alpha=alpha[few],
        intercept=judged.intercept,
        beta=beta,
        fitted=fitted + judged.intercept,
        unseen_rows=few[:0],
        unseen=problem.targets[:0],
        left=None,
        objective=judged.objective,
        duality_gap=gap,
        relative_gap=gap / judged.objective,
        dual_point=judged.bound.theta,
        way="few rows",
        reason=f"{fit}, as max_time was over",
        message=f"max_time was over: the network is {fit}; try a larger max_time",
    )


def _is_lost(gap: float, objective: float, zero: float) -> bool:
    """Whether a gap is reported, beside the objective and that of the network without neurons."""
    return gap > max(_REPORTED_GAP * objective, _NO_GAP * zero)


def learned_gates(
    kernel: GateKernel,
    rows: Array,
    problem: Problem,
    beta: float,
    choices: Choices,
    few: NDArray[np.intp],
    selection: MetricSelection,
) -> LearnedGates:
    """Return the metric that was selected, and rates of boxes by the mean over folds, if they were."""
    part = problem.take(few)
    phase(f"learning the metric from {len(few):,} rows")
    own, beta = rows[few], beta * len(rows) / len(few)
    learned = learn_frame(
        kernel,
        own,
        part.targets,
        beta,
        shape=selection.shape,
        factors=selection.beta_factors if choices.beta is None else (1.0,) * len(selection.beta_factors),
        weights=part.weights,
    )
    if selection.rate_changes is None:
        return learned
    kernel = change_rates(learned.kernel, selection.rate_changes)
    factor = math.exp(selection.rate_changes[-1])
    size = spread(kernel(own))
    change = size / learned.spread * (factor if choices.beta is None else 1.0)
    return replace(learned, kernel=kernel, beta=learned.beta * change, spread=size)
