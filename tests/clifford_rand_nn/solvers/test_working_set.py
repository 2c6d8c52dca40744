"""Column generation: agreement with the whole problem, certificates by brute force, infinite families, failures."""

import time
from typing import NamedTuple

import numpy as np
import pytest

from clifford_rand_nn import spiral
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing.base import BlockPricer, reach_of_rows
from clifford_rand_nn.pricing.sweep import SweepPricer
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.solvers import lasso_working_set
from clifford_rand_nn.solvers.base import Status
from clifford_rand_nn.solvers.lasso_interior_point import InteriorPoint
from clifford_rand_nn.solvers.lasso_working_set import MatrixColumns, WorkingSet
from support.lasso import KINDS, lasso
from support.pairwise import pairwise
from support.problems import ONE_OUTPUT


class Answer(NamedTuple):
    size: float
    neurons: Neurons


class BruteForce:
    """All atoms of a given list, compared one by one."""

    scope = "a list"

    def __init__(self, X, neurons):
        self.X, self.neurons, self.calls = X, neurons, 0
        self.n_atoms = len(neurons)
        self.reach = reach_of_rows(X, True)

    def price(self, theta, most, late=None, enough=np.inf):
        self.calls += 1
        size = np.linalg.norm(self.neurons.columns(self.X).T @ theta, axis=1)
        return Answer(size.max(), self.neurons.take(np.argsort(-size)[:most]))


