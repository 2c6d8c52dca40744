"""Kernel regression on many rows: the problem, steps by products with the kernel alone, and the results of solvers."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.leave_one_out import Judged, KernelFit, judge, null_value
from clifford_rand_nn.problems.duality import DualBound, gap_share
from clifford_rand_nn.solvers.base import Limits, Status
from clifford_rand_nn.solvers.iterations import CGIterate, Operator, conjugate_gradient
from clifford_rand_nn.solvers.stopping import Watch

_SLOWER = 2.5  # a product in double precision takes so many times one in single, before one was timed
_INSIDE = 0.6  # of the tolerance, by the residuals in single precision, before a point is judged in double
_FALLS = 0.5  # by which the gap falls at least between two judgements, or rounding is all that is left


@dataclass(frozen=True, eq=False)
class Regression:
    r"""Targets (n, C), weights (n,) > 0 with mean 1, beta, and the kernel's diagonal (n,): what is solved over it.

    .. math:: \min_{f,t}\ \frac1n\sum_i\omega_i\tfrac12||y_i-f(x_i)-t||^2+\frac\beta2||f||_K^2
    """

    targets: Array
    weights: Array
    beta: float
    diagonal: Array

    @property
    def radius(self) -> Array:
        r""":math:`n\beta/\omega`, (n,)."""
        return len(self.targets) * self.beta / self.weights

    def watch(self, limits: Limits, began: float | None = None) -> Watch[KernelFit]:
        """Return a watch that has judged the best constant."""
        zero = null_value(self.targets, self.weights)
        watch: Watch[KernelFit] = Watch(limits, lambda p, d: gap_share(p, d, zero), began=began)
        nothing = np.zeros(self.targets.shape)
        self.check(watch, 0, nothing, nothing)
        return watch

    def check(self, watch: Watch[KernelFit], n_iter: int, alpha: Array, fitted: Array) -> Judged:
        """Judge alpha (n, C), whose columns sum to zero, by K alpha."""
        judged = judge(fitted, alpha, self.targets, self.weights, self.beta, self.diagonal)
        point = KernelFit(alpha, judged.intercept)
        watch.check(n_iter, judged.objective, judged.bound, point, fitted + judged.intercept)
        return judged


def solve_certified(
    problem: Regression,
    exact: Operator,
    precondition: Operator,
    watch: Watch[KernelFit],
    limits: Limits,
    fast: Operator | None = None,
    start: Array | None = None,
) -> None:
    r"""Solve by conjugate gradients, and leave the best point and its gap in ``watch``.

    ``exact``: K times (n, C) in double precision. Every point that is judged went through it. ``precondition``: an
    approximate inverse of :math:`K+\mathrm{diag}(\rho)` times (n, C), symmetric and positive definite. ``watch``,
    ``limits``: of one clock. Time is kept up to one product with ``exact``; Ctrl-C is followed by one, and a second one
    ends the run with the point that was judged last. ``fast``: the same in single precision. Then steps go by this one;
    between runs of them alpha is judged, and what is left of the right-hand side is taken again, by ``exact``.
    ``start`` (n, C): alpha to begin with. It goes through ``exact``: where beta is small, rounding of its image in
    single precision kept the steps after it from a gap below 2e-3 (letter, 10,000 rows: 60 steps, and 18 with this).
    """
    seconds = {"exact": 0.0, "steps": 0.0}
    judging, stepping = _timed(exact, seconds, "exact"), _timed(fast or exact, seconds, "steps")
    alpha, fitted = np.zeros(problem.targets.shape), np.zeros(problem.targets.shape)
    if start is not None:
        alpha = start - start.mean(axis=0)
        fitted = judging(alpha)
        problem.check(watch, 0, alpha, fitted)
    step: CGIterate
    done, is_late = 0, False

    def is_over(now: CGIterate) -> bool:
        """Keep the step; end at the tolerance or a limit by its residuals, with time for the product that judges."""
        nonlocal step, is_late
        step = now
        if not step.images:
            return False
        point = fitted + step.images[0], alpha + step.x
        judged = judge(*point, problem.targets, problem.weights, problem.beta, problem.diagonal)
        is_near = judged.objective - judged.bound.value <= _INSIDE * limits.tol * judged.objective
        if is_near or done + step.n_products >= limits.max_iter:
            return True
        if limits.max_time is not None:
            # one more step and the product that judges it still fit the time
            last = seconds["exact"] or _SLOWER * seconds["steps"]
            is_late = watch.seconds + seconds["steps"] + last > limits.max_time
        return is_late

    while watch.status is None:
        before = watch.gap
        # residual of (K + diag(ρ))α = y - 1t, by products in double precision
        left = problem.targets - fitted - problem.radius[:, None] * alpha
        step = CGIterate(np.zeros(alpha.shape), (), left, left, 0.0)  # none, where Ctrl-C comes before the first
        try:
            step, interrupted = solve_with_intercept(stepping, precondition, problem.radius, left, is_over), False
        except KeyboardInterrupt:
            interrupted = True
        alpha, done = alpha + step.x, done + step.n_products
        # 1ᵀα = 0 makes α a dual point; round-off of the steps leaves it
        alpha -= alpha.mean(axis=0)
        fitted = fitted + sum(step.images) if fast is None else judging(alpha)
        problem.check(watch, done, alpha, fitted)
        if interrupted:
            watch.stop(Status.INTERRUPTED)
        elif watch.status is None and is_late:
            watch.stop(Status.MAX_TIME)
        elif watch.status is None and watch.gap > _FALLS * before:
            watch.stop(Status.STALLED)


def solve_with_intercept(
    multiply: Operator, precondition: Operator, radius: Array, right: Array, stop: Callable[[CGIterate], bool]
) -> CGIterate:
    r"""Solve :math:`(K+\mathrm{diag}(\rho))\alpha = b - 1t^T,\ 1^T\alpha = 0`; the image is :math:`K\alpha`.

    All vectors sum to zero (the constraint preconditioner of Gould, Hribar, Nocedal, SIAM J. Sci. Comput. 23, 2001):
    what the preconditioner returns is moved along its image of 1, so that the intercept never appears. Where single
    precision is not enough for a preconditioner that is positive definite, or for a length, the steps end.
    """
    ones = precondition(np.ones((len(right), 1)))
    ones /= ones.sum()

    def apply(p: Array) -> tuple[Array, Array]:
        image = multiply(p)
        product = image + radius[:, None] * p
        return product - product.mean(axis=0), image  # a constant is the intercept's

    def inverse(residual: Array) -> Array:
        z = precondition(residual)
        z -= ones * z.sum(axis=0)
        return np.asarray(z - z.mean(axis=0))  # round-off

    return conjugate_gradient(apply, right - right.mean(axis=0), inverse, max_iter=sys.maxsize, stop=stop)


def _timed(multiply: Operator, seconds: dict[str, float], name: str) -> Callable[[Array], Array]:
    def product(V: Array) -> Array:
        began = time.perf_counter()
        out = multiply(V)
        seconds[name] = time.perf_counter() - began
        return out

    return product


FLAT = 0.002  # of the least loss: the largest radius within this share is taken, as the curve is flat below


class Found(NamedTuple):
    """The result of a way to solve; rows are in the order of the `ManyRows`."""

    watch: Watch[KernelFit]  # with the best point, its values and its end
    beta: float
    last: int  # number of rows at the end with out-of-sample predictions
    unseen: Array  # (last, C): these predictions
    centers: NDArray[np.intp] | None = None  # (k,): rows that the coefficients belong to; None for all
    # what is certified, and what else there is to say of the run
    scope: str = "over all functions of the kernel's space, and an intercept"
    remark: str = ""
    left: Array | None = None  # (last,): 1 - H of each, if they were left out one by one


@dataclass(frozen=True, eq=False)
class ManyRows:
    """A kernel, rows (n, d) in an order spread as by chance, targets (n, C), weights (n,) of mean 1 over all."""

    kernel: GateKernel
    X: NDArray[np.floating]
    targets: Array
    weights: Array

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.targets)

    def leading(self, n: int) -> "ManyRows":
        """Return the first n rows, with weights as they are."""
        return ManyRows(self.kernel, self.X[:n], self.targets[:n], self.weights[:n])

    def regression(self, radius: float, n: int | None = None) -> Regression:
        r"""Return the problem of the first n rows with :math:`n\beta` = ``radius``, weights as they are in the sum."""
        n = self.n if n is None else n
        weights, diagonal = self.weights[:n], self.kernel.diagonal(self.X[:n])
        return Regression(self.targets[:n], weights / weights.mean(), radius / weights.mean() / n, diagonal)

    def watch(self, limits: Limits, began: float) -> Watch[KernelFit]:
        """Return a watch that has judged the best constant."""
        zero = null_value(self.targets, self.weights)
        watch: Watch[KernelFit] = Watch(limits, lambda p, d: gap_share(p, d, zero), began=began)
        mean, nothing = np.average(self.targets, axis=0, weights=self.weights), np.zeros(self.targets.shape)
        watch.check(0, zero, DualBound(0.0, nothing), KernelFit(nothing[:0], mean), nothing + mean)
        return watch

    def loss(self, unseen: Array) -> float:
        """Return the mean loss of predictions (s, C) of the last rows."""
        s = len(unseen)
        return float(np.average(0.5 * ((unseen - self.targets[-s:]) ** 2).sum(axis=1), weights=self.weights[-s:]))
