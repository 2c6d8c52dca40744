"""Inverses: A X = X A = 1 in every metric, the ways agree, exact ones are exact, and what is singular is named."""

from fractions import Fraction

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.errors import ArgumentError
from clifford_rand.functions.inverse import determinant_and_adjugate
from clifford_rand.functions.matrix_inverse import inverse_grades, one_by_matrix
from support.blades import signatures


def size(A):
    return np.sqrt((np.abs(A.coefficients) ** 2).sum(axis=-1))


def residual(A, X):
    """Largest component of A X - 1 and X A - 1, in units of |A| |X|."""
    error = np.maximum(size(A * X - 1), size(X * A - 1))
    return float(np.max(error / (size(A) * size(X))))


def not_diagonal(rng):
    """Metrics that are not diagonal: definite, indefinite, degenerate, of null vectors, with a zero block."""
    algebras = [cr.Algebra.cga(1, null_basis=True), cr.Algebra.cga(2, null_basis=True)]
    for d in (2, 3, 4, 5):
        Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
        for null in (0, 1, 2):
            values = rng.choice([-2.0, 1.0], d)
            values[: min(null, d - 1)] = 0
            G = Q @ np.diag(values) @ Q.T
            algebras.append(cr.Algebra(metric=(G + G.T) / 2))
    return algebras


def allowed(A, X):
    """What rounding leaves: one step of Newton's iteration, where there are null vectors, costs a condition number."""
    return 1e-15 * float(np.max(10 + (A.algebra.r > 0) * size(A) * size(X)))


def test_every_signature_and_every_grade():
    rng = np.random.default_rng(0)
    for p, q, r in signatures(5):
        alg = cr.Algebra(p, q, r)
        A = alg.random_multivector(rng, (4,))
        assert residual(A, A.inv()) < allowed(A, A.inv())
        assert A.inv()[2].isclose(A[2].inv(), rtol=1e-9)
        even = alg.random_multivector(rng, (4,), grades=range(0, alg.d + 1, 2))
        assert residual(even, even.inv()) < allowed(even, even.inv())
        assert all(k % 2 == 0 for k in even.inv().grades)
        for k in range(1, alg.d + 1):
            A = alg.random_multivector(rng, grades=k)
            if k <= alg.d - r and (k in (1, alg.d - 1, alg.d) or alg.d % 2 == 0):
                assert residual(A, A.inv()) < 1e-13
                assert set(A.inv().grades) <= set(inverse_grades(A.keys, alg.d))


def test_metrics_that_are_not_diagonal():
    rng = np.random.default_rng(1)
    for alg in not_diagonal(rng):
        A = alg.random_multivector(rng, (3,))
        assert residual(A, A.inv()) < 1e-12
        v = alg.random_multivector(rng, grades=1)
        assert v.inv().isclose(v / (v * v)["1"], rtol=1e-12)


def test_diagonal_entries_of_every_size():
    rng = np.random.default_rng(2)
    for diagonal in ([4.0, -0.25, 9.0], [1e6, -1e-6, 1.0, 0.0], [0.0, 2.0], [1.0, 0.0, -1.0, 3.0]):
        A = cr.Algebra(metric=np.diag(diagonal)).random_multivector(rng, (5,))
        A = A + 10 * float(np.prod([max(1.0, abs(x)) for x in diagonal])) ** 0.5
        np.testing.assert_allclose((A * A.inv() - 1).coefficients, 0, atol=1e-9)


def test_null_vectors_in_any_place():
    rng = np.random.default_rng(3)
    A = cr.Algebra(2, 1, 2).random_multivector(rng)
    for signature in ([1, 0, -1, 0, 1], [-1, 1, 0, 0, 1], [1, 1, -1, 0, 0]):
        B = cr.Algebra(signature=signature).multivector(A.values)
        assert residual(B, B.inv()) < 1e-13
    all_null = cr.Algebra(0, 0, 4).random_multivector(rng)
    assert residual(all_null, all_null.inv()) < 1e-13


