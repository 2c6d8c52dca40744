"""The CVXPY programs: each against a solver of our own, solvers by name, units."""

import numpy as np
import pytest

from clifford_rand_nn.problems.gated import GatedRidgeProblem
from clifford_rand_nn.solvers.cone_interior_point import ConeInteriorPoint
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from support.lasso import lasso
from support.problems import LOSSES, ONE_OUTPUT, agree, make
from support.relu_problems import make_relu


@pytest.mark.parametrize("penalty", ["group_l2", "group_l1"])
@pytest.mark.parametrize("loss", ONE_OUTPUT)
def test_relu_agrees_with_the_interior_point_method(loss, penalty):
    problem = make_relu(loss, penalty, n=20)
    ours, theirs = ConeInteriorPoint().solve(problem), CvxpyReference(tol=1e-4).solve(problem)
    assert ours.converged
    assert theirs.converged
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-6)
    agree(ours, theirs)
    assert problem.violation(theirs.coefficients) < 1e-12


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_lasso_meets_its_own_bound(loss, fit_intercept):
    """The gap is computed without CVXPY: a wrong translation of loss, penalty or intercept leaves it open."""
    problem = lasso(loss, "tall", fit_intercept, outputs=1 if loss in ONE_OUTPUT else 3, share=0.4)
    result = CvxpyReference(tol=1e-5).solve(problem)
    assert result.converged, result.status
    assert result.objective == pytest.approx(problem.objective(result.coefficients), rel=1e-12)
    assert np.linalg.norm(result.coefficients.values) > 0


@pytest.mark.parametrize("loss", ["squared", "softmax"])
def test_squared_norms_meet_their_own_bound(loss):
    gated = make(loss, n=30, m=4)
    problem = GatedRidgeProblem(gated.X, gated.datafit.y, gated.map.patterns, 0.03, loss=loss)
    result = CvxpyReference(tol=1e-5).solve(problem)
    assert result.converged, result.status
    assert np.linalg.norm(result.coefficients.coef) > 0


@pytest.mark.parametrize(("loss", "scale"), [("squared", 1e-6), ("huber", 1e6)])
def test_units_do_not_matter(loss, scale):
    """Solvers have absolute tolerances; the programs are in units of their own."""
    one = CvxpyReference().solve(make_relu(loss, n=20))
    other = CvxpyReference().solve(make_relu(loss, n=20, X_scale=1 / scale, y_scale=scale))
    assert other.converged
    assert other.objective == pytest.approx(scale**2 * one.objective, rel=1e-6)
    data = CvxpyReference().solve(lasso(scale=scale))
    assert data.objective == pytest.approx(CvxpyReference().solve(lasso()).objective, rel=1e-6)


def test_other_solvers_and_options():
    problem = make_relu(n=15, m=2)
    best = CvxpyReference().solve(problem)
    scs = CvxpyReference(tol=1e-2, solver="SCS", options={"eps": 1e-6}).solve(problem)
    assert scs.solver == "cvxpy:SCS"
    assert scs.objective == pytest.approx(best.objective, rel=1e-3)
    with pytest.warns(UserWarning, match="inaccurate"):  # CVXPY's own
        rough = CvxpyReference(tol=1e-8, options={"max_iter": 3}).solve(problem)
    assert rough.n_iter == 3
    assert "tighten options" in rough.message
