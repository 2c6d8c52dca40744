"""FISTA with adaptive restart and adaptive step, stopped by the relative duality gap."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from clifford_rand._checks import check_choice, check_integer, describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn.problems.gated import Coefficients, GatedProblem, GatedReLUProblem, Point
from clifford_rand_nn.problems.penalties import GateMetric, GroupL2, Ridge
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Result, Status
from clifford_rand_nn.solvers.stopping import Watch, handed_over

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

    ``check_every``: least number of iterations between two checks of the gap; late checks are a tenth of the
    iterations apart. ``precision`` {"auto", "single", "double"}: of the iterations; objectives and bounds are
    always in double precision. "auto" begins in single precision if the data are in float32 or large, and changes
    to double at a gap of 1e-4, or where rounding stops progress. "single" stays and may never reach a small tol.

    References
    ----------
    Beck, Teboulle, "A fast iterative shrinkage-thresholding algorithm", SIAM J. Imaging Sci. 2 (2009), eqs. 4.1-4.3;
    O'Donoghue, Candès, "Adaptive restart for accelerated gradient schemes", Found. Comput. Math. 15 (2015), eq. 13.

    Examples
    --------
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
        loss = problem.datafit.loss
        if not loss.has_bounded_curvature:
            rule = "of a loss whose curvature is bounded"
            raise fail("problem", "Fista.solve", rule, describe(f"loss={loss.name!r}"), "Use solver='auto'.")
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
        norms = isinstance(problem.penalty, GroupL2)
        work = problem.map.rows.size * problem.map.n_patterns * problem.outputs
        metric = problem.map.metric if norms and work >= _METRIC_PAYS else None
        state = _State.at(z, f, np.float32 if single else np.float64, problem.lipschitz(), metric)
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
                z, f = state.iterate.point, state.f
                if single:  # a gap is proved in double precision
                    z = Point(z.U.astype(np.float64), z.c)
                    f = problem.predictions(z)
                watch.check(k, problem.objective(z, f), problem.dual_bound(f), z, f)
                if single and self.precision == "auto" and (rounded(watch.history) or not finite):
                    single, state = False, state.in_double(z, f)
                elif not finite and watch.status is None:
                    watch.stop(Status.NOT_FINITE)


class Iterate(NamedTuple):
    """A point of accelerated proximal steps, with the extrapolated point y, where the next one begins."""

    point: Point
    y: Point
    L: float  # Lipschitz constant of the gradient, an estimate
    t: float = 1.0
    multiplier: Array | None = None  # of the last prox in a metric
    momentum: float = 0.0  # share of the last move that leads from the point to y

    def step(
        self,
        gradient: Point,  # at y
        penalty: GroupL2 | Ridge,
        metric: GateMetric | None,
        rise: Callable[[Point, Point], tuple[float, float]],
    ) -> "Iterate | None":
        r"""Return the iterate after a proximal step, restart or momentum; None if none is finite.

        The step from y, :math:`z^+=\mathrm{prox}(y-M^{-1}\nabla/L)`, is shortened until its move Δ has
        :math:`\kappa||K\Delta||^2/n\le L\,\Delta^TM\Delta`, M the metric or the identity. The next y is
        :math:`z^++\frac{t-1}{t^+}(z^+-z)`, :math:`t^+=(1+\sqrt{1+4t^2})/2`, with t = 1 where
        :math:`\Delta^TM(z^+-z)<0`: the step points against the momentum.

        ``rise``: of the new point and the move: twice what the loss rises above its tangent at most, and what of it is
        round-off.
        """
        z, y, L, multiplier = self.point, self.y, RELAX * self.L, self.multiplier
        dtype = y.U.dtype
        omega = 1.0 if metric is None else metric.omega
        direction = gradient.U if metric is None else metric.solve(gradient.U)
        for _ in range(_TRIALS):
            U = direction * dtype.type(-1 / L)
            U += y.U
            if metric is None:
                U = penalty.prox(U, 1 / L, out=U)
            else:
                assert isinstance(penalty, GroupL2)  # the metric is taken for no other
                U, multiplier = metric.prox(penalty, U, 1 / L, multiplier)
            new = Point(U, y.c - gradient.c / (L * omega))
            move = plain = Point(new.U - y.U, new.c - y.c)
            if metric is not None:
                move = Point(metric.apply(plain.U), omega * plain.c)
            square = _dot(move, plain)
            needed, noise = rise(new, plain)
            if needed <= L * square + noise:
                break
            L = max(GROW * L, min(needed / square, 2 * L)) if 0 < square < np.inf > needed else 2 * L
        else:
            return None
        ahead = Point(new.U - z.U, new.c - z.c)
        t = 1.0 if _dot(move, ahead) < 0 else self.t
        longer = (1 + float(np.sqrt(1 + 4 * t * t))) / 2
        m = (t - 1) / longer
        extrapolated = np.add(np.multiply(ahead.U, dtype.type(m), out=ahead.U), new.U, out=ahead.U)
        return Iterate(new, Point(extrapolated, new.c + m * ahead.c), L, longer, multiplier, m)


@dataclass
class _State:
    """Iterate with the predictions of its point and of y; U in one precision."""

    iterate: Iterate
    f: Array
    f_y: Array
    metric: GateMetric | None = None
    slope: tuple[Array, NDArray[Any]] | None = None  # predictions and gradient in U that the last step began from

    @classmethod
    def at(cls, z: Point, f: Array, dtype: Any, L: float, metric: GateMetric | None = None) -> "_State":
        z = Point(z.U.astype(dtype, copy=False), z.c)
        return cls(Iterate(z, z, L if metric is None else L / metric.omega), f, f, metric)

    def in_double(self, z: Point, f: Array) -> "_State":
        """Return the state at a point in double precision, with the same step."""
        z = Point(z.U.astype(np.float64, copy=False), z.c)
        return _State(self.iterate._replace(point=z, y=z, t=1.0), f, f, self.metric)

    def step(self, problem: GatedProblem) -> bool:
        """One iteration: a gradient and a proximal step short enough; False if none is finite."""
        f_y, datafit, n = self.f_y, problem.datafit, problem.n
        dtype = self.iterate.y.U.dtype
        kappa, largest = datafit.row_curvature / n, datafit.curvature / n
        round_off = NOISE * np.finfo(dtype).eps
        gradient = Point(*problem.map.adjoint((datafit.residual(f_y) / -n).astype(dtype, copy=False)))
        self.slope = f_y, gradient.U
        if not np.isfinite(gradient.U).all():
            return False
        f_new = f_y

        def rise(new: Point, _: Point) -> tuple[float, float]:
            nonlocal f_new
            f_new = problem.map.forward(new.U, new.c).astype(np.float64, copy=False)
            noise = largest * float(round_off * np.linalg.norm(f_new)) ** 2
            return float(np.sum(kappa * (f_new - f_y) ** 2)), noise

        following = self.iterate.step(gradient, problem.penalty, self.metric, rise)
        if following is None:
            return False
        self.f_y = f_new + following.momentum * (f_new - self.f)
        self.iterate, self.f = following, f_new
        return True

    def estimate(self, problem: GatedProblem) -> float:
        """Relative gap of the iterate against the bound from the last gradient, without a product; not proved."""
        if self.slope is None or not isinstance(problem, GatedReLUProblem):
            return np.inf
        f, gradient = self.slope
        size = problem.n * problem.penalty.dual_norm(gradient)
        theta = problem.datafit.residual(f)
        bound = problem.bound_at(theta, lambda _: size)
        return problem.relative_gap(problem.objective(self.iterate.point, self.f), bound.value)


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
