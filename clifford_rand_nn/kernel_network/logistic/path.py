"""Logistic loss and softmax over a kernel matrix: the fit for every beta, and what it predicts without each row."""

from dataclasses import dataclass

import numpy as np

from clifford_rand._checks import as_array, describe, fail
from clifford_rand._typing import Array, ArrayLike
from clifford_rand_nn.datafits.datafit import Datafit
from clifford_rand_nn.kernel_network.kernel_problem import KernelMatrix, KernelProblem
from clifford_rand_nn.kernel_network.logistic.approximate_leave_one_out import Groups, InverseBlocks, left_out
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Status

_OWNER = "LogisticPath"
_NEAR = 1e-3  # a gap from which one step moves predictions so little that its curvatures are those of the optimum
_CUBE = 5.8e-12  # seconds of a Cholesky factorization of order n, by n³, on two cores
_LOGISTIC, _SOFTMAX = 3.0, 27.0  # such factorizations for one beta, and for one beta and class
_REFITS = 0.08  # seconds of what `left_out` refits for one beta


@dataclass(frozen=True, eq=False)
class LogisticFit:
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


def rows_of(groups: ArrayLike, n: int) -> Groups:
    """Return the rows of every group."""
    labels = as_array(groups, "groups", _OWNER)
    if labels.shape != (n,):
        raise fail("groups", _OWNER, f"of shape ({n},)", describe(f"shape {labels.shape}"))
    _, index = np.unique(labels, return_inverse=True)
    parts = np.split(np.argsort(index, kind="stable"), np.cumsum(np.bincount(index))[:-1])
    if len(parts) < 2:
        raise fail("groups", _OWNER, "at least two groups, so that one can be left out", describe("one group"))
    return parts


class LogisticPath:
    r"""A kernel network with a free intercept for every beta, each fit beginning near the last two, by Newton's method.

    .. math:: \min_{\alpha,t}\ \frac1n\sum_i\omega_i\ell(f_i, y_i)+\frac\beta2\mathrm{tr}(\alpha^TK\alpha),
              \qquad f = K\alpha+1t^T

    The dual, whose bound gives the gap, is over :math:`\theta=n\beta\alpha` with :math:`1^T\theta=0`:
    :math:`\max_\theta\frac1n\sum_i-\omega_i\ell^*(-\theta_i/\omega_i)-\frac1{2n^2\beta}\mathrm{tr}(\theta^TK\theta)`.

    Predictions without a row are approximate, see `left_out`. They leave out the row's loss, and keep the kernel,
    :math:`n\beta` and the other losses. At the best beta they miss the mean loss of refits by .1 % for two classes and
    about 1 % for eleven (100 rows of each of 23 tables), by less with more rows, by more where beta is so small that
    the network interpolates; a class whose only row is left out has no prediction.

    ``K`` (n, n): positive semidefinite. ``datafit``: of the logistic loss or the softmax. ``groups``: rows that are
    left out together. ``leave_out``: whether to find what is predicted without each row; it costs as much as some fits.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 6)
    >>> y = np.array([-1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    >>> from clifford_rand_nn.datafits.registry import make_datafit
    >>> path = LogisticPath(np.outer(x, x), make_datafit("logistic", y, 6, "LogisticPath"))
    >>> weak, strong = (path.fit(beta, Limits.of("fit", max_iter=100)) for beta in (1.0, 0.01))
    >>> np.round(strong.leave_one_out[:, 0], 1).tolist()
    [-2.0, -0.9, -2.1, 2.1, 0.9, 2.0]
    """

    def __init__(self, K: Array, datafit: Datafit, groups: Groups | None = None, leave_out: bool = True) -> None:
        self._leave_out, self._groups = leave_out, groups
        self._kernel, self._datafit = KernelMatrix(K, fit_intercept=True), datafit
        self.n, self._outputs = datafit.y.shape
        self._fits: list[LogisticFit] = []
        self.seconds = 0.0

    def fit(self, beta: float, limits: Limits) -> LogisticFit:
        """Fit for one beta; betas that fall by equal ratios are fastest."""
        problem = KernelProblem(self._kernel, self._datafit, beta)
        last = self._fits[-1] if self._fits else None
        state = None if last is None else problem.state(last.alpha, last.fitted)
        watch, newton = problem.minimize(limits, state, self._ahead(beta))
        best = watch.point
        alone = np.full_like(best.f, np.nan)
        if self._leave_out and watch.status not in (Status.INTERRUPTED, Status.MAX_MEMORY):
            # near the optimum a step moves predictions so little that its curvatures are those there
            is_near = len(watch.history) > 1 and watch.history[-2].relative_gap <= _NEAR
            system = newton.system if is_near and newton.system is not None else newton.system_at(best.f)
            alone = self._centered(left_out(InverseBlocks(system, newton.border), self._datafit, best.f, self._groups))
        self.seconds += watch.seconds
        result = watch.result("newton", best)
        fit = LogisticFit(
            beta=beta,
            alpha=best.theta / (self.n * beta),
            intercept=self._centered(problem.intercept(best)[None])[0],
            fitted=self._centered(best.f),
            leave_one_out=alone,
            objective=result.objective,
            duality_gap=result.duality_gap,
            relative_gap=result.relative_gap,
            dual_point=result.dual_point,
            n_iter=result.n_iter,
            status=result.status,
            history=result.history,
        )
        self._fits = [*self._fits[-1:], fit]
        return fit

    def _centered(self, f: Array) -> Array:
        """Return predictions, of a softmax those whose rows sum to zero."""
        return f if self._outputs == 1 else f - f.mean(axis=1, keepdims=True)

    def _ahead(self, beta: float) -> Array | None:
        """Return predictions on the line through those of the last two fits, over the logarithm of beta."""
        if len(self._fits) < 2 or self._fits[0].beta == self._fits[1].beta:
            return None
        second, last = self._fits
        share = float(np.log(beta / last.beta) / np.log(last.beta / second.beta))
        return last.fitted + (last.fitted - second.fitted) * share
