"""Small convex ReLU programs of every kind, for the tests of the problem and its solvers."""

import numpy as np

from clifford_rand_nn import activation_patterns, sample_gates
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from support.problems import REAL_LOSSES, delta_of, targets


def make_relu(
    loss="squared", penalty="group_l2", bias=True, fit_intercept=True, n=25, d=2, m=5, beta=0.02, seed=0, X_scale=1.0,
    y_scale=1.0, change=None, extremes=False,
):  # fmt: skip
    """Return a program whose X is ``change(X)`` of Gaussian data; ``extremes`` adds the all-on and all-off patterns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 1
    X = X if change is None else change(X)
    patterns, _ = activation_patterns(X, sample_gates(X, m, bias=bias, method="gaussian", random_state=rng))
    if extremes:
        patterns = np.hstack([patterns, np.ones((n, 1), bool), np.zeros((n, 1), bool)])
    y = targets(loss, n, rng).reshape(n, -1)[:, :1]
    unit = y_scale if loss in REAL_LOSSES else 1.0
    options = {"loss": loss, "penalty": penalty, "bias": bias, "fit_intercept": fit_intercept, **delta_of(loss, unit)}
    return ConvexReLUProblem(X * X_scale, y * unit, patterns, beta * X_scale * unit, **options)
