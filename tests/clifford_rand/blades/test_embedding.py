"""Multivectors of one algebra in another: a homomorphism where the inner products agree."""

import numpy as np
import pytest

import clifford_rand as cr
from support.refusals import refused

CHAINS = [
    (cr.Algebra.vga(3), cr.Algebra.pga(3)),
    (cr.Algebra.vga(3), cr.Algebra.cga(3)),
    (cr.Algebra.vga(3), cr.Algebra.cga(3, null_basis=True)),
    (cr.Algebra.vga(1), cr.Algebra.vga(4)),
    (cr.Algebra.pga(2), cr.Algebra.pga(3)),
    (cr.Algebra(metric=[[2, 1], [1, 3]]), cr.Algebra(metric=[[2, 1, 5], [1, 3, 4], [5, 4, 0]])),
    (cr.Algebra.vga(9), cr.Algebra.vga(12)),
]


def test_it_is_a_homomorphism():
    rng = np.random.default_rng(1)
    for small, large in CHAINS:
        A, B = (small.random_multivector(rng=rng, shape=(2,), grades=range(min(small.d, 3) + 1)) for _ in range(2))
        for rule in ("gp", "wedge", "lc", "inner"):
            inside = getattr(large.convert(A), rule)(large.convert(B))
            assert large.convert(getattr(A, rule)(B)).isclose(inside, rtol=1e-12).all(), (small, large, rule)
        assert large.convert(A).algebra is large
        assert (small.convert(large.convert(A)) == A).all()
        assert large.convert(A.astype(np.float32)).dtype == np.float32


def test_names_decide():
    vga, pga = cr.Algebra.vga(3), cr.Algebra.pga(3)
    assert pga.convert(vga.e12) == pga.e12
    assert pga.convert(2 + vga.e3) == 2 + pga.e3
    assert vga.convert(vga.e1, mapping={"e1": "e3"}) == vga.e3
    assert vga.convert(vga.e12, mapping={"e1": "e2", "e2": "e1"}) == -vga.e12
    assert vga.convert(vga.vector([1, 0, 0]), mapping={"e1": "e2"}) == vga.e2  # zero on e2 and e3
    sta = cr.Algebra.sta()
    assert sta.convert(cr.Algebra(1).e1, mapping={"e1": "g0"}) == sta.g0
    conformal = cr.Algebra.cga(2, null_basis=True)
    assert conformal.convert(cr.Algebra(metric=[[0, -1], [-1, 0]], names=["eo", "ei"]).eo) == conformal.eo
    named = cr.Algebra(3, names=["x", "y", "z"])
    assert named.convert(vga.e31, mapping={"e1": "x", "e2": "y", "e3": "z"}) == named.blade("z_x")


def test_downwards():
    pga, vga = cr.Algebra.pga(3), cr.Algebra.vga(3)
    A = pga("2 + e12 - 3*e01")
    refused("a coefficient on e01", vga.convert, A)
    assert vga.convert(A, drop=True) == vga("2 + e12")
    assert vga.convert(A.grade(0).dense()) == vga.scalar(2)
    assert vga.convert(pga.e01, drop=True) == 0


def test_exact_numbers_and_symbols():
    sympy = pytest.importorskip("sympy")
    x = sympy.Symbol("x")
    assert cr.Algebra.cga(3).convert(x * cr.Algebra(3).e12) == x * cr.Algebra.cga(3).e12


def test_failures():
    vga, oblique = cr.Algebra.vga(3), cr.Algebra(metric=[[2, 1], [1, 3]])
    refused(r"e2·e2 = 1 and e2·e2 = -1", cr.Algebra(1, 2).convert, vga.e2)
    refused(r"e1·e2 = 1 and e1·e2 = 0", cr.Algebra(metric=np.diag([2, 3, 1])).convert, oblique.e1 + oblique.e2)
    refused("must be from basis vectors", vga.convert, vga.e1, mapping={"e7": "e1"})
    refused("must be to basis vectors", cr.Algebra.sta().convert, vga.e1, mapping={"e1": "e1"})
    refused("to different basis vectors", vga.convert, vga.e1 + vga.e2, mapping={"e1": "e2"})
    refused("'A' parameter of convert must be a multivector", vga.convert, 3)
