"""Cross products of subsets of rows."""

import numpy as np
import pytest

import clifford_rand as cr
from support.pairwise import pairwise


@pairwise({"d": [1, 2, 3, 4, 7], "m": [0, 1, 50, 3000], "dtype": [np.float32, np.float64]})
def test_equals_cross_of_the_gathered_rows(d, m, dtype):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((30, d)).astype(dtype)
    index = rng.integers(0, 30, size=(m, d - 1))
    value = cr.cross_many(X, index)
    assert value.shape == (m, d)
    assert value.dtype == dtype
    assert np.array_equal(value, cr.cross(X[index]))
    unit = cr.cross_many(X, index.astype(np.uint8), normalize=True)
    assert unit.dtype == dtype
    assert np.array_equal(unit, cr.cross_log(X[index]).direction)


def test_normalize_where_the_value_overflows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 340))
    index = np.stack([rng.permutation(500)[:339] for _ in range(3)])
    v = cr.cross_many(X, index, normalize=True)
    np.testing.assert_allclose(np.linalg.norm(v, axis=1), 1, rtol=1e-14)
    assert max(np.abs(X[rows] @ w).max() for rows, w in zip(index, v, strict=True)) < 1e-10


@pytest.mark.parametrize("m", [1, 3000])
def test_a_repeated_row_gives_zero(m):
    X = np.random.default_rng(0).standard_normal((10, 5))
    index = np.tile([3, 1, 4, 1], (m, 1))
    assert not cr.cross_many(X, index).any()
    assert not cr.cross_many(X, index, normalize=True).any()
    assert cr.cross_many(X, np.tile([3, 1, 4, 2], (m, 1))).all()


def test_input_is_left_alone():
    X = np.random.default_rng(0).standard_normal((60, 5))
    index = np.random.default_rng(0).integers(0, 60, size=(3000, 4))
    expected, kept, named = cr.cross_many(X, index), X.copy(), index.copy()
    X.flags.writeable = index.flags.writeable = False
    assert np.array_equal(cr.cross_many(X, index), expected)
    assert np.array_equal(cr.cross_many(np.asfortranarray(X), index[:, ::-1]), cr.cross(X[index[:, ::-1]]))
    assert np.array_equal(X, kept)
    assert np.array_equal(index, named)


def test_errors():
    X = np.ones((10, 4))
    cases = [
        (X, [[0, 1, 10]], r"'index' parameter of cross_many must be rows of X, from 0 to 9\. Got the entry 10 instead"),
        (X, [[0, -1, 2]], r"must be rows of X, from 0 to 9\. Got the entry -1 instead"),
        (X, [[0.0, 1.0, 2.0]], r"'index' parameter of cross_many must be an array of integers\. Got dtype float64"),
        (X, [[True, False, True]], r"must be an array of integers\. Got dtype bool"),
        (X, [[0, 1]], r"must be of shape \(m, 3\), 3 rows of X a subset\. Got shape \(1, 2\)"),
        (X, [0, 1, 2], r"must be of shape \(m, 3\), 3 rows of X a subset\. Got shape \(3,\)"),
        (
            X[0],
            [[0, 1, 2]],
            r"'X' parameter of cross_many must be of shape \(n, d\), one vector per row\. Got shape \(4,\)",
        ),
        (X[None], [[0, 1, 2]], r"must be of shape \(n, d\)"),
        (np.ones((3, 0)), np.empty((1, 0), int), r"must be of shape \(n, d\)"),
        (X * np.nan, [[0, 1, 2]], "'X' parameter of cross_many must be finite"),
        (X * 1j, [[0, 1, 2]], "'X' parameter of cross_many must be an array of real numbers"),
    ]
    for rows, index, message in cases:
        with pytest.raises(cr.ArgumentError, match=message):
            cr.cross_many(rows, index)
    with pytest.raises(cr.ArgumentError, match="'rtol' parameter of cross_many"):
        cr.cross_many(X, [[0, 1, 2]], rtol=-1)
