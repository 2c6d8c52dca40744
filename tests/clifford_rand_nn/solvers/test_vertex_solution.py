"""Purification: the same predictions, no larger penalty, independent columns; for one output and for groups."""

import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.solvers.lasso_interior_point import InteriorPoint, _push, polished, purify
from clifford_rand_nn.solvers.stopping import Watch
from support.lasso import KINDS, dictionary, lasso
from support.problems import ONE_OUTPUT


def some_weights(N, outputs, rng, share=0.9):
    columns = np.sort(rng.permutation(N)[: int(share * N)])
    size = 10.0 ** rng.uniform(-6, 2, (columns.size, 1))
    return Weights(columns, size * rng.standard_normal((columns.size, outputs)), rng.standard_normal(outputs))


def penalty(weights):
    return np.linalg.norm(weights.values, axis=1).sum()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
def test_predictions_stay_and_columns_are_independent(kind, fit_intercept, outputs, scale):
    rng = np.random.default_rng(1)
    K = scale * dictionary(kind, rng)
    before = some_weights(K.shape[1], outputs, rng)
    after = purify(K, before, fit_intercept)
    f, g = (K[:, w.columns] @ w.values + w.intercept for w in (before, after))
    np.testing.assert_allclose(g, f, atol=1e-11 * np.abs(K[:, before.columns]).max() * np.abs(before.values).max())
    assert penalty(after) <= penalty(before) * (1 + 1e-12)
    assert np.isin(after.columns, before.columns).all()
    assert (after.values != 0).any(axis=1).all()
    if not fit_intercept:
        np.testing.assert_array_equal(after.intercept, before.intercept)
    parts = K[:, None, after.columns] * after.values.T / np.linalg.norm(after.values, axis=1)
    if fit_intercept:
        parts = parts - parts.mean(axis=0)
    parts = parts.reshape(-1, after.columns.size)
    size = np.linalg.norm(parts, axis=0)
    assert (size > 0).all()
    assert np.linalg.matrix_rank(parts / size, tol=1e-10) == after.columns.size
    where = np.searchsorted(before.columns, after.columns)  # every group stays on its own ray
    old = before.values[where]
    cosine = np.sum(after.values * old, axis=1)
    np.testing.assert_allclose(cosine, np.linalg.norm(after.values, axis=1) * np.linalg.norm(old, axis=1), rtol=1e-9)


def test_the_penalty_falls_where_it_can():
    """A column twice as long does the work of its half at half the price."""
    K = np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 1.0]])
    after = purify(K, Weights(np.arange(3), np.array([[2.0], [1.0], [1.0]]), np.zeros(1)), False)
    assert after.columns.tolist() == [1, 2]
    np.testing.assert_allclose(after.values, [[2.0], [1.0]])


def test_opposite_duplicates_cancel():
    K = np.array([[1.0, 1.0], [2.0, 2.0]])
    assert purify(K, Weights(np.arange(2), np.array([[1.0], [-1.0]]), np.zeros(1)), False).columns.size == 0


def test_a_constant_column_moves_into_a_free_intercept():
    K = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 3.0]])
    before = Weights(np.arange(2), np.array([[2.0], [1.0]]), np.array([0.5]))
    free, fixed = purify(K, before, True), purify(K, before, False)
    assert free.columns.tolist() == [1]
    assert free.intercept[0] == pytest.approx(2.5)
    assert fixed.columns.tolist() == [0, 1]


def test_large_supports():
    """m = 1000 dependent columns on 60 rows."""
    rng = np.random.default_rng(0)
    K = np.maximum(rng.standard_normal((60, 3)) @ rng.standard_normal((3, 1000)) + rng.standard_normal(1000), 0)
    before = Weights(np.arange(1000), rng.standard_normal((1000, 1)), np.zeros(1))
    after = purify(K, before, True)
    assert after.columns.size <= 59
    f, g = (K[:, w.columns] @ w.values + w.intercept for w in (before, after))
    np.testing.assert_allclose(g, f, atol=1e-10 * np.abs(f).max())
    assert penalty(after) < 0.5 * penalty(before)


def test_nothing_stays_nothing():
    none = Weights(np.zeros(0, dtype=np.intp), np.zeros((0, 2)), np.array([1.0, 2.0]))
    for weights in (none, Weights(np.array([1]), np.zeros((1, 2)), none.intercept)):
        after = purify(np.ones((3, 2)), weights, True)
        assert after.columns.size == 0
        np.testing.assert_array_equal(after.intercept, [1.0, 2.0])


def test_errors():
    with pytest.raises(ArgumentError, match=r"'weights' parameter of purify must be on columns of K, which has 2"):
        purify(np.ones((3, 2)), Weights(np.array([2]), np.ones((1, 1)), np.zeros(1)), True)


def judged(problem, weights, objective, max_time=None):
    """Return a watch with a point, whose objective and bound are said to be the same."""
    watch = Watch(InteriorPoint(max_time=max_time), problem.relative_gap)
    watch.judge(0, objective, DualBound(objective, np.zeros((problem.n, 1))), weights, problem.predictions(weights))
    return watch


def test_a_solution_is_made_basic_only_where_that_takes_no_longer_than_the_time_that_is_given():
    rng = np.random.default_rng(0)
    K = np.maximum(rng.standard_normal((300, 400)), 0)
    problem = LassoProblem(K, rng.standard_normal(300), 1e-3)
    rough = Weights(np.arange(400), rng.standard_normal((400, 1)), np.zeros(1))
    objective = problem.objective(rough)
    assert polished(problem, rough, judged(problem, rough, objective, max_time=1e-4), 1e-6) is rough
    assert polished(problem, rough, judged(problem, rough, objective, max_time=1e4), 1e-6).columns.size < 300


@pytest.mark.parametrize("loss", ONE_OUTPUT)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_polish_reaches_rounding_from_a_rough_solution(loss, fit_intercept):
    """From weights with 1 % noise and noise on columns that do not matter."""
    problem = lasso(loss, "wide", fit_intercept, share=0.2)
    exact = InteriorPoint(tol=1e-12).solve(problem)
    assert exact.relative_gap <= 1e-12
    rng = np.random.default_rng(0)
    w = exact.coefficients
    values = np.zeros((problem.K.shape[1], 1))
    values[w.columns] = w.values * (1 + 0.01 * rng.standard_normal(w.values.shape))
    values += 1e-7 * np.abs(w.values).max() * rng.standard_normal(values.shape)
    highest = exact.objective * (1 + 1e-13)
    rough = Weights(np.arange(len(values)), values, w.intercept)
    found = polished(problem, rough, judged(problem, rough, highest), 0.0)
    assert problem.objective(found) == pytest.approx(exact.objective, rel=1e-12)
    assert found.columns.tolist() == sorted(w.columns.tolist())


def test_a_column_that_only_rounding_lets_rise_falls():
    # in the plane of the first two the third is -e1 and a rounding of e2, which a large cost makes look worth having
    A = np.array([[1.0, 0.0, -1.0], [0.0, 1.0, 1e-14]])
    x = _push(A, np.array([1.0, 1e16, 0.1]))
    assert np.count_nonzero(x) <= 2
    assert (x >= 0).all()
    np.testing.assert_allclose(A @ x, A.sum(axis=1), atol=1e-12)
