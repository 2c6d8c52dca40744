"""Rows and targets of every kind: repeated, of low rank, and hard for double precision by scales, offsets, copies."""

import numpy as np

KINDS = ("plain", "scales", "offset", "copies", "ill", "integer", "constant", "outlier")


def rows(rng, n, d):
    """Return the kind and rows (n, d); kinds are put together one time in three."""
    X, kinds = rng.standard_normal((n, d)), [str(rng.choice(KINDS))]
    if rng.random() < 1 / 3:
        kinds.append(str(rng.choice(KINDS)))
    for kind in kinds:
        X = changed(rng, kind, X)
    return "+".join(kinds), X


def changed(rng, kind, X):
    """Return rows of a kind, those of `KINDS` or "small integers", "repeated", "flat", "far"; others as they are."""
    n, d = X.shape
    match kind:
        case "small integers":
            return rng.integers(-2, 3, X.shape).astype(float)
        case "repeated":
            return np.concatenate([X[: n - n // 2], X[: n // 2]])
        case "flat":
            return np.column_stack([X[:, :-1], X[:, 0]])
        case "far":
            return X + 10.0 ** rng.integers(0, 3)
        case "scales":
            return X * 10.0 ** rng.uniform(-8, 8, d)
        case "offset":
            return X + 10.0 ** rng.uniform(2, 8) * rng.standard_normal(d)
        case "copies":
            first = X[rng.integers(max(n // 2, 1), size=n)]
            return first + 10.0 ** rng.uniform(-14, -6) * np.abs(first).max() * rng.standard_normal((n, d))
        case "ill":
            U, s, Vt = np.linalg.svd(X, full_matrices=False)
            return (U * np.logspace(0, -12, len(s))) @ Vt
        case "integer":
            return np.round(2 * X)
        case "constant":
            X = X.copy()
            X[:, rng.integers(d)] = rng.choice([0.0, 1.0, 1e8])
            return X
        case "outlier":
            X = X.copy()
            X[rng.integers(n)] *= 10.0 ** rng.uniform(1, 8)
            return X
    return X


def targets(rng, loss, X, C):
    """Return targets (n, C) as the loss takes them: numbers, ±1, or marks of C classes."""
    n = len(X)
    Z = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-300)
    f = np.maximum(Z @ rng.standard_normal((Z.shape[1], 3)) + rng.standard_normal(3), 0) @ rng.standard_normal((3, C))
    f = f + 0.3 * rng.standard_normal((n, C))
    if loss == "softmax":
        return np.eye(C)[np.argmax(f - f.mean(axis=0), axis=1)]
    if loss in ("logistic", "squared_hinge"):
        return np.where(f > np.median(f, axis=0), 1.0, -1.0)
    if rng.random() < 0.3:
        f = f * 10.0 ** rng.uniform(-6, 6)
    if rng.random() < 0.2:
        f = f + 10.0 ** rng.uniform(1, 6) * np.abs(f).max()
    return f
