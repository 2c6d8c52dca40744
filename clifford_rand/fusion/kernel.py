"""Fused functions as code: kernels for samples by NumPy or Numba, and what their results are."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import cached_property
from clifford_rand.basis.keys import union
from clifford_rand.compiler.graph import Operations, Program, count_operations
from clifford_rand.compiler.loops import SAMPLES_TOGETHER, LazyLoop, read_only, run_loop
from clifford_rand.compiler.source import array_source
from clifford_rand.multivector.multivector import Multivector

THREADS_FROM = 2**20  # cycles for each thread: 0.3 ms, of which eight operations or one number moved take one
CONTRACTED_FROM = 2**9  # samples of a batch that is compiled at its first call

Shape = tuple[int, ...]
Places = tuple[NDArray[Any], ...]  # one array of indices for each batch axis
Failed = bool | NDArray[Any]


class Result(NamedTuple):
    """A multivector, scalar or array (``keys`` None) of the results, for one sample of a ``shape``.

    ``shape_from`` has the bits of its arguments, and ``kind`` makes a scalar that is not a float.
    """

    algebra: Any
    keys: Any
    shape: Shape
    dtype: np.dtype
    shape_from: int
    kind: Any = None

    @property
    def size(self) -> int:
        """The number of components."""
        return math.prod(self.shape)

    def maker(self) -> Callable[[list[Any]], Any]:
        """Return the function that makes it of a list of components."""
        shape, dtype, keys, array = self.shape, self.dtype, self.keys, np.array
        if not shape:
            kind = float if self.kind is None else self.kind
            return lambda row: kind(row[0])
        if keys is None:
            return (lambda row: array(row, dtype)) if len(shape) == 1 else lambda row: array(row, dtype).reshape(shape)
        new = self.algebra.new
        if len(shape) == 1:
            return lambda row: new(keys, array(row, dtype))
        return lambda row: new(keys, array(row, dtype).reshape(shape))

    def wrap(self, rows: NDArray[Any], shape: Shape) -> Any:
        """Return it from its components (size, samples)."""
        array = rows.T if len(shape) == 1 else np.moveaxis(rows.reshape(self.size, *shape), 0, -1)
        return self._wrapped(np, array, shape)

    def of_tensor(self, xp: Any, rows: Any, shape: Shape) -> Any:
        """Return it from a tensor (samples, size)."""
        return self._wrapped(xp, xp.reshape(rows, (*shape, self.size)), shape)

    def _wrapped(self, xp: Any, array: Any, shape: Shape) -> Any:
        array = array != 0 if self.kind is np.bool_ else array
        if not self.shape:
            return array[..., 0][()]
        array = array if len(self.shape) == 1 else xp.reshape(array, (*shape, *self.shape))
        return array if self.keys is None else self.algebra.new(self.keys, array)


class Traced(NamedTuple):
    """A traced function: its program, the dtypes of the arguments, the results, and what they are put into."""

    program: Program
    dtypes: list[np.dtype]
    results: list[Result]
    build: Callable[[list[Any]], Any]
    title: str


class FusedKernel:
    """The code of a function for some keys, dtypes and batch axes; ``many`` tells whether any argument has such.

    ``source`` is the code, written for one sample after the other, and ``operations`` counts what it computes for one.
    """

    def __init__(self, traced: Traced, many: bool, backend: str) -> None:
        program = self.program = traced.program
        self.title, self._results, self._build = traced.title, traced.results, traced.build
        self._arguments = [
            (argument.is_number, argument.batched, dtype)
            for argument, dtype in zip(program.inputs, traced.dtypes, strict=True)
        ]
        self._places = [k for k, argument in enumerate(program.inputs) if argument.batched]
        batched = sum(1 << k for k in self._places)
        self._outputs = [(result.size, bool(result.shape_from & batched), result.dtype) for result in traced.results]
        # a result that comes from all batched arguments has the shape of the loop itself
        self._is_whole = [result.shape_from & batched == batched for result in traced.results]
        self._many, self._by_numpy = many, backend == "numpy"
        self._has_flags = any(program.graph.sources[abs(ref)] & batched for ref in program.guards)
        self.operations: Operations = count_operations(program)
        moved = sum(len(source.labels) for source in program.inputs) + sum(result.size for result in traced.results)
        least = max(1, THREADS_FROM // (sum(self.operations) // 8 + moved) // SAMPLES_TOGETHER)
        self._threads_from = 2 * least * SAMPLES_TOGETHER
        self._lazy = LazyLoop(program, traced.title, CONTRACTED_FROM)

    @cached_property
    def source(self) -> str:
        """The code."""
        return array_source(self.program, self.title) if self._by_numpy else self._lazy.source

    def __call__(self, leaves: list[Any]) -> tuple[Failed, Any]:
        """Return in which samples a guard failed (an array of their batch axes, or one answer), and the result.

        Leaves are numbers, and arrays (..., components) of multivectors and scalars.
        """
        if not self._many:
            return self._one_sample(leaves)
        shapes = [leaves[k].shape[:-1] for k in self._places]
        shape: Shape = shapes[0]
        for argument_shape in shapes:
            if argument_shape != shape:
                shape = np.broadcast_shapes(*shapes)
                break
        count = math.prod(shape)
        arguments: list[Any] = []
        for leaf, (is_number, is_batched, dtype) in zip(leaves, self._arguments, strict=True):
            if is_number:
                arguments.append(leaf)
            elif is_batched:
                arguments.append(_rows(leaf, dtype, shape, count))
            else:
                arguments.append(read_only(leaf.astype(dtype, copy=False)))
        out = [np.empty((size, count) if is_wide else size, dtype) for size, is_wide, dtype in self._outputs]
        flags = np.empty((1, count if self._has_flags else 1), self.program.precision)
        loop = self._lazy.by_numpy if self._by_numpy else self._lazy.at(count)
        failed = run_loop(loop, (*arguments, *out, flags), count, self._threads_from)
        if failed > 1:
            return True, None
        result = self._build(
            [
                result.wrap(rows, shape) if is_whole else self._of_fewer(result, rows, shape, shapes)
                for result, rows, is_whole in zip(self._results, out, self._is_whole, strict=True)
            ]
        )
        return (flags[0].reshape(shape) != 0 if failed else False), result

    def _one_sample(self, leaves: list[Any]) -> tuple[Failed, Any]:
        """Do the same for arguments without batch axes."""
        arguments = [
            leaf if is_number else read_only((leaf if leaf.dtype == dtype else leaf.astype(dtype))[:, None])
            for leaf, (is_number, _, dtype) in zip(leaves, self._arguments, strict=True)
        ]
        out = [np.empty((size, 1) if is_wide else size, dtype) for size, is_wide, dtype in self._outputs]
        flags = np.empty((1, 1), self.program.precision)
        loop = self._lazy.by_numpy if self._by_numpy else self._lazy.at(1)
        if loop(*arguments, *out, flags, 0, 1):
            return True, None
        parts = [
            rows.flat[0] if result.keys is None else result.algebra.new(result.keys, rows.reshape(-1))
            for result, rows in zip(self._results, out, strict=True)
        ]
        return False, self._build(parts)

    def _of_fewer(self, result: Result, rows: NDArray[Any], shape: Shape, shapes: list[Shape]) -> Any:
        """Return a result with the batch axes of the arguments that it comes from, which are not all."""
        own = [kept for k, kept in zip(self._places, shapes, strict=True) if result.shape_from >> k & 1]
        if not own:
            return result.wrap(rows[:, None], ())
        own_shape = np.broadcast_shapes(*own)
        if own_shape != shape:  # the same for samples that differ in other arguments only
            kept = (slice(0, 1) if size == 1 else slice(None) for size in own_shape)
            index: tuple[Any, ...] = (slice(None), *(0,) * (len(shape) - len(own_shape)), *kept)
            rows = rows.reshape(result.size, *shape)[index].reshape(result.size, math.prod(own_shape))
        return result.wrap(rows, own_shape)


def _rows(array: NDArray[Any], dtype: np.dtype, shape: Shape, count: int) -> NDArray[Any]:
    """Return (..., size) components as (size, samples), C-contiguous and read-only."""
    if array.ndim == 2 and len(shape) == 1 and array.shape[0] == count:
        return read_only(np.ascontiguousarray(array.T, dtype))
    size = array.shape[-1]
    full = array if array.shape[:-1] == shape else np.broadcast_to(array, (*shape, size))
    return read_only(np.ascontiguousarray(np.moveaxis(full, -1, 0).reshape(size, count), dtype))


# ---- samples that compiled code cannot compute, recomputed by the plain function


def samples_at(value: Any, shape: tuple[int, ...], places: Places, axes: int = 0) -> Any:
    """Return an argument for some samples of a batch; what has no batch axes beside ``axes`` is left as it is."""
    if value.__class__ in (tuple, list):
        return value.__class__(samples_at(part, shape, places) for part in value)
    if isinstance(value, Multivector):
        array = value.coefficients
        new = samples_at(array, shape, places, axes + 1)
        return value if new is array else value.algebra.new(value.keys, new)
    if isinstance(value, np.ndarray) and value.ndim > axes:
        return np.broadcast_to(value, (*shape, *value.shape[value.ndim - axes :]))[places]
    return value


def fields_of(value: Any) -> list[Any] | None:
    """Return the parts of a tuple, list or dataclass, None of anything else."""
    if isinstance(value, tuple | list):
        return list(value)
    return [getattr(value, f.name) for f in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else None


def of_fields(kind: Any, parts: list[Any]) -> Any:
    """Return a tuple, list or dataclass of some parts."""
    if hasattr(kind, "_make"):
        return kind._make(parts)
    return kind(parts) if issubclass(kind, tuple | list) else kind(*parts)


def replaced_at(result: Any, plain: Any, places: Places) -> Any:
    """Return a result with some samples as the plain function has them, of the blades of both."""
    parts = fields_of(result)
    if parts is not None:
        pairs = zip(parts, fields_of(plain) or [], strict=True)
        return of_fields(type(result), [replaced_at(part, plain_part, places) for part, plain_part in pairs])
    if isinstance(result, Multivector) and result.ndim:
        keys = union(result.keys, plain.keys)
        dtype = np.result_type(result.dtype, plain.dtype)
        rows = np.zeros((keys.size, *result.shape), dtype)
        values = np.moveaxis(rows, 0, -1)
        values[..., keys.place(result.keys)] = result.coefficients
        new = np.zeros((*plain.shape, keys.size), dtype)
        new[..., keys.place(plain.keys)] = plain.coefficients
        values[_own(places, result.shape)] = new
        return result.algebra.new(keys, values)
    if isinstance(result, np.ndarray) and result.ndim:
        values = result.astype(np.result_type(result, plain))
        values[_own(places, result.shape)] = plain
        return values
    return result


def _own(places: Places, shape: tuple[int, ...]) -> Places:
    """Return the places in the batch axes of a result that are fewer, or of size 1; axes of its own come after."""
    own = shape[: len(places)]
    last = places[len(places) - len(own) :]
    return tuple(place if size > 1 else np.zeros_like(place) for place, size in zip(last, own, strict=True))
