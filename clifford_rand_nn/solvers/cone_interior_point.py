"""Interior-point method for the convex ReLU program: high accuracy where units have few coordinates."""

from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count

import numpy as np
from scipy.linalg import LinAlgError

from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn.problems.relu import ConvexReLUProblem, ReLUCoefficients
from clifford_rand_nn.solvers.base import Limits, Result, Status
from clifford_rand_nn.solvers.complementarity import AbsoluteValues, SecondOrderCones, longest_step
from clifford_rand_nn.solvers.iterations import LossTerm, predictor_corrector
from clifford_rand_nn.solvers.relu_program import ReLUProgram, UnitBlocks
from clifford_rand_nn.solvers.stopping import Watch, handed_over

# Norms and slacks start at ten times the scale of the targets: 36 iterations to a gap of 1e-4 on the spiral with 200
# gates, against 41 from 1 and 53 from 0.1.
_START = 10.0
# Proximal term: a unit that its cone leaves free has no curvature of its own, and without one the last system cannot be
# factored. In proportion to mu it vanishes at the optimum; 1 µ costs 5 iterations more than 0.1 µ.
_RIDGE, _LEAST_RIDGE = 0.1, 1e-11
_STALLED = 40  # iterations without a smaller gap: with 12, two of 15 fits with outliers ended early
# The best cone multipliers take a least-squares problem a unit: they replace those of the iteration only where the
# complementarity is this many times tol or less, and the work is small (flops, roughly; 1e9 take a second or two).
_NEAR, _EXACT_WORK = 3.0, 1e9
_AFFORDABLE = 2e10
_SMALL = 2e8  # flops of an iteration below which a second BLAS thread waits longer than it works
_INSIDE = 1e-7  # of the scale of predictions: violations of cones up to here are projected away, then the gap counts


@dataclass(frozen=True, kw_only=True)
class ConeInteriorPoint(Limits):
    r"""Primal-dual interior-point method for `ConvexReLUProblem`, to a gap of 1e-8 or so.

    Mehrotra's predictor-corrector steps with a slack for every row of every cone and a second-order cone (p = 2) or
    bounds (p = 1) for every norm. An iteration takes :math:`O(2Pnw^2 + n^2Pw + n^3)` flops, w = d + 1: about 10 ms for
    the spiral with 200 gates, and some 50 iterations. Memory is that of an (n, n) matrix and of 2P blocks of (w, w).
    Use `AugmentedLagrangian` where that is too much.

    References
    ----------
    Mehrotra, "On the implementation of a primal-dual interior point method", SIAM J. Optim. 2 (1992); for the proximal
    term Pougkakiotis and Gondzio, Comput. Optim. Appl. 78 (2021).
    """

    tol: float = 1e-8
    max_iter: int = 200

    @staticmethod
    def memory(problem: ConvexReLUProblem) -> float:
        """Return the bytes of an (n, n) matrix with its factor, and of the blocks, slacks and multipliers."""
        n, P, w = problem.n, problem.n_patterns, problem.X.shape[1] + 1
        return float(8 * (2 * n**2 + 2 * P * (w**2 + 6 * n)))

    @staticmethod
    def suits(problem: ConvexReLUProblem) -> bool:
        """Whether an iteration takes at most some 2e10 flops, a second: else `AugmentedLagrangian` is the solver."""
        n, P, w = problem.n, problem.n_patterns, problem.X.shape[1] + 1
        least = min(n, 2 * P * w)
        flops: int = 2 * P * (n * w**2 + w**3) + n * 2 * P * w * least + least**3
        return flops <= _AFFORDABLE

    @staticmethod
    def _work(problem: ConvexReLUProblem) -> float:
        """Flops of a bound for which every unit is priced."""
        return 2.0 * problem.n_patterns * problem.n * float(problem.X.shape[1]) ** 2

    @handed_over
    def solve(self, problem: ConvexReLUProblem, start: ReLUCoefficients | None = None) -> Result[ReLUCoefficients]:
        """Minimize the problem; ``start`` is ignored, an interior-point method has no use for it."""
        self.admit(problem, ConvexReLUProblem)
        what = f"{problem.n} rows, {problem.n_patterns} patterns"
        self.admit_memory(self.memory(problem), what, "Use AugmentedLagrangian, or fewer rows.")
        flops = problem.n**2 * (problem.n + 2 * problem.n_patterns * (problem.X.shape[1] + 1))
        with ONE_BLAS_THREAD if flops < _SMALL else nullcontext():
            return self._solve(problem)

    def _solve(self, problem: ConvexReLUProblem) -> Result[ReLUCoefficients]:
        watch = Watch[ReLUCoefficients](self, problem.relative_gap, "try a larger tol or a larger beta")
        with watch:
            point = _Point(ReLUProgram(problem))
            coefficients = point.program.constant()
            f = problem.network_predictions(coefficients)
            # priced where that is cheap, as multipliers say nothing yet: from beta_max on the constant is the optimum
            multipliers = None if self._work(problem) <= _EXACT_WORK else point.program.multipliers(point.z)
            watch.check(0, problem.objective(coefficients, f), problem.dual_bound(f, multipliers), coefficients, f)
            if watch.status is None:
                with np.errstate(all="ignore"):  # a step that overflows is not taken
                    self._run(point, watch)
        return watch.result("cone_interior_point", watch.point)

    def _run(self, point: "_Point", watch: Watch[ReLUCoefficients]) -> None:
        """Take steps until the watch or rounding ends them."""
        problem = point.program.problem
        least = np.inf, np.inf  # complementarity, violation; where beta is small the first has to rise before it falls
        last_gain = 0
        for k in count(1):
            moved = point.step()
            gap, coefficients, f, objective, bound = watch.gap, watch.point, watch.fitted, watch.objective, watch.bound
            if point.error <= _INSIDE:
                coefficients = problem.feasible(point.program.coefficients(point.U, point.t))
                f = problem.network_predictions(coefficients)
                objective = problem.objective(coefficients, f)
                theta = point.program.scale * point.loss.theta
                bound = problem.bound_at(theta, point.program.multipliers(point.z))
                near = point.complementarity() <= _NEAR * self.tol * min(objective, watch.objective)
                if near and self._work(problem) <= _EXACT_WORK:
                    bound = max(bound, problem.bound_at(theta), key=lambda bound: bound.value)
            watch.check(k, objective, bound, coefficients, f)
            progress = point.complementarity(), point.error
            if watch.gap < gap or any(a < b for a, b in zip(progress, least, strict=True)):
                last_gain = k
            least = min(progress[0], least[0]), min(progress[1], least[1])
            if watch.status is not None:
                return None
            if not moved or k - last_gain >= _STALLED:
                return watch.stop(Status.STALLED)
        return None


