"""Exact proofs of fits on rows far from 0, where double precision moves planes and rounds predictions."""

from fractions import Fraction

import numpy as np
import pytest

import clifford_rand_nn as nn
from clifford_rand_nn.certificates.claims import NetworkClaim
from clifford_rand_nn.pricing.family import Family


def agrees(model, X, y):
    stated = model.fit(X, y).certificate_
    exact = stated.verify(X, y, exact=True)
    assert exact.objective == pytest.approx(stated.objective, rel=1e-12)
    assert exact.relative_gap <= stated.relative_gap + 1e-9
    return stated, exact


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("offset", [1e3, 1e5, 1e6])
def test_planes_that_rows_far_from_0_span(offset):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = offset + rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
        agrees(nn.CrossProductLassoRegressor(penalty="l2", beta=1e-4), X, y)


def test_residuals_of_networks_whose_terms_cancel():
    """Terms of 1e16 cancel to 1e3, which neither double nor extended precision holds to 1e-12."""
    rng = np.random.default_rng(0)
    X, y, W, a = 1e7 + rng.normal(size=(9, 2)), 1e3 * rng.normal(size=(9, 1)), 4e4 * np.eye(2), -2e4 * np.ones((2, 1))
    network = nn.TwoLayerNetwork(W, np.zeros(2), a, np.array([1.6e16]))
    residuals = NetworkClaim(network, Family("all", 1, False)).residuals(X, y).values
    for x, goal, residual in zip(X, y[:, 0], residuals[:, 0], strict=True):
        hidden = [max(0, sum(Fraction(w) * Fraction(z) for w, z in zip(row, x, strict=True))) for row in W]
        exact = Fraction(1.6e16) - sum(Fraction(2e4) * h for h in hidden) - Fraction(goal)
        assert abs(exact) < 1e10
        assert residual == pytest.approx(float(exact), rel=1e-15)
