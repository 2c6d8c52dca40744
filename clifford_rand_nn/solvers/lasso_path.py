"""The exact regularization path of the Lasso by homotopy: its breakpoints, and by interpolation all between them."""

import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import check_number, describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array, NDArray
from clifford_rand_nn.problems.duality import gap_above
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Result, Status
from clifford_rand_nn.solvers.lasso_active_columns import ActiveColumns, CenteredColumns, turn
from clifford_rand_nn.solvers.stopping import BestIterate, as_interrupted, handed_over

_EPS = np.finfo(np.float64).eps
_GAP = 1e-9  # largest relative duality gap of a breakpoint that is accepted
# Two breakpoints nearer than this, relative to β, are one: well above rounding (some 1e-15) where the columns are well
# conditioned, well below the distance of different breakpoints.
_TIE = 1e-12
# Rounding of a correlation is a few eps·|k|·|θ|: for a dot product √n of them at most, and the QR factors add some.
_ROUNDING = 8 * _EPS
_NOISE = 32.0  # what round-off hides, in eps·|k|·|θ|
_ADVICE = "the active columns are nearly dependent; try a larger beta_min, or columns of similar norms"
MAX_BREAKPOINTS = 100_000
_SMALL = 2e7  # flops of a product that one thread does in 1 ms
_SO_FAR = "this is the path so far"


class PathPoint(NamedTuple):
    """A solution: the columns in use (m,), ascending, their weights (m,), the intercept."""

    columns: NDArray[np.intp]
    values: Array
    intercept: float


@dataclass(frozen=True, eq=False)
class LassoPath:
    r"""Solutions of a Lasso for every β from ``betas[0]`` down to ``betas[-1]``.

    .. math:: p(\beta) = \min_{z,t}\ \frac1{2n}||Kz+t-y||^2+\beta||z||_1

    Weights and intercept are linear in β between two breakpoints, and constant above the first.

    ``betas`` (B,): breakpoints, falling; the first is the least β without a column, the last the end of what was
    computed. ``columns``, ``values`` (M,): breakpoint k uses ``columns[starts[k]:starts[k + 1]]`` with these values.

    Examples
    --------
    >>> path = homotopy(LassoProblem(np.eye(2), [3.0, 1.0], beta=1.0, fit_intercept=False), 0.0)
    >>> path.betas.tolist()
    [1.5, 0.5, 0.0]
    >>> columns, values, intercept = path.at(1.0)
    >>> columns.tolist(), values.tolist()
    ([0], [1.0])
    """

    betas: Array
    objectives: Array  # (B,), optimal values
    relative_gaps: Array  # (B,), (primal - dual)/primal, with the residual, scaled to be feasible, as dual point
    n_active: NDArray[np.intp]  # (B,), number of weights that are not 0
    intercepts: Array  # (B,)
    columns: NDArray[np.intp]
    values: Array
    starts: NDArray[np.intp]  # (B + 1,)
    status: Status  # "optimal" if ``betas[-1]`` is the β that was asked for, or what stopped the path
    seconds: float
    message: str = ""  # where it stopped, and what to do about it

    def __len__(self) -> int:
        return int(self.betas.size)

    @property
    def converged(self) -> bool:
        """Whether the path reaches the β that was asked for."""
        return self.status is Status.OPTIMAL

    def point(self, k: int) -> PathPoint:
        """Return the solution at breakpoint k."""
        k = range(len(self))[k]
        part = slice(self.starts[k], self.starts[k + 1])
        return PathPoint(self.columns[part], self.values[part], float(self.intercepts[k]))

    def at(self, beta: float) -> PathPoint:
        """Return the solution at ``beta``.

        Raises ArgumentError: ``beta`` is below the end of the path.
        """
        if not beta >= self.betas[-1]:
            rule = f"a number ≥ {self.betas[-1]:.6g}, where the path ends"
            raise fail("beta", "LassoPath", rule, beta, "Compute the path with a smaller beta_min.")
        k = int(np.searchsorted(-self.betas, -beta, side="right")) - 1
        if k < 0 or self.betas[k] == beta:
            return self.point(max(k, 0))
        share = float((self.betas[k] - beta) / (self.betas[k] - self.betas[k + 1]))
        before, two = self.point(k), self.point(k + 1)
        columns, place = np.unique(np.concatenate([before.columns, two.columns]), return_inverse=True)
        parts = np.concatenate([(1 - share) * before.values, share * two.values])
        values = np.asarray(np.bincount(place, parts, minlength=columns.size), dtype=np.float64)
        return PathPoint(columns, values, (1 - share) * before.intercept + share * two.intercept)

    def __repr__(self) -> str:
        return (
            f"LassoPath({len(self)} breakpoints, beta={self.betas[0]:.6g}…{self.betas[-1]:.6g}, "
            f"n_active={self.n_active[-1]}, status={self.status.value!r}, seconds={self.seconds:.2f})"
        )


