"""Inverses: A X = X A = 1 in every metric, the ways agree, exact ones are exact, and what is singular is named."""

from fractions import Fraction

import numpy as np
import pytest
import sympy

import clifford_rand as cr
from clifford_rand.functions.closed_inverse import closed_inverse, inverse_code
from clifford_rand.functions.inverse import determinant_and_adjugate
from clifford_rand.functions.matrix_forms import inverse_grades, one_by_matrix
from clifford_rand.plans.table_plan import TablePlan
from support.blades import signatures
from support.metrics import not_diagonal
from support.refusals import refused

R3, NULL = cr.Algebra(3), cr.Algebra.cga(1, null_basis=True)
SINGULAR = r"'A' parameter of inv must be invertible\. Got a multivector with "


def size(A):
    return np.sqrt((np.abs(A.coefficients) ** 2).sum(axis=-1))


def residual(A, X=None):
    """Largest component of A X - 1 and X A - 1, in units of |A| |X|."""
    X = A.inv() if X is None else X
    error = np.maximum(size(A * X - 1), size(X * A - 1))
    return float(np.max(error / (size(A) * size(X))))


@pytest.mark.parametrize(("p", "q", "r"), [*signatures(4), *signatures(5, 5)[::4]], ids=repr)
def test_every_signature_and_every_grade(p, q, r):
    assert R3.e12.inv() == -R3.e12
    rng, of_versors = np.random.default_rng(0), np.random.default_rng(5)
    alg = cr.Algebra(p, q, r)
    for grades in (None, range(0, alg.d + 1, 2)):
        A = alg.random_multivector(rng=rng, shape=(4,), grades=grades)
        X = A.inv()  # one step of Newton's iteration, where there are null vectors, costs a condition number
        assert residual(A, X) < 1e-15 * float(np.max(10 + (r > 0) * size(A) * size(X)))
        assert X[2].isclose(A[2].inv(), rtol=1e-9)
        assert grades is None or all(k % 2 == 0 for k in X.grades)
    for k in range(1, alg.d - r + 1):
        A = alg.random_multivector(rng=rng, grades=k)
        if k in (1, alg.d - 1, alg.d) or alg.d % 2 == 0:
            assert residual(A) < 1e-13
            assert set(A.inv().grades) <= set(inverse_grades(A.keys, alg.d))
    if r < alg.d:
        V = alg.scalar(1.0)
        for _ in range(3):
            V = V * alg.random_multivector(rng=of_versors, grades=1)
            assert V.inv().isclose(V.reverse() / (V * V.reverse())["1"], rtol=1e-10)
            assert V.inv().grades == V.grades or len(V.grades) > 1


@pytest.mark.parametrize("signature", [[1, 0, -1, 0, 1], [-1, 1, 0, 0, 1], [1, 1, -1, 0, 0], [0] * 4], ids=repr)
def test_metrics_that_are_not_diagonal_or_not_of_unit_squares(signature):
    rng = np.random.default_rng(1)
    for alg in not_diagonal(rng):
        assert residual(alg.random_multivector(rng=rng, shape=(3,))) < 1e-12
        v = alg.random_multivector(rng=rng, grades=1)
        assert v.inv().isclose(v / (v * v)["1"], rtol=1e-12)
    for diagonal in ([4.0, -0.25, 9.0], [1e6, -1e-6, 1.0, 0.0], [0.0, 2.0], [1.0, 0.0, -1.0, 3.0]):
        A = cr.Algebra(metric=np.diag(diagonal)).random_multivector(rng=rng, shape=(5,))
        A = A + 10 * float(np.prod([max(1.0, abs(x)) for x in diagonal])) ** 0.5
        np.testing.assert_allclose((A * A.inv() - 1).coefficients, 0, atol=1e-9)
    assert residual(cr.Algebra(signature=signature).random_multivector(rng=rng)) < 1e-13


def test_few_components_in_many_dimensions_need_no_table_of_all():
    """A rotor of 137 components in 17 dimensions by A ~A; others by the transform, whose plan is made in no time."""
    alg, rng = cr.Algebra.pga(16), np.random.default_rng(5)
    a, b = alg.vector(rng.standard_normal((2, 17)))
    for A in (a * b, a * b + 0.1 * alg.vector(rng.standard_normal(17))):
        X = A.inv()
        assert (A * X).isclose(1, atol=1e-12)
        tables = [plan for plan in alg.form.plans.values() if isinstance(plan, TablePlan)]
        assert max(table.size_a * table.size_b for table in tables) < 2**20


