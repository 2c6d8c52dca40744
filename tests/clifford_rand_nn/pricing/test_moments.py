"""Bounds of all neurons by moments: above every neuron whoever chose the multipliers, and tight at the best ones."""

from itertools import pairwise

import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn.estimators.any_width_bound import moment_relaxations
from clifford_rand_nn.pricing.moments import MomentPricer, Multipliers, Quadratic, lifted_rows
from clifford_rand_nn.pricing.simplices import SimplexPricer
from clifford_rand_nn.pricing.sweep import SweepPricer
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.problems.loss_registry import as_loss


def multipliers(rng, n, outputs, D):
    """Random ones, some at the ends of what is allowed."""
    slopes = rng.uniform(-1, 1, (2 * outputs, n)) * rng.integers(0, 2, (2 * outputs, n))
    squares = (1 - np.abs(slopes)) * rng.integers(0, 2, slopes.shape)
    return whole(rng.uniform(0.1, 10, slopes.shape), slopes, squares, D)


def whole(rates, slopes, squares, D):
    """Return multipliers of trees of one cell each, for D columns."""
    T = len(rates)
    return Multipliers(rates, slopes, squares, np.arange(T), np.zeros((T, 0), dtype=int), np.zeros((T, 0, 1 + D)))


def grown(rng, n, outputs, D, depth):
    """Return random multipliers of trees whose cells are split by random rows, with random cuts."""
    trees, paths = [], []
    for tree in range(2 * outputs):
        cells = [[]]
        for _ in range(depth):
            cell = cells.pop(rng.integers(len(cells)))
            row = rng.choice(np.setdiff1d(np.arange(1, n + 1), np.abs(cell)))
            cells += [[*cell, row], [*cell, -row]]
        trees += [tree] * len(cells)
        paths += [cell + [0] * (depth - len(cell)) for cell in cells]
    rates, slopes, squares = multipliers(rng, n, (len(trees) + 1) // 2, D)[:3]
    cuts = rng.standard_normal((len(trees), depth, 1 + D)) * rng.integers(0, 2, (len(trees), depth, 1)) / n
    return Multipliers(
        *(part[: len(trees)] for part in (rates, slopes, squares)), np.array(trees), np.array(paths), cuts
    )


def relaxed(*args):
    """Return dual point and multipliers of trees of one cell each."""
    return next(moment_relaxations(*args))


def problem(n, d, outputs, seed=0):
    rng = np.random.default_rng([seed, n, d, outputs])
    X = rng.standard_normal((n, d))
    Y = np.abs(X[:, :1]) + 0.3 * rng.standard_normal((n, outputs))
    return X, Y, rng


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("depth", [0, 4])
def test_no_neuron_is_above_the_bound_of_any_multipliers(depth, outputs, bias, scale, offset):
    X, theta, rng = problem(12, 4, outputs)
    X = scale * (X + offset)
    theta = theta - theta.mean(axis=0)
    pricer = MomentPricer(X, grown(rng, 12, outputs, 4 + bias, depth), bias)
    bound = pricer.price(theta, 3)
    assert len(bound.neurons) == 0
    center = X.mean(axis=0)
    for _ in range(300):
        v = rng.standard_normal(4)
        v /= np.linalg.norm(v)
        t = (X - center) @ v  # a neuron whose plane is among the rows, added up about their center
        z = t - rng.uniform(t.min() - 1e-3 * scale, t.max()) if bias else X @ v
        assert np.linalg.norm(theta.T @ np.maximum(z, 0)) <= bound.size


def test_the_function_of_a_cell_is_above_every_neuron_of_it():
    """The law of each cell alone, which the largest bound of a tree would hide."""
    X, theta, rng = problem(12, 3, 2)
    pricer = MomentPricer(X, grown(rng, 12, 2, 3, 5))
    U = rng.standard_normal((4000, 3))
    U /= np.maximum(np.linalg.norm(U, axis=1), rng.uniform(1, 2, len(U)))[:, None]
    signs, inside = np.sign(U @ X.T), 0
    for cell, tree in enumerate(pricer.multipliers.trees):
        steps = np.array(pricer.multipliers.path(cell))
        own = U[(signs[:, np.abs(steps) - 1] == np.sign(steps)).all(axis=1)]
        function = pricer.quadratic(theta, cell)
        bounds = function.constant + own @ function.linear + np.einsum("ni,ij,nj->n", own, function.matrix, own)
        values = np.maximum(own @ X.T, 0) @ theta[:, tree // 2] * (-1) ** tree
        assert (values <= bounds + 1e-12 * np.abs(theta).sum()).all()
        assert bounds.max(initial=0.0) <= function.largest()[0] + 1e-12
        inside += len(own)
    assert inside == 4 * len(U)  # of each output and sign: the cells are all directions, once


def without(paths):
    """The last cell is missing: the first stands in its place."""
    return [*paths[:-1], paths[0]]


def flipped(paths):
    """The last cell is on another side."""
    return [*paths[:-1], [*paths[-1][:-1], -paths[-1][-1]]]


@pytest.mark.parametrize("change", [without, flipped])
@pytest.mark.parametrize("tree", [0, 1])
def test_trees_that_leave_directions_out_are_refused(tree, change):
    X = np.random.default_rng(1).standard_normal((6, 3))
    known = grown(np.random.default_rng(0), 6, 1, 3, 3)
    own = known.trees == tree
    MomentPricer(X, known)
    known.paths[own] = [[*path, 0, 0][:3] for path in change([known.path(cell) for cell in np.flatnonzero(own)])]
    with pytest.raises(ArgumentError, match="leave directions out"):
        MomentPricer(X, known)


@pytest.mark.parametrize(
    ("loss", "outputs", "bias"), [("squared", 1, False), ("squared", 2, True), ("logistic", 1, True)]
)
def test_more_cells_are_sharper_and_never_below_the_supremum(loss, outputs, bias):
    X, Y, _ = problem(15, 2 if bias else 3, outputs)
    Y = np.sign(Y - np.median(Y) + 1e-9) if loss == "logistic" else Y
    datafit, beta, bounds = Datafit(as_loss(loss, "test"), Y), 0.05, []
    for theta, known in moment_relaxations(lifted_rows(X, bias), datafit, beta, True, 30):
        point = datafit.dual_point(theta, np.full((15, 1), 15**-0.5))
        size = MomentPricer(X, known, bias).price(point, 1).size
        for c in range(outputs):
            own = SweepPricer(X, 2, True) if bias else SimplexPricer(X)
            assert own.price(point[:, c], 1).size <= size * (1 + 1e-9)
        bounds.append(datafit.dual_value(point * min(1, 15 * beta / size)))
        assert known.rates.min() >= 1
        assert known.rates.max() <= 1e6  # rounding is bounded by the largest
    assert len(known.trees) > 8
    assert all(later >= first * (1 - 1e-3) for first, later in pairwise(bounds))
    assert bounds[-1] > 1.02 * bounds[0]


def test_a_row_on_the_ends_of_its_bounds():
    """One row: (x·u)₊ is |x| at most, and a negative one is 0."""
    X = np.array([[3.0, 4.0]])
    best = whole(np.ones((2, 1)), np.array([[0.0], [-1.0]]), np.zeros((2, 1)), 2)
    assert MomentPricer(X, best).price(np.array([1.0]), 1).size == pytest.approx(5, rel=1e-9)
    assert MomentPricer(X, best).price(np.array([-1.0]), 1).size == pytest.approx(5, rel=1e-9)
    assert MomentPricer(X, best).quadratic(np.array([[1.0]]), 1).largest()[0] == pytest.approx(0, abs=1e-9)


def test_multipliers_beyond_what_is_allowed_are_reduced():
    X, theta, _ = problem(6, 2, 1)
    large = whole(np.ones((2, 6)), np.full((2, 6), -2.0), np.full((2, 6), 3.0), 2)
    allowed = whole(np.ones((2, 6)), np.full((2, 6), -0.4), np.full((2, 6), 0.6), 2)
    size = MomentPricer(X, large).price(theta, 1).size
    assert size == pytest.approx(MomentPricer(X, allowed).price(theta, 1).size, rel=1e-12)
    assert size >= SimplexPricer(X).price(theta, 1).size


def test_a_free_bias_of_the_size_of_the_rows():
    """The neuron (x + 1)₊ of the rows 1 and -1 has the values 2 and 0: the bound is met."""
    X, theta = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    best = whole(np.ones((2, 2)), np.full((2, 2), -1.0), np.zeros((2, 2)), 2)
    assert MomentPricer(X, best, True).price(theta, 1).size == pytest.approx(2, rel=1e-9)


def test_a_function_that_is_largest_inside_of_the_ball():
    assert Quadratic(1.0, np.zeros(2), -np.eye(2)).largest()[0] >= 1


def test_multipliers_of_other_rows_are_refused():
    with pytest.raises(ArgumentError, match="6 rows"):
        MomentPricer(np.ones((6, 2)), multipliers(np.random.default_rng(0), 5, 1, 2))


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
    theta, known = relaxed(lifted_rows(X, bias), datafit, beta, True)
    theta = datafit.dual_point(theta, np.full((15, 1), 15**-0.5))
    size = MomentPricer(X, known, bias).price(theta, 1).size
    assert size == pytest.approx(15 * beta, rel=1e-2)
    assert datafit.dual_value(theta * min(1, 15 * beta / size) * (1 - 1e-9)) > 0.05 * datafit.value(0 * Y)


@pytest.mark.parametrize("bias", [False, True])
def test_the_bound_of_the_best_multipliers_is_near_the_supremum_in_the_plane(bias):
    X, Y, _ = problem(30, 2, 1)
    Y = Y - Y.mean()
    datafit = Datafit(as_loss("squared", "test"), Y)
    theta, known = relaxed(lifted_rows(X, bias), datafit, 0.1, True)
    theta -= theta.mean()
    truth = SweepPricer(X, 2, bias).price(theta, 1).size
    bound = MomentPricer(X, known, bias).price(theta, 1).size
    assert truth <= bound <= 3 * truth


def test_rows_beyond_the_limit_are_left_out_of_the_relaxation(monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.estimators.any_width_bound._LARGEST", 200)
    X, Y, _ = problem(40, 20, 1)
    theta, known = relaxed(X, Datafit(as_loss("squared", "test"), Y), 0.05, True)
    kept = theta.any(axis=1)
    assert 1 < kept.sum() < 20  # rows span fewer directions than there are columns
    assert abs(theta.sum()) < 1e-4 * np.abs(theta).sum()
    size = MomentPricer(X, known).price(theta, 1).size
    assert size == pytest.approx(40 * 0.05, rel=1e-2)


def test_rows_that_are_zero_add_nothing():
    X, Y, _ = problem(10, 3, 1)
    X[::3] = 0
    theta, known = relaxed(X, Datafit(as_loss("squared", "test"), Y), 0.05, True)
    assert np.isfinite(MomentPricer(X, known).price(theta, 1).size)
