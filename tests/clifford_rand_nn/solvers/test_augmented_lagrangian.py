"""Solvers of the convex ReLU program, interior points and ADMM: against the dual, CVXPY and each other."""

import numpy as np
import pytest

from clifford_rand_nn import activation_patterns, sample_gates, spiral
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from clifford_rand_nn.solvers.augmented_lagrangian import AugmentedLagrangian
from clifford_rand_nn.solvers.complementarity import AbsoluteValues, SecondOrderCones
from clifford_rand_nn.solvers.cone_interior_point import ConeInteriorPoint
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.iterations import LossTerm
from clifford_rand_nn.solvers.relu_program import ReLUProgram, UnitBlocks
from support.pairwise import pairwise
from support.problems import ONE_OUTPUT
from support.relu_problems import make_relu

PENALTIES = ["group_l2", "group_l1"]
CASES = {
    "more features than rows": {"n": 8, "d": 12, "m": 3},
    "one feature": {"d": 1},
    "duplicates": {"change": lambda X: np.vstack([X[:12], X[:13]])},
    "low rank": {"d": 4, "change": lambda X: X[:, [0, 1, 0, 1]]},
    "integers": {"change": lambda X: np.round(2 * X)},
    "all on, all off": {"extremes": True},
    "one output constant": {"loss": "logistic", "extremes": True, "fit_intercept": False},
    "a row of zeros": {"bias": False, "change": lambda X: np.vstack([0 * X[:1], X[1:]])},
    "small data, large targets": {"X_scale": 1e-6, "y_scale": 1e6},
    "large data, small targets": {"X_scale": 1e6, "y_scale": 1e-6},
    "large beta": {"beta": 100.0},
    "small beta": {"beta": 1e-5},
}


def check(problem, result):
    """What any result must be: feasible, its objective that of the network it returns, its bound below."""
    c = result.coefficients
    assert problem.violation(c) < 1e-11
    assert result.objective == pytest.approx(problem.objective(c), rel=1e-9)
    assert result.objective == pytest.approx(problem.network_objective(c), rel=1e-12)
    np.testing.assert_allclose(result.fitted, problem.network_predictions(c))
    assert result.duality_gap >= 0
    assert problem.datafit.dual_value(result.dual_point) == pytest.approx(
        result.objective - result.duality_gap, rel=1e-6, abs=1e-9 * result.objective
    )
    if problem.patterns.any():  # the dual point is feasible by a computation of its own
        assert problem.cone_norm(result.dual_point) <= problem.n * problem.beta * (1 + 1e-6)


@pairwise({"penalty": PENALTIES, "loss": ONE_OUTPUT, "bias": [True, False], "fit_intercept": [True, False]})
def test_interior_points_close_the_gap(loss, penalty, bias, fit_intercept):
    problem = make_relu(loss, penalty, bias, fit_intercept)
    result = ConeInteriorPoint(tol=1e-7).solve(problem)
    assert result.converged, result.status
    assert result.relative_gap <= 1e-7
    check(problem, result)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_interior_points_on_odd_data(name, penalty):
    problem = make_relu(penalty=penalty, **CASES[name])
    result = ConeInteriorPoint(tol=1e-7).solve(problem)
    assert result.converged, result.status
    check(problem, result)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", ONE_OUTPUT)
def test_admm_agrees_within_the_gaps(loss, penalty):
    problem = make_relu(loss, penalty, n=20, m=3, beta=0.05)
    exact, admm = ConeInteriorPoint().solve(problem), AugmentedLagrangian(tol=1e-4).solve(problem)
    assert admm.converged, admm.status
    check(problem, admm)
    assert exact.objective - exact.duality_gap <= admm.objective * (1 + 1e-9)
    assert admm.objective - admm.duality_gap <= exact.objective
    assert admm.objective == pytest.approx(exact.objective, rel=1e-4)


@pytest.mark.parametrize("name", [name for name in CASES if name != "small beta"])
def test_admm_on_odd_data(name):
    problem = make_relu(**CASES[name])
    result = AugmentedLagrangian(tol=1e-3).solve(problem)
    assert result.converged, result.status
    check(problem, result)


def test_spiral_against_cvxpy():
    """40 gates and beta = 1e-3/(2n): tiny, where first-order methods stop at 1e-2 and normal equations break."""
    X, y = spiral()
    patterns, _ = activation_patterns(X, sample_gates(X, 40, random_state=0))
    problem = ConvexReLUProblem(X, y, patterns, 1e-3 / (2 * len(X)))
    ours, theirs = ConeInteriorPoint(tol=1e-6).solve(problem), CvxpyReference(tol=1e-3).solve(problem)
    assert ours.converged
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-5)
    assert ours.objective <= theirs.objective * (1 + 1e-6)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize(("n", "m"), [(8, 6), (40, 1)])
