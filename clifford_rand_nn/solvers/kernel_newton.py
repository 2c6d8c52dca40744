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
from clifford_rand_nn.solvers.gate_kernel import MANY_ROWS, KernelSystem, SummedKernel
from clifford_rand_nn.solvers.iterations import LossTerm
from clifford_rand_nn.solvers.kernel_interior_point import ADVICE, KernelMethod, sparse_numbers
from clifford_rand_nn.solvers.stopping import Watch

_ARMIJO = 1e-4
_SHORTEST = 1e-8  # a step below this share of the direction is lost in rounding
_SINGLE = 1e-6  # a gap above which single precision is enough for the next step
_ROUGH = 1e-5  # a gap that the only step of the squared loss reaches in single precision
_LEAST_CURVATURE = 1e-10  # of a probability: of a prediction 23 on the far side
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
    """A quadratic model of the loss: residual and inverse curvature (n, C)."""

    residual: Array
    h: Array
    balanced: bool = False  # whether the rows of the residual sum to zero
    exact: bool = False  # whether the curvatures are those of the loss


class NewtonStep:
    r"""The step of `KernelNewton` for one problem, from one state to the next.

    ``problem``: a loss over a kernel, with :math:`\frac\beta2||f||_K^2`: ``datafit``, ``beta``, the numbers ``n`` of
    rows and ``outputs``, and ``dual_bound(predictions, square)``.
    ``system``: of the last step, if its curvatures are those of the loss.
    """

    def __init__(self, problem: Any, kernel: SummedKernel) -> None:
        self.problem, self.kernel = problem, kernel
        self._radius = problem.n * problem.beta
        self._buffers: dict[Any, NDArray[Any]] = {}
        C = problem.outputs
        self.border = kernel.biases(C, C if problem.datafit.loss.separable else C - 1)
        self.system: KernelSystem | None = None

    def bound(self, f: Array, theta: Array | None = None) -> DualBound:
        """Return the lower bound that predictions prove, or a dual point theta."""
        bound: DualBound = self.problem.dual_bound(f, self.kernel.square_above, theta)
        return bound

    def step(self, state: State, ahead: Array | None, single: bool) -> State | None:
        """Return the state after a step, from predictions ``ahead`` if that helps; None if no step lowers anything."""
        shift = state.f - state.image / self._radius
        if ahead is not None:
            new = self._full(ahead, shift, self._linearized(ahead), single)
            if new.objective < state.objective:
                return new
        new = self._full(state.f, shift, self._linearized(state.f), single)
        slope = self._slope(state, new)
        if new.objective <= state.objective + _ARMIJO * slope:
            return new
        shortened = self._shortened(state, new, slope)
        loss = self.problem.datafit.loss
        if (shortened is not None and not loss.even) or not loss.has_bounded_curvature:
            return shortened
        bounded = self._full(state.f, shift, self._majorized(state.f), single)
        best = bounded if shortened is None or bounded.objective < shortened.objective else shortened
        return best if best.objective < state.objective else None

    def run(self, state: State, ahead: Array | None, watch: Watch[State]) -> None:
        """Take steps until the watch or rounding ends them; the first from given predictions, if that helps."""
        loss = self.problem.datafit.loss
        is_even = loss.even and not loss.is_quadratic
        if loss.is_piecewise_linear:
            return self._with_bounds(state, watch)
        # The squared loss is done after one step in double precision.
        since, enough = 0, _SINGLE if not loss.is_quadratic or watch.tol > _ROUGH else np.inf
        for k in count(1):
            gap, least = watch.gap, state.objective * (1 - _NO_LESS)
            try:
                following = self.step(state, ahead if k == 1 else None, watch.gap > enough)
            except np.linalg.LinAlgError:
                following = None
            if following is None or (is_even and k > _EVEN_STEPS):
                return self._with_bounds(state, watch) if is_even else watch.stop(Status.STALLED)
            state = following
            watch.check(k, state.objective, self.bound(state.f), state, state.f)
            if watch.status is not None:
                return None
            since = 0 if watch.gap < gap or state.objective < least else since + 1
            if since >= _STALLED:
                return self._with_bounds(state, watch) if is_even else watch.stop(Status.STALLED)
        return None

    def _with_bounds(self, state: State, watch: Watch[State]) -> None:
        """Take primal-dual steps with multipliers of the bounds of theta, to where most rows are on linear pieces."""
        datafit, least, since = self.problem.datafit, np.inf, 0
        away = np.abs(datafit.residual(state.f)) * np.abs(datafit.y - state.f)
        term = LossTerm(datafit, state.f, float(away.mean()))
        for k in count(watch.n_iter + 1):
            mu = term.product() / term.count
            try:
                state, length = self.primal_dual(state, term, _CENTER * mu)
            except np.linalg.LinAlgError:
                return watch.stop(Status.STALLED)
            theta = term.theta if datafit.loss.is_piecewise_linear else None
            bound = self.bound(datafit.predictions_at(term.theta), theta)
            watch.check(k, state.objective, bound, state, state.f)
            since, least = (0, mu) if mu < 0.9 * least else (since + 1, least)
            if watch.status is not None:
                return None
            if since >= _EVEN_STEPS or not length > _SHORTEST:
                return watch.stop(Status.STALLED)
        return None

    def primal_dual(self, state: State, term: LossTerm, target: float) -> tuple[State, float]:
        """Return the state after a step in network and dual point towards products of that size, and its length."""
        term.linearize(state.f)
        term.right_hand_side(target, False)
        shift = state.f - state.image / self._radius
        new = self._full(state.f + term.q, shift, _Model(term.theta, 1 / term.W), False)
        theta, image, f = new.theta - state.theta, new.image - state.image, new.f - state.f
        term.set_direction(f, new.theta - term.theta)
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
            shorter = State(theta, image, f, self._objective(theta, image, f))
            if shorter.objective <= state.objective + _ARMIJO * length * slope:
                return shorter
            length /= 2
        return None

    def _slope(self, state: State, new: State) -> float:
        """Return the derivative of the objective on the way from one state to another."""
        problem = self.problem
        fall = float(np.vdot(problem.datafit.residual(state.f), new.f - state.f))
        rise = float(np.vdot(state.image, new.theta - state.theta)) / self._radius
        return float((rise - fall) / problem.n)

    def _objective(self, theta: Array, image: Array, f: Array) -> float:
        quadratic = float(np.vdot(theta, image)) / (2 * self.problem.n * self._radius)
        return float(self.problem.datafit.value(f) + quadratic)

    def _full(self, f: Array, shift: Array, model: _Model, single: bool) -> State:
        """Return the minimizer of a quadratic model at predictions f; ``shift`` is what biases predict already."""
        kernel, radius = self.kernel, self._radius
        # (H + K/λ)Δ + Qc = f - shift - Kr/λ, θ = r + Δ, Qᵀθ = 0: rounding of the factor is a share of the change only,
        # and where a piece is linear, H infinite, the residual stays
        target = f - shift - kernel.apply(model.residual) / radius
        system = self._system(model, single and len(f) >= MANY_ROWS)
        self.system = system if model.exact else None
        theta, c = system.constrained(self.border, target, model.residual)
        shift = shift + self.border @ c
        image = kernel.apply(theta)
        f_new = image / radius + shift
        return State(theta, image, f_new, self._objective(theta, image, f_new))

    def _system(self, model: _Model, single: bool) -> KernelSystem:
        eta = np.array([1 / self._radius])
        return KernelSystem(self.kernel, eta, model.h, model.balanced, self._buffers, single)

    def system_at(self, f: Array) -> KernelSystem:
        """Return the system of a step from predictions f."""
        return self._system(self._linearized(f), len(f) >= MANY_ROWS)

    def _linearized(self, f: Array) -> _Model:
        """Return the second-order model, infinitely flat on linear pieces."""
        datafit = self.problem.datafit
        residual = datafit.residual(f)
        if not datafit.loss.separable:
            mass = datafit.weights * datafit.y - residual
            return _Model(residual, 1 / np.maximum(mass, _LEAST_CURVATURE), balanced=True, exact=True)
        low, high = datafit.dual_domain()
        with np.errstate(divide="ignore"):
            h = np.where((residual <= low) | (residual >= high), np.inf, datafit.dual_curvature(residual))
        if datafit.loss.barrier and not datafit.loss.even and datafit.loss.has_bounded_curvature:
            h = np.minimum(h, 1 / _LEAST_CURVATURE)
        return _Model(residual, h, exact=True)

    def _majorized(self, f: Array) -> _Model:
        """Return a model above the loss, whose minimizer lowers the objective; reweighted squares for an even loss."""
        datafit = self.problem.datafit
        residual = datafit.residual(f)
        h = np.broadcast_to(1 / np.asarray(datafit.row_curvature), f.shape)
        if datafit.loss.even:
            h = np.maximum(h, np.abs(datafit.y - f) / np.maximum(np.abs(residual), np.finfo(np.float64).tiny))
        return _Model(residual, h)


