"""Refinement of gates: the objective never rises, gains and bounds hold, and runs repeat."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn import Gates, activation_patterns, sample_gates
from clifford_rand_nn.gate_exchange import RefinementSettings
from clifford_rand_nn.pricing.gate_candidates import climbed, price_gates, removal_costs
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.refinement import refine_gates, refined_gates
from clifford_rand_nn.solvers.fista import Fista
from support.pairwise import pairwise
from support.problems import FLAGS, LOSSES, targets


def data(loss="squared", n=60, d=3, seed=0, low=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 1
    if low:
        X = np.round(2 * X[:, :low]) @ np.ones((low, d))  # integers of low rank, with equal rows
    return X, targets(loss, n, rng)


def copies(n, weighted):
    return np.random.default_rng(4).integers(1, 4, n).astype(float) if weighted else None


def refine(X, y, m=4, bias=True, **options):
    options = {"beta": 0.02, "max_iter": 3, "random_state": 1} | options
    return refine_gates(X, y, sample_gates(X, m, sketch_dim="auto", bias=bias, random_state=0), bias=bias, **options)


def refine_by(solver, X, y, beta=0.02, bias=True, **options):
    gates = sample_gates(X, 4, sketch_dim="auto", bias=bias, random_state=0)
    settings = RefinementSettings(bias=bias, random_state=1, **options)
    return refined_gates(X, y, gates, beta, settings, solver)


def check(found, X, y, **options):
    """What holds of every refinement."""
    objectives = [row.objective for row in found.history]
    assert objectives == sorted(objectives, reverse=True)
    assert objectives[-1] == found.result.objective
    np.testing.assert_array_equal(found.gates.activations(X), found.patterns)
    problem = GatedReLUProblem(X, y, found.patterns, **options)
    z = problem.point(found.result.coefficients)
    assert problem.objective(z) == pytest.approx(found.result.objective, rel=1e-9)
    np.testing.assert_allclose(problem.predictions(z), found.result.fitted, atol=1e-7 * np.abs(y).max())
    assert problem.dual_bound(found.result.fitted).value <= found.result.objective
    assert found.lower_bound <= found.result.objective * (1 + 1e-12)
    return problem


@pytest.mark.kept("squared-True-True-False")
@pairwise({"loss": LOSSES, "bias": [True, False], "fit_intercept": [True, False], "weighted": [False, True]})
def test_objective_never_rises_and_the_bound_covers_the_candidates(loss, bias, fit_intercept, weighted):
    X, y = data(loss, n=40)
    options = {"beta": 0.05, "loss": loss, "fit_intercept": fit_intercept, "sample_weight": copies(40, weighted)}
    found = refine(X, y, bias=bias, n_candidates=10, n_new_gates=3, max_iter=2, max_gates=5, **options)
    check(found, X, y, bias=bias, **options)
    assert len(found.gates) <= 5
    both = np.hstack([found.patterns, found.candidates.activations(X)])
    wide = Fista(tol=1e-4, max_iter=1000).solve(GatedReLUProblem(X, y, both, bias=bias, **options))
    assert found.lower_bound <= wide.objective * (1 + 1e-12)


@pytest.mark.slow
def test_bounds_become_tight_where_no_candidate_pays():
    """All patterns of two dimensions are few: refinement without biases finds those that matter, and proves it."""
    X, y = data(n=12, d=2)
    options = {"beta": 0.05, "bias": False}
    found = refine_by(Fista(tol=1e-8), X, y, n_candidates=100, max_iter=20, tol=1e-7, **options)
    check(found, X, y, **options)
    assert found.status == "refined"
    assert found.relative_gap < 1e-5
    every, _ = activation_patterns(X, sample_gates(X, 1000, bias=False, random_state=5))
    best = Fista(tol=1e-7).solve(GatedReLUProblem(X, y, every, **options))
    assert found.result.objective == pytest.approx(best.objective, rel=1e-4)
    assert all(np.linalg.norm(found.result.coefficients.coef, axis=(0, 2)) > 0)  # the others were dropped


@pairwise({"loss": LOSSES, "bias": [True, False], "weighted": [False, True]})
def test_every_gain_is_reached_by_solving_with_the_gate(loss, bias, weighted):
    X, y = data(loss, n=40, seed=3)
    options = {"beta": 0.05, "loss": loss, "bias": bias, "sample_weight": copies(40, weighted)}
    patterns, _ = activation_patterns(X, sample_gates(X, 3, bias=bias, random_state=0))
    problem = GatedReLUProblem(X, y, patterns, **options)
    result = Fista(tol=1e-9).solve(problem)
    offered, _ = activation_patterns(X, sample_gates(X, 3, bias=bias, random_state=7))
    theta, Q = problem.datafit.residual(result.fitted), problem.map.Q
    prices = price_gates(X, offered, theta, Q, 0.05, problem.datafit.curvature, bias)
    for i in range(offered.shape[1]):
        both = np.unique(np.hstack([patterns, offered[:, [i]]]), axis=1)
        wide = Fista(tol=1e-6).solve(GatedReLUProblem(X, y, both, **options))
        assert wide.objective <= result.objective - prices.gain[i] + 5e-6 * result.objective
    if not bias:
        assert prices.gain.max() > 0
        expected = [np.linalg.norm(X[on].T @ theta[on]) / (40 * 0.05) for on in offered.T]
        np.testing.assert_allclose(prices.price, expected, rtol=1e-10)


def test_prices_of_gates_that_are_there():
    """An active gate has price 1 and no gain; a copy of its bias column is in reach and brings nothing."""
    X, y = data("squared", n=100)
    patterns, _ = activation_patterns(X, sample_gates(X, 4, random_state=0))
    problem = GatedReLUProblem(X, y, patterns, 0.01)
    result = Fista(tol=1e-12).solve(problem)
    theta = problem.datafit.residual(result.fitted)
    prices = price_gates(X, patterns, theta, problem.map.Q, 0.01, 1.0, True)
    active = np.linalg.norm(result.coefficients.coef, axis=(0, 2)) > 0
    assert active.any()
    np.testing.assert_allclose(prices.price[active], 1, atol=1e-4)
    assert prices.gain.max() < 1e-8 * result.objective


@pytest.mark.parametrize(("bias", "fit_intercept"), FLAGS)
def test_removal_costs_bound_the_rise(bias, fit_intercept):
    X, y = data("squared", n=80)
    options = {"bias": bias, "fit_intercept": fit_intercept}
    patterns, _ = activation_patterns(X, sample_gates(X, 5, bias=bias, random_state=0))
    problem = GatedReLUProblem(X, y, patterns, 0.01, **options)
    result = Fista(tol=1e-10).solve(problem)
    coef, gate_intercept, _ = result.coefficients
    costs = removal_costs(X, patterns, (coef, gate_intercept), problem.map.Q, 1.0, bias, fit_intercept)
    for i in range(patterns.shape[1]):
        fewer = GatedReLUProblem(X, y, np.delete(patterns, i, axis=1), 0.01, **options)
        # With the other weights as they are, only biases refitted: exactly this much for the squared loss.
        kept = np.delete(coef, i, axis=1)
        z = fewer.point(result.coefficients._replace(coef=kept, gate_intercept=np.delete(gate_intercept, i, axis=1)))
        Q = fewer.map.Q
        f = fewer.map.gated(z.U)
        f = f + Q @ (Q.T @ (y - f))
        risen = problem.datafit.value(f) + fewer.penalty.value(z.U) - result.objective
        assert risen == pytest.approx(costs[i], rel=1e-3, abs=1e-7)


@pytest.mark.parametrize("bias", [True, False])
def test_climbing_raises_the_price(bias):
    X, y = data("squared", n=200, d=6)
    theta = y - y.mean(axis=0)
    Q = np.full((200, 1), 200**-0.5)
    H, c = sample_gates(X, 30, bias=bias, random_state=0)
    higher, offsets = climbed(X, H, c, theta, bias)
    before, after = (price_gates(X, X @ h + o >= 0, theta, Q, 1e-2, 1.0, bias) for h, o in ((H, c), (higher, offsets)))
    assert np.mean(after.gain > before.gain) > 0.9
    assert np.median(after.gain) > 1.5 * np.median(before.gain)


@pytest.mark.parametrize(
    ("n", "d", "low", "bias"),
    [(8, 30, 0, True), (8, 30, 0, False), (40, 1, 0, True), (40, 4, 2, True), (40, 4, 2, False)],
)
def test_few_rows_one_feature_low_rank_and_repeated_rows(n, d, low, bias):
    X, y = data(n=n, d=d, low=low)
    check(refine(X, y, bias=bias, max_gates=3, max_iter=2), X, y, beta=0.02, bias=bias)


def test_rows_of_zeros_and_constant_data():
    X, y = data(n=30)
    X[:3] = 0
    check(refine(X, y, bias=False), X, y, beta=0.02, bias=False)
    found = refine_gates(np.ones((5, 2)), np.arange(5.0), Gates.from_arrays(np.ones((2, 1))), beta=0.1, bias=False)
    assert found.result.objective == pytest.approx(1.0, rel=1e-4)  # half the variance: nothing to be gained
    assert found.status == "refined"


@pytest.mark.parametrize(("size", "target"), [(1e6, 1.0), (1e-6, 1e6)])
def test_scales(size, target):
    X, y = data(n=40)
    base = refine(X, y, max_iter=2)
    found = refine(size * X, target * y, max_iter=2, beta=0.02 * size * target)
    assert found.result.objective == pytest.approx(target**2 * base.result.objective, rel=1e-3)
    assert len(found.gates) == len(base.gates)


@pytest.mark.slow
def test_refined_gates_beat_as_many_random_ones():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5))
    y = np.maximum(X @ rng.standard_normal((5, 3)), 0) @ np.array([1.0, -1.0, 1.0])
    found = refine(X, y, m=8, beta=3e-3, max_gates=8, max_iter=4)
    random = [GatedReLUProblem(X, y, sample_gates(X, 8, random_state=seed).activations(X), 3e-3) for seed in range(6)]
    assert found.result.objective < min(Fista(tol=1e-3).solve(problem).objective for problem in random) * (1 - 1e-3)
    assert len(found.gates) <= 8


def test_a_round_that_does_not_help_is_undone():
    """A solver that spoils every problem but the first: the first model is returned."""

    @dataclass(frozen=True)
    class Spoiled:
        tol: float = 1e-6

        def solve(self, problem, start=None):
            result = Fista(tol=self.tol).solve(problem, start)
            return result if start is None else replace(result, objective=1.1 * result.objective + 1)

    X, y = data(n=80)
    found = refine_by(Spoiled(), X, y, max_iter=10)
    assert [row.kept for row in found.history] == [True, False, False, False]
    assert "3 iterations in a row without a lower objective" in found.message
    assert found.result.objective == found.history[0].objective
    check(found, X, y, beta=0.02)


def test_status_callback_and_methods():
    X, y = data()
    rows = []
    found = refine(X, y, callback=rows.append, method="gaussian", climb=False, max_iter=1)
    assert tuple(rows) == found.history
    assert len(rows) == 2
    assert rows[1].largest_price > 1
    assert "stopped after 1 iterations: try a larger max_iter" in found.message
    assert "try a larger max_time" in refine(X, y, max_time=1e-3).message
    assert "objective=" in repr(found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "all"}, r"'method' parameter of refine_gates must be one of 'cross', 'gauss"),
        ({"n_new_gates": 0}, "'n_new_gates' parameter of refine_gates must be an integer ≥ 1. Got 0"),
        ({"max_gates": 0}, "'max_gates' parameter of refine_gates must be an integer ≥ 1. Got 0"),
        ({"n_candidates": 0}, "'n_candidates' parameter of refine_gates must be an integer ≥ 1. Got 0"),
        ({"tol": 0}, "'tol' parameter of refine_gates"),
        ({"random_state": "a"}, "'random_state' parameter of refine_gates"),
        ({"solver": "sgd"}, "'solver' parameter of refine_gates .* 'auto', 'kernel', 'gram', 'fista', 'cvxpy'"),
        ({"beta": -1}, "'beta' parameter of GatedReLUProblem"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ArgumentError, match=message):
        refine(*data(n=10), **options)


@pytest.mark.slow
def test_repeats_bit_for_bit_and_other_seeds_differ():
    X, y = data(n=40)
    a, b, other = (refine(X, y, random_state=seed, max_iter=2) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.gates.directions, b.gates.directions)
    np.testing.assert_array_equal(a.result.coefficients.coef, b.result.coefficients.coef)
    assert not np.array_equal(a.gates.directions, other.gates.directions)
