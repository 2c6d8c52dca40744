"""The gated problem by Newton's method on sums over its rows: for more rows than gates times features."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clifford_rand._threads import ONE_BLAS_THREAD, ONE_NUMPY_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.problems.gated import Coefficients, GatedProblem, GatedRidgeProblem, Point
from clifford_rand_nn.solvers.base import Limits, Result, Status
from clifford_rand_nn.solvers.gate_weights import GramWeights, Sizes, predicted
from clifford_rand_nn.solvers.gram_design import GatedDesign
from clifford_rand_nn.solvers.gram_smooth import QuadraticSum, RowSum, dual_without_rows, lower_bound, penalty_value
from clifford_rand_nn.solvers.gram_system import (
    Linearized,
    Norms,
    Preconditioner,
    Squares,
    equal_weight,
    penalty_product,
)
from clifford_rand_nn.solvers.iterations import conjugate_gradient
from clifford_rand_nn.solvers.stopping import Watch, handed_over

_KEPT = 2.0**30  # bytes of columns and of classes that are kept, where no limit of memory is given
_SMALL = 700  # columns up to which a factorization takes some milliseconds, in one thread rather than in two that wait
_SHARE, _CLOSE = 0.1, 0.03  # of the residual that conjugate gradients leave; the latter within 100 times the tolerance
_MOST = 200  # of their steps
_SHORTEST = 1e-8  # a step below this share of the direction is lost in rounding
_FARTHEST = 100.0  # that predictions of classes move by free biases in a step: of a loss of e^-f nothing is left
_LONGEST = 16.0  # steps
_ARMIJO = 1e-4
_NOISE = 1e-13  # of the merit: differences below it are rounding
_FLOOR = 1e-3  # of the tolerance: products of weight and slack below it are not aimed at
_SLOW = 0.9  # a gap that is not below this share of the least one, while the merit falls by less than
_FALL = 1e-3  # this share of it, is slow progress
_ROUNDED = 4  # for so many steps in a row ends single precision,
_STALLED = 12  # and for so many the run
_NEARLY = 10.0  # times the tolerance: a gap from which a step needs no new second derivatives
_ADVICE = "try a larger tol, columns and rows of X of similar size, or another solver"


@dataclass(frozen=True, kw_only=True)
class GramNewton(Limits):
    r"""Newton's method for `GatedReLUProblem` and `GatedRidgeProblem` with many more rows than gates times features.

    With A the n × N columns of the network, N = gates × features, a step solves a system of order N for all outputs at
    once. For the squared loss :math:`A^TA` is all that is left of the rows: one pass makes it, for every beta. Of
    other losses a step makes :math:`A^T\mathrm{diag}(h)A` with the mean curvature h of each row, whose factor then
    preconditions conjugate gradients on the true Hessian, one pass over the rows each. Where these take long, each
    class of a softmax has a matrix of its own curvature, for several steps. Norms of the squared loss are a problem in
    one weight a gate, see `GramWeights`; of other losses, and where steps in the weights fail, they are brought to the
    optimum along the central path, see `Norms`. Squared norms need neither.
    """

    max_iter: int = 100

    @staticmethod
    def memory(problem: GatedProblem) -> float:
        """Return the bytes of the matrices of a solve, without the columns and the classes, which need not be kept."""
        C, P = problem.outputs, problem.map.n_patterns
        size = P * problem.map.d + problem.map.Q.shape[1]
        matrices = float(8 * (size * (4 * size + C * (2 * P + 12)) + problem.n * (12 * C + problem.map.d)))
        return matrices + GatedDesign.tiles(size)

    @handed_over
    def solve(
        self, problem: GatedProblem, start: Point | None = None, kernel: list[GatedDesign] | None = None
    ) -> Result[Coefficients]:
        """Minimize the problem, from scratch or from a solution for another beta.

        ``start``: not needed where the last solve on ``kernel`` was for this problem. ``kernel``: the columns of the
        problem, or nothing yet: then they are made and put there for the next solve. Raises ArgumentError: the matrices
        would take more than ``max_memory``, or the columns are those of other rows or gates.
        """
        self.admit(problem, GatedProblem, start)
        needed = self.memory(problem)
        self.admit_memory(needed, f"{problem.map.n_patterns} gates of {problem.map.d} features", "Use Fista.")
        kernel = self.admit_shared(kernel, GatedDesign, problem)
        size = problem.map.n_patterns * problem.map.d
        with ONE_BLAS_THREAD if size <= _SMALL else ONE_NUMPY_THREAD:
            return self._solve(problem, start, kernel, _KEPT if self.max_memory is None else self.max_memory - needed)

    def _solve(
        self, problem: GatedProblem, start: Point | None, kernel: list[GatedDesign], most: float
    ) -> Result[Coefficients]:
        watch = Watch[Array](self, problem.relative_gap, _ADVICE)
        with watch, np.errstate(all="ignore"):  # what overflows is not finite afterwards, and is judged then
            if not kernel:
                kernel.append(GatedDesign(problem, most))
            run = _Run(self, problem, kernel[0], watch)
            run.begin(start)
            while watch.status is None:
                run.step()
            run.leave()
        return watch.result("gram", kernel[0].coefficients(problem, watch.point))


class _Run:
    """One solve: the coefficients, the loss and the penalty there, and what has been tried."""

    def __init__(self, limits: GramNewton, problem: GatedProblem, design: GatedDesign, watch: Watch[Array]) -> None:
        self.limits, self.problem, self.design, self.watch = limits, problem, design, watch
        self.short = True  # whether a bound of the curvature is wanted: at the start, and after a short step
        self.k, self.since, self.least, self.falls = 0, 0, np.inf, False
        self.weights: GramWeights | None = None
        self.first: Array | None = None  # weights of the gates to begin with
        self.again = False  # whether the last step in the weights took the second derivatives of the one before
        self.trail: list[Sizes] = []
        self.kept: Preconditioner | None = None  # the last one
        self.norms: Norms | None = None  # what follows where squared norms are followed down first
        self.seen: tuple[Array, Array] | None = None  # coefficients and their predictions

    def begin(self, start: Point | None) -> None:
        """Judge the null network, or go on from another solution."""
        problem, design = self.problem, self.design
        datafit, radius = problem.datafit, problem.n * problem.beta
        last, design.last = design.last, None
        known = last is not None and last[0] is problem
        quadratic = datafit.loss.is_quadratic
        self.dtype: Any = np.float64 if quadratic else np.float32
        self.smooth: QuadraticSum | RowSum
        self.smooth = last[1] if known else QuadraticSum(design, datafit) if quadratic else RowSum(design, datafit)
        if known:
            self.x, self.seen, self.trail = last[2], last[3], [sizes for sizes in last[4] if sizes.radius != radius]
        else:
            self.x = np.zeros((design.N + design.q, problem.outputs))
            self.x[design.N :] = design.Q.T @ problem.null_predictions
        self.smooth.move_to(self.x)
        self.terms: Squares | Norms
        fresh = not datafit.loss.separable and not known and start is None
        if isinstance(problem, GatedRidgeProblem):
            self.terms = Squares(design, radius, self.smooth.slope if fresh else None)
        else:
            theta = datafit.residual(problem.null_predictions)
            self.terms = Norms(design, radius, theta, self.smooth.slope, quadratic)
        if start is not None and not known:
            self.x = design.variables(problem, start)
            self.smooth.move_to(self.x)
        if isinstance(self.terms, Norms):
            self.terms.restart(radius, self.x, self.smooth.slope)
        if isinstance(self.terms, Norms) and quadratic and design.N:
            self.first = self._first_weights(radius)
        if isinstance(self.terms, Norms) and fresh and self.smooth.slope[: design.N].any():
            self.norms, self.terms = self.terms, Squares(design, 0.0, self.smooth.slope)
        self._judge()

    def leave(self) -> None:
        """Leave what the next solve along a path begins with."""
        if self.weights is not None and self.watch.status is Status.OPTIMAL:
            self.trail = [*self.trail[-1:], self.weights.sizes()]
        self.design.last = (*self.design.last[:4], self.trail)

    def _first_weights(self, radius: float) -> Array:
        """Return weights of gates: predicted, of the coefficients, or equal."""
        design, smooth = self.design, self.smooth
        if self.trail and self.trail[-1].size.any():
            return predicted(self.trail, radius)
        size = np.sqrt(design.squares(self.x))
        if size.any():
            return size / radius
        theta = self.problem.datafit.residual(self.problem.null_predictions)
        return np.full(design.P, equal_weight(theta, design.squares(smooth.slope), radius))

    def step(self) -> None:
        """Take a step of Newton's method, and judge where it leads."""
        self.k += 1
        try:
            length = self._move() if self.first is None else self._reweigh()
        except np.linalg.LinAlgError:
            length = 0.0
        if not np.isfinite(self.x).all():
            return self.watch.stop(Status.NOT_FINITE)
        if length > _SHORTEST:
            self._judge()
        if self.watch.status is not None:
            return None
        slow = not self.gap < _SLOW * self.least and self.terms.arrived and not self.falls
        self.since, self.least = (self.since + 1, self.least) if slow else (0, self.gap)
        single = self.dtype is np.float32
        if self.first is not None:
            if not length or self.since >= _ROUNDED:
                self._leave_weights()
            return None
        if length <= _SHORTEST or self.since >= (_ROUNDED if single else _STALLED):
            if not single:
                return self.watch.stop(Status.STALLED)
            self.dtype, self.since = np.float64, 0
        return None

    def _reweigh(self) -> float:
        """Move to the optimum for the first weights, or for better ones; return the share of the step."""
        assert self.first is not None
        assert isinstance(self.smooth, QuadraticSum)
        length = 1.0
        if self.weights is None:
            self.weights = GramWeights(self.design, self.smooth, self.problem.n * self.problem.beta, self.first)
        else:
            self.again = self.gap <= _NEARLY * self.limits.tol and not self.again
            length = self.weights.step(self.again)
        self.x = self.weights.x
        return length

    def _leave_weights(self) -> None:
        """Go on along the central path, from the best weights."""
        assert isinstance(self.terms, Norms)
        self.x = self.x if self.weights is None else self.weights.x
        self.first = self.weights = None
        self.since, self.least = 0, np.inf
        self.smooth.move_to(self.x)
        self.terms.restart(self.problem.n * self.problem.beta, self.x, self.smooth.slope)

    def _move(self) -> float:
        """Move along Newton's direction; return the share of it that was taken."""
        smooth, terms, design, dtype = self.smooth, self.terms, self.design, self.dtype
        loss, linear = self.problem.datafit.loss, terms.linearize(self.x, smooth.slope)
        grams = smooth.model(self.short, dtype)
        if self.kept is None or not self.kept.serves(grams, linear):
            self.kept = Preconditioner(design, grams, linear, not loss.separable)

        def product(p: Array) -> tuple[Array]:
            return (smooth.product(p, dtype) + penalty_product(design, linear, p),)

        share = _SHARE if self.gap > 100 * self.limits.tol else _CLOSE
        with ONE_BLAS_THREAD:  # its threads spin after a call: products, in threads of ours, took up to twice the time
            iterate = conjugate_gradient(product, linear.right, self.kept, rtol=share, max_iter=_MOST, coupled=True)
        move = iterate.x if iterate.x.any() else iterate.direction
        if not loss.has_units:  # where biases separate rows the curvature vanishes, and the step has no end
            free = move[design.N :]
            free *= min(1.0, _FARTHEST / max(float(np.abs(free).max(initial=0.0)), _FARTHEST))
        length = self._length(move, linear)
        if not length > 0:
            return 0.0
        self.short = length < 1
        self.x = self.x + length * move
        smooth.move_to(self.x)
        floor = _FLOOR * self.limits.tol * self.problem.n * self.watch.objective / max(design.P, 1)
        terms.advance(self.x, smooth.slope, length, floor)
        if self.norms is not None and (self.short or self.norms.takes_over(terms.radius, self.x)):
            self.terms, self.norms = self.norms, None
            first = float(np.sqrt(design.squares(smooth.slope).max(initial=0.0))) if self.short else 0.0
            self.terms.restart(self.problem.n * self.problem.beta, self.x, smooth.slope, first=first)
        return length

    def _length(self, move: Array, linear: Linearized) -> float:
        """Return the first of 1, 1/2, … that lowers the merit enough; 0 if none does. The first step may be longer."""
        value, terms = self.smooth.along(move), self.terms
        slope = max(float(np.vdot(linear.right, move)), 0.0)
        here = self.smooth.value + terms.value(self.x)
        allowed = here + _NOISE * abs(here)
        merit: Callable[[float], float] = lambda share: value(share) + terms.value(self.x + share * move)  # noqa: E731
        length, ahead = 1.0, merit(1.0)
        while not ahead <= allowed - _ARMIJO * length * slope:
            length /= 2
            if length <= _SHORTEST:
                return 0.0
            ahead = merit(length)
        # Newton's step divides the loss of rows that are separated by e only
        while 1 <= length < _LONGEST and (further := merit(2 * length)) < ahead:
            length, ahead = 2 * length, further
        self.falls = here - ahead > _FALL * abs(here)
        return length

    def _judge(self) -> None:
        """Judge the point; without rows, unless it seems good enough or the last."""
        smooth, problem, x = self.smooth, self.problem, self.x
        penalty = penalty_value(problem, self.design, x)
        if isinstance(smooth, QuadraticSum):
            guess = smooth.value / problem.n + penalty
            self.gap = problem.relative_gap(guess, min(dual_without_rows(problem, self.design, smooth), guess))
            if self.gap > self.limits.tol and self.k and not self.watch.last(self.k) and self.since < _STALLED - 1:
                return
        f = self._predictions(x)
        bound = lower_bound(problem, self.design, smooth, self.x, f, self.limits.tol)
        objective = problem.datafit.value(f) + penalty
        good = problem.relative_gap(objective, bound.value) <= self.limits.tol
        if good and isinstance(self.terms, Norms) and self.first is None:
            x, f, objective = self._without_idle(x, f, objective, bound)
        self.watch.check(self.k, objective, bound, x, f)
        self.gap = self.watch.gap
        self.design.last = problem, smooth, self.x, self.seen, self.trail

    def _predictions(self, x: Array) -> Array:
        if isinstance(self.smooth, RowSum):
            return self.smooth.f
        if self.seen is None or self.seen[0] is not x:
            self.seen = x, self.design.forward(x)
        return self.seen[1]

    def _without_idle(self, x: Array, f: Array, objective: float, bound: DualBound) -> tuple[Array, Array, float]:
        """Leave idle gates out, if that is good enough."""
        problem, design = self.problem, self.design
        assert isinstance(self.terms, Norms)
        idle = ~self.terms.active(x, self.smooth.slope)
        if not idle.any():
            return x, f, objective
        sparse = x.copy()
        design.blocks(sparse)[idle] = 0.0
        f_sparse = design.forward(sparse)
        less = problem.datafit.value(f_sparse) + penalty_value(problem, design, sparse)
        good = problem.relative_gap(less, bound.value) <= self.limits.tol
        return (sparse, f_sparse, less) if good else (x, f, objective)
