"""The adjugate trick against one elimination for each product."""

import numpy as np
import pytest

import clifford_rand as cr


def one_by_one(X, subset):
    found = [cr.cross_log(X[np.delete(subset, i)]) for i in range(len(subset))]
    return np.stack([f.direction for f in found]), np.array([f.log_norm for f in found])


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8, 33, 150])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_row_left_out(d, dtype):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((d + 3, d)).astype(dtype)
    index = np.array([rng.permutation(d + 3)[:d] for _ in range(3)])
    found = cr.cross_simplex(X, index)
    assert found.direction.dtype == found.log_norm.dtype == dtype
    assert found.offset is None
    tol = 1e-8 if dtype == np.float64 else 2e-2
    for b, subset in enumerate(index):
        direction, log_norm = one_by_one(X.astype(np.float64), subset)
        np.testing.assert_allclose(found.direction[b], direction, atol=tol)
        np.testing.assert_allclose(found.log_norm[b], log_norm, atol=tol)


def test_scales_of_rows_do_not_matter():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((6, 6)) * 10.0 ** rng.integers(-150, 150, (6, 1))
    found = cr.cross_simplex(X)
    direction, log_norm = one_by_one(X, np.arange(6))
    np.testing.assert_allclose(found.direction[0], direction, atol=1e-10)
    np.testing.assert_allclose(found.log_norm[0], log_norm, rtol=1e-12, atol=1e-9)


def test_nothing_overflows():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 300)).astype(np.float32)
    found = cr.cross_simplex(X)
    assert np.isfinite(found.log_norm).all()
    np.testing.assert_allclose(np.linalg.norm(found.direction[0], axis=-1), 1, atol=1e-5)
    inner = X @ found.direction[0].T
    assert np.abs(inner - np.diag(np.diag(inner))).max() < 1e-2  # row j is orthogonal to all products but its own


def test_dependent_rows_have_the_documented_value():
    X = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 2]])
    found = cr.cross_simplex(X, [[0, 1, 2], [0, 1, 3], [0, 0, 3]])
    np.testing.assert_array_equal(found.direction[0], [[0, 0, -1], [0, 0, 1], [0, 0, 1]])
    np.testing.assert_array_equal(found.direction[1], [[1, 0, 0], [0, -1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(found.direction[2], [[0, -1, 0], [0, -1, 0], [0, 0, 0]])
    assert found.log_norm[2, 2] == -np.inf


def test_nearly_dependent_rows_go_one_by_one():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((5, 5))
    X[4] = X[0] + X[1] + 1e-15 * X[4]
    found = cr.cross_simplex(X)
    direction, _ = one_by_one(X, np.arange(5))
    np.testing.assert_allclose(found.direction[0], direction, atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_facets_of_a_simplex(d):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((d + 4, d)) + 5
    index = np.array([rng.permutation(d + 4)[: d + 1] for _ in range(3)])
    found = cr.cross_simplex(X, index, bias=True)
    for b, subset in enumerate(index):
        height = X[subset] @ found.direction[b].T + found.offset[b]
        np.testing.assert_allclose(height - np.diag(np.diag(height)), 0, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(found.direction[b], axis=1), 1, atol=1e-12)
        # the volume of the simplex times d! is |det|: base times height for every facet
        volume = abs(np.linalg.det(np.c_[X[subset], np.ones(d + 1)]))
        np.testing.assert_allclose(np.abs(np.diag(height)) * np.exp(found.log_norm[b]), volume, rtol=1e-9)


def test_facets_of_points_that_coincide():
    found = cr.cross_simplex([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]], bias=True)
    assert found.log_norm[0, 2] == -np.inf
    np.testing.assert_array_equal(found.direction[0, 2], 0)
    assert found.offset[0, 2] == 0


def test_errors():
    X = np.eye(3)
    for rows, index, bias, message in [
        (X[0], None, False, r"of shape \(n, d\)"),
        (np.ones((4, 3)), None, False, r"given where X has not exactly 3 rows"),
        (X, [[0, 1]], False, r"of shape \(m, 3\), 3 rows of X a subset"),
        (X, [[0, 1, 2]], True, r"of shape \(m, 4\)"),
        (X, [[0, 1, 3]], False, "from 0 to 2. Got the entry 3"),
        (X * np.nan, None, False, "finite"),
        (X * 1j, None, False, "real"),
    ]:
        with pytest.raises(cr.ArgumentError, match=message):
            cr.cross_simplex(rows, index, bias=bias)
