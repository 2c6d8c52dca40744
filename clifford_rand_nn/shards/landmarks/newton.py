r"""Newton's method for the logistic loss and the softmax in the span of landmarks, a pass over the rows at a time.

.. math:: \min_{u,t}\ P(u,t)=\frac1W\sum_i\omega_i\ell(v_i\cdot u+t, y_i)+\frac\beta2||u||^2,\qquad W=\sum_i\omega_i

Every system is solved by conjugate gradients, whose preconditioner is that of one sum of normal equations.
"""

import time
from typing import NamedTuple

import numpy as np
from scipy.special import entr

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.landmark_span import LandmarkSpan
from clifford_rand_nn.problems.duality import gap_share
from clifford_rand_nn.row_sums.engine import Engine
from clifford_rand_nn.row_sums.targets import Targets
from clifford_rand_nn.shards.landmarks.logistic_terms import CurvatureSum, LossSum
from clifford_rand_nn.shards.landmarks.normal import Normal
from clifford_rand_nn.shards.landmarks.steps import Solved, Steps
from clifford_rand_nn.shards.landmarks.terms import LandmarkRows
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Status

_FORCING = 0.1, 0.01  # by which the gap that Newton's model leaves falls: where it is estimated, and proved
_INNER = 20  # steps of conjugate gradients for one of them, at most
_INSIDE = 0.5  # of the tolerance, by Newton's model: then a pass judges
_SINGULAR = 1e-12  # share of the largest eigenvalue of a Hessian by t: of a softmax it has one that is zero
_ROUNDING = 1e-13  # of an objective
# By which a step that leads up is cut at first, and then: steps are long where rows are sure, and wrong.
_SHORTER = 0.5, 0.2
_SHORTEST = 1e-9  # step, as a share of Newton's, that is still tried


class Judged(NamedTuple):
    r"""A function's objective, a bound of the least one and the objective of the best constant; W; the slopes of W·P.

    Attributes
    ----------
    primal, dual, zero, weight : float
    slope : (m, C)
        Minus the derivative by u, :math:`V^T\Omega\theta-W\beta u`.
    slope_t : (C,)
        That by t, :math:`\sum_i\omega_i\theta_i`.
    bend : (C, C)
        The second derivative by t.
    unbalanced : float
        The dual value as if that slope were zero; no bound.
    constant : (C,)
        The best constant, of all rows.
    """

    primal: float
    dual: float
    zero: float
    weight: float
    slope: Array
    slope_t: Array
    bend: Array
    unbalanced: float
    constant: Array


def judge(u: Array, back: Array, totals: Array, beta: float, span: LandmarkSpan, square: float | None = None) -> Judged:
    r"""Judge a function by the sums of `LossSum`, the first of them whitened.

    Residuals :math:`y_i-p_i` are a dual point if they add up to zero, and they do so only at the best intercept. Mixed
    with one distribution m for all rows, :math:`q_i=(1-\tau)p_i+\tau m`, they do, with the least τ for which m is one:

    .. math:: D=\frac1W\Big((1-\tau)\sum_i\omega_iH(p_i)+\tau WH(m)\Big)
                -\frac1{2\beta W^2}||V^T\Omega(y-q)||^2,

    a bound since the entropy H is concave. What rounding may take from the last square is added to it, with
    :math:`\sum_c|y_{ic}-p_{ic}|^2\le2\ell_i` and distributions no longer than 1. ``square`` is :math:`||u||^2`, where u
    is of another span.
    """
    C = u.shape[1]
    left, p, bend = totals[:C], totals[C : 2 * C], totals[2 * C : -4].reshape(C, C)
    weight, diagonal, value, entropy = totals[-4:]
    unbalanced = entropy / weight - float((back[:, :C] ** 2).sum()) / (2 * beta * weight**2)
    excess, mass = -left, p + left
    if C == 1:
        excess, mass = np.array([excess[0], -excess[0]]), np.array([mass[0], weight - mass[0]])
    short = excess > 0
    tau = 0.0
    m = np.zeros(C)
    if short.any():
        with np.errstate(divide="ignore"):
            ratio = float((excess[short] / np.maximum(mass[short], 0.0)).max())
        tau = ratio / (1 + ratio) if np.isfinite(ratio) else 1.0
        mixed = np.maximum(tau * mass - (1 - tau) * excess, 0.0)
        mixed /= mixed.sum()
        m, entropy = mixed[:C], (1 - tau) * entropy + tau * weight * float(entr(mixed).sum())
    theta = back[:, :C] + tau * (back[:, C:-1] - np.outer(back[:, -1], m))
    size = np.sqrt(diagonal) * (np.sqrt(2 * value) + 2 * tau * np.sqrt(weight))
    lost = span.rounding_of_forms(theta, float(size))
    dual = entropy / weight - (float((theta**2).sum()) + lost) / (2 * beta * weight**2)
    norm = float((u**2).sum()) if square is None else square
    return Judged(
        primal=float(value) / float(weight) + 0.5 * beta * norm,
        dual=max(float(dual), 0.0),
        zero=float(entr(mass / weight).sum()),
        weight=float(weight),
        slope=back[:, :C] - weight * beta * u,
        slope_t=left,
        bend=bend,
        unbalanced=float(unbalanced),
        constant=_log_odds(p + left, weight),
    )


