"""Programs as loops over samples: NumPy's functions of whole arrays at first, machine code where that pays.

Each loop is called with the arguments and results as arrays (components, samples), (components,) or numbers, a row of
flags where guards may fail (or None), and the first sample and the one after the last. It returns 0; 1 if guards failed
in some samples, whose flags are then 1; 2 or 3 if one failed that is the same for all.

A function is written once, by computing with traced scalars in place of rows; by what it becomes a loop, `LazyLoop`
says. Operands are read once, results are written once, and all between stays in registers.

The coefficients of results that are linear in what differs between samples are computed once, before the loop. One
motor and many points: R x ~R is written as two products, but its coefficients are sums of products of R alone. As a
matrix it takes 30 multiplications a point in CGA(3) instead of 176.
"""

import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import cached_property, for_each_slice
from clifford_rand.compiler.decorator import compile_source, has_compiler, is_cached, kernel_of
from clifford_rand.compiler.graph import ARITHMETIC, Graph, Input, Output, Program, count_operations, needed, signed
from clifford_rand.compiler.scalar import Trace, TracedScalar
from clifford_rand.compiler.source import array_source, loop_source

# Nanoseconds on one core
NUMPY_CALL = 500  # of one operation on few samples; on more, one sample takes one
# of one operation by Numba: an eighth of what it takes, as later processes have its code from the disk
COMPILE = 400_000
LOAD = 400_000_000  # of Numba itself, once a process
MAX_OPERATIONS = 3000  # of one loop: Numba takes 10 s for them

CHUNK = 2**12  # samples of NumPy's loop, whose temporaries then stay in the second-level cache

# Operations that NumPy and machine code round alike. Others are functions of the mathematical library.
EXACT = frozenset(
    {"input", "constant", "add", "mul", "reciprocal", "where", "and", "or", "pow2", "abs", "sqrt", "rint", "floor"}
) | {"lt", "le", "eq", "ne"}

Loop = Any  # called as the module's first lines say
_MAX_LINEAR_OPERATIONS = 700  # of all: with more, compiling takes over a second

_Form = dict[int, int]  # node that differs between samples (0: the number 1) -> the coefficient's node
SAMPLES_TOGETHER = 64  # that are not divided between threads: whole registers and lines of the cache
THREADS_FROM = 2**23  # operations × samples for each thread: 0.3 ms
Table = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
Rows = Sequence[TracedScalar]
Write = Callable[..., list[TracedScalar]]


