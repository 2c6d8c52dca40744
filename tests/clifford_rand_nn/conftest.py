"""Data that several files of tests share."""

import numpy as np
import pytest


@pytest.fixture
def wave():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (80, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(80)
