"""One Newton step of the ridge regression over gates, in the dual variable."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.problems.ridge import GatedRidgeProblem
from clifford_rand_nn.solvers.kernel.gram import SummedKernel
from clifford_rand_nn.solvers.kernel.linear_system import MANY_ROWS, KernelSystem

_ARMIJO = 1e-4
_SHORTEST = 1e-8  # a step below this share of the direction is lost in rounding


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
        n, C = problem.datafit.y.shape
        outputs = C if problem.datafit.loss.separable else C - 1  # of a softmax the last output is the gauge
        border = np.zeros((n, C, kernel.Q.shape[1], outputs))
        for a in range(outputs):
            border[:, a, :, a] = kernel.Q
        self._border = border.reshape(n, C, -1)

    def bound(self, f: Array) -> DualBound:
        """Return the lower bound that predictions prove."""
        return self.problem.dual_bound(f, self.kernel.square)

    def step(self, state: State, ahead: Array | None, single: bool) -> State | None:
        """Return the state after a step, from predictions ``ahead`` if that helps; None if no step lowers anything."""
        shift = state.f - state.image / self._radius
        if ahead is not None:
            found = self._full(ahead, shift, self._linearised(ahead), single)
            if found.objective < state.objective:
                return found
        new = self._full(state.f, shift, self._linearised(state.f), single)
        slope = self._slope(state, new)
        if new.objective <= state.objective + _ARMIJO * slope:
            return new
        shortened = self._shortened(state, new, slope)
        if shortened is not None and not self.problem.datafit.loss.even:
            return shortened
        bounded = self._full(state.f, shift, self._majorised(state.f), single)
        best = bounded if shortened is None or bounded.objective < shortened.objective else shortened
        return best if best.objective < state.objective else None

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
        """Return the minimiser of a quadratic model at predictions f; ``shift`` is what biases predict already."""
        kernel, radius = self.kernel, self._radius
        kept = np.where(np.isinf(model.h), model.residual, 0.0)  # on a linear piece
        target = f - shift + np.where(np.isinf(model.h), 0.0, model.h * model.residual)
        if kept.any():
            target = target - kernel.apply(kept) / radius
        system = KernelSystem(
            kernel,
            np.array([1 / radius]),
            model.h,
            model.balanced,
            self._buffers,
            single and len(f) >= MANY_ROWS,
        )
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

    def _linearised(self, f: Array) -> _Model:
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

    def _majorised(self, f: Array) -> _Model:
        """Return a model above the loss, whose minimiser lowers the objective; reweighted squares for an even loss."""
        datafit = self.problem.datafit
        residual = datafit.residual(f)
        h = np.broadcast_to(1 / np.asarray(datafit.row_curvature), f.shape)
        if datafit.loss.even:
            h = np.maximum(h, np.abs(datafit.y - f) / np.maximum(np.abs(residual), np.finfo(np.float64).tiny))
        return _Model(residual, h, False)
