"""From the arguments of a call to the program of a function, and fused functions of arrays of any library."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import array_api_compat
import numpy as np

from clifford_rand.compiler.decorator import kernel_of
from clifford_rand.compiler.graph import Input, Output, Program
from clifford_rand.compiler.scalar import COMPLEX, Trace, TracedScalar, TraceError
from clifford_rand.compiler.source import tensor_source
from clifford_rand.fusion.kernel import Result, Traced, of_fields
from clifford_rand.fusion.multivector import TracedMultivector, lift_constant, trace_input
from clifford_rand.multivector.multivector import Multivector

_NUMBERS = (float, int, complex)
TENSORS = "an argument is of another library than NumPy, whose compiler fuses the plain function; see array_function"
NEAR = 1.0  # |s| up to which the functions are their series
TERMS = 11  # of the series: 1/23! is below the rounding


class ArrayFunction:
    """A fused function of coefficient arrays (..., components) of NumPy, torch, JAX or another library: see `fused`.

    Attributes
    ----------
    source : str
        The code.
    keys : list of Keys or None
        The blades of each result, None for a scalar.
    """

    def __init__(self, traced: Traced) -> None:
        program, results = traced.program, traced.results
        graph = program.graph
        if not all(graph.real[abs(ref)] for output in program.outputs for ref in output.refs):
            raise TraceError("an argument is complex")
        self.source, self.keys = tensor_source(program, traced.title), [result.keys for result in results]
        self._build, self._scalar = traced.build, [result.keys is None for result in results]
        self._function = kernel_of(self.source)

    def __call__(self, *arrays: Any) -> Any:
        """Return the coefficients of the results."""
        xp = _namespace(arrays)
        like = next(array for array in arrays if not isinstance(array, int | float))
        inputs = (
            xp.asarray(x, dtype=like.dtype, device=like.device) if isinstance(x, int | float) else x for x in arrays
        )
        parts = self._function(xp, *inputs)
        return self._build([part[..., 0] if scalar else part for part, scalar in zip(parts, self._scalar, strict=True)])


def _namespace(arrays: Sequence[Any]) -> Any:
    """Return the functions of the arrays' library; numbers have none."""
    torch = sys.modules.get("torch")
    if torch is not None and any(isinstance(array, torch.Tensor) for array in arrays):
        import array_api_compat.torch as functions  # torch.compile follows it without a warning

        return functions
    return array_api_compat.array_namespace(*(array for array in arrays if not isinstance(array, int | float)))


# ---- what the code calls, ``xp`` being the namespace of a library by the names of the array API: functions of s = B²
# that differentiate everywhere. Nothing is written into an array, and no value decides what is computed, so that
# `torch.compile` and `jax.jit` take the code.


def cosh_root(xp: Any, s: Any) -> Any:
    """Return cosh √s, which is cos √-s for s < 0."""
    series, outside, z, growth = _parts(xp, s)
    far = xp.where(s < 0, xp.cos(z), xp.cosh(growth))
    return xp.where(outside, far, _series(series, [1 / math.factorial(2 * k) for k in range(TERMS)]))


def sinhc_root(xp: Any, s: Any) -> Any:
    """Return sinh √s / √s."""
    series, outside, z, growth = _parts(xp, s)
    far = xp.where(s < 0, xp.sin(z) / z, xp.sinh(growth) / growth)
    return xp.where(outside, far, _series(series, [1 / math.factorial(2 * k + 1) for k in range(TERMS)]))


def sinhc_root_slope(xp: Any, s: Any) -> Any:
    """Return d/ds (sinh √s / √s) = (cosh √s - sinh √s / √s) / (2 s)."""
    series, outside, _, _ = _parts(xp, s)
    safe = xp.where(outside, s, xp.ones_like(s))
    far = (cosh_root(xp, safe) - sinhc_root(xp, safe)) / (2 * safe)
    return xp.where(outside, far, _series(series, [k / math.factorial(2 * k + 1) for k in range(1, TERMS + 1)]))


