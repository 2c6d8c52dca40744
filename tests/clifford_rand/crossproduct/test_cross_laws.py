"""Laws of the cross product: definition, sign, volume, change of basis."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clifford_rand as cr
from support.geometry import gaussian

DIMENSIONS = [2, 3, 4, 5, 8, 13]
seeds = st.integers(0, 2**32 - 1)
shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)


def close(a, b, scale, rtol=1e-11):
    assert np.abs(a - b).max(initial=0.0) <= rtol * scale, (a, b)


@given(seed=seeds, shape=shapes, d=st.integers(1, 7))
@settings(max_examples=60, deadline=None)
def test_batch_axes(seed, shape, d, by_minors):
    A = gaussian(seed, *shape, d - 1, d)
    result = cr.cross(A)
    assert result.shape == (*shape, d)
    assert result.dtype == np.float64
    close(result, by_minors(A), 1 + np.abs(result).max(initial=0), 1e-10)
    direction, log_norm = cr.cross_log(A)
    assert direction.shape == (*shape, d)
    assert np.shape(log_norm) == shape


def test_small_examples():
    assert cr.cross(np.empty((0, 1))).tolist() == [1.0]
    assert cr.cross(np.empty((5, 0, 1))).tolist() == [[1.0]] * 5
    assert cr.cross([[3, 4]]).tolist() == [4.0, -3.0]
    assert cr.cross([[1, 0, 0], [0, 1, 0]]).tolist() == [0.0, 0.0, 1.0]
    assert cr.cross(np.eye(4)[:3]).tolist() == [0.0, 0.0, 0.0, -1.0]
    assert cr.cross(np.eye(5)[:4]).tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]


@given(st.lists(st.integers(-(2**24), 2**24), min_size=6, max_size=6))
def test_integers_are_exact_and_equal_numpy_cross(entries):
    a, b = np.array(entries).reshape(2, 3)
    assert cr.cross([a, b]).tolist() == np.cross(a, b).tolist()


def test_equals_numpy_cross_bit_for_bit():
    A = gaussian(0, 1000, 2, 3)
    for rows in (A, A.astype(np.float32), A * 1e-60, A * 1e60):
        assert np.array_equal(cr.cross(rows), np.cross(rows[:, 0], rows[:, 1]))


@pytest.mark.parametrize("d", [*DIMENSIONS, 309, 310, 1000])  # from 310 on the value itself overflows
def test_orthogonal_to_every_row_and_x_comes_first_in_the_determinant(d):
    many, x = gaussian(d, 30 if d < 309 else 1, d - 1, d), gaussian(d + 100, d)
    directions, log_norms = cr.cross_log(many)
    assert np.abs(many @ directions[..., None]).max() < (1e-12 if d < 309 else 1e-10)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=-1), 1, rtol=1e-14)
    A, v, log_norm = many[0], directions[0], log_norms[0]
    sign, log_det = np.linalg.slogdet(np.vstack([x, A]))  # x last is another sign at even d
    assert np.sign(x @ v) == sign
    np.testing.assert_allclose(np.log(abs(x @ v)) + log_norm, log_det, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(log_norm, np.linalg.slogdet(A @ A.T)[1] / 2, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_inner_products_are_gram_determinants_and_change_with_the_basis(d):
    A, B, F = gaussian(d, d - 1, d), gaussian(d + 50, d - 1, d), gaussian(d + 7, d, d)
    scale = np.linalg.norm(cr.cross(A)) * np.linalg.norm(cr.cross(B))
    close(cr.cross(A) @ cr.cross(B), np.linalg.det(A @ B.T), scale)
    assert np.isclose(cr.cross(A) @ cr.cross(A), np.linalg.det(A @ A.T), rtol=1e-9)
    expected = np.linalg.det(F) * np.linalg.solve(F.T, cr.cross(A))
    close(cr.cross(A @ F.T), expected, np.abs(expected).max(), 1e-9)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_alternating_and_linear_in_every_row(d):
    A, x = gaussian(d, d - 1, d), gaussian(d + 1, d)
    for i in range(d - 1):
        B, C = A.copy(), A.copy()
        B[i], C[i] = x, 2.5 * A[i] - 3.0 * x
        expected = 2.5 * cr.cross(A) - 3.0 * cr.cross(B)
        close(cr.cross(C), expected, np.abs(cr.cross(A)).max() + np.abs(cr.cross(B)).max())
        swapped = A.copy()
        swapped[[i, i - 1]] = swapped[[i - 1, i]]
        if d > 2:
            close(cr.cross(swapped), -cr.cross(A), np.abs(cr.cross(A)).max())


@given(seed=seeds, d=st.integers(2, 9))
@settings(max_examples=50, deadline=None)
def test_value_is_direction_times_norm(seed, d):
    A = gaussian(seed, d - 1, d)
    direction, log_norm = cr.cross_log(A)
    value = cr.cross(A)
    close(direction * np.exp(log_norm), value, np.abs(value).max(), 1e-13)
