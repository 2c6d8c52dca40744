"""exp: against the exponential of the left multiplication, in closed forms, at every scale, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import expm

import clifford_rand as cr
from support.blades import signatures


def left_matrix(A):
    """The matrix of X ↦ A X on all 2^d components."""
    alg = A.algebra
    return (A.dense() * alg.multivector(np.eye(2**alg.d))).dense().coefficients.T


def by_matrix(A):
    """exp A by Taylor's series of the matrix in extended precision, scaled and squared."""
    L = left_matrix(A)
    L = L.astype(np.clongdouble if L.dtype.kind == "c" else np.longdouble)
    steps = max(0, math.ceil(math.log2(max(float(np.abs(L).sum(axis=0).max()), 1e-300)))) + 3
    L = L / np.longdouble(2) ** steps
    term = total = np.eye(len(L), dtype=L.dtype)
    for k in range(1, 26):
        term = term @ L / k
        total = total + term
    for _ in range(steps):
        total = total @ total
    return total[:, 0]


def error(A):
    """Largest error of a component of exp A, relative to the largest component."""
    wanted = by_matrix(A)
    return float(np.abs(A.exp().dense().coefficients - wanted).max() / np.abs(wanted).max())


def grade_choices(d):
    yield from ((k,) for k in range(d + 1))
    yield from ((0, 2), (1, 2), tuple(range(0, d + 1, 2)), tuple(range(d + 1))) if d > 1 else ()


def test_every_signature_and_every_choice_of_grades():
    rng = np.random.default_rng(0)
    for p, q, r in signatures(4):
        alg = cr.Algebra(p, q, r)
        for grades in grade_choices(alg.d):
            for scale in (1e-3, 1.0, 3.0):
                assert error(scale * alg.random_multivector(rng, grades=grades)) < 3e-14
    for p, q, r in signatures(5)[-21:]:
        alg = cr.Algebra(p, q, r)
        for grades in ((1,), (2,), (0, 2, 4), (0, 1, 2, 3, 4, 5)):
            assert error(alg.random_multivector(rng, grades=grades)) < 3e-14


def test_agreement_with_scipy():
    rng = np.random.default_rng(1)
    for alg in (cr.Algebra(3), cr.Algebra(3, 1), cr.Algebra(2, 0, 2), cr.Algebra(6), cr.Algebra(4, 2)):
        for grades in ((2,), None):
            A = alg.random_multivector(rng, grades=grades)
            A = A / float(np.abs(A.coefficients).max())
            np.testing.assert_allclose(
                A.exp().dense().coefficients,
                expm(left_matrix(A))[:, 0],
                atol=1e-13 * float(np.abs(A.exp().coefficients).max()),
            )


def test_norms_up_to_ten():
    rng = np.random.default_rng(2)
    for alg in (cr.Algebra(4), cr.Algebra(2, 2), cr.Algebra(3, 0, 1), cr.Algebra(0, 5), cr.Algebra(4, 1)):
        for grades in ((1,), (2,), None):
            A = alg.random_multivector(rng, grades=grades)
            assert error(A * (10 / float(np.sqrt((A.coefficients**2).sum())))) < 1e-13


PLANES = [
    ((4,), "e12 + e34"),  # isoclinic: q² = s²
    ((4,), "10*e12 - 10*e34"),
    ((4,), "1e-5*e12 + 1e-5*e34"),
    ((3, 0, 1), "e12 + 0.7*e03"),  # a screw: q ≠ 0, q² = 0
    ((3, 0, 1), "1e-8*e12 + 0.7*e03"),
    ((3, 0, 1), "0.7*e03"),
    ((2, 2), "e12 + e34"),
    ((2, 2), "e13 + e24"),
    ((2, 2), "e13 + e14 + e23 + e24"),
    ((2, 2), "e12 + e14 + e23 + e34"),  # B² = 0 with parts that cancel
    ((2, 2), "e12 + e14 + e23 + 1.000001*e34"),
    ((1, 3), "e12 + e34"),  # a boost and a rotation
    ((1, 3), "3*e12 + 1e-9*e34"),
    ((1, 3), "e12 + e23"),  # null
    ((2, 0, 2), "e12 + e34 + 0.1*e13"),
    ((2, 0, 2), "e13 + e24"),
    ((0, 0, 4), "e12 + e34"),
    ((0, 0, 6), "e12 + e34 + e56"),
    ((4, 1), "10*e12 + 1e-3*e35 + 2*e15"),
    ((4, 1), "e12 + e34 + e35"),  # q ≠ 0, q² = 0 without a null basis vector
    ((4, 1), "20*e12 + 20*e34 + 19.999999*e35"),
    ((6,), "e12 + 2*e34"),
    ((6,), "e12 + e34 + e56"),
    ((1, 1, 3), "e12 + e34 + e1 + e5 + 3"),
]


