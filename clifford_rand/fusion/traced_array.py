"""Arrays of traced scalars: a function of NumPy's arrays is traced as it stands, along one example.

Where the function branches on a value, the branch of the example is taken, and a guard demands the same of every other
argument: the code is that of one path. What the function builds of shapes, keys and constants happens once.
"""

# mypy: disable-error-code="override,assignment,misc"

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clifford_rand.compiler.graph import COMPARISONS, FUNCTIONS, signed
from clifford_rand.compiler.scalar import Trace, TracedScalar, TraceError, apply_ufunc, value_of
from clifford_rand.fusion.multivector import lift_constant
from clifford_rand.multivector.multivector import Multivector

_OPPOSITE = {"lt": ("le", True), "le": ("lt", True), "eq": ("ne", False), "ne": ("eq", False)}
_CONDITIONS = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
_FINITE = float(np.finfo(np.float32).max)  # of both precisions: larger numbers are for the function itself


class ExampleTrace(Trace):
    """A trace that knows the value of every node for one example, ``values`` being the components of its arguments."""

    def __init__(
        self, precision: np.dtype, values: Sequence[Sequence[float]], *, whole: bool, target: str = "one"
    ) -> None:
        """For tensors and symbols numbers are not rounded to multiples, which has no gradient."""
        self.is_differentiable, self.is_symbolic = target in ("tensor", "symbols"), target == "symbols"
        super().__init__(precision, whole=whole, lift=lambda trace, A: lift_constant(trace, A.algebra, A))
        self._values, self._known = values, [0.0]

    def value(self, ref: int) -> Any:
        """Return the value of a node for the example, NaN where it has none."""
        nodes, known = self.graph.nodes, self._known
        while len(known) <= abs(ref):
            known.append(value_of(nodes[len(known)], known, self._values))
        return signed(known, ref)

    def decide(self, condition: TracedScalar) -> bool:
        """Return whether a condition holds for the example, and demand the same in every sample."""
        ref, node = condition.ref, self.graph.nodes[abs(condition.ref)]
        holds = bool(self.value(ref))
        if self.graph.number(ref) is not None:
            return holds
        if node.operation not in (*COMPARISONS, "and", "or", "where"):
            self.need("ne" if holds else "eq", ref, 0)
        elif holds:
            self.guard(ref)
        elif node.operation in _OPPOSITE:
            name, swap = _OPPOSITE[node.operation]
            self.need(name, *(node.arguments[::-1] if swap else node.arguments))
        else:
            self.need("eq", ref, 0)
        return holds


def traced(values: Any) -> "TracedArray":
    """Return traced scalars, and numbers beside them, as an array of them."""
    array = np.asarray(values, dtype=object)
    return array.view(TracedArray)


def is_traced(value: Any) -> bool:
    """Tell whether an array, or the coefficients of a multivector, are traced."""
    return isinstance(getattr(value, "coefficients", value), TracedArray)


def decided(condition: Any) -> Any:
    """Return conditions as truth values: those of the example, which are demanded of every sample, where traced."""
    if not isinstance(condition, TracedArray):
        return condition
    return np.array([bool(x) for x in condition.view(np.ndarray).flat], dtype=bool).reshape(condition.shape)


def zeros(shape: tuple[int, ...], like: Any) -> Any:
    """Return an array of zeros beside another one, into which parts of it are written."""
    return traced(np.full(shape, 0.0, dtype=object)) if is_traced(like) else np.zeros(shape, dtype=like.dtype)


def _each(function: Callable[..., Any], *arrays: Any) -> "TracedArray":
    """Return f(x, …) of the elements of arrays that broadcast."""
    return traced(np.frompyfunc(function, len(arrays), 1)(*map(objects_of, arrays)))


def objects_of(array: Any) -> Any:
    """Return traced scalars and numbers as an array of objects, whose operations are those of NumPy."""
    array = np.asarray(array, dtype=object)
    return array.view(np.ndarray)


def trace_of(*values: Any) -> Trace | None:
    """Return the trace of arrays, None where all entries are numbers."""
    entries = (entry for array in values for entry in objects_of(array).flat)
    return next((entry.trace for entry in entries if isinstance(entry, TracedScalar)), None)


