"""Small Lasso problems of every kind, and their optimal values by CVXPY."""

import cvxpy as cp
import numpy as np

from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.problems.loss_registry import LOSSES
from support.problems import delta_of

KINDS = ["wide", "tall", "repeated", "low rank", "integers"]


def dictionary(kind, rng):
    """Columns of neurons (n, N): more or fewer columns than rows, duplicates and zeros, rank 3, small integers."""
    n, N = (12, 60) if kind != "tall" else (30, 8)
    K = np.maximum(rng.standard_normal((n, 3)) @ rng.standard_normal((3, N)) + rng.standard_normal(N), 0)
    if kind == "repeated":
        K = np.concatenate([K, K[:, :9], np.zeros((n, 2)), K[:, :5]], axis=1)
    if kind == "low rank":
        K = rng.standard_normal((n, 3)) @ rng.standard_normal((3, N))
    if kind == "integers":
        K = np.maximum(rng.integers(-2, 3, (n, N)), 0).astype(float)
    return K


def lasso(loss="squared", kind="wide", fit_intercept=True, outputs=1, share=0.05, seed=0, scale=1.0, **options):
    """Return a problem at ``share`` of its largest beta; K is multiplied by ``scale``."""
    rng = np.random.default_rng(seed)
    K = scale * dictionary(kind, rng)
    n = len(K)
    y = rng.standard_normal((n, outputs))
    if LOSSES[loss].labels is not None:
        off, on = LOSSES[loss].labels
        y = np.where(y > 0.2, on, off) if LOSSES[loss].separable else np.eye(outputs)[np.arange(n) % outputs]
    options = {"loss": loss, "fit_intercept": fit_intercept, **delta_of(loss, 0.5), **options}
    return LassoProblem(K, y, share * LassoProblem(K, y, 1.0, **options).beta_max(), **options)


def reference(problem, unit=1.0):
    """Optimal value by CVXPY; the columns are divided by ``unit`` first, for solvers that want numbers near one."""
    (n, C), y = problem.datafit.y.shape, problem.datafit.y
    Z = cp.Variable((problem.K.shape[1], C))
    t = cp.Variable((1, C)) if problem.fit_intercept else np.zeros((1, C))
    f = (problem.K / unit) @ Z + np.ones((n, 1)) @ t
    value = problem.datafit.loss.cvxpy(cp, f, y, np.ones_like(y))
    return cp.Problem(cp.Minimize(value / n + problem.beta / unit * cp.sum(cp.norm(Z, 2, axis=1)))).solve("CLARABEL")
