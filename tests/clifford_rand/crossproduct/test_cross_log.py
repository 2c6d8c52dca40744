"""Direction and log-norm: large dimension, extreme scales, rank-deficient rows, dtypes."""

import numpy as np
import pytest

import clifford_rand as cr
from support.geometry import gaussian
from support.refusals import refused


@pytest.mark.parametrize("d", [3, 4, 6])
def test_value_overflows_to_inf_and_underflows_to_zero_without_nan(d):
    A = np.eye(d)[: d - 1]
    with pytest.warns(RuntimeWarning, match="overflow"):
        value = cr.cross(A * 1e200)
    assert np.isinf(value[-1])
    assert np.all(value[:-1] == 0)
    assert not np.isnan(value).any()
    assert cr.cross(A * 1e-200).tolist() == [0.0] * d
    assert abs(cr.cross(A * [[1e200], [1e-200]] if d == 3 else A)[-1]) == 1.0


def test_value_where_intermediate_products_overflow():
    A = np.diag([1e200, 1e200, 1e-200, 1e-200, 1.0])[:4] + 0.0
    np.testing.assert_allclose(cr.cross(A), [0, 0, 0, 0, 1.0], rtol=1e-14)


def test_float32_in_high_dimension():
    A = gaussian(0, 399, 400).astype(np.float32)
    v, log_norm = cr.cross_log(A)
    assert v.dtype == log_norm.dtype == np.float32
    assert np.abs(A @ v).max() < 1e-3
    w, exact = cr.cross_log(A.astype(np.float64))
    assert v @ w.astype(np.float32) > 1 - 1e-4
    assert np.isclose(log_norm, exact, rtol=1e-5)


@pytest.mark.parametrize(("dtype", "d"), [(np.float32, 60), (np.float64, 312)])
def test_where_gaussian_rows_overflow(dtype, d):
    A = gaussian(5, d - 1, d).astype(dtype)
    with pytest.warns(RuntimeWarning, match="overflow"):
        value = cr.cross(A)
    assert np.isinf(value).any()
    assert not np.isnan(value).any()
    cr.cross(A[: d * 9 // 10 - 1, : d * 9 // 10])


def wilkinson(d, dtype):
    """Rows whose elimination grows like 2^(d-1) under partial pivoting."""
    return (np.eye(d, d - 1) - np.tril(np.ones((d, d - 1)), -1)).T.astype(dtype)


def test_growth_that_overflows_float32_is_computed_in_float64():
    v, log_norm = cr.cross_log(wilkinson(200, np.float32))
    w, exact = cr.cross_log(wilkinson(200, np.float64))
    assert v.dtype == np.float32
    np.testing.assert_allclose(v, w, rtol=0, atol=1e-6)
    assert np.isclose(log_norm, exact, rtol=1e-6)


def test_growth_that_overflows_float64_is_an_error():
    with pytest.raises(FloatingPointError, match="overflowed"):
        cr.cross_log(wilkinson(1100, np.float64))


def test_rank_verdict_is_that_of_rtol_and_ignores_the_scale_of_rows():
    A = np.eye(5)[:4]
    A[3] = A[0] + 1e-6 * A[3]
    for scale in (1.0, 1e-9, 1e9):
        rows = A * [[1], [1], [scale], [scale]]
        assert cr.cross_log(rows).log_norm > -np.inf
        assert cr.cross_log(rows, rtol=1e-7).log_norm > -np.inf
        assert cr.cross_log(rows, rtol=1e-5).log_norm == -np.inf
    assert cr.cross([[1, 0, 0], [1, 1e-6, 0]], rtol=1e-5).tolist() == [0, 0, 0]
    assert cr.cross([[1, 0, 0], [1, 1e-6, 0]], rtol=0).tolist() == [0, 0, 1e-6]


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_dtypes(d):
    A = np.arange(1, (d - 1) * d + 1).reshape(d - 1, d) ** 2 % 7
    for dtype, expected in [("i4", "f8"), ("u1", "f8"), ("?", "f8"), ("f2", "f4"), ("f4", "f4"), ("f8", "f8")]:
        rows = A.astype(dtype)
        assert cr.cross(rows).dtype == expected
        direction, log_norm = cr.cross_log(rows)
        assert direction.dtype == log_norm.dtype == expected


@pytest.mark.parametrize("d", [2, 3, 5, 20])
def test_input_is_left_alone_whatever_its_layout(d):
    A = gaussian(d, 3, d - 1, d)
    kept = A.copy()
    A.flags.writeable = False
    expected = cr.cross(A)
    assert np.array_equal(A, kept)
    assert np.array_equal(cr.cross(np.asfortranarray(A)), expected)
    wide = np.repeat(A, 2, axis=-1)
    assert np.array_equal(cr.cross(wide[..., ::2]), expected)
    assert np.array_equal(cr.cross(np.broadcast_to(A[0], (2, 3, d - 1, d)))[1, 2], expected[0])


@pytest.mark.parametrize("function", [cr.cross, cr.cross_log])
def test_errors(function):
    owner = function.__name__
    rule = rf"The 'A' parameter of {owner} must be of shape \(\.\.\., d-1, d\), one vector per row\. Got shape "
    for shape in [(3,), (), (3, 3), (2, 4), (0, 0), (2, 0), (5, 1, 0)]:
        refused(rule, function, np.zeros(shape))
    refused(r"Got shape \(4, 3\) instead\. Pass the transpose: one vector per row\.", function, np.ones((4, 3)))
    refused(r"Got shape \(4, 4\) instead\. .*A\[:-1\] - A\[-1\]", function, np.eye(4))
    refused(r"Got shape \(2, 4\) instead\. .*cr\.Blade\(A\)\.star\(\)", function, np.eye(2, 4))
    refused(r"must be finite\. Got 2 NaN or infinite of 6 entries", function, [[1, np.nan, 0], [0, 1, np.inf]])
    for bad in (1j * np.ones((2, 3)), np.ones((2, 3)).astype(object), np.full((2, 3), "a")):
        refused(r"must be an array of (real numbers|integers or fractions)\. Got", function, bad)
    for rtol in (-1e-3, 1.0, np.nan, "small", True):
        refused(
            rf"The 'rtol' parameter of {owner} must be None or a number in \[0, 1", function, np.ones((2, 3)), rtol=rtol
        )
