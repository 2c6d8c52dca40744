"""R X R⁻¹ against the two products, against matrices of NumPy, for every kind of metric, batch and dtype."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
import sympy

import clifford_rand as cr
from support.metrics import algebras, versor
from support.refusals import refused

R3, R4 = cr.Algebra(3), cr.Algebra(4)


@pytest.mark.parametrize("alg", algebras(), ids=repr)
def test_it_is_the_two_products_and_keeps_grades(alg):
    """By its grades, by its matrix, which leaves the metric, and for one of each kind of metric."""
    rng = np.random.default_rng(1)
    for count in range(1, min(alg.d, 3) + 1)[:: 1 + (alg.d > 4)]:
        R = versor(alg, rng, count)
        if R is None:
            continue
        inverse = R.inv()
        for grades in [(k,) for k in range(alg.d + 1)] + [tuple(range(alg.d + 1))]:
            X = alg.random_multivector(rng=rng, grades=grades)
            plain = R * X * inverse
            assert (R >> X).isclose(plain, rtol=1e-8, atol=1e-9 * float(np.abs(plain.values).max() + 1)), alg
            assert (R >> X).grades == grades
        assert (R >> 2).isclose(2.0)
        M, gram, x = cr.stack([R, R]).vector_matrix(), alg.metric.astype(float), rng.standard_normal(alg.d)
        assert M.shape == (2, alg.d, alg.d)
        scale = float(np.square(np.abs(M)).max() * np.abs(gram).max())
        kept = np.swapaxes(M, -1, -2) @ gram @ M
        np.testing.assert_allclose(kept, np.broadcast_to(gram, M.shape), atol=1e-9 * scale)
        np.testing.assert_allclose((R >> alg.vector(x)).values, M[0] @ x, rtol=1e-8, atol=1e-10 * np.abs(M).max())


@pytest.mark.parametrize(
    "alg", [R3, cr.Algebra(3, 0, 1), cr.Algebra(4, 1), cr.Algebra.cga(2, null_basis=True), cr.Algebra(6)], ids=repr
)
def test_the_product_in_a_batch_is_that_of_each_element(alg):
    rng = np.random.default_rng(2)
    R, many = versor(alg, rng, 2), versor(alg, rng, 2, (3,))
    for grades in (1, (0, 1, 3), None):
        for count in (2, 400):  # below and above the batch from which the matrix is built
            X = alg.random_multivector(rng=rng, shape=(count,), grades=grades)
            Y, table = R >> X, many.reshape(3, 1) >> X
            assert (Y.shape, Y.grades, table.shape) == ((count,), X.grades, (3, count))
            for i in (0, count - 1):
                assert Y[i].isclose(R >> X[i], rtol=1e-11)
            assert (R.reshape(1) >> X).isclose(Y, rtol=1e-11).all()
            for i in range(3):
                assert table[i].isclose(many[i] >> X, rtol=1e-10).all()
    assert (many >> alg.random_multivector(rng=rng, shape=(5, 3), grades=1)).shape == (5, 3)
    assert (many >> alg.basis_vectors()[0]).shape == (3,)


def test_it_is_the_rotation_matrix():
    """In R^3, exp(-θ/2 n*) turns by θ about n (Rodrigues)."""
    rng = np.random.default_rng(3)
    n = rng.standard_normal(3)
    n /= np.linalg.norm(n)
    theta = 0.7
    K = np.array([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])
    rotation = np.eye(3) + np.sin(theta) * K + (1 - np.cos(theta)) * K @ K
    R = np.cos(theta / 2) - np.sin(theta / 2) * (R3.I * R3.vector(n))
    np.testing.assert_allclose(R.vector_matrix(), rotation, atol=1e-15)
    X = rng.standard_normal((1000, 3))
    np.testing.assert_allclose((R >> R3.vector(X)).values, X @ rotation.T, rtol=1e-13, atol=1e-14)


def test_the_sign_is_that_of_the_product():
    n, x = R3.vector([0.0, 0.0, 2.0]), R3.vector([1.0, 0.0, 3.0])
    np.testing.assert_array_equal((n >> x).values, [-1, 0, 3])
    np.testing.assert_array_equal((n >> x.involute()).values, [1, 0, -3])
    np.testing.assert_array_equal(np.right_shift(np.array(2.0), x).values, x.values)


def test_other_multivectors_give_every_grade():
    rng = np.random.default_rng(5)
    for alg in (R3, R4, cr.Algebra(2, 1), cr.Algebra(3, 0, 1)):
        R = 3 + alg.random_multivector(rng=rng, grades=range(alg.d))
        for shape in ((), (300,)):
            X = alg.random_multivector(rng=rng, shape=shape, grades=1)
            assert set((R >> X).grades) > {1}
            assert np.all((R >> X).isclose(R * X * R.inv(), rtol=1e-8))
    central = 1 + R3.I  # neither even nor odd, but it keeps vectors
    assert (central >> R3.e1).isclose(R3.e1)
    assert (central >> R3.e1).grades == (1,)
    alg = cr.Algebra(6)
    assert set((1 + alg("e123456") >> alg.e1).grades) > {1}  # R ~R is not a scalar, yet even
    grade_5 = 1 + 0.3 * alg("e1234") + 0.4 * alg("e1256")
    assert (grade_5 >> alg.e1).isclose(grade_5 * alg.e1 * grade_5.inv())


def test_a_rotor_off_the_group_by_little_is_inverted_fully():
    """A part of R ~R of 1e-10 that is not scalar enters the inverse to first order: errors are 1e-20, not 1e-10."""
    alg = cr.Algebra(3, 0, 1)
    R = alg.scalar(0.8) + 0.6 * alg.e12 + 1e-10 * alg.I
    X = alg.vector([0.0, 1.0, 0.0, 0.0])
    assert (R >> X).grades == (1,)
    assert (R >> X).isclose((R * X * R.inv()).grade(1), rtol=1e-15)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_lengths_do_not_count(scale):
    rng = np.random.default_rng(6)
    for alg in (R3, cr.Algebra(3, 0, 1), cr.Algebra(3, 1)):
        R, X = versor(alg, rng, 2), alg.random_multivector(rng=rng, grades=1)
        assert ((scale * R) >> X).isclose(R >> X, rtol=1e-14)
        assert (R >> (scale * X)).isclose(scale * (R >> X), rtol=1e-14)
        np.testing.assert_allclose((scale * R).vector_matrix(), R.vector_matrix(), rtol=1e-13, atol=1e-14)
    R = versor(R3, rng, 2)
    assert ((1e200 * R) >> R3.e1).isclose(R >> R3.e1, rtol=1e-12)


def test_dtypes():
    for dtype in (np.float32, np.complex64, np.complex128):
        R = R4.random_multivector(rng=7, shape=(), grades=1, dtype=dtype) * R4.random_multivector(
            rng=8, shape=(), grades=1, dtype=dtype
        )
        for shape in ((), (3,), (200,)):
            X = R4.random_multivector(rng=9, shape=shape, grades=1, dtype=dtype)
            assert (R >> X).dtype == dtype
            assert np.all((R >> X).isclose((R * X * R.inv()).grade(1), rtol=1e-3 if dtype != np.complex128 else 1e-10))
    assert ((1 + R4.e12) >> R4.e1).dtype == np.float64


def test_exact_numbers_and_symbols():
    for alg in (R3, cr.Algebra(2, 0, 1), cr.Algebra(metric=[[2, 1, 0], [1, 3, 0], [0, 0, -1]])):
        first, second, third = alg.basis_vectors()
        R = (first + second).astype(object) * (first + 2 * second + third)
        X = (3 * first - third).astype(object)
        Y = R >> X
        assert Y.grades == (1,)
        assert (Y * R) == (R * X)
        assert all(isinstance(value, int | Fraction) for value in Y.coefficients.tolist())
        assert R.vector_matrix().dtype == object
        np.testing.assert_array_equal(R.vector_matrix() @ X.values, Y.values)
    a, b, x = sympy.symbols("a b x", real=True)
    Y = (a + b * R3.e12) >> (x * R3.e1)
    assert Y.grades == (1,)
    assert sympy.simplify(Y["e1"] - x * (a**2 - b**2) / (a**2 + b**2)) == 0
    assert sympy.simplify(Y["e2"] + 2 * a * b * x / (a**2 + b**2)) == 0


def peak(work):
    """Return the largest number of bytes that are held while a function runs, warm."""
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_large_batch_goes_through_one_matrix():
    """Its memory is that of the answer: R X, with sixteen coefficients a vector where X has five, is never formed."""
    rng, alg = np.random.default_rng(8), cr.Algebra(4, 1)
    R, X = versor(alg, rng, 4), alg.random_multivector(rng=rng, shape=(50_000,), grades=1)
    inverse = R.inv()
    assert (R * X).values.nbytes >= 3 * X.values.nbytes
    assert peak(lambda: R >> X) < 2.2 * X.values.nbytes
    assert peak(lambda: (R * X) * inverse) > 3 * X.values.nbytes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda alg: (alg.e1 + alg.e3) >> alg.e2, "inv"),
        (lambda alg: alg.e1 >> R3.e1, "must be of the same algebra"),
        (lambda alg: alg.e1.sandwich("e1"), "must be a multivector, a number"),
        (lambda alg: (1 + alg.e1).vector_matrix(), "must be a versor"),
        (lambda alg: (1 + alg.e1).astype(object).vector_matrix(), "must be a versor"),
        (lambda alg: alg.vector([np.nan, 0, 0]) >> alg.e1, "'coefficients' parameter of sandwich must be finite"),
    ],
)
def test_failures(call, message):
    refused(message, call, cr.Algebra(2, 1))


def test_high_dimensions():
    """Of rotors see `test_versors`."""
    alg, sparse = cr.Algebra(200), cr.Algebra(60)
    n, x = np.random.default_rng(9).standard_normal((2, 200))
    Y = alg.vector(n) >> alg.vector(x)
    np.testing.assert_allclose(Y.values, 2 * (n @ x) / (n @ n) * n - x, rtol=1e-12, atol=1e-12)
    assert alg.vector(x).reflect(alg.vector(n)).isclose(-Y, rtol=1e-13)
    assert ((1 + sparse.e1_2) >> (sparse.e1 + 3 * sparse.e40)) == 3.0 * sparse.e40 - sparse.e2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_quadratic_form_is_the_product(dtype):
    """One R, one R of many X, pairs: against R X R⁻¹ by the products, in every unit metric of d ≤ 5 that is tried."""
    rng = np.random.default_rng(5)
    rtol = 1e-4 if dtype == np.float32 else 1e-10
    metrics = [(1, 0, 0), (2, 0, 0), (1, 1, 0), (3, 0, 0), (1, 3, 0), (3, 0, 1), (2, 0, 2), (4, 1, 0), (0, 5, 0)]
    for counts in metrics[3:6:2] if dtype == np.float32 else metrics:  # of the same formulas
        alg = cr.Algebra(*counts)
        for count in (1, 2, 3):
            n = 1100 if counts == (3, 0, 1) else 30  # more than two tiles once
            R = versor(alg, rng, count, (6,))[np.arange(n) % 6].astype(dtype)
            inverse = R.astype(float).inv()
            for grades in range(alg.d + 1), (1,), (alg.d - 1,):
                X = alg.random_multivector(rng=rng, shape=(n,), grades=tuple(grades), dtype=dtype)
                expected = (R.astype(float) * X.astype(float) * inverse).grade(*grades)
                assert (R >> X).isclose(expected, rtol=rtol, atol=rtol).all()
                for one in (R[0] >> X[0], (R[0] >> X)[0], (R >> X[0])[0]):
                    assert one.isclose(expected[0], rtol=rtol, atol=rtol)
                assert (R >> X).dtype == dtype


def test_what_is_no_versor_is_found_in_every_way():
    """R ~R of 1 + e1234 is no number in Cl(4); e1 + e2 of Cl(1, 1) is null; neither may pass the quadratic form."""
    R, X = R4("1 + 0.5*e1234 + 0.25*e12"), R4.random_multivector(rng=6, shape=(300,), grades=1)
    many = R + np.zeros(300)
    expected = R * X * R.inv()
    for Y in (R >> X, many >> X, many[0] >> X):
        assert Y.isclose(expected, rtol=1e-10).all()
    assert (R >> X[0]).isclose(expected[0], rtol=1e-10)
    plane = cr.Algebra(1, 1)
    null = plane.vector(np.ones((300, 2)))
    for R, Y in ((null, plane.e1), (null[0], plane.e1), (null, null)):
        with pytest.raises(cr.ArgumentError):
            R >> Y
    assert np.isnan((versor(R3, np.random.default_rng(6), 2) >> R3.vector([np.nan, 1, 1])).values).any()
