"""Ridge regression over gates, for any loss: Newton's method in the dual variable on the kernel of all gates."""

from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.problems.gated import Coefficients, GatedRidgeProblem, Point
from clifford_rand_nn.solvers.base import Result, Status
from clifford_rand_nn.solvers.convergence import Watch
from clifford_rand_nn.solvers.interior.loss_term import LossTerm
from clifford_rand_nn.solvers.kernel.gram import MANY_ROWS, KernelSystem, SummedKernel
from clifford_rand_nn.solvers.kernel.method import ADVICE, KernelMethod, sparse_numbers

_ARMIJO = 1e-4
_SHORTEST = 1e-8  # a step below this share of the direction is lost in rounding
_SINGLE = 1e-3  # a gap above which single precision is enough for the next step
_ROUGH = 1e-5  # a gap that a step in single precision reaches
_EVEN_STEPS = 12  # of Newton's method on a loss that is linear far off; it needs 4 to 8 unless most rows are there
_CENTER, _TO_BOUNDARY = 0.1, 0.99  # target of a primal-dual step by the mean product; share of the way to a bound
_STALLED = 3  # steps in a row that lower neither the gap nor the objective by the next share
_NO_LESS = 1e-13


class State(NamedTuple):
    r"""A network by its dual variable, :math:`U_i = X^TD_i\theta/\lambda`, with what is needed to judge it."""

    theta: Array
    image: Array  # K theta
    f: Array
    objective: float


class _Model(NamedTuple):
    """A quadratic model of the loss: residual and inverse curvature (n, C), and whether classes are balanced by it."""

    residual: Array
    h: Array
    balanced: bool


class NewtonStep:
    """The step of `KernelNewton` for one problem, from one state to the next."""

    def __init__(self, problem: GatedRidgeProblem, kernel: SummedKernel) -> None:
        self.problem, self.kernel = problem, kernel
        self._radius = problem.n * problem.beta
        self._buffers: dict[Any, NDArray[Any]] = {}
        C = problem.outputs
        self._border = kernel.biases(C, C if problem.datafit.loss.separable else C - 1)

    def bound(self, f: Array) -> DualBound:
        """Return the lower bound that predictions prove."""
        return self.problem.dual_bound(f, self.kernel.square_above)

    def step(self, state: State, ahead: Array | None, single: bool) -> State | None:
        """Return the state after a step, from predictions ``ahead`` if that helps; None if no step lowers anything."""
        shift = state.f - state.image / self._radius
        if ahead is not None:
            found = self._full(ahead, shift, self._linearized(ahead), single)
            if found.objective < state.objective:
                return found
        new = self._full(state.f, shift, self._linearized(state.f), single)
        slope = self._slope(state, new)
        if new.objective <= state.objective + _ARMIJO * slope:
            return new
        shortened = self._shortened(state, new, slope)
        if shortened is not None and not self.problem.datafit.loss.even:
            return shortened
        bounded = self._full(state.f, shift, self._majorized(state.f), single)
        best = bounded if shortened is None or bounded.objective < shortened.objective else shortened
        return best if best.objective < state.objective else None

    def primal_dual(self, state: State, term: LossTerm, target: float) -> tuple[State, float]:
        """Return the state after a step in network and dual point towards products of that size, and its length."""
        term.linearize(state.f)
        term.right_hand_side(target, False)
        shift = state.f - state.image / self._radius
        new = self._full(state.f + term.q, shift, _Model(term.theta, 1 / term.W, False), False)
        theta, image, f = new.theta - state.theta, new.image - state.image, new.f - state.f
        term.set_direction(f)
        size = min(1.0, _TO_BOUNDARY * term.limit())
        term.advance(size)
        theta, image, f = state.theta + size * theta, state.image + size * image, state.f + size * f
        return State(theta, image, f, self._objective(theta, image, f)), size

    def _shortened(self, state: State, new: State, slope: float) -> State | None:
        """Return the first of the halved steps that lowers the objective enough."""
        move, turned, ahead = new.theta - state.theta, new.image - state.image, new.f - state.f
        length = 0.5
        while length > _SHORTEST and slope < 0 and np.isfinite(new.theta).all():
            theta, image, f = state.theta + length * move, state.image + length * turned, state.f + length * ahead
            found = State(theta, image, f, self._objective(theta, image, f))
            if found.objective <= state.objective + _ARMIJO * length * slope:
                return found
            length /= 2
        return None

    def _slope(self, state: State, new: State) -> float:
        """Return the derivative of the objective on the way from one state to another."""
        problem = self.problem
        loss = -float(np.vdot(problem.datafit.residual(state.f), new.f - state.f)) / problem.n
        return loss + float(np.vdot(state.image, new.theta - state.theta)) / (problem.n * self._radius)

    def _objective(self, theta: Array, image: Array, f: Array) -> float:
        quadratic = float(np.vdot(theta, image)) / (2 * self.problem.n * self._radius)
        return self.problem.datafit.value(f) + quadratic

    def _full(self, f: Array, shift: Array, model: _Model, single: bool) -> State:
        """Return the minimizer of a quadratic model at predictions f; ``shift`` is what biases predict already."""
        kernel, radius = self.kernel, self._radius
        kept = np.where(np.isinf(model.h), model.residual, 0.0)  # on a linear piece
        target = f - shift + np.where(np.isinf(model.h), 0.0, model.h * model.residual)
        if kept.any():
            target = target - kernel.apply(kept) / radius
        single = single and len(f) >= MANY_ROWS
        system = KernelSystem(kernel, np.array([1 / radius]), model.h, model.balanced, self._buffers, single)
        solved = system.solve(np.concatenate([self._border, target[:, :, None]], axis=2))
        columns, theta = solved[:, :, :-1], solved[:, :, -1]
        if columns.shape[2]:
            border = self._border.reshape(-1, columns.shape[2])
            excess = border.T @ (theta + kept).ravel()
            c = np.linalg.lstsq(border.T @ columns.reshape(border.shape), excess, rcond=None)[0]
            theta = theta - columns @ c
            shift = shift + self._border @ c
        theta = theta + kept
        image = kernel.apply(theta)
        f_new = image / radius + shift
        return State(theta, image, f_new, self._objective(theta, image, f_new))

    def _linearized(self, f: Array) -> _Model:
        """Return the second-order model, infinitely flat on linear pieces."""
        datafit = self.problem.datafit
        residual = datafit.residual(f)
        if not datafit.loss.separable:
            mass = datafit.weights * datafit.y - residual
            return _Model(residual, 1 / np.maximum(mass, np.finfo(np.float64).tiny), True)
        low, high = datafit.dual_domain()
        with np.errstate(divide="ignore"):
            h = np.where((residual <= low) | (residual >= high), np.inf, datafit.dual_curvature(residual))
        return _Model(residual, h, False)

    def _majorized(self, f: Array) -> _Model:
        """Return a model above the loss, whose minimizer lowers the objective; reweighted squares for an even loss."""
        datafit = self.problem.datafit
        residual = datafit.residual(f)
        h = np.broadcast_to(1 / np.asarray(datafit.row_curvature), f.shape)
        if datafit.loss.even:
            h = np.maximum(h, np.abs(datafit.y - f) / np.maximum(np.abs(residual), np.finfo(np.float64).tiny))
        return _Model(residual, h, False)


