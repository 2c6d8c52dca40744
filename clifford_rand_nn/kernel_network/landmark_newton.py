r"""Normal equations over landmarks, and Newton's method, which they precondition, a pass over the rows at a time.

Every system is solved by conjugate gradients, whose preconditioner is that of one sum of normal equations. With P the
objective and D the dual value of the residuals, balanced, :math:`P-D=||V^T\Omega\theta-W\beta u||^2/(2\beta W^2)`: the
slope by u says the gap.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import eigh
from numpy.typing import NDArray

from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.kernel_products import LandmarkRows, LandmarkSpan
from clifford_rand_nn.kernel_network.landmark_judge import SpanProblem
from clifford_rand_nn.problems.duality import gap_share
from clifford_rand_nn.row_sums import Block, Engine, Kept, RowSum, Sums, Targets
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Status
from clifford_rand_nn.solvers.iterations import CGIterate, first_iterate, next_iterate, normalized

RADII = np.geomspace(1e3, 1e-6, 46)  # ρ of the betas that are compared, in units of the kernel's mean diagonal
SINGLE = 1e-4  # least share that a landmark is not known by others, for sums in single precision
_PANELS = 8  # of columns: a triangle of panels takes 9/16 of the square's numbers, and as much of its products
_MIN_CURVATURE = 1e-3  # of a row: a confident and wrong one would be a target out of all bounds
_FORCING = 0.1, 0.01  # by which the gap of Newton's model falls in a system: where it is estimated, and proved
_MAX_INNER = 20  # products of a system
_INSIDE = 0.5  # of the tolerance, by Newton's model: then a pass judges
_LESS = 0.5  # of the gap before, if the loss is squared, or round-off is all that is left
_SINGULAR = 1e-12  # share of the largest eigenvalue of a Hessian by t: of a softmax it has one that is zero
_ROUNDING = 1e-13  # of an objective
# By which a step that leads up is cut at first, and then: steps are long where rows are confident, and wrong.
_SHORTER = 0.5, 0.2
_TINY = float(np.finfo(np.float64).tiny)
_SHORTEST = 1e-9  # step, as a share of Newton's, that is still tried


class NormalSum(RowSum):
    r"""Sums of :math:`\omega\,(k, y, 1)(k, y, 1)^T`, k the kernel of a row with the landmarks, less a center.

    The centers keep what single precision rounds small; the exact ones are subtracted from the sums. Of the symmetric
    (m, m) sum there are `_PANELS` panels, each from its diagonal on.

    ``rows``: products are of the type of its tiles. ``center``, ``center_y`` (m,): subtracted from k and y.
    """

    def __init__(self, rows: LandmarkRows, targets: Targets, center: Array, center_y: Array) -> None:
        self.landmarks, self.targets = rows, targets
        self.center, self.center_y = center.astype(rows.dtype), center_y

    def of(self, block: Block, kept: Kept) -> Sums:
        """Return panels of the sum over k, (m, C + 1) of k with y and 1, and (2, C + 1) of y and its squares, and 1."""
        K = self.landmarks.kernel(block.X)
        y, w = self.regression(block, K)
        # in the precision of the products: near zero its round-off is small
        K -= self.center
        right = np.column_stack([y - self.center_y, np.ones(len(K))])
        root = np.sqrt(w)[:, None]
        if not (w == 1).all():
            K *= root.astype(K.dtype)
            right *= root
        panels = [(K[:, cut].T @ K[:, cut.start :]).astype(np.float64) for cut in _panels(K.shape[1])]
        cross = (K.T @ right.astype(K.dtype)).astype(np.float64)
        moments = np.stack([(right * root).sum(axis=0), (right * right).sum(axis=0)])
        return (*panels, cross, moments)

    def regression(self, block: Block, K: NDArray[Any]) -> tuple[Array, Array]:
        """Return the targets (k, C) and the weights (k,) of the least squares over the rows of a block."""
        return self.targets.of(block), self.targets.row_weights(block)


class WorkingSum(NormalSum):
    r"""The normal equations of a Newton step from :math:`f=\sum_jK(\cdot,z_j)a_j+t`: those of least squares.

    Weights are :math:`\omega h`, h the mean curvature of a row's loss, targets :math:`f-\ell'(f)/h`, so that the
    minimizer for every β is where Newton's method goes from f; of a softmax about so, since it has a matrix for h.

    ``rows``, ``targets``, ``center``: as of `NormalSum`. ``a``, ``t`` (m, C): of f; t is subtracted from the targets.
    """

    def __init__(self, rows: LandmarkRows, targets: Targets, center: Array, a: Array, t: Array) -> None:
        super().__init__(rows, targets, center, t)
        self.a = a.astype(rows.dtype)

    def regression(self, block: Block, K: NDArray[Any]) -> tuple[Array, Array]:
        """Return working targets and weights."""
        f = (K @ self.a).astype(np.float64) + self.center_y
        y, loss = self.targets.of(block), self.targets.loss
        theta = loss.residual(f, y)
        curvature = loss.curvature_at(theta, y)
        if not loss.separable:  # the mean eigenvalue of diag(p) - pp^T off its null space: p(1 - p)/(C - 1) summed
            curvature = curvature * (1 - curvature) / (f.shape[1] - 1)
        h = np.maximum(curvature.sum(axis=1), _MIN_CURVATURE)
        return f + theta / h[:, None], self.targets.row_weights(block) * h


def _panels(m: int) -> list[slice]:
    """Return slices of m columns."""
    cuts = [m * i // _PANELS for i in range(_PANELS + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(cuts) if b > a]


def _square(panels: Sums) -> Array:
    """Return the symmetric (m, m) matrix of its panels."""
    m = panels[0].shape[1]
    out = np.empty((m, m))
    for cut, panel in zip(_panels(m), panels, strict=True):
        out[cut, cut.start :] = panel
        out[cut.start :, cut] = panel.T
    return out


class Normal:
    r"""The minimizers u of :math:`\sum_i\omega_i\tfrac12||y_i-f_u(x_i)-t||^2+\frac\rho2||u||^2` for every ρ.

    ``sums``: of `NormalSum`. ``center``, ``center_y`` (m,): of the same. ``weight``: sum of the weights.
    """

    def __init__(self, span: LandmarkSpan, sums: Sums, center: Array, center_y: Array) -> None:
        *panels, cross, moments = sums
        self.weight = float(moments[0, -1])
        mean, mean_y = cross[:, -1] / self.weight, moments[0, :-1] / self.weight
        inner = _square(tuple(panels))
        del panels, sums
        # Σω(k - k̄)(k - k̄)ᵀ: the intercept is eliminated
        inner -= self.weight * np.outer(mean, mean)
        right = cross[:, :-1] - self.weight * np.outer(mean, mean_y)
        with ONE_BLAS_THREAD:
            inner = span.whitened(span.whitened(inner).T)  # L⁻¹ (KᵀΩK) L⁻ᵀ, centered
            values, self._Q = eigh(inner)
        self._values, self._span = np.maximum(values, 0.0)[:, None], span
        self._right = self._Q.T @ span.whitened(right)
        self._mean = self._Q.T @ span.whitened((mean + center)[:, None])[:, 0]
        self._mean_y = mean_y + center_y

    def fit(self, radius: float) -> tuple[Array, Array]:
        """Return u (m, C) and the intercept (C,)."""
        along = self._right / (self._values + radius)
        return np.asarray(self._Q @ along), np.asarray(self._mean_y - self._mean @ along)

    def solve(self, b: Array, radius: float) -> Array:
        r"""Return (x; s), (m + 1, C), with the intercept's row last, for :math:`b=(b_u;b_t)`.

        .. math:: (V^T\Omega V+\rho I)x+V^T\Omega1s=b_u,\qquad 1^T\Omega(Vx+1s)=b_t
        """
        # block elimination of s: V is centered in the eigenvectors, 1ᵀΩ1 = W
        mean, b_t = self._mean[:, None], b[-1]
        along = (self._Q.T @ b[:-1] - mean * b_t) / (self._values + radius)
        return np.vstack([self._Q @ along, b_t / self.weight - (mean * along).sum(axis=0)])

    def predictions(self, K: NDArray[Any], radii: Array) -> Iterator[Array]:
        """Yield predictions (h, C) of rows with the kernel K (h, m), for each radius."""
        E = self._span.whitened(K.T).T @ self._Q
        for radius in radii:
            # u = Q (Λ + ρ)⁻¹ Qᵀ VᵀΩy, of which only the diagonal depends on ρ
            along = self._right / (self._values + radius)
            yield np.asarray(E @ along + (self._mean_y - self._mean @ along))


class Solved(NamedTuple):
    """A function as a pass over the rows judged it; the bound is of the dual point of its own residuals."""

    u: Array
    intercept: Array
    scale: Array
    primal: float
    dual: float
    gap: float


class State(NamedTuple):
    """Between two passes: all that the steps from here depend on."""

    # whether the next pass judges the point ``size`` · ``step`` from u, or is a product of conjugate gradients at u
    judging: bool
    u: Array  # (m, C): the last point that was taken
    t: Array
    primal: float  # its objective; infinite before the first
    step: CGIterate | None  # Newton's step from there (m + 1, C), the intercept's row last, as far as it is known
    size: float  # of it, less as long as it leads up
    first: float  # the gap that Newton's model had at the start of the system
    curvature: Array  # (C, C): the second derivative by t at the last point
    n_iter: int = 0
    best: Solved | None = None
    history: tuple[HistoryRow, ...] = ()
    ended: str = ""  # the status, if there is nothing left to do but for other limits

    @classmethod
    def at_first(cls, u: Array, t: Array) -> "State":
        """Return the state that begins with a function."""
        return cls(True, u, t, np.inf, None, 1.0, 0.0, np.zeros((len(t), len(t))))

    @classmethod
    def restored(cls, values: tuple[Any, ...]) -> "State":
        """Return the state of plain tuples, as a checkpoint has them."""
        state = cls(*values)
        step = None if state.step is None else CGIterate(*state.step)
        best = None if state.best is None else Solved(*state.best)
        return state._replace(step=step, best=best, history=tuple(HistoryRow(*row) for row in state.history))

    def point(self) -> tuple[Array, Array]:
        """Return u and t of the point that is judged next."""
        if self.step is None:
            return self.u, self.t
        return self.u + self.size * self.step.x[:-1], self.t + self.size * self.step.x[-1]


class NewtonSteps:
    """Passes over the rows, each from one state to the next.

    ``normal``: near a solution: the preconditioner. ``proves``: whether the gap is that of the bound. It takes more
    steps than a gap that is only estimated: by what Newton's model says there is to win.
    """

    def __init__(self, engine: Engine, problem: SpanProblem, beta: float, normal: Normal, proves: bool = True) -> None:
        self._engine, self._problem, self._beta, self._proves = engine, problem, beta, proves
        self._is_quadratic = problem.targets.loss.is_quadratic
        self._precondition = lambda b: normal.solve(b, problem.weight * beta)

    def solve(
        self, state: State, limits: Limits, began: float, save: Callable[[State], object], hurry: bool = False
    ) -> tuple[State, Status]:
        """Go on until the gap is below the tolerance; ``save`` is called after every pass.

        After Ctrl-C, or with ``hurry``, the best function that was judged is left; if there is none, one pass judges
        the one at hand. That state is not saved: a fit that goes on takes the way of one that nobody interrupted.
        """
        status = Status(state.ended) if state.ended else None  # a fit that goes on from its end is that fit
        if hurry and state.best is not None:
            status = Status.INTERRUPTED
        try:
            while status is None:
                if state.judging:
                    state, status = self._judge(state, limits, began)
                    if status is not None and not (status.ends_all or hurry):
                        state = state._replace(ended=status.value)
                else:
                    state = self._multiply(state, limits, began)
                if hurry:
                    status = Status.INTERRUPTED
                else:
                    save(state)
        except KeyboardInterrupt:
            if hurry:
                raise
            return self.solve(state, limits, began, save, hurry=True)
        return state, status

    def _judge(self, state: State, limits: Limits, began: float) -> tuple[State, Status | None]:
        """Judge a point by a pass; begin a system there, or shorten the step if it led up."""
        u, t = state.point()
        judged = self._problem.judge(self._engine, u, t, self._beta)
        t, before = t + judged.shift, state.best
        gap = gap_share(judged.primal, judged.dual, judged.zero)
        gap = np.inf if np.isnan(gap) else gap
        lower = judged.primal < state.primal + _ROUNDING * abs(judged.primal)
        best = before
        if best is None or ((gap, judged.primal) <= (best.gap, best.primal) if self._proves else lower):
            best = Solved(u, t, judged.scale, judged.primal, judged.dual, gap)
        row = HistoryRow(state.n_iter, time.perf_counter() - began, best.primal, best.gap)
        if limits.callback is not None:
            limits.callback(row)
        state = state._replace(best=best, history=(*state.history, row))
        step = first_iterate(judged.slope, self._precondition)
        if (best.gap if self._proves else self._gap(step, judged.primal)) <= limits.tol:
            return state, Status.OPTIMAL
        if np.isinf(state.primal) and not judged.primal <= judged.zero and u.any():  # a start out of all bounds
            constant = State.at_first(np.zeros_like(u), judged.constant)
            return constant._replace(n_iter=state.n_iter + 1, best=best, history=state.history), None
        if not np.isfinite(judged.primal) and not np.isfinite(state.primal):
            return state, Status.NOT_FINITE
        if self._is_late(limits, began):
            return state, Status.MAX_TIME
        if state.n_iter >= limits.max_iter:
            return state, Status.MAX_ITER
        if self._is_quadratic and state.step is not None and before is not None and not gap <= _LESS * before.gap:
            return state, Status.STALLED
        if not (lower or self._is_quadratic):
            shorter = state._replace(size=_SHORTER[state.size < 1] * state.size)
            return shorter, Status.STALLED if shorter.size < _SHORTEST else None
        new = State(False, u, t, judged.primal, step, 1.0, 0.0, judged.curvature, state.n_iter, best, state.history)
        if self._proves and judged.primal - judged.unbalanced <= limits.tol * judged.primal:
            return _balanced(new)._replace(n_iter=state.n_iter + 1), None  # only the intercept is off
        return new._replace(first=self._gap(step, judged.primal)), None

    def _multiply(self, state: State, limits: Limits, began: float) -> State:
        """Make a product of conjugate gradients; let its point be judged if it is near enough, or products are over."""
        assert state.step is not None
        is_coupled = not self._is_quadratic  # squares are a system for each output, with one matrix
        direction = normalized(state.step.direction, is_coupled)
        product = self._problem.curvature(self._engine, state.u, state.t, direction, self._beta)
        step = next_iterate(state.step, direction, product, (), self._precondition, is_coupled)
        state = state._replace(step=step, n_iter=state.n_iter + 1)
        forcing = 0.0 if self._is_quadratic else _FORCING[self._proves]  # the model of squares is exact
        enough = self._gap(step, state.primal) <= max(forcing * state.first, _INSIDE * limits.tol)
        ends = step.n_products >= _MAX_INNER or step.is_exhausted or state.n_iter >= limits.max_iter
        return _balanced(state) if enough or ends or self._is_late(limits, began) else state

    def _gap(self, step: CGIterate, primal: float) -> float:
        """Return the relative gap that Newton's model leaves after a step."""
        W, primal = self._problem.weight, max(primal, _TINY)
        if self._proves:
            return float((step.residual[:-1] ** 2).sum()) / (2 * self._beta * W**2 * primal)
        return step.size / (2 * W * primal)

    def _is_late(self, limits: Limits, began: float) -> bool:
        seconds = time.perf_counter() - began
        return self._engine.agreed(limits.max_time is not None and seconds >= limits.max_time)


def _balanced(state: State) -> State:
    """Return the state with the step of t that makes the residuals add up to zero, by Newton's model; it is judged."""
    assert state.step is not None
    x = state.step.x.copy()
    x[-1] += np.linalg.lstsq(state.curvature, state.step.residual[-1], rcond=_SINGULAR)[0]
    return state._replace(step=state.step._replace(x=x), judging=True)
