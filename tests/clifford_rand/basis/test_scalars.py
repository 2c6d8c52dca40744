"""Scalars are numbers, and what is no scalar says which grades it has."""

import math
import operator
from fractions import Fraction

import numpy as np
import pytest
import sympy

import clifford_rand as cr
from clifford_rand.multivector.base import BladeAttributes
from support.metrics import algebras
from support.refusals import refused

ORDERS = (operator.lt, operator.le, operator.gt, operator.ge)


def test_products_of_vectors_are_numbers():
    rng = np.random.default_rng(0)
    for alg in algebras(4):
        a, b = (alg.random_multivector(rng=rng, grades=1) for _ in range(2))
        wanted = float(a.values @ alg.metric.astype(float) @ b.values)
        assert float(a | b) == pytest.approx(wanted, rel=1e-12, abs=1e-12)
        assert int(1e6 * (a | b)) == int(1e6 * float(a | b))
        assert complex(a | b) == float(a | b)
        assert math.sqrt((a | a) * (a | a)) == pytest.approx(abs(float(a | a)))
        assert round(a | b, 3) == round(float(a | b), 3)
        assert bool(a | b) is (float(a | b) != 0)
        np.testing.assert_array_equal(np.asarray(a | b), np.array(float(a | b)), strict=True)
        for specification in (".3f", "+.2e", "10.4g"):
            assert format(a | b, specification) == format(float(a | b), specification)


def test_rounding_in_other_grades_is_none():
    """R ~R has grades 0 and 4; A^-1 A all of them."""
    rng = np.random.default_rng(1)
    for alg in (cr.Algebra(4), cr.Algebra(3, 2), cr.Algebra(2, 0, 3)):
        R = (alg.random_multivector(rng=rng, shape=(50,), grades=2) / 4).exp()  # of large boosts it is that of |R|²
        np.testing.assert_allclose(np.asarray(R * ~R), 1, rtol=1e-12)
        A = 3 + alg.random_multivector(rng=rng, shape=(50,)) / 20
        np.testing.assert_allclose(np.asarray(A.inv() * A), 1, rtol=1e-12)
    alg = cr.Algebra(3)
    eps = float(np.finfo(float).eps)
    assert float(2 + 100 * eps * alg.e12) == 2
    for much in (2 + 200 * eps * alg.e12, 0 + 1e-30 * alg.e12, np.nan * alg.e1 + 1):
        refused("needs a scalar", float, much, error=TypeError)
    assert float(alg("1") + 0 * alg.e1) == 1
    with pytest.raises(TypeError, match="grades 0, 2"):
        float(alg("10**15 + e12"))  # integers are exact


def test_what_is_no_scalar_names_its_grades():
    alg = cr.Algebra(3)
    A = alg("2*e1 + e123") + 0 * alg.e12
    for convert in (float, int, complex, bool, round, math.sqrt, np.asarray, np.float64):
        refused("grades 1, 3", convert, A, error=TypeError)
    refused(r"grades 0, 1, 3.*scalar_part", float, A + 1, error=TypeError)
    for compare in ORDERS:
        refused("grade 1", compare, alg.e1, 1, error=TypeError)
        refused("grade 1", compare, 1, alg.e1, error=TypeError)
    batch = alg.scalar([1.0, 2.0])
    for convert in (float, int, complex, round):
        refused(r"one scalar.*\(2,\)", convert, batch, error=TypeError)
    refused(r"\.any\(\)", bool, batch, error=TypeError)
    refused("complex", lambda: float(alg.scalar(1j)), error=TypeError)
    refused("no order", lambda: alg.scalar(1j) < 1)
    refused("'<' not supported", lambda: alg.scalar(1) < "1", error=TypeError)


def test_order_is_that_of_the_numbers():
    alg = cr.Algebra(2)
    x, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0])
    for compare in ORDERS:
        for a in (x, alg.scalar(x)):
            for b in (y, alg.scalar(y)):
                np.testing.assert_array_equal(compare(a, b), compare(x, y))
        assert compare(alg.scalar(1), alg.scalar(2.0)) is compare(1, 2)
        assert compare(1, alg.scalar(1)) is compare(1, 1)
        assert compare(np.float64(3), alg.scalar(1)) == compare(3, 1)
    assert (alg.scalar(2**62) < 2**62 + 1) is True
    assert sorted([alg.scalar(3), alg.scalar(1), alg.scalar(2)]) == [1, 2, 3]
    assert (alg.scalar(Fraction(1, 3)) < Fraction(1, 2)) is True
    t = sympy.Symbol("t")
    assert (alg.scalar(t) < 2) == (t < 2)
    refused(r"of <= .* batch shape that broadcasts with \(3, 1\)", lambda: alg.scalar(x) <= np.ones((2, 1)))


