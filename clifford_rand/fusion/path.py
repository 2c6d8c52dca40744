"""Paths of functions: traced along one example, the code that they become, and their results.

Where the function branches on a value the path takes the branch of the example; guards demand the same of others.
"""

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._typing import NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import is_tensor, of_one_library
from clifford_rand.compiler.decorator import kernel_of
from clifford_rand.compiler.graph import Input, Output, Program
from clifford_rand.compiler.scalar import PYTHON, TracedScalar
from clifford_rand.compiler.source import python_source, tensor_source
from clifford_rand.fusion.example_multivector import ExampleMultivector, example
from clifford_rand.fusion.kernel import FusedKernel, Result, Traced, fields_of, of_fields
from clifford_rand.fusion.traced_array import ExampleTrace, traced
from clifford_rand.multivector.multivector import Multivector

MOST_OPERATIONS = 2000  # of compiled code: Numba takes up to 10 s for them
AGREEMENT = 1e-6  # of a trace and the function, relative to the largest component of a part of the result
MOST_PATHS = 12  # of one kind; and after how many failures tracing is tried at the calls 2, 4, 8, … alone
NOISE = 1e-12  # that is rounding, relative to the largest component of all parts


class Path(NamedTuple):
    """The code of one path: ``run`` returns results, or None where a guard fails.

    ``run`` takes the components of one object as Python's numbers and returns the result itself; of batches and tensors
    it returns the ``parts``, which ``build(parts, shape)`` puts together.
    """

    run: Any
    parts: list[Result]
    build: Callable[..., Any]
    program: Program


class Kind:
    """The paths of arguments of one kind. It holds its algebras, so that their identities stay."""

    def __init__(self) -> None:
        self.held: list[Any] = []
        self.paths: list[Path] = []
        self.failures = 0  # since the last path
        self.misses = 0  # calls that no path served

    def is_open(self) -> bool:
        """Tell whether one more path may be traced, and count the call that asks."""
        self.misses += 1
        is_due = self.failures < MOST_PATHS or self.misses & (self.misses - 1) == 0
        return is_due and len(self.paths) < MOST_PATHS


class NotSpecializedError(Exception):
    """The function is run as it is."""


class Operand(NamedTuple):
    """An argument that is traced: its place, its array, and how many axes of that are of one object."""

    place: int
    array: Any
    axes: int

    @property
    def batch(self) -> tuple[int, ...]:
        """The batch axes."""
        return tuple(self.array.shape[: self.array.ndim - self.axes])


def operands_of(args: Sequence[Any], axes: Sequence[int]) -> list[Operand]:
    """Return the arguments that are traced; ``axes`` has those of one object."""
    operands = []
    for place, (value, own) in enumerate(zip(args, axes, strict=False)):
        if isinstance(value, Multivector):
            operands.append(Operand(place, value.coefficients, own + 1))
        elif value is not None and not isinstance(value, Algebra):
            operands.append(Operand(place, value if is_tensor(value) else np.asarray(value), own))
    return operands


def path_of(
    function: Callable[..., Any],
    plain: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    operands: Sequence[Operand],
    target: str,
    batched: Sequence[bool] = (),
) -> Path:
    """Return a function's path along one example, its result ``plain``.

    ``target`` is "one", "batch", "tensor", or "symbols", where the program alone is the code. It raises whatever the
    function does that traced values cannot, and where its trace has another result than itself.
    """
    dtypes = {value.dtype for value in args if isinstance(value, Multivector | np.ndarray)}
    single = np.dtype(np.float32) in dtypes and np.dtype(np.float64) not in dtypes
    precision = np.dtype(np.float32 if single else np.float64)
    values = [operand.array.ravel().tolist() for operand in operands]
    trace = ExampleTrace(precision, values, whole=target != "batch", target=target)
    inputs: list[Input] = []
    stand_ins = list(args)
    for k, (place, array, _) in enumerate(operands):
        if array.dtype.kind not in "fi":
            raise NotSpecializedError
        refs = [TracedScalar(trace, trace.graph.input(k, i, True), 1 << k) for i in range(array.size)]
        scalars = traced(np.array(refs, dtype=object).reshape(array.shape))
        A = args[place]
        stand_ins[place] = example(A.algebra, A.keys, scalars) if isinstance(A, Multivector) else scalars
        is_batched = batched[k] if batched else True
        is_number = bool(batched) and not is_batched and not array.ndim
        inputs.append(Input(tuple(f"x{k}_{i}" for i in range(array.size)), is_batched, is_number))
    with np.errstate(all="ignore"):  # what is infinite or NaN fails a guard
        result = function(*stand_ins, **kwargs)
    structure = _Structure(trace, _size(plain))
    text = structure.text(result, plain)
    outputs = tuple(Output(refs, True) for refs in structure.refs)
    program = Program(trace.graph, tuple(inputs), outputs, tuple(trace.guards), trace.precision)
    title = getattr(function, "__name__", "function")
    run: Any = None
    if target == "one":
        run = _of_numbers(program, title, structure.of_one(text))
    elif target == "batch":
        run = _of_batches(program, structure.parts, title)
    elif target == "tensor":  # a namespace and arguments to results and, last, the guards' conditions
        flags = (*program.outputs, Output(program.guards, True))
        run = kernel_of(tensor_source(program._replace(outputs=flags), title))
    return Path(run, structure.parts, structure.of_many(text), program)


