"""The interior-point method: agreement with CVXPY for every loss, its certificate, degenerate dictionaries, scaling."""

import numpy as np
import pytest

from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.solvers.complementarity import Discs, TwoSided
from clifford_rand_nn.solvers.lasso_central_path import NormalMatrix
from clifford_rand_nn.solvers.lasso_interior_point import InteriorPoint
from support.lasso import KINDS, dictionary, lasso, reference
from support.pairwise import pairwise
from support.problems import LOSSES, ONE_OUTPUT


def check(problem, tol=1e-8, factor=1.0):
    """The result is optimal, its certificate is true by a computation of its own, and it agrees with CVXPY."""
    result = InteriorPoint(tol=tol).solve(problem)
    assert result.status == "optimal"
    w, K = result.coefficients, problem.K
    f = K[:, w.columns] @ w.values + w.intercept
    np.testing.assert_allclose(f, result.fitted)
    penalty = problem.beta * np.linalg.norm(w.values, axis=1).sum()
    assert result.objective == pytest.approx(problem.datafit.value(f) + penalty, rel=1e-12)
    theta = result.dual_point
    assert np.linalg.norm(K.T @ theta, axis=1).max(initial=0) <= problem.n * problem.beta * (1 + 1e-12)
    if problem.fit_intercept:
        assert np.abs(theta.sum(axis=0)).max() <= 1e-11 * np.linalg.norm(theta)
    assert result.objective - problem.datafit.dual_value(theta) == pytest.approx(result.duality_gap, abs=1e-15)
    assert result.relative_gap <= tol
    value = reference(problem, factor)
    assert result.objective == pytest.approx(value, rel=2e-6)
    assert result.objective - result.duality_gap <= value * (1 + 1e-12)
    return result


@pairwise({"loss": ONE_OUTPUT, "fit_intercept": [True, False], "kind": KINDS})
def test_one_output_agrees_with_cvxpy(loss, fit_intercept, kind):
    problem = lasso(loss, kind, fit_intercept, outputs=1)
    result = check(problem, 1e-9)
    rank = np.linalg.matrix_rank(problem.K - fit_intercept * problem.K.mean(axis=0)) if problem.K.size else 0
    assert result.coefficients.columns.size <= rank


@pairwise(
    {
        "loss": ["squared", "huber", "squared_hinge", "softmax"],
        "fit_intercept": [True, False],
        "kind": ["wide", "tall", "repeated"],
    }
)
def test_row_groups_agree_with_cvxpy(loss, fit_intercept, kind):
    check(lasso(loss, kind, fit_intercept, outputs=3))


def test_small_beta_no_columns_and_basic_solutions():
    """Slacks and multipliers range over many orders of magnitude; a basic solution has few columns."""
    for loss, share in (("squared", 1e-2), ("squared", 1e-5), ("logistic", 1e-5)):
        result = InteriorPoint(tol=1e-9).solve(lasso(loss, "tall", share=share))
        assert result.status == "optimal"
        assert result.relative_gap <= 1e-9
    y = np.array([1.0, 2.0, 6.0])
    result = InteriorPoint().solve(LassoProblem(np.zeros((3, 0)), y, 0.1))
    assert result.status == "optimal"
    assert result.coefficients.intercept[0] == pytest.approx(3.0)
    assert result.objective == pytest.approx(np.mean((y - 3) ** 2) / 2)
    problem = lasso("squared", "repeated")
    basic, interior = InteriorPoint().solve(problem), InteriorPoint(basic=False).solve(problem)
    assert basic.coefficients.columns.size < problem.n < interior.coefficients.columns.size
    assert basic.objective == pytest.approx(interior.objective, rel=2e-8)


@pytest.mark.parametrize(("columns", "targets"), [(1e6, 1.0), (1.0, 1e6), (1e-6, 1e-6)])
@pytest.mark.parametrize("outputs", [1, 2])
def test_units_do_not_matter(columns, targets, outputs):
    """F(aK, cy, βac) = c² F(K, y, β), with weights Z c/a."""
    plain = lasso("squared", "wide", outputs=outputs)
    scaled = LassoProblem(columns * plain.K, targets * plain.datafit.y, columns * targets * plain.beta)
    one, other = (InteriorPoint(tol=1e-9).solve(problem) for problem in (plain, scaled))
    assert other.status == "optimal"
    assert other.objective == pytest.approx(targets**2 * one.objective, rel=3e-9)
    if outputs == 1:
        np.testing.assert_array_equal(one.coefficients.columns, other.coefficients.columns)
        z = other.coefficients.values * columns / targets
        np.testing.assert_allclose(z, one.coefficients.values, atol=1e-9 * np.abs(z).max())


@pytest.mark.parametrize("loss", LOSSES)
def test_no_column_from_beta_max_on(loss):
    outputs = 3 if loss == "softmax" else 1
    for share, empty in ((1.0, True), (1.7, True), (0.99, False)):
        result = InteriorPoint().solve(lasso(loss, "wide", outputs=outputs, share=share))
        assert result.status == "optimal"
        assert (result.coefficients.columns.size == 0) == empty


