"""Multivectors as values: batches, indexing, dtypes, arithmetic, equality."""

import copy
import pickle
import types
from fractions import Fraction

import numpy as np
import pytest

import clifford_rand as cr
from support.refusals import refused

ALG = cr.Algebra(3)


def test_values_are_by_grade_then_lexicographic():
    A = ALG("1 + 2*e1 + 3*e2 + 4*e3 + 5*e12 + 6*e13 + 7*e23 + 8*e123")
    assert A.dense().values.tolist() == list(range(1, 9))
    assert (2 * ALG.e31).values.tolist() == [0, -2, 0]
    assert ALG.e1.values.tolist() == [1, 0, 0]
    assert cr.Algebra(4).random_multivector(rng=0, grades=(1, 3)).values.shape == (8,)
    assert (ALG.e1 * ALG.e1).grades == (0,)
    with pytest.raises(ValueError, match="read-only"):
        A.values[0] = 3


def test_batch_axes_lead_and_broadcast():
    rng = np.random.default_rng(0)
    a = ALG.random_multivector(rng=rng, shape=(4, 1))
    b = ALG.random_multivector(rng=rng, shape=(3,))
    product = a * b
    assert product.shape == (4, 3)
    assert (product[2, 1]).isclose(a[2, 0] * b[1], rtol=1e-12)
    assert (a + b).shape == (4, 3)
    assert (a + b)[3, 2] == a[3, 0] + b[2]
    weights = rng.standard_normal((4, 3))
    assert (weights * b).shape == (4, 3)
    assert (weights * b)[1, 2] == weights[1, 2] * b[2]
    assert (b * weights == weights * b).all()
    assert (np.float64(2) * b == b + b).all()
    assert (b / weights)[1, 2] == b[2] / weights[1, 2]
    assert (weights + b)[1, 2] == b[2] + weights[1, 2]
    assert (weights - b)[1, 2] == weights[1, 2] - b[2]
    refused("broadcast", lambda: ALG.random_multivector(rng=rng, shape=4) * b)


def test_indexing_is_that_of_numpy_on_the_batch():
    a = ALG.random_multivector(rng=0, shape=(4, 5))
    array = a.values
    indices = (0, -1, slice(1, 3), (2, 3), (slice(None), 2), np.array([1, 1, 3]), [0, 2], None, np.arange(4) % 2 == 0)
    for index in (*indices, (1, None)):
        np.testing.assert_array_equal(a[index].values, array[(*(index if isinstance(index, tuple) else (index,)), ...)])
    np.testing.assert_array_equal(a[..., 1].values, array[:, 1])
    np.testing.assert_array_equal(a[..., None, 0].values, array[:, None, 0])
    assert len(a) == 4
    assert [row.shape for row in a] == [(5,)] * 4
    assert a.reshape(2, 10).shape == a.reshape((2, -1)).shape == (2, 10)
    with pytest.raises(IndexError):
        a[7]
    refused("blade's name", lambda: ALG.e1[0], error=TypeError)
    refused(r"\.values", len, ALG.e1, error=TypeError)
    refused(r"\.values", list, ALG.e1, error=TypeError)


def test_coefficients_by_name():
    a = ALG.random_multivector(rng=0, shape=(4,), grades=(0, 2))
    np.testing.assert_array_equal(a["e21"], -a["e12"])
    np.testing.assert_array_equal(a["1"], a.values[:, 0])
    np.testing.assert_array_equal(a["e1"], np.zeros(4))
    assert ALG("3*e12")["e21"] == -3
    assert ALG("3*e12").scalar_part() == 0
    refused("name of a blade", lambda: a["e14"])


