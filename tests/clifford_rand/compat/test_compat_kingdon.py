"""What kingdon's names mean here: against this library's own methods, in several metrics and bases."""

import numpy as np
import pytest
import sympy

import clifford_rand as cr
from clifford_rand.compat.kingdon import Algebra, MultiVector
from support.refusals import refused

METRICS = [(2,), (3, 0, 1), (1, 3), (2, 0, 2)]


@pytest.fixture(params=METRICS, ids=str)
def alg(request):
    return Algebra(*request.param)


def _two(alg, batch=(4,)):
    rng = np.random.default_rng(1)
    return (alg.multivector(rng.standard_normal((len(alg), *batch))) for _ in range(2))


def test_components_come_first_and_operations_are_the_librarys(alg):
    x, y = _two(alg)
    X, Y = x.inner, y.inner
    assert X.shape == (4,)
    assert x.shape == (len(alg), 4)
    assert np.array_equal(x.values(), X.coefficients.T)
    for found, wanted in [
        (x * y, X * Y),
        (x | y, X.fat_dot(Y)),
        (x ^ y, X ^ Y),
        (x & y, X & Y),
        (x.lc(y), X.lc(Y)),
        (x.rc(y), X.rc(Y)),
        (x.sp(y), X.scalar_product(Y)),
        (x.cp(y), X.commutator(Y)),
        (x.acp(y), X.anticommutator(Y)),
        (x / y, X / Y),
        (~x, ~X),
        (x.involute() - 2, X.involute() - 2),
        (x.grade((1, 2)), X.grade(1, 2)),
        (x**-2, X**-2),
        (alg.normsq(x), X * ~X),
    ]:
        assert isinstance(found, MultiVector)
        assert np.all(found.inner.isclose(wanted, rtol=1e-12))
    assert [b.keys() for b in x] == [x.keys()] * 4
    assert np.array_equal(x[1:3].values(), x.values()[:, 1:3])
    for name, key in alg.canon2bin.items():
        assert np.array_equal(getattr(x, name), x.values()[x.keys().index(key)])
        if len(name) == 3:
            assert np.array_equal(getattr(x, "e" + name[2] + name[1]), -getattr(x, name))
    assert x.e9 == 0


def test_sandwich_and_projection():
    alg = Algebra(3, 0, 1)
    rng = np.random.default_rng(2)
    a, b, c = (alg.vector(rng.standard_normal(4)).normalized() for _ in range(3))
    y = alg.multivector(rng.standard_normal(16))
    for versor in (a, a * b, a * b * c):
        sign = y.involute() if len(versor.grades) and versor.grades[0] % 2 else y
        assert (versor >> y).inner.isclose((versor * sign * ~versor).inner, rtol=1e-9)
    assert (a @ b).inner.isclose(((a | b) * ~b).inner)
    for bad in (lambda: (1 + a) >> y, lambda: y @ (1 + a)):
        refused("even or an odd", bad, error=TypeError)
    B = alg.bivector(rng.standard_normal(6)).normalized()
    square = B.normsq()
    assert square.e == pytest.approx(1)
    assert square.e0123 == pytest.approx(0, abs=1e-12)
    R = a * b
    assert (R.sqrt() * R.sqrt()).inner.isclose(R.inner, rtol=1e-9)
    assert (2 * alg.blades.e12).exp().inner.isclose((2 * alg.own.e12).exp())


def test_duals():
    for metric in METRICS:
        alg = Algebra(*metric)
        x, _ = _two(alg)
        assert x.hodge().unhodge() == x
        assert x.dual().undual() == x or x.dual().undual().inner.isclose(x.inner).all()
        for name, blade in alg.blades.items():
            assert blade ^ blade.hodge() == alg.pss, name
        if alg.r:
            refused("degenerate", x.polarity, error=ZeroDivisionError)
        else:
            assert x.polarity() == x * alg.pss.inv()
        refused("polarity", x.dual, "other")


@pytest.mark.parametrize("name", ["2DPGA", "3DPGA", "STAP"])
def test_bases_with_signs_of_their_own(name):
    own = Algebra.fromname(name)
    usual = Algebra(own.p, own.q, own.r)
    rng = np.random.default_rng(3)

    def both():
        values = dict(zip(usual.canon2bin, rng.integers(-5, 5, len(usual)).tolist(), strict=True))
        return usual.multivector(**values), own.multivector(**values)

    (x, X), (y, Y) = both(), both()
    for a, A in [(x * y, X * Y), (x & y, X & Y), (x.hodge(), X.hodge()), (x.unhodge() ^ y, X.unhodge() ^ Y)]:
        assert all(getattr(a, blade) == getattr(A, blade) for blade in [*usual.canon2bin, *own.canon2bin])
    assert own.basis == list(own.canon2bin)
    assert list(map(own.bin2canon.get, own.multivector(list(range(len(own)))).keys())) == own.basis
    assert (own.multivector(X.values(), X.keys()) - X).filter().keys() == ()
    assert own.blades.e20 * own.blades.e2 == -own.blades.e0


