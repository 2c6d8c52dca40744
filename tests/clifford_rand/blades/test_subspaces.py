"""Blades as subspaces: recognition, factors, span and intersection in any metric; projections and reflections."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.compiler.scalar import TraceError
from clifford_rand.geometry.subspaces import span_and_intersection, traced_intersection
from support.metrics import algebras, blade
from support.refusals import refused


def wedge(factors, start):
    for factor in factors:
        start = start ^ factor
    return start


def some():
    return [*algebras(3), cr.Algebra(4), cr.Algebra(2, 2, 1)]


def test_blades_are_recognised_in_any_metric():
    rng = np.random.default_rng(1)
    for alg in some():
        for k in range(alg.d + 1):
            A = blade(alg, rng, k)
            for B in (A, A.dense(), 1e150 * A, 1e-150 * A):
                assert B.is_blade() is True, (alg, k)
            if 1 < k < alg.d - 1:
                assert not alg.random_multivector(rng=rng, grades=k).is_blade()
                off = A + 1e-5 * np.abs(A.values).max() * alg.random_multivector(rng=rng, grades=k)
                assert not off.is_blade()
                assert off.is_blade(rtol=1e-3)
            if k < alg.d:
                assert not (A + blade(alg, rng, k + 1)).is_blade()
    alg = cr.Algebra(4)
    assert not (alg.e12 * 0).is_blade()
    assert not alg("e12 + e34").is_blade()
    assert not cr.Algebra(6)("e123 + e456").is_blade()  # although A ~A is a scalar
    assert cr.Algebra(1, 1)("e1 + e2").is_blade()


def test_blades_of_batches_and_exact_numbers():
    rng = np.random.default_rng(2)
    alg = cr.Algebra(5)
    values = np.stack([blade(alg, rng, k).dense().values for k in (0, 1, 2, 3, 5)] + [alg("e12 + e34").dense().values])
    A = alg.multivector(values)
    assert A.is_blade().tolist() == [True] * 5 + [False]
    assert A.astype(np.float32).is_blade().tolist() == [True] * 5 + [False]
    assert A.reshape(2, 3).is_blade().shape == (2, 3)
    a, b, c = (alg.vector(rng.integers(-5, 5, 5)).astype(object) for _ in range(3))
    assert (a ^ b ^ c).is_blade() is True
    assert ((a ^ b ^ c) / 7).is_blade() is True
    assert ((a ^ b) + (alg.e3 ^ c)).is_blade() is False
    sympy = pytest.importorskip("sympy")
    x, y = sympy.symbols("x y")
    assert ((x * alg.e1 + alg.e2) ^ (y * alg.e3 + x * alg.e1 + alg.e4)).is_blade() is True
    assert (x * alg.e12 + y * alg.e34).is_blade() is False


def test_blades_are_wedges_of_orthonormal_vectors():
    rng = np.random.default_rng(3)
    for alg in some():
        for k in range(alg.d + 1):
            for scale in (1.0, 1e150, 1e-150):
                A = scale * blade(alg, rng, k)
                s, factors = A.factorize_blade()
                assert len(factors) == k
                assert wedge(factors, alg.scalar(s)).isclose(A, rtol=1e-12), (alg, k)
                if k:
                    rows = np.stack([a.values for a in factors])
                    np.testing.assert_allclose(rows @ rows.T, np.eye(k), atol=1e-13)
                    assert s > 0
                    for a in factors:
                        assert np.abs((a ^ A).values).max(initial=0) <= 1e-13 * np.abs(A.values).max()


def test_factors_of_nearly_dependent_vectors_batches_and_dtypes():
    rng = np.random.default_rng(4)
    alg = cr.Algebra(5)
    a, b = (alg.random_multivector(rng=rng, grades=1) for _ in range(2))
    thin = a ^ (a + 1e-6 * b)  # rounding of the wedge is 1e-16 of |a|², so 1e-10 of what is left
    assert thin.is_blade()
    s, factors = thin.factorize_blade()
    assert wedge(factors, alg.scalar(s)).isclose(thin, rtol=1e-9)
    for dtype, rtol in ((np.float32, 1e-5), (np.complex128, 1e-12), (np.complex64, 1e-5)):
        A = blade(alg, rng, 3, (4,), dtype)
        s, factors = A.factorize_blade()
        assert s.shape == (4,)
        assert factors[0].dtype == dtype
        assert wedge(factors, alg.scalar(s)).isclose(A, rtol=rtol).all()
    exact = ((alg("2*e1 + 3*e2 - e5") ^ alg("e2 + 4*e3")) ^ alg("e1 + e4")).astype(object)
    s, factors = exact.factorize_blade()
    assert wedge(factors, alg.scalar(s)) == exact
    assert all(isinstance(value, int | Fraction) for a in factors for value in a.coefficients.tolist())


def test_span_and_intersection_of_batches_scales_and_dtypes():
    rng = np.random.default_rng(6)
    alg = cr.Algebra(4)
    A = alg.e12
    B = alg.bivector([[0, 0, 0, 0, 0, 1.0], [0, 1, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0]])  # e34, e13, 3 e12
    span, intersection = A.span(B), A.intersection(B)
    assert span.grades == (2, 3, 4)
    assert intersection.grades == (0, 1, 2)
    assert [span[i].sparse().grades for i in range(3)] == [(4,), (3,), (2,)]
    assert intersection[0].isclose(1.0)
    assert intersection[1].isclose(span[1].sparse()["e123"] * 1.0 * alg.e1)
    assert intersection[2].isclose(3.0 * alg.e12)
    A, B = blade(alg, rng, 3, (2, 1)), blade(alg, rng, 2, (5,))
    assert A.intersection(B).shape == (2, 5)
    assert A.intersection(B).isclose(A & B, rtol=1e-9).all()
    assert (1e100 * A).intersection(1e-150 * B).isclose(1e-50 * A.intersection(B), rtol=1e-12).all()
    assert A.astype(np.float32).intersection(B.astype(np.float32)).dtype == np.float32
    C, D = blade(alg, rng, 3, (), np.complex128), blade(alg, rng, 2, (), np.complex128)
    intersection, span = C.intersection(D), C.span(D)
    assert span.isclose(alg.I * 1.0)
    assert intersection.isclose(C & D, rtol=1e-10)


def test_the_tolerance_of_the_meet_is_an_angle():
    alg = cr.Algebra(3, 0, 1)
    for length in (1.0, 1e-150, 1e150):
        A = length * alg.e12
        for angle in (1e-12, 1e-6):
            B = alg.e1 ^ (alg.e2 + angle * alg.e0)
            assert A.span(B).grades == ((2,) if angle < 1e-9 else (3,))
            assert A.intersection(B, rtol=1e-5).grades == (2,)
            assert A.intersection(B, rtol=1e-14).grades == (1,)


# ---- projections


@pytest.mark.parametrize("alg", [*algebras(3), cr.Algebra(3, 1), cr.Algebra(2, 1, 1)], ids=repr)
def test_projection_and_rejection(alg):
    """By their definitions; that they are outermorphisms and orthogonal is tested with `Blade`, which agrees."""
    rng = np.random.default_rng(7)
    for s in range(1, alg.d + 1):
        B = blade(alg, rng, s)
        square = abs(float((B * ~B)["1"])) / float(np.square(B.values).sum())
        if square < 1e-3:
            continue
        for r in range(alg.d):
            A, a = alg.random_multivector(rng=rng, grades=r), alg.random_multivector(rng=rng, grades=1)
            size = float(np.abs(A.values).max() * np.abs(a.values).max()) / square**2 * 20
            size *= max(1.0, float(np.abs(alg.metric).max())) ** (2 * alg.d)
            close = {"rtol": 1e-9, "atol": 1e-11 * size}
            assert A.reject(B).isclose((A ^ B) * B.inv(), **close)
            assert (A ^ a).reject(B).isclose(A.reject(B) ^ a.reject(B), **close)
            if alg.form.counts[2] and r > s:  # a point on a plane, maybe
                refused(r"'A' parameter of project .*pga\.project", A.project, B)
            else:
                assert A.project(B).isclose((A << B) * B.inv(), **close), (alg, s, r)
                assert A.project(1e120 * B).project(B).isclose(A.project(B), **close)


@pytest.mark.parametrize("alg", [*algebras(3), cr.Algebra(3, 1), cr.Algebra(2, 1, 1)], ids=repr)
def test_reflections(alg):
    """x - 2 project(x) on vectors, the outermorphism of that on all grades; with inside=True 2 project(x) - x."""
    rng = np.random.default_rng(8)
    for s in range(1, alg.d + 1):
        B = blade(alg, rng, s)
        square = abs(float((B * ~B)["1"])) / float(np.square(B.values).sum())
        if square < 1e-2:
            continue
        basis = alg.vector(np.eye(alg.d))
        for inside in (False, True):
            F = (basis - 2 * basis.project(B)).values.T * (-1 if inside else 1)
            A = alg.random_multivector(rng=rng)
            wanted = A.outermorphism(F)
            tolerance = 1e-10 * float(np.abs(wanted.values).max()) / square**2
            tolerance *= max(1.0, float(np.abs(alg.metric).max())) ** (2 * alg.d)
            assert A.reflect(B, inside=inside).isclose(wanted, rtol=1e-9, atol=tolerance), (alg, s, inside)
            again = A.reflect(B, inside=inside).reflect(B, inside=inside)
            assert again.isclose(A, rtol=1e-9, atol=tolerance)


def test_projection_of_batches_and_exact_numbers():
    rng = np.random.default_rng(9)
    alg = cr.Algebra(3)
    X, B = alg.vector(rng.standard_normal((4, 3))), alg.bivector(rng.standard_normal((5, 1, 3)))
    assert X.project(B).shape == (5, 4)
    assert X.reflect(B).shape == (5, 4)
    assert (X.project(B) + X.reject(B)).isclose(X, rtol=1e-12).all()
    assert X.astype(np.float32).project(B.astype(np.float32)).dtype == np.float32
    a, n = alg.vector([1, 2, 3]).astype(object), alg.vector([1, 1, 0]).astype(object)
    assert a.project(n).coefficients.tolist() == [Fraction(3, 2), Fraction(3, 2), 0]
    assert a.project(n) + a.reject(n) == a
    assert a.reflect(n).coefficients.tolist() == [-2, -1, 3]


def test_failures():
    alg = cr.Algebra(3, 1, 1)
    e = dict(zip("zabcd", alg.basis_vectors(), strict=True))
    refused("'B' parameter of project must be a blade that is not null", e["a"].project, e["a"] + e["d"])
    refused("'B' parameter of reject must be a blade that is not null", e["a"].reject, e["z"] ^ e["a"])
    refused("reflect must be a blade, a wedge of vectors", e["a"].reflect, (e["a"] ^ e["b"]) + (e["c"] ^ e["d"]))
    refused("'B' parameter of project must be of one grade", e["a"].project, 1 + e["a"])
    sum_of_blades = (e["a"] ^ e["b"]) + (e["c"] ^ e["d"])
    for method in ("span", "intersection"):
        refused(f"'A' parameter of {method} must be a blade", getattr(sum_of_blades, method), e["a"])
        refused(f"'B' parameter of {method} must be a blade other than zero", getattr(e["a"], method), 0 * e["a"])
        refused("must be of the same algebra", getattr(e["a"], method), cr.Algebra(2).e1)
        refused("must be numeric", getattr(e["a"].astype(object), method), e["a"])
    refused("factorize_blade must be a blade", sum_of_blades.factorize_blade)
    refused("factorize_blade must be of one grade", (1 + e["a"]).factorize_blade)
    refused("'coefficients' parameter of is_blade must be finite", (np.inf * e["a"]).is_blade)


def test_blades_of_few_vectors_of_a_high_dimension():
    """Only the basis vectors that occur are visited: C(100, 5) coefficients are never there."""
    alg = cr.Algebra(100)
    A = alg("2*e1_2_50 + 3*e1_2_99")
    assert A.is_blade()
    assert not (A + alg("e3_4_5")).is_blade()
    s, factors = A.factorize_blade()
    assert wedge(factors, alg.scalar(s)).isclose(A, rtol=1e-14)
    B = alg("e1 + 2*e7")
    assert A.span(B).grades == (4,)
    assert A.intersection(alg("e1_2_3")).isclose(alg("e1_2") * A.intersection(alg("e1_2_3"))["e1_2"])
    assert (A.intersection(B) * A.span(B)).isclose(A ^ B, rtol=1e-14)
    assert alg("e1 + e9").project(alg("e1_2_3_4_5")) == alg("e1")


@pytest.mark.parametrize("d", [5, 2, 3, 4, 6])
def test_intersections_in_closed_form_are_those_of_the_decomposition(d):
    """Of every grade and dimension, sign included; a sine near the tolerance is refused, and no other."""
    alg, rng = cr.Algebra(d), np.random.default_rng(d)
    for k, m in itertools.product(range(1, d + 1), repeat=2):
        for common, tilt in itertools.product(range(max(0, k + m - d), min(k, m) + 1), (0, *10.0 ** np.arange(-15, 0))):
            rows, shift = rng.standard_normal((k + m - common, 1, d)), tilt * rng.standard_normal((common, 1, d))
            others = np.concatenate([rows[k - common : k] + shift, rows[k:]])
            vectors = (list(map(alg.vector, x)) for x in (rows[:k], others))
            A, B = (rng.uniform(0.1, 9) * wedge(factors, alg.scalar([1.0])) for factors in vectors)
            A, B = A.grade(k), B.grade(m)
            expected = span_and_intersection(A, B, "intersection")[1]
            try:
                M = traced_intersection(A, B, 1e-9)
            except TraceError:
                assert tilt > 1e-13, (k, m, common, tilt)
                assert tilt**common < 1e-5, (k, m, common, tilt)  # the product of the sines
                continue
            assert M.grades == expected.grades, (k, m, common, tilt)
            size = np.abs(expected.coefficients).max()
            error = 1e-10 + (30 * tilt if tilt < 1e-8 else 1e-13 / tilt**2)
            assert np.abs((M - expected).coefficients).max() <= error * size, (k, m, common, tilt)
            if tilt == 0:  # in single precision sines of 1e-7 are rounding
                single = traced_intersection(A.astype(np.float32), B.astype(np.float32), 1e-9)
                assert single.grades == expected.grades, (k, m, common)