def _log_odds(mass: Array, weight: float) -> Array:
    """Return the constant for classes of a mass, at least that of half a row of mean weight."""
    share = np.clip(mass, 0.5, None) / max(weight, 1.0)
    return np.log(share) if len(mass) > 1 else np.log(share / np.clip(1 - share, 0.5 / max(weight, 1.0), None))


class State(NamedTuple):
    """Between two passes: all that the steps from here depend on.

    Attributes
    ----------
    judging : bool
        Whether the next pass judges u + size·du, or makes a step of conjugate gradients at u.
    u, t : (m, C), (C,)
        The last point that was taken.
    primal : float
        Its objective; infinite before the first.
    du, dt
        The step from there, as far as it is known.
    size : float
        Of it, less as long as it leads up.
    left, left_t, along_u, along_t
        Residual and direction of conjugate gradients.
    along, first : float
        The first with the preconditioner's inverse, squared; the gap that Newton's model had at the start.
    bend : (C, C)
        The second derivative by t at the last point.
    inner, n_iter : int
        Steps of this system, and of all.
    best : Solved or None
    history : tuple of HistoryRow
    ended : str
        The status, if there is nothing left to do but for other limits.
    """

    judging: bool
    u: Array
    t: Array
    primal: float
    du: Array
    dt: Array
    size: float
    left: Array
    left_t: Array
    along_u: Array
    along_t: Array
    bend: Array
    along: float = 0.0
    first: float = 0.0
    inner: int = 0
    n_iter: int = 0
    best: Solved | None = None
    history: tuple[HistoryRow, ...] = ()
    ended: str = ""

    @classmethod
    def at_first(cls, u: Array, t: Array) -> "State":
        """Return the state that begins with a function."""
        zero, zero_t = np.zeros_like(u), np.zeros_like(t)
        return cls(True, u, t, np.inf, zero, zero_t, 1.0, zero, zero_t, zero, zero_t, np.diag(zero_t))


