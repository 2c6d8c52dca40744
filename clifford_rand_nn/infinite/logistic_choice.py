"""Beta of the logistic loss or the softmax by leave-one-out, and what to compare with the squared loss."""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.choice import encode_labels
from clifford_rand_nn.infinite.calibration import Calibration, fit_calibration
from clifford_rand_nn.infinite.logistic import LogisticFit, logistic_path
from clifford_rand_nn.solvers.base import SOONEST

_RATIO = 4.0  # of neighbouring betas
_MOST = 8  # betas
_CURVATURE = 4.0  # noise of a row's logit where both classes are as likely, over that of the squared loss


class LogisticChoice(NamedTuple):
    r"""The fit for the best beta, and its probabilities; the share of its calibration is of ``noise``.

    Attributes
    ----------
    fit : LogisticFit
    calibration : Calibration
        Its ``loss`` is what to compare with that of the squared loss: the less, the better.
    noise : float
        :math:`4n\beta`, for the variance of new rows.
    """

    fit: LogisticFit
    calibration: Calibration
    noise: float


def choose_logistic(
    K: Array,
    index: NDArray[np.intp],
    n_classes: int,
    beta: float,
    weights: Array | None = None,
    groups: NDArray[np.intp] | None = None,
    variances: Callable[[float], Array] | None = None,
    max_time: float | None = None,
) -> LogisticChoice:
    r"""Return the fit with the least leave-one-out loss of betas a factor of 4 apart, and its probabilities.

    The search goes from ``beta`` up and down as long as that loss falls, eight fits at most. It is the loss before
    calibration: the other forgives a network that interpolates, where leave-one-out is least exact. Between logistic
    and squared loss the one with the smaller calibrated leave-one-out loss is to be taken.

    Parameters
    ----------
    K : (n, n) array
    index : (n,) array of integers
        Classes from 0.
    n_classes : int ≥ 2
    beta : float > 0
        Where to begin: the best for the squared loss.
    weights, groups
        As in `logistic_path`.
    variances : callable, optional
        `LeaveOneOut.variances`: predictive variances (n,) for a beta of the squared loss, here 4 times that of the fit.
    max_time : float, optional
        Seconds.
    """
    began = time.perf_counter()
    targets, loss = encode_labels(index, n_classes, "logistic")
    mass = None if weights is None else weights[:, None]
    found: dict[int, tuple[float, LogisticFit]] = {}

    def left() -> float | None:
        return None if max_time is None else max(max_time - (time.perf_counter() - began), SOONEST)

    def try_out(steps: list[int]) -> None:
        betas = [beta * _RATIO**k for k in steps]
        fits = logistic_path(K, targets, weights, betas, loss, groups, max_time=left())
        for k, fit in zip(steps, fits, strict=False):  # fewer, if time was over
            losses = loss.value(fit.leave_one_out, targets)
            found[k] = float(np.average(losses, weights=mass)), fit

    try_out([1, 0, -1])
    while len(found) < _MOST and left() != SOONEST:
        best, low, high = min(found, key=lambda k: found[k][0]), min(found), max(found)
        if low < best < high:
            break
        try_out([low - 1] if best == low else [high + 1])
    fit = min(found.values(), key=lambda one: one[0])[1]
    v = None if variances is None else variances(_CURVATURE * fit.beta)
    calibration = fit_calibration(fit.leave_one_out, index, n_classes, weights, v)
    return LogisticChoice(fit, calibration, _CURVATURE * len(K) * fit.beta)
