"""Leave-one-out in closed form against refits, one by one and by groups, with weights, for all betas."""

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.leave_one_out import LeaveOneOut


def _refit(K, y, weights, beta_sum, rows):
    """Solve the optimality conditions of the problem on some rows by plain linear algebra; predict everywhere."""
    n, system = len(rows), K[np.ix_(rows, rows)] + beta_sum * np.diag(1 / weights[rows])
    A = np.block([[system, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(A, np.vstack([y[rows], np.zeros((1, y.shape[1]))]))
    return K[:, rows] @ solution[:n] + solution[n]


@pytest.mark.parametrize("seed", range(6))
def test_every_row_is_predicted_as_a_refit_without_it_does(seed):
    rng = np.random.default_rng(seed)
    n, d, C = 100, 1 + seed % 6, 1 + seed % 3
    X, y = rng.standard_normal((n, d)), rng.standard_normal((n, C))
    weights = np.ones(n) if seed % 2 else rng.uniform(0.1, 3.0, n)
    weights /= weights.mean()
    K = GateKernel(bias=[0.0, 0.3, 1.0][seed % 3])(X)
    loo = LeaveOneOut(K.copy(), y, None if seed % 2 else weights)
    betas = np.array([1e-1, 1e-3, 1e-5])
    found = loo.predictions(betas)
    for beta, predictions in zip(betas, found, strict=True):
        for i in range(0, n, 9):
            others = np.delete(np.arange(n), i)
            refit = _refit(K, y, weights, n * beta, others)[i]
            np.testing.assert_allclose(predictions[i], refit, rtol=1e-8, atol=1e-8)
        whole = _refit(K, y, weights, n * beta, np.arange(n))
        np.testing.assert_allclose(loo.fitted(beta), whole, atol=1e-8)
        alpha, t = loo.fit(beta)
        np.testing.assert_allclose(K @ alpha + t, whole, atol=1e-8)


@pytest.mark.parametrize("grouped", [False, True])
def test_errors_are_those_of_the_predictions(grouped):
    rng = np.random.default_rng(3)
    n, C = 50, 300  # more columns than one product takes
    X, y, weights = rng.standard_normal((n, 3)), rng.standard_normal((n, C)), rng.uniform(0.1, 3.0, n)
    weights /= weights.mean()
    loo = LeaveOneOut(GateKernel(bias=0.5)(X), y, weights, rng.integers(0, 9, n) if grouped else None)
    betas = loo.grid(7)
    expected = np.average((loo.predictions(betas) - y) ** 2, axis=1, weights=weights)
    np.testing.assert_allclose(loo.errors(betas), expected, rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_every_group_is_predicted_as_a_refit_without_it_does(weighted):
    rng = np.random.default_rng(0)
    n, C = 60, 2
    X, y = rng.standard_normal((n, 3)), rng.standard_normal((n, C))
    weights = rng.uniform(0.1, 3.0, n) if weighted else np.ones(n)
    weights /= weights.mean()
    groups = rng.integers(0, 7, n)
    K = GateKernel(bias=0.5)(X)
    loo = LeaveOneOut(K.copy(), y, weights if weighted else None, groups)
    found = loo.predictions(np.array([1e-2, 1e-4]))
    for b, beta in enumerate([1e-2, 1e-4]):
        for g in range(7):
            others = np.flatnonzero(groups != g)
            expected = _refit(K, y, weights, n * beta, others)
            np.testing.assert_allclose(found[b][groups == g], expected[groups == g], rtol=1e-8, atol=1e-8)


def test_groups_of_one_are_single_rows():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((30, 2)), rng.standard_normal((30, 1))
    K, betas = GateKernel(bias=1.0)(X), np.array([1e-1, 1e-6])
    one = LeaveOneOut(K.copy(), y).predictions(betas)
    np.testing.assert_allclose(LeaveOneOut(K.copy(), y, groups=rng.permutation(30)).predictions(betas), one, atol=1e-9)


def test_the_grid_goes_from_the_constant_to_interpolation():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((50, 4)), rng.standard_normal((50, 1))
    loo = LeaveOneOut(GateKernel(bias=1.0)(X), y)
    betas = loo.grid(30)
    assert (np.diff(betas) < 0).all()
    assert np.abs(loo.fitted(betas[0]) - y.mean()).max() < 0.2 * np.abs(y).max()
    assert np.abs(loo.fitted(betas[-1]) - y).max() < 0.2 * np.abs(y).max()


def test_one_row_or_one_group_cannot_be_left_out():
    with pytest.raises(ArgumentError, match="two rows"):
        LeaveOneOut(np.ones((1, 1)), np.ones((1, 1)))
    with pytest.raises(ArgumentError, match="two groups"):
        LeaveOneOut(np.eye(3), np.ones((3, 1)), groups=np.zeros(3, dtype=np.intp))
