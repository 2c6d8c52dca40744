"""Direction and log-norm: large dimension, extreme scales, rank-deficient rows, dtypes."""

import numpy as np
import pytest

import clifford_rand as cr
from support.geometry import gaussian
from support.refusals import refused


def test_a_thousand_dimensions():
    d = 1000
    A, x = gaussian(0, d - 1, d), gaussian(1, d)
    v, log_norm = cr.cross_log(A)
    assert np.abs(A @ v).max() <= 1e-10
    assert abs(np.linalg.norm(v) - 1) <= 1e-14
    sign, log_det = np.linalg.slogdet(np.vstack([x, A]))
    assert np.sign(x @ v) == sign
    assert np.isclose(np.log(abs(x @ v)) + log_norm, log_det, rtol=1e-10)
    assert np.isclose(log_norm, 0.5 * np.linalg.slogdet(A @ A.T)[1], rtol=1e-12)


@pytest.mark.parametrize("d", [310, 400])
def test_odd_and_even_dimensions_past_the_range_of_the_value(d):
    A, x = gaussian(d, d - 1, d + 1)[:, :d], gaussian(1, d)
    v, log_norm = cr.cross_log(A)
    assert np.sign(x @ v) == np.linalg.slogdet(np.vstack([x, A]))[0]
    B = A[: d - 2, : d - 1]
    assert np.sign(x[1:] @ cr.cross_log(B).direction) == np.linalg.slogdet(np.vstack([x[1:], B]))[0]
    assert np.isfinite(log_norm)


@pytest.mark.parametrize("d", [2, 3, 4, 5, 9])
@pytest.mark.parametrize("power", [-150, 150, -300, 300])
def test_scale_of_the_rows(d, power):
    A = gaussian(d, 7, d - 1, d)
    v, log_norm = cr.cross_log(A)
    scale = np.float64(10.0) ** power
    w, scaled = cr.cross_log(A * scale)
    np.testing.assert_allclose(w, v, rtol=0, atol=1e-12)
    np.testing.assert_allclose(scaled, log_norm + (d - 1) * np.log(scale), rtol=1e-13)
    rows = A.copy()
    rows[:, 0] *= scale
    mixed = cr.cross_log(rows)
    np.testing.assert_allclose(mixed.direction, v, rtol=0, atol=1e-12)
    np.testing.assert_allclose(mixed.log_norm, log_norm + np.log(scale), rtol=1e-13)


def test_subnormal_and_largest_rows():
    A = gaussian(3, 4, 5)
    A /= np.abs(A).max(axis=1, keepdims=True)
    v = cr.cross_log(A).direction
    np.testing.assert_allclose(cr.cross_log(A * np.finfo(float).max).direction, v, rtol=0, atol=1e-13)
    tiny = np.ldexp(np.round(np.ldexp(A, 20)), -1070)  # 20 significant bits, all entries subnormal
    np.testing.assert_allclose(cr.cross_log(tiny).direction, v, rtol=0, atol=1e-4)


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
    with pytest.warns(RuntimeWarning, match="overflow"):
        value = cr.cross(A)
    assert np.isinf(value).any()
    assert not np.isnan(value).any()


@pytest.mark.parametrize(("dtype", "d"), [(np.float32, 60), (np.float64, 312)])
def test_where_gaussian_rows_overflow(dtype, d):
    A = gaussian(5, d - 1, d).astype(dtype)
    with pytest.warns(RuntimeWarning, match="overflow"):
        cr.cross(A)
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


def deficient(d, dtype=np.float64):
    A = gaussian(d, d - 1, d)
    repeated, zero, combination = A.copy(), A.copy(), A.copy()
    repeated[-1] = 3.7 * repeated[0]
    zero[d // 2 - 1] = 0.0
    combination[-1] = combination[:-1].sum(axis=0)
    low = gaussian(d, d - 1, d // 2) @ gaussian(d + 1, d // 2, d)
    return [M.astype(dtype) for M in (repeated, zero, combination, low)]


@pytest.mark.parametrize("d", [3, 4, 5, 8, 30, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rank_deficient_rows(d, dtype):
    for A in deficient(d, dtype):
        for scale in (1, 1e-30, 1e30):
            direction, log_norm = cr.cross_log(A * dtype(scale))
            assert not direction.any()
            assert log_norm == -np.inf
            assert not cr.cross(A * dtype(scale)).any()


def test_a_zero_row_at_two_dimensions():
    assert cr.cross([[0, 0]]).tolist() == [0.0, 0.0]
    direction, log_norm = cr.cross_log([[0.0, 0.0]])
    assert direction.tolist() == [0.0, 0.0]
    assert log_norm == -np.inf


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


def test_deficient_members_leave_the_others_alone():
    A = gaussian(0, 4, 5, 6)
    expected = cr.cross(A)
    A[2, 1] = A[2, 0]
    expected[2] = 0
    assert np.array_equal(cr.cross(A), expected)


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
