"""Smooth losses over a kernel matrix: the fit for every beta, and beta by approximate leave-one-out."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import blas_threads
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.approximate_leave_one_out import Groups, InverseBlocks, LeftOut
from clifford_rand_nn.kernel_network.cholesky import spread
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel, KernelMatrix, KernelProblem
from clifford_rand_nn.kernel_network.leave_one_out import members
from clifford_rand_nn.kernel_network.metric_folds import Fold
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.problems.loss import Loss
from clifford_rand_nn.problems.loss_registry import make_datafit
from clifford_rand_nn.solvers.base import SOONEST, HistoryRow, Limits, Status
from clifford_rand_nn.solvers.kernel_newton import State
from clifford_rand_nn.solvers.stopping import Watch, unless_interrupted

_NEAR = 1e-3  # a gap from which one step moves predictions so little that its curvatures are those of the optimum
_CUBE = 5.8e-12  # seconds of a Cholesky factorization of order n, by n³, on two cores
_LOGISTIC, _SOFTMAX = 3.0, 27.0  # such factorizations for one beta, and for one beta and class
_REFITS = 0.08  # seconds of what `LeftOut` refits for one beta
_OWNER = "choose_beta"
STEPS = 100  # of a fit
RATIO = 4.0  # of neighboring betas
_MOST = 8  # betas
CURVATURE = 4.0  # noise of a row's logit where both classes are as likely, over that of the squared loss


@dataclass(frozen=True, eq=False)
class PathFit:
    r"""The fit for one beta, :math:`f(x) = \sum_iK(x, x_i)\alpha_i + t`, and what it predicts without a row.

    ``leave_one_out`` (n, C): of every row without its loss, or of the rows of every group without theirs. NaN if the
    fit was interrupted, or if they were not asked for. ``objective``, ``duality_gap``, ``relative_gap``: the gap is
    against the dual point.
    """

    beta: float
    alpha: Array  # (n, C), its columns sum to zero; of a softmax its rows do so as well
    intercept: Array  # (C,)
    fitted: Array  # (n, C), predictions of the rows
    leave_one_out: Array
    objective: float
    duality_gap: float
    relative_gap: float
    dual_point: Array  # (n, C)
    n_iter: int  # Newton steps
    status: Status
    history: tuple[HistoryRow, ...] = ()  # from the last beta's solution on, where there was one


def seconds(n: int, n_classes: int, n_fits: int = 1, n_left_out: int = 1) -> float:
    """Return about how long fits take on two cores, to a gap of 1e-6, some of which say what is predicted without."""
    factors = _LOGISTIC if n_classes == 2 else _SOFTMAX * n_classes
    return n_fits * factors * _CUBE * float(n) ** 3 + n_left_out * _REFITS


class NewtonPath:
    r"""A kernel network with a free intercept for every beta, each fit beginning near the last two, by Newton's method.

    .. math:: \min_{\alpha,t}\ \frac1n\sum_i\omega_i\ell(f_i, y_i)+\frac\beta2\mathrm{tr}(\alpha^TK\alpha),
              \qquad f = K\alpha+1t^T

    The dual, whose bound gives the gap, is over :math:`\theta=n\beta\alpha` with :math:`1^T\theta=0`:
    :math:`\max_\theta\frac1n\sum_i-\omega_i\ell^*(-\theta_i/\omega_i)-\frac1{2n^2\beta}\mathrm{tr}(\theta^TK\theta)`.

    Predictions without a row are approximate, see `LeftOut`. They leave out the row's loss, and keep the kernel,
    :math:`n\beta` and the other losses. With labels, at the best beta, they miss the mean loss of refits by .1 % for
    two classes and about 1 % for eleven (100 rows of each of 23 tables), by less with more rows, by more where beta is
    so small that the network interpolates; a class whose only row is left out has no prediction.

    ``K`` (n, n): positive semidefinite. ``datafit``: of a smooth loss, with entries that mix (softmax) or one output.
    ``groups``: rows that are left out together. ``share`` (n,): what is left out of each row's loss, without groups;
    None is all of it. ``leave_out``, or (n,): whether to find what is predicted without a row, of all or of each; of
    all it costs as much as some fits.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 6)
    >>> y = np.array([-1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    >>> from clifford_rand_nn.problems.loss_registry import make_datafit
    >>> path = NewtonPath(np.outer(x, x), make_datafit("logistic", y, 6, "NewtonPath"))
    >>> weak, strong = (path.fit(beta, Limits.of("fit", max_iter=100)) for beta in (1.0, 0.01))
    >>> np.round(strong.leave_one_out[:, 0], 1).tolist()
    [-2.0, -0.9, -2.1, 2.1, 0.9, 2.0]
    """

    def __init__(
        self,
        K: Array,
        datafit: Datafit,
        groups: Groups | None = None,
        leave_out: bool | NDArray[np.bool_] = True,
        share: Array | None = None,
    ) -> None:
        self._groups, self._share = groups, share
        self._kernel, self._datafit = KernelMatrix(K, fit_intercept=True), datafit
        self.n, self._outputs = datafit.y.shape
        self._leave_out = np.broadcast_to(leave_out, self.n)
        self._fits: list[PathFit] = []
        self.seconds = 0.0

    def fit(self, beta: float, limits: Limits, ahead: Array | None = None) -> PathFit:
        """Fit for one beta, from predictions ``ahead`` (n, C) if these help; fastest if betas fall by equal ratios."""
        problem = KernelProblem(self._kernel, self._datafit, beta)
        last = self._fits[-1] if self._fits else None
        state = None if last is None else problem.state(last.alpha, last.fitted)
        watch, newton = problem.minimize(limits, state, self._ahead(beta) if ahead is None else ahead)
        best = watch.point
        alone = np.full_like(best.f, np.nan)
        if self._leave_out.any() and watch.status not in (Status.INTERRUPTED, Status.MAX_MEMORY):
            # near the optimum a step moves predictions so little that its curvatures are those there
            is_near = len(watch.history) > 1 and watch.history[-2].relative_gap <= _NEAR
            try:
                system = newton.system if is_near and newton.system is not None else newton.system_at(best.f)
                inverse = InverseBlocks(system, newton.border)
                with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not finite, or not taken
                    alone = LeftOut(inverse, self._datafit, best.f, self._share).run(self._groups, self._leave_out)
                    alone = _centered(alone)
                is_known = np.isfinite(alone).all(axis=1)
            except np.linalg.LinAlgError:
                is_known = np.zeros(self.n, dtype=bool)
            # n beta is below the rounding of K: even odds for rows that are left out
            alone[self._leave_out & ~is_known] = 0.0
        self.seconds += watch.seconds
        fit = _fit_of(problem, watch, alone)
        self._fits = [*self._fits[-1:], fit]
        return fit

    def _ahead(self, beta: float) -> Array | None:
        """Return predictions on the line through those of the last two fits, over the logarithm of beta."""
        if len(self._fits) < 2 or self._fits[0].beta == self._fits[1].beta:
            return None
        second, last = self._fits
        share = float(np.log(beta / last.beta) / np.log(last.beta / second.beta))
        return last.fitted + (last.fitted - second.fitted) * share


def _centered(f: Array) -> Array:
    """Return predictions, of a softmax those whose rows sum to zero."""
    return f if f.shape[1] == 1 else f - f.mean(axis=1, keepdims=True)


def _fit_of(problem: KernelProblem, watch: Watch[State], alone: Array) -> PathFit:
    best, result = watch.point, watch.result("newton", watch.point)
    return PathFit(
        beta=problem.beta,
        alpha=best.theta / (problem.n * problem.beta),
        intercept=_centered(problem.intercept(best)[None])[0],
        fitted=_centered(best.f),
        leave_one_out=alone,
        objective=result.objective,
        duality_gap=result.duality_gap,
        relative_gap=result.relative_gap,
        dual_point=result.dual_point,
        n_iter=result.n_iter,
        status=result.status,
        history=result.history,
    )


def refit(fit: PathFit, K: Array, datafit: Datafit, limits: Limits) -> PathFit:
    """Return the fit of another loss with the beta of a fit, where its search begins; ``leave_one_out`` stays."""
    problem = KernelProblem(KernelMatrix(K, fit_intercept=True), datafit, fit.beta)
    with blas_threads(problem.n):
        watch, _ = problem.minimize(limits, problem.state(fit.alpha, fit.fitted))
    return _fit_of(problem, watch, fit.leave_one_out)


class BetaTask(NamedTuple):
    """Targets (n, C) of n rows with their loss, and where the search for beta begins: about the best one of squares."""

    targets: Array
    loss: Loss
    beta: float
    weights: Array | None = None
    groups: NDArray[np.intp] | None = None  # of rows that are left out together
    max_time: float | None = None  # seconds
    fixed: bool = False  # whether ``beta`` is the only one
    share: Array | None = None  # of each observation in the weight of its row, if rows stand for several


class BetaChoice(NamedTuple):
    """The fit for the best beta, with the kernel that it is for."""

    fit: PathFit
    outputs: Array  # (n, C), of rows by fits without them, where `out_of_sample`
    out_of_sample: NDArray[np.bool_]
    kernel: GateKernel | None = None


def search_beta(loss_at: Callable[[int], float | None], fixed: bool = False) -> dict[int, float]:
    """Return losses of exponents k of ``RATIO``, from 0 up and down as long as they fall, `_MOST` of them at most.

    A loss that is None ends the search.

    Examples
    --------
    >>> list(search_beta(lambda k: (k + 2.2) ** 2))
    [1, 0, -1, -2, -3]
    """
    losses: dict[int, float] = {}
    ahead = [0] if fixed else [1, 0, -1]
    while ahead and (loss := loss_at(ahead[0])) is not None:
        losses[ahead.pop(0)] = loss
        if not ahead and not fixed and len(losses) < _MOST:
            best, low, high = min(losses, key=lambda k: losses[k]), min(losses), max(losses)
            if not low < best < high:  # the best one is at an end
                ahead = [low - 1] if best == low else [high + 1]
    return losses


def choose_beta(K: Array, task: BetaTask) -> BetaChoice:
    r"""Return the fit with the least leave-one-out loss of betas a factor of 4 apart.

    With labels it is the loss before calibration: the other forgives a network that interpolates, where leave-one-out
    is least exact. Between logistic and squared loss the one with the smaller calibrated leave-one-out loss is to be
    taken. Raises KeyboardInterrupt: by Ctrl-C: half a choice is none.
    """
    targets, loss, beta, weights, groups, max_time, fixed, share = task
    parts = None if groups is None else members(groups)
    datafit = make_datafit(loss, targets, len(K), _OWNER, None, weights)
    path = NewtonPath(np.ascontiguousarray(K), datafit, parts, share=share)
    limits = Limits.of(_OWNER, max_iter=STEPS, max_time=max_time)
    fits: dict[int, PathFit] = {}

    def loss_at(k: int) -> float | None:
        if fits and next(reversed(fits.values())).status.ends_all:
            return None
        fit = fits[k] = path.fit(beta * RATIO**k, limits.after(path.seconds))
        unless_interrupted(fit)
        return float(np.average(loss.value(fit.leave_one_out, targets)[:, 0], weights=weights))

    with blas_threads(len(K)):
        losses = search_beta(loss_at, fixed)
    fit = fits[min(losses, key=lambda k: losses[k])]
    return BetaChoice(fit, fit.leave_one_out, np.ones(len(K), dtype=bool))


def choose_by_holdout(
    kernel: GateKernel, folds: tuple[Fold, ...], rows: Array, place: NDArray[np.intp], task: BetaTask
) -> BetaChoice | None:
    r"""Return the fit with a learned metric for the best of betas a factor of 4 apart, or None if time was over.

    As `choose_beta`, but a row is predicted with a metric that it is no part of: for each beta fits to the rows
    that the metric of a fold was learned from are judged by the held-out rows. For the best of them, outputs of these
    rows are those of leave-one-out, with the metric of the fold and all other rows.

    ``kernel``: of the final metric. ``folds``: of `select_metric`, whose rows are the unique ones. ``rows`` (n, d):
    standardized. ``place`` (n,): the unique row of each.
    """
    began = time.perf_counter()
    targets, loss, beta, weights, groups, max_time, fixed, share = task
    n, size = len(rows), spread(kernel(rows))
    w = np.ones(n) if weights is None else weights
    together = None if groups is None else members(groups)

    def path(K: NDArray[Any], some: NDArray[np.intp], leave_out: bool | NDArray[np.bool_] = False) -> NewtonPath:
        datafit = make_datafit(loss, targets[some], len(some), _OWNER, None, None if weights is None else w[some])
        return NewtonPath(np.ascontiguousarray(K, dtype=np.float64), datafit, together, leave_out, share)

    def fitted(path: NewtonPath, beta: float, ahead: Array | None = None) -> PathFit | None:
        left = None if max_time is None else max(max_time - (time.perf_counter() - began), SOONEST)
        fit = path.fit(beta, Limits.of(_OWNER, max_iter=STEPS, max_time=left), ahead)
        unless_interrupted(fit)
        return None if fit.status.ends_all else fit

    split = [(np.flatnonzero(np.isin(place, f.kept)), np.flatnonzero(np.isin(place, f.unseen))) for f in folds]
    parts: list[tuple[NewtonPath, float, NDArray[np.floating]]] = []
    predictions: dict[int, list[Array]] = {}  # of all rows by the fits to the folds, for each beta

    def loss_at(k: int) -> float | None:
        total, predictions[k] = 0.0, []
        for (own, share, across), (kept, unseen) in zip(parts, split, strict=True):
            fit = fitted(own, n * beta * RATIO**k * share / own.n)
            if fit is None:
                return None
            f = np.zeros(targets.shape)
            f[kept], f[unseen] = fit.fitted, across @ fit.alpha + fit.intercept
            total += float(w[unseen] @ loss.value(f[unseen], targets[unseen])[:, 0])
            predictions[k].append(f)
        return total

    with blas_threads(n):
        for fold, (kept, unseen) in zip(folds, split, strict=True):
            K = fold.kernel(rows[kept])
            parts.append((path(K, kept), spread(K) / size, fold.kernel(rows[unseen], rows[kept])))
        losses = search_beta(loss_at, fixed)
        if not losses:
            return None
        k = min(losses, key=lambda k: losses[k])
        best, ahead = beta * RATIO**k, predictions[k][0]
        outputs, out_of_sample = np.zeros((n, targets.shape[1])), np.zeros(n, dtype=bool)
        for fold, (_, unseen), begun in zip(folds, split, predictions[k], strict=True):
            K = fold.kernel(rows)
            own = path(K, np.arange(n), np.isin(np.arange(n), unseen))
            fit = fitted(own, best * spread(K) / size, begun)
            if fit is None:
                return None
            outputs[unseen], out_of_sample[unseen], ahead = fit.leave_one_out[unseen], True, fit.fitted
        fit = fitted(path(kernel(rows), np.arange(n)), best, ahead)
    return None if fit is None else BetaChoice(fit, outputs, out_of_sample, kernel)
