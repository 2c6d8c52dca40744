"""ADMM for the convex ReLU program: one factorization, then products; for units with many coordinates."""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from clifford_rand._checks import check_integer
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn.problems.relu import ConvexReLUProblem, ReLUCoefficients
from clifford_rand_nn.solvers.base import Limits, Result, Status
from clifford_rand_nn.solvers.relu_program import ReLUProgram
from clifford_rand_nn.solvers.stopping import Watch, handed_over

_RELAX = 1.7  # over-relaxation; 1.5 to 1.8 are usual (Boyd et al. 2011, section 3.4.3)
_START = (0.01, 0.1, 1.0)  # penalties of norms, cones and predictions, which the residuals then balance
# Penalties are balanced at iterations 40, 60, 90, …: a third of the iterations apart, so that their number is
# logarithmic, as convergence needs them to settle. Each change costs a factorization.
_FIRST_BALANCE, _BALANCE_GROWTH = 40, 1.5
_WORTH = 1.5  # a penalty changes if by more than this factor
_LARGEST_CHANGE = 10.0
_SMALL = 2e7  # flops of a product below which a second BLAS thread waits longer than it works
# A primal value takes a projection of every unit outside its cone: always where that is this little work (flops,
# roughly), else where the network as it is promises a gap of this share of the present one, or the tolerance.
_PROJECT_WORK, _PROMISE = 1e8, 0.5


class _Split(NamedTuple):
    """Norm part v (2P, rank), cone part s (n, 2P) and predictions f (n, 1), or penalties or residuals of them."""

    v: Array
    s: Array
    f: Array


