"""The Lasso that beta is judged by: near the optimum of another solver, for every loss that it is for."""

import numpy as np
import pytest

from clifford_rand_nn.estimators.lasso_paths import LassoCoordinateDescent
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.problems.loss_registry import encode_labels, make_datafit
from clifford_rand_nn.solvers.lasso_interior_point import InteriorPoint
from support.pairwise import pairwise

rng = np.random.default_rng(4)
K = np.maximum(rng.standard_normal((60, 5)) @ rng.standard_normal((5, 90)), 0)
LABELS = (K[:, 0] > K[:, 1]).astype(int) + (K[:, 2] > 1)
WEIGHTS = rng.uniform(0.5, 2, 60)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # it is judged as it is
@pairwise(
    {
        ("loss", "classes"): [("squared", 2), ("squared", 3), ("logistic", 2), ("logistic", 3)],
        "weights": [None, WEIGHTS],
        "intercept": [True, False],
    }
)
def test_it_comes_near_the_optimum(loss, classes, weights, intercept):
    y, kind = encode_labels(np.minimum(LABELS, classes - 1), classes, loss)
    options = {"loss": kind, "fit_intercept": intercept, "sample_weight": weights}
    atoms = Neurons.free(np.zeros((1, 90)), np.zeros(90))
    followed = LassoCoordinateDescent(atoms, K, make_datafit(kind, y, 60, "test", None, weights), intercept)
    top = LassoProblem(K, y, 1.0, **options).beta_max()
    for beta in top * 0.5 ** np.arange(1.0, 8.0):
        values, t = followed.at(float(beta))
        problem = LassoProblem(K, y, float(beta), **options)
        best = InteriorPoint(tol=1e-8).solve(problem).objective
        found = problem.objective(Weights(np.arange(90), values, t))
        assert best * (1 - 1e-7) <= found <= best * (1 + 2e-3)
        if not intercept:
            assert not t.any()


def test_no_columns_leave_the_constant():
    y, kind = encode_labels(np.array([0, 1, 1, 1]), 2, "logistic")
    atoms, datafit = Neurons.free(np.zeros((1, 0)), np.zeros(0)), make_datafit(kind, y, 4, "test")
    followed = LassoCoordinateDescent(atoms, np.zeros((4, 0)), datafit, True)
    values, t = followed.at(0.1)
    assert values.shape == (0, 1)
    assert t[0] == pytest.approx(np.log(3))
