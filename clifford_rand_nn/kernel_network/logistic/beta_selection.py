"""Beta of the logistic loss or the softmax by approximate leave-one-out, and comparison with the squared loss."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._blas import blas_threads
from clifford_rand._typing import Array
from clifford_rand_nn.datafits.registry import encode_labels, make_datafit
from clifford_rand_nn.kernel_network.calibration import Calibration, fit_calibration
from clifford_rand_nn.kernel_network.logistic.path import LogisticFit, LogisticPath, rows_of
from clifford_rand_nn.solvers.base import Limits
from clifford_rand_nn.solvers.interrupts import unless_interrupted

_OWNER = "choose_logistic"
STEPS = 100  # of a fit
RATIO = 4.0  # of neighboring betas
_MOST = 8  # betas
CURVATURE = 4.0  # noise of a row's logit where both classes are as likely, over that of the squared loss


class LogisticChoice(NamedTuple):
    r"""The fit for the best beta, and its probabilities.

    ``outputs`` (n, C): of rows by fits without them, where ``told``. ``told`` (n,). ``variance`` (n,): those that the
    calibration was given.
    """

    fit: LogisticFit
    calibration: Calibration
    outputs: Array
    told: NDArray[np.bool_]
    variance: Array | None = None


class Search:
    """Exponents k of ``RATIO`` from 0 up and down as long as the loss falls, `_MOST` of them at most.

    Examples
    --------
    >>> search, found = Search(), {}
    >>> while (k := search.next(found)) is not None:
    ...     found[k] = (k + 2.2) ** 2
    >>> list(found)
    [1, 0, -1, -2, -3]
    """

    def __init__(self, fixed: bool = False) -> None:
        self._fixed, self._ahead = fixed, [0] if fixed else [1, 0, -1]

    def next(self, found: Mapping[int, float]) -> int | None:
        """Return the next one, given the losses of all before, or None."""
        if not self._ahead and not self._fixed and len(found) < _MOST:
            best, low, high = min(found, key=lambda k: found[k]), min(found), max(found)
            if not low < best < high:
                self._ahead = [low - 1] if best == low else [high + 1]
        return self._ahead.pop(0) if self._ahead else None


def choose_logistic(
    K: Array,
    index: NDArray[np.intp],
    n_classes: int,
    beta: float,
    weights: Array | None = None,
    groups: NDArray[np.intp] | None = None,
    variances: Callable[[float], Array] | None = None,
    max_time: float | None = None,
    fixed: bool = False,
) -> LogisticChoice:
    r"""Return the fit with the least leave-one-out loss of betas a factor of 4 apart, and its probabilities.

    The search goes from ``beta`` up and down as long as that loss falls, eight fits at most. It is the loss before
    calibration: the other forgives a network that interpolates, where leave-one-out is least exact. Between logistic
    and squared loss the one with the smaller calibrated leave-one-out loss is to be taken.

    ``K`` (n, n). ``index`` (n,): classes from 0. ``beta``: where to begin: the best for the squared loss. ``weights``,
    ``groups``: as in `logistic_path`. ``variances``: `LeaveOneOut.variances`: predictive variances (n,) for a beta of
    the squared loss, here 4 times that of the fit. ``max_time``: seconds. ``fixed``: whether ``beta`` is the only one.
    Raises KeyboardInterrupt: by Ctrl-C: half a choice is none.
    """
    targets, loss = encode_labels(index, n_classes, "logistic")
    parts = None if groups is None else rows_of(groups, len(K))
    path = LogisticPath(np.ascontiguousarray(K), make_datafit(loss, targets, len(K), _OWNER, None, weights), parts)
    limits = Limits.of(_OWNER, max_iter=STEPS, max_time=max_time)
    found: dict[int, float] = {}
    fits: dict[int, LogisticFit] = {}
    search = Search(fixed)
    with blas_threads(len(K)):
        while (k := search.next(found)) is not None:
            fit = fits[k] = path.fit(beta * RATIO**k, limits.after(path.seconds))
            unless_interrupted(fit)
            losses = loss.value(fit.leave_one_out, targets)[:, 0]
            found[k] = float(np.average(losses, weights=weights))
            if fit.status.ends_all:
                break
    fit = fits[min(found, key=lambda k: found[k])]
    v = None if variances is None else variances(CURVATURE * fit.beta)
    calibration = fit_calibration(fit.leave_one_out, index, n_classes, weights, v)
    return LogisticChoice(fit, calibration, fit.leave_one_out, np.ones(len(K), dtype=bool), v)
