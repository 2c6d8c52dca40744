"""Every solver on every problem: agreement within the gap, and the gap against an independent computation."""

import cvxpy as cp
import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.solvers.cone_interior_point import ConeInteriorPoint
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.dispatch import AutoSolver
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gate_working_set import GateWorkingSet
from clifford_rand_nn.solvers.kernel_interior_point import KernelInteriorPoint
from clifford_rand_nn.solvers.lasso_interior_point import InteriorPoint
from clifford_rand_nn.solvers.lasso_proximal_newton import ProximalNewton
from clifford_rand_nn.solvers.lasso_working_set import WorkingSet
from support.lasso import lasso
from support.pairwise import pairwise
from support.problems import LOSSES, agree, make
from support.relu_problems import make_relu


@pairwise({"loss": LOSSES, "bias": [True, False], "fit_intercept": [True, False], "wide": [False, True]})
def test_fista_and_the_chosen_solver_agree_with_cvxpy_within_the_gap(loss, bias, fit_intercept, wide):
    n, d, m = (8, 12, 3) if wide else (50, 3, 5)
    problem = make(loss, bias, fit_intercept, n=n, d=d, m=m, beta=0.04)
    fista, reference = Fista(tol=1e-8).solve(problem), CvxpyReference().solve(problem)
    assert fista.relative_gap < 1e-6
    assert fista.duality_gap >= 0
    chosen = AutoSolver(tol=1e-8).solve(problem)
    assert chosen.status == "optimal"
    assert chosen.reason
    for ours in (fista, chosen):
        agree(ours, reference)
    assert fista.objective == pytest.approx(reference.objective, rel=1e-6)


def test_dual_value_against_the_dual_program():
    """The lower bound converges to the optimum of the dual of conventions §4, stated on its own in CVXPY."""
    problem = make("squared", n=40, d=2, m=4, beta=0.05)
    X, D, y, n = problem.X, problem.map.patterns, problem.datafit.y, 40
    theta = cp.Variable((n, 2))
    constraints = [cp.sum(theta, axis=0) == 0]
    for i in range(D.shape[1]):
        constraints += [cp.norm(X[D[:, i]].T @ theta[D[:, i]], "fro") <= n * problem.beta]
        constraints += [cp.sum(theta[D[:, i]], axis=0) == 0]
    value = cp.Problem(
        cp.Maximize((cp.sum(cp.multiply(theta, y)) - cp.sum_squares(theta) / 2) / n), constraints
    ).solve()
    result = Fista(tol=1e-9).solve(problem)
    assert result.objective - result.duality_gap == pytest.approx(value, rel=1e-7)
    assert result.objective == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(result.dual_point, theta.value, atol=1e-3)


def test_warm_start_and_repeats():
    problem = make(n=40, beta=3e-3)
    result = Fista(tol=1e-10).solve(problem)
    again, warm = (Fista(tol=1e-10).solve(problem, start) for start in (None, problem.point(result.coefficients)))
    np.testing.assert_array_equal(result.coefficients.coef, again.coefficients.coef)
    assert warm.n_iter < result.n_iter / 3


ROUNDED = {
    "fista": (make(n=40), lambda problem, **limits: Fista(**limits).solve(problem)),
    "interior point": (lasso("huber", share=1e-3), lambda problem, **limits: InteriorPoint(**limits).solve(problem)),
    "working set": (lasso(share=1e-3), lambda problem, **limits: WorkingSet(**limits, most=3).solve_columns(problem)),
    "kernel": (
        make("logistic", False, n=60, beta=1e-4),
        lambda problem, **limits: KernelInteriorPoint(**limits).solve(problem),
    ),
    "cone": (make_relu(n=30), lambda problem, **limits: ConeInteriorPoint(**limits).solve(problem)),
}


@pytest.mark.parametrize("name", ROUNDED)
def test_a_bound_holds_wherever_a_solver_ends_and_rounding_ends_it(name):
    problem, solve = ROUNDED[name]
    exact, short, beyond = solve(problem), solve(problem, max_iter=2), solve(problem, tol=1e-18)
    assert "stopped after 2 iterations at a relative gap of" in short.message
    assert short.objective - short.duality_gap <= exact.objective
    assert short.objective >= exact.objective - exact.duality_gap
    assert "larger tol" in beyond.message
    assert beyond.relative_gap < 1e-10


@pytest.mark.parametrize("loss", LOSSES)
def test_large_beta_gives_no_neuron(loss):
    top = make(loss, n=40).beta_max()
    above, below = (Fista(tol=1e-9).solve(make(loss, n=40, beta=s * top)) for s in (1.001, 0.98))
    assert not above.coefficients.coef.any()
    assert below.coefficients.coef.any()


@pytest.mark.parametrize("solver", [Fista(), CvxpyReference()])
def test_constant_targets_cost_nothing_and_no_patterns_leave_the_intercept(solver):
    X = np.random.default_rng(0).standard_normal((10, 2))
    result = solver.solve(GatedReLUProblem(X, np.full(10, 3.0), np.ones((10, 1), bool), 0.1))
    assert result.objective < 1e-8
    np.testing.assert_allclose(result.fitted, 3.0, atol=1e-3)
    y = np.array([1.0, 2.0, 6.0])
    result = solver.solve(GatedReLUProblem(np.ones((3, 2)), y, np.zeros((3, 0), bool), 0.1))
    assert result.coefficients.intercept[0] == pytest.approx(3.0, abs=1e-6)
    assert result.objective == pytest.approx(np.mean((y - 3) ** 2) / 2, rel=1e-6)


_X = np.ones((4, 3))
_NEURONS = Neurons.free(np.ones((3, 2)), np.zeros(2))
_GIVEN = {"y": np.ones(4), "beta": 0.1, "pricer": None}
_TALL = LassoProblem(np.eye(3000, 1), np.eye(3000, 3), 1e-9)
_BAD = [
    (WorkingSet, {"most": 0}, "'most' parameter of WorkingSet must be .* Got 0"),
    (GateWorkingSet, {"max_rounds": 0}, "'max_rounds' parameter of GateWorkingSet must be .* Got 0"),
    (CvxpyReference, {"solver": "NOPE"}, "'solver' parameter of CvxpyReference must be one of .*CLARABEL.*Install the"),
    (CvxpyReference().solve, {"problem": 3}, "'problem' parameter of CvxpyReference must be a GatedReLUProblem, a Gat"),
    (WorkingSet().solve, {"X": np.ones(3), **_GIVEN}, r"'X' parameter of WorkingSet.solve must be an \(n, d\) array"),
    (WorkingSet().solve, {"X": _X[:, :2], **_GIVEN, "start": _NEURONS}, "'start' .* must be neurons of dimension 2"),
    (WorkingSet().solve, {"X": _X[:3], **_GIVEN}, "'y' parameter of LassoProblem"),
    (InteriorPoint().solve, {"problem": _TALL}, "rows × outputs ≤ 8000.* Got 3000 rows, 3 outputs of loss='squared'"),
    (ProximalNewton().solve, {"problem": lasso("huber")}, "squared loss"),
]


@pytest.mark.parametrize(("call", "options", "message"), _BAD)
def test_errors(call, options, message):
    with pytest.raises(ArgumentError, match=message):
        call(**options)
