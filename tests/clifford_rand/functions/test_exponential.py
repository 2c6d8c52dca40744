"""exp: by the series of the left matrix, in closed forms, at every scale, of symbols, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy

import clifford_rand as cr
from support.blades import signatures
from support.metrics import not_diagonal
from support.refusals import refused

R3, PGA, STA, R6 = cr.Algebra(3), cr.Algebra.pga(3), cr.Algebra(1, 3), cr.Algebra(6)
NULL = cr.Algebra.cga(1, null_basis=True)
t, s, r = sympy.symbols("t s r", positive=True)


def by_matrix(A):
    """exp A by Taylor's series of the left matrix in extended precision, scaled and squared."""
    L = A.left_matrix()
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
    expected = by_matrix(A)
    return float(np.abs(A.exp().dense().coefficients - expected).max() / np.abs(expected).max())


def largest(A):
    return float(np.abs(A.coefficients).max())


def test_every_signature_and_every_choice_of_grades():
    rng = np.random.default_rng(0)
    for k, counts in enumerate(signatures(5)):
        alg, d = cr.Algebra(*counts), sum(counts)
        choices = [*((k,) for k in range(d + 1)), (0, 2), (1, 2), tuple(range(0, d + 1, 2)), None]
        for i, grades in enumerate(choices if d < 5 else [(1,), (2,), (0, 2, 4), None] if k % 2 else []):
            if grades is None or max(grades) <= d:
                scale = (1e-3, 1.0, 3.0)[(i + k) % 3] if d < 5 else 1.0
                assert error(scale * alg.random_multivector(rng=rng, grades=grades)) < 3e-14
    for counts in ((4,), (2, 2), (3, 0, 1), (0, 5), (4, 1)):
        for grades in ((1,), (2,), None):
            A = cr.Algebra(*counts).random_multivector(rng=rng, grades=grades)
            assert error(A * (10 / float(np.sqrt((A.coefficients**2).sum())))) < 1e-13


PLANES = {
    (4,): "e12 + e34; 10*e12 - 10*e34; 1e-5*e12 + 1e-5*e34",  # isoclinic: q² = s²
    (3, 0, 1): "e12 + 0.7*e03; 1e-8*e12 + 0.7*e03; 0.7*e03",  # a screw: q ≠ 0, q² = 0
    (2, 2): "e12 + e34; e13 + e24; e13 + e14 + e23 + e24; e12 + e14 + e23 + e34; e12 + e14 + e23 + 1.000001*e34",
    (1, 3): "e12 + e34; 3*e12 + 1e-9*e34; e12 + e23",  # a boost and a rotation, and a null bivector
    (2, 0, 2): "e12 + e34 + 0.1*e13; e13 + e24",
    (0, 0, 4): "e12 + e34",
    (0, 0, 6): "e12 + e34 + e56",
    (4, 1): "10*e12 + 1e-3*e35 + 2*e15; e12 + e34 + e35; 20*e12 + 20*e34 + 19.999999*e35",
    (6,): "e12 + 2*e34; e12 + e34 + e56",
    (1, 1, 3): "e12 + e34 + e1 + e5 + 3",
}


@pytest.mark.parametrize("counts", PLANES)
def test_one_and_two_planes(counts):
    for text in PLANES[counts].split(";"):
        A = cr.Algebra(*counts)(text) * 1.0
        assert error(A) < 1e-14
        assert error(-A) < 1e-14
        assert (A.exp() * (-A).exp()).isclose(1, rtol=1e-12)


@pytest.mark.parametrize("counts", signatures(5, 4), ids=repr)
def test_two_planes_of_all_sizes(counts):
    """Components from 1e-9 to 10 in one bivector: every branch of the divided difference, in every signature."""
    rng = np.random.default_rng(3)
    n = math.comb(sum(counts), 2)
    for _ in range(2):
        B = rng.standard_normal(n) * 10 ** rng.uniform(-6, 0.6, n)
        assert error(cr.Algebra(*counts).bivector(B * 10 ** rng.uniform(-3, 0.3))) < 1e-14


def test_metrics_that_are_not_diagonal():
    rng = np.random.default_rng(4)
    for alg in (*not_diagonal(rng), cr.Algebra(metric=np.diag([4.0, -0.25, 0.0, 9.0]))):
        for grades in ((1,), (2,), (1, 2), None):
            assert error(alg.random_multivector(rng=rng, grades=grades) / 2) < 1e-12


@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1e-9])
def test_small_multivectors(scale):
    for alg in (R3, PGA, cr.Algebra(4), R6, NULL):
        for grades in ((1,), (2,), None):
            A = scale * alg.random_multivector(rng=5, grades=grades)
            E = A.exp()
            assert E.isclose(1 + A, rtol=20 * scale**2 + 1e-15)
            rest = (E - E["1"]).grade(*(k for k in A.grades if k))
            assert rest.isclose(A - A["1"], rtol=1e-7)


