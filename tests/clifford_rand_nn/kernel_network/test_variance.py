"""The predictive variance against the bordered system, and against leave-one-out."""

import numpy as np

from clifford_rand_nn.kernel_network.intervals import PredictiveVariance
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.leave_one_out import LeaveOneOut


def test_variance_is_that_of_the_bordered_system_and_of_leave_one_out():
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((40, 3)), rng.standard_normal((5, 3))
    w = rng.uniform(0.5, 2.0, 40)
    w /= w.mean()
    kernel, beta = GateKernel(bias=0.7), 1e-2
    noise = 40 * beta / w
    A = np.block([[kernel(X) + np.diag(noise), np.ones((40, 1))], [np.ones((1, 40)), np.zeros((1, 1))]])
    k = np.vstack([kernel(X, new), np.ones((1, 5))])
    expected = kernel.diagonal(new) - np.einsum("ij,ij->j", k, np.linalg.solve(A, k))
    np.testing.assert_allclose(PredictiveVariance(kernel, X, noise)(new), expected, rtol=1e-9)
    loo = LeaveOneOut(kernel(X), X[:, :1].copy(), w).variances(beta)
    for i in (0, 11, 39):
        others = np.delete(np.arange(40), i)
        left = PredictiveVariance(kernel, X[others], noise[others])(X[[i]])
        np.testing.assert_allclose(left, loo[i], rtol=1e-8)


def test_rows_that_are_alike_and_hardly_any_noise():
    X = np.ones((6, 2))
    variance = PredictiveVariance(GateKernel(bias=1.0), X, np.full(6, 1e-18))
    assert np.isfinite(variance(X)).all()
    assert (variance(X) < 1e-12).all()
