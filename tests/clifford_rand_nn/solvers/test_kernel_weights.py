"""Newton's method in the weights of the gates: its derivatives, its linear algebra, and the paths that it follows."""

import numpy as np
import pytest
from scipy.optimize import nnls

from clifford_rand_nn import activation_patterns, sample_gates
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers import gate_weights as module
from clifford_rand_nn.solvers.gate_weights import KernelWeights, bounded_quadratic
from clifford_rand_nn.solvers.kernel.gram import GatedKernel
from clifford_rand_nn.solvers.kernel.interior_point import KernelInteriorPoint
from support.problems import FLAGS

TOL = 1e-7


def problem_of(n=40, d=3, m=8, outputs=2, bias=True, fit_intercept=True, weighted=False, seed=0, X=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5 if X is None else X
    n = len(X)
    D, _ = activation_patterns(X, sample_gates(X, m, method="gaussian", bias=bias, rng=rng))
    y = np.maximum(X @ rng.standard_normal((X.shape[1], outputs)), 0) + 0.1 * rng.standard_normal((n, outputs))
    weights = rng.uniform(0.2, 3, n) if weighted else None
    problem = GatedReLUProblem(X, y, D, 1.0, bias=bias, fit_intercept=fit_intercept, sample_weight=weights)
    problem.penalty.beta = 0.2 * problem.beta_max()
    return problem


def at(problem, a):
    """The state with these weights, solved to rounding."""
    weights = KernelWeights(problem, GatedKernel(problem), problem.null_point())
    weights.a = a
    weights._factorize()
    weights._solve(1e-14)
    return weights


def ridge(problem, a):
    """theta and the value of the kernel ridge regression with these weights, by a dense saddle-point system."""
    kernel = GatedKernel(problem)
    n, q = kernel.Q.shape
    gram = kernel.rows @ kernel.rows.T
    K = sum(w * np.outer(m, m) * gram for w, m in zip(a, kernel.mask.T, strict=True))
    M = np.diag(np.ones(n) / np.broadcast_to(problem.datafit.weights, (n, 1))[:, 0]) + K
    saddle = np.block([[M, kernel.Q], [kernel.Q.T, np.zeros((q, q))]])
    theta = np.linalg.solve(saddle, np.concatenate([problem.datafit.y, np.zeros((q, problem.outputs))]))[:n]
    return theta, 0.5 * np.vdot(theta, M @ theta) - np.vdot(theta, problem.datafit.y)


@pytest.mark.parametrize(("bias", "fit_intercept"), FLAGS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_dual_point_solves_the_ridge_regression_of_the_weights(bias, fit_intercept, weighted):
    problem = problem_of(bias=bias, fit_intercept=fit_intercept, weighted=weighted)
    a = np.random.default_rng(1).uniform(0, 0.3, problem.map.n_patterns)
    a[::3] = 0
    weights = at(problem, a)
    theta, value = ridge(problem, a)
    np.testing.assert_allclose(weights.theta, theta, atol=1e-9 * np.abs(theta).max())
    z, f = weights.point()
    np.testing.assert_allclose(problem.predictions(z), f, atol=1e-9 * np.abs(f).max())
    # the predictions at which theta is the residual: the network is the best one with these weights
    np.testing.assert_allclose(problem.datafit.residual(f), theta, atol=1e-8 * np.abs(theta).max())
    assert value < 0


@pytest.mark.parametrize(("bias", "fit_intercept"), FLAGS)
def test_gradient_and_hessian_against_differences(bias, fit_intercept):
    problem = problem_of(bias=bias, fit_intercept=fit_intercept, weighted=True)
    P = problem.map.n_patterns
    a = np.random.default_rng(2).uniform(0.05, 0.3, P)
    weights, h = at(problem, a), 1e-5
    H = weights._curvature()
    gradient = 0.5 * weights._sizes() ** 2
    for i in range(P):
        up, down = (a + sign * h * np.eye(P)[i] for sign in (1, -1))
        assert (ridge(problem, up)[1] - ridge(problem, down)[1]) / (2 * h) == pytest.approx(gradient[i], rel=1e-5)
        column = 0.5 * (at(problem, up)._sizes() ** 2 - at(problem, down)._sizes() ** 2) / (2 * h)
        np.testing.assert_allclose(-H[:, i], column, atol=1e-5 * np.abs(H).max())


def test_a_stale_factor_serves_as_preconditioner():
    problem = problem_of(n=120, m=12)
    a = np.random.default_rng(3).uniform(0.05, 0.3, problem.map.n_patterns)
    weights = at(problem, a)
    near = a * np.random.default_rng(4).uniform(0.85, 1.15, len(a))
    weights.a = near
    assert weights._spread() < module._APART
    weights._solve(1e-12)  # with the factor of a
    np.testing.assert_allclose(weights.theta, ridge(problem, near)[0], atol=1e-9)
    weights.a = 3 * a
    assert weights._spread() > module._APART


def rows(kind):
    rng = np.random.default_rng(7)
    if kind == "n < d":
        return rng.standard_normal((15, 40))
    if kind == "d = 1":
        return rng.standard_normal((40, 1))
    if kind == "repeated":
        return np.repeat(rng.standard_normal((12, 3)), 4, axis=0)
    if kind == "low rank":
        return rng.standard_normal((40, 2)) @ rng.standard_normal((2, 6))
    if kind == "integers":
        return rng.integers(-3, 4, (50, 3)).astype(float)
    return 1e6 * rng.standard_normal((40, 3))


@pytest.mark.parametrize("kind", ["n < d", "d = 1", "repeated", "low rank", "integers", "large"])
@pytest.mark.parametrize("bias", [True, False])
def test_a_path_has_the_optimum_of_every_beta(kind, bias):
    problem = problem_of(X=rows(kind), bias=bias, outputs=1)
    top, start, kernel = problem.beta_max(), problem.null_point(), []
    solver = KernelInteriorPoint(tol=TOL)
    for share in [*np.geomspace(0.9, 1e-2, 6), 0.3, 0.95]:  # down, and up again
        problem.penalty.beta = share * top
        followed, cold = solver.solve(problem, start, kernel), solver.solve(problem)
        assert followed.status == cold.status == "optimal"
        assert followed.objective == pytest.approx(cold.objective, rel=2 * TOL)
        start = problem.point(followed.coefficients)


@pytest.mark.parametrize("bias", [True, False])
def test_few_steps_lead_from_one_beta_to_the_next_and_idle_gates_are_zero(bias):
    problem = problem_of(n=300, d=6, m=25, outputs=1, bias=bias)
    top, start, kernel, steps, gates = problem.beta_max(), problem.null_point(), [], [], []
    solver = KernelInteriorPoint(tol=1e-6)
    for share in np.geomspace(0.7, 1e-3, 18):
        problem.penalty.beta = share * top
        followed = solver.solve(problem, start, kernel)
        assert kernel[0].last is not None  # followed: the central path was not needed
        steps.append(followed.n_iter)
        gates.append(int((np.abs(followed.coefficients.coef).max(axis=(0, 2)) > 0).sum()))
        start = problem.point(followed.coefficients)
    assert max(steps) <= 7
    assert np.mean(steps) <= 4
    assert 1 <= gates[0] < gates[-1]


def test_a_jump_too_far_is_left_to_the_central_path():
    problem = problem_of(n=80, m=12, outputs=1, bias=False)
    top, kernel, solver = problem.beta_max(), [], KernelInteriorPoint(tol=TOL)
    problem.penalty.beta = 0.9 * top
    start = problem.point(solver.solve(problem, problem.null_point(), kernel).coefficients)
    problem.penalty.beta = 1e-6 * top
    far = solver.solve(problem, start, kernel)
    assert far.status == "optimal"
    assert far.objective == pytest.approx(solver.solve(problem).objective, rel=2 * TOL)


def test_another_problem_does_not_take_over_a_solution():
    one = problem_of(seed=0, bias=False)
    kernel, solver = [], KernelInteriorPoint(tol=TOL)
    start = one.point(solver.solve(one, one.null_point(), kernel).coefficients)
    again = solver.solve(one, start, kernel)
    assert again.n_iter == 0  # the last solution is judged first
    same_rows = GatedReLUProblem(one.X, -one.datafit.y, one.map.patterns, one.beta, bias=False)
    found = solver.solve(same_rows, start, kernel)
    assert found.objective == pytest.approx(solver.solve(same_rows).objective, rel=2 * TOL)


@pytest.mark.parametrize(("share", "bias"), [(0.95, True), (0.6, False), (0.3, True), (0.2, False)])
def test_near_beta_max_the_path_is_followed_from_the_null_network(share, bias, monkeypatch):
    problem = problem_of(n=150, d=5, m=20, outputs=1, bias=bias)
    problem.penalty.beta = share * problem.beta_max()
    kernel, other = [], []
    followed = KernelInteriorPoint(tol=TOL).solve(problem, None, kernel)
    assert followed.status == "optimal"
    assert kernel[0].last is not None
    assert followed.n_iter <= 6
    monkeypatch.setattr("clifford_rand_nn.solvers.kernel.interior_point._NEAR", 2.0)
    central = KernelInteriorPoint(tol=TOL).solve(problem, None, other)
    assert other[0].last is None
    assert followed.objective == pytest.approx(central.objective, rel=2 * TOL)


def test_an_interrupted_step_leaves_nothing_to_go_on_from(monkeypatch):
    problem = problem_of(n=60, m=12, outputs=1)
    top, kernel, solver = problem.beta_max(), [], KernelInteriorPoint(tol=TOL)
    problem.penalty.beta = 0.8 * top
    start = problem.point(solver.solve(problem, None, kernel).coefficients)
    assert kernel[0].last is not None

    def interrupted(self, tol):
        raise KeyboardInterrupt

    problem.penalty.beta = 0.5 * top
    with monkeypatch.context() as patch:
        patch.setattr(KernelWeights, "_solve", interrupted)
        half = solver.solve(problem, start, kernel)
    assert half.interrupted
    assert kernel[0].last is None
    again = solver.solve(problem, start, kernel)
    assert again.status == "optimal"
    assert again.objective == pytest.approx(solver.solve(problem).objective, rel=2 * TOL)


@pytest.mark.parametrize("seed", range(6))
def test_the_bounded_quadratic_against_nnls(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    P = 1 + 5 * seed
    A, b = rng.standard_normal((P + 5, P)), rng.standard_normal(P + 5)
    for exchanges in (20, 0):  # where pivoting cycles, nnls decides
        monkeypatch.setattr(module, "_ROUNDS", exchanges)
        x = bounded_quadratic(A.T @ A, A.T @ b, rng.random(P) < 0.5)
        np.testing.assert_allclose(x, nnls(A, b)[0], atol=1e-8)
