"""Beta of the logistic loss or the softmax with a learned metric, selected on held-out rows."""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._blas import blas_threads
from clifford_rand._typing import Array
from clifford_rand_nn.datafits.registry import encode_labels, make_datafit
from clifford_rand_nn.kernel_network.calibration import fit_calibration
from clifford_rand_nn.kernel_network.kernel import GateKernel
from clifford_rand_nn.kernel_network.logistic.beta_selection import RATIO, STEPS, LogisticChoice, Search
from clifford_rand_nn.kernel_network.logistic.path import LogisticFit, LogisticPath, rows_of
from clifford_rand_nn.kernel_network.metric.metric_frame import spread
from clifford_rand_nn.kernel_network.metric.metric_selection import Fold
from clifford_rand_nn.solvers.base import SOONEST, Limits
from clifford_rand_nn.solvers.interrupts import unless_interrupted

_OWNER = "choose_unseen"


def choose_unseen(
    kernel: GateKernel,
    folds: tuple[Fold, ...],
    rows: Array,
    place: NDArray[np.intp],
    index: NDArray[np.intp],
    n_classes: int,
    beta: float,
    weights: Array | None = None,
    groups: NDArray[np.intp] | None = None,
    max_time: float | None = None,
    fixed: bool = False,
) -> LogisticChoice | None:
    r"""Return the fit on learned gates for the best of betas a factor of 4 apart, and its probabilities.

    As `choose_logistic`, but what is said of a row is said by gates that have not seen it: for each beta fits to the
    rows that the gates of a fold were learned from are judged by those they have not seen. For the best of them,
    probabilities are fitted to leave-one-out outputs of these rows, with the gates of the fold and all other rows.

    ``kernel``: of the final gates. ``folds``: of `learned_rounds`, whose rows are the distinct ones. ``rows`` (n, d):
    standardized. ``place`` (n,): the distinct row of each. ``index``, ``n_classes``, ``weights``, ``groups``,
    ``fixed``: as of `choose_logistic`. ``beta``: where to begin: the best for the squared loss with ``kernel``.
    ``max_time``: seconds. Return value: none if time was over. Raises KeyboardInterrupt: by Ctrl-C: half a choice is
    none.
    """
    began = time.perf_counter()
    targets, loss = encode_labels(index, n_classes, "logistic")
    n, size = len(rows), spread(kernel(rows))
    w = np.ones(n) if weights is None else weights

    def limits() -> Limits:
        left = None if max_time is None else max(max_time - (time.perf_counter() - began), SOONEST)
        return Limits.of(_OWNER, max_iter=STEPS, max_time=left)

    def path(K: NDArray[Any], some: NDArray[np.intp], leave_out: bool) -> LogisticPath:
        datafit = make_datafit(loss, targets[some], len(some), _OWNER, None, None if weights is None else w[some])
        matrix = np.ascontiguousarray(K, dtype=np.float64)
        return LogisticPath(matrix, datafit, together if leave_out else None, leave_out)

    every = np.arange(n)
    together = None if groups is None else rows_of(groups, n)
    split = [(np.flatnonzero(np.isin(place, f.kept)), np.flatnonzero(np.isin(place, f.unseen))) for f in folds]
    with blas_threads(n):
        parts = []
        for fold, (kept, unseen) in zip(folds, split, strict=True):
            K = fold.kernel(rows[kept])
            parts.append((path(K, kept, False), spread(K), fold.kernel(rows[unseen], rows[kept]), kept, unseen))
        found: dict[int, float] = {}
        search = Search(fixed)
        while (k := search.next(found)) is not None:
            total = 0.0
            for one, own, across, kept, unseen in parts:
                fit = one.fit(n * beta * RATIO**k * own / size / len(kept), limits())
                if _over(fit):
                    return None
                values = loss.value(across @ fit.alpha + fit.intercept, targets[unseen])[:, 0]
                total += float(w[unseen] @ values)
            found[k] = total
        best = beta * RATIO ** min(found, key=lambda k: found[k])
        outputs, told = np.zeros((n, targets.shape[1])), np.zeros(n, dtype=bool)
        for fold, (_, unseen) in zip(folds, split, strict=True):
            K = fold.kernel(rows)
            fit = path(K, every, True).fit(best * spread(K) / size, limits())
            if _over(fit):
                return None
            outputs[unseen], told[unseen] = fit.leave_one_out[unseen], True
        fit = path(kernel(rows), every, False).fit(best, limits())
    if _over(fit):
        return None
    some = None if weights is None else w[told]
    calibration = fit_calibration(outputs[told], index[told], n_classes, some)
    return LogisticChoice(fit, calibration, outputs, told)


def _over(fit: LogisticFit) -> bool:
    """Whether time is over."""
    unless_interrupted(fit)
    return fit.status.ends_all