@pytest.mark.parametrize(("counts", "text"), PLANES)
def test_one_and_two_planes(counts, text):
    A = cr.Algebra(*counts)(text) * 1.0
    assert error(A) < 1e-14
    assert error(-A) < 1e-14
    assert (A.exp() * (-A).exp()).isclose(1, rtol=1e-12)


def test_two_planes_of_all_sizes():
    """Components from 1e-9 to 10 in one bivector: every branch of the divided difference, in every signature."""
    rng = np.random.default_rng(3)
    for p, q, r in signatures(5):
        d = p + q + r
        if d >= 4:
            for _ in range(6):
                B = rng.standard_normal(d * (d - 1) // 2) * 10 ** rng.uniform(-6, 0.6, d * (d - 1) // 2)
                assert error(cr.Algebra(p, q, r).bivector(B * 10 ** rng.uniform(-3, 0.3))) < 1e-14


def test_metrics_that_are_not_diagonal():
    rng = np.random.default_rng(4)
    algebras = [cr.Algebra.cga(1, null_basis=True), cr.Algebra.cga(2, null_basis=True)]
    for d, null in ((2, 0), (3, 0), (3, 1), (4, 1), (4, 0), (5, 0)):
        Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
        values = rng.choice([-2.0, 1.0], d)
        values[:null] = 0
        G = Q @ np.diag(values) @ Q.T
        algebras.append(cr.Algebra(metric=(G + G.T) / 2))
    algebras.append(cr.Algebra(metric=np.diag([4.0, -0.25, 0.0, 9.0])))
    for alg in algebras:
        for grades in ((1,), (2,), (1, 2), None):
            assert error(alg.random_multivector(rng, grades=grades) / 2) < 1e-12


@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1e-9])
def test_small_multivectors(scale):
    rng = np.random.default_rng(5)
    for alg in (cr.Algebra(3), cr.Algebra(3, 0, 1), cr.Algebra(4), cr.Algebra(6), cr.Algebra.cga(1, null_basis=True)):
        for grades in ((1,), (2,), None):
            A = scale * alg.random_multivector(rng, grades=grades)
            E = A.exp()
            assert E.isclose(1 + A, rtol=20 * scale**2 + 1e-15)
            rest = (E - E["1"]).grade(*(k for k in A.grades if k))
            assert rest.isclose(A - A["1"], rtol=1e-7)


@pytest.mark.parametrize("scale", [1e10, 1e150, 1e200])
def test_large_multivectors(scale):
    pga = cr.Algebra(3, 0, 1)
    assert (scale * pga.e01).exp() == 1 + scale * pga.e01
    R = (scale * cr.Algebra(3).e12).exp()
    assert R.isclose(math.cos(scale) + math.sin(scale) * cr.Algebra(3).e12)
    screw = (scale * (pga.e12 + pga.e03)).exp()  # = exp(s e12) (1 + s e03)
    cosine, sine = math.cos(scale), math.sin(scale)
    wanted = cosine + sine * pga.e12 + scale * cosine * pga.e03 + scale * sine * (pga.e12 * pga.e03)
    assert screw.isclose(wanted, rtol=1e-9)
    double = (scale * (cr.Algebra(4).e12 + cr.Algebra(4).e34)).exp()
    assert double.norm() == pytest.approx(1, rel=1e-12)


