"""Traced scalars, whose arithmetic writes the graph of a function, and the same operations on Python's numbers."""

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partialmethod
from typing import Any

import numpy as np

from clifford_rand.compiler.graph import COMPARISONS, FUNCTIONS, Graph, Node, signed

COMPLEX = 1 << 256  # a bit of ``shape_from``, beyond those of arguments: the plain function's value is complex
STANDARD = {  # names of the array API where NumPy has others
    "rint": "round",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arctan2": "atan2",
}


class TraceError(TypeError, AttributeError):
    """A function does what cannot be traced; the message says what, and what to write instead.

    It is an `AttributeError` too, so that ``hasattr`` is false where a traced value has no such attribute.
    """


class Trace:
    """The graph of one function, and the conditions under which it is the function."""

    def __init__(
        self, precision: np.dtype, *, whole: bool = False, lift: Callable[["Trace", Any], Any] | None = None
    ) -> None:
        """``lift(trace, A)`` returns a multivector that the function holds as a traced one."""
        self.graph = Graph(whole=whole)
        self.lift = lift
        self.precision = precision  # float32 or float64, that of complex numbers' parts too
        self.guards: list[int] = []

    def guard(self, condition: int) -> None:
        """Demand that a condition holds in every sample: where it does not, the plain function is run."""
        known = self.graph.number(condition)
        if known is not None and not known:
            raise TraceError("it has a number out of the range in which its code would be right")
        if known is None and condition not in self.guards:
            self.guards.append(condition)

    def need(self, comparison: str, a: int, b: int) -> None:
        """Demand a comparison of two nodes in every sample."""
        self.guard(self.graph.call(comparison, a, b))

    def require(self, condition: "TracedScalar") -> None:
        """Demand a condition of traced scalars in every sample."""
        self.guard(condition.ref)

    def decide(self, condition: "TracedScalar") -> bool:
        """Return which branch is traced: none here, where no value is known."""
        raise TraceError("it branches on a value that differs between samples; write numpy.where(condition, a, b)")

    def scalar(self, value: Any) -> "TracedScalar":
        """Return a number or a traced scalar as a traced scalar."""
        if isinstance(value, TracedScalar):
            return value
        if isinstance(value, np.ndarray) and value.ndim:
            raise TraceError(f"an array of shape {value.shape} is not an argument of it; pass it as one")
        if isinstance(value, np.generic | np.ndarray):
            value = value.item()
        return TracedScalar(self, self.graph.constant(value), COMPLEX if isinstance(value, complex) else 0)


def is_number(value: object) -> bool:
    """Tell whether ``value`` is a scalar that may stand beside traced ones."""
    return isinstance(value, TracedScalar | int | float | complex | Fraction | np.generic) or (
        isinstance(value, np.ndarray) and value.dtype.kind in "biufc"
    )