@dataclass(frozen=True, kw_only=True)
class KernelNewton(KernelMethod[GatedRidgeProblem, SummedKernel]):
    r"""Newton's method for `GatedRidgeProblem` of up to some ten thousand rows, on one matrix of order n.

    With :math:`K = \sum_iD_iXX^TD_i = (XX^T)\circ(DD^T)` and :math:`\lambda = n\beta` the network is
    :math:`U_i = X^TD_i\theta/\lambda`, its predictions are :math:`f = K\theta/\lambda + Qc`, and at the optimum θ is
    their residual. A step linearizes the residual at the present predictions, with curvatures W:

    .. math:: (W^{-1} + K/\lambda)\theta + Qc = f + W^{-1}r(f),\qquad Q^T\theta = 0,

    one factorization of order n (one for each output of a softmax), whatever the numbers of gates and features are; it
    is halved until it lowers the objective enough. Rows on a linear piece of the loss keep their residual. The squared
    loss takes one step, others some four to eight, fewer along a path.

    References
    ----------
    Rasmussen, Williams, "Gaussian processes for machine learning" (2006), algorithms 3.1 and 3.3, without the prior.
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
        watch = Watch[State](self, problem.relative_gap, ADVICE)
        free = problem.null_predictions
        zero = np.zeros_like(free)
        null = State(zero, zero, free, problem.datafit.value(free))
        square = kernel[0].square_above if kernel else None
        with watch, np.errstate(all="ignore"):  # what overflows is not finite afterwards, and is judged then
            watch.check(0, null.objective, problem.dual_bound(free, square), null, free)
            if watch.status is None:
                if not kernel:
                    kernel.append(SummedKernel(problem))
                NewtonStep(problem, kernel[0]).run(null, self._ahead(problem, kernel[0], start), watch)
                kernel[0].last = problem, watch.fitted
        return self._result(problem, watch, kernel)

    def _result(
        self, problem: GatedRidgeProblem, watch: Watch[State], kernel: list[SummedKernel]
    ) -> Result[Coefficients]:
        """Return the network of the best dual variable, with the objective that it has itself."""
        a, theta, radius = problem.map, watch.point.theta, problem.n * problem.beta
        U, free = problem.start().U, watch.fitted
        if theta.any():
            U = a.gated_adjoint(theta) / (radius * a.weights**2)[:, None, None]
            free = free - kernel[0].apply(theta) / radius
        free = a.Q.T @ free
        fitted = a.gated(U) + a.Q @ free
        objective = problem.datafit.value(fitted) + problem.penalty.value(U)
        known = watch.status is Status.OPTIMAL or watch.status is None or watch.status.ends_all
        bound = watch.bound if known else problem.dual_bound(fitted)  # by the rows, which lose less than K
        watch.polish(objective, bound, watch.point, fitted)  # where scales of rows differ much, K has lost the small
        return watch.result("newton", problem.with_biases(U, *a.biases_in(free)))

    @staticmethod
    def _ahead(problem: GatedRidgeProblem, kernel: SummedKernel, start: Point | None) -> Array | None:
        """Return the predictions to begin with: those of the last solve for this problem, if there are any."""
        if kernel.last is not None and kernel.last[0] is problem:
            known: Array = kernel.last[1]
            return known
        return None if start is None else problem.predictions(start)