def test_arrays_of_scalars_and_of_multivectors():
    alg = cr.Algebra(2)
    S = alg.scalar(np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(np.asarray(S), np.arange(6.0).reshape(2, 3))
    assert np.asarray(S, dtype=np.float32).dtype == np.float32
    np.asarray(S)[...] = 7  # the caller's own
    assert (alg.scalar(np.arange(6.0).reshape(2, 3)) == S).all()
    assert alg.vector([alg.e1 | alg.e1, alg.e1 | alg.e2]) == alg.e1
    listed = np.array([alg.e1, alg.e2], dtype=object)
    assert listed.shape == (2,)
    assert listed[1] is alg.e2
    assert np.asarray(alg.vector(np.eye(2)), dtype=object)[1] == alg.e2
    refused(r"needs a scalar.*grade 1", alg.multivector, [alg.e1, alg.e2])
    refused("copy", np.asarray, S, copy=False, error=ValueError)


def test_symbols_and_fractions():
    alg = cr.Algebra(2)
    t = sympy.Symbol("t", real=True)
    assert float(alg.scalar(Fraction(1, 4))) == 0.25
    assert round(alg.scalar(Fraction(7, 2))) == 4
    refused(r"needs a number, and this scalar has symbols: t\. A\.subs", float, alg.scalar(t), error=TypeError)
    for product in (t * alg.scalar(2), alg.scalar(2) * t, t + (alg.e1 | alg.e1), sympy.Integer(2) * alg.scalar(t)):
        assert isinstance(product, cr.Multivector)
    assert bool(alg.scalar(t) - t) is False


def test_names_of_blades_as_attributes():
    alg = cr.Algebra(3)
    A = alg("e1 + 2*e12")
    for name in ("e12", "e21", "e1", "e123"):
        refused(rf"A\['{name}'\]", getattr, A, name, error=AttributeError)
        assert not hasattr(A, name)
        assert name not in dir(A)
    with pytest.raises(AttributeError, match="no attribute 'grace'"):
        A.grace  # noqa: B018
    assert "__getattr__" not in vars(cr.Multivector)  # it would make every attribute slower
    assert not hasattr(BladeAttributes, "e12")


def test_no_multivector_has_multivectors_for_coefficients():
    alg = cr.Algebra(3)
    A = alg("e1 + e23")
    makers = [
        lambda: alg({"e1": A}),
        lambda: alg.multivector({"e1": A}),
        lambda: alg.multivector([A, A], 0),
        lambda: alg.vector([A, 1, 2]),
        lambda: alg.scalar(A),
        lambda: alg.e1.replace({"e2": A}),
        lambda: alg.e1.map(lambda x: A),
    ]
    for make in makers:
        refused(r"number.*grades", make)


def test_powers_of_scalars_and_by_scalars():
    rng = np.random.default_rng(0)
    for alg in algebras(3):
        a = alg.vector(rng.normal(size=(5, alg.d)))
        size = alg.scalar(np.abs(np.asarray(a | a)))
        assert np.allclose((size**0.5).norm(), np.sqrt(np.asarray(size)))
        assert np.allclose(np.asarray(size**0.3), np.asarray(size) ** 0.3)
        assert np.all(a ** alg.scalar(2) == a * a)
        assert np.all((2.5**a).isclose((a * np.log(2.5)).exp()))
        assert np.all(np.power(2.5, a) == 2.5**a)
        assert np.all((math.e**a).isclose(a.exp()))
    alg = cr.Algebra(3)
    assert alg.e1 ** (2 * (alg.e1 | alg.e1)) == 1
    R = (0.3 * alg.e12).exp()
    assert (R**0.5).isclose((0.15 * alg.e12).exp())
    assert (R**-0.5).isclose((-0.15 * alg.e12).exp())
    assert (alg.e1**0.3 * alg.e1**0.7).isclose(alg.e1)
    assert (cr.Algebra(0, 1).scalar(-2.0) ** 0.3)["e1"] == pytest.approx(((-2) ** 0.3).imag)
    t = sympy.Symbol("t", positive=True)
    assert (alg.scalar(t) ** sympy.Rational(1, 3))["1"] == t ** sympy.Rational(1, 3)
    for wrong, rule in (
        (lambda: alg.e1**alg.e2, "Got e2"),
        (lambda: cr.Algebra(1).scalar(-2.0) ** 0.3, "without negative eigenvalues"),
        (lambda: (-2) ** alg.e12, "a number > 0"),
    ):
        refused(rule, wrong)
    with pytest.raises(ZeroDivisionError):
        alg.scalar(0.0) ** -0.3
