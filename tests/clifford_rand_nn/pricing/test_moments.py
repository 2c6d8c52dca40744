"""Bounds of all neurons by moments: above every neuron whoever chose the multipliers, and tight at the best ones."""

import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn.estimators.any_width_bound import moment_relaxation
from clifford_rand_nn.pricing.moments import MomentPricer, Multipliers, Quadratic, lifted_rows
from clifford_rand_nn.pricing.simplices import SimplexPricer
from clifford_rand_nn.pricing.sweep import SweepPricer
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.problems.loss_registry import as_loss


def multipliers(rng, n, outputs):
    """Random ones, some at the ends of what is allowed."""
    slopes = rng.uniform(-1, 1, (2 * outputs, n)) * rng.integers(0, 2, (2 * outputs, n))
    squares = (1 - np.abs(slopes)) * rng.integers(0, 2, slopes.shape)
    return Multipliers(rng.uniform(0.1, 10, slopes.shape), slopes, squares)


def problem(n, d, outputs, seed=0):
    rng = np.random.default_rng([seed, n, d, outputs])
    X = rng.standard_normal((n, d))
    Y = np.abs(X[:, :1]) + 0.3 * rng.standard_normal((n, outputs))
    return X, Y, rng


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
def test_no_neuron_is_above_the_bound_of_any_multipliers(outputs, bias, scale, offset):
    X, theta, rng = problem(12, 4, outputs)
    X = scale * (X + offset)
    theta = theta - theta.mean(axis=0)
    pricer = MomentPricer(X, multipliers(rng, 12, outputs), bias)
    bound = pricer.price(theta, 3)
    assert len(bound.neurons) == 0
    center = X.mean(axis=0)
    for _ in range(300):
        v = rng.standard_normal(4)
        v /= np.linalg.norm(v)
        t = (X - center) @ v  # a neuron whose plane is among the rows, added up about their center
        z = t - rng.uniform(t.min() - 1e-3 * scale, t.max()) if bias else X @ v
        assert np.linalg.norm(theta.T @ np.maximum(z, 0)) <= bound.size


def test_a_row_on_the_ends_of_its_bounds():
    """One row: (x·u)₊ is |x| at most, and a negative one is 0."""
    X = np.array([[3.0, 4.0]])
    best = Multipliers(np.ones((2, 1)), np.array([[0.0], [-1.0]]), np.zeros((2, 1)))
    assert MomentPricer(X, best).price(np.array([1.0]), 1).size == pytest.approx(5, rel=1e-9)
    assert MomentPricer(X, best).price(np.array([-1.0]), 1).size == pytest.approx(5, rel=1e-9)
    assert MomentPricer(X, best).quadratic(np.array([[1.0]]), 1).largest()[0] == pytest.approx(0, abs=1e-9)


def test_multipliers_beyond_what_is_allowed_are_reduced():
    X, theta, _ = problem(6, 2, 1)
    large = Multipliers(np.ones((2, 6)), np.full((2, 6), -2.0), np.full((2, 6), 3.0))
    allowed = Multipliers(np.ones((2, 6)), np.full((2, 6), -0.4), np.full((2, 6), 0.6))
    size = MomentPricer(X, large).price(theta, 1).size
    assert size == pytest.approx(MomentPricer(X, allowed).price(theta, 1).size, rel=1e-12)
    assert size >= SimplexPricer(X).price(theta, 1).size


def test_a_free_bias_of_the_size_of_the_rows():
    """The neuron (x + 1)₊ of the rows 1 and -1 has the values 2 and 0: the bound is met."""
    X, theta = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    best = Multipliers(np.ones((2, 2)), np.full((2, 2), -1.0), np.zeros((2, 2)))
    assert MomentPricer(X, best, True).price(theta, 1).size == pytest.approx(2, rel=1e-9)


def test_a_function_that_is_largest_inside_of_the_ball():
    assert Quadratic(1.0, np.zeros(2), -np.eye(2)).largest()[0] >= 1


