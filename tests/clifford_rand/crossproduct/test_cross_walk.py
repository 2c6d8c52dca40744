"""The walk against one elimination for each subset."""

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.crossproduct.subsets import _STEPS


def random_walk(n, k, m, rng, shuffle=False):
    """m subsets, each with one row exchanged; in any order of the rows if asked."""
    subset = rng.permutation(n)[:k]
    index = np.empty((m, k), dtype=int)
    for step in range(m):
        index[step] = rng.permutation(subset) if shuffle else subset
        outside = np.setdiff1d(np.arange(n), subset)
        subset = subset.copy()
        subset[rng.integers(k)] = rng.choice(outside)
    return index


def agree(X, index, found, tol):
    for n, subset in enumerate(index):
        wanted = cr.cross_log(X[subset])
        np.testing.assert_allclose(found.direction[n], wanted.direction, atol=tol)
        np.testing.assert_allclose(found.log_norm[n], wanted.log_norm, atol=tol)


@pytest.mark.parametrize("d", [3, 4, 5, 12, 31])
@pytest.mark.parametrize("shuffle", [False, True])
def test_values_and_orientation(d, shuffle):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((d + 8, d))
    index = random_walk(d + 8, d - 1, 3 * _STEPS, rng, shuffle)
    agree(X, index, cr.cross_walk(X, index), 1e-7)


def test_orthogonal_throughout_a_long_walk():
    rng = np.random.default_rng(0)
    d = 40
    X = rng.standard_normal((100, d))
    index = random_walk(100, d - 1, 5000, rng)
    found = cr.cross_walk(X, index)
    worst = max(np.abs(X[rows] @ v).max() for rows, v in zip(index, found.direction, strict=True))
    assert worst < 1e-10 * np.linalg.norm(X, axis=1).max()
    agree(X, index[-3:], cr.CrossProduct(found.direction[-3:], found.log_norm[-3:]), 1e-8)


def test_the_tolerance_is_kept():
    """What rounding adds up to in 64 steps is beyond 2e-14 now and then; the walk goes back there."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 30))
    index = random_walk(60, 29, 1000, rng)
    lengths = np.linalg.norm(X, axis=1)

    def worst(tol):
        found = cr.cross_walk(X, index, tol=tol)
        return max(np.abs(X[rows] @ v / lengths[rows]).max() for rows, v in zip(index, found.direction, strict=True))

    assert worst(2e-14) < 2.2e-14 < worst(1e-10)


def test_ill_conditioned_walks_are_refactored():
    """Rows close to a hyperplane: every step is nearly singular, and none of the results is wrong."""
    rng = np.random.default_rng(1)
    d = 10
    X = rng.standard_normal((30, d)) @ np.diag([1.0] * (d - 1) + [1e-7])
    index = random_walk(30, d - 1, 300, rng)
    found = cr.cross_walk(X, index)
    worst = max(np.abs(X[rows] @ v).max() for rows, v in zip(index, found.direction, strict=True))
    assert worst < 1e-9
    agree(X, index, found, 1e-6)


def test_dependent_rows_are_zero_and_the_walk_goes_on():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((12, 5))
    X[3] = 2 * X[7]
    X[9] = 0
    index = random_walk(12, 4, 400, rng)
    index[50] = [1, 1, 2, 4]
    found = cr.cross_walk(X, index)
    dependent = np.array([{3, 7} <= set(rows) or 9 in rows or len(set(rows)) < 4 for rows in index])
    assert dependent.sum() > 20
    assert (found.log_norm[dependent] == -np.inf).all()
    assert (found.direction[dependent] == 0).all()
    agree(X, index[~dependent], cr.CrossProduct(found.direction[~dependent], found.log_norm[~dependent]), 1e-8)


def test_subsets_without_anything_in_common():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((50, 6))
    index = np.array([rng.permutation(50)[:5] for _ in range(40)])
    agree(X, index, cr.cross_walk(X, index), 1e-9)


def test_scales_and_dtypes():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((20, 8)) * 10.0 ** rng.integers(-100, 100, (20, 1))
    index = random_walk(20, 7, 100, rng)
    agree(X, index, cr.cross_walk(X, index), 1e-7)
    single = cr.cross_walk((X * 1e-2 / np.abs(X).max(axis=1, keepdims=True)).astype(np.float32), index)
    assert single.direction.dtype == single.log_norm.dtype == np.float32
    large = rng.standard_normal((420, 400))
    found = cr.cross_walk(large, random_walk(420, 399, 3, rng))
    assert (found.log_norm > 750).all()  # exp of it is no float64


@pytest.mark.parametrize("d", [1, 2])
def test_small_dimensions(d):
    X = np.arange(1.0, 4 * d + 1).reshape(4, d)
    index = np.zeros((3, d - 1), int) + np.arange(3)[:, None]
    agree(X, index, cr.cross_walk(X, index), 1e-12)
    assert cr.cross_walk(X, np.empty((0, d - 1), int)).direction.shape == (0, d)


def test_errors():
    X = np.eye(4)
    with pytest.raises(cr.ArgumentError, match="'tol' parameter of cross_walk"):
        cr.cross_walk(X, [[0, 1, 2]], tol=0)
    with pytest.raises(cr.ArgumentError, match=r"of shape \(m, 3\)"):
        cr.cross_walk(X, [[0, 1]])
    with pytest.raises(cr.ArgumentError, match="finite"):
        cr.cross_walk(np.full((4, 4), np.inf), [[0, 1, 2]])
