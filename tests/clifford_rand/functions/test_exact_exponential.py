"""Exponentials of symbols and fractions: closed forms, and their values after substitution against those of numbers."""

from fractions import Fraction

import numpy as np
import pytest
import sympy

import clifford_rand as cr

t, s, r = sympy.symbols("t s r", real=True)


def test_screws_and_commuting_planes_are_products():
    pga, four, cga = cr.Algebra.pga(3), cr.Algebra(4), cr.Algebra.cga(3)
    screw = (t * pga.e12 + s * pga.e03).exp()
    assert screw == (sympy.cos(t) + sympy.sin(t) * pga.e12) * (1 + s * pga.e03)
    turns = (t * four.e12 + s * four.e34).exp()
    assert turns == (sympy.cos(t) + sympy.sin(t) * four.e12) * (sympy.cos(s) + sympy.sin(s) * four.e34)
    both = (r + t * cga.e12 + s * cga.e35).exp()
    values = {t: 0.7, s: -0.4, r: 2.5}
    assert both.subs(values).astype(float).isclose((2.5 + 0.7 * cga.e12 - 0.4 * cga.e35).exp(), rtol=1e-14)
    half = sympy.Rational(1, 2)
    assert (Fraction(1, 2) * four.e12 + 2 * four.e34).exp()["1"] == sympy.cos(half) * sympy.cos(2)


@pytest.mark.parametrize(
    ("signature", "grades"),
    [
        ((3, 0, 1), (2,)),  # B² = s + q with q² = 0: any screw
        ((2, 0, 1), (1, 2)),
        ((4, 0, 0), (2,)),  # q² > 0
        ((3, 1, 0), (2,)),  # q² < 0
        ((1, 3, 0), (2,)),
        ((2, 2, 0), (2,)),
        ((2, 0, 2), (2,)),
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


def test_three_planes_with_a_null_direction_in_six_dimensions():
    alg = cr.Algebra(4, 1, 1)
    e = alg.basis_vectors()
    B = t * (e[1] ^ e[2]) + s * (e[3] ^ e[5]) + r * (e[0] ^ e[4])
    values = {t: 0.7, s: -0.4, r: 2.5}
    assert B.exp().subs(values).astype(float).isclose(B.subs(values).astype(float).exp(), rtol=1e-12)


def test_other_parts_are_refused():
    with pytest.raises(cr.ArgumentError, match="a scalar plus commuting parts"):
        cr.Algebra(6).symbols("b", 2).exp()


def test_logarithms_and_roots_of_dual_complex_and_hyperbolic_numbers():
    x, y = sympy.symbols("x y", positive=True)
    dual, pga = cr.Algebra(0, 0, 1), cr.Algebra.pga(3)
    A = x + y * dual.e0
    assert A.log() == sympy.log(x) + y / x * dual.e0
    assert A.sqrt() == sympy.sqrt(x) + y / (2 * sympy.sqrt(x)) * dual.e0
    assert (x + y * pga.I).log() == sympy.log(x) + y / x * pga.I
    hyperbolic = (2 + cr.Algebra(1).e1).astype(object).log().astype(float)
    assert hyperbolic.isclose((2.0 + cr.Algebra(1).e1).log(), rtol=1e-14)
    complexes = cr.Algebra(0, 1)
    value = (x + y * complexes.e1).log().subs({x: 0.3, y: 2.0}).astype(float)
    assert value.isclose((0.3 + 2 * complexes.e1).log(), rtol=1e-14)
    for A in (cr.Algebra(1).e1, 1 + 2 * cr.Algebra(1).e1):
        with pytest.raises(cr.ArgumentError, match="must be with a principal logarithm"):
            A.astype(object).log()