def test_multipliers_of_other_rows_are_refused():
    with pytest.raises(ArgumentError, match="6 rows"):
        MomentPricer(np.ones((6, 2)), multipliers(np.random.default_rng(0), 5, 1))


def test_the_largest_value_of_a_quadratic_function():
    """Against points of the ball, among them the maximum: with λ the gradient of the Lagrangian vanishes there."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        A = rng.standard_normal((3, 3))
        function = Quadratic(0.3, rng.standard_normal(3), A + A.T)
        bound, level = function.largest()
        u = np.linalg.solve(level * np.eye(3) - function.matrix, function.linear / 2)
        assert np.linalg.norm(u) <= 1 + 1e-6
        value = function.constant + function.linear @ u + u @ function.matrix @ u
        assert bound == pytest.approx(value + level * (1 - u @ u), rel=1e-9)
        inside = rng.standard_normal((1000, 3))
        inside /= np.maximum(np.linalg.norm(inside, axis=1), 1)[:, None]
        values = inside @ function.linear + np.einsum("ni,ij,nj->n", inside, function.matrix, inside)
        assert (function.constant + values).max() <= bound


@pytest.mark.parametrize(("loss", "outputs"), [("squared", 1), ("squared", 2), ("huber", 1), ("logistic", 1)])
@pytest.mark.parametrize("bias", [False, True])
def test_the_relaxation_is_below_the_optimum_and_its_point_is_feasible(loss, outputs, bias):
    """The dual point of the optimum is as large as the multipliers allow; both are those of one convex program."""
    X, Y, _ = problem(15, 3, outputs)
    Y = np.sign(Y - np.median(Y) + 1e-9) if loss == "logistic" else Y
    datafit, beta = Datafit(as_loss(loss, "test"), Y), 0.05
    theta, known = moment_relaxation(lifted_rows(X, bias), datafit, beta, True)
    theta = datafit.dual_point(theta, np.full((15, 1), 15**-0.5))
    size = MomentPricer(X, known, bias).price(theta, 1).size
    assert size == pytest.approx(15 * beta, rel=1e-2)
    assert datafit.dual_value(theta * min(1, 15 * beta / size) * (1 - 1e-9)) > 0.05 * datafit.value(0 * Y)


@pytest.mark.parametrize("bias", [False, True])
def test_the_bound_of_the_best_multipliers_is_near_the_supremum_in_the_plane(bias):
    X, Y, _ = problem(30, 2, 1)
    Y = Y - Y.mean()
    datafit = Datafit(as_loss("squared", "test"), Y)
    theta, known = moment_relaxation(lifted_rows(X, bias), datafit, 0.1, True)
    theta -= theta.mean()
    truth = SweepPricer(X, 2, bias).price(theta, 1).size
    bound = MomentPricer(X, known, bias).price(theta, 1).size
    assert truth <= bound <= 3 * truth


def test_rows_beyond_the_limit_are_left_out_of_the_relaxation(monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.estimators.any_width_bound._LARGEST", 200)
    X, Y, _ = problem(40, 20, 1)
    theta, known = moment_relaxation(X, Datafit(as_loss("squared", "test"), Y), 0.05, True)
    kept = theta.any(axis=1)
    assert 1 < kept.sum() < 20  # rows span fewer directions than there are columns
    assert abs(theta.sum()) < 1e-4 * np.abs(theta).sum()
    size = MomentPricer(X, known).price(theta, 1).size
    assert size == pytest.approx(40 * 0.05, rel=1e-2)


def test_rows_that_are_zero_add_nothing():
    X, Y, _ = problem(10, 3, 1)
    X[::3] = 0
    theta, known = moment_relaxation(X, Datafit(as_loss("squared", "test"), Y), 0.05, True)
    assert np.isfinite(MomentPricer(X, known).price(theta, 1).size)
