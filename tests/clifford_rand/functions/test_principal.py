"""Logarithms, roots and powers of any multivector: laws, numbers of cmath, SciPy's functions of the left product."""

import cmath
import itertools
import math
import warnings

import numpy as np
import pytest
from scipy.linalg import expm, logm, sqrtm

import clifford_rand as cr

SIGNATURES = [(p, d - p - r, r) for d in range(1, 5) for r in range(d + 1) for p in range(d - r + 1)]


def left_product(A):
    basis = A.algebra.multivector(np.eye(2**A.algebra.d), range(A.algebra.d + 1))
    return (A * basis).on_keys(basis.keys).coefficients.T


def column(A):
    return A.on_keys(A.algebra.multivector(np.zeros(2**A.algebra.d), range(A.algebra.d + 1)).keys).coefficients


def off_the_cut(A):
    values = np.linalg.eigvals(left_product(A))
    size = np.abs(values).max()
    return (np.abs(values) > 1e-3 * size).all() and not ((values.real < 0) & (np.abs(values.imag) < 1e-3 * size)).any()


@pytest.mark.parametrize("signature", SIGNATURES, ids=str)
def test_laws_on_random_multivectors_off_the_negative_axis(signature):
    """Dense and sparse, even, odd and mixed ones; the values are the principal ones, those of SciPy."""
    alg = cr.Algebra(*signature)
    rng = np.random.default_rng(sum(signature))
    elements = [alg.random_multivector(rng, (), range(alg.d + 1)) + shift for shift in (0, 1, 3) for _ in range(3)]
    entries = np.array([0, 0, 0, 1, -1, 2, -3, 0.5])
    elements += [alg.multivector(rng.choice(entries, 2**alg.d), range(alg.d + 1)) + 2 for _ in range(5)]
    elements = [A for A in elements if off_the_cut(A)]
    assert elements
    for A in elements:
        L, Q, M = A.log(), A.sqrt(), left_product(A)
        size = np.abs(M).max() * max(1.0, np.linalg.cond(M))
        np.testing.assert_allclose(expm(left_product(L))[:, 0], column(A), atol=1e-13 * size)
        np.testing.assert_allclose(column(Q * Q), column(A), atol=1e-13 * size)
        np.testing.assert_allclose(column(A**0.3 * A**0.7), column(A), atol=1e-13 * size)
        np.testing.assert_allclose(column(A**-0.5 * Q), column(alg.scalar(1.0)), atol=1e-13 * size)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for ours, theirs in ((L, logm(M)[:, 0]), (Q, sqrtm(M)[:, 0])):
                np.testing.assert_allclose(column(ours), theirs, atol=1e-5 * np.abs(theirs).max())
    batch = alg.multivector([column(A) for A in elements], range(alg.d + 1))
    for k, A in enumerate(elements):
        assert batch.log()[k].isclose(A.log(), rtol=1e-9, atol=1e-12)
        assert batch.sqrt()[k].isclose(A.sqrt(), rtol=1e-9, atol=1e-12)


def test_complex_dual_and_hyperbolic_numbers_and_quaternions_are_those_of_cmath():
    complexes, dual, hyperbolic = cr.Algebra(0, 1), cr.Algebra(0, 0, 1), cr.Algebra(1)
    for x, y in itertools.product((-2.0, -1.0, 0.0, 1e-9, 3.0), (-2.0, 0.0, 1e-9, 1.0)):
        z = complex(x, y)
        A = x + y * complexes.e1
        if z:
            assert complex(A.log()["1"], A.log()["e1"]) == pytest.approx(cmath.log(z), rel=1e-14, abs=1e-14)
            assert complex((A**1.7)["1"], (A**1.7)["e1"]) == pytest.approx(z**1.7, rel=1e-13)
        assert complex(A.sqrt()["1"], A.sqrt()["e1"]) == pytest.approx(cmath.sqrt(z), rel=1e-14, abs=1e-15)
    for x, y in ((2.0, 1.0), (1e9, -3.0), (1e-9, 1e9)):
        A = x + y * dual.e0
        assert A.log().isclose(math.log(x) + y / x * dual.e0, rtol=1e-14)
        assert A.sqrt().isclose(math.sqrt(x) + y / (2 * math.sqrt(x)) * dual.e0, rtol=1e-14)
        assert (A**2.5).isclose(x**2.5 + 2.5 * x**1.5 * y * dual.e0, rtol=1e-13)
    A = 2 + hyperbolic.e1
    assert A.log().isclose(math.log(3) / 2 * (1 + hyperbolic.e1), rtol=1e-14)
    quaternions = cr.Algebra(0, 2)
    Q = 1.0 + quaternions.e1 + quaternions.e2 + quaternions.e12
    assert Q.sqrt().isclose((2 + Q) / 6**0.5, rtol=1e-14)
    space = cr.Algebra.pga(3)
    root = (2 + 0.5 * space.I).sqrt()
    assert root.isclose(2**0.5 + 0.25 / 2**0.5 * space.I, rtol=1e-14)