class LazyLoop:
    """The loops of one program: by NumPy until compiling has cost no more than that, then by Numba, with the same bits.

    In batches of ``contracted_from`` samples and more a product and a sum are one instruction, which rounds once: they
    are compiled at their first call, so that the size of a batch alone decides its bits.
    """

    def __init__(self, program: Program, title: str, contracted_from: int | None = None) -> None:
        self.program, self.title, self._contracted_from = program, title, contracted_from
        order, _ = needed(program)
        graph = program.graph
        self.operations = sum(bool(graph.nodes[ref].arguments) for ref in order)
        self._is_exact = all(graph.nodes[ref].operation in EXACT and graph.real[ref] for ref in order)
        self._compile_time, self._numpy_time = float(self.operations * COMPILE), 0.0  # nanoseconds
        self._compiled: dict[bool, Loop] = {}
        self._is_probed = False

    @cached_property
    def source(self) -> str:
        """The code, written for one sample after the other."""
        return loop_source(self.program, self.title)

    @cached_property
    def by_numpy(self) -> Loop:
        """The loop that needs no compiler: NumPy's functions of rows, of some samples at a time."""
        kernel = np.errstate(all="ignore")(kernel_of(array_source(self.program, self.title)))  # where guards fail

        def loop(*arguments: Any) -> int:
            *operands, flags, start, stop = arguments
            result = 0
            for first in range(start, stop, CHUNK):
                part = slice(first, min(first + CHUNK, stop))
                failed = kernel(*(x[:, part] if np.ndim(x) == 2 else x for x in operands))
                if np.ndim(failed) == 0:
                    result |= 2 * bool(failed)
                else:
                    flags[0, part] = failed
                    result |= int(failed.any())
            return result

        return loop

    def at(self, samples: int) -> Loop:
        """Return the loop for a batch of so many samples."""
        contracts = self._contracted_from is not None and samples >= self._contracted_from
        loop = self._compiled.get(contracts)
        if loop is not None:
            return loop
        is_due = contracts or not self._is_exact or self.is_due(self.operations * (samples + NUMPY_CALL))
        if is_due and has_compiler():
            return self._compiled.setdefault(contracts, self._compile(contracts))
        return self.by_numpy

    def is_due(self, nanoseconds: float) -> bool:
        """Tell whether NumPy, with so much for this call, takes the time in which Numba compiles the loop, or loads it.

        Once a loop is compiled it is due for good. Machine code on the disk has its compilation paid.
        """
        if self._compiled:
            return True
        if self.operations > MAX_OPERATIONS:
            return False
        self._numpy_time += nanoseconds
        if self._numpy_time < self._compile_time / 64:
            return False
        if not self._is_probed:
            self._is_probed = True
            if is_cached(self.source):
                self._compile_time = 0.0
        return self._numpy_time >= self._compile_time + (0 if "numba" in sys.modules else LOAD)

    def _compile(self, contracts: bool) -> Loop:
        # a division by zero gives inf or NaN as in NumPy
        options = {"error_model": "numpy"} | ({"fastmath": {"contract"}} if contracts else {})
        return compile_source(self.source, "clifford_rand.compiler.machine_code", **options)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view, as multivectors have: of both kinds there would be two machine codes."""
    if array.flags.writeable:
        array = array.view()
        array.setflags(False)  # type: ignore[call-arg]  # by keyword it takes three times as long
    return array


def run_loop(loop: Loop, arrays: Sequence[Any], samples: int, threads_from: int) -> int:
    """Return what a loop over all samples returns; on threads from so many on, each with a multiple of 64 samples."""
    if samples < threads_from:
        return int(loop(*arrays, 0, samples))
    failed: list[int] = []

    def work(part: slice) -> None:
        stop = min(part.stop * SAMPLES_TOGETHER, samples)
        failed.append(loop(*arrays, part.start * SAMPLES_TOGETHER, stop))

    for_each_slice(work, -(-samples // SAMPLES_TOGETHER), least=threads_from // (2 * SAMPLES_TOGETHER))
    return max(failed)


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
        arrays = [*(read_only(operand) for operand in operands), out, flags]
        return out, flags, bool(run_loop(loop, arrays, n, traced.threads_from))

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


def by_coefficients(program: Program) -> Program:
    """Return the program with linear results by their coefficients, if that leaves less to do for one sample."""
    graph = program.graph
    batch = sum(1 << k for k, source in enumerate(program.inputs) if source.batched)
    order, _ = needed(program)
    if not any(graph.sources[ref] and not graph.sources[ref] & batch for ref in order):
        return program
    forms: dict[int, _Form] = {}
    for ref in order:
        forms[ref] = _form(graph, ref, forms, batch)
    copy = _Copy(graph)  # a graph of its own: this one would find the terms that it has
    outputs = tuple(
        Output(
            tuple(copy.sum(_signed(forms, ref)) if output.batched else copy.node(ref) for ref in output.refs),
            output.batched,
        )
        for output in program.outputs
    )
    guards = tuple(copy.node(ref) for ref in program.guards)
    transformed = program._replace(graph=copy.graph, outputs=outputs, guards=guards)
    if sum(count_operations(transformed)) > _MAX_LINEAR_OPERATIONS:
        return program
    return transformed if _loop_length(transformed, batch) < _loop_length(program, batch) else program


def _form(graph: Graph, ref: int, forms: dict[int, _Form], batch: int) -> _Form:
    """Return a node as a combination of nodes other than sums, with coefficients that are the same for all samples."""
    node = graph.nodes[ref]
    if not graph.sources[ref] & batch:
        return {0: ref}
    if node.operation == "add":
        total = dict(_signed(forms, node.arguments[0]))
        for atom, coefficient in _signed(forms, node.arguments[1]).items():
            total[atom] = graph.add(total.get(atom, 0), coefficient)
        return total
    if node.operation == "mul":
        for own, rest in (node.arguments, node.arguments[::-1]):
            if not graph.sources[own] & batch:
                return {atom: graph.mul(own, held) for atom, held in forms[rest].items()}
    return {ref: graph.constant(1)}


def _signed(forms: dict[int, _Form], ref: int) -> _Form:
    if not ref:
        return {}
    return forms[ref] if ref > 0 else {atom: -held for atom, held in forms[-ref].items()}


class _Copy:
    """Nodes of one graph in another."""

    def __init__(self, graph: Graph) -> None:
        self.source, self.graph = graph, Graph(whole=graph.whole)
        self._held = {0: 0}

    def node(self, ref: int) -> int:
        """Return the copy of a node and of all that it needs."""
        waiting = [abs(ref)]
        while waiting:
            this = waiting[-1]
            arguments = self.source.nodes[this].arguments
            missing = [abs(argument) for argument in arguments if abs(argument) not in self._held]
            if missing and this not in self._held:
                waiting += missing
                continue
            waiting.pop()
            if this not in self._held:
                self._held[this] = self._made(this)
        copied: int = signed(self._held, ref)
        return copied

    def _made(self, ref: int) -> int:
        node = self.source.nodes[ref]
        if node.operation == "constant":
            return self.graph.constant(node.data)
        if node.operation == "input":
            argument, component = node.data
            return self.graph.input(argument, component, self.source.real[ref])
        arguments = [signed(self._held, argument) for argument in node.arguments]
        if node.operation in ARITHMETIC:
            operation: Callable[..., int] = getattr(self.graph, node.operation)
            return operation(*arguments)
        return self.graph.call(node.operation, *arguments)

    def sum(self, form: _Form) -> int:
        """Return Σ coefficient · node."""
        graph = self.graph
        return graph.sum(
            graph.mul(self.node(held), self.node(atom)) if atom else self.node(held) for atom, held in form.items()
        )


def _loop_length(program: Program, batch: int) -> int:
    """Return the number of operations on one sample."""
    graph = program.graph
    return sum(bool(graph.nodes[ref].arguments) and bool(graph.sources[ref] & batch) for ref in needed(program)[0])