class NewtonSteps(Steps[State]):
    """See above.

    Parameters
    ----------
    engine : Engine
    rows : LandmarkRows
        In double precision.
    span : LandmarkSpan
    targets : Targets
    beta : float
    weight : float
        W.
    normal : Normal
        Of `WorkingSum`, near a solution: the preconditioner.
    proves : bool
        Whether the gap is that of the bound. It takes more steps than a gap that is only estimated: by what Newton's
        model says there is to win.
    """

    def __init__(
        self,
        engine: Engine,
        rows: LandmarkRows,
        span: LandmarkSpan,
        targets: Targets,
        beta: float,
        weight: float,
        normal: Normal,
        proves: bool = True,
    ) -> None:
        super().__init__(engine)
        self._proves = proves
        self._rows, self._span, self._targets = rows, span, targets
        self._beta, self._weight, self._normal = beta, weight, normal

    def _judged(self, state: State, limits: Limits, began: float) -> tuple[State, Status | None]:
        u, t = state.u + state.size * state.du, state.t + state.size * state.dt
        back, totals = self._engine.sum(LossSum(self._rows, self._targets, self._span.coefficients(u), t))
        judged = judge(u, self._span.whitened(back), totals, self._beta, self._span)
        gap = gap_share(judged.primal, judged.dual, judged.zero)
        gap = np.inf if np.isnan(gap) else gap
        best = state.best
        z, z_t = self._solved(judged.slope, judged.slope_t)
        along = _dot(judged.slope, judged.slope_t, z, z_t)
        lower = judged.primal < state.primal + _ROUNDING * abs(judged.primal)
        if best is None or ((gap, judged.primal) <= (best.gap, best.primal) if self._proves else lower):
            best = Solved(u, t, np.ones(len(t)), judged.primal, judged.dual, gap)
        row = HistoryRow(state.n_iter, time.perf_counter() - began, best.primal, best.gap)
        state = state._replace(best=best, history=(*state.history, row))
        if (best.gap if self._proves else along / (2 * self._weight * judged.primal)) <= limits.tol:
            return state, Status.OPTIMAL
        if np.isinf(state.primal) and not judged.primal <= judged.zero and u.any():
            there = State.at_first(np.zeros_like(u), judged.constant)  # a start out of all bounds
            return there._replace(n_iter=state.n_iter + 1, best=best, history=state.history), None
        if not np.isfinite(judged.primal) and not np.isfinite(state.primal):
            return state, Status.NOT_FINITE
        if self._late(limits, began):
            return state, Status.MAX_TIME
        if state.n_iter >= limits.max_iter:
            return state, Status.MAX_ITER
        if not lower:
            shorter = state._replace(size=_SHORTER[state.size < 1] * state.size)
            return shorter, Status.STALLED if shorter.size < _SHORTEST else None
        zero, zero_t = np.zeros_like(u), np.zeros_like(t)
        new = State(False, u, t, judged.primal, zero, zero_t, 1.0, judged.slope, judged.slope_t, z, z_t, judged.bend)
        new = new._replace(along=along, n_iter=state.n_iter, best=best, history=state.history)
        if self._proves and judged.primal - judged.unbalanced <= limits.tol * judged.primal:
            return _balanced(new)._replace(judging=True, n_iter=state.n_iter + 1), None
        return new._replace(first=self._open(new)), None

    def _stepped(self, state: State, limits: Limits, began: float) -> State:
        s, s_t = state.along_u, state.along_t
        a, b = self._span.coefficients(state.u), self._span.coefficients(s)
        back, curved_t = self._engine.sum(CurvatureSum(self._rows, self._targets, a, state.t, b, s_t))
        curved = self._span.whitened(back) + self._weight * self._beta * s
        across = _dot(s, s_t, curved, curved_t)
        length = state.along / across if across > 0 else 0.0
        left, left_t = state.left - length * curved, state.left_t - length * curved_t
        z, z_t = self._solved(left, left_t)
        along = _dot(left, left_t, z, z_t)
        turn = along / state.along if state.along > 0 else 0.0
        new = state._replace(
            du=state.du + length * s,
            dt=state.dt + length * s_t,
            left=left,
            left_t=left_t,
            along_u=z + turn * s,
            along_t=z_t + turn * s_t,
            along=along,
            inner=state.inner + 1,
            n_iter=state.n_iter + 1,
        )
        enough = self._open(new) <= max(_FORCING[self._proves] * state.first, _INSIDE * limits.tol)
        ended = new.inner >= _INNER or new.n_iter >= limits.max_iter or self._late(limits, began)
        return _balanced(new)._replace(judging=True) if enough or ended else new

    def _open(self, state: State) -> float:
        """Return the gap that Newton's model leaves."""
        if self._proves:
            return float((state.left**2).sum()) / (2 * self._beta * self._weight**2 * state.primal)
        return state.along / (2 * self._weight * state.primal)

    def _solved(self, b: Array, b_t: Array) -> tuple[Array, Array]:
        return self._normal.solved(b, b_t, self._weight * self._beta)


def _balanced(state: State) -> State:
    """Return the state with the step of t that makes the residuals add up to zero, by Newton's model."""
    move = np.linalg.lstsq(state.bend, state.left_t, rcond=_SINGULAR)[0]
    return state._replace(dt=state.dt + move)


def _dot(u: Array, t: Array, v: Array, s: Array) -> float:
    return float(np.vdot(u, v) + np.vdot(t, s))