def test_the_inverse_of_a_product_is_the_product_of_the_inverses():
    rng = np.random.default_rng(4)
    for alg in (cr.Algebra(4), cr.Algebra(3, 1), cr.Algebra(3, 0, 1), cr.Algebra(4, 1), *not_diagonal(rng)[:2]):
        A, B = (alg.random_multivector(rng, (3,)) for _ in range(2))
        assert (A * B).inv().isclose(B.inv() * A.inv(), rtol=1e-8).all()
        assert A.inv().inv().isclose(A, rtol=1e-9).all()
        assert A.reverse().inv().isclose(A.inv().reverse(), rtol=1e-9).all()


def test_versors_have_their_reverse():
    rng = np.random.default_rng(5)
    for p, q, r in signatures(5):
        alg = cr.Algebra(p, q, r)
        if alg.r == alg.d:
            continue
        V = alg.scalar(1.0)
        for _ in range(3):
            V = V * alg.random_multivector(rng, grades=1)
            assert V.inv().isclose(V.reverse() / (V * V.reverse())["1"], rtol=1e-10)
            assert V.inv().grades == V.grades or len(V.grades) > 1
    assert cr.Algebra(3).e12.inv() == -cr.Algebra(3).e12
    assert cr.Algebra(3).e12.inverse() == -cr.Algebra(3).e12


@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1e-7, 1.0, 1e150, 1e200])
def test_scales(scale):
    rng = np.random.default_rng(6)
    for alg in (cr.Algebra(3), cr.Algebra(2, 1, 1), cr.Algebra(4), cr.Algebra.cga(1, null_basis=True)):
        A = alg.random_multivector(rng)
        assert (A * scale).inv().isclose(A.inv() / scale, rtol=1e-12)
        both = alg.multivector(np.stack([A.values, A.values * scale]))
        assert both.inv()[1].isclose(A.inv() / scale, rtol=1e-12)
        v = alg.random_multivector(rng, grades=1)
        assert (v * scale).inv().isclose(v.inv() / scale, rtol=1e-13)


def test_a_large_null_part():
    alg = cr.Algebra(2, 0, 1)
    A = 1.0 + 1e150 * alg.e0
    assert A.inv().isclose(1.0 - 1e150 * alg.e0)
    B = 2.0 + alg.e1 + 1e100 * alg.e02
    assert (B * B.inv()).isclose(1, atol=1e-14 * 1e100)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_dtypes(dtype):
    rng = np.random.default_rng(7)
    tolerance = 1e-13 if dtype == np.complex128 else 1e-5
    for alg in (cr.Algebra(3), cr.Algebra(2, 1, 1), cr.Algebra(4, 1), cr.Algebra.cga(1, null_basis=True)):
        A = alg.random_multivector(rng, (3,), dtype=dtype)
        assert A.inv().dtype == dtype
        assert residual(A, A.inv()) < tolerance
        v = alg.random_multivector(rng, (3,), grades=1, dtype=dtype)
        assert v.inv().dtype == dtype
        assert residual(v, v.inv()) < 10 * tolerance
    assert (2 * alg.blade("e1")).inv().dtype == np.float64


def test_forty_dimensions():
    alg = cr.Algebra(30, 9, 1)
    assert (1e-7 * alg.e1).inv().isclose(1e7 * alg.e1)
    assert alg.blade("e1_39").inv() == alg.blade("e1_39")
    A = 1 + 2 * alg.e1 + alg.blade("e1_39") + 3.0 * alg.e7 + 0.5 * alg.e0
    assert (A * A.inv()).isclose(1, rtol=1e-12)
    v = alg.random_multivector(8, (3,), grades=1)
    assert (v * v.inv()).isclose(1, rtol=1e-10).all()
    with pytest.raises(cr.ArgumentError, match="at most 20 basis vectors"):
        (v[0] + 1).inv()