def _parts(xp: Any, s: Any) -> tuple[Any, Any, Any, Any]:
    """Return s near 0, where it is not near, and √|s| where it is not: for all s, and for s > 0."""
    one = xp.ones_like(s)
    outside = abs(s) > NEAR
    z = xp.sqrt(xp.where(outside, abs(s), one))
    return xp.where(outside, 0 * one, s), outside, z, xp.where(s < 0, one, z)


def _series(x: Any, coefficients: list[float]) -> Any:
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def pow2(k: Any) -> Any:
    """Return 2^k."""
    return 2.0**k


def where(xp: Any, condition: Any, a: Any, b: Any, like: Any) -> Any:
    """Return a or b, which may be Python numbers: they are as the array ``like``."""
    a, b = (xp.asarray(x, dtype=like.dtype, device=like.device) if isinstance(x, float) else x for x in (a, b))
    return xp.where(condition, a, b)


def stack(xp: Any, parts: list[Any], like: Any) -> Any:
    """Return components on a last axis; numbers among them are as the array ``like``."""
    if not parts:
        return xp.zeros((*like.shape, 0), dtype=like.dtype, device=like.device)
    zero = xp.zeros_like(like)
    arrays = [part + zero if isinstance(part, float) else part for part in parts]
    return xp.stack(list(xp.broadcast_arrays(*arrays)), axis=-1)


# ---- arguments and results


def kind_of(value: Any, leaves: list[Any]) -> Any:
    """Return what a kernel is made for of one argument, and append the arrays and numbers that it takes of it."""
    if isinstance(value, Multivector):
        array = value.coefficients
        leaves.append(array)
        if array.__class__ is not np.ndarray:
            return TENSORS
        return value.keys, array.dtype, array.ndim > 1, value.algebra, value.algebra.names
    kind = value.__class__
    if kind is float or kind is int or kind is complex:
        leaves.append(value if kind is complex else float(value))
        return kind is complex
    if kind is tuple or kind is list:
        return (kind, *(kind_of(part, leaves) for part in value))
    if _is_scalar(value):
        if value.ndim:
            leaves.append(np.asarray(value)[..., None])
            return value.dtype, True
        leaves.append(value.item() if value.dtype.kind == "c" else float(value))
        return value.dtype, False
    return kind, value


