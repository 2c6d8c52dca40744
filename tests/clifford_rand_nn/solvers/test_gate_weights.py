"""Newton's method in the weights of the gates, on the kernel and on sums: derivatives, linear algebra, paths."""

import numpy as np
import pytest
from scipy.optimize import nnls

from clifford_rand_nn import activation_patterns, sample_gates
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers import gate_weights as module
from clifford_rand_nn.solvers.gate_kernel import GatedKernel, KernelSystem
from clifford_rand_nn.solvers.gate_weights import GramWeights, KernelWeights, Sizes, bounded_quadratic, predicted
from clifford_rand_nn.solvers.gram_design import GatedDesign
from clifford_rand_nn.solvers.gram_newton import GramNewton
from clifford_rand_nn.solvers.gram_smooth import QuadraticSum
from clifford_rand_nn.solvers.kernel_interior_point import KernelInteriorPoint
from support.problems import FLAGS

TOL = 1e-7


def problem_of(n=40, d=3, m=8, outputs=2, bias=True, fit_intercept=True, weighted=False, seed=0, X=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5 if X is None else X
    n = len(X)
    D, _ = activation_patterns(X, sample_gates(X, m, method="gaussian", bias=bias, random_state=rng))
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
def test_a_system_with_a_border_meets_its_equalities(bias, fit_intercept):
    problem = problem_of(outputs=1, bias=bias, fit_intercept=fit_intercept)
    kernel, rng, n = GatedKernel(problem), np.random.default_rng(0), problem.n
    eta, h = rng.uniform(0, 1, problem.map.n_patterns), rng.uniform(0.5, 2, (n, 1))
    target, theta = rng.standard_normal((2, n, 1))
    border = kernel.biases(1, 1)
    moved, c = KernelSystem(kernel, eta, h, False, {}).constrained(border, target, theta)
    K = (kernel.rows @ kernel.rows.T) * ((kernel.mask * eta) @ kernel.mask.T)
    np.testing.assert_allclose(border.reshape(n, -1).T @ moved, 0, atol=1e-10)
    np.testing.assert_allclose(h * (moved - theta) + K @ (moved - theta), target - border @ c, atol=1e-9)


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
    monkeypatch.setattr("clifford_rand_nn.solvers.kernel_interior_point._NEAR", 2.0)
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


def sums_problem(n=300, d=3, m=10, C=3, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.2
    y = np.maximum(X @ rng.standard_normal((d, 6)), 0) @ rng.standard_normal((6, C)) + rng.standard_normal((n, C))
    return GatedReLUProblem(X, y, X @ rng.standard_normal((d, m)) + 0.3 >= 0, 1.0, **options)


def value_at(problem, a, radius):
    """φ by its definition: a ridge regression with the weights' inverses, by a solver of linear systems."""
    design = GatedDesign(problem, np.inf)
    smooth = QuadraticSum(design, problem.datafit)
    ridge = np.diag(np.concatenate([np.repeat(1 / a, design.r), np.zeros(design.q)]))
    x = np.linalg.solve(smooth.G + ridge, smooth.H)
    smooth.move_to(x)
    return smooth.value + 0.5 * float((design.squares(x) / a + radius**2 * a).sum()), design.squares(smooth.slope)


@pytest.mark.parametrize("bias", [True, False])
def test_the_derivatives_are_those_of_the_value(bias):
    problem = sums_problem(m=6, bias=bias, sample_weight=np.linspace(0.5, 2, 300))
    design = GatedDesign(problem, np.inf)
    a, radius, h = np.random.default_rng(1).uniform(0.01, 0.1, design.P), 20.0, 1e-6
    weights = GramWeights(design, QuadraticSum(design, problem.datafit), radius, a)
    value, squares = value_at(problem, a, radius)
    assert weights._value == pytest.approx(value, rel=1e-9)
    for i in range(design.P):
        up, down = (value_at(problem, a + step * np.eye(design.P)[i], radius) for step in (h, -h))
        assert (up[0] - down[0]) / (2 * h) == pytest.approx(0.5 * (radius**2 - squares[i]), rel=1e-4, abs=1e-3)
        bends = (down[1] - up[1]) / (4 * h)
        np.testing.assert_allclose(weights._second_derivatives()[i], bends, rtol=1e-4, atol=1e-5 * abs(bends).max())


def test_a_gate_without_weight_has_the_derivatives_of_a_small_one():
    problem = sums_problem(m=6)
    design = GatedDesign(problem, np.inf)
    a = np.full(design.P, 0.05)
    found = []
    for least in (0.0, 1e-9):
        a[2] = least
        found.append(GramWeights(design, QuadraticSum(design, problem.datafit), 20.0, a)._second_derivatives())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)


@pytest.mark.parametrize(("bias", "fit_intercept"), [(True, True), (False, True), (False, False)])
def test_every_beta_of_a_path_is_solved_in_a_few_steps_and_proved(bias, fit_intercept):
    w = np.linspace(0.5, 2, 150) if bias else None
    problem = sums_problem(n=150, bias=bias, fit_intercept=fit_intercept, sample_weight=w)
    kernel, steps, gates = [], [], []
    for beta in problem.beta_max() * np.geomspace(0.9, 1e-3, 15):
        problem.penalty.beta = beta
        ours = GramNewton(tol=1e-8).solve(problem, None, kernel)
        assert ours.status == "optimal"
        bound = problem.dual_bound(ours.fitted).value  # by passes over the rows
        assert problem.relative_gap(ours.objective, bound) <= 2e-8
        steps.append(ours.n_iter)
        gates.append(int((np.abs(ours.coefficients.coef).max(axis=(0, 2)) > 0).sum()))
    assert max(steps) <= 6
    assert np.mean(steps) <= 4
    assert min(gates) < max(gates) == problem.map.n_patterns


def test_steps_may_lead_through_a_network_without_gates():
    problem = sums_problem(n=200, d=2, m=12, bias=False, fit_intercept=False)
    design = GatedDesign(problem, np.inf)
    smooth, empty = QuadraticSum(design, problem.datafit), np.zeros(design.P)
    weights = GramWeights(design, smooth, 0.6 * problem.n * problem.beta_max(), empty)
    assert not weights.x.any()
    assert weights.step(False) == 1.0
    assert weights.a.any()


@pytest.mark.parametrize("broken", ["no step is good", "no factor"])
def test_the_central_path_goes_on_where_weights_do_not(broken, monkeypatch):
    def fails(self, *arguments):
        if broken == "no factor":
            raise np.linalg.LinAlgError
        return 0.0

    monkeypatch.setattr(GramWeights, "step", fails)
    problem = sums_problem()
    problem.penalty.beta = 0.05 * problem.beta_max()
    found = GramNewton(tol=1e-8).solve(problem)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(KernelInteriorPoint(tol=1e-9).solve(problem).objective, rel=2e-8)


def test_a_parabola_in_the_logarithm_is_predicted_as_it_is():
    def at(radius):
        t = np.log(radius)
        return Sizes(radius, np.array([3 - t + 0.2 * t**2, 0.0]), np.array([-1 + 0.4 * t, 0.0]))

    trail = [at(2.0), at(1.5)]
    np.testing.assert_allclose(predicted(trail, 1.1), at(1.1).size / 1.1)
    tangent = trail[1].size + np.log(1.1 / 1.5) * trail[1].change
    np.testing.assert_allclose(predicted(trail[1:], 1.1), tangent / 1.1)
    far = trail[1].size - trail[1].change
    np.testing.assert_allclose(predicted(trail, 1e-4), far / 1e-4)


def test_what_rounding_leaves_of_columns_that_biases_explain_is_not_fitted():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((2, 3)), 6, axis=0)  # with a gate's bias two rows leave nothing to fit
    problem = GatedReLUProblem(X, rng.standard_normal((12, 2)), X @ rng.standard_normal((3, 8)) >= 0, 1e-18, bias=True)
    found = GramNewton(tol=1e-8).solve(problem)
    assert found.status == "stalled"  # rounding of sums over rows is more than n beta, so that no bound is near
    assert not found.coefficients.coef.any()
    np.testing.assert_allclose(found.fitted, problem.null_predictions, atol=1e-12)


def test_copies_of_gates_are_no_obstacle():
    problem = sums_problem(n=200, m=5)
    D = problem.map.patterns
    twice = GatedReLUProblem(problem.X, problem.datafit.y, np.concatenate([D, D], axis=1), 1.0)
    for share in (0.5, 0.05, 0.005):
        problem.penalty.beta = twice.penalty.beta = share * problem.beta_max()
        one, two = (GramNewton(tol=1e-8).solve(each) for each in (problem, twice))
        assert two.status == "optimal"
        assert two.n_iter <= 8
        assert two.objective == pytest.approx(one.objective, rel=3e-8)
