"""A primal-dual interior-point method for the dictionary Lasso: some thousand rows, any number of columns.

Its end, as of other solvers, is a vertex solution: as few columns as the rank allows, with the same predictions.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from clifford_rand._checks import describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.solvers.base import Limits, Result, Status
from clifford_rand_nn.solvers.iterations import DualTerms
from clifford_rand_nn.solvers.lasso_central_path import CentralPath
from clifford_rand_nn.solvers.stopping import Watch, handed_over

_LARGEST = 8000  # order of the normal matrix: 512 MB, and some 10 s a step
# Products up to which the idle threads of NumPy's and SciPy's BLAS, which are two libraries, take more from each other
# than they give: on two cores a second thread made n = 160, N = 3000 ten times slower and n = 1500, N = 3000 no faster.
_SMALL = 1e10
_STALLED = 6  # steps without a better gap: rounding is all that is left, if the gap is already
_FLOOR = 0.1  # share of the gap to be reached that the products of slacks and multipliers need not go below
_LATE = 1e-4  # below this; before, the residual of stationarity may have to fall first
_RANK = 1e-12  # a column is dependent if its part outside the basis is below this share of the largest contribution
_TIES = 1e-9  # of the step: among ratios this close the largest pivot is taken (Harris)
_ZERO = 1e-11  # entries of the tableau, relative to its column, that are rounding and block nothing
_CUTS = 1e-4, 1e-6, 1e-8, 0.0  # share of the penalty that the weights left out may have; the polish makes up for it
_PIVOTED = 1e9  # multiplications a second of `purify`: 16 s for 2,000 rows and 3,750 columns
_SLACK = 0.1  # share of the gap by which the objective may rise
_STEPS = 30  # a step of the squared loss is exact unless a weight changes its sign
_SINGULAR = 1e-11  # least diagonal of the triangular factor of unit columns


@dataclass(frozen=True, kw_only=True)
class InteriorPoint(Limits):
    r"""Mehrotra's predictor-corrector method on the dual of a `LassoProblem`.

    .. math:: \min_\theta\ \sum_i\ell^*(-\theta_i)\quad\text{s.t.}\quad ||K_j^T\theta||_2\le n\beta,\ 1^T\theta = 0

    Every step factors one matrix of the order of the rows, :math:`\mathrm{diag}(\ell^{*\prime\prime})+K\,
    \mathrm{diag}(z/s)\,K^T`, so a step costs n²N flops whatever the conditioning, and 20 to 30 steps are enough. The
    dual point is feasible all along. At the end the solution is made basic (`purify`: at most n columns, n - 1 with an
    intercept, for one output) and, for one output, solved to rounding on its columns.

    A tol of 1e-10 can be had where the problem is not badly scaled. ``basic``: whether the solution is made basic.
    Otherwise all columns have a weight, most of them a negligible one.

    References
    ----------
    Mehrotra, "On the implementation of a primal-dual interior point method", SIAM J. Optim. 2 (1992); Wright,
    "Primal-Dual Interior-Point Methods", SIAM, 1997, chapter 10.

    Examples
    --------
    >>> problem = LassoProblem(np.eye(3), [0.0, 0.0, 3.0], beta=0.1)
    >>> result = InteriorPoint().solve(problem)
    >>> result.status, result.coefficients.columns.tolist(), result.coefficients.values.round(6).tolist()
    (<Status.OPTIMAL: 'optimal'>, [2], [[2.55]])
    """

    tol: float = 1e-8
    max_iter: int = 100
    basic: bool = True

    @staticmethod
    def memory(problem: LassoProblem) -> float:
        """Return the bytes of the normal matrix and its factor, and of the scaled columns."""
        n, N = problem.K.shape
        order = problem.outputs * n if problem.outputs > 1 else min(n, N)
        return float(8 * (3 * order**2 + n * N + 12 * N * problem.outputs))

    @handed_over
    def solve(self, problem: LassoProblem) -> Result[Weights]:
        """Minimize the problem, in one BLAS thread where a step is short.

        Raises ArgumentError: A normal matrix of order above 8000: more than that many rows (times outputs).
        """
        self.admit(problem, LassoProblem)
        n, N = problem.K.shape
        self.admit_memory(self.memory(problem), f"{n} rows, {N} columns", "Use WorkingSet, or fewer rows.")
        with ONE_BLAS_THREAD if N * (n * problem.outputs) ** 2 < _SMALL else nullcontext():
            watch = Watch[Weights](self, problem.relative_gap, "try a larger tol, or data scaled more evenly")
            with watch, np.errstate(all="ignore"):  # what overflows is not finite afterwards, and is judged then
                self._start(problem, watch)
            if self.basic:
                with watch:
                    make_basic(problem, watch, self.tol)
        return watch.result("interior_point", watch.point)

    def _start(self, problem: LassoProblem, watch: Watch[Weights]) -> None:
        """Judge the best constant, and go on from there if it is not optimal."""
        terms = DualTerms(problem.datafit, problem.Q)
        n, N = problem.K.shape
        null = Weights(np.zeros(0, dtype=np.intp), np.zeros((0, problem.outputs)), terms.null[0].copy())
        if not problem.fit_intercept:
            null = null._replace(intercept=np.zeros(problem.outputs))
        order = terms.mix.shape[1] * n
        if problem.outputs == 1:
            order = min(order, N)
        optimal = problem.dual_norm(terms.null_theta) <= n * problem.beta
        if order > _LARGEST and not optimal:
            raise fail(
                "problem",
                "InteriorPoint.solve",
                f"of rows × outputs ≤ {_LARGEST}, the order of a dense matrix",
                describe(f"{n} rows, {problem.outputs} outputs of loss={problem.loss!r}"),
                "Use FISTA, or fewer rows.",
            )
        f = problem.predictions(null)
        watch.check(0, problem.objective(null, f), problem.bound_at(terms.null_theta), null, f)
        if watch.status is not None:
            return None
        if optimal:  # but for rounding
            return watch.stop(Status.STALLED)
        idle = terms.idle()
        if idle.any():
            return self._without(problem, watch, idle)
        return self._run(CentralPath(problem, terms), watch)

    def _run(self, path: CentralPath, watch: Watch[Weights]) -> None:
        """Take steps until the watch or rounding ends them."""
        columns = np.arange(path.problem.K.shape[1])
        least, since = np.inf, 0
        for k in count(1):
            try:
                # a share of the bound: the objective may start orders above the optimum, and would lift the products
                moved = path.step(_FLOOR * self.tol * max(watch.bound.value, 0.0), watch.gap)
            except np.linalg.LinAlgError:
                moved = False
            if not moved:
                return watch.stop(Status.STALLED)
            weights = Weights(columns, path.weights(), path.intercept())
            watch.check(k, path.objective(), path.problem.bound_at(path.theta), weights, path.f)
            least, since = (watch.gap, 0) if watch.gap < 0.9 * least else (least, since + 1)
            if watch.status is not None:
                return None
            if since >= _STALLED and watch.gap <= _LATE:
                return watch.stop(Status.STALLED)
        return None

    def _without(self, problem: LassoProblem, watch: Watch[Weights], idle: NDArray[np.bool_]) -> None:
        """Solve for the outputs that the intercept does not meet alone."""
        rest = np.flatnonzero(~idle)
        smaller = LassoProblem(
            problem.K,
            problem.datafit.y[:, rest],
            problem.beta,
            loss=problem.datafit.loss,
            fit_intercept=problem.fit_intercept,
            sample_weight=problem.datafit.sample_weight,
        )
        result = self.after(watch.seconds).solve(smaller)
        values = np.zeros((result.coefficients.columns.size, problem.outputs))
        values[:, rest] = result.coefficients.values
        intercept = watch.point.intercept.copy()
        intercept[rest] = result.coefficients.intercept
        theta = np.zeros_like(problem.datafit.y)
        theta[:, rest] = result.dual_point
        weights = Weights(result.coefficients.columns, values, intercept)
        f = problem.predictions(weights)
        watch.check(result.n_iter, problem.objective(weights, f), problem.bound_at(theta), weights, f)
        if not result.converged or watch.status is None:
            watch.stop(Status.STALLED if result.converged else result.status)


def purify(K: Array, weights: Weights, fit_intercept: bool) -> Weights:
    r"""Return weights on linearly independent columns, with the same predictions and no larger penalty.

    Carathéodory's argument as a "push" of linear programming. The solution is :math:`\sum_jx_ja_j` with x = 1 and the
    contributions :math:`a_j = K_jZ_j` (n C numbers, centered if there is an intercept), at the cost
    :math:`\sum_jx_j||Z_j||`. As long as the contributions are dependent, a null vector is followed in the direction in
    which the cost does not rise, until some x is zero; that column is dropped. Each group stays on its own ray.

    At most :math:`\mathrm{rank}[a_1\dots a_m]` columns remain: n for one output, n - 1 with an intercept, and C times
    as many for C outputs.

    ``K`` (n, N). ``weights``: on columns of K. ``fit_intercept``: whether the intercept may move. Return value: on a
    subset of the columns. Predictions differ by rounding of the largest contribution. Raises ArgumentError: the weights
    do not belong to columns of K.
    """
    columns, values, intercept = weights
    if values.shape[:1] != columns.shape or values.ndim != 2 or np.max(columns, initial=-1) >= K.shape[1]:
        raise fail(
            "weights",
            "purify",
            f"on columns of K, which has {K.shape[1]}, with values (m, C)",
            describe(f"columns up to {np.max(columns, initial=-1)}, values of shape {values.shape}"),
        )
    norms = np.linalg.norm(values, axis=1)
    columns, values, norms = columns[norms > 0], values[norms > 0], norms[norms > 0]
    if columns.size == 0:
        return Weights(columns, values, intercept)
    S = K[:, columns]
    contributions = S[:, None, :] * values.T[None]  # (n, C, m)
    if fit_intercept:
        contributions = contributions - contributions.mean(axis=0)
    x = _push(contributions.reshape(-1, columns.size), norms)
    kept = np.flatnonzero(x)
    moved = values[kept] * x[kept, None]
    if fit_intercept:
        shift = S[:, kept] @ moved - S @ values
        intercept = intercept - shift.mean(axis=0)
    return Weights(columns[kept], moved, intercept)


def _push(A: Array, cost: Array) -> Array:
    """Return x ≥ 0 with Ax = A1, cost·x ≤ cost·1 and independent columns where x > 0."""
    m = A.shape[1]
    R, order = qr(A, mode="r", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diagonal(R))
    rank = int(np.count_nonzero(diagonal > _RANK * diagonal[0])) if diagonal[0] > 0 else 0
    x = np.ones(m)
    if rank == m:
        return x
    if rank == 0:
        return np.zeros(m)
    T = solve_triangular(R[:rank, :rank], R[:rank, rank:], check_finite=False)  # basic columns @ T = the others
    basis, rest = order[:rank].copy(), order[rank:].copy()
    level = np.ones(rank)  # x of the basic columns
    while rest.size:
        t = T[:, -1]  # the other with the smallest part outside the basis: x falls, or rises if that is cheaper
        least_entry = _ZERO * np.abs(t).max()
        rises = cost[rest[-1]] < cost[basis] @ t and (t > least_entry).any()  # what rises without end is rounding
        sign = 1.0 if rises else -1.0
        falls = sign * t > least_entry
        step = np.full(rank, np.inf)
        step[falls] = level[falls] / np.abs(t[falls])
        least = float(step.min())
        if sign < 0 and least >= 1.0:
            level = np.maximum(level + t, 0.0)
        else:
            ties = np.flatnonzero(step <= least * (1 + _TIES) + np.finfo(float).tiny)
            out = ties[np.argmax(np.abs(t[ties]))]
            level = np.maximum(level - sign * least * t, 0.0)
            level[out] = 1.0 + sign * least
            basis[out] = rest[-1]
            row = T[out, :-1] / t[out]
            T[:, :-1] -= np.outer(t, row)
            T[out, :-1] = row
        T, rest = T[:, :-1], rest[:-1]
    x = np.zeros(m)
    exact = np.linalg.lstsq(A[:, basis], A.sum(axis=1), rcond=None)[0]  # undoes the rounding of the pivots
    x[basis] = exact if _error(A, basis, exact) < _error(A, basis, level) else level
    return x


def _error(A: Array, basis: NDArray[np.intp], x: Array) -> float:
    return float(np.linalg.norm(A[:, basis] @ x - A.sum(axis=1)))


def polished(problem: LassoProblem, weights: Weights, watch: Watch[Any], tol: float) -> Weights:
    """Return a basic solution whose objective is larger by a tenth of the gap at most, or the best that was found.

    The smallest weights are left out, the rest is purified, and Newton's method solves the optimality conditions on
    the columns that remain, K_jᵀθ = nβ sign(z_j). If the objective ends above that, fewer weights are left out;
    with none left out it is that of ``weights`` up to rounding. What would take more than ``max_time`` is left.
    """
    objective, bound = watch.objective, watch.bound.value
    reached = bound + tol * objective  # up to here the gap still is what was asked for
    allowed = max(objective, min(objective + _SLACK * max(objective - bound, 0.0), reached))
    norms = np.linalg.norm(weights.values, axis=1)
    order = np.argsort(norms)
    below = np.cumsum(norms[order])
    best, lowest = weights, np.inf
    for cut in _CUTS:
        kept = np.sort(order[below > cut * below[-1]]) if norms.size else order
        entries = problem.n * problem.outputs
        if not watch.affords(entries * kept.size * min(entries, kept.size) / _PIVOTED):
            break
        vertex = purify(
            problem.K, Weights(weights.columns[kept], weights.values[kept], weights.intercept), problem.fit_intercept
        )
        if problem.outputs == 1:
            vertex = _newton(problem, vertex, watch)
        value = problem.objective(vertex)
        if value < lowest:
            best, lowest = vertex, value
        if lowest <= allowed:
            break
    return best


def make_basic(problem: LassoProblem, watch: Watch[Weights], tol: float) -> None:
    """Take a basic form of the best point, with the bound of its own residual if that is better."""
    weights = polished(problem, watch.point, watch, tol)
    f = problem.predictions(weights)
    watch.polish(problem.objective(weights, f), problem.dual_bound(f), weights, f)


def _newton(problem: LassoProblem, start: Weights, watch: Watch[Any]) -> Weights:
    """Newton steps on the columns and signs of ``start``; a column whose weight reaches zero is dropped."""
    best, lowest = start, problem.objective(start)
    current = start
    for _ in range(0 if watch.late else _STEPS):
        weights, whole = _newton_step(problem, current)
        value = problem.objective(weights)
        if value < lowest:
            best, lowest = weights, value
        elif whole or watch.late:
            break
        current = weights
    return best


def _newton_step(problem: LassoProblem, weights: Weights) -> tuple[Weights, bool]:
    """One step on the smooth problem that the signs leave, up to the first change of sign; whether it was whole."""
    datafit = problem.datafit
    m = weights.columns.size
    z, t = weights.values[:, 0], weights.intercept
    theta = datafit.residual(problem.predictions(weights))
    low, high = datafit.dual_domain()
    with np.errstate(divide="ignore", over="ignore"):  # where the loss is straight its conjugate has no curvature
        bend = np.where((theta > low) & (theta < high), 1 / np.sqrt(datafit.dual_curvature(theta)), 0.0)
    J = np.concatenate([problem.K[:, weights.columns], np.ones((problem.n, int(problem.fit_intercept)))], axis=1)
    size = np.linalg.norm(J, axis=0)
    slope = -(J.T @ theta[:, 0]) / size
    slope[:m] += problem.n * problem.beta * np.sign(z) / size[:m]
    if not 0 < J.shape[1] <= problem.n:
        return weights, True
    R = np.linalg.qr(bend * J / size, mode="r")
    diagonal = np.abs(np.diagonal(R))
    if diagonal.min() <= _SINGULAR * diagonal.max():
        return weights, True
    move = -solve_triangular(R, solve_triangular(R, slope, trans="T")) / size
    falls = move[:m] * z < 0
    ratios = np.full(m, np.inf)
    ratios[falls] = -z[falls] / move[:m][falls]
    step = min(1.0, float(ratios.min(initial=np.inf)))
    kept = ratios > step
    z = z + step * move[:m]
    t = t + step * move[m:] if problem.fit_intercept else t
    return Weights(weights.columns[kept], z[kept, None], t), step == 1.0