def test_negative_eigenvalues_with_a_commuting_root_of_minus_one():
    """I in Cl(3) and Cl(1, 2), a plane that commutes with a vector, the plane of a motor and I, none of the blades."""
    cl3, cl4, cl12, sta, pga = cr.Algebra(3), cr.Algebra(4), cr.Algebra(1, 2), cr.Algebra(3, 1), cr.Algebra.pga(3)
    vector = cl4.vector(np.random.default_rng(0).standard_normal(4))
    for A in (
        1 + 3 * cl3.e1,
        -2 + cl3.e1,
        cl3.e123 - 3,
        -(0.5 * cl12.e12).exp(),
        -(1 + 0.5 * sta.e1 * (sta.e3 + sta.e4)),
        sta.e14 * 1.0,
        -2 + 0.5 * pga.I,
        vector,
        1 + vector * 5,
        cr.Algebra(0, 1).scalar(-4.0),
        cr.Algebra(1, 1).scalar(-4.0),
    ):
        np.testing.assert_allclose(expm(left_product(A.log()))[:, 0], column(A), atol=1e-12)
        np.testing.assert_allclose(column(A.sqrt() * A.sqrt()), column(A), atol=1e-12)


def test_what_has_no_eigenvalue_on_the_closed_negative_axis_is_never_refused():
    rng = np.random.default_rng(4)
    refused = 0
    for signature in SIGNATURES:
        alg = cr.Algebra(*signature)
        for _ in range(6):
            A = alg.multivector(rng.choice([0, 0, 0, 1.0, -1, 2, -3, 0.5], 2**alg.d), range(alg.d + 1))
            values = np.linalg.eigvals(left_product(A))
            near = 1e-3 * np.abs(values).max()  # an eigenvalue of a Jordan block has few digits
            if not ((values.real <= near) & (np.abs(values.imag) <= near)).any():
                np.testing.assert_allclose(expm(left_product(A.log()))[:, 0], column(A), atol=1e-8)
                continue
            try:
                A.log()
            except cr.ArgumentError:
                refused += 1
    assert refused > 20


def test_complex_coefficients_batches_and_dtypes():
    rng = np.random.default_rng(6)
    for signature in ((3, 0, 0), (2, 0, 1), (1, 2, 0), (2, 2, 0)):
        alg = cr.Algebra(*signature)
        A = alg.random_multivector(rng, (2, 3), range(alg.d + 1), dtype=np.complex128)
        assert A.log().exp().isclose(A, rtol=1e-9).all()
        assert (A.sqrt() * A.sqrt()).isclose(A, rtol=1e-9).all()
    alg = cr.Algebra.pga(2)
    mixed = alg.multivector(
        [[2.0, 0, 0.5, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 1, 0], [1, 0, 0, 0, 9, 0, 0, 0]], range(4)
    )
    assert mixed.log().exp().isclose(mixed, rtol=1e-13).all()  # one mixed element and two rotors
    assert mixed.astype(np.float32).log().dtype == np.float32
    assert mixed[:0].log().shape == (0,)
