"""Logarithms, roots and powers of any multivector: laws, numbers of cmath, SciPy's functions of the left product."""

import cmath
import itertools
import math
import warnings

import numpy as np
import pytest
from scipy.linalg import expm, logm, sqrtm

import clifford_rand as cr
from support.blades import signatures
from support.refusals import refused

ENTRIES = np.array([0, 0, 0, 1, -1, 2, -3, 0.5])


def column(A):
    return A.dense().coefficients


def exponential(A):
    return expm(A.left_matrix())[:, 0]


def is_off_the_cut(A):
    values = np.linalg.eigvals(A.left_matrix())
    near = 1e-3 * np.abs(values).max()  # an eigenvalue of a Jordan block has few digits
    return not ((values.real <= near) & (np.abs(values.imag) <= near)).any()


@pytest.mark.kept("(0, 3, 0)")
@pytest.mark.parametrize("signature", signatures(4)[::2], ids=str)
def test_laws_on_random_multivectors(signature):
    """Dense and sparse, even, odd and mixed ones; off the negative axis the values are the principal ones, SciPy's."""
    alg, rng = cr.Algebra(*signature), np.random.default_rng(sum(signature))
    elements = [alg.random_multivector(rng=rng) + shift for shift in (0, 1, 3)]
    elements += [alg.multivector(rng.choice(ENTRIES, 2**alg.d)) + shift for shift in (0, 0, 2, 2)]
    elements = [A for A in elements if is_off_the_cut(A)]
    assert elements
    for A in elements:
        L, Q, M = A.log(), A.sqrt(), A.left_matrix()
        atol = 1e-13 * np.abs(M).max() * max(1.0, np.linalg.cond(M))
        np.testing.assert_allclose(exponential(L), column(A), atol=atol)
        np.testing.assert_allclose(column(Q * Q), column(A), atol=atol)
        np.testing.assert_allclose(column(A**0.3 * A**0.7), column(A), atol=atol)
        np.testing.assert_allclose(column(A**-0.5 * Q), column(alg.scalar(1.0)), atol=atol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value, expected in ((L, logm(M)[:, 0]), (Q, sqrtm(M)[:, 0])):
            np.testing.assert_allclose(column(value), expected, atol=1e-5 * np.abs(expected).max())
    batch = cr.stack(elements)
    for k, A in enumerate(elements):
        assert batch.log()[k].isclose(A.log(), rtol=1e-9, atol=1e-12)
        assert batch.sqrt()[k].isclose(A.sqrt(), rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_only_what_has_an_eigenvalue_near_the_closed_negative_axis_is_refused():
    rng = np.random.default_rng(4)
    count = 0
    for signature in signatures(4)[1::2]:
        alg = cr.Algebra(*signature)
        for _ in range(2):
            A = alg.multivector(rng.choice(ENTRIES, 2**alg.d))
            try:
                L = A.log()
            except cr.ArgumentError:
                count += 1
                assert not is_off_the_cut(A)
            else:
                np.testing.assert_allclose(exponential(L), column(A), atol=1e-8)
    assert count > 5
    inaccurate = cr.Algebra(2, 0, 2)("1.0*e2 + 0.5*e4 - e12 - e13 + 2*e24 + 0.5*e34 - e123 + e124")
    refused("with an accurate value", inaccurate.log)
    refused("with an accurate value", inaccurate.sqrt)


def test_complex_dual_and_hyperbolic_numbers_and_quaternions_are_those_of_cmath():
    complexes, dual, hyperbolic, quaternions = (cr.Algebra(*pqr) for pqr in ((0, 1), (0, 0, 1), (1,), (0, 2)))
    for z in map(complex, *zip(*itertools.product((-2.0, -1.0, 0.0, 1e-9, 3.0), (-2.0, 0.0, 1e-9, 1.0)), strict=True)):
        A = z.real + z.imag * complexes.e1
        if z:
            assert complex(A.log()["1"], A.log()["e1"]) == pytest.approx(cmath.log(z), rel=1e-14, abs=1e-14)
            assert complex((A**1.7)["1"], (A**1.7)["e1"]) == pytest.approx(z**1.7, rel=1e-13)
        assert complex(A.sqrt()["1"], A.sqrt()["e1"]) == pytest.approx(cmath.sqrt(z), rel=1e-14, abs=1e-15)
    for x, y in ((2.0, 1.0), (1e9, -3.0), (1e-9, 1e9)):
        A = x + y * dual.e0
        assert A.log().isclose(math.log(x) + y / x * dual.e0, rtol=1e-14)
        assert A.sqrt().isclose(math.sqrt(x) + y / (2 * math.sqrt(x)) * dual.e0, rtol=1e-14)
        assert (A**2.5).isclose(x**2.5 + 2.5 * x**1.5 * y * dual.e0, rtol=1e-13)
    assert (2 + hyperbolic.e1).log().isclose(math.log(3) / 2 * (1 + hyperbolic.e1), rtol=1e-14)
    Q = quaternions("1.0 + e1 + e2 + e12")
    assert Q.sqrt().isclose((2 + Q) / 6**0.5, rtol=1e-14)
    I = cr.Algebra.pga(3).I  # noqa: E741
    assert (2 + 0.5 * I).sqrt().isclose(2**0.5 + 0.25 / 2**0.5 * I, rtol=1e-14)


@pytest.mark.slow
def test_negative_eigenvalues_with_a_commuting_root_of_minus_one():
    """I in Cl(3) and Cl(1, 2), a plane that commutes with a vector, the plane of a motor and I, none of the blades."""
    cl3, sta, pga = cr.Algebra(3), cr.Algebra(3, 1), cr.Algebra.pga(3)
    vector = cr.Algebra(4).vector(np.random.default_rng(0).standard_normal(4))
    for A in (
        1 + 3 * cl3.e1,
        -2 + cl3.e1,
        cl3.e123 - 3,
        -(0.5 * cr.Algebra(1, 2).e12).exp(),
        -(1 + 0.5 * sta.e1 * (sta.e3 + sta.e4)),
        sta.e14 * 1.0,
        -2 + 0.5 * pga.I,
        vector,
        1 + vector * 5,
        cr.Algebra(0, 1).scalar(-4.0),
        cr.Algebra(1, 1).scalar(-4.0),
    ):
        np.testing.assert_allclose(exponential(A.log()), column(A), atol=1e-12)
        np.testing.assert_allclose(column(A.sqrt() * A.sqrt()), column(A), atol=1e-12)


def test_complex_coefficients_batches_and_dtypes():
    rng = np.random.default_rng(6)
    for signature in ((3, 0, 0), (2, 0, 1), (1, 2, 0), (2, 2, 0)):
        A = cr.Algebra(*signature).random_multivector(rng=rng, shape=(2, 3), dtype=np.complex128)
        assert A.log().exp().isclose(A, rtol=1e-9).all()
        assert (A.sqrt() * A.sqrt()).isclose(A, rtol=1e-9).all()
    mixed = cr.Algebra.pga(2).multivector(
        [[2.0, 0, 0.5, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 1, 0], [1, 0, 0, 0, 9, 0, 0, 0]]
    )
    assert mixed.log().exp().isclose(mixed, rtol=1e-13).all()  # one mixed element and two rotors
    assert mixed.astype(np.float32).log().dtype == np.float32
    assert mixed[:0].log().shape == (0,)
