"""Data that several files of tests share."""

import numpy as np
import pytest

from clifford_rand_nn import cost


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """The machine on which the cost models were measured, so that no test depends on this one's."""
    speed = cost.Speed(cost._PRODUCT, 8 * cost._PRODUCT)
    monkeypatch.setattr(cost, "machine_speed", lambda: speed)
    monkeypatch.setattr("clifford_rand_nn.estimators.network_fit.machine_speed", lambda: speed)
    return speed


@pytest.fixture
def wave():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (80, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(80)
