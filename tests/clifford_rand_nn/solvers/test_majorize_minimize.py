"""The softmax Lasso by quadratic models and Newton steps: it agrees with the interior point."""

import numpy as np
import pytest

from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.problems.loss_registry import as_loss
from clifford_rand_nn.solvers.base import Status
from clifford_rand_nn.solvers.lasso_interior_point import InteriorPoint
from clifford_rand_nn.solvers.lasso_majorize_minimize import MajorizeMinimize
from support.pairwise import pairwise


def problem_of(seed, share, weights=False, intercept=True, n=60, N=25, C=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    K = np.maximum(X @ rng.standard_normal((5, N)), 0)
    y = np.eye(C)[(X @ rng.standard_normal((5, C)) + rng.gumbel(size=(n, C))).argmax(axis=1)]
    w = rng.uniform(0.5, 2.0, n) if weights else None
    options = {"loss": "softmax", "fit_intercept": intercept, "sample_weight": w}
    return LassoProblem(K, y, share * LassoProblem(K, y, 1.0, **options).beta_max(), **options)


@pairwise({"intercept": [True, False], "weights": [False, True], "share": [0.3, 0.03, 0.003]})
def test_it_agrees_with_the_interior_point(share, weights, intercept):
    problem = problem_of(0, share, weights, intercept)
    result = MajorizeMinimize(tol=1e-9).solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(InteriorPoint(tol=1e-9).solve(problem).objective, rel=1e-8)
    assert problem.objective(result.coefficients) == pytest.approx(result.objective, rel=1e-12)
    assert result.n_iter <= 40  # models alone take some thousand at the least beta


def test_a_start_is_where_it_begins_and_a_large_beta_leaves_nothing():
    problem = problem_of(1, 0.03)
    result = MajorizeMinimize(tol=1e-8).solve(problem)
    again = MajorizeMinimize(tol=1e-6).solve(problem, result.coefficients)
    assert again.n_iter == 0
    assert again.objective == result.objective
    nothing = MajorizeMinimize().solve(problem_of(1, 1.001))
    assert nothing.coefficients.columns.size == 0
    assert nothing.n_iter == 0


def test_the_hessian_of_a_row_and_the_bound_of_its_eigenvalues():
    rng = np.random.default_rng(3)
    loss, y = as_loss("softmax", "test"), np.eye(5)[rng.integers(5, size=30)]
    f, step = 3 * rng.standard_normal((30, 5)), 1e-6
    theta, v = loss.residual(f, y), rng.standard_normal((30, 5))
    difference = (loss.residual(f - step * v, y) - loss.residual(f + step * v, y)) / (2 * step)
    np.testing.assert_allclose(loss.hessian_product(theta, y, v), difference, atol=1e-8)
    bounds = loss.row_curvature_at(theta, y)[:, 0]
    whole = np.stack([loss.hessian_product(theta, y, np.tile(e, (30, 1))) for e in np.eye(5)], axis=2)
    largest = np.linalg.eigvalsh(whole)[:, -1]
    assert (largest <= bounds * (1 + 1e-12)).all()
    assert (bounds <= 2 * largest).all()


def test_separable_losses_have_the_same_pieces():
    rng = np.random.default_rng(4)
    loss, f = as_loss("logistic", "test"), rng.standard_normal((20, 1))
    y = np.where(rng.random((20, 1)) > 0.5, 1.0, -1.0)
    theta, v = loss.residual(f, y), rng.standard_normal((20, 1))
    p = 1 / (1 + np.exp(-f))
    np.testing.assert_allclose(loss.hessian_product(theta, y, v), p * (1 - p) * v, rtol=1e-12)
    np.testing.assert_allclose(loss.row_curvature_at(theta, y), p * (1 - p), rtol=1e-12)