@pytest.mark.parametrize("counts", [(12,), (6, 6), (5, 5, 1), (8, 2)])
def test_many_dimensions(counts):
    A = cr.Algebra(*counts).random_multivector(9)
    assert residual(A, A.inv()) < 1e-14


def test_singular_multivectors_raise():
    rng = np.random.default_rng(10)
    message = r"'A' parameter of inv must be invertible\. Got a multivector with reciprocal condition number"
    count = 0
    for p, q, r in signatures(5):
        alg = cr.Algebra(p, q, r)
        names = [alg.names.vector(i) for i in range(alg.d)]
        e = dict(zip(names, alg.basis_vectors(), strict=True))
        divisors = [v * 1.0 for v in e.values() if (v * v) == 0]
        divisors += [1.0 + v for v in e.values() if (v * v) == 1]
        divisors += [a + 1.0 * b for a in e.values() for b in e.values() if (a * a) == 1 and (b * b) == -1]
        for Z in divisors:
            cases = [Z, 1e-150 * Z, 1e150 * Z]
            cases += [A for _ in range(3) for A in (Z * alg.random_multivector(rng), alg.random_multivector(rng) * Z)]
            for A in cases:
                with pytest.raises(cr.ArgumentError, match=message):
                    A.inv()
                count += 1
        with pytest.raises(cr.ArgumentError, match=message):
            alg.scalar(0.0).inv()
    assert count > 500
    with pytest.raises(cr.ArgumentError, match=message):
        (alg.basis_vectors()[0] * 0).inv()


def test_singular_batch_element_is_named():
    alg = cr.Algebra(3)
    values = np.random.default_rng(11).standard_normal((4, 8))
    values[2] = (1.0 + alg.e1).dense().coefficients
    A = alg.multivector(values)
    with pytest.raises(cr.ArgumentError, match=r"reciprocal condition number .* at batch index 2"):
        A.inv()
    v = alg.vector([[[1.0, 2, 3], [0, 0, 0]]])
    with pytest.raises(cr.ArgumentError, match=r"reciprocal condition number 0 at batch index \(0, 1\)"):
        v.inv()


def test_rtol_decides_what_is_singular():
    alg = cr.Algebra(3)
    A = 1 + (1 - 1e-6) * alg.e1  # condition number 2e6
    assert (A * A.inv()).isclose(1, rtol=1e-8)
    with pytest.raises(cr.ArgumentError, match="rtol = 1e-05"):
        A.inv(rtol=1e-5)
    nearly = 1 + (1 - 1e-15) * alg.e1
    with pytest.raises(cr.ArgumentError, match="invertible"):
        nearly.inv()
    assert float(nearly.inv(rtol=0.0)["1"]) == pytest.approx(0.5e15, rel=0.5)
    with pytest.raises(cr.ArgumentError, match="finite"):
        (1 + np.nan * alg.e1 + alg.e12).inv()


def test_an_inverse_out_of_range():
    with pytest.raises(cr.ArgumentError, match="beyond the range"):
        (1e-200 + 1.0 * cr.Algebra(2, 0, 1).e0 + 1e-200 * cr.Algebra(2, 0, 1).e12).inv()


def test_empty_batch():
    alg = cr.Algebra(3)
    for grades in (1, 2, None):
        A = alg.random_multivector(0, (0, 2), grades=grades)
        assert A.inv().shape == (0, 2)


def integers(alg, rng, grades=None):
    A = alg.random_multivector(rng, grades=grades)
    return A.new(A.keys, np.array([Fraction(int(x)) for x in rng.integers(-5, 6, A.keys.size)], dtype=object))


