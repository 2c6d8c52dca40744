r"""The problem of functions in the span of landmarks: its values by sums over the rows, and steps to its solution."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import DualBound, gap_share
from clifford_rand_nn.shards.engines.base import Engine
from clifford_rand_nn.shards.landmarks.normal import Span
from clifford_rand_nn.shards.landmarks.targets import Targets
from clifford_rand_nn.shards.landmarks.terms import LandmarkRows, ResidualSum
from clifford_rand_nn.solvers.base import Limits, Status
from clifford_rand_nn.solvers.watch import Watch

_IDLE = 10  # steps that lower the gap no more: rounding is all that is left


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


class Point(NamedTuple):
    r"""Where the steps are: u, :math:`V^T\\Omega Vu`, and the moments of its residuals, (6, C)."""

    u: Array
    back: Array
    moments: Array


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
    """

    weight: float
    mean: Array
    along: Array
    squares: Array
    seen: Array

    @classmethod
    def of(cls, back: Array, sides: Array, moments: Array) -> "Residuals":
        """Return them from the sums of `ResidualSum`, whitened."""
        weights, y, _, left, squares, along = moments
        W = float(weights[0])
        mean = left / W
        seen = sides[:, :-1] - back - np.outer(sides[:, -1], mean)
        return cls(W, mean, along - mean * y, np.maximum(squares - W * mean**2, 0.0), seen)

    def bound(self, beta: float, scale: Array | None = None) -> tuple[float, Array]:
        r"""Return a lower bound of the least objective in the span, and s (C,), the best one if it is not given.

        .. math:: D = \frac1W\sum_cs_c\sum_i\omega_ir_{ic}y_{ic}-\frac{s_c^2}2\Big(\sum_i\omega_ir_{ic}^2
                      +\frac1{W\beta}||(V^T\Omega r)_c||^2\Big),

        the dual value of :math:`\theta_i=s\,\omega_ir_i`, whose sum is 0.
        """
        across = self.squares + (self.seen**2).sum(axis=0) / (self.weight * beta)
        if scale is None:
            scale = np.divide(self.along, across, out=np.zeros_like(across), where=across > 0)
        return float((scale * self.along - 0.5 * scale**2 * across).sum()) / self.weight, scale


def judge(u: Array, back: Array, sides: Array, moments: Array, beta: float) -> Judged:
    r"""Judge u by the sums of `ResidualSum`, whitened, with its best intercept.

    .. math:: P = \frac1{2W}\sum_i\omega_i||r_i||^2+\frac\beta2||u||^2
    """
    found = Residuals.of(back, sides, moments)
    dual, scale = found.bound(beta)
    primal = 0.5 * float(found.squares.sum()) / found.weight + 0.5 * beta * float((u**2).sum())
    return Judged(primal, dual, found.mean, scale, found.seen - found.weight * beta * u)


class Solved(NamedTuple):
    """The best function that a pass over the rows judged."""

    u: Array
    intercept: Array
    scale: Array


