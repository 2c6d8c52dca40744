"""The gated-ReLU problem: derivatives, prox, conjugates, the split-off of the biases, and the gap."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from clifford_rand import ArgumentError
from clifford_rand_nn.problems.gated import Coefficients, GatedReLUProblem, GatedRidgeProblem, Point
from clifford_rand_nn.problems.penalties import GroupL2
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.kernel_newton import KernelNewton
from support.pairwise import pairwise
from support.problems import LOSSES, make


def random_point(problem, rng):
    z = problem.start()
    return Point(rng.standard_normal(z.U.shape), rng.standard_normal(z.c.shape))


def plain_objective(problem, c):
    """Objective from coefficients by the formulas of docstrings, gate by gate."""
    X, D, y = problem.X, problem.map.patterns, problem.datafit.y
    f = np.tile(c.intercept, (len(X), 1))
    for i in range(D.shape[1]):
        f += D[:, [i]] * (X @ c.coef[:, i].T + c.gate_intercept[:, i])
    loss = problem.datafit.loss.stated_value(f, y).sum()
    return loss / len(X) + problem.beta * sum(np.linalg.norm(c.coef[:, i]) for i in range(D.shape[1]))


@pairwise({"loss": LOSSES, "bias": [True, False], "fit_intercept": [True, False]})
def test_points_and_coefficients_are_the_same_network(loss, bias, fit_intercept):
    problem = make(loss, bias, fit_intercept)
    rng = np.random.default_rng(1)
    z = random_point(problem, rng)
    c = problem.coefficients(z)
    assert problem.objective(z) == pytest.approx(plain_objective(problem, c), rel=1e-12)
    if not bias:
        assert not c.gate_intercept.any()
    if not fit_intercept:
        assert not c.intercept.any()
    # The other way round: any coefficients whatever have a point with the same objective.
    free = Coefficients(
        rng.standard_normal(c.coef.shape),
        rng.standard_normal(c.gate_intercept.shape) * bias,
        rng.standard_normal(c.intercept.shape) * fit_intercept,
    )
    assert problem.objective(problem.point(free)) == pytest.approx(plain_objective(problem, free), rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_against_differences(loss):
    problem = make(loss, n=12, m=3)
    z = random_point(problem, np.random.default_rng(2))

    def smooth(x):
        U, c = x[: z.U.size].reshape(z.U.shape), x[z.U.size :].reshape(z.c.shape)
        return problem.datafit.value(problem.predictions(Point(U, c)))

    g = Point(*problem.map.adjoint(-problem.datafit.residual(problem.predictions(z)) / problem.n))
    expected = approx_fprime(np.concatenate([z.U.ravel(), z.c.ravel()]), smooth, 1e-7)
    np.testing.assert_allclose(np.concatenate([g.U.ravel(), g.c.ravel()]), expected, atol=3e-6)


def test_adjoint_and_norm():
    problem = make(n=25, d=4)
    rng = np.random.default_rng(3)
    z, R = random_point(problem, rng), rng.standard_normal((25, 2))
    gU, gc = problem.map.adjoint(R)
    assert np.vdot(problem.predictions(z), R) == pytest.approx(np.vdot(z.U, gU) + np.vdot(z.c, gc))
    columns = []
    for j in range(z.U[..., 0].size):
        U = np.zeros(z.U[..., :1].shape)
        U.flat[j] = 1
        columns.append(problem.map.remove_unpenalized(problem.map.gated(U))[:, 0])
    exact = np.linalg.norm(np.stack(columns, axis=1), 2)
    assert exact * (1 - 1e-6) <= problem.map.sigma <= 1.05 * exact


def test_a_map_that_biases_explain_has_norm_one():
    """With a pattern for every row M = 0: the power iteration must see that it measures rounding only."""
    X = np.random.default_rng(0).standard_normal((30, 2))
    problem = GatedReLUProblem(X, X[:, 0], np.tri(30, dtype=bool), 0.1)
    assert problem.map.Q.shape == (30, 30)
    assert problem.map.sigma == 1.0
    assert Fista().solve(problem).objective < 1e-25


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("step", [0.1, 1.0, 30.0])
def test_prox_is_the_minimiser_and_obeys_moreau(step, weighted):
    """prox minimizes |v-u|²/(2 step) + penalty; u - prox(u) is the projection on the dual ball of radius step·beta."""
    rng = np.random.default_rng(0)
    weights = np.array([1.0, 1.5, 3.0, 5.0]) if weighted else np.ones(4)
    penalty = GroupL2(0.3, weights)
    U = rng.standard_normal((4, 5, 2))
    V = penalty.prox(U, step)

    def value(W):
        return np.sum((W - U) ** 2) / (2 * step) + penalty.value(W)

    for _ in range(200):
        assert value(V) <= value(V + 0.1 * rng.standard_normal(U.shape)) + 1e-12
    # U - V is step·beta times a subgradient: in the dual ball, and on its boundary along V where V is not 0.
    rest = (U - V) / (0.3 * step)
    w = weights[:, None, None]
    norms = np.linalg.norm(w * V, axis=(0, 2))
    assert np.count_nonzero(norms) > 0 or step > 1
    for i in range(5):
        if norms[i] > 0:
            np.testing.assert_allclose(rest[:, i], w[:, 0] ** 2 * V[:, i] / norms[i], atol=1e-12)
        else:
            assert penalty.dual_norm(rest[:, i : i + 1]) <= 1
    if not weighted:
        ball = U * np.minimum(1, 0.3 * step / penalty.norms(U))[:, None]
        np.testing.assert_allclose(V + ball, U, atol=1e-13)


@pairwise({"loss": LOSSES, "bias": [True, False], "fit_intercept": [True, False]})
def test_dual_bound_is_feasible_and_below_every_primal_value(loss, bias, fit_intercept):
    problem = make(loss, bias, fit_intercept, n=40)
    rng = np.random.default_rng(4)
    values, bounds = [], []
    for scale in (0.0, 0.01, 0.1, 1.0):
        z = random_point(problem, rng)
        z = Point(scale * z.U, scale * z.c)
        values.append(problem.objective(z))
        bound = problem.dual_bound(problem.predictions(z))
        bounds.append(bound.value)
        theta, X, D = bound.theta, problem.X, problem.map.patterns
        for i in range(D.shape[1]):
            assert np.linalg.norm(X[D[:, i]].T @ theta[D[:, i]]) <= 40 * problem.beta * (1 + 1e-10)
            if bias:
                assert np.abs(theta[D[:, i]].sum(axis=0)).max() <= 1e-10
        if fit_intercept:
            assert np.abs(theta.sum(axis=0)).max() <= 1e-10
    assert max(bounds) <= min(values)


def test_gap_is_finite_where_a_bias_runs_to_infinity():
    """A class absent from a gate: the infimum is not attained, yet the bound closes (softmax, unpenalized biases)."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    patterns = np.stack([X[:, 0] > 0, X[:, 1] > 0], axis=1)
    y = rng.integers(0, 3, 30)
    y[patterns[:, 0] & (y == 2)] = 0
    result = Fista(tol=1e-6).solve(GatedReLUProblem(X, np.eye(3)[y], patterns, 0.05, loss="softmax"))
    assert result.relative_gap < 1e-4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros(3)}, r"'X' parameter of GatedReLUProblem must be an \(n, d\) array"),
        ({"y": [1.0, 2.0]}, r"'y' parameter of GatedReLUProblem must be one target for each row"),
        ({"y": [1.0, np.inf, 0.0]}, "'y' .* must be finite. Got 1 NaN or infinite of 3"),
        ({"patterns": np.ones((3, 2))}, "must be a boolean array of shape \\(3, P\\). Got dtype float64"),
        ({"patterns": np.ones((2, 2), bool)}, "Got dtype bool, shape \\(2, 2\\)"),
        ({"beta": 0}, "'beta' .* must be a finite number > 0. Got 0"),
        ({"loss": "hinge"}, "must be one of 'squared', .*'softmax'. Got 'hinge'"),
        ({"loss": "logistic"}, "one column of -1 and 1 for loss='logistic'. Got shape \\(3, 1\\), values from 0 to 1"),
        ({"loss": "softmax"}, "one-hot rows"),
    ],
)
def test_errors(change, message):
    arguments = {"X": np.eye(3), "y": [0.0, 1.0, 0.5], "patterns": np.ones((3, 1), bool), "beta": 0.1} | change
    with pytest.raises(ArgumentError, match=message):
        GatedReLUProblem(**arguments)


@pytest.mark.parametrize("loss", ["squared", "huber", "log_cosh", "logistic", "squared_hinge"])
@pytest.mark.parametrize("unit", [1.0, 1e8])
def test_bounds_of_squared_norms_are_no_less_than_zero_and_exact_at_the_optimum(loss, unit):
    """Far from it the square of the network of a residual, over n beta, was 1e21 times the objective."""
    rng = np.random.default_rng(0)
    X, f = unit * rng.standard_normal((12, 3)), rng.standard_normal((12, 1))
    y = np.sign(f[:, 0]) if loss in ("logistic", "squared_hinge") else f[:, 0]
    problem = GatedRidgeProblem(X, y, X @ rng.standard_normal((3, 4)) >= 0, beta=1e-3, loss=loss)
    best = KernelNewton(tol=1e-9).solve(problem) if unit == 1 else None
    for predictions in (0 * f, f - 1, 30 * f):
        bound = problem.dual_bound(predictions)
        assert bound.value >= 0
        assert bound.value <= problem.datafit.value(0 * f)
        if best is not None:
            assert bound.value <= best.objective
    if best is not None:
        assert problem.dual_bound(best.fitted).value == pytest.approx(best.objective, rel=1e-6)
