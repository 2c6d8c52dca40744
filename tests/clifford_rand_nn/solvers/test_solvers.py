"""Every solver on every problem: agreement within the gap, and the gap against an independent computation."""

import cvxpy as cp
import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.fista import Fista
from support.problems import FLAGS, LOSSES, make


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("bias", "fit_intercept"), FLAGS)
def test_fista_agrees_with_cvxpy_within_the_gap(loss, bias, fit_intercept):
    problem = make(loss, bias, fit_intercept, n=60, d=3, m=5, beta=0.02)
    fista = Fista(tol=1e-8).solve(problem)
    reference = CvxpyReference().solve(problem)
    assert fista.relative_gap < 1e-6
    assert fista.duality_gap >= 0
    assert fista.objective - fista.duality_gap <= reference.objective * (1 + 1e-12)
    assert reference.objective - reference.duality_gap <= fista.objective * (1 + 1e-12)
    assert fista.objective == pytest.approx(reference.objective, rel=1e-6)


def test_dual_value_against_the_dual_program():
    """The lower bound converges to the optimum of the dual of conventions §4, stated on its own in CVXPY."""
    problem = make("squared", n=40, d=2, m=4, beta=0.05)
    X, D, y, n = problem.X, problem.map.patterns, problem.datafit.y, 40
    theta = cp.Variable((n, 2))
    constraints = [cp.sum(theta, axis=0) == 0]
    for i in range(D.shape[1]):
        constraints += [cp.norm(X[D[:, i]].T @ theta[D[:, i]], "fro") <= n * problem.beta]
        constraints += [cp.sum(theta[D[:, i]], axis=0) == 0]
    value = cp.Problem(
        cp.Maximize((cp.sum(cp.multiply(theta, y)) - cp.sum_squares(theta) / 2) / n), constraints
    ).solve()
    result = Fista(tol=1e-9).solve(problem)
    assert result.objective - result.duality_gap == pytest.approx(value, rel=1e-7)
    assert result.objective == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(result.dual_point, theta.value, atol=1e-3)


def test_history_falls_and_status_tells():
    problem = make(n=50, beta=1e-3)
    rows = []
    result = Fista(tol=1e-10, callback=rows.append).solve(problem)
    assert tuple(rows) == result.history
    assert result.status == "optimal"
    assert result.converged
    gaps = [row.relative_gap for row in rows]
    assert gaps[-1] <= 1e-10 < gaps[0]
    short = Fista(tol=1e-12, max_iter=3).solve(problem)
    assert short.n_iter == 3
    assert "stopped after 3 iterations at a relative gap of" in short.message
    assert "larger max_iter" in short.message
    late = Fista(tol=1e-15, max_time=1e-4).solve(problem)
    assert "try a larger max_time" in late.message


def test_warm_start_and_repeatability():
    problem = make(n=50, beta=1e-3)
    first, second = Fista().solve(problem), Fista().solve(problem)
    np.testing.assert_array_equal(first.coefficients.coef, second.coefficients.coef)
    warm = Fista().solve(problem, start=problem.point(first.coefficients))
    assert warm.n_iter < first.n_iter / 3


@pytest.mark.parametrize("loss", LOSSES)
def test_large_beta_gives_no_neuron(loss):
    """At beta ≥ max_i |XᵀD_i theta0|/n with theta0 the residual of biases alone, U = 0 is optimal."""
    small = make(loss, n=40, beta=1e-3)
    null = Fista(tol=1e-12).solve(make(loss, n=40, beta=1e6))
    theta = small.datafit.residual(null.fitted)
    beta_max = small.penalty.dual_norm(small.map.gated_adjoint(theta)) / 40
    above, below = (Fista(tol=1e-9).solve(make(loss, n=40, beta=s * beta_max)) for s in (1.001, 0.98))
    assert not above.coefficients.coef.any()
    assert below.coefficients.coef.any()


@pytest.mark.parametrize("solver", [Fista(), CvxpyReference()])
def test_constant_targets_cost_nothing(solver):
    problem = GatedReLUProblem(
        np.random.default_rng(0).standard_normal((10, 2)), np.full(10, 3.0), np.ones((10, 1), bool), 0.1
    )
    result = solver.solve(problem)
    assert result.objective < 1e-8
    np.testing.assert_allclose(result.fitted, 3.0, atol=1e-3)


@pytest.mark.parametrize("solver", [Fista(), CvxpyReference()])
def test_no_patterns_leaves_the_intercept(solver):
    y = np.array([1.0, 2.0, 6.0])
    result = solver.solve(GatedReLUProblem(np.ones((3, 2)), y, np.zeros((3, 0), bool), 0.1))
    assert result.coefficients.intercept[0] == pytest.approx(3.0, abs=1e-6)
    assert result.objective == pytest.approx(np.mean((y - 3) ** 2) / 2, rel=1e-6)


def test_more_features_than_rows():
    problem = make(n=10, d=40, m=4, beta=0.05)
    assert Fista(tol=1e-8).solve(problem).objective == pytest.approx(
        CvxpyReference().solve(problem).objective, rel=1e-6
    )


def test_errors():
    with pytest.raises(ArgumentError, match=r"'tol' parameter of Fista must be a finite number > 0. Got -1"):
        Fista(tol=-1)
    with pytest.raises(ArgumentError, match=r"'max_iter' parameter of Fista"):
        Fista(max_iter=0)
    with pytest.raises(
        ArgumentError, match=r"'solver' parameter of CvxpyReference must be one of .*CLARABEL.* Got 'NOPE'"
    ):
        CvxpyReference(solver="NOPE")