def family(n=25, d=3, N=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    v = rng.standard_normal((d, N))
    return X, Neurons.free(v / np.linalg.norm(v, axis=0), rng.standard_normal(N)), rng


@pairwise({"loss": ONE_OUTPUT, "fit_intercept": [True, False], "kind": KINDS})
def test_columns_agree_with_the_whole_problem(loss, fit_intercept, kind):
    problem = lasso(loss, kind, fit_intercept, share=0.02)
    whole = InteriorPoint(tol=1e-9).solve(problem)
    result = WorkingSet(tol=1e-9, most=10).solve_columns(problem)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(whole.objective, rel=3e-9)
    w = result.coefficients
    np.testing.assert_array_equal(w.columns, np.sort(w.columns))
    f = problem.K[:, w.columns] @ w.values + w.intercept
    np.testing.assert_allclose(f, result.fitted, atol=1e-12 * np.abs(f).max())
    assert problem.objective(w) == pytest.approx(result.objective, rel=1e-12)
    assert problem.dual_norm(result.dual_point) <= problem.n * problem.beta * (1 + 1e-12)
    assert result.objective - result.duality_gap == pytest.approx(
        problem.datafit.dual_value(result.dual_point), rel=1e-12
    )


@pytest.mark.parametrize("loss", ["squared", "softmax"])
@pytest.mark.parametrize("outputs", [2, 3])
def test_groups_agree_with_the_whole_problem(loss, outputs):
    problem = lasso(loss, "wide", True, outputs=outputs)
    result = WorkingSet(tol=1e-8, most=7).solve_columns(problem)
    assert result.converged
    assert result.objective == pytest.approx(InteriorPoint(tol=1e-8).solve(problem).objective, rel=3e-8)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_pricer_by_brute_force(loss, fit_intercept):
    X, neurons, rng = family()
    y = np.where(rng.random(len(X)) < 0.5, -1.0, 1.0)
    problem = LassoProblem(neurons.columns(X), y, 1e-3, loss=loss, fit_intercept=fit_intercept)
    pricer = BruteForce(X, neurons)
    rows = []
    solver = WorkingSet(tol=1e-9, most=20, callback=rows.append)
    result = solver.solve(X, y, 1e-3, pricer, loss=loss, fit_intercept=fit_intercept)
    assert result.status == "optimal"
    assert pricer.calls - 1 == result.n_iter == len(rows)  # one more for the residual of the solution
    assert tuple(rows) == result.history
    assert result.objective == pytest.approx(InteriorPoint(tol=1e-9).solve(problem).objective, rel=3e-9)
    f = result.coefficients.predictions(X)
    np.testing.assert_allclose(f, result.fitted, atol=1e-12 * np.abs(f).max())
    np.testing.assert_allclose(result.coefficients.neurons.norms(2), 1.0)
    assert len(result.coefficients.neurons) <= len(X) - fit_intercept
    objectives = [row.objective for row in rows]
    assert objectives == sorted(objectives, reverse=True)


def test_a_start_near_the_solution_saves_rounds():
    X, neurons, rng = family()
    y = rng.standard_normal(len(X))
    solver = WorkingSet(tol=1e-8, most=5)
    cold = solver.solve(X, y, 1e-2, BruteForce(X, neurons))
    warm = solver.solve(X, y, 1e-2, BruteForce(X, neurons), start=cold.coefficients.neurons)
    assert warm.n_iter < cold.n_iter
    assert warm.objective == pytest.approx(cold.objective, rel=1e-7)


@pytest.mark.kept("scale1-1")
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("scale", [(1.0, 1.0), (1e6, 1e-6), (1e-6, 1e6)])
def test_an_infinite_family_beats_every_sample_of_it(p, scale):
    """No member of the family violates the dual point, and adding a thousand random members gains nothing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2)) * scale[0]
    y = (np.sin(2 * X[:, 0] / scale[0]) + 0.1 * rng.standard_normal(30)) * scale[1]
    beta = 1e-2 * scale[1] / scale[0]
    result = WorkingSet(tol=1e-8).solve(X, y, beta, SweepPricer(X, p=p))
    assert result.status == "optimal"
    v = rng.standard_normal((2, 1000))
    v /= np.linalg.norm(v, ord=p, axis=0)
    others = np.maximum(X @ v - np.sum(X[rng.integers(0, 30, 1000)].T * v, axis=0), 0)  # through a random row each
    assert np.abs(others.T @ result.dual_point).max() <= 30 * beta * (1 + 1e-9)
    own = result.coefficients.neurons.columns(X)
    richer = InteriorPoint(tol=1e-9).solve(LassoProblem(np.concatenate([own, others], axis=1), y, beta))
    assert richer.objective >= result.objective * (1 - 2e-8)


@pytest.mark.slow
def test_the_spiral():
    """The optimum over the planes through two points (an interior-point solver of others: 0.80696367), and over all."""
    X, y = spiral()
    n = len(X)
    i, j = np.triu_indices(n, 1)
    v = (X[i] - X[j])[:, ::-1].T * np.array([[1.0], [-1.0]])
    v /= np.linalg.norm(v, axis=0)
    pairs = Neurons(v, -np.einsum("dm,md->m", v, X[i]), np.stack([i, j], axis=1))
    flipped = Neurons(-pairs.directions, -pairs.offsets, pairs.rows)
    K = Neurons.joined([pairs, flipped]).columns(X)
    beta = 1e-3 / (2 * n)
    paired = WorkingSet().solve_columns(LassoProblem(K, y.astype(float), beta))
    assert paired.status == "optimal"
    assert 2 * n * paired.objective == pytest.approx(0.80696367, rel=1e-8)
    assert paired.coefficients.columns.size < n
    free = WorkingSet().solve(X, y, beta, SweepPricer(X, p=2))
    assert free.status == "optimal"
    assert len(free.coefficients.neurons) < n
    assert free.objective < paired.objective - paired.duality_gap  # planes through two points are not all that matter


@pytest.mark.slow
@pytest.mark.parametrize(("n", "product"), [(120, False), pytest.param(200, True, marks=pytest.mark.slow)])
def test_a_logistic_loss_with_next_to_no_penalty_reaches_its_tolerance(n, product):
    """It ended at a gap of 1: rows far from every boundary have dual masses that fall to 1e-180, by a hundredth a step,
    and each of those steps was as short as they."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, 2))
    noise = 0.3 * rng.standard_normal((3, n))
    y = np.where((X[:, 0] * X[:, 1] + noise[0] if product else X[:, 0] + noise[2]) > 0, 1.0, -1.0)
    result = WorkingSet(tol=1e-6).solve(X, y, 1e-7, SweepPricer(X, p=1), loss="logistic")
    assert result.status == "optimal"
    assert (y * result.fitted[:, 0]).min() > 0  # all rows on their side


@pytest.mark.kept("logistic-30-0.001")
@pytest.mark.parametrize(
    ("loss", "size", "beta"), [("logistic", 30, 1e-3), ("logistic", 300, 1e-7), ("softmax", 300, 1e-5)]
)
def test_an_outlier_is_no_obstacle(loss, size, beta):
    """A row far away stalled the masters, at gaps up to 1: a small change of its dual mass is a large one of K^T θ."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 2))
    X[0] *= size
    score = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(30)
    y = np.where(score > 0, 1.0, -1.0) if loss == "logistic" else np.eye(3)[np.digitize(score, [-0.3, 0.3])]
    result = WorkingSet(tol=1e-6).solve(X, y, beta, SweepPricer(X, p=1), loss=loss)
    assert result.status == "optimal"
    theta = result.dual_point  # the bound, once more by its definition
    assert np.abs(theta.sum(axis=0)).max() <= 1e-11 * np.linalg.norm(theta)
    assert SweepPricer(X, p=1).price(theta, 0).size <= 30 * beta * (1 + 1e-9)
    datafit = LassoProblem(np.zeros((30, 1)), y, beta, loss=loss).datafit
    bound = datafit.loss.stated_dual_value(theta, datafit.y).mean()
    assert result.objective - bound <= 1.1e-6 * result.objective


def test_no_atom_is_needed_for_large_beta_or_constant_targets():
    X, neurons, rng = family()
    for y, beta in ((rng.standard_normal(len(X)), 1e3), (np.full(len(X), 2.5), 1e-6)):
        result = WorkingSet().solve(X, y, beta, BruteForce(X, neurons))
        assert result.status == "optimal"
        assert result.n_iter == 1
        assert len(result.coefficients.neurons) == 0
        assert result.coefficients.intercept[0] == pytest.approx(y.mean())
    empty = WorkingSet().solve_columns(LassoProblem(np.zeros((3, 0)), np.array([1.0, 2.0, 6.0]), 0.1))
    assert empty.converged
    assert empty.coefficients.intercept[0] == pytest.approx(3.0)


def test_a_crowd_of_idle_atoms_is_dropped_without_harm(monkeypatch):
    """Atoms are dropped once there are many per one that matters; the optimum is the same."""
    sizes, own = [], MatrixColumns.kept

    def kept(self, index):
        sizes.append((index.size, self.index.size))
        return own(self, index)

    monkeypatch.setattr(MatrixColumns, "kept", kept)
    monkeypatch.setattr(lasso_working_set, "_CROWDED", 1)
    problem = lasso("squared", "wide", share=0.02)
    K = np.concatenate([problem.K, problem.K @ np.random.default_rng(0).random((60, 900)) / 60], axis=1)
    problem = LassoProblem(K, problem.datafit.y, problem.beta)
    result = WorkingSet(tol=1e-9, most=3).solve_columns(problem)
    assert sizes
    assert all(fewer < all_ for fewer, all_ in sizes)
    assert result.converged
    assert result.objective == pytest.approx(InteriorPoint(tol=1e-9).solve(problem).objective, rel=3e-9)


def test_where_there_is_no_time_the_weights_that_it_begins_with_come_back():
    problem = lasso("squared", "wide", True, share=0.2)
    exact = WorkingSet(tol=1e-9).solve_columns(problem).coefficients
    known = exact._replace(values=1.01 * exact.values)
    result = WorkingSet(max_time=1e-9).solve_columns(problem, known)
    assert result.status is Status.MAX_TIME
    assert result.objective <= problem.objective(known) * (1 + 1e-12)
    assert result.relative_gap < 0.5
    assert WorkingSet(max_time=1e-9).solve_columns(problem).relative_gap > 0.5
    again = WorkingSet(tol=1e-9).solve_columns(problem, known)
    assert again.converged
    assert again.objective == pytest.approx(problem.objective(exact), rel=1e-8)


def test_time_ends_a_pass_through_a_long_dictionary():
    """A pass ran to its end whatever ``max_time`` said: 225 s on iris. The atoms that were met in time serve."""
    X, neurons, rng = family()
    passes = []

    class Slow:
        n_columns, bias = 10**8, True  # too many to keep

        def blocks(self, size):
            passes.append(0)
            for start in range(0, 200 * len(neurons), 20):
                time.sleep(0.02)
                passes[-1] += 1
                yield neurons.take(np.arange(start, start + 20) % len(neurons))

    y = rng.standard_normal(len(X))
    pricer = BlockPricer(X, Slow())
    assert pricer.price(y - y.mean(), 3, lambda: passes[-1] > 2).size == np.inf
    assert passes[-1] < 5
    result = WorkingSet(max_time=0.6).solve(X, y, 1e-3, pricer)
    assert max(passes) < 100  # blocks of 20 ms; a whole pass has more than a thousand
    assert result.status == "max_time"
    assert len(result.coefficients.neurons) > 0
    assert result.relative_gap == pytest.approx(1)  # no pass ended, so nothing is proved