@pytest.mark.parametrize("scale", [1e10, 1e150, 1e200])
def test_large_multivectors(scale):
    assert (scale * PGA.e01).exp() == 1 + scale * PGA.e01
    cosine, sine = math.cos(scale), math.sin(scale)
    assert (scale * R3.e12).exp().isclose(cosine + sine * R3.e12)
    screw = (scale * (PGA.e12 + PGA.e03)).exp()  # = exp(s e12) (1 + s e03)
    assert screw.isclose((cosine + sine * PGA.e12) * (1 + scale * PGA.e03), rtol=1e-9)
    assert (scale * cr.Algebra(4)("e12 + e34")).exp().norm() == pytest.approx(1, rel=1e-12)


def test_a_scalar_part_meets_the_rest_before_it_is_raised():
    alg = cr.Algebra(1, 1)
    assert (-1000 + 1000.0 * alg.e1).exp().isclose(0.5 + 0.5 * alg.e1, rtol=1e-12)
    assert (1000.0 * alg.e12 - 999).exp().isclose(math.e / 2 * (1 + alg.e12), rtol=1e-12)
    assert alg.scalar([0.0, 1.0]).exp()["1"].tolist() == pytest.approx([1, math.e])
    A = R3.random_multivector(rng=6)
    assert (A + 2).exp().isclose(math.exp(2) * A.exp(), rtol=1e-13)


def test_batch_is_the_loop():
    rng = np.random.default_rng(7)
    batches = [
        alg.random_multivector(rng=rng, shape=(2, 3), grades=grades) * 10.0 ** rng.uniform(-3, 0.5, (2, 3))
        for alg in (cr.Algebra(2), PGA, STA, R6, NULL)
        for grades in ((1,), (2,), (0, 2), None)
    ]
    batches.append(R6.random_multivector(rng=rng, shape=(9,), grades=(2, 3)) * np.r_[np.full(8, 2.0), 20.0])
    batches.append(R3.random_multivector(rng=0, shape=(4,)) * np.array([0.1, 1.0, 5.0, 20.0]))  # scaled differently
    alg = cr.Algebra(4, 1)
    batches.append(cr.stack([1.0 * alg(B) for B in ("e12 + e34 + e35", "e12 + e34", "e12 + e45", "e12", "0*e12")]))
    for A in batches:
        E = A.exp()
        for index in np.ndindex(A.shape):
            assert E[index].isclose(A[index].exp(), rtol=1e-11)
    simple = cr.Algebra(1, 2).vector([[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 0]])  # squares 1, -1, 0, 0
    np.testing.assert_allclose(simple.exp()["1"], [math.cosh(1), math.cos(1), 1, 1])
    assert R3.vector(np.zeros((0, 3))).exp().shape == R3.random_multivector(rng=0, shape=(0,)).exp().shape == (0,)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_dtypes(dtype):
    rng = np.random.default_rng(8)
    for alg in (R3, PGA, STA, cr.Algebra(3, 2, 1)):
        for grades in ((1,), (2,), (0, 2), None):
            A = alg.random_multivector(rng=rng, grades=grades, dtype=dtype) * 0.5
            assert A.exp().dtype == (A * np.ones(2, dtype=dtype)).exp().dtype == dtype
            if alg.d < 6:
                assert error(A) < (1e-14 if dtype == np.complex128 else 1e-5)
            assert A.exp().isclose(A.astype(complex).exp(), rtol=1e-5)
    assert R3.e12.exp().isclose(math.cos(1) + math.sin(1) * R3.e12)


@pytest.mark.parametrize("counts", signatures(5)[::2], ids=repr)
def test_laws(counts):
    rng = np.random.default_rng(9)
    alg = cr.Algebra(*counts)
    A, V = alg.random_multivector(rng=rng), alg.random_multivector(rng=rng, grades=1)
    E = A.exp()
    assert (E * (-A).exp()).isclose(1, rtol=1e-10, atol=1e-14 * largest(E) ** 2)
    commuting, parts = 0.5 * A + 0.25 * A * A, (0.5 * A).exp() * (0.25 * A * A).exp()
    assert commuting.exp().isclose(parts, rtol=1e-9, atol=1e-11 * largest(commuting.exp()))
    assert A.reverse().exp().isclose(E.reverse(), rtol=1e-11)
    assert A.involute().exp().isclose(E.involute(), rtol=1e-11)
    if (V * V)["1"] != 0:
        assert (V * A * V.inv()).exp().isclose(V * E * V.inv(), rtol=1e-7)
    if alg.d > 1:
        R = alg.random_multivector(rng=rng, grades=2).exp()
        assert all(k % 2 == 0 for k in R.grades)
        assert (R * ~R).isclose(1, rtol=1e-11, atol=1e-14 * largest(R) ** 2)