@as_interrupted.register
def _(path: LassoPath) -> LassoPath:
    return replace(path, status=Status.INTERRUPTED, message=f"stopped at beta = {path.betas[-1]:.6g}, {_SO_FAR}")


class PathRow(NamedTuple):
    """State of `homotopy` at a breakpoint."""

    breakpoint: int
    seconds: float
    beta: float
    n_active: int
    objective: float
    relative_gap: float


@handed_over
def homotopy(
    problem: LassoProblem,  # of the squared loss and one output; its beta does not matter
    beta_min: float,
    **limits: Any,  # see `Limits`: an iteration is a breakpoint, and ``callback`` is called with each `PathRow`
) -> LassoPath:
    r"""Solve the Lasso for every β at once (paper, Lemma 1).

    .. math:: \min_{z,t}\ \frac1{2n}||Kz+t-y||^2+\beta||z||_1,\qquad
              \beta_{\max}=\frac1n\max_j|k_j^T(y-\bar y)|\ \ge\ \beta\ \ge\ \beta_{\min}

    The solution is piecewise linear in β. On a piece the active columns A, of signs s, have
    :math:`k_j^T\theta = n\beta s_j` with θ the residual, which determines the weights; the piece ends where another
    column reaches :math:`|k_j^T\theta| = n\beta` or a weight reaches 0. At a breakpoint a small quadratic program
    tells which columns go on (`turn`), so ties, duplicates, columns of opposite sign and dependent columns are
    no special case. Of several solutions one with independent columns is returned, at most rank K of them.
    A breakpoint costs two products with :math:`K^T` and O(n m) for m active columns.

    ``beta_min``: where the path ends, in the 1/n scale. The paper's :math:`||Kz+t-y||^2+\beta_p||z||_1` is :math:`\beta
    = \beta_p/(2n)`. At 0 the end is a least-squares solution, up to rounding of the correlations. Return value: its
    ``status`` is "optimal", or says what stopped the path early, Ctrl-C as well. Each breakpoint was checked to have a
    relative duality gap of at most 1e-9. Raises ArgumentError: another loss, several outputs, beta_min < 0.

    References
    ----------
    Osborne, Presnell, Turlach, "A new approach to variable selection in least squares problems", IMA J. Numer. Anal.
    20 (2000); Efron et al., "Least angle regression", Ann. Stat. 32 (2004).

    Examples
    --------
    >>> K = np.array([[0.0, 0.0, 2.0], [1.0, 1.0, 0.0], [2.0, 2.0, 0.0]])  # two equal columns
    >>> path = homotopy(LassoProblem(K, [0.0, 1.0, 2.0], beta=1.0), 0.01)
    >>> path.status, path.n_active.tolist()
    (<Status.OPTIMAL: 'optimal'>, [0, 1])
    >>> path.at(0.02).values.round(12).tolist()
    [0.97]
    """
    owner = "homotopy"
    if not problem.datafit.loss.is_quadratic or problem.outputs > 1:
        value = describe(f"{problem.outputs} outputs of loss={problem.loss!r}")
        raise fail("y", owner, "of one output, for loss='squared'", value, "Follow the path of one output at a time.")
    beta_min = check_number(beta_min, "beta_min", owner, "a finite number ≥ 0", lambda beta: 0 <= beta < np.inf)
    limit = Limits.of(owner, **{"max_iter": MAX_BREAKPOINTS, **limits})
    with ONE_BLAS_THREAD if 2 * problem.K.size < _SMALL else nullcontext():
        return _Follower(problem, beta_min, limit).follow(limit.max_iter)


