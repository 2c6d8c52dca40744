"""Beta of the logistic loss or the softmax by approximate leave-one-out, and comparison with the squared loss."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._blas import blas_threads
from clifford_rand._typing import Array
from clifford_rand_nn.datafits.registry import encode_labels, make_datafit
from clifford_rand_nn.kernel_network.calibration import Calibration, fit_calibration
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.logistic.path import LogisticFit, LogisticPath, rows_of
from clifford_rand_nn.kernel_network.metric.metric_frame import spread
from clifford_rand_nn.kernel_network.metric.metric_selection import Fold
from clifford_rand_nn.solvers.base import SOONEST, Limits
from clifford_rand_nn.solvers.interrupts import unless_interrupted

_OWNER = "choose_logistic"
STEPS = 100  # of a fit
RATIO = 4.0  # of neighboring betas
_MOST = 8  # betas
CURVATURE = 4.0  # noise of a row's logit where both classes are as likely, over that of the squared loss


class BetaTask(NamedTuple):
    """Classes from 0 of n rows (n,), and where the search for beta begins: the best one for the squared loss."""

    classes: NDArray[np.intp]
    n_classes: int
    beta: float
    weights: Array | None = None
    groups: NDArray[np.intp] | None = None  # of rows that are left out together
    max_time: float | None = None  # seconds
    fixed: bool = False  # whether ``beta`` is the only one


class LogisticChoice(NamedTuple):
    """The fit for the best beta, and its probabilities."""

    fit: LogisticFit
    calibration: Calibration
    outputs: Array  # (n, C), of rows by fits without them, where `out_of_sample`
    out_of_sample: NDArray[np.bool_]
    variance: Array | None = None  # (n,), those that the calibration was given


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


def choose_logistic(K: Array, task: BetaTask, variances: Callable[[float], Array] | None = None) -> LogisticChoice:
    r"""Return the fit with the least leave-one-out loss of betas a factor of 4 apart, and its probabilities.

    It is the loss before calibration: the other forgives a network that interpolates, where leave-one-out is least
    exact. Between logistic and squared loss the one with the smaller calibrated leave-one-out loss is to be taken.

    ``variances``: `LeaveOneOut.variances`: predictive variances (n,) for a beta of the squared loss, here 4 times that
    of the fit. Raises KeyboardInterrupt: by Ctrl-C: half a choice is none.
    """
    index, n_classes, beta, weights, groups, max_time, fixed = task
    targets, loss = encode_labels(index, n_classes, "logistic")
    parts = None if groups is None else rows_of(groups, len(K))
    path = LogisticPath(np.ascontiguousarray(K), make_datafit(loss, targets, len(K), _OWNER, None, weights), parts)
    limits = Limits.of(_OWNER, max_iter=STEPS, max_time=max_time)
    fits: dict[int, LogisticFit] = {}

    def loss_at(k: int) -> float | None:
        if fits and next(reversed(fits.values())).status.ends_all:
            return None
        fit = fits[k] = path.fit(beta * RATIO**k, limits.after(path.seconds))
        unless_interrupted(fit)
        return float(np.average(loss.value(fit.leave_one_out, targets)[:, 0], weights=weights))

    with blas_threads(len(K)):
        losses = search_beta(loss_at, fixed)
    fit = fits[min(losses, key=lambda k: losses[k])]
    v = None if variances is None else variances(CURVATURE * fit.beta)
    calibration = fit_calibration(fit.leave_one_out, index, n_classes, weights, v)
    return LogisticChoice(fit, calibration, fit.leave_one_out, np.ones(len(K), dtype=bool), v)


def choose_by_holdout(
    kernel: GateKernel, folds: tuple[Fold, ...], rows: Array, place: NDArray[np.intp], task: BetaTask
) -> LogisticChoice | None:
    r"""Return the fit with a learned metric for the best of betas a factor of 4 apart, or None if time was over.

    As `choose_logistic`, but a row is predicted with a metric that it is no part of: for each beta fits to the rows
    that the metric of a fold was learned from are judged by the held-out rows. For the best of them, probabilities are
    fitted to leave-one-out outputs of these rows, with the metric of the fold and all other rows.

    ``kernel``: of the final metric. ``folds``: of `select_metric`, whose rows are the unique ones. ``rows`` (n, d):
    standardized. ``place`` (n,): the unique row of each.
    """
    began = time.perf_counter()
    index, n_classes, beta, weights, groups, max_time, fixed = task
    targets, loss = encode_labels(index, n_classes, "logistic")
    n, size = len(rows), spread(kernel(rows))
    w = np.ones(n) if weights is None else weights
    together = None if groups is None else rows_of(groups, n)

    def path(K: NDArray[Any], some: NDArray[np.intp], leave_out: bool) -> LogisticPath:
        datafit = make_datafit(loss, targets[some], len(some), _OWNER, None, None if weights is None else w[some])
        matrix = np.ascontiguousarray(K, dtype=np.float64)
        return LogisticPath(matrix, datafit, together if leave_out else None, leave_out)

    def fitted(path: LogisticPath, beta: float) -> LogisticFit | None:
        left = None if max_time is None else max(max_time - (time.perf_counter() - began), SOONEST)
        fit = path.fit(beta, Limits.of(_OWNER, max_iter=STEPS, max_time=left))
        unless_interrupted(fit)
        return None if fit.status.ends_all else fit

    split = [(np.flatnonzero(np.isin(place, f.kept)), np.flatnonzero(np.isin(place, f.unseen))) for f in folds]
    parts: list[tuple[LogisticPath, float, NDArray[np.floating], NDArray[np.intp]]] = []

    def loss_at(k: int) -> float | None:
        total = 0.0
        for own, share, across, unseen in parts:
            fit = fitted(own, n * beta * RATIO**k * share / own.n)
            if fit is None:
                return None
            values = loss.value(across @ fit.alpha + fit.intercept, targets[unseen])[:, 0]
            total += float(w[unseen] @ values)
        return total

    with blas_threads(n):
        for fold, (kept, unseen) in zip(folds, split, strict=True):
            K = fold.kernel(rows[kept])
            parts.append((path(K, kept, False), spread(K) / size, fold.kernel(rows[unseen], rows[kept]), unseen))
        losses = search_beta(loss_at, fixed)
        if not losses:
            return None
        best = beta * RATIO ** min(losses, key=lambda k: losses[k])
        outputs, out_of_sample = np.zeros((n, targets.shape[1])), np.zeros(n, dtype=bool)
        for fold, (_, unseen) in zip(folds, split, strict=True):
            K = fold.kernel(rows)
            fit = fitted(path(K, np.arange(n), True), best * spread(K) / size)
            if fit is None:
                return None
            outputs[unseen], out_of_sample[unseen] = fit.leave_one_out[unseen], True
        fit = fitted(path(kernel(rows), np.arange(n), False), best)
    if fit is None:
        return None
    some = None if weights is None else w[out_of_sample]
    calibration = fit_calibration(outputs[out_of_sample], index[out_of_sample], n_classes, some)
    return LogisticChoice(fit, calibration, outputs, out_of_sample)
