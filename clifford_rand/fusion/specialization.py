"""Functions of one object that are specialized by their arguments: traced along an example, for one and for batches.

A call with arguments of a new kind (blades, dtypes, shapes) runs the function as it is, then traces it with the same
values. The trace is one path through its branches, guarded by the conditions that chose it, and its result has to be
that of the function. Later calls of the kind run the path, or another one that was traced where guards failed:

* one object: as Python's numbers, without arrays and without compiling;
* batches of `COMPILED_FROM` elements and more: one compiled loop (`fusion.kernel`), from the disk if it is there;
  smaller ones by the function itself;
* tensors of torch and JAX: as operations of their library, which differentiate; they are traced in each call.

Exact numbers, symbols and whatever is not traced run the function itself.
"""

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from clifford_rand.algebra import Algebra
from clifford_rand.basis.arrays import is_tensor, namespace
from clifford_rand.basis.keys import Keys
from clifford_rand.compiler.graph import Input, Output, Program
from clifford_rand.compiler.scalar import TracedScalar
from clifford_rand.compiler.source import PYTHON, python_source, tensor_source
from clifford_rand.errors import ArgumentError
from clifford_rand.fusion.kernel import FusedKernel, Traced, fields_of, of_fields, replaced_at
from clifford_rand.fusion.traced_array import ExampleMultivector, ExampleTrace, example, traced
from clifford_rand.multivector.multivector import Multivector

_Function = TypeVar("_Function", bound=Callable[..., Any])

COMPILED_FROM = 2**13  # elements of a batch, which the functions themselves compute in 1 to 10 ms
MOST_PATHS = 12  # of one kind; and how often tracing may fail
MOST_KINDS = 1000
MOST_OPERATIONS = 2000  # of compiled code: Numba takes 5 s for them
AGREEMENT = 1e-6  # of a trace and the function, relative to the largest component


class Part(NamedTuple):
    """One multivector of a result, or an array (``keys`` None): ``shape`` is of one object, ``kind`` makes a scalar."""

    algebra: Any
    keys: Keys | None
    shape: tuple[int, ...]
    size: int
    dtype: Any
    shape_from: int
    kind: Any

    def one(self, row: list[Any]) -> Any:
        """Return it from its components."""
        if self.kind is not None:
            return self.kind(row[0])
        array = np.array(row, dtype=self.dtype)
        array = array if len(self.shape) == 1 else array.reshape(self.shape)
        return array if self.keys is None else self.algebra.new(self.keys, array)

    def wrap(self, rows: Any, shape: tuple[int, ...]) -> Any:
        """Return a batch from components (size, samples)."""
        array = rows.T if len(shape) == 1 else np.moveaxis(rows.reshape(self.size, *shape), 0, -1)
        if self.kind is np.bool_:
            array = array != 0
        array = array if len(self.shape) == 1 else array.reshape(*shape, *self.shape)
        return array if self.keys is None else self.algebra.new(self.keys, array)

    def of_tensor(self, xp: Any, rows: Any, shape: tuple[int, ...]) -> Any:
        """Return it from a tensor (samples, size)."""
        array = xp.reshape(rows, (*shape, *self.shape))
        if self.kind is np.bool_:
            array = array != 0
        return array if self.keys is None else self.algebra.new_tensor(self.keys, array)


class Path(NamedTuple):
    """The code of one path: for Python's numbers, for batches or for tensors; None as a result where a guard fails."""

    run: Any
    parts: list[Part]
    build: Callable[..., Any]
    program: Program


class _Kind:
    """The paths of arguments of one kind. It holds what the kind is known by, so that the numbers of objects stay."""

    def __init__(self, held: Any) -> None:
        self.held = held
        self.paths: list[Path] = []
        self.failures = 0

    @property
    def is_open(self) -> bool:
        """Whether one more path may be traced."""
        return self.failures < MOST_PATHS and len(self.paths) < MOST_PATHS


class _NotSpecializedError(Exception):
    """The function is run as it is."""


