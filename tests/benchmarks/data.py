"""Rows that the benchmarks share: like text embeddings, of a teacher network, or of an NPZ file."""

from pathlib import Path
from typing import Any

import numpy as np

BLOCK = 4096  # rows made at a time, so that making them does not set the peak


def text_like(n: int, d: int, P: int = 1, dtype: Any = np.float64, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Return rows of length 1 with variances 1/k and a common mean, labels ±1, and the patterns of P Gaussian gates.

    Labels are of three ReLU units and noise; gates go through the origin.
    """
    rng = np.random.default_rng(seed)
    frame = (np.linalg.qr(rng.standard_normal((d, d)))[0] / np.sqrt(1 + np.arange(d))[:, None]).astype(dtype)
    mean = (0.3 * rng.standard_normal(d) / np.sqrt(d)).astype(dtype)
    units, gates = (rng.standard_normal((d, count)).astype(dtype) for count in (3, P))
    X, y, D = np.empty((n, d), dtype), np.empty(n), np.empty((n, P), bool)
    for start in range(0, n, BLOCK):
        rows = slice(start, min(start + BLOCK, n))
        x = rng.standard_normal((rows.stop - start, d), dtype=dtype) @ frame + mean
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        score = np.maximum(x @ units, 0) @ np.array([1, -1, 0.5]) + 0.05 * rng.standard_normal(len(x))
        X[rows], y[rows], D[rows] = x, np.where(score > 0.02, 1.0, -1.0), x @ gates >= 0
    return X, y, D


def teacher(n: int, d: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return normal rows, and labels drawn from the probabilities of a network of 30 neurons."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    scores = np.maximum(X @ rng.standard_normal((d, 30)), 0) @ rng.standard_normal((30, classes))
    return X, np.argmax(scores / scores.std() * 3 + rng.gumbel(size=scores.shape), axis=1)


def table(path: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, targets and the marks of training rows of an NPZ file; bytes are divided by 255."""
    with np.load(path) as stored:
        X, y, split = stored["X"], stored["y"], stored["split"].astype(bool)
    return X / 255.0 if X.dtype == np.uint8 else X.astype(np.float64), y, split


def halves(folder: Any, name: str) -> tuple[np.ndarray, ...]:
    """Return training rows, their labels, test rows and theirs of ``folder/name.npz``."""
    X, y, split = table(Path(folder) / f"{name}.npz")
    return X[split], y[split], X[~split], y[~split]
