"""Every solver and path on a small problem, with limits given: what they end with when something stops them."""

import numpy as np
import pytest

from clifford_rand_nn import (
    ConvexNetworkRegressor,
    ConvexReLUClassifier,
    ConvexReLURegressor,
    GatedReLUClassifier,
    GatedReLURegressor,
    Shards,
    gated_path,
    lasso_path,
    relu_path,
    sample_gates,
)
from clifford_rand_nn.problems.gated import GatedReLUProblem, GatedRidgeProblem
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from clifford_rand_nn.solvers.augmented_lagrangian import AugmentedLagrangian
from clifford_rand_nn.solvers.cone_interior_point import ConeInteriorPoint
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.dispatch import AutoSolver
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gate_working_set import GateWorkingSet
from clifford_rand_nn.solvers.gram_newton import GramNewton
from clifford_rand_nn.solvers.kernel_interior_point import KernelInteriorPoint
from clifford_rand_nn.solvers.kernel_newton import KernelNewton
from clifford_rand_nn.solvers.lasso_interior_point import InteriorPoint
from clifford_rand_nn.solvers.lasso_majorize_minimize import MajorizeMinimize
from clifford_rand_nn.solvers.lasso_proximal_newton import ProximalNewton
from clifford_rand_nn.solvers.lasso_working_set import WorkingSet

RNG = np.random.default_rng(3)
X = RNG.standard_normal((90, 3))
Y = np.sign(X[:, 0] * X[:, 1]) + 0.3 * RNG.standard_normal(90)
SIGNS = np.sign(Y)
GATES = sample_gates(X, 30, random_state=1)
PATTERNS = GATES.activations(X)
K = np.maximum(X @ RNG.standard_normal((3, 400)), 0)
BETA = 1e-3

GATED = GatedReLUProblem(X, SIGNS, PATTERNS, BETA, loss="logistic", bias=False)
RIDGE = GatedRidgeProblem(X, SIGNS, PATTERNS, BETA, loss="logistic", bias=False)
RELU = ConvexReLUProblem(X, Y, PATTERNS, BETA)
LASSO = LassoProblem(K, SIGNS, BETA, loss="logistic")
SQUARED = LassoProblem(K[:, :60], Y, BETA)
CLASSES = np.eye(3)[(X @ RNG.standard_normal((3, 3))).argmax(axis=1)]
SOFTMAX = LassoProblem(K[:, :25], CLASSES, 1e-3, loss="softmax")


SOLVERS = {
    "fista": (GATED, lambda **limits: Fista(**limits, check_every=2).solve(GATED)),
    "gate working set": (GATED, lambda **limits: GateWorkingSet(**limits).solve(GATED)),
    "kernel": (GATED, lambda **limits: KernelInteriorPoint(**limits).solve(GATED)),
    "newton": (RIDGE, lambda **limits: KernelNewton(**limits).solve(RIDGE)),
    "gram": (GATED, lambda **limits: GramNewton(**limits).solve(GATED)),
    "auto": (GATED, lambda **limits: AutoSolver(**limits).solve(GATED)),
    "interior point": (LASSO, lambda **limits: InteriorPoint(**limits).solve(LASSO)),
    "working set": (LASSO, lambda **limits: WorkingSet(**limits, most=20).solve_columns(LASSO)),
    "cone": (RELU, lambda **limits: ConeInteriorPoint(**limits).solve(RELU)),
    "lagrangian": (RELU, lambda **limits: AugmentedLagrangian(**limits, check_every=2).solve(RELU)),
    "majorized": (SOFTMAX, lambda **limits: MajorizeMinimize(**limits).solve(SOFTMAX)),
    "proximal newton": (SQUARED, lambda **limits: ProximalNewton(**limits).solve(SQUARED)),
    "cvxpy": (RELU, lambda **limits: CvxpyReference(**limits).solve(RELU)),
}


def _fitted(model, *data):
    return lambda: model.fit(*data)


NESTED = {  # runs of which solvers are steps, of which one may be interrupted
    "majorized": lambda: MajorizeMinimize(tol=1e-9).solve(SOFTMAX),
    "relu, chosen": _fitted(ConvexReLUClassifier(2, random_state=0), X[:30], SIGNS[:30]),
    "relu, beta": _fitted(ConvexReLURegressor(20, beta=1e-4, max_iter=4, random_state=0), X, Y),
    "few": _fitted(ConvexNetworkRegressor(n_neurons=2, beta=0.1), X[:20], Y[:20]),
    "refined": _fitted(GatedReLURegressor(8, beta=1e-3, n_refinements=2, random_state=0), X, Y),
    "shards": _fitted(GatedReLUClassifier(1, beta=1e-3, tol=1e-6, random_state=0), Shards([X], [SIGNS])),
    "shards, chosen": _fitted(GatedReLUClassifier(2, random_state=0, tol=1e-3), Shards([X], [SIGNS])),
}
LONG = ("relu, chosen", "shards, chosen")
OURS = [name for name in SOLVERS if name != "cvxpy"]  # a foreign solver is interrupted as a whole


def is_sound(problem, result):
    """The point has the objective, and the bound is below the optimum."""
    assert np.isfinite(result.objective)
    assert 0 <= result.relative_gap < np.inf
    if isinstance(problem, GatedReLUProblem | GatedRidgeProblem):
        assert problem.objective(problem.point(result.coefficients)) == pytest.approx(result.objective, rel=1e-9)
    elif problem is not None:
        assert problem.objective(result.coefficients) == pytest.approx(result.objective, rel=1e-9)


PATHS = {
    "gated": lambda **o: gated_path(X, Y, GATES, bias=False, n_betas=8, eps=0.01, **o),
    "ridge": lambda **o: gated_path(X, SIGNS, GATES, loss="logistic", penalty="ridge", n_betas=8, eps=0.01, **o),
    "relu": lambda **o: relu_path(X, Y, GATES, n_betas=8, eps=0.01, **o),
    "lasso": lambda **o: lasso_path(X, Y, subsample=100, random_state=0, loss="huber", n_betas=8, eps=0.01, **o),
    "lasso, exact": lambda **o: lasso_path(X, Y, subsample=100, random_state=0, n_betas=8, eps=0.01, **o),
}
