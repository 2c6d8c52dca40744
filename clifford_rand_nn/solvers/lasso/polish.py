"""From nearly optimal weights to a basic solution that meets the optimality conditions to rounding."""

import numpy as np
from scipy.linalg import solve_triangular

from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.solvers.lasso.basic import purify

_CUTS = 1e-4, 1e-6, 1e-8, 0.0  # share of the penalty that the weights left out may have; the polish makes up for it
_STEPS = 30  # a step of the squared loss is exact unless a weight changes its sign
_SINGULAR = 1e-11  # least diagonal of the triangular factor of unit columns


def polished(problem: LassoProblem, weights: Weights, allowed: float) -> Weights:
    """Return a basic solution whose objective is at most ``allowed``, or the best that was found.

    The smallest weights are left out, the rest is purified, and Newton's method solves the optimality conditions on
    the columns that remain, K_jᵀθ = nβ sign(z_j). If the objective ends above ``allowed``, fewer weights are left out;
    with none left out it is that of ``weights`` up to rounding.
    """
    norms = np.linalg.norm(weights.values, axis=1)
    order = np.argsort(norms)
    below = np.cumsum(norms[order])
    best, lowest = weights, np.inf
    for cut in _CUTS:
        kept = np.sort(order[below > cut * below[-1]]) if norms.size else order
        found = purify(
            problem.K, Weights(weights.columns[kept], weights.values[kept], weights.intercept), problem.fit_intercept
        )
        if problem.outputs == 1:
            found = _newton(problem, found)
        value = problem.objective(found)
        if value < lowest:
            best, lowest = found, value
        if lowest <= allowed:
            break
    return best


def _newton(problem: LassoProblem, start: Weights) -> Weights:
    """Newton steps on the columns and signs of ``start``; a column whose weight reaches zero is dropped."""
    best, lowest = start, problem.objective(start)
    current = start
    for _ in range(_STEPS):
        found, whole = _newton_step(problem, current)
        value = problem.objective(found)
        if value < lowest:
            best, lowest = found, value
        elif whole:
            break
        current = found
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
