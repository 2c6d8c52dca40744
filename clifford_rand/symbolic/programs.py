"""Programs of scalar operations as SymPy expressions, for generic values of their symbols."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import sympy as sp  # type: ignore[import-untyped]  # it ships no annotations

from clifford_rand.compiler.graph import ROOTS, Program, signed
from clifford_rand.compiler.numbers import value_of
from clifford_rand.symbolic.closed_forms import cosh_and_sinhc, square_root

_SHORT = 2**20  # the largest denominator of a float that is taken as the fraction it is
_NEAR = 1e-15  # relative, of a constant to √q or q π with a simple fraction q

Row = Sequence[Any]  # components of one argument or result


def _of_root(name: str, s: Any, is_negative: bool) -> Any:
    """Return cosh √s, sinh √s / √s or its derivative, by the functions of the sign that s has."""
    cosh, sinhc = cosh_and_sinhc(s, is_negative)
    return {"cosh_root": cosh, "sinhc_root": sinhc, "sinhc_root_slope": (cosh - sinhc) / (2 * s)}[name]


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
            expressions[ref] = _of_root(node.operation, operands[0], signs == {True})
        else:
            numbers = operands if node.operation in _CONDITIONS else map(_as_number, operands)
            expressions[ref] = _OPERATIONS[node.operation](*numbers)
    return results_of(program, expressions)


def exact(value: Any) -> Any:
    """Return a number or expression for SymPy; floats of short fractions as those.

    Examples
    --------
    >>> exact(0.5), exact(3.0), exact(0.1) == 0.1, exact(2.0 * sp.Symbol("x"))
    (1/2, 3, True, 2*x)
    """
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
