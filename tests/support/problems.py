"""Small random problems of every kind, for the tests of problems and solvers."""

import numpy as np

from clifford_rand_nn import activation_patterns, sample_gates
from clifford_rand_nn.problems import loss_registry as registry
from clifford_rand_nn.problems.gated import GatedReLUProblem

# every registered loss with a gradient: a new one goes through all tests that run over these
ALL_LOSSES = [loss for loss, kind in registry.LOSSES.items() if not kind.is_piecewise_linear]
LOSSES = [loss for loss in ALL_LOSSES if np.isfinite(registry.LOSSES[loss].curvature)]  # those that every solver takes
ONE_OUTPUT = [loss for loss in LOSSES if registry.LOSSES[loss].separable]
# of real targets, in units of their own
REAL_LOSSES = [loss for loss in LOSSES if registry.as_loss(loss, "test").has_units]
FLAGS = [(True, True), (True, False), (False, True), (False, False)]


def delta_of(loss, delta):
    """Return the option ``huber_delta`` where it acts."""
    return {"huber_delta": delta} if registry.has_delta(loss) else {}


def targets(loss, n, rng):
    record = registry.as_loss(loss, "targets")
    if loss == "poisson":
        return rng.poisson(2.0, (n, 2)).astype(float)
    if record.labels is None:
        return rng.standard_normal((n, 2))
    if not record.separable:
        return np.eye(3)[rng.integers(0, 3, n)]
    off, on = record.labels
    several = record.accepts(np.full((1, 2), on))
    return np.where(rng.random((n, 2) if several else n) < 0.5, off, on)


def make(loss="squared", bias=True, fit_intercept=True, n=30, d=3, beta=0.03, seed=0, m=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 1
    patterns, _ = activation_patterns(X, sample_gates(X, m, bias=bias, random_state=rng))
    y = targets(loss, n, rng)
    return GatedReLUProblem(X, y, patterns, beta, loss=loss, bias=bias, fit_intercept=fit_intercept)


def agree(a, b):
    """Assert that each objective is above the other's lower bound."""
    for upper, lower in ((a, b), (b, a)):
        assert lower.objective - lower.duality_gap <= upper.objective * (1 + 1e-12)
