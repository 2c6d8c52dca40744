"""A primal-dual interior-point method for the dictionary Lasso: some thousand rows, any number of columns."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clifford_rand._blas import ONE_BLAS_THREAD
from clifford_rand._checks import check_integer, check_positive, describe, fail
from clifford_rand_nn.problems.duality import DualBound, dual_bound
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.solvers.base import HistoryRow, Result
from clifford_rand_nn.solvers.interior.dual_terms import DualTerms
from clifford_rand_nn.solvers.lasso.central_path import CentralPath
from clifford_rand_nn.solvers.lasso.polish import polished

__all__ = ["InteriorPoint"]

Array = NDArray[np.float64]

_LARGEST = 8000  # order of the normal matrix: 512 MB, and some 10 s a step
# Products up to which the idle threads of NumPy's and SciPy's BLAS, which are two libraries, take more from each other
# than they give: on two cores a second thread made n = 160, N = 3000 ten times slower and n = 1500, N = 3000 no faster.
_SMALL = 1e10
_STALLED = 6  # steps without a better gap: rounding is all that is left, if the gap is already
_FLOOR = 0.1  # share of the gap to be reached that the products of slacks and multipliers need not go below
_SLACK = 0.1  # share of the gap by which the objective may rise when the solution is made basic
_LATE = 1e-4  # below this; before, the residual of stationarity may have to fall first


@dataclass(frozen=True)
class InteriorPoint:
    r"""Mehrotra's predictor-corrector method on the dual of a `LassoProblem`.

    .. math:: \min_\theta\ \sum_i\ell^*(-\theta_i)\quad\text{s.t.}\quad ||K_j^T\theta||_2\le n\beta,\ 1^T\theta = 0

    Every step factors one matrix of the order of the rows, :math:`\mathrm{diag}(\ell^{*\prime\prime})+K\,
    \mathrm{diag}(z/s)\,K^T`, so a step costs n²N flops whatever the conditioning, and 20 to 30 steps are enough. The
    dual point is feasible all along. At the end the solution is made basic (`purify`: at most n columns, n - 1 with an
    intercept, for one output) and, for one output, solved to rounding on its columns.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach. 1e-10 can be had where the problem is not badly scaled.
    max_iter : int
    basic : bool
        Whether the solution is made basic. Otherwise all columns have a weight, most of them a negligible one.
    callback : callable or None
        Called with each `HistoryRow`.

    References
    ----------
    Mehrotra, "On the implementation of a primal-dual interior point method", SIAM J. Optim. 2 (1992); Wright,
    "Primal-Dual Interior-Point Methods", SIAM, 1997, chapter 10.

    Examples
    --------
    >>> import numpy as np
    >>> problem = LassoProblem(np.eye(3), [0.0, 0.0, 3.0], beta=0.1)
    >>> result = InteriorPoint().solve(problem)
    >>> result.status, result.coefficients.columns.tolist(), result.coefficients.values.round(6).tolist()
    ('optimal', [2], [[2.55]])
    """

    tol: float = 1e-8
    max_iter: int = 100
    basic: bool = True
    callback: Callable[[HistoryRow], object] | None = None

    def __post_init__(self) -> None:
        check_positive(self.tol, "tol", "InteriorPoint")
        check_integer(self.max_iter, "max_iter", "InteriorPoint")

    def solve(self, problem: LassoProblem) -> Result[Weights]:
        """Minimise the problem, in one BLAS thread where a step is short.

        Raises
        ------
        ArgumentError
            A normal matrix of order above 8000: more than that many rows (times outputs).
        """
        n, N = problem.K.shape
        with ONE_BLAS_THREAD if N * (n * problem.outputs) ** 2 < _SMALL else nullcontext():
            return self._start(problem)

    def _start(self, problem: LassoProblem) -> Result[Weights]:
        began = time.perf_counter()
        terms = DualTerms(problem.datafit, problem.Q)
        n, N = problem.K.shape
        null = Weights(np.zeros(0, dtype=np.intp), np.zeros((0, problem.outputs)), terms.null[0].copy())
        if not problem.fit_intercept:
            null = null._replace(intercept=np.zeros(problem.outputs))
        if problem.dual_norm(terms.null_theta) <= n * problem.beta:
            return self._result(problem, began, (), null, self._bound(problem, terms.null_theta), 0, "")
        order = terms.mix.shape[1] * n
        if problem.outputs == 1:
            order = min(order, N)
        if order > _LARGEST:
            raise fail(
                "problem",
                "InteriorPoint.solve",
                f"of rows × outputs ≤ {_LARGEST}, the order of a dense matrix",
                describe(f"{n} rows, {problem.outputs} outputs of loss={problem.loss!r}"),
                "Use FISTA, or fewer rows.",
            )
        idle = terms.idle()
        if idle.any():
            return self._without(problem, began, idle, null)
        return self._solve(problem, began, terms, null)

    def _solve(self, problem: LassoProblem, began: float, terms: DualTerms, null: Weights) -> Result[Weights]:
        path = CentralPath(problem, terms)
        columns = np.arange(problem.K.shape[1])
        best, lowest = null, problem.objective(null)
        theta, highest = path.theta, -np.inf
        history: list[HistoryRow] = []
        least, since, k, why = np.inf, 0, 0, ""
        while True:
            objective, bound = path.objective(), path.bound()
            if objective < lowest:
                best, lowest = Weights(columns, path.weights(), path.intercept()), objective
            if bound > highest:
                theta, highest = path.theta, bound
            gap = problem.relative_gap(lowest, highest)
            history.append(HistoryRow(k, time.perf_counter() - began, lowest, gap))
            if self.callback is not None:
                self.callback(history[-1])
            least, since = (gap, 0) if gap < 0.9 * least else (least, since + 1)
            if gap <= self.tol:
                break
            if since >= _STALLED and gap <= _LATE:
                why = f"stopped after {k} iterations by rounding"
                break
            if k == self.max_iter:
                why = f"stopped after {k} iterations"
                break
            if not path.step(_FLOOR * self.tol * lowest):
                why = f"stopped after {k} iterations by rounding"
                break
            k += 1
        if self.basic:
            reached = highest + self.tol * lowest  # up to here the gap still is what was asked for
            allowed = max(lowest, min(lowest + _SLACK * max(lowest - highest, 0.0), reached))
            best = polished(problem, best, allowed)
        return self._result(problem, began, tuple(history), best, self._bound(problem, theta), k, why)

    def _without(self, problem: LassoProblem, began: float, idle: NDArray[np.bool_], null: Weights) -> Result[Weights]:
        """Solve for the outputs that the intercept does not meet alone."""
        rest = np.flatnonzero(~idle)
        y = problem.datafit.y[:, rest]
        delta = getattr(problem.datafit, "delta", 1.0)
        smaller = LassoProblem(
            problem.K,
            y,
            problem.beta,
            loss=problem.loss,
            fit_intercept=problem.fit_intercept,
            huber_delta=delta,
            sample_weight=problem.datafit.sample_weight,
        )
        found = self.solve(smaller)
        values = np.zeros((found.coefficients.columns.size, problem.outputs))
        values[:, rest] = found.coefficients.values
        intercept = null.intercept.copy()
        intercept[rest] = found.coefficients.intercept
        theta = np.zeros_like(problem.datafit.y)
        theta[:, rest] = found.dual_point
        weights = Weights(found.coefficients.columns, values, intercept)
        why = "" if found.converged else found.status
        return self._result(problem, began, found.history, weights, self._bound(problem, theta), found.n_iter, why)

    def _bound(self, problem: LassoProblem, theta: Array) -> DualBound:
        return dual_bound(problem.datafit, theta, problem.Q, problem.dual_norm, problem.n * problem.beta)

    def _result(
        self,
        problem: LassoProblem,
        began: float,
        history: tuple[HistoryRow, ...],
        weights: Weights,
        bound: DualBound,
        n_iter: int,
        why: str,
    ) -> Result[Weights]:
        """Judge the weights by the better of two bounds: the method's dual point and their own residual."""
        f = problem.predictions(weights)
        objective = problem.objective(weights, f)
        own = problem.dual_bound(f)
        if own.value > bound.value:
            bound = own
        gap = problem.relative_gap(objective, bound.value)
        why = why or f"stopped after {n_iter} iterations"
        status = "optimal" if gap <= self.tol else f"{why} at a relative gap of {gap:.1e}: {_advice(n_iter, self)}"
        seconds = time.perf_counter() - began
        if not history:
            history = (HistoryRow(n_iter, seconds, objective, gap),)
        return Result(
            objective=objective,
            duality_gap=max(objective - bound.value, 0.0),
            relative_gap=gap,
            n_iter=n_iter,
            status=status,
            history=history,
            solver="interior_point",
            seconds=seconds,
            coefficients=weights,
            fitted=f,
            dual_point=bound.theta,
        )


def _advice(n_iter: int, solver: InteriorPoint) -> str:
    return "try a larger max_iter" if n_iter >= solver.max_iter else "try a larger tol, or data scaled more evenly"