def test_fractions_are_exact_in_every_metric():
    rng = np.random.default_rng(12)
    grams = [[[0, -1], [-1, 0]], [[2, 1, 0], [1, 2, 1], [0, 1, 2]], [[1, 1], [1, 1]]]
    algebras = [cr.Algebra(*counts) for counts in signatures(4)] + [cr.Algebra(metric=G) for G in grams]
    for alg in algebras:
        A = integers(alg, rng) + 11
        X = A.inv()
        assert A * X == 1
        assert X * A == 1
        assert X.astype(np.float64).isclose(A.astype(np.float64).inv(), rtol=1e-9)
        even = integers(alg, rng, range(0, alg.d + 1, 2)) + 11
        assert even * even.inv() == 1
        assert all(k % 2 == 0 for k in even.inv().grades)


def test_exact_batch_and_integers_in_object_arrays():
    alg = cr.Algebra(2, 1)
    A = alg.multivector(np.array([[9, 1, 2, 3, 1, 0, 1, 1], [7, 0, 2, 0, 1, 1, 1, 2]], dtype=object))
    assert (A * A.inv() == 1).all()
    assert all(isinstance(value, Fraction | int) for value in A.inv().coefficients.ravel().tolist())
    assert (alg.vector(np.array([3, 0, 0], dtype=object)).inv())["e1"] == Fraction(1, 3)


