"""Closed forms of exact and symbolic numbers, by the signs that SymPy knows: roots, exponentials, inverse functions."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp  # type: ignore[import-untyped]  # it ships no annotations


def square_root(value: Any) -> Any:
    """Return √value, exactly: an integer or fraction where there is one, else a SymPy expression.

    Examples
    --------
    >>> square_root(49), square_root(Fraction(4, 9)), square_root(8)
    (7, Fraction(2, 3), 2*sqrt(2))
    """
    if isinstance(value, int | np.integer | Fraction) and value >= 0:
        top, bottom = math.isqrt(int(value.numerator)), math.isqrt(int(value.denominator))
        if top * top == value.numerator and bottom * bottom == value.denominator:
            return Fraction(top, bottom) if isinstance(value, Fraction) else top
    return sp.sqrt(sp.sympify(value))


def exponential_of_square(square: Any) -> tuple[Any, Any]:
    """Return (cosh √s, sinh √s / √s) for s = ``square``, so that exp(B) is the first plus the second times B if B² = s.

    For s ≤ 0 by SymPy's assumptions these are (cos r, sin r / r) with r = √-s; for s = 0 they are (1, 1). The quotients
    have a removable singularity where s vanishes for some values of the symbols.

    Examples
    --------
    >>> t = sp.Symbol("t", positive=True)
    >>> exponential_of_square(-(t**2)), exponential_of_square(4)
    ((cos(t), sin(t)/t), (cosh(2), sinh(2)/2))
    """
    s = sp.factor(sp.expand(sp.sympify(square)))
    if s.is_zero or s == 0:
        return sp.Integer(1), sp.Integer(1)
    return cosh_and_sinhc(s, s.is_nonpositive is True)


def cosh_and_sinhc(s: Any, is_negative: bool) -> tuple[Any, Any]:
    """Return (cosh √s, sinh √s / √s) for s ≠ 0, by the circular functions of √-s where s is negative."""
    if is_negative:
        r = even_root(-s)
        return sp.cos(r), sp.sin(r) / r
    r = even_root(s)
    return sp.cosh(r), sp.sinh(r) / r


def exponential_of_pair(s: Any, t: Any) -> tuple[Any, Any, Any, Any]:
    """Return C₀, C₁, S₀, S₁ with C(X) = cosh √X = C₀ + C₁ q and S(X) = sinh √X / √X = S₀ + S₁ q for X = s + q, q² = t.

    Examples
    --------
    >>> w = sp.Symbol("w", positive=True)
    >>> exponential_of_pair(-(w**2), 0)[:2]
    (cos(w), sin(w)/(2*w))
    """
    s, t = sp.factor(sp.expand(sp.sympify(s))), sp.factor(sp.expand(sp.sympify(t)))
    if t == 0:
        C, S = exponential_of_square(s)
        return C, S / 2, S, sp.Rational(1, 6) if s == 0 else (C - S) / (2 * s)  # C' = S/2, S' = (C - S)/(2X)
    if t.is_nonnegative:
        root = even_root(t)
        (C, S), (D, T) = exponential_of_square(s + root), exponential_of_square(s - root)
        return (C + D) / 2, (C - D) / (2 * root), (S + T) / 2, (S - T) / (2 * root)
    root = sp.sqrt(sp.factor(sp.expand(s * s - t)))  # of two planes with the squares (s ± root)/2, real where t < 0
    x, y = (s + root) / 2, (s - root) / 2
    (C, S), (D, T) = exponential_of_square(x), exponential_of_square(y)
    return C * D, S * T / 2, (x * S * D - y * C * T) / root, (C * T - S * D) / (2 * root)


def sine_and_cosine(sign: int) -> Callable[[Any], tuple[Any, Any]]:
    """Return the function x ↦ (sin x, cos x) for the sign -1, (sinh x, cosh x) for 1."""
    first, second = (sp.sin, sp.cos) if sign < 0 else (sp.sinh, sp.cosh)
    return lambda x: (first(sp.sympify(x)), second(sp.sympify(x)))


def right_angle() -> Any:
    """Return π/2."""
    return sp.pi / 2


def inverse_circular(name: str) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Return (σ, s) ↦ the mean and the divided difference at σ ± √s of arcsin, arctan, … by NumPy's name.

    Examples
    --------
    >>> t = sp.Symbol("t", positive=True)
    >>> inverse_circular("arctan")(0, -(t**2)), inverse_circular("arcsin")(0, sp.Rational(1, 4))
    ((0, atanh(t)/t), (0, pi/3))
    """
    f = getattr(sp, name.replace("arc", "a"))

    def both(sigma: Any, square: Any) -> tuple[Any, Any]:
        center, s = sp.sympify(sigma), sp.factor(sp.expand(sp.sympify(square)))
        if s == 0:
            x = sp.Dummy()
            return f(center), sp.diff(f(x), x).subs(x, center)
        root = sp.I * even_root(-s) if s.is_nonpositive else even_root(s)
        plus, minus = f(center + root), f(center - root)
        return sp.expand((plus + minus) / 2), (plus - minus) / (2 * root)

    return both


