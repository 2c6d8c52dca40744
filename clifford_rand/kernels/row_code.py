"""Straight-line functions of rows as machine code: rows in, rows out, and whether a condition held in all samples.

A function is written by computing with `Row`s once, in place of numbers or arrays. Each operation is one LLVM
instruction on a register of samples, so nothing is left to be vectorized: some hundred operations are compiled in ten
milliseconds, operands are read once and results written once, and all between stays in registers.
"""

import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import for_each_slice
from clifford_rand.kernels.ordered import Table, merged
from clifford_rand.machine.compiled import Target, target
from clifford_rand.machine.loop import Loop, Operand

TOGETHER = 64  # samples that are not divided between threads: whole registers
COMPILE = 2**16  # products × samples before a function is compiled: a batch that was computed a few times comes again
COMPILE_PRODUCT = 2**11  # and more for each product in it; both are an eighth of what NumPy does in that time, at most
CALL = 2**11  # products in the time of a call
LOAD = 2**23  # the same with the load of LLVM, which takes 0.1 s
THREADS_FROM = 2**24  # instructions × samples for each thread: 0.3 ms


class Row:
    """The samples of one component, or what was computed of them."""

    __slots__ = ("name", "writer")

    def __init__(self, writer: "Writer", name: str) -> None:
        self.writer = writer
        self.name = name

    def _by(self, operation: str, other: "Row | float", swapped: bool = False) -> "Row":
        name = self.writer.name_of(other)
        return Row(self.writer, self.writer.binary(operation, *((name, self.name) if swapped else (self.name, name))))

    def __add__(self, other: "Row | float") -> "Row":
        return self._by("fadd", other)

    def __radd__(self, other: float) -> "Row":
        return self._by("fadd", other, True)

    def __sub__(self, other: "Row | float") -> "Row":
        return self._by("fsub", other)

    def __mul__(self, other: "Row | float") -> "Row":
        return self._by("fmul", other)

    def __rmul__(self, other: float) -> "Row":
        return self._by("fmul", other, True)

    def __truediv__(self, other: "Row | float") -> "Row":
        return self._by("fdiv", other)

    def __rtruediv__(self, other: float) -> "Row":
        return self._by("fdiv", other, True)

    def __neg__(self) -> "Row":
        return Row(self.writer, self.writer.new(f"fneg {self.writer.vector} {self.name}"))

    def __abs__(self) -> "Row":
        return Row(self.writer, self.writer.call("fabs", self.name))

    def sqrt(self) -> "Row":
        """Return the roots."""
        return Row(self.writer, self.writer.call("sqrt", self.name))

    def require_above(self, other: "Row | float") -> None:
        """Let the function say no where this is not above ``other``, NaN included."""
        self.writer.require("ogt", self, other)

    def require_at_most(self, other: "Row | float") -> None:
        """Let the function say no where this is above ``other``, NaN included."""
        self.writer.require("ole", self, other)


class Writer(Loop):
    """One function: ``operands`` are the rows of its arguments, `store` makes those of its result.

    Each operation is rounded by itself, unless ``own`` is `fusing`: before a function is compiled NumPy computes
    the same bits.
    """

    def __init__(self, own: Target, dtype: np.dtype, *rows: int) -> None:
        super().__init__(dtype, own.register, [Operand(n) for n in rows], [True])
        self.target, self.fused = own, own.fused
        self.stored = 0
        self.operands = [[Row(self, self.read(self.row(f"a{k}", row))) for row in range(n)] for k, n in enumerate(rows)]

    def sum(self, rows: Sequence[Row], signs: Sequence[float] | None = None) -> Row:
        """Return the sum of rows, each with the sign of a number; 0 leaves it out."""
        chosen = [
            (row, sign > 0) for row, sign in zip(rows, [1] * len(rows) if signs is None else signs, strict=True) if sign
        ]
        if not chosen:
            return Row(self, self.literal(0, True))
        total = chosen[0][0] if chosen[0][1] else -chosen[0][0]
        for row, plus in chosen[1:]:
            total = total + row if plus else total - row
        return total

    def combined(self, table: Table, a: Sequence[Row], b: Sequence[Row]) -> list[Row]:
        """Return the rows Σ coef a[left] b[right] of a product table (indptr, left, right, coef)."""
        indptr, left, right, coef = (part.tolist() for part in (merged(table) if a is b else table))
        rows = []
        for start, stop in itertools.pairwise(indptr):
            signed = [
                (a[i] * b[j], c) for i, j, c in zip(left[start:stop], right[start:stop], coef[start:stop], strict=True)
            ]
            rows.append(self.sum([row if abs(c) == 1 else row * abs(c) for row, c in signed], [c for _, c in signed]))
        return rows

    def require(self, comparison: str, a: Row, b: Row | float) -> None:
        """Write a condition that all samples must meet."""
        self.conditions.append(self.compare(comparison, a.name, self.name_of(b)))

    def name_of(self, value: Row | float) -> str:
        """Return a row, or a number as one."""
        return value.name if isinstance(value, Row) else self.literal(value, True)

    def store(self, row: Row) -> None:
        """Write the next row of the result."""
        self.write(0, row.name)
        self.stored += 1