def test_a_scalar_part_meets_the_rest_before_it_is_raised():
    alg = cr.Algebra(1, 1)
    assert (-1000 + 1000.0 * alg.e1).exp().isclose(0.5 + 0.5 * alg.e1, rtol=1e-12)
    assert (1000.0 * alg.e12 - 999).exp().isclose(math.e / 2 * (1 + alg.e12), rtol=1e-12)
    assert alg.scalar([0.0, 1.0]).exp()["1"].tolist() == pytest.approx([1, math.e])
    even = cr.Algebra(3)
    A = even.random_multivector(6)
    assert (A + 2).exp().isclose(math.exp(2) * A.exp(), rtol=1e-13)


def test_batch_is_the_loop():
    rng = np.random.default_rng(7)
    for alg in (
        cr.Algebra(2),
        cr.Algebra(3, 0, 1),
        cr.Algebra(1, 3),
        cr.Algebra(6),
        cr.Algebra.cga(1, null_basis=True),
    ):
        for grades in ((1,), (2,), (0, 2), None):
            A = alg.random_multivector(rng, (2, 5), grades=grades) * 10.0 ** rng.uniform(-3, 0.5, (2, 5))
            E = A.exp()
            assert E.shape == (2, 5)
            for i in range(2):
                for j in range(5):
                    assert E[i, j].isclose(A[i, j].exp(), rtol=1e-12)
    A = cr.Algebra(6).random_multivector(rng, (9,), grades=(2, 3)) * np.r_[np.full(8, 2.0), 20.0]
    assert all(A.exp()[i].isclose(A[i].exp(), rtol=1e-11) for i in (0, 8))
    alg = cr.Algebra(4, 1)
    mixed = [alg("e12 + e34 + e35"), alg("e12 + e34"), alg("e12 + 1.0*e45"), alg("1.0*e12"), alg("0.0*e12")]
    E = alg.bivector(np.stack([B.on_keys(alg.random_multivector(0, grades=2).keys).coefficients for B in mixed])).exp()
    assert all(E[i].isclose((1.0 * B).exp(), rtol=1e-14) for i, B in enumerate(mixed))
    simple = cr.Algebra(1, 2).vector([[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 0]])  # squares 1, -1, 0, 0
    np.testing.assert_allclose(simple.exp()["1"], [math.cosh(1), math.cos(1), 1, 1])
    assert cr.Algebra(3).vector(np.zeros((0, 3))).exp().shape == (0,)
    assert cr.Algebra(3).random_multivector(0, (0,)).exp().shape == (0,)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_dtypes(dtype):
    rng = np.random.default_rng(8)
    for alg in (cr.Algebra(3), cr.Algebra(3, 0, 1), cr.Algebra(1, 3), cr.Algebra(3, 2, 1)):
        for grades in ((1,), (2,), (0, 2), None):
            A = alg.random_multivector(rng, grades=grades, dtype=dtype) * 0.5
            assert A.exp().dtype == dtype
            assert (A * np.ones(2, dtype=dtype)).exp().dtype == dtype
            assert error(A) < (1e-14 if dtype == np.complex128 else 1e-5)
    assert cr.Algebra(3).e12.exp().isclose(math.cos(1) + math.sin(1) * cr.Algebra(3).e12)


def test_laws():
    rng = np.random.default_rng(9)
    for p, q, r in signatures(5):
        alg = cr.Algebra(p, q, r)
        A = alg.random_multivector(rng)
        both = A.exp() * (-A).exp()
        assert both.isclose(1, rtol=1e-10, atol=1e-14 * float(np.abs(A.exp().coefficients).max()) ** 2)
        commuting = 0.5 * A + 0.25 * A * A
        scale = float(np.abs(commuting.exp().coefficients).max())
        parts = (0.5 * A).exp() * (0.25 * A * A).exp()
        assert commuting.exp().isclose(parts, rtol=1e-9, atol=1e-11 * scale)
        V = alg.random_multivector(rng, grades=1)
        assert A.reverse().exp().isclose(A.exp().reverse(), rtol=1e-11)
        assert A.involute().exp().isclose(A.exp().involute(), rtol=1e-11)
        if (V * V)["1"] != 0:
            assert (V * A * V.inv()).exp().isclose(V * A.exp() * V.inv(), rtol=1e-7)
        if alg.d > 1:
            B = alg.random_multivector(rng, grades=2)
            R = B.exp()
            assert all(k % 2 == 0 for k in R.grades)
            assert (R * R.reverse()).isclose(1, rtol=1e-11, atol=1e-14 * float(np.abs(R.coefficients).max()) ** 2)