class _Point:
    """The iterate: units, intercept, slacks s and multipliers z of the cones, and the cones of the norms."""

    def __init__(self, program: ReLUProgram) -> None:
        self.program = program
        problem = program.problem
        n, G = problem.n, 2 * problem.n_patterns
        kind = SecondOrderCones if problem.p == 2 else AbsoluteValues
        self.norms: SecondOrderCones | AbsoluteValues = kind(G, program.rank, program.kappa, _START)
        self.U = np.zeros((G, program.width))
        self.t = program.level
        datafit = problem.datafit.in_units(program.scale)
        self.loss = LossTerm(datafit, np.tile(self.t, (n, 1)), _START * program.kappa)
        self.s = np.full((n, G), _START)
        self.z = np.full((n, G), program.kappa)
        self.error = np.inf  # largest difference of a slack from the inequality it stands for
        self.vacuous = program.zero_rows[:, None].astype(np.float64)  # makes the rows 0 ≥ 0 read 1 ≥ 0

    def step(self) -> bool:
        """Take a predictor-corrector step; False if rounding has made that impossible."""
        program, norms, loss, s, z = self.program, self.norms, self.loss, self.s, self.z
        f = program.forward(self.U) + self.t
        roots = loss.linearize(f)
        error = self._mismatch()
        count = max(norms.count + loss.count + s.size, 1)
        mu = self._products() / count
        ridge = max(_RIDGE * mu, _LEAST_RIDGE * float(roots.max()) ** 2)
        root = norms.root()
        ratio = z / s
        if not (np.isfinite(ratio).all() and np.isfinite(root).all()):
            return False
        try:
            blocks = UnitBlocks(program, root, ratio, roots, ridge)
        except LinAlgError:  # indefinite: the last digits are reached
            return False

        dU, dt, ds, dz = self.U, self.t, np.zeros_like(s), np.zeros_like(z)

        def direction(target: float, second_order: bool, _: float) -> float:
            nonlocal dU, dt, ds, dz
            c = target - s * z - ds * dz
            theta = loss.theta + loss.right_hand_side(target, second_order)
            r = program.adjoint(theta) + program.cones_adjoint(z + (c - z * error) / s)
            q = norms.right_hand_side(target, second_order)[:, :, None]
            r[:, : program.rank] += norms.dual + np.matmul(root, np.matmul(root, q))[:, :, 0]
            dU, dt = blocks.solve(r, theta.sum(axis=0))
            norms.set_direction(dU[:, : program.rank])
            loss.set_direction(program.forward(dU) + dt)
            ds = program.cones(dU) + error
            dz = (c - z * ds) / s
            return min(norms.limit(), loss.limit(), longest_step(s, ds), longest_step(z, dz))

        def product(step: float) -> float:
            return norms.product(step) + loss.product(step) + float(np.sum((s + step * ds) * (z + step * dz)))

        size = predictor_corrector(direction, product, count)
        if not all(np.isfinite(move).all() for move in (dU, dt, ds, dz)):
            return False
        self.U, self.t = self.U + size * dU, self.t + size * dt
        self.s, self.z = s + size * ds, z + size * dz
        norms.advance(size)
        loss.advance(size)
        self.error = float(np.abs(self._mismatch()).max(initial=0.0))
        return True

    def _products(self) -> float:
        return self.norms.product() + self.loss.product() + float(np.sum(self.s * self.z))

    def _mismatch(self) -> Array:
        return np.asarray(self.program.cones(self.U) + self.vacuous - self.s)

    def complementarity(self) -> float:
        """Sum of slack times multiplier in the scale of the objective: the gap that the method itself expects."""
        return float(self._products() * self.program.scale**2 / self.program.problem.n)