@dataclass(frozen=True, kw_only=True)
class AugmentedLagrangian(Limits):
    r"""Alternating direction method of multipliers (ADMM) for `ConvexReLUProblem`.

    The unknowns are split: v = U meets the norm, s = YU + b the cones, f = FU + t the loss; each has its proximal
    operator, and U is a least-squares problem in all units at once,

    .. math:: (I\otimes M + cF^TF)U = r,\quad M = aJ+b\,Y^TY,

    with penalties a, b, c. Because :math:`(2D_i-I)^2 = I`, M is the same for every unit, and Woodbury's formula needs
    one (n, n) matrix :math:`c^{-1}I+2(YM^{-1}Y^T)\circ(DD^T)`. An iteration takes six products of (n, w) by (w, P),
    :math:`12\,nwP` flops with w = d + 1; a change of the penalties :math:`2n^2w+n^3/3`. The penalties follow the
    residuals, more and more rarely.

    Lower bounds come from the multipliers of loss and cones, and hold whatever they are; primal values from the units
    projected on their cones. ADMM is fast to a gap of 1e-2 … 1e-4, slow to 1e-6 where patterns are many and beta is
    small; `ConeInteriorPoint` is the method for few coordinates, up to some hundred.

    ``check_every``: least number of iterations between two checks of the gap; late checks are a tenth of the
    iterations apart.

    References
    ----------
    Boyd, Parikh, Chu, Peleato, Eckstein, "Distributed optimization and statistical learning via the alternating
    direction method of multipliers" (2011), sections 3.4 and 5; Bai, Gautam, Sojoudi, "Efficient global optimization of
    two-layer ReLU networks: quadratic-time algorithms and adversarial training", SIAM J. Math. Data Sci. 5 (2023).
    """

    check_every: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(self.check_every, "check_every", "AugmentedLagrangian")

    @staticmethod
    def memory(problem: ConvexReLUProblem) -> float:
        """Return the bytes of two (n, n) matrices, and of the parts of the iterate in every cone."""
        n, P = problem.n, problem.n_patterns
        return float(8 * (3 * n * n + 12 * P * (n + problem.X.shape[1] + 1)))

    @handed_over
    def solve(self, problem: ConvexReLUProblem, start: ReLUCoefficients | None = None) -> Result[ReLUCoefficients]:
        """Minimize the problem, from ``start`` or zero."""
        self.admit(problem, ConvexReLUProblem)
        what = f"{problem.n} rows, {problem.n_patterns} patterns"
        self.admit_memory(self.memory(problem), what, "Take fewer gates.")
        flops = 2 * problem.n * problem.X.shape[1] * problem.n_patterns
        with ONE_BLAS_THREAD if flops < _SMALL else nullcontext():
            return self._solve(problem, start)

    def _solve(self, problem: ConvexReLUProblem, start: ReLUCoefficients | None) -> Result[ReLUCoefficients]:
        watch = Watch[ReLUCoefficients](self, problem.relative_gap)
        with watch, np.errstate(over="ignore", invalid="ignore"):  # what overflows is judged
            state = _State(ReLUProgram(problem), start)
            coefficients = state.program.constant() if start is None else problem.feasible(start)
            f = problem.network_predictions(coefficients)
            watch.check(
                0, problem.objective(coefficients, f), problem.dual_bound(f, state.multipliers()), coefficients, f
            )
            self._run(state, watch)
        return watch.result("augmented_lagrangian", watch.point)

    def _run(self, state: "_State", watch: Watch[ReLUCoefficients]) -> None:
        """Iterate until the watch ends it."""
        program, problem = state.program, state.program.problem
        work = 2 * problem.n_patterns * problem.n * program.width**2
        k, check, balance = 0, self.check_every, _FIRST_BALANCE
        while watch.status is None:
            k += 1
            state.step()
            if k == balance:
                balance = int(_BALANCE_GROWTH * balance)
                state.balance()
            last = watch.last(k)
            if k < check and not last:
                continue
            check = k + max(self.check_every, k // 10)
            if not np.isfinite(state.x.f).all():
                return watch.stop(Status.NOT_FINITE)
            best, f, objective = watch.point, watch.fitted, watch.objective
            bound = problem.dual_bound(program.scale * state.x.f, state.multipliers())
            highest = max(bound.value, watch.bound.value)
            coefficients = program.coefficients(state.U, state.t)
            # outside their cones units are other neurons, whose network may lie below the bound over these patterns
            promise = problem.relative_gap(max(problem.network_objective(coefficients), highest), highest)
            if work <= _PROJECT_WORK or promise <= max(self.tol, _PROMISE * watch.gap) or last:
                best = problem.feasible(coefficients)
                f = problem.network_predictions(best)
                objective = problem.objective(best, f)
            watch.check(k, objective, bound, best, f)
        if watch.status in (Status.MAX_ITER, Status.MAX_TIME):
            watch.stop(watch.status, f"try a larger {watch.status} or solver ConeInteriorPoint")
        return None


class _State:
    """Iterate: the split variables x, the multipliers m over their penalties, and the least-squares factors."""

    def __init__(self, program: ReLUProgram, start: ReLUCoefficients | None) -> None:
        self.program = program
        (n, P), rank = program.mask.shape, program.rank
        U, t = (np.zeros((2 * P, program.width)), program.level) if start is None else program.units(start)
        self.U, self.t = U, np.asarray(t, dtype=np.float64)
        self.Z = program.inputs(U)
        self.x = _Split(U[:, :rank], self.Z, program.forward(U) + self.t)
        self.m = _Split(np.zeros((2 * P, rank)), np.zeros((n, 2 * P)), np.zeros((n, 1)))
        datafit = program.problem.datafit
        gradient = float(np.abs(datafit.residual(program.scale * np.tile(self.t, (n, 1)))).max()) / program.scale
        # the gradient of a loss with linear tails is at most δ, whatever the size of the targets
        self.weights = [weight * (min(gradient, 1.0) if datafit.loss.even else 1.0) for weight in _START]
        values, vectors = np.linalg.eigh(program.Y[:, :rank].T @ program.Y[:, :rank])
        self.values, self.vectors = np.maximum(values, 0), vectors
        self.overlap = 2 * (program.mask @ program.mask.T)
        self.primal, self.dual = [0.0] * 3, [0.0] * 3
        self._factor()

    def _factor(self) -> None:
        """Least-squares factors for the present penalties. Columns of Y are centered: the bias decouples from M."""
        a, b, c = self.weights
        program = self.program
        n = len(program.Y)
        self.inverse = (self.vectors / (a + b * self.values)) @ self.vectors.T
        Y = program.Y[:, : program.rank]
        gram = Y @ self.inverse @ Y.T + (1 / (b * n) if program.bias else 0.0)
        H = gram * self.overlap
        H[np.diag_indices(n)] += 1 / c
        self.factor = cho_factor(H, overwrite_a=True, check_finite=False)
        self.ones = cho_solve(self.factor, np.ones(n), check_finite=False)

    def _solve_units(self, r: Array) -> Array:
        """Return M^-1 r for units r (G, width)."""
        rank = self.program.rank
        out = np.empty_like(r)
        out[:, :rank] = r[:, :rank] @ self.inverse
        if self.program.bias:
            out[:, rank] = r[:, rank] / (self.weights[1] * len(self.program.Y))
        return out

    def _project(self, target: _Split) -> None:
        """Set U, t, Z to the least-squares fit of the targets of the three parts."""
        a, b, _ = self.weights
        program = self.program
        P = program.mask.shape[1]
        r = b * (target.s.T @ program.Y)
        r[:, : program.rank] += a * target.v
        U = self._solve_units(r)
        Z = program.inputs(U)
        g = target.f - program.gated(Z[:, :P] - Z[:, P:])
        lam = cho_solve(self.factor, g, check_finite=False)
        self.t = np.zeros(1)
        if program.intercept:
            self.t = lam.sum(axis=0) / self.ones.sum()
            lam -= self.ones[:, None] * self.t
        half = self._solve_units(program.adjoint(lam)[:P])
        moved = program.inputs(half)
        self.U = U + np.concatenate([half, -half])
        self.Z = Z + np.concatenate([moved, -moved], axis=1)

    def step(self) -> None:
        program, x, m = self.program, self.x, self.m
        a, _, c = self.weights
        P = program.mask.shape[1]
        self._project(_Split(x.v - m.v, x.s - m.s, x.f - m.f))
        fit = _Split(self.U[:, : program.rank], self.Z, program.gated(self.Z[:, :P] - self.Z[:, P:]) + self.t)
        pushed = _Split(*(_RELAX * new + (1 - _RELAX) * old + dual for new, old, dual in zip(fit, x, m, strict=True)))
        datafit, scale = program.problem.datafit, program.scale
        inside = program.signed(pushed.s) >= 0
        after = _Split(
            _shrink(pushed.v, program.kappa / a, program.problem.p),
            np.where(inside, pushed.s, 0.0),
            datafit.prox(scale * pushed.f, 1 / c) / scale,
        )
        self.m = _Split(*(p - new for p, new in zip(pushed, after, strict=True)))
        self.primal = [float(np.linalg.norm(u - w)) for u, w in zip(fit, after, strict=True)]
        moves = zip(self.weights, after, x, strict=True)
        self.dual = [weight * float(np.linalg.norm(new - old)) for weight, new, old in moves]
        self.fit, self.x = fit, after

    def balance(self) -> None:
        """Change each penalty so that its primal and dual residual become equal shares of what they measure."""
        tiny = np.finfo(np.float64).tiny
        changed = False
        parts = list(self.m)
        for j, weight in enumerate(self.weights):
            size = max(float(np.linalg.norm(self.x[j])), float(np.linalg.norm(self.fit[j])), tiny)
            force = max(weight * float(np.linalg.norm(self.m[j])), tiny)
            primal, dual = max(self.primal[j] / size, tiny), max(self.dual[j] / force, tiny)
            factor = float(np.clip(np.sqrt(primal / dual), 1 / _LARGEST_CHANGE, _LARGEST_CHANGE))
            if not 1 / _WORTH < factor < _WORTH:
                self.weights[j] = weight * factor
                parts[j] = parts[j] / factor
                changed = True
        if changed:
            self.m = _Split(*parts)
            self._factor()

    def multipliers(self) -> Array:
        """Cone multipliers of the problem."""
        on = self.program.problem.patterns[:, None]
        z = -self.weights[1] * self.program.scale * self.m.s.reshape(len(on), 2, -1)
        return np.asarray(np.maximum(np.where(on, z, -z), 0))


def _shrink(U: Array, radius: float, p: int) -> Array:
    """Proximal operator of radius times the norm of every unit (G, rank)."""
    if p == 1:
        return np.asarray(np.sign(U) * np.maximum(np.abs(U) - radius, 0))
    norms = np.sqrt(np.einsum("gr,gr->g", U, U))
    factor = np.where(norms > radius, 1 - radius / np.where(norms > radius, norms, 1.0), 0.0)
    return np.asarray(U * factor[:, None])