def refuse_symbols(array: Any) -> None:
    """Raise where an iteration is traced for symbols, for which it is not one formula."""
    if is_traced(array) and getattr(trace_of(array), "is_symbolic", False):
        raise TraceError("it iterates")


def _where(condition: Any, a: Any, b: Any) -> Any:
    is_number = not any(isinstance(x, str) or x != x for x in (a, b) if not isinstance(x, TracedScalar))
    if isinstance(condition, TracedScalar) and is_number:
        ref = condition.trace.graph.call("where", condition.ref, *(condition.trace.scalar(x).ref for x in (a, b)))
        return TracedScalar(condition.trace, ref, condition.shape_from | _shape(a) | _shape(b))
    return a if condition else b


def _shape(value: Any) -> int:
    return value.shape_from if isinstance(value, TracedScalar) else 0


def _not(condition: Any) -> Any:
    return condition == 0 if isinstance(condition, TracedScalar) else not condition


def _largest(a: Any, b: Any) -> Any:
    return _where(a < b, b, a)


def _smallest(a: Any, b: Any) -> Any:
    return _where(b < a, b, a)


def _sign(x: Any) -> Any:
    return _where(x < 0, -1.0, _where(x > 0, 1.0, 0.0))


def _rint(x: Any) -> Any:
    if not isinstance(x, TracedScalar):
        return float(round(x))
    return x if x.trace.is_differentiable else x.call("rint")  # type: ignore[attr-defined]


def _and(a: Any, b: Any) -> Any:
    if isinstance(a, TracedScalar) and isinstance(b, TracedScalar):
        return a & b
    number, other = (b, a) if isinstance(a, TracedScalar) else (a, b)
    return other if number else False


def _or(a: Any, b: Any) -> Any:
    if isinstance(a, TracedScalar) and isinstance(b, TracedScalar):
        return a | b
    number, other = (b, a) if isinstance(a, TracedScalar) else (a, b)
    return True if number else other


_LOGICAL = {"logical_and": _and, "logical_or": _or, "bitwise_and": _and, "bitwise_or": _or}
_ELEMENTS: dict[str, Callable[..., Any]] = {
    "maximum": _largest,
    "minimum": _smallest,
    "sign": _sign,
    "arctanh": lambda x: np.log((1 + x) / (1 - x)) * 0.5,
    "isfinite": lambda x: bool(abs(x) <= _FINITE),
    "isnan": lambda x: not isinstance(x, TracedScalar) and x != x,
    "log2": lambda x: np.log(x) * (1 / math.log(2)) if isinstance(x, TracedScalar) else math.log2(x),
    "exp2": lambda x: x.call("pow2") if isinstance(x, TracedScalar) else 2.0**x,
    "rint": _rint,
    "invert": _not,
    "logical_not": _not,
    **_LOGICAL,
}
_REDUCED = {"maximum": _largest, "minimum": _smallest, **_LOGICAL}


