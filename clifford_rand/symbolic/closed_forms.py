"""Closed forms by the signs that SymPy knows: roots, exponentials, inverse functions, and programs as expressions."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp  # type: ignore[import-untyped]  # it ships no annotations

from clifford_rand.compiler.graph import ROOTS, Program, signed
from clifford_rand.compiler.scalar import value_of

_SHORT = 2**20  # the largest denominator of a float that is taken as the fraction it is
_NEAR = 1e-15  # relative, of a constant to √q or q π with a simple fraction q

Row = Sequence[Any]  # components of one argument or result


def square_root(value: Any) -> Any:
    """Return √value, exactly: an integer or fraction where there is one, else a SymPy expression."""
    if isinstance(value, int | np.integer | Fraction) and value >= 0:
        top, bottom = math.isqrt(int(value.numerator)), math.isqrt(int(value.denominator))
        if top * top == value.numerator and bottom * bottom == value.denominator:
            return Fraction(top, bottom) if isinstance(value, Fraction) else top
    return sp.sqrt(sp.sympify(value))


def exponential_of_square(square: Any) -> tuple[Any, Any]:
    """Return (cosh √s, sinh √s / √s) for s = ``square``, so that exp(B) is the first plus the second times B if B² = s.

    For s ≤ 0 by SymPy's assumptions these are (cos r, sin r / r) with r = √-s; for s = 0 they are (1, 1). The quotients
    have a removable singularity where s vanishes for some values of the symbols.
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
    """Return C₀, C₁, S₀, S₁ with cosh √X = C₀ + C₁ q and sinh √X / √X = S₀ + S₁ q for X = s + q, q² = t."""
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
    """Return (σ, s) ↦ the mean and the divided difference at σ ± √s of arcsin, arctan, … by NumPy's name."""
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
    """Return (a, b) with (a + b B)² = σ + B for B² = ``square``; b None where there is no real one."""
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


def _without_squares(total: Any) -> Any:
    """Return a sum with q for q sin² x + q cos² x, which the squares of lengths of rotors are."""
    if not total.is_Add or not total.has(sp.sin):
        return total
    squares: dict[Any, Any] = {}
    for term in total.args:
        for factor in sp.Mul.make_args(term):
            if factor.is_Pow and factor.exp == 2 and isinstance(factor.base, sp.sin | sp.cos):
                other = sp.cos if isinstance(factor.base, sp.sin) else sp.sin
                angle, rest = factor.base.args[0], term / factor
                partner = squares.pop((other, angle, rest), None)
                if partner is not None:
                    return _without_squares(total - term - partner + rest)
                squares[factor.base.func, angle, rest] = term
    return total


_OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(sp, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "floor")},
    **{f"arc{name}": getattr(sp, f"a{name}") for name in ("sin", "cos", "tan", "sinh")},
    "arctan2": sp.atan2,
    "add": lambda a, b: _without_squares(a + b),
    "mul": lambda a, b: a * b,
    "reciprocal": lambda a: 1 / a,
    "power": lambda a, b: a**b,
    "pow2": lambda k: sp.Integer(2) ** k,
    "rint": lambda x: sp.floor(x + sp.Rational(1, 2)),
    "abs": sp.Abs,
    "sqrt": square_root,
    "lt": sp.Lt,
    "le": sp.Le,
    "eq": sp.Eq,
    "ne": sp.Ne,
    "and": sp.And,
    "or": sp.Or,
}
_CONDITIONS = frozenset({"lt", "le", "eq", "ne", "and", "or"})


def _as_number(value: Any) -> Any:
    """Return 1 for a condition that holds and 0 for one that fails, as Python's arithmetic takes them."""
    return sp.Piecewise((1, value), (0, True)) if value.is_Relational or value.is_Boolean else value


def node_values(program: Program, arguments: Sequence[Row]) -> list[Any]:
    """Return the value of every node by Python's numbers, NaN where it has none."""
    values: list[Any] = []
    for node in program.graph.nodes:
        values.append(value_of(node, values, arguments))
    return values


def results_of(program: Program, values: Any) -> list[list[Any]]:
    """Return the components of the results from the values, or expressions, of the nodes."""
    return [[signed(values, ref) for ref in output.refs] for output in program.outputs]


def expressions_of(program: Program, arguments: Sequence[Row], known: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Return the components of the results as expressions.

    A condition that holds, or fails, for all ``known`` values of the nodes is decided so; others make a `Piecewise`.
    """
    nodes = program.graph.nodes
    decisions: dict[int, Any] = {}

    def decided(ref: int) -> Any:
        """Return the truth of a condition at all known values, None if they differ."""
        if ref not in decisions:
            truths = {bool(values[abs(ref)]) for values in known}
            decisions[ref] = truths.pop() if len(truths) == 1 else None
        return decisions[ref]

    def inner(ref: int) -> tuple[int, ...]:
        node = nodes[ref]
        if node.operation in _CONDITIONS and decided(ref) is not None:
            return ()
        if node.operation == "where" and decided(node.arguments[0]) is not None:
            return (node.arguments[1 if decided(node.arguments[0]) else 2],)
        return node.arguments

    used: set[int] = set()
    waiting = [abs(ref) for output in program.outputs for ref in output.refs]
    while waiting:
        ref = waiting.pop()
        if ref not in used:
            used.add(ref)
            waiting += map(abs, inner(ref))
    expressions: dict[int, Any] = {}
    for ref in sorted(used):
        node, operands = nodes[ref], [signed(expressions, argument) for argument in inner(ref)]
        if node.operation == "constant":
            expressions[ref] = _constant(node.data)
        elif node.operation == "input":
            argument, component = node.data
            expressions[ref] = arguments[argument][component]
        elif node.operation in _CONDITIONS and not operands:
            expressions[ref] = sp.Integer(decided(ref))
        elif node.operation == "where":
            condition, *cases = operands if len(operands) == 3 else (True, *operands)
            expressions[ref] = cases[0] if condition is True else sp.Piecewise((cases[0], condition), (cases[1], True))
        elif node.operation in ROOTS:
            (s,) = node.arguments
            signs = {signed(values, s) < 0 for values in known}
            cosh, sinhc = cosh_and_sinhc(operands[0], signs == {True})
            slope = (cosh - sinhc) / (2 * operands[0])
            expressions[ref] = {"cosh_root": cosh, "sinhc_root": sinhc, "sinhc_root_slope": slope}[node.operation]
        else:
            numbers = operands if node.operation in _CONDITIONS else map(_as_number, operands)
            expressions[ref] = _OPERATIONS[node.operation](*numbers)
    return results_of(program, expressions)


def exact(value: Any) -> Any:
    """Return a number or expression for SymPy; floats of short fractions as those."""
    if isinstance(value, float) and math.isfinite(value):
        p, q = value.as_integer_ratio()
        return sp.Rational(p, q) if q <= _SHORT else sp.Float(value)
    result = sp.sympify(value)
    return result.xreplace({number: exact(float(number)) for number in result.atoms(sp.Float)})


def _constant(number: Any) -> Any:
    """Return a constant of a program: a short fraction, the root of a simple one, or a simple multiple of π."""
    fraction = Fraction(number)
    if fraction.denominator <= _SHORT:
        return sp.Rational(fraction.numerator, fraction.denominator)
    value = float(fraction)
    for form, make in ((value * abs(value), sp.sqrt), (value / math.pi, lambda q: q * sp.pi)):
        simple = Fraction(form).limit_denominator(1000)
        if simple > 0 and abs(form / float(simple) - 1) <= _NEAR:
            return make(sp.Rational(simple.numerator, simple.denominator))
    return sp.Float(value)