def test_ten_and_forty_dimensions():
    for alg in (cr.Algebra(10), cr.Algebra(5, 3, 1)):
        B = alg.random_multivector(rng=11, grades=2)
        R, half = B.exp(), (0.5 * B).exp()
        assert (R * ~R).isclose(1, rtol=1e-9, atol=1e-13 * largest(R) ** 2)
        assert (half * half).isclose(R, rtol=1e-10)
    alg = cr.Algebra(40)
    B = alg("0.1*e1 + 0.2*e1_40 + 0.3*e1_2")
    expected = np.exp(R3("0.1*e1 + 0.2*e13 + 0.3*e12"))  # e1, e2, e40
    assert B.exp()["1"] == pytest.approx(expected["1"], rel=1e-14)
    assert B.exp()["e1_40"] == pytest.approx(expected["e13"], rel=1e-14)
    general = B + alg.blade("e2_3_40")
    assert (general.exp() * (-general).exp()).isclose(1, rtol=1e-13)
    planes = [0.3 * alg.e1_2, 0.4 * alg.blade("e30_31"), 0.5 * alg.blade("e7_9")]
    assert sum(planes).exp().isclose(math.prod(plane.exp() for plane in planes), rtol=1e-13)
    v = alg.random_multivector(rng=10, grades=1)
    assert v.exp()["1"] == pytest.approx(math.cosh(v.norm()), rel=1e-13)


@pytest.mark.parametrize(
    ("A", "message"),
    [
        (1000.0 * R3.e1, "'A' parameter of exp must be small enough for exp"),
        (1000.0 + R3.e1 + R3.e12, "small enough"),
        (np.nan * R3.e1, "'A' parameter of exp must be finite"),
        (R6("e12 + 2*e34 + 3*e56 + e135 + e1") * 1e30, r"of norm at most 2\^40"),
        (1e300 * cr.Algebra(1, 1)("e1 + e12") + 1e308, "small enough for exp"),
        ((100 * R3.e1).astype(np.float32), "to be a float32"),
        (R3.vector([[100.0, 0, 0], [1, 1, 0]]).astype(np.float32), "to be a float32"),
        (R6.symbols("b", 2), "a scalar plus commuting parts"),
    ],
)
def test_what_is_refused(A, message):
    refused(message, A.exp)


# ---- symbols and fractions


def test_symbols_and_fractions():
    cosine, sine, four, cga = sympy.cos(t), sympy.sin(t), cr.Algebra(4), cr.Algebra.cga(3)
    assert (t * PGA.e12).exp() == cosine + sine * PGA.e12
    assert (t * PGA.e01).exp() == 1 + t * PGA.e01
    assert (Fraction(2, 3) * PGA.e01).exp() == 1 + Fraction(2, 3) * PGA.e01
    assert (t * PGA.e12 + s * PGA.e03).exp() == (cosine + sine * PGA.e12) * (1 + s * PGA.e03)
    turns = (t * four.e12 + s * four.e34).exp()
    assert turns == (cosine + sine * four.e12) * (sympy.cos(s) + sympy.sin(s) * four.e34)
    assert (Fraction(1, 2) * four.e12 + 2 * four.e34).exp()["1"] == sympy.cos(sympy.Rational(1, 2)) * sympy.cos(2)
    assert sympy.simplify((t + t * PGA.e12).exp()["1"] - sympy.exp(t) * cosine) == 0
    alg, values = cr.Algebra(4, 1, 1), {t: 0.7, s: -0.4, r: 2.5}
    e = alg.basis_vectors()
    for B in (
        t * PGA.e1 + 2 * t * PGA.e2,
        r + t * cga.e12 + s * cga.e35,
        t * (e[1] ^ e[2]) + s * (e[3] ^ e[5]) + r * (e[0] ^ e[4]),  # three planes with a null direction
    ):
        known = {symbol: values[symbol] for symbol in B.symbols_used()}
        assert B.exp().subs(known).astype(float).isclose(B.subs(known).astype(float).exp(), rtol=1e-12)


@pytest.mark.parametrize(
    ("signature", "grades"),
    [
        ((3, 0, 1), (2,)),  # B² = s + q with q² = 0: any screw
        ((2, 0, 1), (1, 2)),
        ((4, 0, 0), (2,)),  # q² > 0
        ((1, 3, 0), (2,)),  # q² < 0
        ((2, 1, 0), (1,)),
        ((3, 0, 0), (0, 3)),
        ((0, 0, 2), (0, 1, 2)),
    ],
)
def test_all_coefficients_are_symbols(signature, grades):
    alg = cr.Algebra(*signature)
    B = alg.symbols("b", grades)
    values = np.random.default_rng(1).normal(size=B.keys.size)
    result = B.exp().subs(dict(zip(B.coefficients.tolist(), values.tolist(), strict=True))).astype(float)
    assert result.isclose(alg.multivector(values, grades).exp(), rtol=1e-9, atol=1e-9)
