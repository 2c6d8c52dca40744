r"""The problem of functions in the span of landmarks: its values by sums over the rows, and steps to its solution."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.landmark_span import LandmarkSpan
from clifford_rand_nn.problems.duality import gap_share
from clifford_rand_nn.row_sums.engine import Engine
from clifford_rand_nn.row_sums.targets import Targets
from clifford_rand_nn.shards.landmarks.steps import Solved, Steps
from clifford_rand_nn.shards.landmarks.terms import LandmarkRows, ResidualSum
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Status

_IDLE = 10  # steps that lower the gap no more: rounding is all that is left
_INSIDE = 0.9  # of the tolerance, by the sums of steps, before a pass judges
_LESS = 0.5  # of the gap before, or rounding is all that is left


class Judged(NamedTuple):
    r"""A function's objective and a bound of the least one, in the scale of a mean row.

    Attributes
    ----------
    primal, dual : float
    intercept : (C,)
    scale : (C,)
        The dual point of row i is :math:`\theta_i=s\,\omega_i(y_i-f(x_i)-t)`.
    left : (m, C)
        :math:`V^T\Omega r-\rho u`, what is left of the normal equations.
    """

    primal: float
    dual: float
    intercept: Array
    scale: Array
    left: Array


class Residuals(NamedTuple):
    r"""Of residuals r less their mean :math:`\bar r` (C,): :math:`W=\sum_i\omega_i` and, for each output (C,), sums.

    Attributes
    ----------
    weight : float
        W.
    mean : (C,)
    along, squares : (C,)
        :math:`\sum_i\omega_ir_iy_i`, :math:`\sum_i\omega_ir_i^2`.
    seen : (m, C)
        :math:`V^T\Omega r`.
    size : (C,)
        At least :math:`\sum_i\omega_i\sqrt{K(x_i,x_i)}|r_i|`, and as much as the sums are of that make ``seen``.
    """

    weight: float
    mean: Array
    along: Array
    squares: Array
    seen: Array
    size: Array

    @classmethod
    def of(cls, back: Array, ones: Array, moments: Array) -> "Residuals":
        """Return them from the sums of `ResidualSum` with r and 1, whitened, and its moments."""
        weights, diagonal, y, _, left, squares, along = moments
        W = float(weights[0])
        mean = left / W
        size = np.sqrt(diagonal) * (np.sqrt(squares) + np.sqrt(W) * np.abs(mean))
        centered = np.maximum(squares - W * mean**2, 0.0)
        return cls(W, mean, along - mean * y, centered, back - np.outer(ones, mean), size)

    def bound(self, beta: float, span: LandmarkSpan | None, scale: Array | None = None) -> tuple[float, Array]:
        r"""Return a lower bound of the least objective in the span, and s (C,), the best one if it is not given.

        .. math:: D = \frac1W\sum_cs_c\sum_i\omega_ir_{ic}y_{ic}-\frac{s_c^2}2\Big(\sum_i\omega_ir_{ic}^2
                      +\frac1{W\beta}||(V^T\Omega r)_c||^2\Big),

        the dual value of :math:`\theta_i=s\,\omega_ir_i`, whose sum is 0. With a span, what rounding may take from the
        last square is added to it; else the value is only an estimate.
        """
        square = (self.seen**2).sum(axis=0)
        if span is not None:
            square += span.rounding_of_form(self.seen, self.size)
        across = self.squares + square / (self.weight * beta)
        if scale is None:
            scale = np.divide(self.along, across, out=np.zeros_like(across), where=across > 0)
        return float((scale * self.along - 0.5 * scale**2 * across).sum()) / self.weight, scale


def judge(u: Array, back: Array, ones: Array, moments: Array, beta: float, span: LandmarkSpan | None) -> Judged:
    r"""Judge u by the sums of `ResidualSum`, whitened, with its best intercept; for ``span`` see `Residuals.bound`.

    .. math:: P = \frac1{2W}\sum_i\omega_i||r_i||^2+\frac\beta2||u||^2
    """
    found = Residuals.of(back, ones, moments)
    dual, scale = found.bound(beta, span)
    primal = 0.5 * float(found.squares.sum()) / found.weight + 0.5 * beta * float((u**2).sum())
    return Judged(primal, dual, found.mean, scale, found.seen - found.weight * beta * u)


class State(NamedTuple):
    r"""Between two passes: all that the steps from here depend on.

    Attributes
    ----------
    judging : bool
        Whether the next pass judges u, or takes a step.
    u, back, step : (m, C)
        Where the steps are, :math:`V^T\Omega(y-Vu)`, and the direction of the next one.
    t : (C,)
        The intercept of u, near the best one.
    sides, moments : (m, C + 1), (7, C)
        Of `ResidualSum`, whitened; the first four moments are of the rows alone.
    along : (C,)
        Of conjugate gradients.
    n_iter, at : int
        Steps taken, and where the gap that they promise was the least.
    least : float
        That gap.
    best : Solved or None
    history : tuple of HistoryRow
    ended : str
        The status, if there is nothing left to do but for other limits.
    """

    judging: bool
    u: Array
    t: Array
    back: Array
    step: Array
    sides: Array
    moments: Array
    along: Array
    n_iter: int = 0
    at: int = 0
    least: float = np.inf
    best: Solved | None = None
    history: tuple[HistoryRow, ...] = ()
    ended: str = ""

    @classmethod
    def at_first(cls, u: Array, t: Array) -> "State":
        """Return the state that begins with u and t."""
        nothing = np.zeros((0, 0))
        return cls(True, u, t, nothing, nothing, nothing, nothing, nothing)


class SpanSteps(Steps[State]):
    r"""Conjugate gradients on the normal equations, in double precision, a pass over the rows for each step.

    Between passes that judge, values come from the sums of the steps.

    Parameters
    ----------
    engine : Engine
    rows : LandmarkRows
        In double precision.
    span : LandmarkSpan
    targets : Targets
    centre_y : (C,)
        Near the mean of y: moments are about it.
    beta : float
    inverse : callable
        That of :math:`V^T\Omega V+\rho I`, V centered, as near as the sums of normal equations come to it.
    """

    def __init__(
        self,
        engine: Engine,
        rows: LandmarkRows,
        span: LandmarkSpan,
        targets: Targets,
        centre_y: Array,
        beta: float,
        inverse: Callable[[Array], Array],
    ) -> None:
        super().__init__(engine)
        self._rows, self._span, self._targets = rows, span, targets
        self._centre_y, self._beta, self._inverse = centre_y, beta, inverse

    def _pass(self, u: Array, t: Array | None) -> Any:
        a = self._span.coefficients(u)
        return self._engine.sum(ResidualSum(self._rows, self._targets, self._centre_y, a, t))

    def _judged(self, state: State, limits: Limits, began: float) -> tuple[State, Status | None]:
        """Judge u by a pass of its own; then the first step goes along what is left."""
        u = state.u
        back, sides, moments = self._pass(u, state.t)
        back, sides = self._span.whitened(back), self._span.whitened(sides)
        judged = judge(u, back, sides[:, -1], moments, self._beta, self._span)
        t = state.t + judged.intercept
        gap = gap_share(judged.primal, judged.dual, constant_value(moments))
        before, best = state.best, state.best
        if best is None or gap <= best.gap:
            best = Solved(u, t + self._centre_y, judged.scale, judged.primal, judged.dual, gap)
        row = HistoryRow(state.n_iter, time.perf_counter() - began, best.primal, best.gap)
        status = None
        if best.gap <= limits.tol:
            status = Status.OPTIMAL
        elif not np.isfinite(judged.primal):
            status = Status.NOT_FINITE
        elif self._late(limits, began):
            status = Status.MAX_TIME
        elif state.n_iter >= limits.max_iter:
            status = Status.MAX_ITER
        elif before is not None and gap > _LESS * before.gap:
            status = Status.STALLED
        step = self._inverse(judged.left)
        along = np.einsum("mc,mc->c", judged.left, step)
        kept = (state.n_iter, state.n_iter, np.inf, best, (*state.history, row))
        back = back + np.outer(sides[:, -1], state.t)
        return State(False, u, t, back, step, sides, moments, along, *kept), status

    def _stepped(self, state: State, limits: Limits, began: float) -> State:
        """Take a step; let u be judged if it seems to be enough, or if none helps."""
        step, ones, along = state.step, state.sides[:, -1], state.along
        weight = float(state.moments[0, 0])
        curved = self._span.whitened(self._pass(step, None)[0])
        centered = curved - np.outer(ones, ones @ step) / weight + weight * self._beta * step
        across = np.einsum("mc,mc->c", step, centered)
        length = np.divide(along, across, out=np.zeros_like(along), where=across > 0)
        u, back = state.u + length * step, state.back - length * curved
        moments = _moments(u, back, state.sides, state.moments)
        judged = judge(u, back, ones, moments, self._beta, None)
        n_iter = state.n_iter + 1
        gap = gap_share(judged.primal, judged.dual, constant_value(moments))
        least, at = (gap, n_iter) if gap < state.least else (state.least, state.at)
        enough = gap <= _INSIDE * limits.tol or n_iter >= limits.max_iter or n_iter - at >= _IDLE
        z = self._inverse(judged.left)
        new = np.einsum("mc,mc->c", judged.left, z)
        step = z + step * np.divide(new, along, out=np.zeros_like(new), where=along > 0)
        judging = enough or self._late(limits, began)
        kept = (n_iter, at, least, state.best, state.history)
        return State(judging, u, judged.intercept, back, step, state.sides, moments, new, *kept)


def _moments(u: Array, back: Array, sides: Array, before: Array) -> Array:
    """Return the moments of u from inner products of order m."""
    ones, by_y = sides[:, -1], sides[:, :-1]
    _, _, y, yy = before[:4]
    with_y, with_r = np.einsum("mc,mc->c", u, by_y), np.einsum("mc,mc->c", u, back)
    return np.stack([*before[:4], y - ones @ u, np.maximum(yy - with_y - with_r, 0.0), yy - with_y])


def constant_value(moments: Array) -> float:
    """Return the objective of the best constant."""
    weights, _, y, squares = moments[:4]
    return 0.5 * float((squares - y**2 / weights).sum()) / float(weights[0])