def test_the_inverse_of_a_product_is_the_product_of_the_inverses():
    rng = np.random.default_rng(4)
    for alg in (cr.Algebra(4), cr.Algebra(3, 1), cr.Algebra(3, 0, 1), cr.Algebra(4, 1), *not_diagonal(rng)[:2]):
        A, B = (alg.random_multivector(rng=rng, shape=(3,)) for _ in range(2))
        assert (A * B).inv().isclose(B.inv() * A.inv(), rtol=1e-8).all()
        assert A.inv().inv().isclose(A, rtol=1e-9).all()
        assert A.reverse().inv().isclose(A.inv().reverse(), rtol=1e-9).all()


@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1e-7, 1e150, 1e200])
def test_scales(scale):
    rng = np.random.default_rng(6)
    for alg in (R3, cr.Algebra(2, 1, 1), cr.Algebra(4), NULL):
        A, v = alg.random_multivector(rng=rng), alg.random_multivector(rng=rng, grades=1)
        assert (A * scale).inv().isclose(A.inv() / scale, rtol=1e-12)
        assert cr.stack([A, A * scale]).inv()[1].isclose(A.inv() / scale, rtol=1e-12)
        assert (v * scale).inv().isclose(v.inv() / scale, rtol=1e-13)


def test_a_large_null_part():
    alg = cr.Algebra(2, 0, 1)
    assert (1.0 + 1e150 * alg.e0).inv().isclose(1.0 - 1e150 * alg.e0)
    B = 2.0 + alg.e1 + 1e100 * alg.e02
    assert (B * B.inv()).isclose(1, atol=1e-14 * 1e100)
    refused("beyond the range", (1e-200 + 1.0 * alg.e0 + 1e-200 * alg.e12).inv)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_dtypes(dtype):
    rng = np.random.default_rng(7)
    tolerance = 1e-13 if dtype == np.complex128 else 1e-5
    for alg in (R3, cr.Algebra(2, 1, 1), cr.Algebra(4, 1), NULL):
        A, v = (alg.random_multivector(rng=rng, shape=(3,), grades=grades, dtype=dtype) for grades in (None, 1))
        assert A.inv().dtype == v.inv().dtype == dtype
        assert residual(A) < tolerance
        assert residual(v) < 10 * tolerance
    assert (2 * alg.blade("e1")).inv().dtype == np.float64


def test_many_dimensions():
    alg = cr.Algebra(30, 9, 1)
    assert (1e-7 * alg.e1).inv().isclose(1e7 * alg.e1)
    assert alg.blade("e1_39").inv() == alg.blade("e1_39")
    A = 1 + 2 * alg.e1 + alg.blade("e1_39") + 3.0 * alg.e7 + 0.5 * alg.e0
    assert (A * A.inv()).isclose(1, rtol=1e-12)
    v = alg.random_multivector(rng=8, shape=(3,), grades=1)
    assert (v * v.inv()).isclose(1, rtol=1e-10).all()
    refused("at most 20 basis vectors", (v[0] + 1).inv)
    for counts in ((10,), (5, 5), (5, 5, 1), (8, 2)):
        assert residual(cr.Algebra(*counts).random_multivector(rng=9)) < 1e-14


# ---- what has no inverse


def test_singular_multivectors_raise():
    rng = np.random.default_rng(10)
    count = 0
    for counts in signatures(5)[::4]:
        alg = cr.Algebra(*counts)
        e = alg.basis_vectors()
        divisors = [v * 1.0 for v in e if (v * v) == 0][:2]
        divisors += [1.0 + v for v in e if (v * v) == 1][:2]
        divisors += [a + 1.0 * b for a in e for b in e if (a * a) == 1 and (b * b) == -1][:2]
        for Z in divisors:
            A, B = (alg.random_multivector(rng=rng) for _ in range(2))
            for singular in (Z, 1e-150 * Z, 1e150 * Z, Z * A, B * Z):
                refused(f"{SINGULAR}reciprocal condition number", singular.inv)
                count += 1
        for zero in (alg.scalar(0.0), e[0] * 0):
            refused(f"{SINGULAR}reciprocal condition number", zero.inv)
    assert count > 150


