"""FISTA with adaptive restart and adaptive step, stopped by the relative duality gap."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from clifford_rand._blas import ONE_BLAS_THREAD
from clifford_rand._checks import check_choice, check_integer
from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import dual_bound
from clifford_rand_nn.problems.gated import Coefficients, GatedProblem, Point
from clifford_rand_nn.problems.penalties import GateMetric, GroupL2
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Result, Status
from clifford_rand_nn.solvers.convergence import Watch
from clifford_rand_nn.solvers.interrupts import handed_over

# The step grows by this factor in every iteration until the majorization test stops it. On embeddings of n = 2000,
# d = 384, P = 50 it took 830 instead of 1210 iterations to a gap of 1e-6; 0.95 and 0.90 took 850.
RELAX = 0.98
_TRIALS = 200  # steps of an iteration; each is shorter, so where so many fail the data overflow
GROW = 1.1  # least growth of the Lipschitz estimate when the test fails
NOISE = 64  # predictions that differ by less than so many roundings differ by rounding only
# Single precision ends at this gap. To there it takes as many iterations as double precision (n = 3000, d = 64, P = 50,
# beta from 0.1 to 0.001 beta_max); to 1e-5 a fifth more on the worst of six problems, and 5e-6 was the least gap there.
_SINGLE = 1e-4
_STALLED = 0.98  # it also ends when a gap is more than this share of the gap two checks ago
_SINGLE_PAYS = 2.5e7  # multiplications of a product from which float64 data are rounded for it
# Multiplications of a product from which steps are made in the map's metric (docs: fast path); it was never slower.
_METRIC_PAYS = 2.5e7
# A check costs as much as two iterations in single precision. Where the gap can be estimated for free, one is made
# where the estimate meets the tolerance or is this share of the last gap; where it is this near to the tolerance,
# which it overstates by up to twice, as often as without it; and after half as many iterations again in any case.
_FALL = 0.3
_NEAR = 2.0
_SELDOM = 0.5
_RANGE = 1e12  # data between its inverse and this, with their squares and products, are far from overflow in float32


@dataclass(frozen=True, kw_only=True)
class Fista(Limits):
    r"""Accelerated proximal gradient for `GatedReLUProblem` and `GatedRidgeProblem`.

    Beck and Teboulle's FISTA with the gradient restart of O'Donoghue and Candès. The step 1/L starts from a power
    iteration and adapts: L shrinks by 2 % an iteration and grows where :math:`\kappa||K\Delta||^2/n > L||\Delta||^2`
    for the move Δ, with κ the curvature bound of the loss, row by row, and K the map; this test needs no difference of
    objective values, so it holds to full precision. One product with the data and one with its transpose per iteration.
    Large problems are stepped in the metric of `GatedMap.metric`, in which steps are longer.
    Stops when the relative duality gap, with the best lower bound so far, is at most ``tol``. A second run on the same
    machine gives the same bits.

    Parameters
    ----------
    tol, max_iter, max_time, max_memory, callback
        See `Limits`.
    check_every : int
        Least number of iterations between two checks of the gap; late checks are a tenth of the iterations apart.
    precision : {"auto", "single", "double"}
        Of the iterations; objectives and bounds are always in double precision. "auto" begins in single precision if
        the data are in float32 or large, and changes to double at a gap of 1e-4, or where rounding stops progress.
        "single" stays and may never reach a small tol.

    References
    ----------
    Beck, Teboulle, "A fast iterative shrinkage-thresholding algorithm", SIAM J. Imaging Sci. 2 (2009), eqs. 4.1-4.3;
    O'Donoghue, Candès, "Adaptive restart for accelerated gradient schemes", Found. Comput. Math. 15 (2015), eq. 13.

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn.problems.gated import GatedReLUProblem
    >>> X, y = np.array([[-1.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> problem = GatedReLUProblem(X, y, X >= 0, beta=0.01)
    >>> Fista(tol=1e-8).solve(problem).status
    <Status.OPTIMAL: 'optimal'>
    """

    check_every: int = 10
    precision: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(self.check_every, "check_every", "Fista")
        check_choice(self.precision, "precision", "Fista", ("auto", "single", "double"))

    @staticmethod
    def memory(problem: GatedProblem) -> float:
        """Return the bytes of the iterates of a solve, and of the predictions."""
        return 8.0 * 8 * problem.outputs * (problem.map.d * problem.map.n_patterns + problem.n)

    @handed_over
    def solve(self, problem: GatedProblem, start: Point | None = None) -> Result[Coefficients]:
        """Minimize the problem, from ``start`` or the best point without a gate, the optimum for large beta."""
        self.admit(problem, GatedProblem, start)
        self.admit_memory(self.memory(problem), f"{problem.map.n_patterns} gates", "Take fewer gates.")
        with ONE_BLAS_THREAD:  # large products run in threads of their own; in others a second gains little
            return self._solve(problem, problem.null_point() if start is None else start)

    def _solve(self, problem: GatedProblem, z: Point) -> Result[Coefficients]:
        watch = Watch[Point](self, problem.relative_gap)
        with watch, np.errstate(over="ignore", invalid="ignore"):  # what overflows is judged
            f = problem.predictions(z)
            watch.check(0, problem.objective(z, f), problem.dual_bound(f), z, f)
            if watch.status is None:
                self._iterate(problem, z, f, watch)
        return watch.result("fista", problem.coefficients(watch.point))

    def _iterate(self, problem: GatedProblem, z: Point, f: Array, watch: Watch[Point]) -> None:
        single = self.precision == "single" or (self.precision == "auto" and _single_pays(problem))
        state = _State.at(z, f, np.float32 if single else np.float64, problem.lipschitz())
        norms = isinstance(problem.penalty, GroupL2)
        if norms and problem.map.rows.size * problem.map.n_patterns * problem.outputs >= _METRIC_PAYS:
            state.take(problem.map.metric)
        estimated = norms and problem.datafit.loss.is_quadratic
        usual = latest = 0
        k, next_check = 0, self.check_every
        while watch.status is None:
            k += 1
            finite = state.step(problem)
            last = watch.last(k) or not finite
            if estimated and next_check <= k < latest and not last:
                aim = max(self.tol, _SINGLE) if single and self.precision == "auto" else self.tol
                level = max(aim * (_NEAR if k >= usual else 1.0), _FALL * watch.gap)
                if state.estimate(problem) > level:
                    next_check = k + self.check_every
                    continue
            if k >= next_check or last:
                next_check = k + (self.check_every if estimated else max(self.check_every, k // 10))
                usual, latest = k + max(self.check_every, k // 10), k + max(self.check_every, int(_SELDOM * k))
                z, f = state.point, state.f
                if single:  # a gap is proved in double precision
                    z = Point(z.U.astype(np.float64), z.c)
                    f = problem.predictions(z)
                watch.check(k, problem.objective(z, f), problem.dual_bound(f), z, f)
                if single and self.precision == "auto" and (rounded(watch.history) or not finite):
                    single, state = False, state.in_double(z, f)
                elif not finite and watch.status is None:
                    watch.stop(Status.NOT_FINITE)


@dataclass
class _State:
    """Iterate z with its predictions, the extrapolated y with its own, and step and momentum; U in one precision."""

    point: Point
    f: Array
    y: Point
    f_y: Array
    L: float
    t: float = 1.0
    metric: GateMetric | None = None
    multiplier: Array | None = None  # of the last prox in the metric
    slope: tuple[Array, NDArray[Any]] | None = None  # predictions and gradient in U that the last step began from

    @classmethod
    def at(cls, z: Point, f: Array, dtype: Any, L: float) -> "_State":
        z = Point(z.U.astype(dtype, copy=False), z.c)
        return cls(z, f, z, f, L)

    def take(self, metric: GateMetric | None) -> None:
        """Make steps in a metric, in which they are longer."""
        if metric is not None:
            self.metric, self.L = metric, self.L / metric.omega

    def in_double(self, z: Point, f: Array) -> "_State":
        """Return the state at a point in double precision, with the same step."""
        state = _State.at(z, f, np.float64, self.L)
        state.metric, state.multiplier = self.metric, self.multiplier
        return state

    def step(self, problem: GatedProblem) -> bool:
        """One iteration: a gradient, a proximal step short enough, restart or momentum; False if none is finite."""
        z, y, f_y, L, metric = self.point, self.y, self.f_y, self.L, self.metric
        dtype = y.U.dtype
        omega = 1.0 if metric is None else metric.omega
        kappa, largest = problem.datafit.row_curvature / problem.n, problem.datafit.curvature / problem.n
        noise = NOISE * np.finfo(dtype).eps
        gU, gc = problem.map.adjoint((problem.datafit.residual(f_y) / -problem.n).astype(dtype, copy=False))
        self.slope = f_y, gU
        if not np.isfinite(gU).all():
            return False
        direction = gU if metric is None else metric.solve(gU)
        L *= RELAX
        for _ in range(_TRIALS):
            U = direction * dtype.type(-1 / L)
            U += y.U
            if metric is None:
                U = problem.penalty.prox(U, 1 / L, out=U)
            else:
                assert isinstance(problem.penalty, GroupL2)  # the metric is taken for no other
                U, self.multiplier = metric.prox(problem.penalty, U, 1 / L, self.multiplier)
            new = Point(U, y.c - gc / (L * omega))
            f_new = problem.map.forward(new.U, new.c).astype(np.float64, copy=False)
            move = Point(new.U - y.U, new.c - y.c)
            if metric is not None:
                move = Point(metric.apply(move.U), omega * move.c)
                square = _dot(move, Point(new.U - y.U, new.c - y.c))
            else:
                square = _dot(move, move)
            needed = float(np.sum(kappa * (f_new - f_y) ** 2))
            if needed <= L * square + largest * (noise * np.linalg.norm(f_new)) ** 2:
                break
            L = max(GROW * L, min(needed / square, 2 * L)) if 0 < square < np.inf > needed else 2 * L
        else:
            return False
        ahead = Point(new.U - z.U, new.c - z.c)
        t = 1.0 if _dot(move, ahead) < 0 else self.t  # the step points against the momentum
        self.t = (1 + float(np.sqrt(1 + 4 * t * t))) / 2
        m = (t - 1) / self.t
        self.y = Point(
            np.add(np.multiply(ahead.U, dtype.type(m), out=ahead.U), new.U, out=ahead.U), new.c + m * ahead.c
        )
        self.f_y = f_new + m * (f_new - self.f)
        self.point, self.f, self.L = new, f_new, L
        return True

    def estimate(self, problem: GatedProblem) -> float:
        """Relative gap of the iterate against the bound from the last gradient, without a product; not proved."""
        if self.slope is None or not isinstance(problem.penalty, GroupL2):
            return np.inf
        f, gradient = self.slope
        size = problem.n * problem.penalty.dual_norm(gradient)
        theta = problem.datafit.residual(f)
        bound = dual_bound(
            problem.datafit, theta, problem.map.Q, lambda _: size, problem.n * problem.beta, problem.reach
        )
        return problem.relative_gap(problem.objective(self.point, self.f), bound.value)


def _dot(a: Point, b: Point) -> float:
    """Inner product."""
    return float(np.vdot(a.U, b.U) + np.vdot(a.c, b.c))


def _single_pays(problem: GatedProblem) -> bool:
    """Whether the early iterations should be in single precision: float32 data, or products that take longest."""
    rows, y = problem.map.rows, problem.datafit.y
    if rows.dtype == np.float32:
        return True
    entries = rows.data if issparse(rows) else rows
    sizes = [float(max(a.max(initial=0.0), -a.min(initial=0.0))) for a in (entries, y)]
    sound = all(1 / _RANGE < size < _RANGE for size in sizes)
    return sound and rows.size * problem.map.n_patterns * problem.outputs >= _SINGLE_PAYS


def rounded(history: list[HistoryRow]) -> bool:
    """Whether single precision is used up: the gap is near rounding, or two checks in a row did not lower it."""
    gaps = [row.relative_gap for row in history]
    return gaps[-1] <= _SINGLE or (len(gaps) > 2 and gaps[-1] > _STALLED * gaps[-3])