@pytest.mark.parametrize("loss", ["squared_hinge", "softmax"])
def test_an_output_without_a_label(loss):
    """The intercept alone fits it, and the others are solved as without it."""
    rng = np.random.default_rng(0)
    K = dictionary("wide", rng)
    index = np.arange(12) % 2
    y = np.eye(3)[index] if loss == "softmax" else np.where(np.arange(3) == index[:, None], 1.0, -1.0)
    problem, fewer = (LassoProblem(K, target, 1e-3, loss=loss) for target in (y, y[:, :2]))
    result = InteriorPoint().solve(problem)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(InteriorPoint().solve(fewer).objective, rel=3e-8)
    assert not result.coefficients.values[:, 2].any()


def test_many_rows_and_few_columns_match_the_full_matrix():
    """The Woodbury route and the n×n route take the same steps."""
    rng = np.random.default_rng(0)
    n, m = 50, 20
    K, h, W = rng.random((n, m)), 1 + rng.random((n, 1)), 10.0 ** rng.uniform(-3, 6, (m, 1, 1))
    squares = (K**2).sum(axis=0)
    matrix = NormalMatrix(K, squares, h, W, np.eye(1), True)
    assert matrix.small
    r, e = rng.standard_normal((n, 1)), rng.standard_normal(1)
    theta, t, U = matrix.solve(r, e)
    dense = np.block(
        [[np.diag(h[:, 0]) + (K * W[:, 0, 0]) @ K.T, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]]
    )
    np.testing.assert_allclose(np.append(theta, t), np.linalg.solve(dense, np.append(r, e)), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(U, K.T @ theta, atol=1e-12)


@pytest.mark.parametrize("C", [1, 3])
def test_left_out_columns_are_made_up_for(C):
    """Most weights are negligible for the matrix; refinement with all columns gives the exact solution."""
    rng = np.random.default_rng(1)
    n, N = 10, 300
    K, h = rng.random((n, N)), 1 + rng.random((n, C))
    A = rng.standard_normal((N, C, C)) * 10.0 ** rng.uniform(-7, 0, (N, 1, 1))
    W = A @ A.transpose(0, 2, 1)
    theta, _, _ = NormalMatrix(K, (K**2).sum(axis=0), h, W, np.eye(C), False).solve(
        r := rng.random((n, C)), np.zeros(0)
    )
    image = h * theta + np.einsum("ij,jcd,jd->ic", K, W, K.T @ theta)
    np.testing.assert_allclose(image, r, atol=1e-10 * np.abs(r).max())


@pytest.mark.parametrize("kind", [TwoSided, Discs])
def test_both_forms_of_a_bound_have_one_central_path(kind):
    rng = np.random.default_rng(0)
    U = rng.uniform(-0.9, 0.9, (20, 1))
    expected = 0.1 * (1 / (1 - U) - 1 / (1 + U))
    np.testing.assert_allclose(kind(U, 1.0, 0.1).weights(), expected, atol=1e-14)
    cone = kind(U, 1.0, 0.1)
    cone.right_hand_side(0.0, False)
    cone.set_direction(rng.standard_normal((20, 1)))
    limit = cone.limit()
    ahead = cone.product(0.5 * limit)
    cone.advance(0.5 * limit)
    assert cone.product() == pytest.approx(ahead)
    inside = kind(U, 1.0, 0.1)
    inside.right_hand_side(0.0, False)
    inside.set_direction(dU := rng.standard_normal((20, 1)))
    np.testing.assert_array_less(np.abs(U + 0.999 * inside.limit() * dU), 1.0)


def test_a_constant_far_above_the_optimum():
    """A row 30 times the others: the best constant is 1e4 times the optimum, of which the tolerance is a share."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((6, 2))
        X[0] *= 30
        K = np.maximum(X @ rng.standard_normal((2, 12)) + rng.standard_normal(12), 0)
        problem = LassoProblem(K, K[:, :3] @ rng.standard_normal((3, 4)), 1e-3)
        assert InteriorPoint(tol=0.1).solve(problem).converged


@pytest.mark.parametrize("loss", ["huber", "log_cosh"])
def test_a_constant_target_far_from_0_is_fitted_without_an_intercept(loss):
    """Slopes of 1e-8 beside targets of 1e8 counted as none, and the output was left out."""
    K, y = np.random.default_rng(0).random((7, 14)), np.full((7, 2), 1e8)
    y[0, 0] += 1.0
    problem = LassoProblem(K, y, 1e-12, loss=loss, huber_delta=1e-8, fit_intercept=False)
    result = InteriorPoint().solve(problem)
    assert result.relative_gap < 1e-6
    assert (np.abs(result.fitted - 1e8) < 1e6).all()