def _squared_norm(sigma: Any, s: Any) -> Any:
    """Return σ² - s, with sin² + cos² = 1 and its hyperbolic kin put to use."""
    return sp.factor(sp.trigsimp(sp.expand(sigma**2 - s)))


def logarithm_of_rotor(sigma: Any, square: Any) -> tuple[Any, Any]:
    """Return (log n, f) with log(σ + B) = log n + f B for B² = s = ``square``, n² = σ² - s; f None where there is none.

    f is atan2(√-s, σ)/√-s for s ≤ 0 by SymPy's assumptions, 1/σ for 0, atanh(√s/σ)/√s for s ≥ 0, and arccos(σ/n)/√-s,
    which is right for either sign, where they do not tell.

    Examples
    --------
    >>> t = sp.Symbol("t", positive=True)
    >>> logarithm_of_rotor(1, -(t**2)), logarithm_of_rotor(2, 0)
    ((log(t**2 + 1)/2, atan(t)/t), (log(2), 1/2))
    """
    sigma, s = sp.sympify(sigma), sp.factor(sp.expand(sp.sympify(square)))
    norm = _squared_norm(sigma, s)
    size = sp.log(norm) / 2
    if norm.is_negative or norm == 0:
        return size, None
    if s.is_nonpositive and s != 0:
        r = sp.sqrt(-s)
        return size, (sp.atan(r / sigma) if sigma.is_positive else sp.atan2(r, sigma)) / r
    if sigma.is_nonpositive:
        return size, (None if s.is_nonnegative else sp.acos(sigma / sp.exp(size)) / sp.sqrt(-s))
    if s == 0:
        return sp.log(sigma), 1 / sigma
    if s.is_nonnegative:
        r = sp.sqrt(s)
        return size, sp.atanh(r / sigma) / r
    return size, sp.acos(sigma / sp.sqrt(_squared_norm(sigma, s))) / sp.sqrt(-s)


def root_of_rotor(sigma: Any, square: Any) -> tuple[Any, Any]:
    """Return (a, b) with (a + b B)² = σ + B for B² = ``square``; b None where there is no real one.

    Examples
    --------
    >>> root_of_rotor(0, -1), root_of_rotor(9, 0)
    ((sqrt(2)/2, sqrt(2)/2), (3, 1/6))
    """
    sigma, s = sp.sympify(sigma), sp.sympify(square)
    n = sigma if s == 0 and not sigma.is_negative else sp.sqrt(_squared_norm(sigma, s))
    twice = 2 * (n + sigma)
    if twice == 0 or twice.is_negative or n.is_real is False:
        return sp.Integer(0), None
    return sp.sqrt(twice) / 2, 1 / sp.sqrt(twice)


def even_root(s: Any) -> Any:
    """Return a square root, of either sign: the functions that take it are even, so |t| may be t."""
    root = sp.sqrt(s)
    return sp.Mul(*(factor.args[0] if isinstance(factor, sp.Abs) else factor for factor in sp.Mul.make_args(root)))
