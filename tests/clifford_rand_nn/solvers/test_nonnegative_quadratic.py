"""The quadratic over variables that are at least zero, against `scipy.optimize.nnls`."""

import numpy as np
import pytest
from scipy.optimize import nnls

from clifford_rand_nn.solvers import gate_weights as module
from clifford_rand_nn.solvers.gate_weights import bounded_quadratic


@pytest.mark.parametrize("seed", range(20))
def test_the_bounded_quadratic_against_nnls(seed):
    rng = np.random.default_rng(seed)
    P = int(rng.integers(1, 30))
    A, b = rng.standard_normal((P + 5, P)), rng.standard_normal(P + 5)
    expected, _ = nnls(A, b)
    found = bounded_quadratic(A.T @ A, A.T @ b, rng.random(P) < 0.5)
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_where_pivoting_cycles_nnls_decides(monkeypatch):
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((25, 20)), rng.standard_normal(25)
    monkeypatch.setattr(module, "_ROUNDS", 0)
    np.testing.assert_allclose(bounded_quadratic(A.T @ A, A.T @ b, np.ones(20, bool)), nnls(A, b)[0], atol=1e-8)
