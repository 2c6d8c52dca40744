"""Small random problems of every kind, for the tests of problems and solvers."""

import numpy as np

from clifford_rand_nn import GatedReLUProblem, activation_patterns, sample_gates

LOSSES = ["squared", "huber", "logistic", "squared_hinge", "softmax"]
FLAGS = [(True, True), (True, False), (False, True), (False, False)]


def targets(loss, n, rng):
    if loss in ("squared", "huber"):
        return rng.standard_normal((n, 2))
    if loss == "squared_hinge":
        return np.where(rng.random((n, 2)) < 0.5, -1.0, 1.0)
    if loss == "logistic":
        return np.where(rng.random(n) < 0.5, -1.0, 1.0)
    return np.eye(3)[rng.integers(0, 3, n)]


def make(loss="squared", bias=True, fit_intercept=True, n=30, d=3, beta=0.03, seed=0, m=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 1
    patterns, _ = activation_patterns(X, sample_gates(X, m, bias=bias, rng=rng))
    y = targets(loss, n, rng)
    return GatedReLUProblem(X, y, patterns, beta, loss=loss, bias=bias, fit_intercept=fit_intercept)