# ---- code


def _of_numbers(program: Program, title: str, build: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """Return the code of a path for Python's numbers."""
    kernel = kernel_of(python_source(program, title), {f"_{name}": function for name, function in PYTHON.items()})

    def run(leaves: list[Any]) -> Any:
        try:
            rows = kernel(*leaves)
        except (ArithmeticError, ValueError):  # what NumPy computes as infinite or NaN
            return None
        return None if rows is None else build(rows)

    return run


def _of_batches(program: Program, parts: list[Result], title: str) -> FusedKernel:
    """Return the loop over a batch, compiled when it is first called."""
    every = sum(1 << k for k, source in enumerate(program.inputs) if source.batched)
    wide = [part._replace(shape_from=every, dtype=program.precision) for part in parts]
    dtypes = [program.precision] * len(program.inputs)
    kernel = FusedKernel(Traced(program, dtypes, wide, lambda results: results, title), True, "numba")
    if sum(kernel.operations) > MOST_OPERATIONS:
        raise NotSpecializedError
    return kernel


# ---- how the parts of a result make it


def floats_in(result: Any) -> Iterator[NDArray[Any]]:
    """Yield the floating numbers that a result holds, as arrays."""
    fields = fields_of(result)
    if fields is not None:
        for field in fields:
            yield from floats_in(field)
    else:
        array = np.asarray(getattr(result, "coefficients", result))
        if array.dtype.kind == "f":
            yield array


def _size(result: Any) -> float:
    """Return the largest finite component of a result."""
    return max((float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for x in floats_in(result)), default=0.0)


class _Structure:
    """The traced parts of a result, their nodes ``refs``, and code that puts parts and constants together."""

    def __init__(self, trace: ExampleTrace, size: float) -> None:
        self._trace, self._size = trace, size
        self.parts: list[Result] = []
        self.refs: list[tuple[int, ...]] = []
        self._names: dict[str, Any] = {"_each": _constant}

    def text(self, result: Any, plain: Any) -> str:
        """Return the code of a result: ``_part0`` is a traced part, ``_same0`` a constant, ``_array0`` one to copy.

        Raises where the result of the function itself, ``plain``, is another one.
        """
        is_mv = isinstance(plain, Multivector)
        if is_mv or (isinstance(plain, np.ndarray | np.generic | float) and not isinstance(plain, np.str_)):
            return self._array(result, plain, is_mv)
        fields = fields_of(plain)
        if fields is not None:
            inner = [self.text(*pair) for pair in zip(fields_of(result) or [], fields, strict=True)]
            items = "".join(f"{text}, " for text in inner)
            if type(plain) in (tuple, list):
                return f"({items})" if isinstance(plain, tuple) else f"[{items}]"
            return f"{self._named('_type', type(plain))}({items})"
        if isinstance(plain, Algebra) or result == plain:
            return self._named("_same", plain)
        raise NotSpecializedError

    def _named(self, kind: str, value: Any) -> str:
        name = f"{kind}{len(self._names)}"
        self._names[name] = value
        return name

    def _array(self, result: Any, plain: Any, is_mv: bool) -> str:
        values = plain.coefficients if is_mv else np.asarray(plain)
        array = np.asarray(result.coefficients if is_mv else result, dtype=object)
        if (is_mv and result.keys is not plain.keys) or array.shape != values.shape:
            raise NotSpecializedError
        if not isinstance(result, ExampleMultivector) and not any(isinstance(x, TracedScalar) for x in array.flat):
            known = np.asarray(array, dtype=values.dtype)
            if not np.array_equal(known, values, equal_nan=values.dtype.kind == "f"):
                raise NotSpecializedError
            return self._named("_array" if isinstance(plain, np.ndarray) else "_same", plain)
        if values.dtype.kind not in "fb":
            raise NotSpecializedError
        scalars = [self._trace.scalar(x) for x in array.ravel().tolist()]
        known = np.array([self._trace.value(x.ref) for x in scalars]).reshape(values.shape)
        limit = AGREEMENT * np.abs(values).max(initial=0) + NOISE * self._size if values.dtype.kind == "f" else 0
        if not (abs(known - values.astype(float)) <= limit).all():
            raise NotSpecializedError
        kind: Any = np.bool_ if values.dtype.kind == "b" else None if values.ndim else type(plain)
        if kind is np.ndarray:
            kind = functools.partial(np.array, dtype=values.dtype)
        algebra, keys = (plain.algebra, plain.keys) if is_mv else (None, None)
        self.parts.append(Result(algebra, keys, values.shape, values.dtype, 0, kind))
        self.refs.append(tuple(x.ref for x in scalars))
        return f"_part{len(self.parts) - 1}"

    def of_one(self, text: str) -> Callable[[list[Any]], Any]:
        """Return the function of rows of components that makes the result for one object."""
        makers = {f"_make{k}": part.maker() for k, part in enumerate(self.parts)}
        code = re.sub(r"_part(\d+)", r"_make\1(_r[\1])", re.sub(r"(_array\d+)", r"\1.copy()", text))
        return eval(f"lambda _r: {code}", {**self._names, **makers})

    def of_many(self, text: str) -> Callable[[list[Any], tuple[int, ...]], Any]:
        """Return the function of the parts and the batch axes that makes the result of a batch."""
        code = re.sub(r"_part(\d+)", r"_r[\1]", re.sub(r"((_same|_array)\d+)", r"_each(\1, _shape)", text))
        return eval(f"lambda _r, _shape: {code}", self._names)


def _constant(value: Any, shape: tuple[int, ...]) -> Any:
    """Return what is the same for all elements of a batch, for each of them; a text of Python is of all at once."""
    if isinstance(value, Multivector) and shape:
        return value.algebra.new(value.keys, np.array(np.broadcast_to(value.coefficients, (*shape, value.keys.size))))
    if isinstance(value, np.ndarray) or (shape and isinstance(value, np.generic | int | float)):
        return np.array(np.broadcast_to(value, (*shape, *np.shape(value))))
    return value


def joined(xp: Any, results: Sequence[Any], order: Any, shape: tuple[int, ...]) -> Any:
    """Return the results of several paths, each a batch, as one: the elements in an order, with the axes of a shape."""
    first = results[0]
    parts = fields_of(first)
    if parts is not None:
        columns = zip(*(fields_of(result) or [] for result in results), strict=True)
        return of_fields(type(first), [joined(xp, column, order, shape) for column in columns])
    if isinstance(first, Multivector):
        if any(A.keys is not first.keys for A in results):
            raise NotSpecializedError("elements of several kinds")
        new = first.algebra.new if xp is np else first.algebra.new_tensor
        return new(first.keys, joined(xp, [A.coefficients for A in results], order, shape))
    if any(map(is_tensor, results)):  # what is constant along one path need not be along another
        rows = xp.take(xp.concat(of_one_library(results), axis=0), xp.asarray(order), axis=0)
        return xp.reshape(rows, (*shape, *rows.shape[1:]))
    if isinstance(first, np.ndarray):
        rows = np.concatenate(results)[order]
        return rows.reshape(*shape, *rows.shape[1:])
    if any(result != first for result in results):
        raise NotSpecializedError("elements of several kinds")
    return first


def same_form(a: Any, b: Any) -> bool:
    """Tell whether two results have the same structure, keys, shapes and kinds of numbers."""
    parts = fields_of(a)
    if parts is not None:
        return all(map(same_form, parts, fields_of(b) or [None] * len(parts)))
    if isinstance(a, Multivector):
        return a.keys is b.keys and a.shape == b.shape
    kinds = [getattr(x, "dtype", np.dtype(object)) for x in (a, b)]
    return np.shape(a) == np.shape(b) and (kinds[0] == kinds[1] or kinds[0].kind == kinds[1].kind == "U")
