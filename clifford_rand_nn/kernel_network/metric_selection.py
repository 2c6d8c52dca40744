"""Number of iterations of metric learning, selected on held-out rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_rows, check_array, check_choice, check_integer, check_positive, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn._records import short_repr
from clifford_rand_nn.kernel_network.candidates import Problem, varying
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.kernel_products import spread_rows
from clifford_rand_nn.kernel_network.metric_folds import Fold, Folds, Judged, held_parts, outer_parts
from clifford_rand_nn.kernel_network.metric_frame import SHAPES

_BEYOND = 1000  # rows that are in no part, and which judge the first fit, too
_REFITTED = 3000  # rows up to which predictions are made of all others
_ERRORS = (1.0, 2.0)  # standard errors that a first round, or a kernel behind the first, has to gain; another round
_BEHIND = 2.0  # standard errors behind another kernel after as many iterations, from which no further one is tried
_MAX_ROWS = 1000  # rows on which metrics are compared: a fold of 800 takes 0.1 s


class Trial(NamedTuple):
    """A number of iterations, compared on held-out rows."""

    shape: str  # that of M, or "none"; "rates" of boxes with learned rates, after the last one
    n_iter: int
    mean_loss: float  # mean over held-out rows of the squared distance to their targets, with weights
    error_rate: float  # share of held-out rows that are decided wrongly, with weights; 0 without ``mistakes``
    gain: float  # by how much the loss is less than with one iteration less; of "rates", than without them
    gain_std_error: float  # rows of a group taken together
    beta_factor: float  # the best of a few

    def passes(self, before: "Trial", n_errors: float) -> bool:
        """Whether it gains more than so many standard errors, with no more mistakes than one before."""
        return self.gain > n_errors * self.gain_std_error and self.error_rate <= before.error_rate


@short_repr
@dataclass(frozen=True, eq=False)
class MetricSelection:
    """The selected number of iterations, with the comparison.

    ``predictions`` (k, C): what they are predicted to be: for probabilities and intervals, which leave-one-out with
    gates that have seen the row would make too good. If gates are learned, of up to 3000 rows, by leave-one-out with
    the gates of that fold, fitted to all rows but that one (its copies, its group); else by the fit to the fold.
    ``left`` (k,): then :math:`(I-H)_{ii}` of rows that are left out alone, else 1.
    ``folds``: if gates are learned, of up to 3000 rows: what another loss may be judged by; of more than 2000 rows
    without groups one, the gates of the fit itself. ``rows`` are the unseen ones, one fold after the other.
    """

    shape: str  # for `learn_frame`; "none" if no iteration pays
    n_iter: int
    beta_factors: tuple[float, ...]  # for `learn_frame`: one of each fit, and of the result
    trials: tuple[Trial, ...]
    rows: NDArray[np.intp]  # (k,), rows that were not in a fold, whose gates so have not seen them
    predictions: Array
    folds: tuple[Fold, ...] = ()
    left: Array | None = None
    rates: int = 0  # rounds of `learn_rates` after the iterations, 0 to 2
    rate_changes: Array | None = None  # `LearnedRates.changes` after these rounds, mean over folds; not saved

    @property
    def is_learned(self) -> bool:
        """Whether the gates depend on targets, so that leave-one-out with them would promise too much."""
        return self.n_iter > 0 or self.rates > 0


def select_metric(
    kernel: GateKernel,
    problem: Problem,
    beta: float,
    *,
    max_iter: int = 3,
    shapes: tuple[str, ...] = SHAPES,  # {"full", "shrunk", "diagonal"}
    mistakes: Callable[[Array, Array], NDArray[np.bool_]] | None = None,
) -> MetricSelection:
    r"""Say how many iterations of `learn_frame` to take, in which shape, and whether rates of boxes, by outer folds.

    At most 1000 rows are parted in five (600 to 1000 rows in three), and fits to all parts but one are judged on that
    one, until 330 rows have been held out; the first fit is judged on up to 1000 rows beyond these, too. A first
    iteration is taken if the mean gain of squared error is more than its standard error, one more as long as that gains
    more than two, and neither if it makes more ``mistakes``; of several shapes the one with fewest mistakes, then with
    the largest gain. Each iteration gets the best of five factors of beta, by the same rows. Of gates in boxes the
    first round of `learn_rates` follows, and the second if the first gains anything; a round has to pass as a first
    iteration has, and the better of two is taken, again by mistakes and then by the gain.

    Neither order nor copies nor a seed change the parts: rows are sorted by targets and then by a fixed combination of
    their columns, and neighbors go to different parts, duplicate rows to the same, groups as a whole.

    ``kernel``, ``problem``, ``beta``: as of `learn_frame`; rows of one group are held out together. ``mistakes``: takes
    predictions and targets (k, C) and says which rows are decided wrongly: `wrong_class` for classes. Raises
    ArgumentError: shapes that do not fit, beta ≤ 0, an unknown shape, rows of only one group.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 8))
    >>> found = select_metric(GateKernel(bias=3.0), Problem(X, np.abs(X[:, :1])), 1e-3)  # seven columns are noise
    >>> found.shape, found.n_iter
    ('diagonal', 3)
    >>> select_metric(GateKernel(bias=3.0), Problem(X, rng.standard_normal((200, 1))), 1e-1).shape  # noise, all of it
    'none'
    """
    comparison = compare_metrics(kernel, problem, beta, max_iter, shapes, mistakes)
    return comparison.selection(len(problem.targets) <= _REFITTED)


def compare_metrics(
    kernel: GateKernel,
    problem: Problem,
    beta: float,
    max_iter: int,
    shapes: tuple[str, ...],
    mistakes: Callable[[Array, Array], NDArray[np.bool_]] | None,
    rival: "MetricComparison | None" = None,
) -> "MetricComparison":
    """Do what `select_metric` does, up to the predictions of rows that were not seen, which only one of many needs.

    No further iteration is tried where a ``rival``, the comparison of another kernel, is ahead by more than two
    standard errors after as many iterations.
    """
    owner = "select_metric"
    targets, weights, groups = problem.targets, problem.weights, problem.groups
    data = as_rows(problem.X, owner)
    check_array(targets, "targets", owner, (len(data), None))
    check_positive(beta, "beta", owner)
    max_iter = check_integer(max_iter, "max_iter", owner)
    for shape in shapes:
        check_choice(shape, "shapes", owner, SHAPES)
    # levels are functions of the other columns, and of kernels with and without them the parts are the same
    taken, belongs, parts = outer_parts(np.asarray(kernel.gated(data), dtype=np.float64), targets, groups, _MAX_ROWS)
    if parts.max() == 0:
        raise fail("groups" if groups is not None else "X", owner, "of two or more groups of rows", describe("one"))
    held = list(held_parts(parts))
    beyond = np.flatnonzero(~np.isin(belongs, belongs[taken]))
    beyond = beyond[np.sort(spread_rows(len(beyond), min(len(beyond), _BEYOND)))]
    held[0], taken = np.append(held[0], len(taken) + np.arange(len(beyond))), np.append(taken, beyond)
    mean = targets.mean(axis=0)
    w = None if weights is None else weights[taken] / weights[taken].mean()
    centered = varying(targets)
    folds = Folds(kernel, data[taken], centered[taken], w, len(data) * beta, held, len(parts))
    judged, scale = taken[folds.judged], folds.scale
    unit, aim = belongs[judged], targets[judged]

    def trial(shape: str, number: int, after: Judged, before: Judged) -> Trial:
        wrong = 0.0 if mistakes is None else float(scale @ mistakes(after.predictions + mean, aim)) / len(judged)
        gain, error = mean_gain(scale * (before.errors - after.errors), unit)
        trials.append(Trial(shape, number, float(scale @ after.errors) / len(judged), wrong, gain, error, after.factor))
        return trials[-1]

    best = folds.judge(folds.first, 1.0)
    trials: list[Trial] = []
    chosen = trial("none", 0, best, best)
    factors: tuple[float, ...] = (best.factor,)
    errors: tuple[Array, ...] = (best.errors,)
    while chosen.n_iter < max_iter:
        number = chosen.n_iter + 1
        offered = shapes if number == 1 else (chosen.shape,)
        tried = [
            (trial(shape, number, after, best), after)
            for shape, kernels in zip(offered, folds.after(best, offered), strict=True)
            for after in [folds.judge(kernels, best.factor, best.spreads)]
        ]
        passed = [(result, after) for result, after in tried if result.passes(chosen, _ERRORS[number > 1])]
        if not passed:
            break
        chosen, best = min(passed, key=lambda pair: (pair[0].error_rate, -pair[0].gain))
        factors += (best.factor,)
        errors += (best.errors,)
        if rival is not None:
            ahead, error = mean_gain(scale * (best.errors - rival.errors[min(number, len(rival.errors) - 1)]), unit)
            if ahead > _BEHIND * error:
                break
    with_rates: list[tuple[Trial, Judged, int, Array]] = []
    rounds = folds.with_learned_rates(best) if kernel.decay else iter(())
    for number, (kernels, spreads, changes) in enumerate(rounds, start=1):
        after = folds.judge(kernels, best.factor, spreads)
        result = trial("rates", chosen.n_iter, after, best)
        if result.passes(chosen, _ERRORS[0]):
            with_rates.append((result, after, number, changes))
        elif result.gain <= 0:  # where rates lower no error they do not by moving further
            break
    rates, rate_changes = 0, None
    if with_rates:
        result, best, rates, rate_changes = min(with_rates, key=lambda item: (item[0].error_rate, -item[0].gain))
        chosen, factors = result._replace(shape=chosen.shape), (*factors[:-1], best.factor)
    return MetricComparison(
        chosen,
        factors,
        errors,
        tuple(trials),
        folds,
        best,
        taken,
        belongs,
        data,
        targets,
        weights,
        rates=rates,
        rate_changes=rate_changes,
    )


@dataclass(frozen=True, eq=False)
class MetricComparison:
    """Comparison of metrics on held-out rows, and what predictions of unseen rows need."""

    chosen: Trial
    factors: tuple[float, ...]
    errors: tuple[Array, ...]  # of held-out rows, after each iteration
    trials: tuple[Trial, ...]
    folds: "Folds"
    best: Judged
    taken: NDArray[np.intp]  # (m,), rows that were compared
    belongs: NDArray[np.intp]  # (n,), what each of all rows belongs to
    data: Array  # (n, d)
    targets: Array  # (n, C)
    weights: Array | None
    rates: int = 0
    rate_changes: Array | None = None

    @property
    def is_learned(self) -> bool:
        """Whether the gates depend on targets."""
        return self.chosen.n_iter > 0 or self.rates > 0

    def gains_on(self, other: "MetricComparison") -> bool:
        """Whether the error on held-out rows is less than that of another kernel by more than its standard error.

        As of iterations, no gain in squared error makes up for more mistakes.
        """
        if self.chosen.error_rate > other.chosen.error_rate:
            return False
        differences, units = other.best.errors - self.best.errors, self.belongs[self.taken[self.folds.judged]]
        gain, error = mean_gain(self.folds.scale * differences, units)
        return gain > _ERRORS[0] * error

    def selection(self, refits: bool) -> MetricSelection:
        """Return the comparison, with predictions of rows that were not seen, by fits to all others if it refits."""
        folds, best, taken, belongs = self.folds, self.best, self.taken, self.belongs
        rows, left = taken[folds.judged], None
        unseen: tuple[Fold, ...] = ()
        if self.is_learned and refits:
            unseen = folds.unseen(best, taken, belongs)
            rows = np.concatenate([fold.unseen for fold in unseen])
            predictions, left = folds.refitted(best, self.data, varying(self.targets), self.weights, unseen, belongs)
        else:
            predictions = folds.predictions(best)
        predictions = predictions + self.targets.mean(axis=0)
        return MetricSelection(
            self.chosen.shape,
            self.chosen.n_iter,
            self.factors,
            self.trials,
            rows,
            predictions,
            unseen,
            left,
            rates=self.rates,
            rate_changes=self.rate_changes,
        )


def mean_gain(differences: Array, units: NDArray[np.intp]) -> tuple[float, float]:
    """Return the mean of differences and its standard error, those of one unit being one observation."""
    mean = float(differences.mean())
    # sandwich variance: rows of one unit are one observation
    sums = np.bincount(units, weights=differences - mean)
    present = int((np.bincount(units) > 0).sum())
    square = float(sums @ sums) * present / max(present - 1, 1)
    return mean, float(np.sqrt(square)) / len(differences)