def _is_scalar(value: Any) -> bool:
    """Tell whether an argument is a number or an array of them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "biufc"
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


class Tracing:
    """One function traced for ``values``, arguments of one kind; ``leaves`` are their arrays and numbers.

    It raises `TraceError` where the function does what cannot be traced, and may raise anything else as well.
    """

    def __init__(
        self, leaves: list[Any], values: Sequence[Any], static: Sequence[str] = (), *, whole: bool = False
    ) -> None:
        self._static = static
        self.trace = Trace(_precision(values), whole=whole, lift=lambda trace, A: lift_constant(trace, A.algebra, A))
        self.many = any(isinstance(leaf, np.ndarray) and leaf.ndim > 1 for leaf in leaves)
        self._inputs: list[Input] = []
        self._dtypes: list[np.dtype] = []
        self._labels = {"abs", "range"}  # what the code calls; all its other names begin with an underscore

    def traced(
        self, function: Callable[..., Any], names: list[str], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Traced:
        """Return the program of a function, and what it returns; ``names`` are those of ``args``."""
        pairs = list(zip(names, args, strict=True))
        traced = [self._input(value, name) for name, value in pairs]
        named = {name: self._input(value, name) for name, value in kwargs.items()}
        parts: list[Any] = []
        build = _structure(function(*traced, **named), parts)
        batch = sum(1 << k for k, source in enumerate(self._inputs) if source.batched)
        outputs = tuple(Output(_refs(part), bool(part.shape_from & batch)) for part in parts)
        trace = self.trace
        program = Program(trace.graph, tuple(self._inputs), outputs, tuple(trace.guards), trace.precision)
        described = ", ".join(self._described(name, value) for name, value in [*pairs, *kwargs.items()])
        title = f"{getattr(function, '__name__', 'function')}({described})"
        return Traced(program, self._dtypes, [self._result(part) for part in parts], build, title)

    def _result(self, part: Any) -> Result:
        refs, real = _refs(part), self.trace.graph.real
        dtype = self._dtype(not part.shape_from & COMPLEX and all(real[abs(ref)] for ref in refs))
        if isinstance(part, TracedScalar):
            return Result(None, None, (), dtype, part.shape_from)
        return Result(part.algebra, part.keys, (len(refs),), dtype, part.shape_from)

    def _dtype(self, real: bool) -> np.dtype:
        precision = np.dtype(self.trace.precision)
        return precision if real else np.result_type(precision, np.complex64)

    def _input(self, value: Any, name: str) -> Any:
        """Return what stands for an argument."""
        if name in self._static:
            return value
        if value.__class__ in (tuple, list):
            return type(value)(self._input(part, f"{name}{i}") for i, part in enumerate(value))
        number = len(self._inputs)
        if isinstance(value, Multivector):
            if not value.algebra.form.is_numeric:
                raise TraceError("an argument has a metric of symbols or fractions")
            blades = [value.algebra.names.blade(int(mask)) for mask in value.keys.masks]
            labels = tuple(self._label(f"{name}_{blade}") for blade in blades)
            real = value.dtype.kind != "c"
            self._inputs.append(Input(labels, value.ndim > 0 or not self.many, False))
            self._dtypes.append(self._dtype(real))
            return trace_input(self.trace, value.algebra, value.keys, number, real)
        if not _is_scalar(value):
            return value
        array = np.asarray(value)
        real = array.dtype.kind != "c"
        self._inputs.append(Input((self._label(name),), array.ndim > 0, array.ndim == 0, True))
        self._dtypes.append(self._dtype(real))
        return TracedScalar(self.trace, self.trace.graph.input(number, 0, real), 1 << number | COMPLEX * (not real))

    def _label(self, name: str) -> str:
        """Return a variable's name that no other component has, and that the code itself does not use."""
        label = name if name[0] != "_" else f"arg{name}"
        while label in self._labels:
            label += "_"
        self._labels.add(label)
        return label

    def _described(self, name: str, value: Any) -> str:
        """Return what a kernel is made for of one argument."""
        if isinstance(value, Multivector):
            batch = "one of " if self.many and not value.ndim else ""
            grades = ", ".join(map(str, value.grades))
            return f"{name}: {batch}grades {grades}, {value.keys.size} blades, {value.dtype} of {value.algebra!r}"
        if isinstance(value, np.ndarray) and value.ndim:
            return f"{name}: array of {value.dtype}"
        return f"{name}: {type(value).__name__}"


def _refs(part: Any) -> tuple[int, ...]:
    return (part.ref,) if isinstance(part, TracedScalar) else tuple(part.refs)


def _precision(values: Sequence[Any]) -> np.dtype:
    """Return float32 where all floating arrays are of single precision, else float64."""
    dtypes = list(_dtypes(values))
    if any(dtype.kind == "O" for dtype in dtypes):
        raise TraceError("an argument has fractions or symbols")
    floating = [dtype for dtype in dtypes if dtype.kind in "fc"]
    single = bool(floating) and all(dtype in (np.float32, np.complex64) for dtype in floating)
    return np.dtype(np.float32 if single else np.float64)


def _dtypes(values: Sequence[Any]) -> Iterator[np.dtype]:
    for value in values:
        if isinstance(value, tuple | list):
            yield from _dtypes(value)
        elif isinstance(value, Multivector | np.generic) or (isinstance(value, np.ndarray) and _is_scalar(value)):
            yield value.dtype  # Python's numbers take that of the others


def _structure(value: Any, parts: list[Any]) -> Callable[[list[Any]], Any]:
    """Append the traced parts of what a function returned; return how to put such results together again."""
    if isinstance(value, TracedMultivector | TracedScalar):
        k = len(parts)
        parts.append(value)
        return lambda results: results[k]
    if isinstance(value, tuple | list):
        inner = [_structure(part, parts) for part in value]
        return lambda results: of_fields(type(value), [build(results) for build in inner])
    if isinstance(value, Multivector | float | int | complex | np.generic | np.ndarray | type(None)):
        return lambda results: value
    raise TraceError(f"it returns a {type(value).__name__}; multivectors, scalars and tuples of them are traced")
