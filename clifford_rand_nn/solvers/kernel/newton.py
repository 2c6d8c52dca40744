"""Ridge regression over gates, for any loss: Newton's method in the dual variable on the kernel of all gates."""

from dataclasses import dataclass
from itertools import count

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.problems.gated import Coefficients, Point
from clifford_rand_nn.problems.ridge import GatedRidgeProblem
from clifford_rand_nn.solvers.base import Result, Status
from clifford_rand_nn.solvers.kernel.gram import SummedKernel
from clifford_rand_nn.solvers.kernel.method import ADVICE, KernelMethod
from clifford_rand_nn.solvers.kernel.newton_step import NewtonStep, State
from clifford_rand_nn.solvers.watch import Watch

_SINGLE = 1e-3  # a gap above which single precision is enough for the next step
_ROUGH = 1e-5  # a gap that a step in single precision reaches
_STALLED = 3  # steps in a row that lower neither the gap nor the objective by the next share
_NO_LESS = 1e-13


@dataclass(frozen=True, kw_only=True)
class KernelNewton(KernelMethod):
    r"""Newton's method for `GatedRidgeProblem` of up to some ten thousand rows, on one matrix of order n.

    With :math:`K = \sum_iD_iXX^TD_i = (XX^T)\circ(DD^T)` and :math:`\lambda = n\beta` the network is
    :math:`U_i = X^TD_i\theta/\lambda`, its predictions are :math:`f = K\theta/\lambda + Qc`, and at the optimum θ is
    their residual. A step linearises the residual at the present predictions, with curvatures W:

    .. math:: (W^{-1} + K/\lambda)\theta + Qc = f + W^{-1}r(f),\qquad Q^T\theta = 0,

    one factorisation of order n (one for each output of a softmax), whatever the numbers of gates and features are; it
    is halved until it lowers the objective enough. Rows on a linear piece of the loss keep their residual. The squared
    loss takes one step, others some four to eight, fewer along a path.

    Parameters
    ----------
    tol, max_iter, max_time, max_memory, callback
        See `Limits`.

    References
    ----------
    Rasmussen, Williams, "Gaussian processes for machine learning" (2006), algorithms 3.1 and 3.3, without the prior.

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn.problems.ridge import GatedRidgeProblem
    >>> X, y = np.array([[-1.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.5])
    >>> KernelNewton(tol=1e-10).solve(GatedRidgeProblem(X, y, X >= 0, beta=0.01)).n_iter
    1
    """

    @staticmethod
    def memory(problem: GatedRidgeProblem) -> float:
        """Return the bytes of the matrices of a solve."""
        n, C = problem.n, problem.outputs
        loss = problem.datafit.loss
        square = 1.5 + (1.5 if loss.is_quadratic else C) + (0.0 if loss.separable else 2.0)
        return float(8 * n * (n * square + problem.map.n_patterns + 4 * C * problem.map.Q.shape[1]))

    def solve(
        self, problem: GatedRidgeProblem, start: Point | None = None, kernel: list[SummedKernel] | None = None
    ) -> Result[Coefficients]:
        """Minimise the problem, from scratch or from a solution for another beta.

        Parameters
        ----------
        start : Point, optional
            A solution for a beta nearby; not needed where the last solve on ``kernel`` was for this problem.
        kernel : list of SummedKernel, optional
            The kernel of the problem, or nothing yet: then it is made and put there for the next solve. It depends
            neither on beta nor on the targets, and keeps the last predictions for the next beta.

        Raises
        ------
        ArgumentError
            The matrices would take more than ``max_memory``, the problem has another penalty, or the kernel
            is one of other rows or gates.
        """
        needed = self.memory(problem) if isinstance(problem, GatedRidgeProblem) else 0.0
        self._admit(
            problem,
            GatedRidgeProblem,
            needed,
            start,
            kernel,
            SummedKernel,
            "KernelInteriorPoint is for the penalty 'group_l2'.",
        )
        with self._threads(problem):
            return self._solve(problem, start, [] if kernel is None else kernel)

    def _solve(
        self, problem: GatedRidgeProblem, start: Point | None, kernel: list[SummedKernel]
    ) -> Result[Coefficients]:
        watch = Watch[Array](self, problem.relative_gap, ADVICE)
        free = problem.null_predictions
        theta = np.zeros_like(free)
        square = kernel[0].square if kernel else None
        with watch, np.errstate(all="ignore"):  # what overflows is not finite afterwards, and is judged then
            watch.check(0, problem.datafit.value(free), problem.dual_bound(free, square), theta, free)
            if watch.status is None:
                if not kernel:
                    kernel.append(SummedKernel(problem))
                newton = NewtonStep(problem, kernel[0])
                null = State(theta, theta, free, problem.datafit.value(free))
                self._run(newton, null, self._ahead(problem, kernel[0], start), watch)
                kernel[0].last = problem, watch.fitted
        return self._result(problem, watch, kernel)

    def _result(
        self, problem: GatedRidgeProblem, watch: Watch[Array], kernel: list[SummedKernel]
    ) -> Result[Coefficients]:
        """Return the network of the best dual variable, with the objective that it has itself."""
        a, theta, radius = problem.map, watch.point, problem.n * problem.beta
        U, free = problem.start().U, watch.fitted
        if theta.any():
            U = a.gated_adjoint(theta) / (radius * a.weights**2)[:, None, None]
            free = free - kernel[0].apply(theta) / radius
        free = a.Q.T @ free
        fitted = a.gated(U) + a.Q @ free
        objective = problem.datafit.value(fitted) + problem.penalty.value(U)
        watch.polish(objective, watch.bound, theta, fitted)  # where scales of rows differ much, K has lost the small
        return watch.result("newton", problem.with_biases(U, *a.biases_in(free)))

    @staticmethod
    def _ahead(problem: GatedRidgeProblem, kernel: SummedKernel, start: Point | None) -> Array | None:
        """Return the predictions to begin with: those of the last solve for this problem, if there are any."""
        if kernel.last is not None and kernel.last[0] is problem:
            known: Array = kernel.last[1]
            return known
        return None if start is None else problem.predictions(start)

    def _run(self, newton: NewtonStep, state: State, ahead: Array | None, watch: Watch[Array]) -> None:
        """Take steps until the watch or rounding ends them; the first from given predictions, if that helps."""
        # The squared loss is done after one step in double precision.
        since, enough = 0, _SINGLE if not newton.problem.datafit.loss.is_quadratic or self.tol > _ROUGH else np.inf
        for k in count(1):
            gap, least = watch.gap, state.objective * (1 - _NO_LESS)
            try:
                found = newton.step(state, ahead if k == 1 else None, watch.gap > enough)
            except np.linalg.LinAlgError:
                found = None
            if found is None:
                return watch.stop(Status.STALLED)
            state = found
            watch.check(k, state.objective, newton.bound(state.f), state.theta, state.f)
            if watch.status is not None:
                return None
            since = 0 if watch.gap < gap or state.objective < least else since + 1
            if since >= _STALLED:
                return watch.stop(Status.STALLED)
        return None