class TracedScalar:
    """A scalar of a traced function: arithmetic, comparisons for `numpy.where`, and NumPy's functions of one number.

    ``shape_from`` has the bits of the arguments whose batch axes it has, and `COMPLEX`.
    """

    __slots__ = ("ref", "shape_from", "trace")

    def __init__(self, trace: Trace, ref: int, shape_from: int) -> None:
        self.trace, self.ref, self.shape_from = trace, ref, shape_from

    @property
    def is_zero(self) -> bool:
        """Whether it is zero for all arguments."""
        return self.ref == 0

    @property
    def is_real(self) -> bool:
        """Whether it is a real number for all arguments."""
        return self.trace.graph.real[abs(self.ref)]

    @property
    def sign(self) -> int:
        """1 where it is known to be ≥ 0, -1 for ≤ 0, else 0."""
        return self.trace.graph.sign_of(self.ref)

    def _with(self, other: Any, name: str, *, swap: bool = False) -> Any:
        if not is_number(other):
            return self._with_multivector(other, name, swap)
        if isinstance(other, float) and other != other:  # NaN
            return name == "ne" if name in COMPARISONS else other
        same = self.trace.scalar(other)
        a, b = (same.ref, self.ref) if swap else (self.ref, same.ref)
        graph = self.trace.graph
        if name == "add":
            ref = graph.add(a, b)
        elif name == "mul":
            ref = graph.mul(a, b)
        elif name == "div":
            ref = graph.mul(a, graph.call("reciprocal", b))
        else:
            ref = graph.call(name, a, b)
        shape_from = self.shape_from | same.shape_from
        return TracedScalar(self.trace, ref, shape_from & ~COMPLEX if name in COMPARISONS else shape_from)

    def _with_multivector(self, other: Any, name: str, swap: bool) -> Any:
        """Return a sum, product or quotient with a multivector that the function holds as a constant."""
        if not hasattr(other, "coefficients") or self.trace.lift is None or name not in ("add", "mul", "div"):
            return NotImplemented
        same = self.trace.lift(self.trace, other)
        if name == "div":
            return same / self if swap else self * same.inv()
        return same + self if name == "add" else same * self

    def coerce(self, other: Any) -> Any:
        """Return a constant multivector that stands to its left, to be multiplied with it."""
        return None if self.trace.lift is None else self.trace.lift(self.trace, other)

    def call(self, name: str, *arguments: int) -> "TracedScalar":
        """Return a function of it."""
        shape_from = self.shape_from & ~COMPLEX if name == "abs" else self.shape_from
        return TracedScalar(self.trace, self.trace.graph.call(name, self.ref, *arguments), shape_from)

    __add__ = __radd__ = partialmethod(_with, name="add")
    __mul__ = __rmul__ = partialmethod(_with, name="mul")
    __rtruediv__ = partialmethod(_with, name="div", swap=True)
    __rpow__ = partialmethod(_with, name="power", swap=True)
    __lt__ = partialmethod(_with, name="lt")
    __le__ = partialmethod(_with, name="le")
    __gt__ = partialmethod(_with, name="lt", swap=True)
    __ge__ = partialmethod(_with, name="le", swap=True)
    __eq__ = partialmethod(_with, name="eq")
    __ne__ = partialmethod(_with, name="ne")
    __and__ = partialmethod(_with, name="and")
    __or__ = partialmethod(_with, name="or")
    __hash__ = None  # type: ignore[assignment]

    def __sub__(self, other: Any) -> Any:
        return self._with(-other, "add")

    def __rsub__(self, other: Any) -> Any:
        return (-self)._with(other, "add")

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, int | float | complex) and other == 0:
            raise ZeroDivisionError("division of a traced scalar by zero")
        return self._with(other, "div")

    def __neg__(self) -> "TracedScalar":
        return TracedScalar(self.trace, -self.ref, self.shape_from)

    def __pos__(self) -> "TracedScalar":
        return self

    def __abs__(self) -> "TracedScalar":
        return self.call("abs")

    def sqrt(self) -> "TracedScalar":
        """Return the square root."""
        return self.call("sqrt")

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, float) and exponent == int(exponent) and abs(exponent) <= 64:
            exponent = int(exponent)
        if isinstance(exponent, int | np.integer) and abs(int(exponent)) <= 64:
            graph, power, base = self.trace.graph, self.trace.graph.constant(1), self.ref
            for bit in bin(abs(int(exponent)))[:1:-1]:
                power = graph.mul(power, base) if bit == "1" else power
                base = graph.mul(base, base)
            return TracedScalar(
                self.trace, power if exponent >= 0 else graph.call("reciprocal", power), self.shape_from
            )
        if isinstance(exponent, float) and exponent == 0.5:
            return self.call("sqrt")
        return self._with(exponent, "power")

    def __bool__(self) -> bool:
        return self.trace.decide(self)

    def __float__(self) -> float:
        raise TraceError("it needs the float of an argument's value; use NumPy's functions instead of math's")

    __complex__ = __int__ = __float__

    def __index__(self) -> int:
        raise TraceError("it uses an argument as an integer; name that argument in `static_argnames`")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise TraceError(f"it asks a scalar for .{name}, which depends on the batch")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            raise TraceError(f"it calls numpy.{ufunc.__name__} with options")
        return apply_ufunc(ufunc, inputs, FUNCTIONS)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is not np.where or len(args) != 3 or kwargs:
            raise TraceError(f"it calls numpy.{function.__name__}, which is not traced")
        condition, a, b = (self.trace.scalar(value) for value in args)
        ref = self.trace.graph.call("where", condition.ref, a.ref, b.ref)
        return TracedScalar(self.trace, ref, condition.shape_from | a.shape_from | b.shape_from)


_OPERATORS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "true_divide": "truediv", "power": "pow",
    "bitwise_and": "and", "bitwise_or": "or", "logical_and": "and", "logical_or": "or", "bitwise_xor": "xor",
    "left_shift": "lshift", "right_shift": "rshift", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge", "equal": "eq", "not_equal": "ne",
}  # fmt: skip
_UNARY = {"negative": "__neg__", "positive": "__pos__", "absolute": "__abs__", "invert": "__invert__"}
_REFLECTED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def apply_ufunc(ufunc: Any, inputs: tuple[Any, ...], functions: Any) -> Any:
    """Return what a NumPy function of traced values means: an operator, or one of ``functions``."""
    name = ufunc.__name__
    if name in _UNARY:
        return getattr(inputs[0], _UNARY[name])()
    if name in _OPERATORS:
        a, b = inputs
        method = _OPERATORS[name]
        if hasattr(a, "shape_from"):
            return getattr(a, f"__{method}__")(b)
        return getattr(b, f"__{_REFLECTED[method]}__" if method in _REFLECTED else f"__r{method}__")(a)
    if name == "square":
        return inputs[0] * inputs[0]
    if name == "hypot":
        return (inputs[0] * inputs[0] + inputs[1] * inputs[1]) ** 0.5
    if name == "arctan2":
        a = inputs[0] if hasattr(inputs[0], "shape_from") else inputs[1].trace.scalar(inputs[0])
        return a._with(inputs[1], "arctan2")
    if name in functions and len(inputs) == 1:
        return inputs[0].call(name)
    raise TraceError(f"it calls numpy.{name}, which is not traced")


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


PYTHON: dict[str, Callable[..., Any]] = {
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