class SpanSteps:
    """Conjugate gradients on the normal equations, in double precision, a pass over the rows for each step.

    Parameters
    ----------
    engine : Engine
    rows : LandmarkRows
        In double precision.
    span : Span
    targets : Targets
    centre_y : (C,)
        Near the mean of y: moments are about it.
    beta : float
    """

    def __init__(
        self, engine: Engine, rows: LandmarkRows, span: Span, targets: Targets, centre_y: Array, beta: float
    ) -> None:
        self._engine, self._rows, self._span, self._targets = engine, rows, span, targets
        self._centre_y, self._beta = centre_y, beta
        self._sides = np.zeros((0, 0))

    def _pass(self, u: Array, sides: bool) -> Any:
        a = self._span.coefficients(u)
        return self._engine.sum(ResidualSum(self._rows, self._targets, self._centre_y, a, sides))

    def _judged(self, u: Array) -> tuple[Point, Judged]:
        """Judge u by a pass of its own."""
        back, sides, moments = self._pass(u, True)
        self._sides = self._span.whitened(sides)
        point = Point(u, self._span.whitened(back), moments)
        return point, judge(*point[:2], self._sides, moments, self._beta)

    def solve(
        self,
        u: Array,
        inverse: Callable[[Array], Array],
        limits: Limits,
        began: float,
        keep: Callable[[Array], None] = lambda u: None,
    ) -> Watch[Solved]:
        r"""Go from u until the gap, as a pass over the rows measures it, is below the tolerance.

        Between these passes values come from the sums of the steps. ``inverse`` is one of
        :math:`V^T\Omega V+\rho I`, V centred, as near as the sums of normal equations come to it. ``keep`` is called
        with u after each pass.
        """
        zero = [0.0]
        watch: Watch[Solved] = Watch(limits, lambda p, d: gap_share(p, d, zero[0]), began=began)
        with watch:
            point, judged = self._judged(u)
            zero[0] = constant_value(point.moments)
            self._check(watch, 0, point, judged)
            keep(u)
            while watch.status is None:
                before = watch.gap
                u, done = self._steps(point, judged, inverse, limits, watch, keep)
                point, judged = self._judged(u)
                self._check(watch, done, point, judged)
                if watch.status is None and watch.gap > 0.5 * before:
                    watch.stop(Status.STALLED)
        return watch

    def _steps(
        self,
        point: Point,
        judged: Judged,
        inverse: Callable[[Array], Array],
        limits: Limits,
        watch: Watch[Solved],
        keep: Callable[[Array], None],
    ) -> tuple[Array, int]:
        """Return u after steps until they seem to be enough, or none helps, and how many there have been."""
        start, done = point, watch.n_iter
        weight = float(point.moments[0, 0])
        z = inverse(judged.left)
        step, along = z, np.einsum("mc,mc->c", judged.left, z)
        best, at, bound = np.inf, done, judged.dual
        while True:
            curved = self._span.whitened(self._pass(step, False)[0])
            ones = self._sides[:, -1]
            centred = curved - np.outer(ones, ones @ step) / weight + weight * self._beta * step
            across = np.einsum("mc,mc->c", step, centred)
            length = np.divide(along, across, out=np.zeros_like(along), where=across > 0)
            u, back = point.u + length * step, point.back + length * curved
            point = Point(u, back, self._moments(u, back, start.moments))
            judged = judge(u, back, self._sides, point.moments, self._beta)
            bound, done = max(bound, judged.dual), done + 1
            keep(u)
            gap = gap_share(judged.primal, bound, constant_value(point.moments))
            if gap < best:
                best, at = gap, done
            if gap <= 0.9 * limits.tol or watch.last(done) or done - at >= _IDLE:
                return u, done
            z = inverse(judged.left)
            new = np.einsum("mc,mc->c", judged.left, z)
            step = z + step * np.divide(new, along, out=np.zeros_like(new), where=along > 0)
            along = new

    def _moments(self, u: Array, back: Array, first: Array) -> Array:
        """Return the moments of u from inner products of order m."""
        ones, by_y = self._sides[:, -1], self._sides[:, :-1]
        weights, y, yy = first[:3]
        with_y = np.einsum("mc,mc->c", u, by_y)
        norm = np.einsum("mc,mc->c", u, back)
        return np.stack([weights, y, yy, y - ones @ u, np.maximum(yy - 2 * with_y + norm, 0.0), yy - with_y])

    def _check(self, watch: Watch[Solved], n_iter: int, point: Point, judged: Judged) -> None:
        solved = Solved(point.u, judged.intercept + self._centre_y, judged.scale)
        watch.check(n_iter, judged.primal, DualBound(judged.dual, judged.scale), solved, np.zeros(0))


def constant_value(moments: Array) -> float:
    """Return the objective of the best constant."""
    weights, y, squares = moments[:3]
    return 0.5 * float((squares - y**2 / weights).sum()) / float(weights[0])
