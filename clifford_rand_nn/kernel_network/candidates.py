r"""Scalings, constant features and values of beta, compared by leave-one-out."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from clifford_rand._threads import ONE_BLAS_THREAD, cached_property, for_each_slice
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.duplicate_rows import Duplicates
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.landmark_span import spread_rows
from clifford_rand_nn.kernel_network.leave_one_out import LeaveOneOut
from clifford_rand_nn.kernel_network.standardization import SCALINGS, RowSpan, Standardization, by_products, is_wide

# Of fewer rows each is a knot of the map by which leave-one-out judges it, which promises too much: with 24 rows of
# three classes the accuracy on new rows fell from .59 to .54.
_FEWEST_RANKS = 64
_SCREENED = 500  # rows, at least, on which all candidates are compared; on more, only the best of each kind of gates
_CONSTANT = 64.0  # roundings of the largest target of an output: a range below is none


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


_Item = TypeVar("_Item")
_Value = TypeVar("_Value")


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


BIASES = (1.0, 0.3, 3.0, 0.0)  # constant features, in root mean square lengths of a row; the first is tried first
# Weights of gates in single columns or boxes, in mean square lengths of a row. The variance of a row in the space of
# Gaussian gates is some 0.6 square lengths, in that of steps 0.3 of their weight: one to four, one to one, and so on.
STEPS = (0.5, 2.0, 8.0, 32.0)
DECAYS = (4.0, 12.0)  # of gates in boxes: thresholds that cut the ranges of all columns, in the mean
_N_BETAS = 20  # a factor of some 4 from one to the next: the curve has no narrower valleys
_REFINED = (3, 9)  # betas between the neighbors of the best so far


class Candidate(NamedTuple):
    """A scaling and a constant feature, with their best beta."""

    scaling: str  # how rows are scaled, one of `SCALINGS`
    bias_feature: float  # the constant feature, in root mean square lengths of a row
    beta: float  # the best for it, in the 1/n scale
    mean_loss: float  # mean squared error of the leave-one-out predictions over the variance of the targets
    n_rows: int  # rows that it was compared on
    steps: float = 0.0  # weight of gates in single columns, or in boxes, in mean square lengths of a row
    decay: float = 0.0  # of gates in boxes; 0 for gates in single columns


def kernel_parameters(candidate: Candidate) -> tuple[str, float, float, float]:
    """Return scaling, constant feature, steps and decay, as `Problem.kernel_rows` takes them."""
    return candidate.scaling, candidate.bias_feature, candidate.steps, candidate.decay


def beta_for(candidate: Candidate, n: int) -> float:
    """Return the beta for n rows of the same kind: n·beta changes slowly with n."""
    return candidate.beta * candidate.n_rows / n


@dataclass(frozen=True, eq=False)
class Problem:
    """Raw rows (n, d), dense or CSR, targets (n, C), weights with mean 1 or None, groups of rows or None.

    ``duplicates``: observations that the rows stand for and that are left out one at a time; None without them, or if
    rows, or groups, are left out as a whole.
    """

    X: Any
    targets: Array
    weights: Array | None = None
    groups: NDArray[np.intp] | None = None
    duplicates: Duplicates | None = None

    @cached_property
    def _standardized(self) -> Callable[[str, bool, bool], tuple[Standardization | RowSpan, Array]]:
        """Standardization and rows by scaling, with levels or without: candidates share them, ranks take their time."""

        def standardized(scaling: str, steps: bool, products: bool) -> tuple[Standardization | RowSpan, Array]:
            if products and (issparse(self.X) or by_products(*self.X.shape)):
                return RowSpan.of(self.X, scaling, self.weights)
            standard = Standardization.of(self.X, scaling, self.weights, steps)
            return standard, standard.rows(self.X)

        return cache(standardized)

    def take(self, rows: NDArray[np.intp]) -> "Problem":
        """Return the problem of some rows."""
        w = None if self.weights is None else self.weights[rows] / self.weights[rows].mean()
        groups = None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)[1]
        duplicates = None if self.duplicates is None else self.duplicates.take(rows)
        return Problem(self.X[rows], self.targets[rows], w, groups, duplicates)

    def kernel_rows(
        self, scaling: str, bias: float, steps: float = 0.0, decay: float = 0.0, products: bool = True
    ) -> tuple[Any, Array, GateKernel]:
        """Return the standardization, the rows as it makes them, and the kernel with the constant feature on them.

        Wide rows are known by their products, unless this is unwanted: then the standardization is a `RowSpan`.
        """
        standard, rows = self._standardized(scaling, steps > 0, products)
        return standard, rows, kernel_of(rows, bias, steps, decay, self.weights)

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
    decomposed: LeaveOneOut | None = None

    @cached_property
    def loo(self) -> LeaveOneOut:
        """Leave-one-out of every beta; unless the kernel was decomposed before, it is now."""
        return self.problem.leave_one_out(self.kernel, self.rows) if self.decomposed is None else self.decomposed


def kernel_of(rows: Array, bias: float, steps: float, decay: float, weights: Array | None) -> GateKernel:
    """Return the kernel for standardized rows (n, width), whose constant feature and steps are in their units."""
    gated = GateKernel(steps=steps).gated(rows)
    length = np.average(np.einsum("ij,ij->i", gated, gated), weights=weights)
    size = float(length) if length > 0 else 1.0
    return GateKernel(bias=bias * size**0.5, steps=steps * size, decay=decay)


def compare(
    problem: Problem, scaling: str, bias: float, steps: float = 0.0, decay: float = 0.0, *, beta: float | None = None
) -> Compared:
    """Return what leave-one-out says of a scaling, a constant feature and steps, with a beta or the best one."""
    standard, rows, kernel = problem.kernel_rows(scaling, bias, steps, decay)
    loo = problem.leave_one_out(kernel, rows)
    if beta is None:
        beta, score = best_beta(loo, problem)
    else:
        score = float(problem.score(loo.errors(np.array([beta])))[0])
    candidate = Candidate(scaling, bias, beta, score, len(rows), steps, decay)
    return Compared(candidate, problem, standard, rows, kernel, loo)


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


def least_by_steps(value: Callable[[int], float], first: Sequence[int], n_places: int) -> tuple[int, dict[int, float]]:
    """Return the place k of the least value, and the values: of the first places, then of those beside the least."""
    values = {k: value(k) for k in first}
    while True:
        k = min(values, key=lambda i: values[i])
        beyond = [i for i in (k - 1, k + 1) if 0 <= i < n_places and i not in values]
        if not beyond:
            return k, values
        values |= {i: value(i) for i in beyond}


def screened_rows(n: int) -> int:
    """Return on how many rows all candidates are compared where n are fitted.

    With 500 rows networks for tables of up to 1300 rows are as accurate as with 1000. Of tables of 3000 rows and more
    they lost up to 1.5 points of accuracy, and there the comparison takes a smaller share of the time.
    """
    return max(_SCREENED, n // 2)


def choose(
    problem: Problem,
    beta: float | None = None,
    scalings: tuple[str, ...] = SCALINGS,
    steps: bool = True,
    until: float | None = None,  # of `time.perf_counter`, after which steps, and kinds behind the best, are left out
    n_rows: int | None = None,  # of the fit; None for those of the problem
) -> tuple[list[Compared], list[Candidate]]:
    """Compare scalings with the first constant feature, constant features with the best scaling, and steps with both.

    Of steps the weights are compared first, then decays with the best weight, then weights with the best decay. This is
    done with `screened_rows`, spread as by chance: an eigendecomposition takes time as the cube of the rows. If the
    problem has more, the best of each kind of gates are then compared on all of them, and are in the list twice.

    Returns the best of those without steps, with gates in single columns and with gates in boxes, and all that was
    compared, on most rows first and then best first. Ranks are known of columns of 64 rows and more, dense and not
    wide; the scaling "rank" is compared where one of them has three values.
    """
    n = len(problem.targets)
    m = screened_rows(n if n_rows is None else n_rows)
    if n <= m:
        return _compare_all(problem, beta, scalings, steps, until)
    part = problem.take(np.sort(spread_rows(n, m)))
    screened, table = _compare_all(part, None if beta is None else beta * n / m, scalings, steps, until)
    if not _has_time(until):
        screened = screened[:1]
    kinds = of_each(lambda kind: compare(problem, *kernel_parameters(kind.candidate), beta=beta), screened)
    kinds.sort(key=_loss)
    return kinds, [kind.candidate for kind in kinds] + table


def _compare_all(
    problem: Problem, beta: float | None, scalings: tuple[str, ...], steps: bool, until: float | None
) -> tuple[list[Compared], list[Candidate]]:
    """Do what `choose` does with all rows of a problem."""
    knows_ranks = not (issparse(problem.X) or is_wide(*problem.X.shape) or len(problem.targets) < _FEWEST_RANKS)
    if not (knows_ranks and _has_three_values(problem.X)):
        scalings = tuple(scaling for scaling in scalings if scaling != "rank")
    compared = of_each(lambda scaling: compare(problem, scaling, BIASES[0], beta=beta), scalings)
    scaling = min(compared, key=_loss).candidate.scaling
    compared += of_each(lambda bias: compare(problem, scaling, bias, beta=beta), BIASES[1:])
    if knows_ranks and steps and _has_time(until):
        bias = min(compared, key=_loss).candidate.bias_feature

        def compare_steps(pairs: list[tuple[float, float]]) -> Candidate:
            tried = of_each(lambda pair: compare(problem, scaling, bias, *pair, beta=beta), pairs)
            compared.extend(tried)
            return min(tried, key=_loss).candidate

        weight = compare_steps([(weight, 0.0) for weight in STEPS]).steps
        if _has_time(until):
            decay = compare_steps([(weight, decay) for decay in DECAYS]).decay
            if _has_time(until):
                compare_steps([(again, decay) for again in STEPS if again != weight])
    compared.sort(key=_loss)
    best: dict[tuple[bool, bool], Compared] = {}
    for result in compared:  # the first of equal scores is the simplest
        best.setdefault((result.candidate.steps > 0, result.candidate.decay > 0), result)
    return list(best.values()), [result.candidate for result in compared]


def _has_time(until: float | None) -> bool:
    return until is None or time.perf_counter() < until


def _loss(compared: Compared) -> float:
    return compared.candidate.mean_loss


def _has_three_values(X: NDArray[np.floating]) -> bool:
    """Whether a column of X (n, d) has three values, as of two normal scores are those of "column"."""
    low, high = X.min(axis=0), X.max(axis=0)
    return bool(((low < X) & (high > X)).any())