def test_singular_elements_of_a_batch_are_named():
    values = np.random.default_rng(6).standard_normal((30, 8))
    values[17] = (1.0 + R3.e1).dense().coefficients
    refused(r"reciprocal condition number .* at batch index 17", R3.multivector(values).inv)
    values[17] = (1.0 + (1 - 1e-9) * R3.e1).dense().coefficients  # ill conditioned: by matrices, the others by rows
    A = R3.multivector(values)
    assert not closed_inverse(A)[1][17]
    assert (A * A.inv()).isclose(1.0, rtol=1e-6).all()
    refused(r"reciprocal condition number 0 at batch index \(0, 1\)", R3.vector([[[1.0, 2, 3], [0, 0, 0]]]).inv)


def test_rtol_decides_what_is_singular():
    A, nearly = 1 + (1 - 1e-6) * R3.e1, 1 + (1 - 1e-15) * R3.e1  # condition numbers 2e6 and 2e15
    assert (A * A.inv()).isclose(1, rtol=1e-8)
    refused("rtol = 1e-05", A.inv, rtol=1e-5)
    refused("invertible", nearly.inv)
    assert float(nearly.inv(rtol=0.0)["1"]) == pytest.approx(0.5e15, rel=0.5)
    refused("finite", (1 + np.nan * R3.e1 + R3.e12).inv)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (3,)])
@pytest.mark.parametrize(("signature", "grades"), [((0, 0, 0, 1), 2), ((0, 0), None), ((0, 1, 1), 0), ((0, 0, 1), 3)])
def test_no_component_has_a_square(shape, signature, grades):
    """One sentence for an element and for a batch of any shape, and an empty batch for an empty one."""
    alg = cr.Algebra(signature=signature)
    A, empty = (alg.random_multivector(rng=0, shape=batch, grades=grades) for batch in (shape, (0,)))
    A, empty = (A, empty) if grades else (A - A.scalar_part(), empty - empty.scalar_part())
    refused("must be invertible", A.inv)
    assert empty.inv().shape == (0,)


def test_round_off_of_a_change_of_basis_is_not_inverted():
    """Of a multivector of null directions alone, the rest is some eps after the change to an orthogonal basis."""
    gram = np.array([[-1, 1, 1, 1], [1, 0, -2, -1], [1, -2, 0, -1], [1, -1, -1, -1]])
    alg = cr.Algebra(metric=gram)
    null = alg.vector(np.linalg.svd(gram)[2][-1])
    for A in (null, alg("3*e12 - 3*e13 + e14 - 3*e23 - 2*e1234"), null ^ alg.e1):
        for shape in ((), (1,), (1, 1)):
            refused("must be invertible", A.reshape(shape).inv)
    A = 1e-3 + null  # a small part without null vectors is no round-off
    assert (A * A.inv()).isclose(1, rtol=1e-8)


# ---- fractions and symbols


def integers(alg, rng, grades=None):
    A = alg.random_multivector(rng=rng, grades=grades)
    return A.new(A.keys, np.array([Fraction(int(x)) for x in rng.integers(-5, 6, A.keys.size)], dtype=object))


def test_fractions_are_exact_in_every_metric():
    rng = np.random.default_rng(12)
    grams = [[[0, -1], [-1, 0]], [[2, 1, 0], [1, 2, 1], [0, 1, 2]], [[1, 1], [1, 1]]]
    for alg in [cr.Algebra(*counts) for counts in signatures(4)[::2]] + [cr.Algebra(metric=G) for G in grams]:
        A, even = integers(alg, rng) + 11, integers(alg, rng, range(0, alg.d + 1, 2)) + 11
        X = A.inv()
        assert A * X == X * A == even * even.inv() == 1
        assert X.astype(np.float64).isclose(A.astype(np.float64).inv(), rtol=1e-9)
        assert all(k % 2 == 0 for k in even.inv().grades)
    A = cr.Algebra(2, 1).multivector(np.array([[9, 1, 2, 3, 1, 0, 1, 1], [7, 0, 2, 0, 1, 1, 1, 2]], dtype=object))
    assert (A * A.inv() == 1).all()
    assert all(isinstance(value, Fraction | int) for value in A.inv().coefficients.ravel().tolist())
    assert (R3.vector(np.array([3, 0, 0], dtype=object)).inv())["e1"] == Fraction(1, 3)


