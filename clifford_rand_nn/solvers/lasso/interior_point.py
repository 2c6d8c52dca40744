"""A primal-dual interior-point method for the dictionary Lasso: some thousand rows, any number of columns."""

from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.solvers.base import Limits, Result, Status
from clifford_rand_nn.solvers.lasso.central_path import CentralPath
from clifford_rand_nn.solvers.lasso.vertex_solution import make_basic
from clifford_rand_nn.solvers.predictor_corrector import DualTerms
from clifford_rand_nn.solvers.stopping import Watch, handed_over

_LARGEST = 8000  # order of the normal matrix: 512 MB, and some 10 s a step
# Products up to which the idle threads of NumPy's and SciPy's BLAS, which are two libraries, take more from each other
# than they give: on two cores a second thread made n = 160, N = 3000 ten times slower and n = 1500, N = 3000 no faster.
_SMALL = 1e10
_STALLED = 6  # steps without a better gap: rounding is all that is left, if the gap is already
_FLOOR = 0.1  # share of the gap to be reached that the products of slacks and multipliers need not go below
_LATE = 1e-4  # below this; before, the residual of stationarity may have to fall first


@dataclass(frozen=True, kw_only=True)
class InteriorPoint(Limits):
    r"""Mehrotra's predictor-corrector method on the dual of a `LassoProblem`.

    .. math:: \min_\theta\ \sum_i\ell^*(-\theta_i)\quad\text{s.t.}\quad ||K_j^T\theta||_2\le n\beta,\ 1^T\theta = 0

    Every step factors one matrix of the order of the rows, :math:`\mathrm{diag}(\ell^{*\prime\prime})+K\,
    \mathrm{diag}(z/s)\,K^T`, so a step costs n²N flops whatever the conditioning, and 20 to 30 steps are enough. The
    dual point is feasible all along. At the end the solution is made basic (`purify`: at most n columns, n - 1 with an
    intercept, for one output) and, for one output, solved to rounding on its columns.

    ``tol``, ``max_iter``, ``max_time``, ``max_memory``, ``callback``: see `Limits`. A tol of 1e-10 can be had where the
    problem is not badly scaled. ``basic``: whether the solution is made basic. Otherwise all columns have a weight,
    most of them a negligible one.

    References
    ----------
    Mehrotra, "On the implementation of a primal-dual interior point method", SIAM J. Optim. 2 (1992); Wright,
    "Primal-Dual Interior-Point Methods", SIAM, 1997, chapter 10.

    Examples
    --------
    >>> problem = LassoProblem(np.eye(3), [0.0, 0.0, 3.0], beta=0.1)
    >>> result = InteriorPoint().solve(problem)
    >>> result.status, result.coefficients.columns.tolist(), result.coefficients.values.round(6).tolist()
    (<Status.OPTIMAL: 'optimal'>, [2], [[2.55]])
    """

    tol: float = 1e-8
    max_iter: int = 100
    basic: bool = True

    @staticmethod
    def memory(problem: LassoProblem) -> float:
        """Return the bytes of the normal matrix and its factor, and of the scaled columns."""
        n, N = problem.K.shape
        order = problem.outputs * n if problem.outputs > 1 else min(n, N)
        return float(8 * (3 * order**2 + n * N + 12 * N * problem.outputs))

    @handed_over
    def solve(self, problem: LassoProblem) -> Result[Weights]:
        """Minimize the problem, in one BLAS thread where a step is short.

        Raises ArgumentError: A normal matrix of order above 8000: more than that many rows (times outputs).
        """
        self.admit(problem, LassoProblem)
        n, N = problem.K.shape
        self.admit_memory(self.memory(problem), f"{n} rows, {N} columns", "Use WorkingSet, or fewer rows.")
        with ONE_BLAS_THREAD if N * (n * problem.outputs) ** 2 < _SMALL else nullcontext():
            watch = Watch[Weights](self, problem.relative_gap, "try a larger tol, or data scaled more evenly")
            with watch, np.errstate(all="ignore"):  # what overflows is not finite afterwards, and is judged then
                self._start(problem, watch)
            if self.basic:
                with watch:
                    make_basic(problem, watch, self.tol)
        return watch.result("interior_point", watch.point)

    def _start(self, problem: LassoProblem, watch: Watch[Weights]) -> None:
        """Judge the best constant, and go on from there if it is not optimal."""
        terms = DualTerms(problem.datafit, problem.Q)
        n, N = problem.K.shape
        null = Weights(np.zeros(0, dtype=np.intp), np.zeros((0, problem.outputs)), terms.null[0].copy())
        if not problem.fit_intercept:
            null = null._replace(intercept=np.zeros(problem.outputs))
        order = terms.mix.shape[1] * n
        if problem.outputs == 1:
            order = min(order, N)
        optimal = problem.dual_norm(terms.null_theta) <= n * problem.beta
        if order > _LARGEST and not optimal:
            raise fail(
                "problem",
                "InteriorPoint.solve",
                f"of rows × outputs ≤ {_LARGEST}, the order of a dense matrix",
                describe(f"{n} rows, {problem.outputs} outputs of loss={problem.loss!r}"),
                "Use FISTA, or fewer rows.",
            )
        f = problem.predictions(null)
        watch.check(0, problem.objective(null, f), problem.bound_at(terms.null_theta), null, f)
        if watch.status is not None:
            return None
        if optimal:  # but for rounding
            return watch.stop(Status.STALLED)
        idle = terms.idle()
        if idle.any():
            return self._without(problem, watch, idle)
        return self._run(CentralPath(problem, terms), watch)

    def _run(self, path: CentralPath, watch: Watch[Weights]) -> None:
        """Take steps until the watch or rounding ends them."""
        columns = np.arange(path.problem.K.shape[1])
        least, since = np.inf, 0
        for k in count(1):
            try:
                # a share of the bound: the objective may start orders above the optimum, and would lift the products
                moved = path.step(_FLOOR * self.tol * max(watch.bound.value, 0.0), watch.gap)
            except np.linalg.LinAlgError:
                moved = False
            if not moved:
                return watch.stop(Status.STALLED)
            weights = Weights(columns, path.weights(), path.intercept())
            watch.check(k, path.objective(), path.problem.bound_at(path.theta), weights, path.f)
            least, since = (watch.gap, 0) if watch.gap < 0.9 * least else (least, since + 1)
            if watch.status is not None:
                return None
            if since >= _STALLED and watch.gap <= _LATE:
                return watch.stop(Status.STALLED)
        return None

    def _without(self, problem: LassoProblem, watch: Watch[Weights], idle: NDArray[np.bool_]) -> None:
        """Solve for the outputs that the intercept does not meet alone."""
        rest = np.flatnonzero(~idle)
        smaller = LassoProblem(
            problem.K,
            problem.datafit.y[:, rest],
            problem.beta,
            loss=problem.datafit.loss,
            fit_intercept=problem.fit_intercept,
            sample_weight=problem.datafit.sample_weight,
        )
        result = self.after(watch.seconds).solve(smaller)
        values = np.zeros((result.coefficients.columns.size, problem.outputs))
        values[:, rest] = result.coefficients.values
        intercept = watch.point.intercept.copy()
        intercept[rest] = result.coefficients.intercept
        theta = np.zeros_like(problem.datafit.y)
        theta[:, rest] = result.dual_point
        weights = Weights(result.coefficients.columns, values, intercept)
        f = problem.predictions(weights)
        watch.check(result.n_iter, problem.objective(weights, f), problem.bound_at(theta), weights, f)
        if not result.converged:
            watch.stop(result.status)