def test_reductions():
    a = ALG.random_multivector(rng=0, shape=(4, 5))
    for axis in (None, -1, (0, 1)):
        numbers = (0, 1) if axis is None else 1 if axis == -1 else axis
        np.testing.assert_allclose(a.sum(axis).values, a.values.sum(axis=numbers))
        np.testing.assert_allclose(a.mean(axis).values, a.values.mean(axis=numbers))
    product = a.prod(axis=1)
    assert product[2].isclose(a[2, 0] * a[2, 1] * a[2, 2] * a[2, 3] * a[2, 4], rtol=1e-12)
    vectors = ALG.vector(np.eye(3))
    assert vectors.prod(rule="wedge") == ALG.I
    assert a.prod().isclose(a.prod(axis=1).prod(axis=0), rtol=1e-12)  # rows one after the other, as np.prod
    assert a.prod().isclose(np.prod(a))
    assert a.prod(keepdims=True).shape == np.prod(a, keepdims=True).shape == (1, 1)
    assert a.prod(axis=1, keepdims=True).shape == np.prod(a, axis=1, keepdims=True).shape == (4, 1)
    assert np.all(a.prod(axis=-1, keepdims=True)[:, 0] == product)
    assert a[0, 0].prod() == a[0, 0]
    refused("batch axes", a.sum, axis=2)


def test_dtypes_are_kept_and_mixed_as_in_numpy():
    for dtype in (np.float32, np.float64, np.complex64, np.complex128, np.int64):
        a = ALG.multivector(np.ones(8), dtype=dtype)
        assert (a * a).dtype == (a + a).dtype == (2 * a).dtype == (-a).dtype == (~a).dtype == dtype
    single = ALG.multivector(np.ones(8), dtype=np.float32)
    for result in (single * ALG.e1, single + ALG.e1, ALG.e1 ^ single, single * 2, single - 1):
        assert result.dtype == np.float32  # integer blades do not widen it
    wide = cr.Algebra(9)
    assert (wide.random_multivector(rng=0, dtype=np.float32) * wide.multivector(np.ones(512, int))).dtype == np.float32
    for result in (2.5 * single, single + 2.5, 1 - single, single - 1.5):
        assert result.dtype == np.float32
    assert (ALG.e1 / 2).dtype == np.float64
    assert (ALG.e1 * 1j).dtype == np.complex128
    assert ALG.vector(np.ones(3, dtype=np.int8)).dtype == np.int64
    assert ALG.vector(np.ones(3, dtype=bool)).dtype == np.int64
    assert ALG.vector(np.ones(3, dtype=np.float16)).dtype == np.float32
    assert ALG.vector(np.ones(3, dtype=">f8")).dtype == np.float64
    assert (ALG.e1 * 2**80)["e1"] == 2**80  # beyond int64: Python's integers
    third = ALG.e1 * Fraction(1, 3)
    assert third.dtype == object
    assert third["e1"] == Fraction(1, 3)
    assert ((third * 2) / 3)["e1"] == Fraction(2, 9)
    assert (ALG.vector(np.array([1, 2, 3], dtype=object)) / 3)["e2"] == Fraction(2, 3)
    assert third.astype(float).dtype == np.float64


def test_sums_of_different_blades():
    A = ALG.e1 + 2 * ALG.e23 - 3
    assert ALG("-3 + e1 + 2*e23") == A
    assert A.keys.size == 3
    assert 3 - ALG.e1 == ALG("3 - e1")
    left = 3 - ALG.e1  # not compared with text, which is parsed with the same operators
    assert (left["1"], left["e1"]) == (3, -1)
    right = ALG.e1 - 3
    assert (right["1"], right["e1"]) == (-3, 1)
    assert (np.array([1.0, 2.0]) - ALG.e1)["1"].tolist() == [1, 2]
    assert (A - A) == 0
    assert (A - A).sparse().keys.size == 0
    assert (A - A).sparse() * A == 0
    assert A.dense().sparse() == A
    wide = cr.Algebra(40)
    assert sum(wide.basis_vectors()).grades == (1,)


