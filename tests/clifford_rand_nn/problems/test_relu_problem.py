"""The convex ReLU program: its formula, its cones, its dual, the network it stands for, and cone decomposition."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn.problems.datafit import unpenalized_fit
from clifford_rand_nn.problems.gated import Coefficients, GatedReLUProblem
from clifford_rand_nn.problems.relu import ConvexReLUProblem, ReLUCoefficients, project_on_cone
from clifford_rand_nn.solvers.cone_interior_point import ConeInteriorPoint
from clifford_rand_nn.solvers.fista import Fista
from examples.paper.methods.cone_decomposition import cone_decomposition
from support.pairwise import pairwise
from support.problems import FLAGS, ONE_OUTPUT
from support.relu_problems import make_relu

PENALTIES = ["group_l2", "group_l1"]


def random_coefficients(problem, seed=0):
    rng = np.random.default_rng(seed)
    zero = problem.start()
    free = [rng.standard_normal(part.shape) for part in zero]
    if not problem.bias:
        free[2:4] = [np.zeros_like(free[2]), np.zeros_like(free[3])]
    return ReLUCoefficients(*free)


def plain_objective(problem, c):
    """Objective by the formula of the docstring, unit by unit."""
    X, y = problem.X, problem.datafit.y
    f, penalty = np.tile(c.intercept, (len(X), 1)), 0.0
    for i in range(problem.n_patterns):
        D = problem.patterns[:, [i]]
        f += D * (X @ (c.coef_plus[:, i] - c.coef_minus[:, i]).T + c.bias_plus[:, i] - c.bias_minus[:, i])
        for coef in (c.coef_plus, c.coef_minus):
            penalty += np.linalg.norm(coef[:, i].ravel(), ord=problem.p)
    return 0.5 * np.sum((f - y) ** 2) / len(X) + problem.beta * penalty


@pytest.mark.parametrize("penalty", PENALTIES)
def test_objective_is_the_formula(penalty):
    problem = make_relu(penalty=penalty)
    c = random_coefficients(problem)
    assert problem.objective(c) == pytest.approx(plain_objective(problem, c), rel=1e-12)


@pytest.mark.parametrize(("bias", "fit_intercept"), FLAGS)
def test_feasible_units_are_a_relu_network(bias, fit_intercept):
    problem = make_relu(bias=bias, fit_intercept=fit_intercept, extremes=True)
    raw = random_coefficients(problem)
    assert problem.violation(raw) > 0.1
    c = problem.feasible(raw)
    assert problem.violation(c) < 1e-12
    np.testing.assert_allclose(problem.network_predictions(c), problem.predictions(c), atol=1e-10)
    assert problem.feasible(c) is c


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("far", [0.0, 1e4])
def test_units_between_near_copies_are_within_their_cones_exactly(bias, far):
    """One that is outside by 1e-12 is another network: parted copies make that worth some per cent of an objective."""
    rng, moved = np.random.default_rng(0), 0
    for trial in range(10):
        d = int(rng.integers(2, 5))
        X = rng.standard_normal((3, d)) + far * bias
        V = rng.standard_normal((d, 3))
        mean = X.mean(axis=0)
        V[:, 0] -= X[0] * (X[0] @ V[:, 0]) / (X[0] @ X[0]) * (not bias)  # its plane passes through row 0
        X = np.vstack([X, X[0] + 1e-8 * rng.standard_normal((2, d))])
        offsets = np.array([X[0] @ V[:, 0], mean @ V[:, 1], mean @ V[:, 2]]) * bias
        patterns = offsets <= X @ V
        patterns[:, 0] |= np.arange(5) == 4
        patterns[3, 0] = False
        problem = ConvexReLUProblem(X, rng.standard_normal(5), patterns, 0.1, bias=bias)
        made = problem.feasible(random_coefficients(problem, trial))
        for coef, offset in ((made.coef_plus, made.bias_plus), (made.coef_minus, made.bias_minus)):
            for u, b, on in zip(coef[0], offset[0], patterns.T, strict=True):
                exact = [sum(map(Fraction.__mul__, map(Fraction, x), map(Fraction, u)), Fraction(b)) for x in X]
                assert all(z >= 0 if one else z <= 0 for z, one in zip(exact, on, strict=True))
            moved += bool(coef[0, 0].any())
    assert moved >= 5  # of 20 between the copies, some cones are the origin alone


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_neurons_predict_like_the_network(loss, penalty):
    problem = make_relu(loss, penalty)
    c = random_coefficients(problem)
    c.coef_plus[:, 0] = 0  # a unit that is a bias only keeps v = 0
    c.bias_minus[0, 1] = c.coef_minus[0, 1] = 0  # and one that is nothing is left out
    network = c.neurons(problem.p)
    np.testing.assert_allclose(network.predictions(problem.X), problem.network_predictions(c), atol=1e-10)
    norms = network.neurons.norms(problem.p)
    np.testing.assert_allclose(norms[norms > 0], 1, rtol=1e-12)
    assert np.count_nonzero(norms == 0) == problem.outputs
    assert len(network.neurons) == 2 * problem.n_patterns * problem.outputs - 1
    charged = np.sum(norms[:, None] * np.abs(network.values))
    sizes = np.linalg.norm(np.stack([c.coef_plus, c.coef_minus]), ord=problem.p, axis=3).sum()
    assert charged == pytest.approx(sizes, rel=1e-12)


def test_one_output_is_the_balanced_network():
    """Objective of w = v sqrt(z), alpha = ±sqrt(z) with (beta/2)(|w|² + alpha²) is that of the program."""
    problem = make_relu("logistic")
    c = problem.feasible(random_coefficients(problem))
    network = c.neurons()
    z = network.values[:, 0]
    W = network.neurons.directions * np.sqrt(np.abs(z))
    alpha = np.sign(z) * np.sqrt(np.abs(z)) * (network.neurons.norms(2) > 0)
    penalty = problem.beta / 2 * (np.sum(W**2) + np.sum(alpha**2))
    f = network.predictions(problem.X)
    assert problem.datafit.value(f) + penalty == pytest.approx(problem.objective(c), rel=1e-9)


def test_projection_on_a_cone_is_the_nearest_point():
    rng = np.random.default_rng(0)
    for n, r in ((1, 3), (6, 3), (40, 2), (5, 8)):
        A, u = rng.standard_normal((n, r)), rng.standard_normal(r)
        v = project_on_cone(A, u)
        x = cp.Variable(r)
        cp.Problem(cp.Minimize(cp.sum_squares(x - u)), [A @ x >= 0]).solve()
        np.testing.assert_allclose(v, x.value, atol=1e-4)
        assert (A @ v).min() >= -1e-12
        assert abs(v @ (u - v)) < 1e-12  # Moreau: the rest is orthogonal to the projection


@pairwise({"penalty": PENALTIES, "bias": [True, False], "fit_intercept": [True, False]})
def test_every_bound_is_below_the_optimum(penalty, bias, fit_intercept):
    """Bounds from random predictions and multipliers hold, and the best multipliers give the best of them."""
    problem = make_relu(penalty=penalty, bias=bias, fit_intercept=fit_intercept, extremes=True)
    optimum = ConeInteriorPoint().solve(problem)
    rng = np.random.default_rng(0)
    for size in (0.1, 1.0):
        f = optimum.fitted + size * rng.standard_normal(optimum.fitted.shape)
        multipliers = size * rng.random((problem.n, 2, problem.n_patterns))
        exact = problem.dual_bound(f).value
        assert problem.dual_bound(f, multipliers).value <= exact * (1 + 1e-9) + 1e-12
        assert exact <= optimum.objective
    assert problem.dual_bound(optimum.fitted).value == pytest.approx(optimum.objective, rel=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", ONE_OUTPUT)
def test_beta_max_is_where_the_units_vanish(loss, penalty):
    problem = make_relu(loss, penalty)
    top = problem.beta_max()
    constant = problem.datafit.value(unpenalized_fit(problem.datafit, problem.Q))
    above, below = (ConeInteriorPoint().solve(make_relu(loss, penalty, beta=s * top)) for s in (1.001, 0.95))
    assert above.objective == pytest.approx(constant, rel=1e-7)
    assert below.objective < constant * (1 - 1e-5)


@pytest.mark.parametrize(("bias", "fit_intercept"), FLAGS)
def test_gated_below_relu_below_decomposition(bias, fit_intercept):
    relu = make_relu(bias=bias, fit_intercept=fit_intercept)
    gated = GatedReLUProblem(relu.X, relu.datafit.y, relu.patterns, relu.beta, bias=bias, fit_intercept=fit_intercept)
    lower = Fista(tol=1e-8).solve(gated)
    middle = ConeInteriorPoint().solve(relu)
    upper = cone_decomposition(relu.X, relu.patterns, lower.coefficients)
    assert relu.violation(upper) < 1e-12
    np.testing.assert_allclose(relu.network_predictions(upper), lower.fitted, atol=1e-9)
    assert lower.objective - lower.duality_gap < middle.objective < relu.network_objective(upper)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("bias", [True, False])
def test_decomposition_has_the_least_norm(penalty, bias):
    problem = make_relu(penalty=penalty, bias=bias)
    rng = np.random.default_rng(1)
    P, p = problem.n_patterns, problem.p
    given = Coefficients(rng.standard_normal((1, P, 2)), bias * rng.standard_normal((1, P)), np.zeros(1))
    found = cone_decomposition(problem.X, problem.patterns, given, penalty=penalty)
    assert problem.violation(found) < 1e-12
    np.testing.assert_allclose(found.coef_plus - found.coef_minus, given.coef, atol=1e-9)
    for i in range(P):
        signs = np.where(problem.patterns[:, i], 1.0, -1.0)
        v, b = cp.Variable(2), cp.Variable() if bias else 0.0
        w, c = given.coef[0, i], given.gate_intercept[0, i]
        inside = [cp.multiply(signs, problem.X @ v + b) >= 0, cp.multiply(signs, problem.X @ (v + w) + b + c) >= 0]
        least = cp.Problem(cp.Minimize(cp.norm(v, p) + cp.norm(v + w, p)), inside).solve()
        norm = np.linalg.norm(found.coef_plus[0, i], p) + np.linalg.norm(found.coef_minus[0, i], p)
        assert least * (1 - 1e-6) <= norm <= least * (1 + 1e-3)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_decomposition_knows_no_units(scale):
    problem = make_relu()
    rng = np.random.default_rng(1)
    P = problem.n_patterns
    given = Coefficients(rng.standard_normal((2, P, 2)), rng.standard_normal((2, P)), np.zeros(2))
    once = cone_decomposition(problem.X, problem.patterns, given)
    again = cone_decomposition(problem.X * scale, problem.patterns, given._replace(coef=given.coef / scale))
    np.testing.assert_allclose(again.coef_plus * scale, once.coef_plus, rtol=1e-4, atol=1e-6)


_EYE, _Y, _ON = np.eye(3), np.ones(3), np.ones((3, 1), bool)
_GATED = Coefficients(np.ones((1, 1, 2)), np.zeros((1, 1)), np.zeros(1))
_CORNERS = np.array([[0.0, 0], [1, 1], [1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ConvexReLUProblem(_EYE, _Y, _ON[:2], 0.1), "'patterns' parameter of ConvexReLUProblem .* boolean"),
        (lambda: ConvexReLUProblem(_EYE, _Y, _ON, 1, penalty="l2"), "'penalty' parameter of ConvexReLUProblem .* one"),
        (lambda: ConvexReLUProblem(_EYE, _Y, _ON, 0), "'beta' parameter of ConvexReLUProblem .* number > 0. Got 0"),
        (lambda: cone_decomposition(_EYE, _ON, _GATED), r"'X' parameter of cone_decomposition .* of shape \(n, 2\)"),
        (
            lambda: cone_decomposition(_CORNERS, _CORNERS[:, :1] == _CORNERS[:, 1:], _GATED),
            "must be patterns of hyperplanes. Got column 0, which is none instead. Use",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
