"""Gated networks on shards, with their certificates: accelerated proximal steps, a pass over all rows each."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.networks import without_feature
from clifford_rand_nn.problems.gated import Coefficients, GatedProblem, Point
from clifford_rand_nn.problems.maps import GatedMap
from clifford_rand_nn.problems.penalties import GateMetric
from clifford_rand_nn.row_sums import BLOCK_ROWS, Need
from clifford_rand_nn.shards.certificate import BALANCED, NEARLY, Evaluated, ShardedProblem
from clifford_rand_nn.shards.gated_passes import block_rows
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Result, Status, with_status
from clifford_rand_nn.solvers.fista import Fista, Iterate

_SINGLE = 1e-4  # gap at which single precision ends
_WORSE = 2.0  # objective, in units of the best, from which a step counts as gone wrong
_WAIT, _PATIENCE = 4, 5  # steps after a proof that failed before the next: 4, or a fifth of those that there were
# Rows of the sample for each coefficient, from which its optimum is where all rows go on from; of fewer it fits chance,
# and no gates are the better start. Steps from it and from none, logistic, gaps of 1e-2 and 1e-3, at 16 rows: 9 and 13,
# 19 and 25, 36 and 46, 43 and 49; at 8: 8 and 9, 18 and 12, 19 and 23, 20 and 24; at 3: 22 and 19, 33 and 38, 85 and
# 56, 113 and 61, 20 and 12, 21 and 17; at 1: 30 and 18, 37 and 23, 75 and 45.
_ROWS_A_COEFFICIENT = 8
# Times the tolerance, to which the sample is solved for a start: ten problems took the same number of steps, give or
# take one, from 3, 10 and 30.
_WARM = 10.0
_LEAST_WARM = 1e-3
_GATED = 36.0  # bytes for a number of the sample while gates are drawn and the map is made, beside three copies of it
_STATES = 16  # arrays of the size of the network: the solver's, and those of the start on the sample
_LEVELS = 12  # of the tree of sums that wait: of 4096 parts, and of the fewer ones of a plan's trial
_WAITING = 3  # sums of a worker: of its part, of a block, and those that wait to be added


class State(NamedTuple):
    """All that the next step depends on: with it a run goes on bit for bit."""

    z: Point
    y: Point
    L: float
    t: float
    multiplier: Array | None
    scale: float
    steps: int
    best: float
    next_proof: int
    gap: float
    seconds: float
    history: tuple[HistoryRow, ...] = ()


class Found(NamedTuple):
    """A point and what a pass in double precision proves of it."""

    point: Point
    objective: float
    dual: float
    scale: float
    gap: float


class ShardedFista:
    """See `Fista`; here values are sums over shards, and a point is judged where its gradient is taken.

    ``save``: called with a `State` after every step.
    """

    def __init__(self, problem: ShardedProblem, limits: Limits, save: Callable[[State], object]) -> None:
        self._problem, self._limits, self._save = problem, limits, save
        self._metric: GateMetric | None = problem.sample.map.metric if problem.norms else None
        self._began = time.perf_counter()

    def start(self, z: Point) -> State:
        """Return the state that a run begins with at a point."""
        problem = self._problem.sample
        L = problem.lipschitz() / (1.0 if self._metric is None else self._metric.omega)
        return State(z, z, L, 1.0, None, 1.0, 0, np.inf, 0, np.inf, 0.0)

    def run(self, state: State, interrupted: bool = False) -> tuple[Found, Status, State]:
        """Step until a gap is proved, or a limit ends the run; prove that of where it is after Ctrl-C."""
        status = Status.INTERRUPTED if interrupted else None
        before = state.seconds
        while status is None:
            try:
                if state.gap <= self._limits.tol and state.steps >= state.next_proof:
                    proved = self.prove(state)
                    if proved.gap <= self._limits.tol:
                        return proved, Status.OPTIMAL, state
                    state = state._replace(next_proof=state.steps + max(_WAIT, state.steps // _PATIENCE))
                status = self._ended(state)
                if status is None:
                    judged = self._problem.judge(state.y, state.scale, single=state.gap > _SINGLE)
                    state = self._stepped(state, judged, before + time.perf_counter() - self._began)
                    self._save(state)
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
        proved = self.prove(state)
        reached = proved.gap <= self._limits.tol and status is not Status.INTERRUPTED
        return proved, Status.OPTIMAL if reached else status, state

    def _ended(self, state: State) -> Status | None:
        if not np.isfinite(state.z.U).all():
            return Status.NOT_FINITE
        limit = self._limits.max_time
        if limit is not None and self._problem.engine.agreed(time.perf_counter() - self._began >= limit):
            return Status.MAX_TIME
        return Status.MAX_ITER if state.steps >= self._limits.max_iter else None

    def _stepped(self, state: State, judged: Evaluated, seconds: float) -> State:
        # of unbalanced residuals the estimate may be above the objective, and is off by as much at least
        gap = self._problem.gap(judged.objective, judged.objective - abs(judged.objective - judged.estimate))
        row = HistoryRow(state.steps + 1, seconds, judged.objective, gap)
        if self._limits.callback is not None:
            self._limits.callback(row)
        best = min(state.best, judged.objective)
        state = state._replace(scale=judged.scale, best=best, steps=row.n_iter, seconds=seconds, gap=gap)
        state = state._replace(history=(*state.history, row))
        if judged.objective > _WORSE * best:  # steps are too long for rows beyond the sample
            return state._replace(y=state.z, L=2 * state.L, t=1.0)
        return self._step(state, judged.slope)

    def prove(self, state: State) -> Found:
        """Judge the proximal point in double precision, with its best intercept."""
        problem = self._problem
        network = problem.network(state.z)
        scales = np.minimum(state.scale * np.array([0.9, 0.97, 0.99, 0.997, 1.0, 1.003, 1.01, 1.03]), 1.0)
        for near in (NEARLY, BALANCED):
            network = network._replace(t=problem.balanced(network, near))
            z = problem.with_intercept(state.z, network.t)
            judged = problem.judged(network, z, scales, single=False)
            if judged.dual > 0:  # the residuals are balanced, as they nearly always are at once
                break
        return Found(z, judged.objective, judged.dual, judged.scale, problem.gap(judged.objective, judged.dual))

    def _step(self, state: State, slope: Point) -> State:
        iterate = Iterate(state.z, state.y, state.L, state.t, state.multiplier)
        following = iterate.step(slope, self._problem.sample.penalty, self._metric, self._rise)
        if following is None:
            return state._replace(z=Point(np.full_like(state.z.U, np.nan), state.z.c))
        z, y, L, t, multiplier, _ = following
        return state._replace(z=z, y=y, L=L, t=t, multiplier=multiplier)

    def _rise(self, _: Point, move: Point) -> tuple[float, float]:
        """Return a bound of twice what the mean loss rises above its tangent along a move, from the sample."""
        problem = self._problem.sample
        f = np.asarray(problem.map.forward(move.U.astype(np.float32), move.c), dtype=np.float64)
        return float(np.sum(problem.datafit.row_curvature * f**2)) / int(problem.datafit.y.shape[0]), 0.0


def state_of(saved: Any) -> State:
    """Return the state that a checkpoint has as plain tuples."""
    state = State(*saved)
    history = tuple(HistoryRow(*row) for row in state.history)
    return state._replace(z=Point(*state.z), y=Point(*state.y), history=history)


def moved(state: State) -> State:
    """Return the state from which another problem on the same gates begins."""
    return state._replace(y=state.z, t=1.0, steps=0, best=np.inf, next_proof=0, gap=np.inf, seconds=0.0, history=())


class Trained(NamedTuple):
    """A network, what is proved of it, the scale of its residual that proves it, and the state it came from."""

    result: Result[Coefficients]
    scale: float
    state: State | None  # none where an interrupt left another start


def train_gated(
    problem: ShardedProblem,
    limits: Limits,
    state: State | None = None,
    save: Callable[[State], object] = lambda _: None,
) -> Trained:
    """Train on all rows of an engine that keeps the `Patterns` of the gates, from a state or a start on the sample.

    ``max_iter`` of the limits counts steps, a pass each; ``save`` is called with the state after every one.
    """
    began, feature = time.perf_counter(), problem.feature
    null = problem.zero_network()
    steps = ShardedFista(problem, limits, save)
    point, early = (null, False) if state else _warm(problem, limits, null)
    proved, status, last = steps.run(state or steps.start(point), early)
    seconds = time.perf_counter() - began
    network = problem.network(proved.point)
    coef = np.ascontiguousarray(network.U.transpose(2, 1, 0))
    coefficients = Coefficients(coef, np.zeros(coef.shape[:2]), network.t.copy())
    nothing = np.zeros((0, network.U.shape[2]))
    result: Result[Coefficients] = Result(
        objective=proved.objective,
        duality_gap=max(proved.objective - proved.dual, 0.0),
        relative_gap=problem.gap(proved.objective, proved.dual),
        n_iter=last.steps,
        status=status,
        history=last.history,
        solver="shards",
        seconds=seconds,
        coefficients=coefficients,
        fitted=nothing,
        dual_point=nothing,
        reason=f"{problem.passes} passes over {problem.n} rows",
    )
    return Trained(without_feature(with_status(result, status), feature), proved.scale, None if early else last)


def on_all_columns(sample: GatedProblem) -> GatedProblem:
    """Make a problem of the sample know all directions: rows beyond it may vary where its own do not."""
    map_ = sample.map
    if map_.d < map_.basis.shape[0]:
        sample.map = _PlainMap(map_)
        sample.penalty = type(sample.penalty)(sample.penalty.beta, sample.map.weights)
    return sample


class _PlainMap(GatedMap):
    """The map in the columns as they are."""

    def __init__(self, source: GatedMap) -> None:
        shared = {
            name: value for name, value in vars(source).items() if name not in ("metric", "sigma", "basis", "weights")
        }
        self.__dict__.update(shared)
        d = source.basis.shape[0]
        self.basis, self.weights = np.eye(d), np.ones(d)
        self.rows = self._rotated(np.float64 if self.is_exact else np.float32)
        self.single_rows = [] if self.is_exact else [self.rows]


def _warm(problem: ShardedProblem, limits: Limits, null: Point) -> tuple[Point, bool]:
    """Return where all rows go on from, the optimum of the sample, about; and whether Ctrl-C ended its solver.

    A solver that memory ended has a point, too; but from there other bits would follow than from the sample's optimum.
    """
    if problem.sample.n < _ROWS_A_COEFFICIENT * null.U.size:
        return null, False
    tol = max(_LEAST_WARM, min(_WARM * limits.tol, 0.1))
    solved = Fista(tol=tol, max_iter=300).solve(problem.sample)
    if solved.status is Status.MAX_MEMORY:
        raise MemoryError
    point = problem.sample.point(solved.coefficients)
    return point if np.isfinite(point.U).all() else null, solved.interrupted


def needed(shards: Shards, rows: int, gates: int, outputs: int) -> Need:
    """Return the bytes of a fit with a sample of so many rows."""
    width, size = shards.n_features + 1, shards.dtype.itemsize
    network = 8.0 * width * gates * outputs
    numbers = 8.0 * (3 * gates * outputs + 10 * outputs)  # of a row: products with the gates, targets and losses
    sample = min(rows, shards.n_rows) * (width * (size + 2 * max(4, size) + _GATED) + numbers)
    return Need(
        always=sample + network * (_STATES + _LEVELS),
        sums=_WAITING * network,
        row=width * (size + 8.0) + numbers,
        rows=max(BLOCK_ROWS, block_rows(width + gates * outputs)),
    )
