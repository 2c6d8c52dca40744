"""The gated problem by an interior-point method on its kernel: a handful of steps to any tolerance."""

from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from scipy.sparse import issparse

from clifford_rand._threads import ONE_BLAS_THREAD, ONE_NUMPY_THREAD
from clifford_rand_nn.problems.gated import Coefficients, GatedProblem, GatedReLUProblem, Point
from clifford_rand_nn.solvers.base import Limits, Result, Status
from clifford_rand_nn.solvers.gate_kernel import MANY_ROWS, GatedKernel
from clifford_rand_nn.solvers.gate_weights import KernelWeights
from clifford_rand_nn.solvers.iterations import DualTerms
from clifford_rand_nn.solvers.kernel_central_path import KernelPath
from clifford_rand_nn.solvers.stopping import Watch, handed_over

P = TypeVar("P", bound=GatedProblem)
K = TypeVar("K", bound=GatedKernel)

ADVICE = "try a larger tol, columns and rows of X of similar size, or another solver"
_SMALL = 3e8  # n³ below which a factorization takes some milliseconds, in one thread rather than in two that wait
_STALLED = 8  # steps without a smaller gap, once it is below the next number: rounding
_LATE = 1e-5
_LOST = 40  # the same above it: from a bad start the gap stays where it is for a while
_FLOOR = 1e-3  # of the tolerance: products of slack and weight below it are not aimed at
_CORRELATIONS = 4  # of θ, its direction, second-order terms, and weights, for every gate
_ALONE = 3000  # rows up to which paths run in one thread: thin products and short solves make two wait for each other
_NEAR = 0.08  # of beta_max: the path is followed from the null network down to here; below, steps inwards cost less
_STRIDE = 0.29  # how far beta falls at a time on that way: from 1 to 0.3 takes four steps, to 0.1 more than ten
_PASSING = 2  # steps at a beta on that way
_MOVES = 8  # Newton steps in the weights of the gates: two to four are usual
_FAR = 0.3  # a gap after the first of them that says: too far for a quadratic model
_SLOW = 0.7  # the gap that a further one must leave, as a share
_SHORTEST = 1e-8  # a step below this share of the direction is lost in rounding


@dataclass(frozen=True, kw_only=True)
class KernelMethod(Limits, Generic[P, K]):
    """A method on matrices of order n, for one kind of problem, with one kind of kernel."""

    max_iter: int = 100

    _kinds: ClassVar[tuple[type, type[GatedKernel]]]
    _hint: ClassVar[str]

    @staticmethod
    def memory(problem: Any) -> float:
        """Return the bytes of the matrices of a solve."""
        raise NotImplementedError

    @handed_over
    def solve(self, problem: P, start: Point | None = None, kernel: list[K] | None = None) -> Result[Coefficients]:
        """Minimize the problem, from scratch or from a solution for another beta.

        ``start``: A solution for a beta nearby; `KernelNewton` does not need it where the last solve on ``kernel`` was
        for this problem. ``kernel``: the kernel of the problem, or nothing yet: then it is made and put there for the
        next solve. It depends neither on beta nor on the targets, and keeps what the last solve leaves to the one for
        the next beta. Raises ArgumentError: the matrices would take more than ``max_memory``, the problem has another
        penalty, or the kernel is one of other rows or gates.
        """
        kind, kernel_class = self._kinds
        self.admit(problem, kind, start, self._hint)
        what = f"{problem.n} rows, {problem.outputs} outputs"
        self.admit_memory(self.memory(problem), what, "Use Fista, or fewer rows.")
        kernel = self.admit_shared(kernel, kernel_class, problem)
        with ONE_BLAS_THREAD if float(problem.n) ** 3 < _SMALL else ONE_NUMPY_THREAD:
            return self._solve(problem, start, kernel)

    def _solve(self, problem: P, start: Point | None, kernel: list[K]) -> Result[Coefficients]:
        raise NotImplementedError


def sparse_numbers(problem: GatedProblem) -> int:
    """Return the numbers of weights in all columns, which outgrow the matrices where rows stay sparse, else 0."""
    a = problem.map
    return problem.outputs * a.d * a.n_patterns if issparse(a.rows) else 0


