"""Pruning: the same outputs on the training rows, no larger penalty, few enough neurons; minimal where it can be."""

import numpy as np
import pytest

from clifford_rand_nn import TwoLayerNetwork, prune


def network(m, d, C, rng, dead=0):
    W1 = rng.standard_normal((m, d))
    b1 = rng.standard_normal(m)
    b1[:dead] = -100
    return TwoLayerNetwork(W1, b1, rng.standard_normal((m, C)), rng.standard_normal(C))


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("C", [1, 2])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("n", "d", "m"), [(12, 2, 200), (30, 3, 100), (5, 8, 40), (10, 1, 50), (1, 3, 7), (40, 2, 6)])
def test_same_outputs_no_larger_penalty_few_neurons(n, d, m, fit_intercept, C, p):
    rng = np.random.default_rng(n + m)
    X, wide = rng.standard_normal((n, d)), network(m, d, C, rng, dead=3)
    X[n // 2] = X[0]
    small = prune(wide, X, p=p, fit_intercept=fit_intercept)
    np.testing.assert_allclose(small.predict(X), wide.predict(X), atol=1e-9 * np.abs(wide.predict(X)).max())
    assert small.penalty(p) <= wide.penalty(p) * (1 + 1e-12)
    bound = C * (len(np.unique(X, axis=0)) - (fit_intercept and n > 1)) if n > 1 else C
    assert small.n_neurons <= min(m, bound)
    if not fit_intercept and C == 1:
        np.testing.assert_allclose(small.b2, wide.b2)


def test_split_neurons_grow_together_again():
    """A neuron cut into copies, and a pattern with two directions: one neuron a pattern and sign is left."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    w, b = np.array([1.0, 0.5]), 0.1
    W1 = np.array([w, 2 * w, 3 * w, w + 1e-4, -w])
    b1 = np.array([b, 2 * b, 3 * b, b, -b])
    wide = TwoLayerNetwork(W1, b1, np.array([[1.0], [1.0], [-0.1], [2.0], [0.7]]), np.zeros(1))
    small = prune(wide, X, fit_intercept=False)
    assert small.n_neurons == 3  # plus and minus on one side, plus on the other
    np.testing.assert_allclose(small.predict(X), wide.predict(X), atol=1e-13)
    assert small.penalty() < wide.penalty()


def test_a_constant_goes_into_the_intercept():
    X = np.random.default_rng(1).uniform(-1, 1, (9, 2))
    W1 = np.array([[0.1, 0.2], [-0.1, -0.2]])  # on everywhere; together a constant
    wide = TwoLayerNetwork(W1, np.array([5.0, 5.0]), np.ones((2, 1)), np.zeros(1))
    small = prune(wide, X)
    assert small.n_neurons == 0
    np.testing.assert_allclose(small.predict(X), 10.0)