class RowFunction:
    """A compiled function of arrays (rows, N); the machine code lives as long as this."""

    def __init__(self, written: Writer) -> None:
        self.rows, self.width = written.stored, written.lanes
        self.least = TOGETHER + THREADS_FROM // len(written.lines)
        self._function = written.compile(written.target)
        self._call = self._function.call

    def all(self, *operands: NDArray[Any]) -> NDArray[Any] | None:
        """Return the rows (rows, N) of the result, None where the conditions did not hold in all samples."""
        out = np.empty((self.rows, operands[0].shape[1]), dtype=operands[0].dtype)
        return out if self(operands, out) else None

    def marked(self, *operands: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the rows (rows, N) of the result, and in which samples all conditions held."""
        n = operands[0].shape[1]
        out = np.empty((self.rows, n), dtype=operands[0].dtype)
        flags = np.zeros(n + self.width, dtype=np.uint8)
        self(operands, out, flags)
        return out, flags[:n] == 0

    def __call__(self, operands: Sequence[NDArray[Any]], out: NDArray[Any], flags: NDArray[Any] | None = None) -> bool:
        """Write all samples of ``out`` (rows, N), and tell whether all conditions held.

        Operands and ``out`` are of one dtype, each row contiguous; ``out`` overlaps none of them. The GIL is free.
        ``flags``, a byte for each sample and a register more, become 1 where a condition failed.
        """
        n = out.shape[1]
        places = (*map(id, operands), id(out), 0 if flags is None else flags.ctypes.data)
        if n < 2 * self.least:
            return not self._call(*places, 0, n)
        failed: list[int] = []
        for_each_slice(lambda part: failed.append(self._call(*places, part.start, part.stop)), n, least=self.least)
        return not any(failed)


class Rented:
    """A function that is compiled for a dtype once the work that it stands for has cost as much.

    One batch whose work costs as much gets a function of its own, which rounds otherwise: there a product and a sum are
    one instruction. The size of a batch alone decides which of both it is.
    """

    def __init__(self, write: Callable[[Target, np.dtype], Writer], work: int) -> None:
        """``write`` a function whose ``work`` is a number of products for each sample."""
        self._write = write
        self._work = work
        self._done = 0
        self._made: dict[Any, RowFunction] = {}

    def function(self, dtype: np.dtype, samples: int, faster: int = 1) -> RowFunction | None:
        """Return the function, None as long as ``samples`` are better computed by other ways, or must be.

        These take ``faster`` times less than NumPy.
        """
        alone = samples * self._work >= LOAD + COMPILE_PRODUCT * self._work
        found = self._made.get((dtype, alone))
        if found is not None:
            return found
        if not alone and not self._paid(samples * self._work // faster + CALL):
            return None
        own = target()
        if own is None:
            return None
        written = self._write(own.fusing() if alone else own, dtype)
        return self._made.setdefault((dtype, alone), RowFunction(written))

    def _paid(self, work: int) -> bool:
        """Tell whether NumPy has cost as much, with ``work`` of this call, as to compile."""
        self._done += work
        load = COMPILE if "llvmlite.binding" in sys.modules else LOAD
        return self._done >= load + COMPILE_PRODUCT * self._work