class Specialization:
    """The paths of one function."""

    def __init__(self, function: Callable[..., Any], axes: dict[str, int], static: Sequence[str]) -> None:
        self.function = function
        self._signature = inspect.signature(function)
        names = [p.name for p in self._signature.parameters.values() if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        self._positional = frozenset(names)
        self._axes = [None if name in static else axes.get(name, 0) for name in names]
        self._kinds: dict[Any, _Kind] = {}

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what the function returns."""
        if kwargs and not self._positional.isdisjoint(kwargs):
            try:
                bound = self._signature.bind(*args, **kwargs)
            except TypeError:
                return self.function(*args, **kwargs)
            args, kwargs = bound.args, bound.kwargs
        key: list[Any] = [(name, value.__class__, value) for name, value in kwargs.items()]  # True is not 1
        leaves: list[Any] = []
        many = False
        for value, axes in zip(args, self._axes, strict=False):
            kind = value.__class__
            if axes is None or value is None:
                key += (kind, value)
            elif kind is float or kind is np.float64 or kind is int:
                key.append(float)
                leaves.append((float(value),))
            elif kind is Algebra:
                key.append(id(value))
            elif kind is Multivector:
                array = value.coefficients
                batch = array.ndim > axes + 1
                many |= batch
                key += (value.keys, id(value.algebra), array.dtype.char, batch)
                leaves.append(array if batch else array.tolist() if not axes else array.ravel().tolist())
                if axes:
                    key.append(array.shape[array.ndim - 1 - axes : -1])
            elif kind is np.ndarray or kind is list or kind is tuple:
                array = value if kind is np.ndarray else self._as_array(value)
                if array is None:
                    return self._otherwise(args, kwargs)
                batch = array.ndim > axes
                many |= batch
                key += (array.dtype.char, array.shape[array.ndim - axes :] if batch else array.shape, batch)
                leaves.append(array if batch else array.ravel().tolist())
            else:
                return self._otherwise(args, kwargs)
        try:
            own = self._kinds.get(tuple(key))
        except TypeError:  # not hashable
            return self.function(*args, **kwargs)
        if many:
            return self._batch(tuple(key), own, args, kwargs)
        if own is None:
            own = self._kind(tuple(key), args)
        for path in own.paths:
            rows = path.run(leaves)
            if rows is not None:
                return path.build([part.one(row) for part, row in zip(path.parts, rows, strict=True)], ())
        return self._traced_one(own, args, kwargs)

    @staticmethod
    def _as_array(value: Any) -> Any:
        try:
            array = np.asarray(value)
        except (TypeError, ValueError, RuntimeError):
            return None
        return array if array.dtype.kind in "fi" and not hasattr(value, "mask") else None

    # ---- one object

    def _kind(self, key: Any, args: Any) -> _Kind:
        """Return the kind of a key, a new one if it is not known."""
        if len(self._kinds) >= MOST_KINDS:
            self._kinds.clear()
        held = [getattr(value, "algebra", value) for value in args if isinstance(value, Multivector | Algebra)]
        return self._kinds.setdefault(key, _Kind(held))

    def _traced_one(self, own: _Kind, args: Any, kwargs: Any) -> Any:
        plain = self.function(*args, **kwargs)
        if own.is_open:
            try:
                path = self._path(args, kwargs, plain, "python")
            except Exception:  # whatever the function does that traced values cannot
                own.failures += 1
                return plain
            rows = path.run(self._leaves(args))
            if rows is None:
                own.failures += 1
                return plain
            own.paths.append(path)
            return path.build([part.one(row) for part, row in zip(path.parts, rows, strict=True)], ())
        return plain

    def _operands(self, args: Any) -> list[tuple[int, Any, int]]:
        """Return the place of each argument that is traced, its array, and how many axes of that are of one object."""
        operands = []
        for place, (value, axes) in enumerate(zip(args, self._axes, strict=False)):
            if axes is None or value is None or isinstance(value, Algebra):
                continue
            if isinstance(value, Multivector):
                operands.append((place, value.coefficients, axes + 1))
            else:
                operands.append((place, value if is_tensor(value) else np.asarray(value), axes))
        return operands

    def _leaves(self, args: Any) -> list[Any]:
        """Return the components of the arguments for one object."""
        return [array.ravel().tolist() for _, array, _ in self._operands(args)]

    # ---- tracing

    def _path(self, args: Any, kwargs: Any, plain: Any, target: str, batched: Sequence[bool] = ()) -> Path:
        """Trace the function along one example, whose result is ``plain``; ``target`` is python, loop or tensor."""
        values = self._leaves(args)
        dtypes = {value.dtype for value in args if isinstance(value, Multivector | np.ndarray)}
        single = np.dtype(np.float32) in dtypes and np.dtype(np.float64) not in dtypes
        precision = np.dtype(np.float32 if single else np.float64)
        trace = ExampleTrace(precision, values, whole=target != "loop", is_differentiable=target == "tensor")
        inputs: list[Input] = []
        stand_ins = list(args)
        for k, (place, array, _) in enumerate(self._operands(args)):
            if array.dtype.kind not in "fi":
                raise _NotSpecializedError
            refs = [TracedScalar(trace, trace.graph.input(k, i, True), 1 << k) for i in range(array.size)]
            scalars = traced(np.array(refs, dtype=object).reshape(array.shape))
            A = args[place]
            stand_ins[place] = example(A.algebra, A.keys, scalars) if isinstance(A, Multivector) else scalars
            is_batched = batched[k] if batched else True
            is_number = bool(batched) and not is_batched and not array.ndim
            inputs.append(Input(tuple(f"x{k}_{i}" for i in range(array.size)), is_batched, is_number))
        with np.errstate(all="ignore"):  # what is infinite or NaN fails a guard
            result = self.function(*stand_ins, **kwargs)
        parts: list[Part] = []
        refs_of: list[tuple[int, ...]] = []
        build = _structure(trace, result, plain, parts, refs_of)
        outputs = tuple(Output(refs, True) for refs in refs_of)
        program = Program(trace.graph, tuple(inputs), outputs, tuple(trace.guards), trace.precision)
        title = getattr(self.function, "__name__", "function")
        if target == "loop":
            return Path(_loop(program, parts, title), parts, build, program)
        return Path(_CODE[target](program, title), parts, build, program)

    # ---- batches

    def _split(self, args: Any) -> tuple[list[Any], list[bool], tuple[int, ...]]:
        """Return the arrays (..., components) of the arguments, which have batch axes, and their common shape."""
        arrays, batched, shapes = [], [], []
        for _, array, tail in self._operands(args):
            shape = array.shape[: array.ndim - tail]
            arrays.append(array.reshape(*shape, -1) if array.ndim != len(shape) + 1 else array)
            batched.append(bool(shape))
            shapes.append(shape)
        return arrays, batched, np.broadcast_shapes(*shapes)

    def _batch(self, key: Any, own: _Kind | None, args: Any, kwargs: Any, skip: int = 0) -> Any:
        """Return a batch by its paths: elements whose guards fail by the next one, few of them by the function."""
        try:
            arrays, batched, shape = self._split(args)
        except ValueError:  # shapes that do not broadcast
            return self.function(*args, **kwargs)
        count = math.prod(shape)
        if count < COMPILED_FROM or any(a.dtype.kind not in "fi" for a in arrays):
            return self.function(*args, **kwargs)
        own = self._kind(key, args) if own is None else own
        if skip == len(own.paths) and not (own.is_open and self._learn(own, args, kwargs, batched, shape)):
            return self.function(*args, **kwargs)
        path = own.paths[skip]
        leaves = [
            array
            if is_batched
            else array.reshape(-1)
            if array.size > 1 or not source.is_number
            else float(array.item())
            for array, is_batched, source in zip(arrays, batched, path.program.inputs, strict=True)
        ]
        failed, results = path.run(leaves)
        if failed is True:
            return self.function(*args, **kwargs)
        result = path.build(results, shape)
        if failed is False:
            return result
        places = np.nonzero(failed)
        some = self._take(args, shape, places)
        return replaced_at(result, self._batch(key, own, some, kwargs, skip + 1), places)

    def _take(self, args: Any, shape: tuple[int, ...], places: Any) -> tuple[Any, ...]:
        """Return the arguments of some elements of a batch."""
        some = list(args)
        for place, array, tail in self._operands(args):
            A, rows = args[place], array
            if array.ndim > tail:
                rows = np.broadcast_to(array, (*shape, *array.shape[array.ndim - tail :]))[places]
            some[place] = A.algebra.new(A.keys, rows) if isinstance(A, Multivector) else rows
        return tuple(some)

    def _learn(self, own: _Kind, args: Any, kwargs: Any, batched: Sequence[bool], shape: tuple[int, ...]) -> bool:
        """Trace one more path along the first element of a batch; its result must have the form that a batch has."""
        try:
            first = self._take(args, shape, tuple(np.zeros(1, dtype=int) for _ in shape))
            one = self._take(first, (1,), (0,))
            path = self._path(one, kwargs, self.function(*one, **kwargs), "loop", batched)
            form = self.function(*first, **kwargs)
            empty = [part.wrap(np.zeros((part.size, 1), np.dtype(path.program.precision)), (1,)) for part in path.parts]
            if not _same_form(path.build(empty, (1,)), form):
                raise _NotSpecializedError
        except Exception:  # whatever the function does that traced values cannot
            own.failures += 1
            return False
        own.paths.append(path)
        return True

    # ---- tensors

    def _otherwise(self, args: Any, kwargs: Any) -> Any:
        """Return the result for arguments of other kinds than floating numbers."""
        if any(is_tensor(getattr(value, "coefficients", value)) for value in args):
            try:
                return self._of_tensors(args, kwargs)
            except ArgumentError:
                raise
            except Exception:  # what is not traced: the function itself says what it takes
                return self.function(*args, **kwargs)
        return self.function(*args, **kwargs)

    def _of_tensors(self, args: Any, kwargs: Any) -> Any:
        """Return a result of tensors, each element along the path of its values."""
        like = next(a for a in (getattr(v, "coefficients", v) for v in args) if is_tensor(a))
        xp = namespace(like)
        arrays, values, tails = [], [], []
        for _, array, tail in self._operands(args):
            numbers = _numbers(array)
            arrays.append(array if is_tensor(array) else xp.asarray(np.array(numbers), dtype=like.dtype))
            values.append(numbers)
            tails.append(tail)
        shape = np.broadcast_shapes(*(v.shape[: v.ndim - t] for v, t in zip(values, tails, strict=True)))
        flat = []
        for array, tail in zip(arrays, tails, strict=True):
            own = tuple(array.shape[array.ndim - tail :])
            flat.append(xp.reshape(xp.broadcast_to(array, (*shape, *own)), (math.prod(shape), math.prod(own))))
        count, rest = math.prod(shape), np.arange(math.prod(shape))
        numeric = tuple(self._numeric(value) for value in args)
        pieces: list[tuple[Any, Path, list[Any]]] = []
        while len(rest):
            index = np.unravel_index(rest[:1], shape) if shape else ()
            one = self._take(self._take(numeric, shape, index), (1,), (0,)) if shape else numeric
            path = self._path(one, kwargs, self.function(*one, **kwargs), "tensor")
            subset = flat if len(rest) == count else [array[rest] for array in flat]
            *results, guards = path.run(xp, *subset)
            ok = (
                _numbers(guards).reshape(len(rest), -1).all(axis=1) if path.program.guards else np.ones(len(rest), bool)
            )
            ok[0] = True
            kept = np.flatnonzero(ok)
            results = results if len(kept) == len(rest) else [array[kept] for array in results]
            pieces.append((rest[kept], path, results))
            rest = rest[~ok]
        if len(pieces) == 1:
            _, path, results = pieces[0]
            return path.build(
                [p.of_tensor(xp, rows, shape) for p, rows in zip(path.parts, results, strict=True)], shape
            )
        separate = []
        for where, path, results in pieces:
            parts = [p.of_tensor(xp, rows, (len(where),)) for p, rows in zip(path.parts, results, strict=True)]
            separate.append(path.build(parts, (len(where),)))
        return _joined(xp, separate, np.argsort(np.concatenate([where for where, _, _ in pieces])), shape)

    @staticmethod
    def _numeric(value: Any) -> Any:
        if isinstance(value, Multivector):
            return value.algebra.new(value.keys, np.array(_numbers(value.coefficients), dtype=np.float64))
        return _numbers(value) if is_tensor(value) else value


def _joined(xp: Any, results: Sequence[Any], order: Any, shape: tuple[int, ...]) -> Any:
    """Return the results of several paths, each a batch, as one: the elements in an order, with the axes of a shape."""
    first = results[0]
    parts = fields_of(first)
    if parts is not None:
        columns = zip(*(fields_of(result) or [] for result in results), strict=True)
        return of_fields(type(first), [_joined(xp, column, order, shape) for column in columns])
    if isinstance(first, Multivector):
        if any(A.keys is not first.keys for A in results):
            raise _NotSpecializedError("elements of several kinds")
        return first.algebra.new_tensor(first.keys, _joined(xp, [A.coefficients for A in results], order, shape))
    like = next((array for array in results if is_tensor(array)), None)
    if like is not None:  # what is constant along one path need not be along another
        same = [x if is_tensor(x) else xp.asarray(x, dtype=like.dtype, device=like.device) for x in results]
        rows = xp.take(xp.concat(same, axis=0), xp.asarray(order), axis=0)
        return xp.reshape(rows, (*shape, *rows.shape[1:]))
    if isinstance(first, np.ndarray):
        rows = np.concatenate(results)[order]
        return rows.reshape(*shape, *rows.shape[1:])
    return first


def _numbers(array: Any) -> Any:
    """Return a tensor's values as an array of NumPy."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
    return np.asarray(array)


def _of_numbers(program: Program, title: str) -> Callable[[list[Any]], Any]:
    """Return the code of a path for Python's numbers: components of arguments to those of results, or None."""
    kernel = _kernel_of(python_source(program, title), {f"_{name}": function for name, function in PYTHON.items()})

    def run(leaves: list[Any]) -> Any:
        try:
            return kernel(*leaves)
        except (ArithmeticError, ValueError):  # what NumPy computes as infinite or NaN
            return None

    return run


def _of_library(program: Program, title: str) -> Callable[..., Any]:
    """Return the code of a path for tensors: a namespace and arguments to results and, last, the guards' conditions."""
    flags = (*program.outputs, Output(program.guards, True))
    return _kernel_of(tensor_source(program._replace(outputs=flags), title), {})


_CODE = {"python": _of_numbers, "tensor": _of_library}


def _kernel_of(source: str, names: dict[str, Any]) -> Any:
    exec(compile(source, "<specialized>", "exec"), names)  # generated here, from names made here
    return names["kernel"]


def _loop(program: Program, parts: list[Part], title: str) -> FusedKernel:
    """Return the loop of a path over a batch, compiled when it is first called."""
    every = sum(1 << k for k, source in enumerate(program.inputs) if source.batched)
    precision = np.dtype(program.precision)
    wide: Any = [part._replace(shape_from=every, dtype=precision) for part in parts]
    dtypes = [precision] * len(program.inputs)
    kernel = FusedKernel(Traced(program, dtypes, wide, lambda results: results, title), True, "numba")
    if sum(kernel.operations) > MOST_OPERATIONS:
        raise _NotSpecializedError
    return kernel


def _structure(
    trace: ExampleTrace, result: Any, plain: Any, parts: list[Part], refs: list[tuple[int, ...]]
) -> Callable[..., Any]:
    """Append the traced parts of a result and their nodes; return how to put such parts together, with a batch shape.

    Raises where the result of the function itself, ``plain``, is another one.
    """
    is_mv = isinstance(plain, Multivector)
    if is_mv or (isinstance(plain, np.ndarray | np.generic | float) and not isinstance(plain, np.str_)):
        values = plain.coefficients if is_mv else np.asarray(plain)
        own = result.coefficients if is_mv else result
        array = np.asarray(own, dtype=object)
        if (is_mv and result.keys is not plain.keys) or array.shape != values.shape:
            raise _NotSpecializedError
        if not isinstance(result, ExampleMultivector) and not any(isinstance(x, TracedScalar) for x in array.flat):
            found = np.asarray(array, dtype=values.dtype)
            if not np.array_equal(found, values, equal_nan=values.dtype.kind == "f"):
                raise _NotSpecializedError
            return lambda results, shape: _constant(plain, shape)
        if values.dtype.kind not in "fb":
            raise _NotSpecializedError
        scalars = [trace.scalar(x) for x in array.ravel().tolist()]
        found = np.array([trace.value(x.ref) for x in scalars]).reshape(values.shape)
        limit = AGREEMENT * np.abs(values).max(initial=0) if values.dtype.kind == "f" else 0
        if not (abs(found - values.astype(float)) <= limit).all():
            raise _NotSpecializedError
        k = len(parts)
        kind = np.bool_ if values.dtype.kind == "b" else None if is_mv or values.ndim else type(plain)
        algebra, keys = (plain.algebra, plain.keys) if is_mv else (None, None)
        if kind is np.ndarray:
            kind = None
        parts.append(Part(algebra, keys, values.shape, values.size, values.dtype, 0, kind))
        refs.append(tuple(x.ref for x in scalars))
        return lambda results, shape: results[k]
    fields = fields_of(plain)
    if fields is not None:
        pairs = zip(fields_of(result) or [], fields, strict=True)
        builders = [_structure(trace, traced_field, field, parts, refs) for traced_field, field in pairs]
        return lambda results, shape: of_fields(type(plain), [build(results, shape) for build in builders])
    if isinstance(plain, Algebra) or result == plain:
        return lambda results, shape: _constant(plain, shape)
    raise _NotSpecializedError


def _constant(value: Any, shape: tuple[int, ...]) -> Any:
    """Return what is the same for all elements of a batch, for each of them."""
    if not shape or isinstance(value, Algebra):
        return value
    if isinstance(value, Multivector):
        return value.algebra.new(value.keys, np.array(np.broadcast_to(value.coefficients, (*shape, value.keys.size))))
    if isinstance(value, np.ndarray | np.generic | str | int | float):
        return np.array(np.broadcast_to(value, (*shape, *np.shape(value))))
    return value


def _same_form(a: Any, b: Any) -> bool:
    """Tell whether two results have the same structure, keys, shapes and kinds of numbers."""
    parts = fields_of(a)
    if parts is not None:
        return all(map(_same_form, parts, fields_of(b) or [None] * len(parts)))
    if isinstance(a, Multivector):
        return a.keys is b.keys and a.shape == b.shape
    kinds = [getattr(x, "dtype", np.dtype(object)) for x in (a, b)]
    return np.shape(a) == np.shape(b) and (kinds[0] == kinds[1] or kinds[0].kind == kinds[1].kind == "U")


def specialized(static: Sequence[str] = (), **axes: int) -> Callable[[_Function], _Function]:
    """Return a decorator for functions of one object and of batches: see the module.

    Parameters
    ----------
    static : sequence of str
        Names of positional arguments that are part of the code; keyword-only ones always are.
    **axes
        How many axes one object has, of arguments that are arrays: 1 for coordinates, 2 for matrices.
    """

    def decorate(function: _Function) -> _Function:
        specialization = Specialization(function, axes, static)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return specialization(args, kwargs)

        call.specialization = specialization  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate
