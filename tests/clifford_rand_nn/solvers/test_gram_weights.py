"""Weights of gates by Newton's method: their derivatives, gates that come and go, and paths that are predicted."""

import numpy as np
import pytest

from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers.gate_weights import GramWeights, Sizes, predicted
from clifford_rand_nn.solvers.gram.design import GatedDesign
from clifford_rand_nn.solvers.gram.newton import GramNewton
from clifford_rand_nn.solvers.gram.smooth import QuadraticSum
from clifford_rand_nn.solvers.kernel.interior_point import KernelInteriorPoint


def problem_of(n=300, d=3, m=10, C=3, seed=0, **options):
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
    problem = problem_of(m=6, bias=bias, sample_weight=np.linspace(0.5, 2, 300))
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
    problem = problem_of(m=6)
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
    problem = problem_of(n=150, bias=bias, fit_intercept=fit_intercept, sample_weight=w)
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
    problem = problem_of(n=200, d=2, m=12, bias=False, fit_intercept=False)
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
    problem = problem_of()
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
    problem = problem_of(n=200, m=5)
    D = problem.map.patterns
    twice = GatedReLUProblem(problem.X, problem.datafit.y, np.concatenate([D, D], axis=1), 1.0)
    for share in (0.5, 0.05, 0.005):
        problem.penalty.beta = twice.penalty.beta = share * problem.beta_max()
        one, two = (GramNewton(tol=1e-8).solve(each) for each in (problem, twice))
        assert two.status == "optimal"
        assert two.n_iter <= 8
        assert two.objective == pytest.approx(one.objective, rel=3e-8)
