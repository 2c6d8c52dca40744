"""Predictor-corrector steps for the dual of the gated problem: one quadratic constraint a gate, a matrix of order n."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from clifford_rand._typing import Array
from clifford_rand_nn.problems.gated import GatedReLUProblem, Point
from clifford_rand_nn.solvers.complementarity import Box, longest_step
from clifford_rand_nn.solvers.gate_kernel import MANY_ROWS, GatedKernel, KernelSystem
from clifford_rand_nn.solvers.iterations import BOUNDARY, SPARE, DualTerms, predictor_corrector

_INSIDE = 0.05  # a starting point keeps this share of the way from the boundary of a bounded domain
_SLACK = 0.1  # least slack at the start, as a share of the radius: 4 to 6 steps on 24 problems; 0.01 takes 6 to 8
_WARM = 0.01  # the same, and the least weight as a share of the mean, where an earlier solution is the start
_FOLLOW = 0.1  # the radius falls to this share at a time, where it is followed down from its largest useful value
_FIRST = 0.3  # the first radius, as a share of that value
_SHORT = 0.2  # below this share the predictor tells little: 14 of 720 degenerate problems fail, 48 without this rule
_LONG = 0.5  # a step this long (1 is a full one) was a good one: the radius may fall
_APART = 0.1  # least slack, as a share of its error: one far below it would make the next steps short
# Steps that begin at a larger gap are factorized in single precision, in half the time, where that time is worth it.
_ROUGH = 1e-2
_ROUNDING = 1e-13
_RIDGES = (1e-13, 1e-11, 1e-9, 1e-7)  # relative, on the diagonal: gates may be dependent; a step bears such an error


class KernelPath:
    r"""A dual point, weights of the gates, slacks and biases, and the step that brings them to the optimum.

    With :math:`K_i = D_iXX^TD_i` and the radius :math:`\lambda = n\beta`, the dual problem is

    .. math:: \min_\theta\sum_j\ell^*(-\theta_j)\quad\text{s.t.}\quad
              \tfrac12(\theta^TK_i\theta/\lambda-\lambda)\le0,\quad Q^T\theta=0.

    The multipliers :math:`\eta_i` of the gates are the norms of their coefficients, :math:`U_i =
    \eta_iX^TD_i\theta/\lambda`; those of the equalities are the biases c. Stationarity reads :math:`f(\theta) =
    \sum_i\eta_iK_i\theta/\lambda + Qc`, f(θ) being the predictions at which θ is the residual. A Newton step has the
    matrix :math:`(\ell^*)'' + \sum_i\eta_iK_i/\lambda` of order n, factorized once, bordered by one row and column for
    each gate and bias. Steps are Mehrotra's, with slacks that need not agree with θ before the end; the second-order
    term of a gate is :math:`||X^TD_i\Delta\theta||^2/2\lambda`.

    For losses whose dual is bounded the radius is followed down from where the problem is easy, a tenth at a time: on
    logistic problems with β/β_max = 1e-4 that takes 13 to 18 steps, and 21 to 30 at the final radius from the start.
    """

    def __init__(self, problem: GatedReLUProblem, kernel: GatedKernel, terms: DualTerms, start: Point | None) -> None:
        self.problem, self.kernel, self.terms = problem, kernel, terms
        self._buffers: dict[Any, NDArray[Any]] = {}
        self._free = terms.mix.shape[1]  # outputs with biases of their own; of a softmax the last one is the gauge
        self._balanced = self._free < problem.outputs
        self._borders = kernel.biases(problem.outputs, self._free)
        self._target = problem.n * problem.beta
        self.radius = self._target
        bounded = np.isfinite(np.stack([*terms.open, *terms.closed])).any()
        low, high = np.isfinite(np.stack(terms.closed))
        self._follows = bool(np.isfinite(np.stack(terms.open)).any() or (low != high).any())
        if start is None:
            self._start_cold(bool(bounded) and not terms.datafit.loss.is_log)  # no mean of the best constant is 0
            least = _SLACK
        else:
            self._start_from(start)
            least = _WARM
        self.s = np.maximum(self._slack(), least * self.radius)
        low, high = terms.closed
        self.box = Box(self.theta, low, high, float(self.s @ self.eta) / self.eta.size)
        if start is not None:
            self.box.resist(terms.predictions(self.theta) - self.f, _WARM * float(np.abs(self.theta).mean()))

    def _inside(self, theta: Array) -> Array:
        """Draw a dual point into the interior of a bounded domain, towards the residual of the zero network."""
        middle = self.problem.datafit.residual(np.zeros_like(theta))
        return np.asarray((1 - _INSIDE) * ((1 - _INSIDE) * theta + _INSIDE * middle))

    def _start_cold(self, bounded: bool) -> None:
        """Start with equal weights that would explain the null residual, and the ridge regression that has them."""
        terms = self.terms
        theta = self._inside(terms.null_theta) if bounded else terms.null_theta
        slopes = self.kernel.correlations(theta)
        squares = np.einsum("rpc,rpc->p", slopes, slopes)
        largest = float(np.sqrt(squares.max()))
        if self._follows:
            self.radius = max(self.radius, _FIRST * largest)
        self.theta = theta
        own = float(np.vdot(theta, theta))
        if terms.datafit.loss.even:  # by the residual, of which theta is the part within the domain
            own = float(np.vdot(terms.null_theta, terms.datafit.y - terms.null))
        elif not terms.datafit.loss.has_bounded_curvature:  # by a Newton step, of logarithms by 1 at most
            own = float(np.sum(np.abs(theta) * np.minimum(np.abs(theta) * terms.curvature(theta), 1.0)))
        self.eta = np.full(squares.size, largest * own / float(squares.sum()))
        f = terms.null - (terms.null[:, -1:] if self._balanced else 0.0)
        self.c = self.kernel.Q.T @ f[:, : self._free]
        self._correlate()
        system = KernelSystem(
            self.kernel,
            self.eta / self.radius,
            terms.curvature(theta),
            self._balanced,
            self._buffers,
            self.problem.n >= MANY_ROWS,
        )
        away = terms.predictions(theta) - self.f
        moved, dc = system.constrained(self._borders, away, theta)
        move, self.c = moved - theta, self.c + dc.reshape(self.c.shape)
        low, high = terms.closed
        if np.isfinite(low).any() or np.isfinite(high).any():
            margin = _INSIDE * np.where(np.isfinite(high - low), high - low, np.abs(theta))
            self.theta = np.clip(theta + move, low + margin, high - margin)
        else:
            self.theta = theta + min(1.0, (1 - _INSIDE) * terms.limit(theta, move)) * move
        self._correlate()

    def _start_from(self, start: Point) -> None:
        """Start from a solution for another beta: its residual scaled to the radius, its norms as weights."""
        problem, terms = self.problem, self.terms
        f = problem.predictions(start)
        norms = problem.penalty.norms(start.U)
        theta = problem.datafit.residual(f)
        slopes = self.kernel.correlations(theta)
        largest = float(np.sqrt(np.einsum("rpc,rpc->p", slopes, slopes).max()))
        if self._follows and largest > self.radius / _FOLLOW:  # the start is far away: the radius falls from there
            self.radius = largest
        self.theta = theta * min(1.0, self.radius / largest) if largest > 0 else theta
        low, high = terms.closed
        if np.isfinite(low).any() or np.isfinite(high).any():
            margin = _WARM * float(np.abs(self.theta).mean())
            self.theta = np.clip(self.theta, low + margin, high - margin)
        mean = float(norms.mean())
        self.eta = norms + _WARM * (mean if mean > 0 else 1.0)
        free = f - self.kernel.predictions(problem.penalty.weights[:, None, None] * start.U)
        free = free - (free[:, -1:] if self._balanced else 0.0)
        self.c = self.kernel.Q.T @ free[:, : self._free]
        self._correlate()

    def _correlate(self) -> None:
        """Bring everything that theta and the weights determine up to date."""
        self._V = self.kernel.correlations(self.theta)
        self._squares = np.einsum("rpc,rpc->p", self._V, self._V)
        self._predict()

    def _predict(self) -> None:
        self.U = self._V * (self.eta / self.radius)[:, None]
        self.f = self.kernel.predictions(self.U) + (self._borders @ self.c.ravel())

    def _slack(self) -> Array:
        return np.asarray(0.5 * (self.radius - self._squares / self.radius))

    @property
    def arrived(self) -> bool:
        """Whether the radius is that of the problem."""
        return self.radius == self._target

    def point(self, keep: NDArray[np.bool_] | None = None) -> Point:
        """Return the solver variables of the problem, of the gates to ``keep``."""
        a, U, f = self.problem.map, self.U, self.f
        if keep is not None:
            U = self.U * keep[:, None]
            f = self.kernel.predictions(U) + (self._borders @ self.c.ravel())
        return Point(U / a.weights[:, None, None], np.asarray(a.Q.T @ f / a.sigma))

    def likely(self) -> NDArray[np.bool_]:
        """Tell which gates are active: those whose weight, as a share of the largest, exceeds their slack's share."""
        return np.asarray(self.eta * self.radius > self.s * self.eta.max())

    def step(self, gap: float, floor: float) -> float:
        """Take one step, and let the radius fall after a long one; return its length.

        ``gap``: relative gap of the present point: the last steps may go nearer to the boundary. ``floor``: slack times
        weight is not aimed below this value: far below the rounding of θᵀK_iθ steps fail.
        """
        kernel, terms, radius, box = self.kernel, self.terms, self.radius, self.box
        P = self.eta.size
        h = terms.curvature(self.theta) + box.curvature()
        single = gap > _ROUGH and self.problem.n >= MANY_ROWS
        system = KernelSystem(kernel, self.eta / radius, h, self._balanced, self._buffers, single)
        gates = np.swapaxes(kernel.blocks(self._V), 1, 2) / radius  # K_i theta / radius, (n, C, P)
        border = np.concatenate([gates, self._borders], axis=2)
        solved = system.solve(border).reshape(-1, border.shape[2])
        border = border.reshape(solved.shape)
        small = border.T @ solved
        small[np.arange(P), np.arange(P)] += self.s / self.eta
        factor = _factor(small)
        away = terms.predictions(self.theta) - self.f - box.force()
        excess = self.s - self._slack()

        spare = SPARE * min(gap, 1.0) * self.problem.datafit.weights

        dtheta, dc, deta, ds = np.zeros_like(self.theta), np.zeros_like(self.c), np.zeros(P), np.zeros(P)

        def direction(target: float, second_order: bool, length: float) -> float:
            """Solve for the direction towards a product; return the largest step along it."""
            nonlocal dtheta, dc, deta, ds
            right, over, products = away, excess, target - self.eta * self.s
            if second_order:
                box.shorten(length)
                moved = length * kernel.correlations(dtheta)
                over = over + np.einsum("rpc,rpc->p", moved, moved) / (2 * radius)
                right = right - kernel.predictions(moved * (length * deta / radius)[:, None])
                products = products - length**2 * deta * ds
            first = system.solve((right + box.right_hand_side(target, second_order))[:, :, None])[:, :, 0]
            rhs = border.T @ first.ravel()
            rhs[:P] += products / self.eta + over
            rhs[P:] += border[:, P:].T @ self.theta.ravel()
            x = cho_solve(factor, rhs, check_finite=False)
            dtheta = first - (solved @ x).reshape(first.shape)
            deta, dc = x[:P], x[P:].reshape(self.c.shape)
            ds = -(border[:, :P].T @ dtheta.ravel()) - over
            box.set_direction(dtheta)
            inside = min(box.limit(), terms.limit(self.theta, dtheta, spare))
            return min(inside, longest_step(self.eta, deta), longest_step(self.s, ds))

        def product(step: float) -> float:
            return float((self.eta + step * deta) @ (self.s + step * ds)) + box.product(step)

        boundary = max(BOUNDARY, 1 - gap)  # the last steps go further, as the gap closes
        length = predictor_corrector(direction, product, P + box.count, floor, boundary, _SHORT)
        self.theta = self.theta + terms.held(self.theta, length * dtheta, spare)
        self.eta = self.eta + length * deta
        self.s = self.s + length * ds
        self.c = self.c + length * dc
        box.advance(length)
        if not self.arrived and length >= _LONG:
            self._shrink(max(_FOLLOW, self._target / radius))
        self._correlate()
        self.s = np.maximum(self.s, _APART * np.abs(self.s - self._slack()))
        return length

    def _shrink(self, share: float) -> None:
        """Multiply the radius, and theta with it: what was feasible stays so, and predictions do not change."""
        self.radius = self._target if self.radius * share <= self._target * (1 + _ROUNDING) else self.radius * share
        self.theta = share * self.theta
        self.s = share * self.s
        low, high = self.terms.closed
        multipliers = share * self.box.z
        self.box = Box(self.theta, low, high, 1.0)
        self.box.z = multipliers


def _factor(small: Array) -> tuple[Array, bool]:
    """Cholesky factor of a symmetric positive semidefinite matrix, with the least ridge that rounding asks for."""
    diagonal = small.diagonal().copy()
    for ridge in _RIDGES:
        np.einsum("ii->i", small)[:] = diagonal * (1 + ridge)
        try:
            factor, lower = cho_factor(small, check_finite=False)
            return np.asarray(factor), bool(lower)
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError("the border of the Newton system is not positive definite")
