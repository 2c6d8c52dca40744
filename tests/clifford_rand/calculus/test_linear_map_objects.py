"""Linear maps as objects: outermorphisms, adjoints, invariants and invariant blades, in every metric."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

import clifford_rand as cr
from support.metrics import algebras, versor
from support.refusals import refused

T = sp.Symbol("t", real=True)
OBLIQUE = cr.Algebra(metric=[[2, 1, 0], [1, 3, 1], [0, 1, -1]])


def _random(alg, rng, shape=()):
    return cr.LinearMap(alg, rng.standard_normal((*shape, alg.d, alg.d)))


def test_laws_of_maps_in_every_metric():
    rng = np.random.default_rng(1)
    for alg in (*algebras(3), cr.Algebra(2, 2)):
        f, g = _random(alg, rng, (2,)), _random(alg, rng)
        A, B = alg.random_multivector(rng=rng), alg.random_multivector(rng=rng)
        assert np.all((f @ g)(A).isclose(f(g(A)), rtol=1e-9))
        assert np.all(f(A ^ B).isclose(f(A) ^ f(B), rtol=1e-9))
        assert np.all((f + 2 * g)(A.grade(1)).isclose(f(A.grade(1)) + 2 * g(A.grade(1)), rtol=1e-9))
        assert np.all((f @ f.inv()).isclose(cr.LinearMap.identity(alg), rtol=1e-7))
        assert np.all(f(alg.I).isclose(alg.I * f.det(), rtol=1e-9))
        assert np.all(g(g(g(A))).isclose((g**3)(A), rtol=1e-8))
        assert (g**-2).isclose((g @ g).inv(), rtol=1e-6)
        assert f[1](A).isclose(f(A)[1], rtol=1e-12)


def test_the_adjoint_is_that_of_the_metric():
    """a · f̄(b) = f(a) · b for all grades, and between two algebras."""
    rng = np.random.default_rng(2)
    for alg in (*algebras(3, degenerate=False), cr.Algebra(2, 2)):
        f = _random(alg, rng)
        A, B = alg.random_multivector(rng=rng), alg.random_multivector(rng=rng)
        scale = float(np.abs(A.inner(B.outermorphism(np.ones((alg.d, alg.d)))).values).max()) + 1
        for k in range(alg.d + 1):
            left, right = f(A.grade(k)).inner(B.grade(k)), A.grade(k).inner(f.adjoint()(B.grade(k)))
            assert left.isclose(right, rtol=1e-7, atol=1e-7 * scale), (alg, k)
        assert f.adjoint().adjoint().isclose(f, rtol=1e-7)
        symmetric, skew = f.symmetric_part(), f.skew_part()
        assert (symmetric + skew).isclose(f)
        assert symmetric.is_symmetric(rtol=1e-7)
        assert skew.is_skew(rtol=1e-7)
        assert alg.d == 1 or not f.is_symmetric()
        a = A.grade(1)
        assert skew(a).isclose(a << f.bivector(), rtol=1e-7, atol=1e-7 * scale)
        assert skew.derivation(B).isclose((B.commutator(f.bivector())), rtol=1e-6, atol=1e-6 * scale)
    source, target = cr.Algebra(1, 2), OBLIQUE
    f = cr.LinearMap(source, rng.standard_normal((3, 3)), target)
    a, b = source.random_multivector(rng=rng, grades=1), target.random_multivector(rng=rng, grades=1)
    assert f(a).inner(b)["1"] == pytest.approx(a.inner(f.adjoint()(b))["1"])


def test_a_degenerate_metric_has_no_adjoint():
    pga = cr.Algebra.pga(2)
    for method in ("adjoint", "symmetric_part", "skew_part", "bivector"):
        refused("must be non-degenerate, to have reciprocal", getattr(cr.LinearMap.identity(pga), method))
    f = cr.LinearMap(pga, np.diag([2, 3, 4]))
    assert f(pga.I) == 24 * pga.I
    assert f.det() == 24
    assert f.is_isometry() is False
    assert cr.LinearMap(pga, np.diag([2, 1, -1])).is_isometry()


def test_isometries_and_versors():
    rng = np.random.default_rng(3)
    for alg in (*algebras(3), cr.Algebra(2, 2)):
        V = versor(alg, rng, min(2, alg.d))
        if V is None:
            continue
        f = cr.LinearMap.from_versor(V)
        A = alg.random_multivector(rng=rng)
        assert f(A).isclose(V >> A, rtol=1e-7)
        assert f.is_isometry(rtol=1e-7)
        assert not (2 * f).is_isometry(rtol=1e-7)
        if not alg.form.is_degenerate:
            assert f.adjoint().isclose(f.inv(), rtol=1e-6)


def test_characteristic_coefficients_are_traces_on_grades():
    rng = np.random.default_rng(4)
    for d in range(1, 6):
        alg = cr.Algebra(d)
        whole = rng.integers(-3, 4, (d, d))
        exact, batch = cr.LinearMap(alg, whole), _random(alg, rng, (2,))
        for f in (exact, batch, exact.astype(object)):
            c = f.characteristic_coefficients()
            for k in range(d + 1):
                basis = alg.multivector(np.eye(len(alg.random_multivector(rng=0, grades=k).values)), k)
                images = cr.LinearMap(alg, f.matrix[..., None, :, :])(basis)
                trace = np.trace(images.values.astype(float), axis1=-2, axis2=-1)
                np.testing.assert_allclose(c[..., k].astype(float), trace, atol=1e-9)
        assert exact.det() == round(np.linalg.det(whole))
        np.testing.assert_allclose(batch.det(), batch.characteristic_coefficients()[..., -1], rtol=1e-8)
        zero = 0 * exact
        for k, c in enumerate(exact.characteristic_coefficients().tolist()):
            zero = zero + (-1) ** k * c * exact ** (d - k)
        assert not zero.matrix.any(), "Cayley and Hamilton"
    huge = cr.LinearMap(cr.Algebra(3), np.diag([2**40, 2**40, 3]))
    assert huge.det() == 3 * 2**80
    assert (huge @ huge).matrix[0, 0] == 2**80
    half = cr.LinearMap(cr.Algebra(2), np.array([[Fraction(1, 2), 1], [0, Fraction(1, 3)]], dtype=object))
    assert half.det() == Fraction(1, 6)
    assert half.trace() == Fraction(5, 6)


@pytest.mark.slow
def test_symbolic_maps():
    """Macdonald, "Linear and Geometric Algebra", 2010: adj(f ∘ g) = adj g ∘ adj f, det(f ∘ g) = det f det g."""
    for alg in (cr.Algebra(1, 1), cr.Algebra(metric=[[2, 1], [1, 3]])):
        f, g = cr.LinearMap.from_symbols(alg, "f"), cr.LinearMap.from_symbols(alg, "g")
        assert sp.expand((f @ g).det() - f.det() * g.det()) == 0
        assert sp.expand((f + g).trace() - f.trace() - g.trace()) == 0
        adjoint, wanted = (f @ g).adjoint(), g.adjoint() @ f.adjoint()
        assert adjoint.simplify() == wanted.simplify()
        a, b = alg.symbols("a", 1), alg.symbols("b", 1)
        assert (f(a).inner(b) - a.inner(f.adjoint()(b))).simplify().is_zero()
        assert (f.inv() @ f).simplify() == cr.LinearMap.identity(alg)
    E, F, G = sp.symbols("E F G", positive=True)
    surface = cr.Algebra(metric=[[E, F], [F, G]])
    f = cr.LinearMap.from_symbols(surface, "f")
    a, b = surface.symbols("a", 1), surface.symbols("b", 1)
    assert (f(a).inner(b) - a.inner(f.adjoint()(b))).simplify().is_zero()
    assert str(f.subs({"f_12": 0}).matrix[0, 1]) == "0"


def test_ways_to_make_one():
    alg = cr.Algebra(3)
    f = cr.LinearMap.from_function(alg, lambda a: (a | alg.e1) * alg.e1)
    assert f == cr.LinearMap(alg, np.diag([1, 0, 0]))
    assert f == cr.LinearMap.from_images(alg, f.images())
    assert cr.LinearMap.from_function(alg, lambda a: a - a).matrix.any() is np.False_
    assert cr.LinearMap.from_function(alg, lambda a: (alg.e12 + alg.e23) | a) != f
    for wrong in (lambda a: (a * a) * alg.e1, lambda a: a + alg.e1, lambda a: a.norm() * alg.e1):
        refused(r"must be linear\. Got f", cr.LinearMap.from_function, alg, wrong)
    for wrong in (lambda a: a * a, lambda a: a + 1, lambda a: a * alg.e12):
        refused("whose values are vectors", cr.LinearMap.from_function, alg, wrong)
    x = cr.LinearMap.from_symbols(alg, "x")
    assert cr.LinearMap.from_function(alg, lambda a: x(a) + a).trace() == x.trace() + 3


def test_eigenblades_are_invariant_and_span():
    """f(B) = factor B, the wedge of all is not zero, and factors make the determinant."""
    rng = np.random.default_rng(5)
    for d in range(1, 7):
        for alg in (cr.Algebra(d), cr.Algebra(d - 1, 0, 1), cr.Algebra(1, d - 1)):
            for _ in range(3):
                f = _random(alg, rng)
                found = f.eigenblades()
                span = cr.wedge(*(one.blade for one in found)) if len(found) > 1 else found[0].blade
                assert span.grades == (d,)
                assert abs(span.values[0]) > 1e-6
                for one in found:
                    assert one.blade.grades == (1,) if np.isreal(one.eigenvalues[0]) else (2,)
                    kind = float if np.isreal(one.eigenvalues).all() else complex
                    assert {type(value) for value in one.eigenvalues} == {kind}
                    assert f(one.blade).isclose(one.factor * one.blade, rtol=1e-7, atol=1e-9)
                np.testing.assert_allclose(np.prod([one.factor for one in found]), f.det(), rtol=1e-7)


def test_eigenblades_of_turns_and_jordan_blocks():
    """Doran and Lasenby, section 4.4: a rotation has the planes it turns as eigenbivectors."""
    rng = np.random.default_rng(6)
    alg = cr.Algebra(5)
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    frame = [alg.vector(column) for column in Q.T]
    R = (0.3 * (frame[0] ^ frame[1]) + 0.8 * (frame[2] ^ frame[3])).exp()
    found = cr.LinearMap.from_versor(R).eigenblades()
    assert [one.blade.grades[0] for one in found] in ([2, 2, 1], [2, 1, 2], [1, 2, 2])
    angles = sorted(float(np.angle(max(one.eigenvalues, key=np.imag))) for one in found)
    np.testing.assert_allclose(angles, [0, 0.6, 1.6], atol=1e-9)
    for one, plane in itertools.product(found, (frame[0] ^ frame[1],)):
        if np.isclose(max(np.imag(one.eigenvalues)), np.sin(0.6)):
            assert one.blade.isclose(plane, rtol=1e-8) or one.blade.isclose(-plane, rtol=1e-8)
    block = np.array([[2.0, 1, 0], [0, 2, 1], [0, 0, 2]])
    P = rng.standard_normal((4, 4))
    whole = np.zeros((4, 4))
    whole[:3, :3], whole[3, 3] = block, -1
    f = cr.LinearMap(cr.Algebra(4), P @ whole @ np.linalg.inv(P))
    found = f.eigenblades()
    assert [one.blade.grades for one in found] == [(3,), (1,)]
    assert found[0].factor == pytest.approx(8, rel=1e-6)
    assert [one.blade.grades for one in cr.LinearMap.identity(alg).eigenblades()] == [(5,)]
    assert len(cr.LinearMap(alg, np.diag([1.0, 1, 1 + 1e-8, 2, 3])).eigenblades(rtol=0)) == 4


@pytest.mark.slow
def test_exact_and_symbolic_eigenblades():
    alg = cr.Algebra(2)
    golden = cr.LinearMap(alg, [[1, 1], [1, 0]]).astype(object)
    first, second = golden.eigenblades()
    assert sp.simplify(first.factor - (1 + sp.sqrt(5)) / 2) == 0
    for one in (first, second):
        assert (golden(one.blade) - one.factor * one.blade).simplify().is_zero()
    turn = cr.LinearMap(alg, np.array([[sp.cos(T), -sp.sin(T)], [sp.sin(T), sp.cos(T)]]))
    (one,) = turn.eigenblades()
    assert one.blade.grades == (2,)
    assert sp.simplify(one.factor - 1) == 0
    a, b = sp.symbols("a b", positive=True)
    stretch = cr.LinearMap(alg, np.array([[a, b], [b, a]]))
    found = {sp.simplify(one.factor): one.blade for one in stretch.eigenblades()}
    assert set(found) == {a + b, a - b}
    for factor, blade in found.items():
        assert (stretch(blade) - factor * blade).simplify().is_zero()
    jordan = cr.LinearMap(cr.Algebra(3), [[2, 1, 0], [0, 2, 0], [0, 0, 3]]).astype(object)
    assert [(one.blade.grades, one.factor, one.eigenvalues) for one in jordan.eigenblades()] == [
        ((1,), 3, (3,)),
        ((2,), 4, (2, 2)),
    ]


def test_derivations():
    rng = np.random.default_rng(7)
    for alg in (*algebras(3), cr.Algebra(2, 2)):
        f = _random(alg, rng, (2,))
        A, B = alg.random_multivector(rng=rng), alg.random_multivector(rng=rng)
        got = f.derivation(A ^ B)
        assert np.all(got.isclose((f.derivation(A) ^ B) + (A ^ f.derivation(B)), rtol=1e-9))
        assert np.all(f.derivation(A.grade(1)).isclose(f(A.grade(1)), rtol=1e-12))
        assert np.all(f.derivation(alg.I).isclose(f.trace() * alg.I.astype(float), rtol=1e-12))
    alg = cr.Algebra(3)
    assert cr.LinearMap(alg, 2**62 * np.eye(3, dtype=np.int64)).derivation(alg.e12)["e12"] == 2**63


def test_failures():
    alg = cr.Algebra(2)
    f = cr.LinearMap(alg, np.eye(2))
    refused(r"parameter of LinearMap must be an array of shape \(\.\.\., 2, 2\)", cr.LinearMap, alg, np.eye(3))
    refused("'algebra' parameter of LinearMap must be an Algebra", cr.LinearMap, 2, np.eye(2))
    refused("a multivector of Algebra", f, cr.Algebra(3).e1)
    refused(r"a map into Algebra\(3\)", lambda: cr.LinearMap.identity(cr.Algebra(3)) @ f)
    for matrix in (np.zeros((2, 2)), np.zeros((2, 2), dtype=int), np.array([[T, T], [T, T]]), [[1.0, 1], [1, 1]]):
        refused("'f' parameter of inv must be a map with an inverse", cr.LinearMap(alg, matrix).inv)
    between = cr.LinearMap(alg, np.ones((3, 2)), cr.Algebra(3))
    for method in ("trace", "det", "eigenblades", "symmetric_part"):
        refused("of an algebra into itself", getattr(between, method))
    refused("one dimension", between.inv)
    refused(r"Take f\[i\] of a batch", cr.LinearMap(alg, np.ones((3, 2, 2))).eigenblades)
    with pytest.raises(TypeError):
        f + 1
    with pytest.raises(TypeError):
        hash(f)


def test_eigenblades_of_objects_that_are_floats():
    matrix = np.random.default_rng(0).standard_normal((3, 3))
    matrix += matrix.T
    f, same = cr.LinearMap(cr.Algebra(3), matrix), cr.LinearMap(cr.Algebra(3), matrix.astype(object))
    for one, other in zip(f.eigenblades(), same.eigenblades(), strict=True):
        assert one.blade.isclose(other.blade)
        assert one.factor == other.factor
    refused(
        "'f' parameter of eigenblades must be a map of exact numbers",
        cr.LinearMap(cr.Algebra(2), [[T, 0.5], [0, 1]]).eigenblades,
    )