def test_symbols_are_simplified_and_zeros_left_out():
    alg = Algebra(2)
    u, t = alg.vector(name="u"), sympy.Symbol("t")
    assert (u * u).keys() == (0,)
    R = sympy.cos(t) + sympy.sin(t) * alg.blades.e12
    assert R.normsq().values() == [1]
    assert (u * u)(u1=3, u2=4).e == 25
    assert (u * u)(np.array([1, 2]), 1).e.tolist() == [2, 5]
    assert (u * u).free_symbols == {sympy.Symbol("u1"), sympy.Symbol("u2")}
    x = alg.multivector(name="x", keys=("e", "e12"))
    root = x.sqrt()
    assert ((root * root)(2.0, 3.0) - x(2.0, 3.0)).inner.isclose(0, atol=1e-12)
    B = x.grade(2)
    assert (B.exp()(0.7)).inner.isclose((0.7 * alg.own.e12).exp())
    refused("a value for each", u, 1, error=TypeError)
    assert alg.multivector(["a*b", 2], keys=("e1", "e12")).e1 == sympy.Symbol("a") * sympy.Symbol("b")


def test_outer_functions():
    alg = Algebra(6)
    B = alg.bivector(np.random.default_rng(0).standard_normal(15))
    assert B.outerexp().inner.isclose((1 + B + (B ^ B) / 2 + (B ^ B ^ B) / 6).inner)
    assert (B.outersin() + B.outercos()).inner.isclose(B.outerexp().inner)
    assert (B.outertan() * B.outercos()).inner.isclose(B.outersin().inner, rtol=1e-9)
    assert (1 + B).outerexp().inner.isclose((np.e * B.outerexp()).inner)


def test_registered_functions_are_fused_for_batches():
    alg = Algebra(3, 0, 1)
    calls = []

    @alg.register
    def moved(R, x):
        calls.append(1)
        return (R >> x).grade((1,)), R.normsq().e

    rng = np.random.default_rng(4)
    R, x = alg.evenmv(rng.standard_normal((8, 5))), alg.vector(rng.standard_normal((4, 5)))
    found, norm = moved(R, x)
    again, _ = moved(R, x)
    assert len(calls) == 1  # traced once
    wanted, size = moved.codegen(R, x)
    assert np.all(found.inner.isclose(wanted.inner, rtol=1e-12))
    assert np.array_equal(again.values(), found.values())
    assert np.allclose(norm, size)
    assert moved(R[0], x[0])[0] == moved.codegen(R[0], x[0])[0]


def test_lists_functions_and_arrays_beside_a_multivector(alg):
    x, y = _two(alg, ())
    assert x * [y, 2] == [x * y, 2 * x]
    assert [y, 2] ^ x == [y ^ x, 2 * x]
    assert x + (lambda: lambda: y) == x + y
    assert (x * np.array([1.0, 2])).shape == (len(alg), 2)
    assert (np.array([1.0, 2]) - x)[1] == 2 - x
    assert alg.inv([x, 2 * x])[1].inner.isclose(x.inv().inner / 2)


def test_map_filter_and_full(alg):
    x = alg.vector(list(range(alg.d)))
    assert x.filter().values() == list(range(1, alg.d))
    assert x.map(lambda v: 2 * v) == 2 * x
    assert x.map(lambda k, v: k * v).values() == [2**i * i for i in range(alg.d)]
    assert x.asfullmv().keys() == tuple(alg.indices_for_grades(range(alg.d + 1)))
    assert x.asfullmv(canonical=False).keys() == tuple(range(len(alg)))
    assert x.asfullmv(canonical=False) == x
    assert "e1" in x
    assert 3 not in x


def test_what_is_refused(alg):
    for arguments, keywords, kind, words in [
        (([1, 2, 3],), {"keys": (1,)}, TypeError, "a value for each"),
        ((), {"grades": (99,)}, cr.ArgumentError, "within 0"),
        (({"f1": 1},), {}, KeyError, "neither a mask"),
        ((), {"e1": 1, "values": [1]}, TypeError, "without values"),
        ((), {"what": 1}, TypeError, "not a blade"),
        (([1, 2],), {"keys": (1, 1)}, cr.ArgumentError, "distinct"),
        (([1],), {"keys": (1,), "grades": (2,)}, cr.ArgumentError, "of grades"),
    ]:
        with pytest.raises(kind, match=words):
            alg.multivector(*arguments, **keywords)
    x = alg.blades.e1
    refused("no attribute or blade", lambda: x.something, error=AttributeError)
    refused("no batch axis", lambda: x[0], error=IndexError)
    with pytest.raises(AttributeError):
        x.e1 = 3
    refused("signature", Algebra, signature=[1, 2], error=TypeError)
    refused("2DPGA", Algebra.fromname, "other")
    refused("all 4 blades", Algebra, 2, basis=["e", "e1", "e2", "e1"])
    graded = Algebra(2, graded=True)
    assert graded.blades.e1.keys() == (1, 2)
    refused("graded", graded.multivector, [1], keys=(1,))
