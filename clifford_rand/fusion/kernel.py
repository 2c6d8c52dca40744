"""One compiled function: what it takes of its arguments, the loop over samples, and what it makes of the results."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import cached_property, for_each_slice
from clifford_rand.fusion.codegen import Operations, Program, array_source, count_operations, loop_source
from clifford_rand.fusion.loops import ArrayLoop, CompiledLoop, MachineLoop
from clifford_rand.fusion.vector_code import is_written
from clifford_rand.machine.compiled import target

TOGETHER = 64  # samples that are not divided between threads: whole registers and lines of the cache
THREADS_FROM = 2**20  # cycles for each thread: 0.3 ms, of which eight operations or one number moved take one

Shape = tuple[int, ...]
Failed = bool | NDArray[Any]


class Result(NamedTuple):
    """A multivector or scalar (``keys`` None) of the results; ``shape_from`` has the bits of its arguments."""

    algebra: Any
    keys: Any
    size: int
    dtype: np.dtype
    shape_from: int

    def wrap(self, rows: NDArray[Any], shape: Shape) -> Any:
        """Return it from its components (size, samples)."""
        array = rows.T if len(shape) == 1 else np.moveaxis(rows.reshape(self.size, *shape), 0, -1)
        if self.keys is not None:
            return self.algebra.new(self.keys, array)
        return array[..., 0][()]


class FusedKernel:
    """The code of a function for some keys, dtypes and batch axes.

    ``source`` is the code, written for one sample after the other, and ``operations`` counts what it computes for one.
    """

    def __init__(
        self,
        program: Program,
        dtypes: list[np.dtype],
        results: list[Result],
        build: Callable[[list[Any]], Any],
        many: bool,
        backend: str,
        title: str,
    ) -> None:
        self.program, self.results, self.backend, self.title = program, results, backend, title
        self._build = build  # puts the results into what the function returns
        self._inputs = [(one, dtype) for one, dtype in zip(program.inputs, dtypes, strict=True)]
        self._dtypes = [None if one.is_number else dtype for one, dtype in self._inputs]
        self._places = [k for k, one in enumerate(program.inputs) if one.batched]
        self._batched = sum(1 << k for k in self._places)
        self._outputs = [(one, bool(one.shape_from & self._batched)) for one in results]
        self._single = not many
        self._flagged = any(program.graph.sources[abs(ref)] & self._batched for ref in program.guards)
        self.operations: Operations = count_operations(program)
        moved = sum(len(one.labels) for one in program.inputs) + sum(one.size for one in results)
        self._least = max(1, THREADS_FROM // (sum(self.operations) // 8 + moved) // TOGETHER)
        real = all(dtype.kind == "f" for dtype in (*dtypes, *(one.dtype for one in results)))
        self.function: Any
        if backend == "numpy":
            self.function = ArrayLoop(self.source)
        elif real and is_written(program) and (own := target()) is not None:
            self.function = MachineLoop(program, own)
        else:
            self.function = CompiledLoop(self.source, program.precision)

    @cached_property
    def source(self) -> str:
        """The code."""
        return (array_source if self.backend == "numpy" else loop_source)(self.program, self.title)

    def __call__(self, leaves: list[Any]) -> tuple[Failed, Any]:
        """Return in which samples a guard failed (an array of their batch axes, or one answer), and the result.

        Leaves are numbers, and arrays (..., components) of multivectors and scalars.
        """
        if self._single:
            return self._one(leaves)
        shapes = {k: leaves[k].shape[:-1] for k in self._places}
        distinct = set(shapes.values())
        shape: Shape = distinct.pop() if len(distinct) == 1 else np.broadcast_shapes(*distinct)
        count = math.prod(shape)
        arguments: list[Any] = []
        for leaf, (one, dtype) in zip(leaves, self._inputs, strict=True):
            if one.is_number:
                arguments.append(leaf)
            else:
                arguments.append(_rows(leaf, dtype, shape, count) if one.batched else leaf.astype(dtype, copy=False))
        out = [np.empty((one.size, count) if wide else one.size, one.dtype) for one, wide in self._outputs]
        flags = self.function.flags(count) if self._flagged else None
        if count < 2 * self._least * TOGETHER or self.backend == "numpy":
            failed = self.function(arguments, out, flags, 0, count)
        else:
            failed = self._on_threads(arguments, out, flags, count)
        if failed > 1:
            return True, None
        pairs = zip(self.results, out, strict=True)
        result = self._build([self._finished(one, rows, shape, shapes) for one, rows in pairs])
        if not failed or flags is None:
            return False, result
        return flags.reshape(-1)[:count].reshape(shape) != 0, result

    def _one(self, leaves: list[Any]) -> tuple[Failed, Any]:
        """Do the same for arguments without batch axes: one sample."""
        arguments = [
            leaf if dtype is None else (leaf if leaf.dtype == dtype else leaf.astype(dtype))[:, None]
            for leaf, dtype in zip(leaves, self._dtypes, strict=True)
        ]
        out = [np.empty(one.size, one.dtype) for one in self.results]
        columns = [rows[:, None] if wide else rows for rows, (_, wide) in zip(out, self._outputs, strict=True)]
        if self.function(arguments, columns, None, 0, 1):
            return True, None
        results = [
            rows[0] if one.keys is None else one.algebra.new(one.keys, rows)
            for one, rows in zip(self.results, out, strict=True)
        ]
        return False, self._build(results)

    def _on_threads(self, arguments: list[Any], out: list[Any], flags: Any, count: int) -> int:
        found: list[int] = []

        def work(part: slice) -> None:
            stop = min(part.stop * TOGETHER, count)
            found.append(self.function(arguments, out, flags, part.start * TOGETHER, stop))

        for_each_slice(work, -(-count // TOGETHER), least=self._least)
        return max(found)

    def _finished(self, one: Result, rows: NDArray[Any], shape: Shape, shapes: dict[int, Shape]) -> Any:
        """Return one result with the batch axes of the arguments that it comes from."""
        if not one.shape_from & self._batched:
            return one.wrap(rows[:, None], ())
        own = np.broadcast_shapes(*(kept for k, kept in shapes.items() if one.shape_from >> k & 1))
        if own != shape:  # the same for samples that differ in other arguments only
            kept = (slice(0, 1) if size == 1 else slice(None) for size in own)
            index: tuple[Any, ...] = (slice(None), *(0,) * (len(shape) - len(own)), *kept)
            rows = rows.reshape(one.size, *shape)[index].reshape(one.size, math.prod(own))
        return one.wrap(rows, own)


def _rows(array: NDArray[Any], dtype: np.dtype, shape: Shape, count: int) -> NDArray[Any]:
    """Return (..., size) components as (size, samples), C-contiguous."""
    if array.ndim == 2 and len(shape) == 1 and array.shape[0] == count:
        return np.ascontiguousarray(array.T, dtype)
    size = array.shape[-1]
    full = array if array.shape[:-1] == shape else np.broadcast_to(array, (*shape, size))
    return np.ascontiguousarray(np.moveaxis(full, -1, 0).reshape(size, count), dtype)