@dataclass(frozen=True, kw_only=True)
class KernelInteriorPoint(KernelMethod[GatedReLUProblem, GatedKernel]):
    r"""Interior-point method for `GatedReLUProblem` of up to some ten thousand rows.

    Works in the n dual variables through :math:`FF^T = (XX^T)\circ(DD^T)`, whatever the number of weights is: a step
    costs one factorization of order n (C of them for a softmax or where outputs differ in curvature), P + q right-hand
    sides for P gates and q biases, and a few products with the rows; see `KernelPath`. Small problems, many gates,
    small beta: 4 to 6 steps for the squared loss and Huber's, 6 to 20 for the others, to 1e-6 and soon below 1e-8.

    References
    ----------
    Mehrotra, "On the implementation of a primal-dual interior point method", SIAM J. Optim. 2 (1992); the weights of
    the gates as multipliers: Bach, Lanckriet, Jordan, "Multiple kernel learning, conic duality, and the SMO algorithm",
    ICML 2004.
    """

    _kinds = GatedReLUProblem, GatedKernel
    _hint = "KernelNewton is for the penalty 'ridge'."

    @staticmethod
    def factors(problem: GatedReLUProblem) -> int:
        """Return how many matrices of order n a step factorizes: one if all outputs have the same curvature."""
        return 1 if problem.datafit.loss.is_quadratic else problem.outputs

    @staticmethod
    def memory(problem: GatedReLUProblem) -> float:
        """Return the bytes of the matrices of a solve: Gram matrix and factors, and both in single precision."""
        n, C, factors = problem.n, problem.outputs, KernelInteriorPoint.factors(problem)
        square = 1.0 + factors
        if not problem.datafit.loss.separable:
            square += 2
        elif n >= MANY_ROWS:
            square *= 1.5
        border = C * problem.map.Q.shape[1] + problem.map.n_patterns  # order of a matrix, with its factor
        gates = 4 * C * (problem.map.n_patterns + problem.map.Q.shape[1])
        return float(8 * (n * (n * square + gates) + 2 * border**2 + _CORRELATIONS * sparse_numbers(problem)))

    def _solve(self, problem: GatedReLUProblem, start: Point | None, kernel: list[GatedKernel]) -> Result[Coefficients]:
        watch = Watch[Point](self, problem.relative_gap, ADVICE)
        known = kernel[0].last if start is not None and kernel else None
        with watch, np.errstate(all="ignore"):  # what overflows is not finite afterwards, and is judged then
            if known is not None and known.problem is problem:  # from the last solve: its point, not the null one
                self._judge(known, 0, watch)
            else:
                z = problem.null_point()
                f = problem.predictions(z)
                watch.check(0, problem.objective(z, f), problem.dual_bound(f), z, f)
            if watch.status is None and not problem.map.n_patterns:  # rows that are one point: rounding is what is left
                watch.stop(Status.STALLED)
            if watch.status is None:
                if not kernel:
                    kernel.append(GatedKernel(problem))
                with ONE_BLAS_THREAD if problem.n <= _ALONE else nullcontext():
                    followed = self._follow(problem, kernel[0], start, watch)
                if not followed:
                    try:
                        path = KernelPath(problem, kernel[0], DualTerms(problem.datafit, problem.map.Q), start)
                        self._run(path, watch)
                    except np.linalg.LinAlgError:
                        watch.stop(Status.STALLED)
        return watch.result("kernel", problem.coefficients(watch.point))

    def _follow(self, problem: GatedReLUProblem, kernel: GatedKernel, start: Point | None, watch: Watch[Point]) -> bool:
        """Follow the path of the squared loss by Newton steps in the weights of the gates; tell if that was enough."""
        if not problem.datafit.loss.is_quadratic:
            return False
        radius = problem.n * problem.beta
        passed: list[float] = []
        weights: KernelWeights | None = kernel.last
        kernel.last = None  # an interrupt in the middle of a step leaves nothing to go on from
        if start is None:
            start = problem.null_point()
            top = kernel.dual_norm(problem.datafit.residual(watch.fitted))
            if radius < _NEAR * top:
                return False
            strides = int(np.ceil(np.log(radius / top) / np.log(_STRIDE)))
            passed = [top * (radius / top) ** (i / strides) for i in range(1, strides)]
            weights = None
        gap = np.inf
        try:
            if weights is None or weights.problem is not problem:
                weights = KernelWeights(problem, kernel, start)
            for on_the_way in passed:
                for _ in range(_PASSING):
                    weights.move(1.0, self.tol, on_the_way)
            for k in range(1, min(_MOVES, self.max_iter) + 1):
                weights.move(min(gap, 1.0), self.tol)
                if not np.isfinite(weights.theta).all():
                    return False
                now = self._judge(weights, k, watch)
                if watch.status is not None:
                    kernel.last = weights
                    return True
                if now > (_FAR if k == 1 else _SLOW * gap):
                    return False
                gap = now
        except np.linalg.LinAlgError:  # by rounding: the central path may get further
            pass
        return False

    @staticmethod
    def _judge(weights: KernelWeights, k: int, watch: Watch[Point]) -> float:
        """Check the point of the weights, and return its own gap."""
        problem = weights.problem
        z, f = weights.point()
        bound, objective = weights.bound(), problem.objective(z, f)
        watch.check(k, objective, bound, z, f)
        return problem.relative_gap(objective, bound.value)

    def _run(self, path: KernelPath, watch: Watch[Point]) -> None:
        """Take steps until the watch or rounding ends them."""
        problem, since, least = path.problem, 0, np.inf
        for k in count(watch.n_iter):
            if not (np.isfinite(path.f).all() and np.isfinite(path.theta).all()):
                return watch.stop(Status.NOT_FINITE)
            self._check(path, k, watch)
            since, least = (0, watch.gap) if watch.gap < 0.9 * least or not path.arrived else (since + 1, least)
            if watch.status is not None:
                return None
            floor = _FLOOR * self.tol * problem.n * abs(watch.objective) / path.eta.size
            lost = since >= (_STALLED if watch.gap <= _LATE else _LOST)
            if lost or not path.step(watch.gap, floor) > _SHORTEST:
                return watch.stop(Status.STALLED)
        return None

    def _check(self, path: KernelPath, k: int, watch: Watch[Point]) -> None:
        """Judge the point by the better of two bounds; leave its idle gates out if that is good enough."""
        problem = path.problem
        points = problem.datafit.residual(path.f), path.theta
        bound, own = (problem.bound_at(theta, path.kernel.dual_norm) for theta in points)
        bound = own if own.value > bound.value else bound
        z, f = path.point(), path.f
        objective = problem.objective(z, f)
        if problem.relative_gap(objective, bound.value) <= self.tol:
            sparse = path.point(path.likely())
            f_sparse = problem.predictions(sparse)
            less = problem.objective(sparse, f_sparse)
            if problem.relative_gap(less, bound.value) <= self.tol:
                z, f, objective = sparse, f_sparse, less
        watch.check(k, objective, bound, z, f)
