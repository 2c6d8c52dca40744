"""Cross products of integers and fractions: equal to determinants of SymPy, orthogonal without rounding."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import clifford_rand as cr


def by_determinants(A):
    minors = [sp.Matrix(np.delete(A, i, axis=1).tolist()).det() if len(A) else 1 for i in range(A.shape[1])]
    return [(-1) ** i * minor for i, minor in enumerate(minors)]


@st.composite
def matrices(draw):
    d, size = draw(st.integers(1, 5)), draw(st.sampled_from([1, 3, 10**25]))
    entry = st.integers(-size, size) | st.fractions(-size, size, max_denominator=7)
    entries = draw(st.lists(entry, min_size=d * (d - 1), max_size=d * (d - 1)))
    return np.array(entries, dtype=object).reshape(d - 1, d)


@settings(max_examples=25, deadline=None)
@given(matrices())
def test_components_are_the_minors(A):
    vector = cr.cross(A)
    assert vector.tolist() == by_determinants(A)
    assert all(isinstance(x, int | Fraction) for x in vector)
    assert not np.any(A @ vector)


def test_lists_batches_and_other_numbers():
    assert cr.cross([[Fraction(1, 2), 3]]).tolist() == [3, Fraction(-1, 2)]
    assert cr.cross([[2**70, 1]]).tolist() == [1, -(2**70)]
    A = np.random.default_rng(0).integers(-9, 10, (2, 3, 4, 5))
    exact = cr.cross(A.astype(object))
    assert exact.shape == (2, 3, 5)
    np.testing.assert_allclose(exact.astype(float), cr.cross(A), rtol=0, atol=1e-9)
    others = np.array([[sp.Rational(1, 3), np.int64(2)]], dtype=object)
    assert cr.cross(others).tolist() == [2, Fraction(-1, 3)]
    assert cr.cross(np.array([[0, 0, 2], [0, 0, 3]], dtype=object)).tolist() == [0, 0, 0]


def test_digits_that_floats_lose():
    A = np.array([[10**16 + 1, 10**16], [0, 0]])[:1]
    nearly = np.array([[10**16 + 1, 10**16, 0], [10**16, 10**16 - 1, 0]], dtype=object)
    assert cr.cross(A.astype(object)).tolist() == [10**16, -(10**16) - 1]
    assert cr.cross(nearly).tolist() == [0, 0, -1]
    assert cr.cross(nearly.astype(float)).tolist() != [0, 0, -1]


def test_forty_dimensions():
    A = np.random.default_rng(1).integers(-9, 10, (39, 40))
    vector = cr.cross(A.astype(object))
    assert not np.any(A.astype(object) @ vector)
    direction, log_norm = cr.cross_log(A)
    scale = max(map(abs, vector))
    scaled = np.array([float(Fraction(x, scale)) for x in vector])
    np.testing.assert_allclose(scaled / np.linalg.norm(scaled), direction, rtol=0, atol=1e-9)
    assert float(sp.log(scale) + np.log(np.linalg.norm(scaled))) == pytest.approx(log_norm, rel=1e-12)


@pytest.mark.parametrize(
    ("A", "message"),
    [
        ([[sp.Symbol("x"), 1]], "must be an array of integers or fractions. Got the entry x"),
        (np.array([[0.5, 1]], dtype=object), "must be an array of integers or fractions. Got the entry 0.5"),
        (np.array([[1, 2], [3, 4]], dtype=object), r"must be of shape \(..., d-1, d\)"),
    ],
)
def test_refusals(A, message):
    with pytest.raises(cr.ArgumentError, match=message):
        cr.cross(A)
    with pytest.raises(cr.ArgumentError, match="'rtol' parameter of cross must be None"):
        cr.cross(np.array([[1, 2]], dtype=object), rtol=0.1)
