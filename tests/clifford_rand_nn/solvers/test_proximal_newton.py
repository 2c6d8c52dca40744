"""Proximal steps by Newton's method: optimal by CVXPY and by conditions of its own, weights are copies, limits hold."""

import numpy as np
import pytest

from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.solvers import lasso_proximal_newton
from clifford_rand_nn.solvers.lasso_interior_point import InteriorPoint
from clifford_rand_nn.solvers.lasso_proximal_newton import ProximalNewton
from clifford_rand_nn.solvers.lasso_working_set import WorkingSet
from support.lasso import KINDS, lasso, reference
from support.pairwise import pairwise


def meets_conditions(problem, result):
    """The optimality conditions: K_j^T theta = n beta Z_j/|Z_j| where there is a weight, and no larger elsewhere."""
    columns, values, intercept = result.coefficients
    theta = problem.datafit.residual(problem.K[:, columns] @ values + intercept)
    radius = problem.n * problem.beta
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    assert np.abs(problem.K[:, columns].T @ theta - radius * values / norms).max() <= 1e-3 * radius
    assert np.linalg.norm(problem.K.T @ theta, axis=1).max() <= radius * (1 + 1e-4)
    if problem.fit_intercept:
        assert np.abs(theta.sum(axis=0)).max() <= 1e-9 * np.abs(theta).sum()


@pairwise({"outputs": [1, 3], "fit_intercept": [True, False], "kind": KINDS})
def test_agrees_with_cvxpy(kind, fit_intercept, outputs):
    problem = lasso("squared", kind, fit_intercept, outputs=outputs)
    result = ProximalNewton().solve(problem)
    assert result.status == "optimal"
    assert result.relative_gap <= 1e-8
    value = reference(problem)
    assert result.objective == pytest.approx(value, rel=2e-6)
    assert result.objective - result.duality_gap <= value * (1 + 1e-8)
    meets_conditions(problem, result)


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_units_of_the_columns_do_not_count(scale):
    one = ProximalNewton().solve(lasso(outputs=3))
    other = ProximalNewton().solve(lasso(outputs=3, scale=scale))
    assert other.status == "optimal"
    assert other.objective == pytest.approx(one.objective, rel=1e-7)


@pytest.mark.parametrize("share", [1e-2, 1e-4, 1e-6])
def test_small_beta(share):
    result = ProximalNewton().solve(lasso(kind="tall", outputs=3, share=share))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(
        InteriorPoint().solve(lasso(kind="tall", outputs=3, share=share)).objective, rel=1e-6
    )


def test_weights_are_copies():
    rng = np.random.default_rng(3)
    K, y, copies = np.maximum(rng.standard_normal((20, 50)), 0), rng.standard_normal((20, 3)), rng.integers(1, 4, 20)
    few = LassoProblem(K, y, 0.02, sample_weight=copies)
    many = LassoProblem(np.repeat(K, copies, axis=0), np.repeat(y, copies, axis=0), 0.02)
    one, two = ProximalNewton().solve(few), ProximalNewton().solve(many)
    assert one.objective == pytest.approx(two.objective, rel=1e-7)
    np.testing.assert_allclose(one.fitted.repeat(copies, axis=0), two.fitted, atol=1e-4)


def test_working_set_has_the_same_optimum():
    """One set of columns after another, some of them dropped, each begun from the weights of the last one."""
    rng = np.random.default_rng(1)
    K, y = np.maximum(rng.standard_normal((30, 400)), 0), rng.standard_normal((30, 4))
    problem = LassoProblem(K, y, 0.01)
    one, other = ProximalNewton().solve(problem), WorkingSet(most=20).solve_columns(problem)
    assert one.status == other.status == "optimal"
    assert other.objective == pytest.approx(one.objective, rel=2e-8)


def test_a_start_that_is_optimal_stays():
    problem = lasso(outputs=3)
    first = ProximalNewton(tol=1e-8).solve(problem)
    again = ProximalNewton(tol=1e-7).solve(problem, first.coefficients)
    assert again.n_iter == 0
    assert again.objective <= first.objective * (1 + 1e-9)


def test_no_factor_makes_steps_shorter(monkeypatch):
    """Where rounding leaves no factor, a step ends and the next are shorter; the optimum is the same."""
    problem, calls = lasso(outputs=3), []
    value = ProximalNewton().solve(problem).objective
    cholesky = np.linalg.cholesky

    def failing(A):
        calls.append(A)
        if len(calls) == 20:
            raise np.linalg.LinAlgError
        return cholesky(A)

    monkeypatch.setattr(lasso_proximal_newton.np.linalg, "cholesky", failing)
    result = ProximalNewton().solve(problem)
    assert len(calls) > 20
    assert result.status == "optimal"
    assert result.objective == pytest.approx(value, rel=1e-7)
