"""Rows of every kind, and blocks that end within them."""

import numpy as np
import pytest
from scipy import sparse

from clifford_rand.blades import blocks


@pytest.fixture
def small_blocks(monkeypatch):
    """Let blocks end within the rows of every test."""
    monkeypatch.setattr(blocks, "BLOCK", 64)
    monkeypatch.setattr(blocks, "_LEAST_WIDTH", 7)


@pytest.fixture
def rows_of(tmp_path):
    """A function of (kind, X) that returns rows of a kind, and the same in float64."""

    def make(kind, X):
        if kind in ("float32", "float16"):
            X = X.astype(kind)
        elif kind == "memory map":
            stored = np.memmap(tmp_path / str(len(list(tmp_path.iterdir()))), np.float32, "w+", shape=X.shape)
            stored[:] = X
            return stored, np.array(stored, dtype=float)
        elif kind in ("csr", "csc"):
            X = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.8, 0, X)
            X[..., X.shape[-1] // 2] = 1  # no row is zero
            return sparse.coo_array(X).asformat(kind), X
        return (X.tolist() if kind == "list" else X), X.astype(float)

    return make