def solution_at(path: LassoPath, problem: LassoProblem, tol: float) -> Result[Weights]:
    """Read the solution of ``problem`` at its beta from the path of its columns, and judge it by the problem's own gap.

    If the path ends above that beta, its last solution is judged, and the status says why it ended.
    """
    columns, values, intercept = path.at(max(problem.beta, float(path.betas[-1])))
    weights = Weights(columns, values[:, None], np.array([intercept]))
    f = problem.predictions(weights)
    objective, bound = problem.objective(weights, f), problem.dual_bound(f)
    gap = problem.relative_gap(objective, bound.value)
    if gap <= tol and not path.status.ends_all:
        status, message = Status.OPTIMAL, ""
    else:
        status = Status.STALLED if path.converged else path.status
        message = f"a relative gap of {gap:.1e} at the end of the path: {path.message or 'try a larger tol'}"
    return Result(
        objective=objective,
        duality_gap=max(objective - bound.value, 0.0),
        relative_gap=gap,
        n_iter=len(path),
        status=status,
        history=(HistoryRow(len(path), path.seconds, objective, gap),),
        solver="homotopy",
        seconds=path.seconds,
        coefficients=weights,
        fitted=f,
        dual_point=bound.theta,
        message=message,
    )


class _Follower:
    """The state of a path that is being followed, in the scale λ = nβ."""

    def __init__(self, problem: LassoProblem, beta_min: float, limits: Limits) -> None:
        self.began = time.perf_counter()
        self.n = problem.n
        self.beta_min = beta_min
        y, weights = problem.datafit.y[:, 0], problem.datafit.sample_weight
        root = None if weights is None else np.sqrt(weights)
        self.columns = CenteredColumns(problem.K, problem.fit_intercept, root)
        self.mean = float((y if weights is None else weights * y).mean()) if problem.fit_intercept else 0.0
        self.y = y - self.mean
        if root is not None:
            self.y, y = root * self.y, root * y
        if np.linalg.norm(self.y) <= 4 * _EPS * np.linalg.norm(y):
            self.y = np.zeros_like(y)
        self.active = ActiveColumns(self.columns)
        self.limits = limits
        self.found: list[tuple[PathRow, PathPoint]] = []
        self.largest = float(self.columns.sizes[self.columns.norms > 0].max(initial=0.0))
        # Below this, correlations are rounding, and no column provably reaches the bound.
        self.floor = _NOISE * _EPS * self.largest * float(np.linalg.norm(self.y))
        self._lines()

    def _lines(self) -> None:
        """Take up the piece of the active columns; correlations on it are p + λq."""
        self.segment = segment = self.active.segment(self.y)
        self.r_norm, self.g_norm = float(np.linalg.norm(segment.r)), float(np.linalg.norm(segment.g))
        self.p = self.columns.correlate(segment.r)
        self.q = self.columns.correlate(segment.g)

    def follow(self, max_iter: int) -> LassoPath:
        """Follow the path from its first breakpoint down to ``beta_min``, or as far as the limits and Ctrl-C allow."""
        with BestIterate(self.found) as kept:
            return self._follow(max_iter)
        assert kept.status is not None
        return self._path(kept.status, _SO_FAR)

    def _follow(self, max_iter: int) -> LassoPath:
        lam_end = self.n * self.beta_min
        lam = float(np.abs(self.p).max(initial=0.0))
        if lam <= self.floor:
            lam = 0.0  # the targets are constant, or no column varies with them
        self._keep(*self._solve(lam))
        stalls = 0
        while lam > lam_end:
            if len(self.found) >= max_iter:
                return self._path(Status.MAX_ITER, f"after {max_iter} breakpoints: try a larger max_iter")
            if self.limits.max_time is not None and time.perf_counter() - self.began >= self.limits.max_time:
                return self._path(Status.MAX_TIME, f"after {self.limits.max_time:g} s: try a larger max_time")
            skipped = self._turn(lam)
            # A tie that the tolerance did not see ends the piece at once. Each time a column comes in or goes out, so
            # more turns at one λ than there are columns at the bound mean that rounding decides.
            stalls += 1
            if skipped is None or stalls > 2 * (self.n + skipped.size):
                return self._path(Status.STALLED, f"where ties could not be resolved: {_ADVICE}")
            end, zero = self._next(lam, lam_end, skipped)
            for j in np.array(self.active.index, dtype=np.intp)[zero].tolist():
                self.active.remove(j)  # before the others are solved for, which then make up for the rounding of its 0
            if end >= lam * (1 - _TIE):
                continue
            row, point = self._solve(end)
            if not row.relative_gap <= _GAP:
                gap = f"{row.relative_gap:.1e}"
                return self._path(Status.STALLED, f"below which the relative gap is {gap}: {_ADVICE}")
            lam = end
            stalls = 0
            self._keep(row, point)
        return self._path(Status.OPTIMAL)

    def _turn(self, lam: float) -> NDArray[np.intp] | None:
        """Choose the active columns below λ, and return the columns that are tied all along the piece."""
        # How near to 1 the ratio of a correlation to λ must be to count as 1.
        tolerance = _TIE + _NOISE * _EPS * self.columns.sizes * (self.g_norm + self.r_norm / lam)
        ratio = (self.p + lam * self.q) / lam
        at_bound = 1 - np.abs(ratio) <= tolerance
        at_bound[self.active.index] = False
        tied = np.flatnonzero(at_bound)
        signs, tolerance = np.sign(ratio[tied]), 2 * tolerance[tied]
        if not turn(self.active, tied, signs, tolerance):
            return None
        self._lines()
        return tied[np.abs(signs * self.q[tied] - 1) <= tolerance]

    def _next(self, lam: float, lam_end: float, skipped: NDArray[np.intp]) -> tuple[float, NDArray[np.bool_]]:
        """Return the λ at which the piece ends, at least ``lam_end``, and which active weights are 0 there."""
        _, _, a, d = self.segment
        speed = 1 - np.sign(self.p) * self.q  # |p + λq| = λ is reached from inside on the side of p only
        speed[self.active.index] = 0.0
        speed[skipped] = 0.0
        hits = np.divide(np.abs(self.p), speed, out=np.zeros_like(speed), where=speed > 0)
        zeros = np.divide(a, d, out=np.zeros_like(a), where=np.array(self.active.signs) * d < 0)
        end = min(max(float(hits.max(initial=0.0)), float(zeros.max(initial=0.0))), lam)
        if end <= max(lam_end, self.floor):
            return lam_end, np.zeros(a.size, dtype=bool)
        return end, zeros >= end * (1 - _TIE)

    def _solve(self, lam: float) -> tuple[PathRow, PathPoint]:
        """Return the solution at λ on the active columns and its duality gap."""
        values = self.active.weights(self.y, lam)
        residual = self.y - self.active.matrix @ values
        primal = float(residual @ residual) / 2 + lam * float(np.abs(values).sum())
        theta = self.segment.r + lam * self.segment.g
        # Correlations count up to their rounding; at λ = 0 nothing but θ = 0 would be feasible without it.
        bound = max(lam + _ROUNDING * self.largest * float(np.linalg.norm(theta)), self.floor)
        largest = float(np.abs(self.p + lam * self.q).max(initial=0.0))
        if largest > bound:
            theta = theta * (bound / largest)
        dual = float(theta @ self.y) - float(theta @ theta) / 2
        # As in `problems.duality.relative_gap`: an optimum below rounding of the loss at zero counts as that.
        scale = max(primal, _EPS * float(self.y @ self.y) / 2)
        gap = gap_above(primal, dual, float(self.y @ self.y) / 2) / scale if scale > 0 else 0.0
        index = np.array(self.active.index, dtype=np.intp)
        order = np.argsort(index)
        index, values = index[order], values[order]
        intercept = self.mean - float(self.columns.means[index] @ values)
        beta = self.beta_min if lam == self.n * self.beta_min else lam / self.n  # exactly what was asked for
        row = PathRow(len(self.found), time.perf_counter() - self.began, beta, index.size, primal / self.n, gap)
        return row, PathPoint(index, values, intercept)

    def _keep(self, row: PathRow, point: PathPoint) -> None:
        self.found.append((row, point))
        if self.limits.callback is not None:
            self.limits.callback(row)

    def _path(self, status: Status, why: str = "") -> LassoPath:
        rows, points = zip(*self.found, strict=True)
        index, values, intercepts = zip(*points, strict=True)
        counts = np.array([part.size for part in index])
        return LassoPath(
            betas=np.array([row.beta for row in rows]),
            objectives=np.array([row.objective for row in rows]),
            relative_gaps=np.array([row.relative_gap for row in rows]),
            n_active=counts,
            intercepts=np.array(intercepts),
            columns=np.concatenate(index),
            values=np.concatenate(values),
            starts=np.concatenate([[0], np.cumsum(counts)]),
            status=status,
            seconds=time.perf_counter() - self.began,
            message=f"stopped at beta = {rows[-1].beta:.6g}, {why}" if why else "",
        )