def test_quotients_and_powers():
    A = ALG("2*e1")
    assert ALG.e1 / 2 == A**-1
    assert A**0 == 1
    assert 8 * ALG.e1 == A**3
    assert (A / A) == 1
    assert ALG.e1 / 2 == 1 / A
    rotor = ALG("3 + 4*e12") / 5
    assert (rotor**5).isclose(rotor * rotor * rotor * rotor * rotor, rtol=1e-13)
    assert (rotor**-2 * rotor**2).isclose(1, rtol=1e-13)
    batch = ALG.random_multivector(rng=0, shape=3)
    assert (batch**0 == 1).all()
    with pytest.raises(ZeroDivisionError):
        A / 0
    with pytest.raises(ZeroDivisionError):
        batch / np.array([1.0, 0.0, 2.0])
    refused("must be a number", lambda: A ** "2")


def test_equality_is_exact_and_works_with_batches():
    a = ALG.random_multivector(rng=0, shape=(3,))
    assert (a == a).tolist() == [True] * 3
    assert (a == a[1]).tolist() == [False, True, False]
    assert (a != a[1]).tolist() == [True, False, True]
    assert ALG.e1 != ALG.e2
    assert ALG.scalar(2) == 2
    assert ALG.scalar(2) == 2.0
    assert ALG.e1.dense() == ALG.e1
    assert ALG.e1 != cr.Algebra(2).e1
    assert ALG.e1 != "e1"
    assert (ALG.scalar([1, 2]) == np.array([1, 3])).tolist() == [True, False]
    refused("neither true nor false", bool, ALG.e1, error=TypeError)


def test_isclose_is_relative():
    small = 1e-20 * ALG.e1
    assert not small.isclose(0)
    assert small.isclose(0, atol=1e-19)
    assert small.isclose(small * (1 + 1e-12))
    assert not small.isclose(small * (1 + 1e-6))
    assert (1e150 * ALG.e1).isclose(1e150 * ALG.e1 * (1 + 1e-12))
    assert ALG.random_multivector(rng=0, shape=3).isclose(0).tolist() == [False] * 3
    assert (ALG.e1 * Fraction(1, 3)).isclose(ALG.e1 / 3)
    refused("multivector or a scalar", small.isclose, "0")


def test_the_array_is_its_own():
    """What a user changes afterwards does not change the multivector, and a copy holds on to no other array."""
    A, X = ALG.random_multivector(rng=0), np.ones(3)
    v = ALG.vector(X)
    X[0] = 7
    assert v == ALG("e1 + e2 + e3")
    assert copy.copy(A) == copy.deepcopy(A) == A
    assert A.copy().coefficients is not A.coefficients


@pytest.mark.parametrize(("name", "arguments"), [("exp", [3]), ("map", []), ("bivector_split", "abc"), ("sum", "abc")])
def test_an_error_names_the_method(name, arguments):
    """A function of a module that is a method calls itself by the method's name: in errors, in help, to pickle."""
    refused(rf"^Multivector\.{name}\(\) ", lambda: getattr(cr.Algebra(3).e12, name)(*arguments), error=TypeError)


def test_every_method_can_be_pickled():
    A = cr.Algebra(3).e12 * 0.5
    for name in dir(cr.Multivector):
        function = getattr(cr.Multivector, name, None)
        if isinstance(function, types.FunctionType):
            assert pickle.loads(pickle.dumps(function)) is function, name
    assert pickle.loads(pickle.dumps(A.exp))() == A.exp()


def test_grade_needs_a_grade():
    alg = cr.Algebra(3)
    A = alg("1 + 2*e1 + 3*e12")
    rule = r"The 'grades' parameter of grade must be one or more integers from 0 to 3\. Got none instead\. A\.grades"
    with pytest.raises(cr.ArgumentError, match=rule):
        A.grade()
    with pytest.raises(cr.ArgumentError, match=rule):
        cr.fused(lambda a: a.grade(), backend="numpy")(A)
    with pytest.raises(cr.ArgumentError, match=r"Got \[0, 2\] instead\. Several are written A\.grade\(1, 3\)\."):
        A.grade([0, 2])
    assert A.grade(3) == 0  # a grade that is not stored is zero