class TracedArray(np.ndarray):
    """An array of traced scalars, of the dtype that the compiled code has."""

    __array_priority__ = 100.0

    @property
    def dtype(self) -> Any:
        """The precision."""
        for entry in self.view(np.ndarray).flat:
            if isinstance(entry, TracedScalar):
                return entry.trace.precision
        return np.dtype(np.float64)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """Return itself: the code has one precision."""
        return self

    def __getitem__(self, index: Any) -> Any:
        return traced(self.view(np.ndarray)[index])

    def argmax(self, axis: Any = None, out: Any = None, **kwargs: Any) -> Any:
        """Return where the largest entry of the example is, and demand the same of every sample."""
        if self.ndim != 1:
            raise TraceError("it calls argmax along several axes")
        entries, best = self.view(np.ndarray).tolist(), 0
        for k, entry in enumerate(entries):
            best = k if k and entry > entries[best] else best
        return best

    def any(self, axis: Any = None, out: Any = None, keepdims: bool = False, **kwargs: Any) -> Any:
        """Return whether one of the conditions holds."""
        return self._reduced(_or, axis, keepdims, False)

    def all(self, axis: Any = None, out: Any = None, keepdims: bool = False, **kwargs: Any) -> Any:
        """Return whether all of the conditions hold."""
        return self._reduced(_and, axis, keepdims, True)

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, **kw: Any) -> Any:
        """Return the largest entry."""
        return self._reduced(_largest, axis, keepdims, initial)

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, **kw: Any) -> Any:
        """Return the smallest entry."""
        return self._reduced(_smallest, axis, keepdims, initial)

    def _reduced(self, function: Callable[..., Any], axis: Any, keepdims: bool, initial: Any) -> Any:
        array = self.view(np.ndarray)
        axes = range(array.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        moved = np.moveaxis(array, [k % array.ndim for k in axes], range(len(axes)))
        rows = list(moved.reshape(-1, *moved.shape[len(axes) :]))
        if not rows:
            return np.full(moved.shape[len(axes) :], initial)
        total: Any = rows[0]
        for row in rows[1:]:
            total = _each(function, total, row)
        total = traced(total)
        return np.expand_dims(total, tuple(k % array.ndim for k in axes)) if keepdims else total

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if any(isinstance(x, Multivector) for x in inputs):
            return NotImplemented
        name = ufunc.__name__
        if method == "reduce":
            reduced = _REDUCED.get(name)
            if reduced is not None:
                return self._reduced(reduced, kwargs.get("axis", 0), kwargs.get("keepdims", False), None)
            kwargs = {key: value for key, value in kwargs.items() if key in ("axis", "keepdims")}
            return traced(ufunc.reduce(objects_of(inputs[0]), **kwargs))
        if method != "__call__":
            raise TraceError(f"it calls numpy.{name}.{method}")
        if name in _ELEMENTS:
            result: Any = _each(_ELEMENTS[name], *inputs)
        elif name in ("add", "subtract", "multiply", "divide", "true_divide", "negative", "absolute", "matmul"):
            result = traced(ufunc(*map(objects_of, inputs)))
        elif name in _CONDITIONS:
            result = traced(ufunc(*map(objects_of, inputs), dtype=object))
        else:
            trace = trace_of(*inputs)
            if trace is None:
                return traced(ufunc(*(np.asarray(x, dtype=np.float64) for x in inputs)))

            def apply(*values: Any) -> Any:
                if any(not isinstance(x, TracedScalar) and x != x for x in values):
                    return np.nan
                return apply_ufunc(ufunc, tuple(trace.scalar(x) for x in values[:1]) + values[1:], FUNCTIONS)

            result = _each(apply, *inputs)
        if out is not None:
            np.copyto(out[0].view(np.ndarray), objects_of(result))
            return out[0]
        return result

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.where and len(args) == 3:
            return _each(_where, *args)
        if function is np.result_type:
            return self.dtype
        if function is np.cross:
            a, b = (traced(x) for x in args[:2])
            parts = [a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
            return np.stack(parts, axis=-1)
        if function is np.clip:
            return np.minimum(np.maximum(args[0], args[1]), args[2])
        if function is np.nan_to_num:
            return _each(lambda x: x if isinstance(x, TracedScalar) or x == x else 0.0, args[0])
        if function is np.linalg.det:
            return _determinant(args[0])
        if function.__module__ == "numpy.linalg":
            raise TraceError(f"it calls numpy.linalg.{function.__name__}")
        if function in (np.zeros_like, np.ones_like):
            return traced(np.full(np.shape(args[0]), float(function is np.ones_like)).astype(object))
        result = function._implementation(*args, **kwargs) if hasattr(function, "_implementation") else None
        if result is None:
            result = super().__array_function__(function, types, args, kwargs)
        if isinstance(result, list | tuple):
            return type(result)(map(_again, result))
        return _again(result)


def _again(result: Any) -> Any:
    """Return an array of objects, the result of one of NumPy's functions, as one of traced scalars."""
    is_object = isinstance(result, np.ndarray) and np.ndarray.dtype.__get__(result).kind == "O"
    return result.view(TracedArray) if is_object else result


def _determinant(matrix: Any) -> Any:
    """Return the determinant by its expansion along the first row."""
    n = matrix.shape[-1]
    if n == 1:
        return matrix[..., 0, 0]
    minors = [np.delete(matrix[..., 1:, :], k, axis=-1) for k in range(n)]
    return sum((-1) ** k * matrix[..., 0, k] * _determinant(minors[k]) for k in range(n))