@dataclass(frozen=True, kw_only=True)
class KernelNewton(KernelMethod[GatedRidgeProblem, SummedKernel]):
    r"""Newton's method for `GatedRidgeProblem` of up to some ten thousand rows, on one matrix of order n.

    With :math:`K = \sum_iD_iXX^TD_i = (XX^T)\circ(DD^T)` and :math:`\lambda = n\beta` the network is
    :math:`U_i = X^TD_i\theta/\lambda`, its predictions are :math:`f = K\theta/\lambda + Qc`, and at the optimum θ is
    their residual. A step linearises the residual at the present predictions, with curvatures W:

    .. math:: (W^{-1} + K/\lambda)\theta + Qc = f + W^{-1}r(f),\qquad Q^T\theta = 0,

    one factorization of order n (one for each output of a softmax), whatever the numbers of gates and features are; it
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
    >>> from clifford_rand_nn.problems.gated import GatedRidgeProblem
    >>> X, y = np.array([[-1.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.5])
    >>> KernelNewton(tol=1e-10).solve(GatedRidgeProblem(X, y, X >= 0, beta=0.01)).n_iter
    1
    """

    _kinds = GatedRidgeProblem, SummedKernel
    _hint = "KernelInteriorPoint is for the penalty 'group_l2'."

    @staticmethod
    def memory(problem: GatedRidgeProblem) -> float:
        """Return the bytes of the matrices of a solve."""
        n, C = problem.n, problem.outputs
        loss = problem.datafit.loss
        square = 1.5 + (1.5 if loss.is_quadratic else C) + (0.0 if loss.separable else 2.0)
        gates = problem.map.n_patterns + 4 * C * problem.map.Q.shape[1]
        return float(8 * (n * (n * square + gates) + 2 * sparse_numbers(problem)))

    def _solve(
        self, problem: GatedRidgeProblem, start: Point | None, kernel: list[SummedKernel]
    ) -> Result[Coefficients]:
        watch = Watch[Array](self, problem.relative_gap, ADVICE)
        free = problem.null_predictions
        theta = np.zeros_like(free)
        square = kernel[0].square_above if kernel else None
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
        known = watch.status is Status.OPTIMAL or watch.status is None or watch.status.ends_all
        bound = watch.bound if known else problem.dual_bound(fitted)  # by the rows, which lose less than K
        watch.polish(objective, bound, theta, fitted)  # where scales of rows differ much, K has lost the small
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
            even = newton.problem.datafit.loss.even and not newton.problem.datafit.loss.is_quadratic
            if found is None or (even and k > _EVEN_STEPS):
                return self._with_bounds(newton, state, watch) if even else watch.stop(Status.STALLED)
            state = found
            watch.check(k, state.objective, newton.bound(state.f), state.theta, state.f)
            if watch.status is not None:
                return None
            since = 0 if watch.gap < gap or state.objective < least else since + 1
            if since >= _STALLED:
                return self._with_bounds(newton, state, watch) if even else watch.stop(Status.STALLED)
        return None

    @staticmethod
    def _with_bounds(newton: NewtonStep, state: State, watch: Watch[Array]) -> None:
        """Take primal-dual steps with multipliers of the bounds of theta, to where most rows are on linear pieces."""
        datafit, least, since = newton.problem.datafit, np.inf, 0
        away = np.abs(datafit.residual(state.f)) * np.abs(datafit.y - state.f)
        term = LossTerm(datafit, state.f, float(away.mean()))
        for k in count(watch.n_iter + 1):
            mu = term.product() / term.count
            try:
                state, length = newton.primal_dual(state, term, _CENTER * mu)
            except np.linalg.LinAlgError:
                return watch.stop(Status.STALLED)
            bound = newton.bound(datafit.predictions_at(term.theta))
            watch.check(k, state.objective, bound, state.theta, state.f)
            since, least = (0, mu) if mu < 0.9 * least else (since + 1, least)
            if watch.status is not None:
                return None
            if since >= _EVEN_STEPS or not length > _SHORTEST:
                return watch.stop(Status.STALLED)
        return None
