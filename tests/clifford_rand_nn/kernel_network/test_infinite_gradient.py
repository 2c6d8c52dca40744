"""The average outer product of gradients: against differences, by both ways of summing, in blocks, and its size."""

import tracemalloc

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.metric import metric_frame
from clifford_rand_nn.kernel_network.metric.metric_frame import gradient_outer_product


def _made(C, angle, n=30, d=4):
    rng = np.random.default_rng([C, angle])
    A = rng.standard_normal((4, 4)) if angle else None
    kernel = GateKernel(bias=1.3, frame=rng.standard_normal((d, 3)), angle=A)
    return rng.standard_normal((n, d)), rng.standard_normal((n, C)), kernel, rng.standard_normal((25, d))


def _by_differences(kernel, X, alpha, rows, h=1e-5):
    """Gradients (m, C, d) by central differences."""
    steps = h * np.eye(X.shape[1])
    return np.stack([(kernel(rows + e, X) - kernel(rows - e, X)) @ alpha / (2 * h) for e in steps], axis=2)


@pytest.mark.parametrize("angle", [False, True])
@pytest.mark.parametrize("C", [1, 2, 9])  # of nine outputs all are summed at once, without an angle
def test_the_gradient_is_that_of_differences(C, angle):
    X, alpha, kernel, rows = _made(C, angle)
    weights = np.random.default_rng(0).uniform(0, 2, len(rows))
    G = _by_differences(kernel, X, alpha, rows)
    expected = np.einsum("i,ica,icb->ab", weights, G, G) / len(rows)
    found = gradient_outer_product(kernel, X, alpha, rows, weights)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("C", [1, 9])
def test_on_the_rows_of_the_fit_it_is_the_middle_of_the_kink(C):
    """The mean of the derivatives from both sides, which central differences of h take across the kink, up to h."""
    X, alpha, kernel, _ = _made(C, False)
    X = np.vstack([X, X[:1], np.zeros((1, 4))])  # a copy; and with a bias a row of zeros is like any other
    alpha = np.vstack([alpha, alpha[:1], alpha[:1]])
    G = _by_differences(kernel, X, alpha, X, h=1e-5)
    expected = np.einsum("ica,icb->ab", G, G) / len(X)
    np.testing.assert_allclose(
        gradient_outer_product(kernel, X, alpha), expected, rtol=0, atol=1e-4 * np.abs(expected).max()
    )


def test_a_row_of_zeros_and_opposite_rows_without_a_bias_are_finite():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [-2.0, -4.0], [3.0, 6.0]])
    assert np.isfinite(gradient_outer_product(GateKernel(), X, np.arange(4.0))).all()


@pytest.mark.parametrize("C", [1, 9])
def test_blocks_change_nothing(C, monkeypatch):
    X, alpha, kernel, rows = _made(C, False)
    whole = gradient_outer_product(kernel, X, alpha, rows)
    monkeypatch.setattr(metric_frame, "_BLOCK", 7 * len(X))
    np.testing.assert_allclose(gradient_outer_product(kernel, X, alpha, rows), whole, rtol=1e-12)


def test_single_precision_is_near_the_double():
    X, alpha, kernel, rows = _made(9, False)
    found = gradient_outer_product(kernel, X.astype(np.float32), alpha, rows.astype(np.float32))
    expected = gradient_outer_product(kernel, X, alpha, rows)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("C", [1, 26])
def test_memory_is_that_of_a_few_kernel_matrices(C):
    """500 × 300: an (n, n, d) array would be 600 MB, all gradients of 26 outputs 31 MB; a kernel matrix is 2 MB."""
    rng = np.random.default_rng(1)
    X, alpha = rng.standard_normal((500, 300)), rng.standard_normal((500, C))
    gradient_outer_product(GateKernel(1.0), X[:9], alpha[:9])  # compiles
    tracemalloc.start()
    gradient_outer_product(GateKernel(1.0), X, alpha)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def test_coefficients_that_do_not_fit_are_refused():
    with pytest.raises(ArgumentError, match=r"of shape \(3, C\)"):
        gradient_outer_product(GateKernel(), np.eye(3), np.ones(4))
