"""Vertex solutions of the Lasso: as few columns as the rank allows, with the same predictions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.solvers.stopping import Watch

_RANK = 1e-12  # a column is dependent if its part outside the basis is below this share of the largest contribution
_TIES = 1e-9  # of the step: among ratios this close the largest pivot is taken (Harris)
_ZERO = 1e-11  # entries of the tableau, relative to its column, that are rounding and block nothing
_CUTS = 1e-4, 1e-6, 1e-8, 0.0  # share of the penalty that the weights left out may have; the polish makes up for it
_PIVOTED = 1e9  # multiplications a second of `purify`: 16 s for 2,000 rows and 3,750 columns
_SLACK = 0.1  # share of the gap by which the objective may rise
_STEPS = 30  # a step of the squared loss is exact unless a weight changes its sign
_SINGULAR = 1e-11  # least diagonal of the triangular factor of unit columns


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
