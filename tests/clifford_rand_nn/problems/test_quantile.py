"""The losses of a quantile, pinball and smooth: formulas, duality, and a kernel network against CVXPY."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import d2_pinball_score, mean_pinball_loss

from clifford_rand import ArgumentError
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel, KernelMatrix, KernelProblem
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.problems.gated import GatedRidgeProblem
from clifford_rand_nn.problems.poisson_quantile import Quantile, SmoothQuantile
from clifford_rand_nn.scores import d_squared
from clifford_rand_nn.solvers.base import Limits
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.kernel_newton import KernelNewton

_LEVELS = (0.05, 0.5, 0.9)


def _pairs(seed=0, n=200):
    rng = np.random.default_rng(seed)
    y = rng.standard_normal((n, 1)) * np.exp(3 * rng.standard_normal((n, 1)))
    return y + 3 * rng.standard_normal((n, 1)), y, rng.random(n) + 0.1


@pytest.mark.parametrize("level", _LEVELS)
def test_values_are_those_of_scikit_learn_and_the_smooth_loss_is_above_by_log_2_at_most(level):
    f, y, w = _pairs()
    datafit = Datafit(Quantile(level), y, w / w.mean())
    assert datafit.value(f) == pytest.approx(mean_pinball_loss(y, f, alpha=level, sample_weight=w))
    assert d_squared(y, f, w, level) == pytest.approx(d2_pinball_score(y, f, alpha=level, sample_weight=w))
    above = SmoothQuantile(level).value(f, y) - Quantile(level).value(f, y)
    assert above.min() >= -1e-12
    assert above.max() <= np.log(2) + 1e-12


@pytest.mark.parametrize("kind", [Quantile, SmoothQuantile])
@pytest.mark.parametrize("level", _LEVELS)
def test_gradient_conjugate_and_prox_by_their_definitions(level, kind):
    loss, (f, y, _) = kind(level), _pairs()
    theta = loss.residual(f, y)
    slope = [
        approx_fprime(point, lambda x, t=target: loss.value(x, t)[0], 1e-7)[0]
        for point, target in zip(f, y, strict=True)
    ]
    np.testing.assert_allclose(theta[:, 0], -np.array(slope), atol=1e-5)
    size = np.abs(theta * y) + np.abs(theta * f) + 1
    gap = loss.value(f, y) - loss.dual_value(theta, y) + theta * f
    assert (np.abs(gap) <= 1e-13 * size).all()  # Fenchel and Young, with equality
    low, high = loss.domain(y)
    other = low + (high - low) * np.random.default_rng(1).random(y.shape)
    assert (loss.value(f, y) - loss.dual_value(other, y) + other * f >= -1e-13 * size).all()
    assert (low <= theta).all()
    assert (theta <= high).all()
    assert np.isneginf(loss.stated_dual_value(np.full_like(y, high + 1e-3), y)).all()
    for step in (1e-3, 1.0, 1e3):
        point = loss.prox(f, step, y)
        moved = (point - f) / step
        inside = np.abs(point - y) < 1e-9 * (1 + np.abs(y)) if kind is Quantile else np.zeros_like(y, dtype=bool)
        np.testing.assert_allclose(
            moved[~inside], loss.residual(point, y)[~inside], atol=1e-9 * (1 + np.abs(f).max() / step)
        )
        assert ((moved >= low - 1e-9) & (moved <= high + 1e-9))[inside].all()


@pytest.mark.parametrize("kind", [Quantile, SmoothQuantile])
def test_cvxpy_is_given_the_same_loss(kind):
    f, y, w = _pairs(n=20)
    loss = kind(0.8)
    assert loss.cvxpy(cp, cp.Constant(f), y, w[:, None]).value == pytest.approx(float(w @ loss.value(f, y)[:, 0]))


@pytest.mark.parametrize("level", _LEVELS)
def test_derivatives_of_the_smooth_loss(level):
    loss, (f, y, _) = SmoothQuantile(level), _pairs()
    near, h = np.abs(f - y) < 8, 1e-5
    f, y = f[near][:, None], y[near][:, None]
    theta = loss.residual(f, y)
    second = -(loss.residual(f + h, y) - loss.residual(f - h, y)) / (2 * h)
    np.testing.assert_allclose(loss.curvature_at(theta, y), second, atol=1e-9)
    ends = [loss.curvature_at(loss.residual(f + s * h, y), y) for s in (1, -1)]
    np.testing.assert_allclose(loss.third_derivative_at(theta, y), (ends[0] - ends[1]) / (2 * h), atol=1e-9)
    np.testing.assert_allclose(loss.prediction(theta, y), f, atol=1e-9)


@pytest.mark.parametrize("level", _LEVELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_kernel_network_is_optimal_and_agrees_with_cvxpy(level, weighted):
    rng = np.random.default_rng(3)
    X, n, beta = rng.standard_normal((50, 2)), 50, 0.02
    y = np.sin(2 * X[:, :1]) + 0.3 * rng.standard_normal((n, 1))
    w = np.exp(rng.standard_normal(n)) if weighted else np.ones(n)
    w /= w.mean()
    K = GateKernel(bias=1.0)(X)
    problem = KernelProblem(KernelMatrix(K, True), Datafit(Quantile(level), y, w if weighted else None), beta)
    result = problem.solve(Limits.of("test", tol=1e-9))
    assert result.status == "optimal", result.message
    alpha, t, root = cp.Variable(n), cp.Variable(), np.linalg.cholesky(K + 1e-12 * np.eye(n))
    r = y[:, 0] - K @ alpha - t
    loss = cp.sum(cp.multiply(w, level * cp.pos(r) + (1 - level) * cp.neg(r))) / n
    stated = cp.Problem(cp.Minimize(loss + 0.5 * beta * cp.sum_squares(root.T @ alpha)))
    stated.solve(solver="CLARABEL")
    assert result.objective == pytest.approx(stated.value, rel=1e-6)
    assert result.objective - result.duality_gap <= stated.value * (1 + 1e-7)


def test_a_linear_model_without_penalty_is_the_one_of_scikit_learn_and_cvxpy_knows_the_loss():
    """As beta falls: a linear program has a vertex, so the loss is compared, not the coefficients."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.standard_normal(60)
    problem = GatedRidgeProblem(X, y, np.ones((60, 1), dtype=bool), 1e-6, loss=Quantile(0.8), bias=False)
    result = KernelNewton(tol=2e-6).solve(problem)
    assert result.status == "optimal", result.message
    known = QuantileRegressor(quantile=0.8, alpha=0.0).fit(X, y)
    assert result.objective == pytest.approx(mean_pinball_loss(y, known.predict(X), alpha=0.8), rel=1e-4)
    stated = CvxpyReference().solve(problem)
    assert stated.objective == pytest.approx(result.objective, rel=5e-6)
    with pytest.raises(ArgumentError, match="whose curvature is bounded"):
        Fista().solve(problem)
