"""Norms: the definition, every scale, exact roots, and what has no norm."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy

import clifford_rand as cr
from support.metrics import every_signature
from support.refusals import refused

R3 = cr.Algebra(3)
NULL = r"'A' parameter of normalized must be of non-zero norm\. Got \|⟨A ~A⟩_0\| = "


@pytest.mark.parametrize("alg", every_signature(), ids=repr)
def test_norm_squared_is_the_scalar_part_of_a_times_its_reverse(alg):
    A = alg.random_multivector(rng=0, shape=(3,))
    product = (A * ~A).grade(0).coefficients[..., 0]
    np.testing.assert_allclose(A.norm_squared(), product, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(A.norm(), np.sqrt(np.abs(product)), rtol=1e-6, atol=1e-6)
    assert [float(one.norm()) for one in A] == pytest.approx(A.norm().tolist(), rel=1e-13)


@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1e-7, 1.0, 1e150, 1e200])
def test_norms_at_every_scale(scale):
    alg = cr.Algebra(2, 1, 1)
    A = alg("3*e1 + 4*e23 + 1*e0")  # |3² - 4²| = 7
    assert (A * scale).norm() == pytest.approx(math.sqrt(7) * scale, rel=1e-15)
    assert (A * scale).normalized().isclose(A / math.sqrt(7), rtol=1e-15)
    mixed = alg.vector([[0, 3, 4, 0], [0, 3, 4, 0]]) * np.array([scale, 1.0])
    np.testing.assert_allclose(mixed.norm(), [5 * scale, 5], rtol=1e-15)
    for signature in ((8,), (4, 4), (7, 0, 1)):
        alg = cr.Algebra(*signature)
        A = alg.random_multivector(rng=0, shape=3)
        expected = np.sqrt(np.abs((A.coefficients**2 * alg.form.weight(A.keys.masks)).sum(axis=-1)))
        np.testing.assert_allclose((A * scale).norm() / scale, expected, rtol=1e-12)
        np.testing.assert_allclose([one.norm() / scale for one in A * scale], expected, rtol=1e-12)
        np.testing.assert_allclose([one.norm_squared() for one in A], A.norm_squared(), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_norm_keeps_the_precision_of_the_dtype(dtype):
    A = R3.random_multivector(rng=1, shape=(4,), dtype=dtype)
    assert A.norm().dtype == np.zeros(1, dtype).real.dtype
    assert A.normalized().dtype == dtype
    np.testing.assert_allclose(A.normalized().norm(), 1, rtol=1e-5 if A.norm().itemsize == 4 else 1e-14)


def test_norms_out_of_the_range_of_squares():
    assert R3.vector(np.array([3e30, 4e30, 0], dtype=np.float32)).norm() == pytest.approx(5e30, rel=1e-6)
    alg = cr.Algebra(2, 0, 1)  # a null part, however large, does not matter
    assert (1e300 * alg.e0 + 1e-170 * alg.e1).norm() == pytest.approx(1e-170, rel=1e-15)


def test_norms_of_integers_fractions_and_symbols():
    A = R3("3*e1 + 4*e2")
    assert A.norm() == 5.0
    assert A.norm_squared() == 25
    assert A.normalized() == 0.6 * R3.e1 + 0.8 * R3.e2
    assert (Fraction(3, 7) * R3.e1 + Fraction(4, 7) * R3.e2).norm() == Fraction(5, 7)
    assert (Fraction(1) * R3.e1 + Fraction(1) * R3.e2).norm() == sympy.sqrt(2)
    a = sympy.Symbol("a", real=True)
    assert (a * R3.e1 + 1 * R3.e12).norm() == sympy.sqrt(a**2 + 1)
    assert Fraction(3, 5) * R3.e1 + Fraction(4, 5) * R3.e2 == A.astype(object).normalized()
    refused("'A' parameter of normalized must be of non-zero norm", (Fraction(0) * R3.e1).normalized)


def test_what_has_no_norm_is_not_normalized():
    alg = cr.Algebra(1, 1, 1)
    for A in (alg.e1 + alg.e2, 1e-200 * alg.e1 + 1e-200 * alg.e2, 2 * alg.e0, alg.scalar(0.0), alg.e0 * alg.e0):
        assert A.norm() == 0
        refused(NULL, A.normalized)
    nearly = alg.e1 + (1 + 1e-9) * alg.e2
    assert nearly.normalized().norm() == pytest.approx(1, rel=1e-6)
    refused(NULL, nearly.normalized, rtol=1e-8)
    refused("must be finite", (np.inf * alg.e1).normalized)
    refused(NULL, alg.vector([[0, 1, 0], [0, 1.0, 1.0]]).normalized)


@pytest.mark.parametrize("batch", [(), (3,)])
def test_what_is_null_but_for_rounding_is_not_normalized(batch):
    """0.1 + 0.2 and 0.3 differ by 5e-17: their vector in Cl(1, 1) has the square 3e-17, and no unit multiple."""
    null = cr.Algebra(1, 1).vector(np.broadcast_to([0.1 + 0.2, 0.3], (*batch, 2)))
    assert np.all(null.norm() > 0)
    refused("of non-zero norm", null.normalized)
    assert np.all(null.normalized(rtol=1e-18).norm() > 0.9)


def as_tensor(A):
    return A.algebra.multivector(pytest.importorskip("torch").tensor(A.values.copy()), A.grades)


@pytest.mark.parametrize(
    "signature", [(3, 0, 1), (4, 0, 0), (3, 1, 0), (1, 3, 0), (2, 2, 0), (4, 0, 1), (4, 1, 0), (2, 0, 3)]
)
def test_drifted_versors_by_every_path(signature):
    """U ~U is 1 or -1 where A ~A = s + q with q² < s², and U a product of A and a number x + y q; for a versor x."""
    alg = cr.Algebra(*signature)
    rng = np.random.default_rng(alg.d)
    R = (alg.random_multivector(rng=rng, shape=(30,), grades=2) * 0.4).exp() * alg.scalar(rng.uniform(0.5, 2, 30))
    vector = alg.vector(rng.normal(size=alg.d) + 4 * (np.arange(alg.d) == alg.d - 1))
    fused = cr.fused(lambda A: A.normalized())
    for grades, versors in ((range(0, alg.d + 1, 2), R), (range(1, alg.d + 1, 2), (R * vector).odd())):
        A = versors.grade(*grades)
        drifted = A + 1e-2 * alg.random_multivector(rng=rng, shape=(30,), grades=grades)
        assert A.normalized().isclose(A / alg.scalar(A.norm()), rtol=1e-11, atol=1e-12).all()
        U = drifted.normalized()
        square, size = U * ~U, np.square(U.values).max()
        np.testing.assert_allclose(np.abs(square["1"]), 1, atol=1e-12 * size)
        np.testing.assert_allclose((square - square.grade(0)).values, 0, atol=1e-12 * size)
        full = drifted.dense()  # which also holds blades of the other parity, all of them zero
        tensors = (as_tensor(part).normalized().to_numpy() for part in (drifted, full))
        one_by_one = cr.stack([one.normalized() for one in drifted])
        for other in (fused(drifted), *tensors, one_by_one, full.normalized(), full[0].normalized(), fused(full)):
            assert np.all(other.isclose(U if other.ndim else U[0], rtol=1e-10, atol=1e-11 * size))


def test_sums_of_even_and_odd_versors_are_divided_by_their_norm():
    A = cr.Algebra.pga(3).random_multivector(rng=0, shape=(5,))
    for U in (A.normalized(), as_tensor(A).normalized().to_numpy(), cr.fused(lambda A: A.normalized())(A)):
        assert U.isclose(A / A.algebra.scalar(A.norm()), rtol=1e-13).all()


def test_a_bivector_of_two_equal_planes_keeps_its_direction():
    """There A ~A = 2 + 2 I or 2 - 2 I has no inverse, and A is divided by its norm."""
    A = cr.Algebra(4)("1.0*e12 + e34")
    assert A.normalized().isclose(A / 2**0.5, rtol=1e-15)


def test_a_drifted_motor_far_away():
    alg = cr.Algebra.pga(3)
    for size in (1e3, 1e6, 1e9):
        M = (1 + size * alg("e01 + 2*e03")) * (0.3 * alg.e12 + 0.4 * alg.e13).exp()
        for U in ((M * (1 + 0.009 * alg.I)).normalized(), (M * (2 + 1e-7 * alg.I)).normalized()):
            assert U.isclose(M, rtol=1e-14)
            assert abs((U * ~U)["e0123"]) <= 1e-15 * size


def test_names_of_basis_vectors_decide_nothing():
    plain, named = cr.Algebra.pga(3), cr.Algebra(signature=[0, 1, 1, 1], names=["r", "p", "q", "z"])
    first, second = (2 + 0.3 * A.basis_vectors()[1] * A.basis_vectors()[2] + 0.02 * A.I for A in (plain, named))
    np.testing.assert_array_equal(first.normalized().dense().coefficients, second.normalized().dense().coefficients)