def test_the_determinant_is_that_of_the_matrices():
    """det A is the determinant of left multiplication to the power N/2^d; and it is multiplicative."""
    rng = np.random.default_rng(13)
    for counts in [(1,), (2,), (0, 2), (3,), (1, 1, 1), (2, 2), (3, 0, 1)]:
        alg = cr.Algebra(*counts)
        A, B = integers(alg, rng), integers(alg, rng)
        det_A, adjugate = determinant_and_adjugate(A.dense())
        assert A * adjugate == det_A
        assert determinant_and_adjugate((A * B).dense())[0] == det_A * determinant_and_adjugate(B.dense())[0]
        left = np.linalg.det(A.astype(np.float64).left_matrix())
        assert left == pytest.approx(float(det_A) ** (2 ** (alg.d // 2)), rel=1e-8)


def test_symbols_and_exact_singular_multivectors():
    a, b, g = sympy.symbols("a b g", real=True)
    oblique = cr.Algebra(metric=np.array([[1, g], [g, 1]], dtype=object))
    for A in (a + b * R3.e12, a + b * R3.e1 + R3.e12 * 2, oblique("2 + e1 + 3*e2")):
        assert all(sympy.simplify(value) == 0 for value in (A * A.inv() - 1).coefficients)
    alg = cr.Algebra(2, 0, 1)
    for A in (
        Fraction(1) + alg.e1,
        alg.e0 * Fraction(1, 3),
        alg.scalar(Fraction(0)),
        (a + 1) * alg.e12 + (a + 1) * alg.e1 * alg.e12,
    ):
        refused(f"{SINGULAR}determinant 0", A.inv)


# ---- by involutions and by matrices


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_inverses_by_involutions(d):
    rng = np.random.default_rng(5)
    for counts in signatures(d, d)[:: 1 + d // 4]:
        alg = cr.Algebra(*counts)
        for grades in (None, tuple(range(0, d + 1, 2)), 1, 2 if d > 1 else 1):
            A = alg.random_multivector(rng=rng, shape=(20,), grades=grades) + (2.0 if grades is None else 0.0)
            X, done = closed_inverse(A)
            with np.errstate(all="ignore"):  # where it is not done, X has any value
                X = X.new(X.keys, np.where(done[..., None], X.coefficients, 1.0))
                assert (size(A * X - 1.0) <= 1e-14 * size(A) * size(X))[done].all()
            assert grades is not None or done.mean() > 0.6 or alg.r > 1
            for i in np.flatnonzero(done)[:2]:
                assert A[i].inv().isclose(X[i], rtol=1e-11)
            code = inverse_code(alg.form, A.keys)
            N, adjugate = code.adjugate(A[0].coefficients.tolist())  # also where A has no inverse, and N is 0
            assert (A[0] * A.new(code.adjugate_keys, np.array(adjugate))).isclose(N, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_one_multivector_through_its_matrix(dtype):
    """Against the product, in every signature of four to six vectors where the two linear maps are small."""
    rng = np.random.default_rng(17)
    served = 0
    for counts in [counts for counts in signatures(6, 4) if counts[2] < 4]:
        alg = cr.Algebra(*counts)
        A = 3 + alg.random_multivector(rng=rng, dtype=dtype)  # far from singular
        X = one_by_matrix(A, 1e-12)
        if X is not None:
            served += 1
            assert X.dtype == dtype
            assert X.keys is A.keys
            assert residual(A, X) < 200 * np.finfo(dtype).eps, counts
    assert served > 30


def test_one_multivector_through_its_matrix_in_a_null_basis_and_on_some_blades():
    some = cr.Algebra(4, 4, 2)("3 + e1 + e2_8 + e1_2_3 + e1_5_6_8 + e2_3_5").sparse() * 1.0
    for A in (cr.Algebra.cga(3, null_basis=True).random_multivector(rng=5) + 3, some):
        X = one_by_matrix(A, 1e-12)
        assert (A * X).isclose(1)
        assert (X * A).isclose(1)
        assert A.inv() == X


def test_what_the_matrix_leaves_to_the_other_ways():
    alg = cr.Algebra(4, 1)
    A = alg.random_multivector(rng=3)
    assert one_by_matrix(A, 1e-12) is not None
    R = (alg.vector([1.0, 2, 3, 4, 0]) * alg.vector([1.0, 2, 0, 4, 1])).dense()
    assert np.all(R.inv().odd().coefficients == 0)  # a versor in all 32 components: its reverse, no rounding elsewhere
    bad = (R, A * 1e30, 1 + alg.e1 + 1e-8 * A, 1 + alg.e1 + 0 * A)
    assert [one_by_matrix(B, 1e-12) for B in bad] + [one_by_matrix(A, 0.9)] == [None] * 5
    refused("invertible", (1 + alg.e1 + 0 * A).inv)
