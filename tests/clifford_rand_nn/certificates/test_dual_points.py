"""Exact dual points: in the domain of the loss, with sums of zero over rows and gates, near those of floats."""

from fractions import Fraction

import numpy as np
import pytest

import clifford_rand_nn as nn
from clifford_rand_nn.certificates.dual_points import balance, exact_dual_point

DELTA = 0.75
LOSSES = ["squared", "squared_hinge", "huber", "log_cosh", "logistic", "softmax"]


def draw(loss, rng, n=40, outputs=3, gates=5):
    """Return a dual point with sums of zero to 1e-14, targets, weights and columns; a gate has rows of one class."""
    columns = np.column_stack([np.ones(n, dtype=bool), rng.random((n, gates)) < 0.5])
    weights = 10.0 ** rng.uniform(-3, 1, size=n)
    labels = rng.integers(outputs, size=n)
    columns[:, -1] &= labels == 0
    marks = np.eye(outputs, dtype=bool)[labels]
    y = {"softmax": 1.0 * marks, "logistic": 2.0 * marks - 1, "squared_hinge": 2.0 * marks - 1}.get(loss, 5.0 * marks)
    theta = np.zeros((n, outputs))
    for i, j in rng.integers(n, size=(60, 2)):  # pairs of rows in the same columns, which exchange a share
        if i != j and (columns[i] == columns[j]).all() and labels[i] != labels[j]:
            share = 0.2 * min(weights[i], weights[j]) * DELTA * rng.random()
            theta[i, [labels[i], labels[j]]] += [share, -share]
            theta[j, [labels[j], labels[i]]] += [share, -share]
    return theta * (1 + 1e-14 * rng.normal(size=theta.shape)), y, weights, columns


def domain_holds(loss, theta, y, w):
    if loss == "softmax":
        p = [w * int(b) - t for t, b in zip(theta, y, strict=True)]
        return min(p) >= 0 and sum(p) == w
    inside = {"squared": lambda t, b: True, "squared_hinge": lambda t, b: b * t >= 0}
    inside |= dict.fromkeys(("huber", "log_cosh"), lambda t, b: abs(t) <= w * Fraction(DELTA))
    inside["logistic"] = lambda t, b: 0 <= b * t <= w
    return all(map(inside[loss], theta, map(int, y)))


@pytest.mark.parametrize("loss", LOSSES)
def test_dual_points_keep_domains_and_sums(loss):
    rng, moved = np.random.default_rng(0), 0
    for _ in range(7):
        theta, y, weights, columns = draw(loss, rng)
        point = exact_dual_point(loss, theta, y, weights, DELTA, columns)
        rows = [[Fraction(t, point.denominator) for t in row] for row in point.numerators]
        for row, b, w in zip(rows, y, weights, strict=True):
            assert domain_holds(loss, row, b, Fraction(w))
        for on in columns.T:
            assert not any(map(sum, zip(*(row for row, k in zip(rows, on, strict=True) if k), strict=True)))
        assert np.allclose(np.array(rows, dtype=float), theta, rtol=0, atol=1e-9 * np.abs(theta).max())
        moved += bool(np.abs(theta).max())
    assert moved > 4


def test_entries_that_are_zero_stay_if_they_come_last():
    rng = np.random.default_rng(1)
    columns = rng.integers(-1, 2, size=(12, 5)).astype(np.int64)
    entries = [int(t) for t in rng.integers(10**6, size=12)]
    entries[8:] = [0] * 4
    moved, factor = balance(entries, list(range(12)), columns)
    assert factor > 0
    assert not (columns.T.astype(object) @ np.array(moved, dtype=object)).any()
    assert moved[8:] == [0] * 4
    assert moved[5:8] == [factor * t for t in entries[5:8]]  # five rows are independent
    assert balance(moved, list(range(12)), columns) == (moved, 1)


OPTIONS = {"n_gates": 10, "beta": 1e-2, "bias": "free", "random_state": 0}
MODELS = {
    "squared": nn.GatedReLURegressor(**OPTIONS),
    "ridge": nn.GatedReLURegressor(penalty="ridge", **OPTIONS),
    "huber": nn.GatedReLURegressor(loss="huber", huber_delta=0.2, **OPTIONS),
    "log_cosh": nn.GatedReLURegressor(loss="log_cosh", huber_delta=0.2, **OPTIONS),
    "logistic": nn.GatedReLUClassifier(loss="logistic", **OPTIONS),
    "squared_hinge": nn.GatedReLUClassifier(loss="squared_hinge", **OPTIONS),
}


@pytest.mark.parametrize(("outputs", "weighted"), [(1, False), (3, True)])
@pytest.mark.parametrize("name", MODELS)
def test_free_biases_of_gates(name, outputs, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.abs(X[:, 0]) + 0.3 * rng.normal(size=60)
    if isinstance(MODELS[name], nn.GatedReLUClassifier):
        targets = np.digitize(y, [0.5, 1.0][:outputs])
    else:
        targets = y if outputs == 1 else np.column_stack([y, -y, y**2])
    certificate = MODELS[name].fit(X, targets, np.linspace(0, 2, 60) if weighted else None).certificate_
    exact = certificate.verify(X, targets, exact=True)
    assert exact.relative_gap <= certificate.relative_gap + 1e-10
    assert certificate.relative_gap < 1e-5
