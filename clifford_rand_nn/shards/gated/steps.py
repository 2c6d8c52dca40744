"""Accelerated proximal steps on sums over shards: FISTA with restart, a pass each, their length tested on a sample."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.problems.gated import Point
from clifford_rand_nn.problems.penalties import GateMetric
from clifford_rand_nn.shards.gated.problem import BALANCED, NEARLY, Evaluated, ShardedProblem
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Status
from clifford_rand_nn.solvers.fista import Iterate

_SINGLE = 1e-4  # gap at which single precision ends
_WORSE = 2.0  # objective, in units of the best, from which a step counts as gone wrong
_WAIT, _PATIENCE = 4, 5  # steps after a proof that failed before the next: 4, or a fifth of those that there were


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