def test_the_determinant_is_that_of_the_matrices():
    """det A is the determinant of left multiplication to the power N/2^d; and it is multiplicative."""
    rng = np.random.default_rng(13)
    for counts in [(1,), (2,), (0, 2), (3,), (1, 1, 1), (2, 2), (3, 0, 1)]:
        alg = cr.Algebra(*counts)
        A, B = integers(alg, rng), integers(alg, rng)
        det_A, adjugate = determinant_and_adjugate(A.dense())
        assert A * adjugate == det_A
        assert determinant_and_adjugate((A * B).dense())[0] == det_A * determinant_and_adjugate(B.dense())[0]
        E = alg.multivector(np.eye(2**alg.d))
        left = np.linalg.det((A.astype(np.float64) * E).dense().coefficients)
        n = 2 ** ((alg.d + 1) // 2)
        assert left == pytest.approx(float(det_A) ** (2**alg.d // n), rel=1e-8)


def test_exact_singular_multivectors_raise():
    sympy = pytest.importorskip("sympy")
    alg = cr.Algebra(2, 0, 1)
    message = "'A' parameter of inv must be invertible. Got a multivector with determinant 0"
    for A in (Fraction(1) + alg.e1, alg.e0 * Fraction(1, 3), alg.scalar(Fraction(0))):
        with pytest.raises(cr.ArgumentError, match=message):
            A.inv()
    a = sympy.Symbol("a", real=True)
    with pytest.raises(cr.ArgumentError, match=message):
        ((a + 1) * alg.e12 + (a + 1) * alg.e1 * alg.e12).inv()


def test_symbols():
    sympy = pytest.importorskip("sympy")
    a, b = sympy.symbols("a b", real=True)
    alg = cr.Algebra(3)
    R = a + b * alg.e12
    assert all(sympy.simplify(value) == 0 for value in (R * R.inv() - 1).coefficients)
    A = a + b * alg.e1 + alg.e12 * 2
    assert all(sympy.simplify(value) == 0 for value in (A * A.inv() - 1).coefficients)
    g = sympy.Symbol("g", real=True)
    symbolic = cr.Algebra(metric=np.array([[1, g], [g, 1]], dtype=object))
    e1, e2 = symbolic.basis_vectors()
    B = 2 + e1 + 3 * e2
    assert all(sympy.simplify(value) == 0 for value in (B * B.inv() - 1).coefficients)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_one_multivector_through_its_matrix(dtype):
    # against the product, in every signature of four to six vectors where the two linear maps are small
    rng = np.random.default_rng(17)
    served = 0
    for counts in [(p, q, r) for p in range(7) for q in range(7 - p) for r in range(4) if 4 <= p + q + r <= 6]:
        alg = cr.Algebra(*counts)
        array = rng.standard_normal(2**alg.d) + (1j * rng.standard_normal(2**alg.d) if dtype == np.complex128 else 0)
        array[0] += 3  # far from singular
        A = alg.multivector(array.astype(dtype))
        X = one_by_matrix(A, 1e-12)
        if X is None:
            continue
        served += 1
        assert X.dtype == dtype
        assert X.keys is alg.multivector(array).keys
        bound = 200 * np.finfo(dtype).eps * np.linalg.norm(A.coefficients) * np.linalg.norm(X.coefficients)
        assert np.abs((A * X - 1).coefficients).max() < bound, counts
        assert np.abs((X * A - 1).coefficients).max() < bound, counts
    assert served > 30


def test_one_multivector_through_its_matrix_in_a_null_basis_and_on_some_blades():
    null = cr.Algebra.cga(3, null_basis=True)
    wide = cr.Algebra(4, 4, 2)
    some = wide("3 + e1 + e2_8 + e1_2_3 + e1_5_6_8 + e2_3_5").sparse() * 1.0
    for A in (null.random_multivector(5) + 3, some):
        X = one_by_matrix(A, 1e-12)
        assert (A * X).isclose(1)
        assert (X * A).isclose(1)
        assert A.inv() == X


def test_what_the_matrix_leaves_to_the_other_ways():
    alg = cr.Algebra(4, 1)
    A = alg.random_multivector(3)
    assert one_by_matrix(A, 1e-12) is not None
    R = alg.vector([1.0, 2, 3, 4, 0]) * alg.vector([1.0, 2, 0, 4, 1])
    assert one_by_matrix(R.dense(), 1e-12) is None  # a versor in all 32 components: its reverse, no rounding elsewhere
    assert np.all(R.dense().inv().odd().coefficients == 0)
    assert one_by_matrix(A * 1e30, 1e-12) is None
    assert one_by_matrix(1 + alg.e1 + 1e-8 * A, 1e-12) is None  # badly conditioned
    assert one_by_matrix(1 + alg.e1 + 0 * A, 1e-12) is None
    assert one_by_matrix(A, 0.9) is None
    with pytest.raises(cr.ArgumentError, match="invertible"):
        (1 + alg.e1 + 0 * A).inv()


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (3,)])
@pytest.mark.parametrize(("signature", "grades"), [((0, 0, 0, 1), 2), ((0, 0), None), ((0, 1, 1), 0), ((0, 0, 1), 3)])
def test_no_component_has_a_square(shape, signature, grades):
    """One sentence for an element and for a batch of any shape, and an empty batch for an empty one."""
    alg = cr.Algebra(signature=signature)
    A = alg.random_multivector(0, shape, grades)
    A = A if grades else A - A.scalar_part()
    with pytest.raises(ArgumentError, match="must be invertible"):
        A.inv()
    empty = alg.random_multivector(0, (0,), grades)
    assert (empty if grades else empty - empty.scalar_part()).inv().shape == (0,)


def test_an_empty_batch_has_empty_factors():
    alg = cr.Algebra(signature=[0, 0, 0, 1])
    size, factors = alg.random_multivector(0, (0,), 3).factorize_versor()
    assert {size.shape, *(factor.shape for factor in factors)} == {(0,)}


def test_round_off_of_a_change_of_basis_is_not_inverted():
    """Of a multivector of null directions alone, the rest is some eps after the change to an orthogonal basis."""
    gram = np.array([[-1, 1, 1, 1], [1, 0, -2, -1], [1, -2, 0, -1], [1, -1, -1, -1]])
    alg = cr.Algebra(metric=gram)
    null = np.linalg.svd(gram)[2][-1]
    for A in (alg.vector(null), alg("3*e12 - 3*e13 + e14 - 3*e23 - 2*e1234"), alg.vector(null) ^ alg.e1):
        for one in (A, A.reshape(1), A.reshape(1, 1)):
            with pytest.raises(ArgumentError, match="must be invertible"):
                one.inv()
    A = 1e-3 + alg.vector(null)  # a small part without null vectors is no round-off
    assert (A * A.inv()).isclose(1, rtol=1e-8)