def test_newton_system_against_dense(loss, penalty, n, m):
    """Both factorizations, of (n, n) and of all units, against the matrix written out."""
    program = ReLUProgram(make_relu(loss, penalty, n=n, m=m))
    rng = np.random.default_rng(0)
    G = 2 * program.problem.n_patterns
    ratio = np.exp(3 * rng.standard_normal((n, G)))
    root = rng.standard_normal((G, program.rank, program.rank))
    root = root + root.transpose(0, 2, 1)
    f = rng.standard_normal((n, 1))
    R = LossTerm(program.problem.datafit, f, 1.0).linearize(f)
    blocks = UnitBlocks(program, root, ratio, R, 1e-8)
    assert (blocks.Q is None) == (n == 8)
    r, e = rng.standard_normal((G, program.width)), rng.standard_normal(1)
    d, dt = blocks.solve(r, e)
    force = R**2 * (program.forward(d) + dt)
    left = program.cones_adjoint(ratio * program.cones(d)) + 1e-8 * d + program.adjoint(force)
    left[:, : program.rank] += np.einsum("gij,gjk,gk->gi", root, root, d[:, : program.rank])
    np.testing.assert_allclose(left, r, atol=1e-8)
    np.testing.assert_allclose(force.sum(axis=0), e, atol=1e-8)


@pytest.mark.parametrize("loss", ONE_OUTPUT)
def test_loss_terms_linearize_their_own_equations(loss):
    """With fixed predictions a step is W q, and such steps end at the residual of the predictions."""
    datafit = make_relu(loss).datafit
    f = np.random.default_rng(0).standard_normal(datafit.y.shape)
    term = LossTerm(datafit, f + 0.3 * np.sin(7 * f), 0.1)
    for _ in range(25):
        R = term.linearize(f)
        Wq = term.right_hand_side(max(0.1 * term.product() / max(term.count, 1), 1e-9), False)
        before = np.array(term.theta)
        term.set_direction(np.zeros_like(f))
        step = min(1.0, 0.99 * term.limit())
        term.advance(step)
        np.testing.assert_allclose(term.theta - before, step * Wq, atol=1e-9)
        assert R.min() >= 0
    np.testing.assert_allclose(term.theta, datafit.residual(f), atol=1e-4)


@pytest.mark.parametrize("kind", [SecondOrderCones, AbsoluteValues])
def test_norm_cones_stay_inside_and_linearize(kind):
    rng = np.random.default_rng(0)
    cones = kind(5, 3, 2.0, 1.0)
    for _ in range(4):
        root = cones.root()
        q = cones.right_hand_side(0.1, False)
        du = rng.standard_normal((5, 3))
        cones.set_direction(du)
        expected = np.einsum("gij,gj->gi", root @ root, q - du)
        change = cones.dz if kind is SecondOrderCones else (cones.dz[0] - cones.dz[1]) / 2  # of the dual (G, m)
        np.testing.assert_allclose(change, expected, atol=1e-10)
        limit = cones.limit()
        assert 0 < limit < np.inf
        assert np.linalg.norm(cones.dual + 0.999 * limit * change, axis=1).max() < 2.0 * (
            1 if kind is SecondOrderCones else 2
        )
        before = cones.product(0.5 * limit)
        cones.advance(0.5 * limit)
        assert cones.product() == pytest.approx(before)
        assert cones.product() > 0


def test_admm_begins_where_it_is_told_and_its_gap_never_rises():
    problem = make_relu(n=30)
    exact = ConeInteriorPoint(tol=1e-9).solve(problem)
    warm = AugmentedLagrangian(tol=1e-12, max_iter=1).solve(problem, start=exact.coefficients)
    assert warm.objective <= exact.objective * (1 + 1e-9)
    slow = AugmentedLagrangian(tol=1e-12, max_iter=60, check_every=1).solve(problem)
    gaps = [row.relative_gap for row in slow.history]
    assert len(gaps) > 30
    assert gaps == sorted(gaps, reverse=True)


@pytest.mark.parametrize("solver", [ConeInteriorPoint(), AugmentedLagrangian()])
def test_nothing_to_learn(solver):
    problem = make_relu(n=12)
    constant = ConvexReLUProblem(problem.X, np.full(12, 3.0), problem.patterns, 0.1)
    assert solver.solve(constant).objective == 0
    none = solver.solve(ConvexReLUProblem(problem.X, problem.datafit.y, problem.patterns[:, :0], 0.1))
    assert none.converged
    assert none.coefficients.coef_plus.shape == (1, 0, 2)
    zero = solver.solve(ConvexReLUProblem(problem.X, np.zeros(12), problem.patterns, 0.1, fit_intercept=False))
    assert zero.objective == 0


def test_who_suits_what():
    assert ConeInteriorPoint.suits(make_relu())
    rng = np.random.default_rng(0)
    large = ConvexReLUProblem(rng.random((1000, 400)), rng.random(1000), rng.random((1000, 20)) < 0.5, 0.1)
    assert not ConeInteriorPoint.suits(large)


def test_units_outside_their_cones_below_the_bound_are_no_error():
    """A network that leaves its patterns may lie below every bound over them: that ends nothing, and proves nothing."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 5))
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(30))
    patterns, _ = activation_patterns(X, sample_gates(X, 10, "cross", random_state=1))
    problem = ConvexReLUProblem(X, y, patterns, 1.0, bias=False)
    problem.beta = 0.5 * problem.beta_max()
    result = AugmentedLagrangian(tol=1e-3).solve(problem)
    assert result.relative_gap <= 1e-3
    check(problem, result)
