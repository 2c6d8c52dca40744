"""From shards and gates to a gated network with its certificate."""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.networks import without_feature
from clifford_rand_nn.problems.gated import Coefficients, GatedProblem, Point
from clifford_rand_nn.problems.maps import GatedMap
from clifford_rand_nn.row_sums.engine import Need
from clifford_rand_nn.row_sums.sums import BLOCK_ROWS
from clifford_rand_nn.shards.gated.passes import block_rows
from clifford_rand_nn.shards.gated.problem import ShardedProblem
from clifford_rand_nn.shards.gated.steps import ShardedFista, State
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.solvers.base import Limits, Result, Status
from clifford_rand_nn.solvers.fista import Fista

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
    coefficients = _coefficients(network.U, network.t)
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
    return Trained(without_feature(result.ended(status), feature), proved.scale, None if early else last)


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
        self._Y = self._rotated(np.float64 if self._exact else np.float32)
        self._single = [] if self._exact else [self._Y]


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


def _coefficients(U: Array, t: Array) -> Coefficients:
    coef = np.ascontiguousarray(U.transpose(2, 1, 0))
    return Coefficients(coef, np.zeros(coef.shape[:2]), t.copy())


def needed(shards: Shards, rows: int, gates: int, outputs: int) -> Need:
    """Return the bytes of a fit with a sample of so many rows."""
    width, size = shards.d + 1, shards.dtype.itemsize
    network = 8.0 * width * gates * outputs
    numbers = 8.0 * (3 * gates * outputs + 10 * outputs)  # of a row: products with the gates, targets and losses
    sample = min(rows, shards.n) * (width * (size + 2 * max(4, size) + _GATED) + numbers)
    return Need(
        always=sample + network * (_STATES + _LEVELS),
        sums=_WAITING * network,
        row=width * (size + 8.0) + numbers,
        rows=max(BLOCK_ROWS, block_rows(width + gates * outputs)),
    )
