"""The working set over gates: the optimum and the gap over all gates, whatever solver works inside."""

from dataclasses import dataclass

import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gate_working_set import GateWorkingSet, priced, restricted
from support.pairwise import pairwise
from support.problems import LOSSES, make, targets


def many(loss="squared", bias=True, fit_intercept=True, n=60, d=3, P=50, share=0.2, seed=0, low=0):
    """A problem with more gates than the first working set takes, at a share of the largest useful beta."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 1
    if low:
        X = np.round(2 * X[:, :low]) @ np.ones((low, d))  # integers of low rank, with equal rows
    P = 40 if bias else P  # the free biases of more gates would fit anything
    patterns = X @ rng.standard_normal((d, P)) + rng.standard_normal(P) * bias >= 0
    patterns = np.unique(np.hstack([patterns, rng.random((n, P)) < 0.5]), axis=1)
    if bias:
        patterns = patterns[:, rng.permutation(patterns.shape[1])[:P]]

    def problem(beta):
        y = targets(loss, n, np.random.default_rng(seed + 1))
        return GatedReLUProblem(X, y, patterns, beta, loss=loss, bias=bias, fit_intercept=fit_intercept)

    return problem(share * problem(1.0).beta_max())


def agree(a, b):
    """Each objective is above the other's lower bound."""
    assert a.objective - a.duality_gap <= b.objective * (1 + 1e-12)
    assert b.objective - b.duality_gap <= a.objective * (1 + 1e-12)


@pairwise(
    {"loss": LOSSES, "bias": [True, False], "fit_intercept": [True, False]},
    slow=lambda loss, bias, intercept: intercept and not bias,  # these take most of the time
)
def test_the_optimum_is_that_over_all_gates(loss, bias, fit_intercept):
    problem = many(loss, bias, fit_intercept, n=120 if bias else 60)
    result = GateWorkingSet(tol=1e-7).solve(problem)
    reference = Fista(tol=1e-5).solve(problem)
    assert result.converged, result.status
    assert 0 <= result.relative_gap <= 1e-7
    agree(result, reference)
    z = problem.point(result.coefficients)
    assert problem.objective(z) == pytest.approx(result.objective, rel=1e-9)
    np.testing.assert_allclose(problem.predictions(z), result.fitted, atol=1e-8 * (1 + np.abs(result.fitted).max()))
    assert problem.dual_bound(result.fitted).value <= reference.objective * (1 + 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("bias", [True, False])
def test_agreement_with_cvxpy(loss, bias):
    problem = make(loss, bias, n=50, d=2, m=45 if not bias else 12, beta=0.03)
    agree(GateWorkingSet(tol=1e-7).solve(problem), CvxpyReference().solve(problem))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("n", "d", "low"), [(12, 40, 0), (40, 1, 0), (50, 4, 2)])
def test_few_rows_one_feature_low_rank_and_repeated_rows(n, d, low, seed):
    problem = many(bias=False, n=n, d=d, seed=seed, low=low)
    result, reference = GateWorkingSet(tol=1e-8).solve(problem), Fista(tol=1e-4).solve(problem)
    assert result.converged, result.status
    agree(result, reference)


def test_fewer_gates_are_used_than_there_are():
    problem = many(bias=False, P=500, share=0.3)
    seen = []

    @dataclass(frozen=True)
    class Watched:
        tol: float = 1e-6

        def solve(self, problem, start=None):
            seen.append(problem.map.n_patterns)
            return Fista(tol=self.tol).solve(problem, start)

    result = GateWorkingSet(Watched(), tol=1e-8).solve(problem)
    assert result.converged
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


@pytest.mark.parametrize(("size", "target"), [(1e6, 1.0), (1e-6, 1.0), (1.0, 1e6), (1e-6, 1e-6)])
def test_scales(size, target):
    base = many(bias=False)
    problem = GatedReLUProblem(
        size * base.X, target * base.datafit.y, base.map.patterns, size * target * base.beta, bias=False
    )
    result = GateWorkingSet(tol=1e-8).solve(problem)
    assert result.converged, result.status
    assert result.objective == pytest.approx(target**2 * GateWorkingSet(tol=1e-8).solve(base).objective, rel=1e-7)


@pytest.mark.parametrize("bias", [True, False])
def test_single_precision_and_sample_weights(bias):
    base = many(bias=bias, n=120)
    w = np.random.default_rng(2).random(120) + 0.5
    X = base.X.astype(np.float32)
    problem = GatedReLUProblem(X, base.datafit.y, base.map.patterns, base.beta, bias=bias, sample_weight=w)
    result = GateWorkingSet(tol=1e-6).solve(problem)
    assert result.converged, result.status
    agree(result, Fista(tol=1e-5).solve(problem))


def test_warm_start_callback_and_status():
    problem = many(bias=False, share=0.1)
    rows = []
    first = GateWorkingSet(tol=1e-8, callback=rows.append).solve(problem)
    assert tuple(rows) == first.history
    objectives = [row.objective for row in first.history]
    assert objectives == sorted(objectives, reverse=True)
    warm = GateWorkingSet(tol=1e-8).solve(problem, problem.point(first.coefficients))
    assert warm.n_iter < first.n_iter / 3
    short = GateWorkingSet(tol=1e-12, max_rounds=1).solve(problem)
    assert "after 1 rounds" in short.message
    assert "larger max_rounds" in short.message
    weak = GateWorkingSet(Fista(max_iter=2), tol=1e-8).solve(problem)
    assert "the inner solver (fista) stopped after 2 iterations" in weak.message
    late = GateWorkingSet(tol=1e-14, max_time=1e-4).solve(problem)
    assert "try a larger max_time" in late.message
    assert late.relative_gap > 1e-14


def test_no_gates_and_gates_that_never_pay():
    y = np.array([1.0, 2.0, 6.0])
    result = GateWorkingSet().solve(GatedReLUProblem(np.ones((3, 2)), y, np.zeros((3, 0), bool), 0.1))
    assert result.coefficients.intercept[0] == pytest.approx(3.0)
    above = many(share=1.01)
    assert not GateWorkingSet(tol=1e-9).solve(above).coefficients.coef.any()


def test_repeats_bit_for_bit():
    problem = many(bias=False)
    a, b = GateWorkingSet().solve(problem), GateWorkingSet().solve(problem)
    np.testing.assert_array_equal(a.coefficients.coef, b.coefficients.coef)


def test_errors():
    with pytest.raises(ArgumentError, match=r"'inner' parameter of GateWorkingSet must be a solver such as Fista\(\)"):
        GateWorkingSet("fista")
    with pytest.raises(ArgumentError, match=r"'tol' parameter of GateWorkingSet must be a finite number > 0. Got 0"):
        GateWorkingSet(tol=0)
    with pytest.raises(ArgumentError, match=r"'max_rounds' parameter of GateWorkingSet"):
        GateWorkingSet(max_rounds=0)
    with pytest.raises(ArgumentError, match=r"'max_time' parameter of GateWorkingSet"):
        GateWorkingSet(max_time=-1)
