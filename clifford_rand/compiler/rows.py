"""Straight-line functions of rows, the components of a batch: sums of products, and conditions on every sample.

A function is written once, by computing with traced scalars in place of rows; by what it becomes a loop, `LazyLoop`
says. Operands are read once, results are written once, and all between stays in registers.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import for_each_slice
from clifford_rand.compiler.graph import Input, Output, Program
from clifford_rand.compiler.loops import LazyLoop, read_only
from clifford_rand.compiler.scalar import Trace, TracedScalar

SAMPLES_TOGETHER = 64  # that are not divided between threads: whole registers and lines of the cache
THREADS_FROM = 2**23  # operations × samples for each thread: 0.3 ms

Table = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
Rows = Sequence[TracedScalar]
Write = Callable[..., list[TracedScalar]]


class TracedRows(NamedTuple):
    """A function of rows of one dtype."""

    loop: LazyLoop
    rows: int  # of the result
    has_conditions: bool
    threads_from: int  # samples


class RowFunction:
    """A function of arrays (rows, N) of one floating dtype, which is traced at the first call with that dtype."""

    def __init__(self, write: Write, *rows: int) -> None:
        """``write(trace, *operands)`` returns the rows of the result; ``rows`` are the numbers of the operands'."""
        self._write, self._rows = write, rows
        self._traced: dict[np.dtype, TracedRows] = {}

    def loop(self, dtype: np.dtype) -> LazyLoop:
        """Return the loop for a dtype."""
        return self._of(dtype).loop

    def all(self, *operands: NDArray[Any]) -> NDArray[Any] | None:
        """Return the rows (rows, N) of the result, None where the conditions did not hold in all samples."""
        out, _, failed = self._run(operands)
        return None if failed else out

    def marked(self, *operands: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the rows (rows, N) of the result, and in which samples all conditions held."""
        out, flags, _ = self._run(operands)
        return out, flags[0] == 0

    def _run(self, operands: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any], bool]:
        n, dtype = operands[0].shape[1], operands[0].dtype
        traced = self._of(dtype)
        loop = traced.loop.at(n)
        out, flags = np.empty((traced.rows, n), dtype), np.empty((1, n if traced.has_conditions else 1), dtype)
        rows = [read_only(operand) for operand in operands]
        if n < traced.threads_from:
            return out, flags, bool(loop(*rows, out, flags, 0, n))
        failed: list[int] = []
        least = traced.threads_from // 2
        for_each_slice(lambda part: failed.append(loop(*rows, out, flags, part.start, part.stop)), n, least=least)
        return out, flags, any(failed)

    def _of(self, dtype: np.dtype) -> TracedRows:
        traced = self._traced.get(dtype)
        if traced is not None:
            return traced
        trace = Trace(dtype)
        inputs, operands = [], []
        for k, count in enumerate(self._rows):
            inputs.append(Input(tuple(f"{'abcdefgh'[k]}{row}" for row in range(count)), True, False))
            operands.append([TracedScalar(trace, trace.graph.input(k, row, True), 1 << k) for row in range(count)])
        results = self._write(trace, *operands)
        output = Output(tuple(row.ref for row in results), True)
        loop = LazyLoop(Program(trace.graph, tuple(inputs), (output,), tuple(trace.guards), dtype), "Rows of a batch")
        least = SAMPLES_TOGETHER + THREADS_FROM // max(1, loop.operations)
        return self._traced.setdefault(dtype, TracedRows(loop, len(results), bool(trace.guards), 2 * least))


def table_rows(trace: Trace, table: Table, a: Rows, b: Rows) -> list[TracedScalar]:
    """Return the rows Σ coef a[left] b[right] of a product table (indptr, left, right, coef), in its order."""
    indptr, left, right, coef = (part.tolist() for part in table)
    rows = []
    for start, stop in itertools.pairwise(indptr):
        terms = [a[i] * b[j] * c for i, j, c in zip(left[start:stop], right[start:stop], coef[start:stop], strict=True)]
        rows.append(total(trace, terms))
    return rows


def total(trace: Trace, rows: Rows) -> TracedScalar:
    """Return the sum of rows, from the first to the last."""
    result = trace.scalar(0)
    for row in rows:
        result = result + row
    return result