def test_numpy_exp_and_forty_dimensions():
    alg = cr.Algebra(40)
    B = 0.1 * alg.e1 + 0.2 * alg.blade("e1_40") + 0.3 * alg.e1_2
    small = cr.Algebra(3)  # e1, e2, e40
    wanted = np.exp(0.1 * small.e1 + 0.2 * small.e13 + 0.3 * small.e12)
    assert B.exp()["1"] == pytest.approx(wanted["1"], rel=1e-14)
    assert B.exp()["e1_40"] == pytest.approx(wanted["e13"], rel=1e-14)
    general = (B + alg.blade("e2_3_40")).exp()
    assert (general * (-(B + alg.blade("e2_3_40"))).exp()).isclose(1, rtol=1e-13)
    planes = 0.3 * alg.e1_2 + 0.4 * alg.blade("e30_31") + 0.5 * alg.blade("e7_9")
    product = (0.3 * alg.e1_2).exp() * (0.4 * alg.blade("e30_31")).exp() * (0.5 * alg.blade("e7_9")).exp()
    assert planes.exp().isclose(product, rtol=1e-13)
    v = alg.random_multivector(10, grades=1)
    assert v.exp()["1"] == pytest.approx(math.cosh(v.norm()), rel=1e-13)


def test_ten_dimensions():
    for alg in (cr.Algebra(10), cr.Algebra(5, 3, 1)):
        B = alg.random_multivector(11, grades=2)
        R = B.exp()
        assert (R * ~R).isclose(1, rtol=1e-9, atol=1e-13 * float(np.abs(R.coefficients).max()) ** 2)
        half = (0.5 * B).exp()
        assert (half * half).isclose(R, rtol=1e-10)


def test_what_is_refused():
    alg = cr.Algebra(3)
    with pytest.raises(cr.ArgumentError, match="'A' parameter of exp must be small enough for exp"):
        (1000.0 * alg.e1).exp()
    with pytest.raises(cr.ArgumentError, match="small enough"):
        (1000.0 + alg.e1 + alg.e12).exp()
    with pytest.raises(cr.ArgumentError, match=r"'A' parameter of exp must be finite"):
        (np.nan * alg.e1).exp()
    general = cr.Algebra(6)("e12 + 2*e34 + 3*e56 + e135 + e1") * 1e30
    with pytest.raises(cr.ArgumentError, match=r"of norm at most 2\^40"):
        general.exp()
    with pytest.raises(cr.ArgumentError, match="small enough for exp"):
        (1e300 * cr.Algebra(1, 1).e1 + 1e300 * cr.Algebra(1, 1).e12 + 1e308).exp()


def test_symbols_and_fractions():
    sympy = pytest.importorskip("sympy")
    t = sympy.Symbol("t", positive=True)
    alg = cr.Algebra(3, 0, 1)
    R = (t * alg.e12).exp()
    assert sympy.cos(t) + sympy.sin(t) * alg.e12 == R
    assert (t * alg.e01).exp() == 1 + t * alg.e01
    assert (Fraction(2, 3) * alg.e01).exp() == 1 + Fraction(2, 3) * alg.e01
    V = (t * alg.e1 + 2 * t * alg.e2).exp()
    numbers = [complex(value.subs(t, 0.3)).real for value in V.dense().coefficients.tolist() if hasattr(value, "subs")]
    exact = (0.3 * alg.e1 + 0.6 * alg.e2).exp()
    assert sorted(x for x in numbers if x) == pytest.approx(sorted(x for x in exact.coefficients.tolist() if x))
    shifted = (t + t * alg.e12).exp()
    assert sympy.simplify(shifted["1"] - sympy.exp(t) * sympy.cos(t)) == 0
    assert (t * alg.e12 + t * alg.e03).exp() == R * (1 + t * alg.e03)


def test_a_batch_whose_elements_are_scaled_differently_is_the_batch_of_their_exponentials():
    alg = cr.Algebra(3)
    A = alg.random_multivector(0, (4,)) * np.array([0.1, 1.0, 5.0, 20.0])  # no closed form: all grades
    expected = [A[i].exp() for i in range(4)]
    assert all(A.exp()[i].isclose(expected[i], rtol=1e-11) for i in range(4))
