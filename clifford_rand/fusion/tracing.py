"""From the arguments of a call to the program of a function: what is traced, and what is part of the code."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from clifford_rand.compiler.graph import Input, Output, Program
from clifford_rand.compiler.scalar import COMPLEX, Trace, TracedScalar, TraceError
from clifford_rand.fusion.array_function import ArrayFunction
from clifford_rand.fusion.kernel import FusedKernel, Result, Traced, of_fields
from clifford_rand.fusion.linear import by_coefficients
from clifford_rand.fusion.multivector import TracedMultivector, lift_constant, trace_input
from clifford_rand.multivector.multivector import Multivector

_NUMBERS = (float, int, complex)
TENSORS = "an argument is of another library than NumPy, whose compiler fuses the plain function; see array_function"


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

    Raises
    ------
    TraceError
        Where the function does what cannot be traced; it may raise anything else as well.
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

    def kernel(
        self, function: Callable[..., Any], names: list[str], args: Sequence[Any], kwargs: dict[str, Any], backend: str
    ) -> FusedKernel:
        """Return the compiled function; ``names`` are those of ``args``."""
        traced = self._traced(function, names, args, kwargs)
        return FusedKernel(traced._replace(program=by_coefficients(traced.program)), self.many, backend)

    def array_function(
        self, function: Callable[..., Any], names: list[str], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> ArrayFunction:
        """Return the function of arrays of any library."""
        return ArrayFunction(self._traced(function, names, args, kwargs))

    def _traced(
        self, function: Callable[..., Any], names: list[str], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Traced:
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
