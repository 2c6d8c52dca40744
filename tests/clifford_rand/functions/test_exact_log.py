"""log and sqrt of rotors with fractions and symbols: their exponential and square, and the numbers they become."""

from fractions import Fraction

import pytest
import sympy

import clifford_rand as cr

t = sympy.Symbol("t", positive=True)
u, v = sympy.symbols("u v", real=True)
w = sympy.Symbol("w")
R3, R11, PGA = cr.Algebra(3), cr.Algebra(1, 1), cr.Algebra.pga(3)
ROTORS = {
    "turn": sympy.cos(t) + sympy.sin(t) * R3.e12,
    "boost": sympy.cosh(t) + sympy.sinh(t) * R11.e12,
    "translation": 1 + t * PGA.e01 + u * PGA.e02,
    "long turn": -2 + t * R3.e12,
    "signs unknown": u + v * R3.e12,
    "symbol of any kind": 2 + w * R3.e12,
    "turn or boost": 3 + cr.Algebra(2, 1).symbols("B", 2),
    "turn in space": 1 + R3.symbols("B", 2),
    "long boost": 3 + v * R11.e12,
    "fractions": Fraction(3, 5) + Fraction(4, 5) * R3.e12,
    "general metric": 2 + u * cr.Algebra(metric=[[2, 1], [1, 3]]).e12,
    "scalar": R3.scalar(t),
}
VALUES = {
    t: Fraction(1, 3),
    w: Fraction(3, 4),
    u: Fraction(1, 2),
    v: Fraction(-1, 4),
    "B12": 1,
    "B13": -2,
    "B23": Fraction(1, 2),
}


def numeric(A):
    used = {str(symbol) for symbol in A.symbols_used()}
    return A.subs({key: value for key, value in VALUES.items() if str(key) in used}).to_numeric(complex)


@pytest.mark.parametrize("case", ROTORS)
def test_log_and_sqrt_of_one_plane(case):
    R = ROTORS[case]
    at = numeric(R)
    root, log = R.sqrt(), R.log()
    assert numeric(root * root).isclose(at, rtol=1e-14)
    assert numeric(log).exp().isclose(at, rtol=1e-14)
    real = at.new(at.keys, at.coefficients.real.copy())
    assert numeric(log).isclose(real.log(), rtol=1e-12)
    assert numeric(root).isclose(real.sqrt(), rtol=1e-12)


def test_exact_results():
    assert (1 + t * PGA.e01).log() == t * PGA.e01
    assert (1 + t * PGA.e01).sqrt() == 1 + t * PGA.e01 / 2
    assert ROTORS["fractions"].log() == sympy.atan(Fraction(4, 3)) * R3.e12
    assert R3.scalar(Fraction(4, 9)).sqrt() == Fraction(2, 3)
    assert R3.scalar(sympy.Integer(1)).log() == 0
    assert ((sympy.Symbol("B") * R3.e12).sqrt() ** 2 - sympy.Symbol("B") * R3.e12).simplify() == 0
    batch = cr.stack([ROTORS["turn"], ROTORS["fractions"]])
    assert (batch.log()[1] - ROTORS["fractions"].log()).is_zero()


def test_what_has_none():
    for R in (R3.scalar(sympy.Integer(-1)), -2 + Fraction(1, 2) * R11.e12, R3.scalar(sympy.Integer(0))):
        with pytest.raises(cr.ArgumentError, match="with a principal logarithm"):
            R.log()
    for R in (R3.scalar(sympy.Integer(-1)), -2 + Fraction(1, 2) * R11.e12):
        with pytest.raises(cr.ArgumentError, match="with a principal logarithm"):
            R.sqrt()
    assert R3.scalar(sympy.Integer(0)).sqrt() == 0
    for R in (R3.symbols("a"), t * R3.e1):
        with pytest.raises(cr.ArgumentError, match=r"square has other parts|with a principal logarithm"):
            R.log()
    with pytest.raises(cr.ArgumentError, match="square has other parts"):
        cr.Algebra(4).symbols("B", 2).sqrt()
