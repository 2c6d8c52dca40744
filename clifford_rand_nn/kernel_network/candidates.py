r"""Scalings, constant features and values of beta, compared by leave-one-out."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from clifford_rand._threads import ONE_BLAS_THREAD, cached_property, for_each_slice
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.cholesky import KernelRidge, LeftOutFit, spread
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.kernel_products import spread_rows
from clifford_rand_nn.kernel_network.leave_one_out import Duplicates, LeaveOneOut
from clifford_rand_nn.kernel_network.standardization import SCALINGS, RowSpan, Standardization, by_products, is_wide

# Of fewer rows each is a knot of the map by which leave-one-out judges it, which promises too much: with 24 rows of
# three classes the accuracy on new rows fell from .59 to .54.
_FEWEST_RANKS = 64
SCREENED = 500  # rows on which all candidates are compared
FINALISTS, _CLOSE = 2, 1.05  # of each kind of gates, with so much of its least score, are compared on more rows
# Of candidates beside another, and within _CLOSE, so many have the best beta, the others their first one. On 34 tables
# that saves a quarter of the factors; with two it would be 37 %, and mean scores of 58 tables .0012 lower.
SEARCHED = 3
_CONSTANT = 64.0  # roundings of the largest target of an output: a range below is none
_Item = TypeVar("_Item")
_Value = TypeVar("_Value")
BIASES = (1.0, 0.3, 3.0, 0.0)  # constant features, in root mean square lengths of a row; the first is tried first
# Weights of gates in single columns or boxes, in mean square lengths of a row. The variance of a row in the space of
# Gaussian gates is some 0.6 square lengths, in that of steps 0.3 of their weight: one to four, one to one, and so on.
STEPS = (0.5, 2.0, 8.0, 32.0)
DECAYS = (4.0, 12.0)  # of gates in boxes: thresholds that cut the ranges of all columns, in the mean
_N_BETAS = 20  # a factor of some 4 from one to the next: the curve has no narrower valleys
_REFINED = (3, 9)  # betas between the neighbors of the best so far
_EVERY_BETA = 200  # rows up to which all candidates have every beta: factors would save a fifth of 0.01 s
_STRIP = 16_384  # rows that are standardized at a time for their lengths alone
_LONGEST = 1e5  # squared length of a row over the median, of which single precision leaves two digits of the latter
_DOUBTED = 0.05  # of the score, by which a scaling with longer rows has to be better than others
_STEP, _STEPS_AWAY = 3.0, 8  # between betas that are compared by one factor each, and steps away, at most
_FLAT = 3e-3  # of the score, which a beta of a third has to gain: towards 0 the curve may fall for ever, by ever less


def is_constant(targets: Array) -> NDArray[np.bool_]:
    """Return for each output (C,) whether its targets (n, C) are one number, but for rounding.

    A variance above zero does not tell: the weighted mean of equal numbers is off by its rounding.
    """
    size = np.abs(targets).max(axis=0)
    return np.asarray(np.ptp(targets, axis=0) <= _CONSTANT * np.finfo(np.float64).eps * size)


def varying(targets: Array) -> Array:
    """Return targets less their means, exactly 0 where an output is constant."""
    return np.asarray(np.where(is_constant(targets), 0.0, targets - targets.mean(axis=0)))


def level(targets: Array, otherwise: Any = 0.0) -> Any:
    """Return what every target of an output is, (C,), to the last bit; where they differ, something else."""
    return np.where((targets == targets[0]).all(axis=0), targets[0], otherwise)


def of_each(work: Callable[[_Item], _Value], items: Sequence[_Item]) -> list[_Value]:
    """Return work(item) of each, on a few threads, each with one thread of BLAS if there are several.

    Two threads of BLAS gain next to nothing on one eigendecomposition (order 1000: 0.14 s for 0.13 s; order 2000: 0.96
    s for 1.00 s), and where cores are shared they wait for each other; two at a time do gain. SciPy's wrappers of
    LAPACK keep the interpreter's lock, NumPy's let it go: long work goes by NumPy here.
    """
    values: list[Any] = [None] * len(items)

    def of_slice(part: slice) -> None:
        for k in range(len(items))[part]:
            values[k] = work(items[k])

    if len(items) == 1:
        return [work(items[0])]
    with ONE_BLAS_THREAD:
        for_each_slice(of_slice, len(items))
    return values


class Candidate(NamedTuple):
    """A scaling and a constant feature, with their best beta."""

    scaling: str  # how rows are scaled, one of `SCALINGS`
    bias_feature: float  # the constant feature, in root mean square lengths of a row
    beta: float  # the best for it, in the 1/n scale
    mean_loss: float  # mean squared error of the leave-one-out predictions over the variance of the targets
    n_rows: int  # rows that it was compared on
    steps: float = 0.0  # weight of gates in single columns, or in boxes, in mean square lengths of a row
    decay: float = 0.0  # of gates in boxes; 0 for gates in single columns


KernelParameters = tuple[str, float, float, float]  # scaling, constant feature, steps, decay


def kernel_parameters(candidate: Candidate) -> KernelParameters:
    """Return scaling, constant feature, steps and decay, as `Problem.kernel_rows` takes them."""
    return candidate.scaling, candidate.bias_feature, candidate.steps, candidate.decay


def beta_for(candidate: Candidate, n: int) -> float:
    """Return the beta for n rows of the same kind: n·beta changes slowly with n."""
    return candidate.beta * candidate.n_rows / n


class RowStatistics(NamedTuple):
    """A standardization, the mean square length of rows by it, and whether single precision holds them beside outliers.

    It does not where ordinary rows are lost beside the longest one.
    """

    standardization: Standardization
    length: float
    holds_outliers: bool


@dataclass(frozen=True, eq=False)
class Problem:
    """Raw rows (n, d), dense or CSR, targets (n, C), weights with mean 1 or None, groups of rows or None.

    ``duplicates``: observations that the rows stand for and that are left out one at a time; None without them, or if
    rows, or groups, are left out as a whole. ``statistics``: of all rows by scaling, with levels or without, if these
    are some of them: a candidate that was compared on some rows is then the same on all, whatever outliers these have.
    """

    X: Any
    targets: Array
    weights: Array | None = None
    groups: NDArray[np.intp] | None = None
    duplicates: Duplicates | None = None
    statistics: Callable[[str, bool], RowStatistics] | None = None

    @cached_property
    def _statistics(self) -> Callable[[str, bool], RowStatistics]:
        if self.statistics is not None:
            return self.statistics
        return cache(
            lambda scaling, steps: self.statistics_by(Standardization.of(self.X, scaling, self.weights, steps))
        )

    def statistics_by(self, standardization: Standardization) -> RowStatistics:
        """Return what a standardization makes of these rows."""
        steps, strips = standardization.levels is not None, range(0, self.X.shape[0], _STRIP)
        squares = np.concatenate([_squares(standardization.rows(self.X[i : i + _STRIP]), steps) for i in strips])
        holds = float(squares.max()) <= _LONGEST * float(np.median(squares))
        return RowStatistics(standardization, float(np.average(squares, weights=self.weights)), holds)

    @cached_property
    def _standardized(self) -> Callable[[str, bool, bool], tuple[Standardization | RowSpan, Array, float]]:
        """Standardization, rows and mean square length: candidates share them, ranks take their time."""

        def standardized(scaling: str, steps: bool, products: bool) -> tuple[Standardization | RowSpan, Array, float]:
            if products and (issparse(self.X) or by_products(*self.X.shape)):
                span, rows = RowSpan.of(self.X, scaling, self.weights)
                return span, rows, float(np.average(_squares(rows, steps), weights=self.weights))
            standard, length, _ = self._statistics(scaling, steps)
            return standard, standard.rows(self.X), length

        return cache(standardized)

    def holds_outliers(self, scaling: str) -> bool:
        """Whether in single precision ordinary rows are not lost beside the longest one; not asked of wide rows."""
        return by_products(*self.X.shape) or issparse(self.X) or self._statistics(scaling, False).holds_outliers

    def take(self, rows: NDArray[np.intp]) -> "Problem":
        """Return the problem of some rows."""
        w = None if self.weights is None else self.weights[rows] / self.weights[rows].mean()
        groups = None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)[1]
        duplicates = None if self.duplicates is None else self.duplicates.take(rows)
        return Problem(self.X[rows], self.targets[rows], w, groups, duplicates, self._statistics)

    def kernel_rows(
        self, scaling: str, bias: float, steps: float = 0.0, decay: float = 0.0, products: bool = True
    ) -> tuple[Any, Array, GateKernel]:
        """Return the standardization, the rows as it makes them, and the kernel with the constant feature on them.

        Wide rows are known by their products, unless this is unwanted: then the standardization is a `RowSpan`.
        """
        standard, rows, length = self._standardized(scaling, steps > 0, products)
        size = length if length > 0 else 1.0  # constant feature and steps are in the units of rows
        return standard, rows, GateKernel(bias=bias * size**0.5, steps=steps * size, decay=decay)

    def leave_one_out(self, kernel: GateKernel, rows: Array) -> LeaveOneOut:
        """Return leave-one-out of every beta for a kernel on standardized rows (n, width)."""
        return LeaveOneOut(kernel(rows), self.targets, self.weights, self.groups, self.duplicates)

    def score(self, errors: Array) -> Array:
        """Return mean squared errors (B, C) of predictions as a share of the variance of targets that vary, (B,)."""
        w = self.weights
        mean = np.average(self.targets, axis=0, weights=w)
        squares = (self.targets - mean) ** 2
        if self.duplicates is not None:
            squares = self.duplicates.squares(self.targets - mean, np.ones(len(self.targets)))
        variance = np.average(squares, axis=0, weights=w)
        varies = ~is_constant(self.targets)
        if not varies.any():
            return np.zeros(len(errors))
        return np.asarray((errors[:, varies] / variance[varies]).mean(axis=1))

    def score_of(self, predictions: Array, left: Array) -> float:
        """Return the score of predictions (n, C) of rows by fits without them; ``left`` (n,) are 1 - H of rows."""
        missed = self.targets - predictions
        squares = missed**2
        if self.duplicates is not None and self.groups is None:  # one of them is left out at a time
            squares = self.duplicates.squares(missed * left[:, None], left)
        return float(self.score(np.average(squares, axis=0, weights=self.weights)[None])[0])


@dataclass(frozen=True, eq=False)
class Compared:
    """A candidate with what was made for it."""

    candidate: Candidate
    problem: Problem
    standard: Standardization | RowSpan
    rows: Array
    kernel: GateKernel
    size: float = 1.0  # the spread of the kernel on these rows

    @cached_property
    def loo(self) -> LeaveOneOut:
        """Leave-one-out of every beta, by an eigendecomposition."""
        return self.problem.leave_one_out(self.kernel, self.rows)


class ComparedBetas(NamedTuple):
    """The best of some betas, with its fit."""

    beta: float
    score: float
    fit: LeftOutFit
    between: tuple[float, float]  # beta and score where a parabola through the best three scores is least


class BetaSearch:
    """Betas near one, compared by leave-one-out, each by one factor, until the best is between two others.

    They are the spread of the kernel times powers of 3, so that a map that leaves the kernel as it is changes none.
    ``only`` the given one is tried, if it is fixed.
    """

    def __init__(self, problem: Problem, ridge: KernelRidge, near: float, *, only: bool = False) -> None:
        self._problem, self._ridge, self._near, self._only = problem, ridge, near, only
        self._rows = np.arange(len(problem.targets))
        self._size = spread(ridge.K)
        self._start = 0 if only else round(math.log(len(self._rows) * near / self._size, _STEP))
        self._tried: dict[int, LeftOutFit] = {}
        self._scores: dict[int, float] = {}

    def first(self) -> tuple[float, float] | None:
        """Return the beta that the search starts at, and its score, or None if it is too small for a factor."""
        if self._radius(self._start - 1) < self._ridge.least:
            return None
        self._value(self._start)
        return self._radius(self._start) / len(self._rows), self._scores[self._start]

    def best(self) -> ComparedBetas | None:
        """Return the best beta, or None if it is too small for a factor.

        The search begins again at the spread itself where it ends with a score that the mean of the targets has.
        """
        start = self._start
        within = range(1) if self._only else range(min(start, 0) - _STEPS_AWAY, max(start, 0) + _STEPS_AWAY + 1)
        if self.first() is None:
            return None
        scores = self._scores
        k, _ = least_by_steps(self._value, start, within)
        if start > 0 and scores[k] > 1 - _FLAT:
            # no better than the mean of the targets: no slope leads from betas that are all too large to the best
            k = min(least_by_steps(self._value, 0, within)[0], k, key=lambda i: scores[i])
        if self._radius(k - 1) < self._ridge.least:
            return None
        beta = self._radius(k) / len(self._rows)
        between, least = (beta, scores[k]), scores[k]
        low, high = scores.get(k - 1, least) - least, scores.get(k + 1, least) - least
        if min(low, high) > 0 and max(low, high) < np.inf:
            along = 0.5 * (low - high) / (low + high)
            between = beta * _STEP**along, least - 0.25 * (low - high) * along
        return ComparedBetas(beta, least, self._tried[k], between)

    def _radius(self, k: int) -> float:
        return len(self._rows) * self._near if self._only else self._size * _STEP**k

    def _value(self, k: int) -> float:
        if k not in self._tried:
            problem, groups = self._problem, self._problem.groups
            belongs = self._rows if groups is None else groups
            self._tried[k] = self._ridge.left_out(problem.targets, self._radius(k), self._rows, belongs)
            score = problem.score_of(self._tried[k].outputs, self._tried[k].left)
            self._scores[k] = score if score == score else np.inf
        return self._scores[k] * (1 - _FLAT) ** k


def _squares(rows: Array, steps: bool) -> Array:
    """Return the squared lengths (n,) of standardized rows, without the levels that steps have."""
    gated = GateKernel(steps=float(steps)).gated(rows)
    return np.asarray(np.einsum("ij,ij->i", gated, gated), dtype=np.float64)


def compare(
    problem: Problem,
    scaling: str,
    bias: float,
    steps: float = 0.0,
    decay: float = 0.0,
    *,
    beta: float | None = None,
    near: Compared | None = None,
) -> Compared:
    """Return what leave-one-out says of a scaling, a constant feature and steps, with a beta or the best one.

    The best one is looked for beside that of a candidate ``near`` it, or else, and of few rows, among all that make a
    difference, by an eigendecomposition.
    """
    compared, search = _with_first_beta(problem, (scaling, bias, steps, decay), beta, near)
    return compared if search is None else _with_best_beta(compared, search)


def compare_near(
    problem: Problem, tries: Sequence[tuple[KernelParameters, Compared]], beta: float | None
) -> list[Compared]:
    """Return what `compare` says of kernel parameters, each with a candidate near it.

    All are compared at their first beta, and the best `SEARCHED` of each kind of gates, if close, at others, too.
    """
    begun = of_each(lambda pair: _with_first_beta(problem, pair[0], beta, pair[1]), tries)
    searches = {compared: search for compared, search in begun if search is not None}
    searched = [compared for compared in _closest([c for c, _ in begun], SEARCHED) if compared in searches]
    ended = of_each(lambda compared: _with_best_beta(compared, searches[compared]), searched)
    at_best_beta = dict(zip(searched, ended, strict=True))
    return [at_best_beta.get(compared, compared) for compared, _ in begun]


def _with_first_beta(
    problem: Problem, parameters: KernelParameters, beta: float | None, near: Compared | None
) -> tuple[Compared, BetaSearch | None]:
    """Return a candidate with the first beta of a search and the search, or with its best beta and None.

    Of few rows, and where betas are too small for a factor, the best is that of an eigendecomposition.
    """
    standard, rows, kernel = problem.kernel_rows(*parameters)
    scaling, bias, steps, decay = parameters
    K = np.asarray(kernel(rows), dtype=np.float64)
    size, first, search = spread(K), beta, None
    candidate = Candidate(scaling, bias, 0.0, 0.0, len(rows), steps, decay)
    compared = Compared(candidate, problem, standard, rows, kernel, size)
    if beta is None and near is not None and len(rows) > _EVERY_BETA:
        first = beta_for(near.candidate, len(rows)) * size / near.size
    if first is not None:
        search = BetaSearch(problem, KernelRidge(K, problem.weights, single=True), first, only=beta is not None)
        if (value := search.first()) is not None:
            return _with_beta(compared, *value), search if beta is None else None
    if beta is None:
        return _with_beta(compared, *best_beta(compared.loo, problem)), None
    return _with_beta(compared, beta, float(problem.score(compared.loo.errors(np.array([beta])))[0])), None


def _with_best_beta(compared: Compared, search: BetaSearch) -> Compared:
    betas = search.best()
    return _with_beta(compared, *(best_beta(compared.loo, compared.problem) if betas is None else betas.between))


def _with_beta(compared: Compared, beta: float, loss: float) -> Compared:
    return replace(compared, candidate=compared.candidate._replace(beta=beta, mean_loss=loss))


def best_beta(loo: LeaveOneOut, problem: Problem) -> tuple[float, float]:
    """Return the beta of the least score, from a grid over all that makes a difference and finer ones at its best."""
    betas = loo.grid(_N_BETAS)
    scores = problem.score(loo.errors(betas))
    for between in _REFINED:
        k = int(np.nanargmin(scores))
        betas = np.geomspace(betas[max(k - 1, 0)], betas[min(k + 1, len(betas) - 1)], between + 2)
        scores = problem.score(loo.errors(betas))
    k = int(np.nanargmin(scores))
    return float(betas[k]), float(scores[k])


def least_by_steps(value: Callable[[int], float], start: int, within: range) -> tuple[int, dict[int, float]]:
    """Return the place k of the least value, and the values: at the start, and beside the least while that moves."""
    k, values = start, {start: value(start)}
    while beyond := [i for i in (k - 1, k + 1) if i in within and i not in values]:
        values |= {i: value(i) for i in beyond}
        k = min(values, key=lambda i: values[i])
    return k, values


def screened_rows(n: int) -> int:
    """Return on how many rows the best candidates are compared where n are fitted.

    With 500 rows networks for tables of up to 1300 rows are as accurate as with 1000. Of tables of 3000 rows and more
    they lost up to 1.5 points of accuracy, and there the comparison takes a smaller share of the time.
    """
    return max(SCREENED, n // 2)


def choose(
    problem: Problem,
    beta: float | None = None,
    scalings: tuple[str, ...] = SCALINGS,
    steps: bool = True,
    until: float | None = None,  # of `time.perf_counter`, after which steps are left out
    n_rows: int | None = None,  # of the fit; None for those of the problem
) -> tuple[list[Compared], list[Candidate]]:
    """Compare scalings with the first constant feature, constant features with the best scaling, and steps with both.

    Of steps the weights are compared first, then decays with the best weight, then weights with the best decay. This is
    done with 500 rows, spread as by chance: a factor takes time as the cube of the rows. The best of each kind are
    compared again with `screened_rows`, if these are more.

    Returns the best of those without steps, with gates in single columns and with gates in boxes, and all that was
    compared, best first, those with most rows first. Ranks are known of columns of 64 rows and more, dense and not
    wide; the scaling "rank" is compared where one of them has three values.
    """
    n = len(problem.targets)
    m = min(n, screened_rows(n if n_rows is None else n_rows))
    few = min(m, SCREENED)

    def sample(k: int) -> tuple[Problem, float | None]:
        part = problem if k == n else problem.take(np.sort(spread_rows(n, k)))
        return part, None if beta is None else beta * n / k

    compared = _compare_all(*sample(few), scalings, steps, until)
    table = [result.candidate for result in compared]
    if few < m:
        part, own = sample(m)
        best = [(kernel_parameters(c.candidate), c) for c in _closest(compared, FINALISTS)]
        compared = sorted(compare_near(part, best, own), key=_loss)
        table = [result.candidate for result in compared] + table
    return [kind[0] for kind in _kinds(compared)], table


def _closest(compared: list[Compared], n: int) -> list[Compared]:
    """Return the n best of each kind of gates, as far as their losses are close to the least."""
    kinds = _kinds(sorted(compared, key=_loss))
    return [result for kind in kinds for result in kind[:n] if _loss(result) <= _CLOSE * _loss(kind[0])]


def _kinds(compared: list[Compared]) -> list[list[Compared]]:
    """Return candidates by their gates, without steps, in single columns or in boxes, in the order of the best."""
    kinds: dict[tuple[bool, bool], list[Compared]] = {}
    for result in compared:  # the first of equal scores is the simplest
        kinds.setdefault((result.candidate.steps > 0, result.candidate.decay > 0), []).append(result)
    return list(kinds.values())


def _compare_all(
    problem: Problem, beta: float | None, scalings: tuple[str, ...], steps: bool, until: float | None
) -> list[Compared]:
    """Return all that `choose` compares on a few rows, best first."""
    knows_ranks = not (issparse(problem.X) or is_wide(*problem.X.shape) or len(problem.targets) < _FEWEST_RANKS)
    if not (knows_ranks and _has_three_values(problem.X)):
        scalings = tuple(scaling for scaling in scalings if scaling != "rank")
    first = compare(problem, scalings[0], BIASES[0], beta=beta)
    compared = [first]

    def compare_with(near: Compared, tries: list[KernelParameters]) -> list[Compared]:
        return compare_near(problem, [(parameters, near) for parameters in tries], beta)

    compared += compare_with(first, [(scaling, BIASES[0], 0.0, 0.0) for scaling in scalings[1:]])
    near = min(compared, key=_loss)
    scaling = near.candidate.scaling
    compared += compare_with(near, [(scaling, bias, 0.0, 0.0) for bias in BIASES[1:]])
    if knows_ranks and steps and _has_time(until):
        near = min(compared, key=_loss)
        bias = near.candidate.bias_feature

        def compare_steps(pairs: list[tuple[float, float]]) -> Candidate:
            tried = compare_with(near, [(scaling, bias, *pair) for pair in pairs])
            compared.extend(tried)
            return min(tried, key=_loss).candidate

        weight = compare_steps([(weight, 0.0) for weight in STEPS]).steps
        if _has_time(until):
            decay = compare_steps([(weight, decay) for decay in DECAYS]).decay
            if _has_time(until):
                compare_steps([(again, decay) for again in STEPS if again != weight])
    compared.sort(key=_loss)
    return compared


def _has_time(until: float | None) -> bool:
    return until is None or time.perf_counter() < until


def _loss(compared: Compared) -> float:
    candidate = compared.candidate
    return candidate.mean_loss * (1.0 if compared.problem.holds_outliers(candidate.scaling) else 1.0 + _DOUBTED)


def _has_three_values(X: NDArray[np.floating]) -> bool:
    """Whether a column of X (n, d) has three values, as of two normal scores are those of "column"."""
    low, high = X.min(axis=0), X.max(axis=0)
    return bool(((low < X) & (high > X)).any())
