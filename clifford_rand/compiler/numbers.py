"""The operations of a traced function on Python's numbers."""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from clifford_rand.compiler.graph import Node, signed

STANDARD = {  # names of the array API where NumPy has others
    "rint": "round",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arctan2": "atan2",
}


def _cosh_root(s: float) -> float:
    return math.cos(math.sqrt(-s)) if s < 0 else math.cosh(math.sqrt(s))


def _sinhc_root(s: float) -> float:
    if abs(s) < 1e-8:
        return 1 + s / 6
    z = math.sqrt(abs(s))
    return math.sin(z) / z if s < 0 else math.sinh(z) / z


_SLOPE_SERIES = tuple(k / math.factorial(2 * k + 1) for k in range(1, 8))


def _sinhc_root_slope(s: float) -> float:
    if abs(s) < 0.1:  # Σ k s^(k-1) / (2k + 1)!, to below the rounding
        a, b, c, d, e, f, g = _SLOPE_SERIES
        return a + s * (b + s * (c + s * (d + s * (e + s * (f + s * g)))))
    return (_cosh_root(s) - _sinhc_root(s)) / (2 * s)


PYTHON: dict[str, Callable[..., Any]] = {  # the operations on Python's numbers
    **{name: getattr(math, name) for name in ("cos", "cosh", "sin", "tan", "sinh", "tanh", "sqrt", "exp", "log")},
    **{name: getattr(math, standard.replace("round", "floor")) for name, standard in STANDARD.items()},
    **{name: getattr(operator, name) for name in ("add", "mul", "lt", "le", "eq", "ne")},
    "abs": abs,
    "rint": lambda x: float(round(x)),
    "floor": math.floor,
    "reciprocal": lambda x: 1.0 / x,
    "and": operator.and_,
    "or": operator.or_,
    "where": lambda condition, a, b: a if condition else b,
    "power": operator.pow,
    "pow2": lambda k: math.ldexp(1.0, int(k)),
    "cosh_root": _cosh_root,
    "sinhc_root": _sinhc_root,
    "sinhc_root_slope": _sinhc_root_slope,
}


def value_of(node: Node, known: Sequence[Any], arguments: Sequence[Sequence[Any]]) -> Any:
    """Return the value of a node from those before it and the components of the arguments, NaN where it has none."""
    if node.operation == "constant":
        return float(node.data)
    if node.operation == "input":
        argument, component = node.data
        return arguments[argument][component]
    try:
        return PYTHON[node.operation](*(signed(known, ref) for ref in node.arguments))
    except (ArithmeticError, ValueError):
        return math.nan
