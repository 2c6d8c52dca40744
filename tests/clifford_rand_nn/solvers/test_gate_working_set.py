"""The working set over gates: the optimum and the gap over all gates, whatever solver works inside."""

import numpy as np
import pytest

from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gate_working_set import GateWorkingSet, priced, restricted
from support.pairwise import pairwise
from support.problems import LOSSES, agree, targets


def many(loss="squared", bias=True, fit_intercept=True, n=60, d=3, P=50, share=0.2, low=0, single=False):
    """A problem with more gates than the first working set takes; ``single``: in single precision, with weights."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) + 1
    if low:
        X = np.round(2 * X[:, :low]) @ np.ones((low, d))  # integers of low rank, with equal rows
    P = 40 if bias else P  # the free biases of more gates would fit anything
    patterns = X @ rng.standard_normal((d, P)) + rng.standard_normal(P) * bias >= 0
    patterns = np.unique(np.hstack([patterns, rng.random((n, P)) < 0.5]), axis=1)
    if bias:
        patterns = patterns[:, rng.permutation(patterns.shape[1])[:P]]
    X, weights = (X.astype(np.float32), rng.random(n) + 0.5) if single else (X, None)
    options = {"loss": loss, "bias": bias, "fit_intercept": fit_intercept, "sample_weight": weights}
    problem = GatedReLUProblem(X, targets(loss, n, np.random.default_rng(1)), patterns, 1.0, **options)
    problem.penalty.beta = share * problem.beta_max()
    return problem


@pairwise({"loss": LOSSES, "bias": [True, False], "fit_intercept": [True, False], "single": [False, True]})
def test_the_optimum_is_that_over_all_gates(loss, bias, fit_intercept, single):
    problem = many(loss, bias, fit_intercept, n=120 if bias else 50, P=40, single=single)
    result, reference = GateWorkingSet(tol=1e-7).solve(problem), Fista(tol=1e-5).solve(problem)
    assert result.converged, result.status
    assert 0 <= result.relative_gap <= 1e-7
    agree(result, reference)
    z = problem.point(result.coefficients)
    assert problem.objective(z) == pytest.approx(result.objective, rel=1e-9)
    np.testing.assert_allclose(problem.predictions(z), result.fitted, atol=1e-8 * (1 + np.abs(result.fitted).max()))
    assert problem.dual_bound(result.fitted).value <= reference.objective * (1 + 1e-12)


@pytest.mark.parametrize(("n", "d", "low"), [(12, 40, 0), (40, 1, 0), (50, 4, 2)])
def test_few_rows_one_feature_low_rank_and_repeated_rows(n, d, low):
    problem = many(bias=False, n=n, d=d, low=low)
    result, reference = GateWorkingSet(tol=1e-8).solve(problem), Fista(tol=1e-4).solve(problem)
    assert result.converged, result.status
    agree(result, reference)


def test_fewer_gates_are_used_than_there_are(monkeypatch):
    problem = many(bias=False, P=200, share=0.3)
    seen, solve = [], Fista.solve
    monkeypatch.setattr(Fista, "solve", lambda self, it, z: seen.append(it.map.n_patterns) or solve(self, it, z))
    assert GateWorkingSet(tol=1e-8).solve(problem).converged
    assert seen == sorted(seen)
    assert max(seen) < problem.map.n_patterns / 2


def test_a_restricted_problem_keeps_the_biases_of_all_gates():
    """Its optimum is that of CVXPY's program with the other gates' weights fixed at zero, not that without them."""
    problem = many(n=80, P=30, share=0.3)
    gates = np.array([0, 3, 7])
    small = restricted(problem, gates)
    result = Fista(tol=1e-9).solve(small)
    coef = np.zeros((2, problem.map.n_patterns, 3))
    coef[:, gates] = result.coefficients.coef
    z = problem.point(result.coefficients._replace(coef=coef))
    np.testing.assert_allclose(problem.predictions(z), result.fitted, atol=1e-9)
    assert problem.objective(z) == pytest.approx(result.objective, rel=1e-9)
    D = problem.map.patterns
    bare = GatedReLUProblem(problem.X, problem.datafit.y, np.ascontiguousarray(D[:, gates]), problem.beta)
    assert result.objective < Fista(tol=1e-9).solve(bare).objective * (1 - 1e-3)
    # Stationary over every bias, and over the weights of the chosen gates: this is the optimum.
    theta = problem.datafit.residual(result.fitted)
    assert np.abs(D.T @ theta).max() < 1e-6
    prices = np.sqrt([np.sum((problem.X[D[:, i]].T @ theta[D[:, i]]) ** 2) for i in gates]) / (80 * problem.beta)
    norms = np.linalg.norm(result.coefficients.coef, axis=(0, 2))
    np.testing.assert_allclose(prices[norms > 0], 1, atol=1e-4)
    assert (prices <= 1 + 1e-4).all()


def test_prices_are_the_norms_of_the_data():
    problem = many("squared", bias=False, fit_intercept=False, P=20)
    theta = np.random.default_rng(3).standard_normal((60, 2))
    D = problem.map.patterns
    expected = [np.linalg.norm(problem.X[D[:, i]].T @ theta[D[:, i]]) for i in range(D.shape[1])]
    bound, sizes = priced(problem, theta)
    np.testing.assert_allclose(sizes, expected, rtol=1e-10)
    assert bound.value <= Fista(tol=1e-9).solve(problem).objective


@pytest.mark.slow
def test_scales():
    base = many(bias=False)
    expected = GateWorkingSet(tol=1e-8).solve(base).objective
    for size, target in ((1e6, 1.0), (1e-6, 1e6), (1e-6, 1e-6)):
        X, y, beta = size * base.X, target * base.datafit.y, size * target * base.beta
        result = GateWorkingSet(tol=1e-8).solve(GatedReLUProblem(X, y, base.map.patterns, beta, bias=False))
        assert result.converged, result.status
        assert result.objective == pytest.approx(target**2 * expected, rel=1e-7)


@pytest.mark.slow
def test_objectives_fall_warm_start_repeats_and_what_ends_the_rounds():
    problem = many(bias=False, share=0.1)
    first, again = (GateWorkingSet(tol=1e-8).solve(problem) for _ in range(2))
    objectives = [row.objective for row in first.history]
    assert len(objectives) > 2
    assert objectives == sorted(objectives, reverse=True)
    np.testing.assert_array_equal(first.coefficients.coef, again.coefficients.coef)
    warm = GateWorkingSet(tol=1e-8).solve(problem, problem.point(first.coefficients))
    assert warm.n_iter < first.n_iter / 3
    short = GateWorkingSet(tol=1e-12, max_rounds=1).solve(problem)
    assert "after 1 rounds, try a larger max_rounds" in short.message
    short = GateWorkingSet(Fista(max_iter=2), tol=1e-8).solve(problem)
    assert "the inner solver (fista) stopped after 2 iterations" in short.message


def test_no_gates_and_gates_that_never_pay():
    y = np.array([1.0, 2.0, 6.0])
    result = GateWorkingSet().solve(GatedReLUProblem(np.ones((3, 2)), y, np.zeros((3, 0), bool), 0.1))
    assert result.coefficients.intercept[0] == pytest.approx(3.0)
    above = many(share=1.01)
    assert not GateWorkingSet(tol=1e-9).solve(above).coefficients.coef.any()
