"""The definition of the cross product, written out by minors: what every path is compared with."""

import numpy as np
import pytest


def _by_minors(A):
    """Sum of (-1)^{i-1} det(Aᵀ without row i) e_i, for A (..., d-1, d)."""
    d = A.shape[-1]
    columns = np.swapaxes(A, -1, -2)
    minors = [np.linalg.det(np.delete(columns, i, axis=-2)) if d > 1 else np.ones(A.shape[:-2]) for i in range(d)]
    return np.stack([(-1) ** i * minor for i, minor in enumerate(minors)], axis=-1)


@pytest.fixture(scope="session")
def by_minors():
    return _by_minors
