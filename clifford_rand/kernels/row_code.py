"""Straight-line functions of rows as machine code: rows in, rows out, and whether a condition held in all samples.

A function is written by computing with `Row`s once, in place of numbers or arrays. Each operation is one LLVM
instruction on a vector of 64 bytes of samples, so nothing is left to be vectorised: some hundred operations are
compiled in ten milliseconds, operands are read once and results written once, and all between stays in registers.
"""

import ctypes
import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import for_each_slice

BYTES = 64  # of samples in one vector; LLVM splits it where registers are shorter
COMPILE = 2**16  # products × samples before a function is compiled: a batch that was computed a few times comes again
COMPILE_PRODUCT = 2**11  # and more for each product in it; both are an eighth of what NumPy does in that time, at most
CALL = 2**11  # products in the time of a call
LOAD = 2**23  # the same with the load of LLVM, which takes 0.1 s
THREADS_FROM = 2**24  # instructions × samples for each thread: 0.3 ms

_TYPES = {"f": "float", "d": "double"}


class Row:
    """The samples of one component, or what was computed of them."""

    __slots__ = ("name", "writer")

    def __init__(self, writer: "Writer", name: str) -> None:
        self.writer = writer
        self.name = name

    def _by(self, operation: str, other: "Row | float", swapped: bool = False) -> "Row":
        name = other.name if isinstance(other, Row) else self.writer.constant(other)
        a, b = (name, self.name) if swapped else (self.name, name)
        return Row(self.writer, self.writer.add(f"{operation} contract {self.writer.vector} {a}, {b}"))

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
        return Row(self.writer, self.writer.add(f"fneg {self.writer.vector} {self.name}"))

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


class Writer:
    """The text of one function: ``operands`` are the rows of its arguments, `store` makes those of its result."""

    def __init__(self, dtype: np.dtype, *rows: int) -> None:
        self.dtype = dtype
        self.width = BYTES // dtype.itemsize
        self.kind = _TYPES[dtype.char]
        self.vector = f"<{self.width} x {self.kind}>"
        self.lines: list[str] = []
        self.count = 0
        self.stored = 0
        self.held = f"<{', '.join(['i1 true'] * self.width)}>"
        self.n_operands = len(rows)
        self.operands = [[Row(self, self._load(k, row)) for row in range(n)] for k, n in enumerate(rows)]

    def add(self, instruction: str) -> str:
        """Write one instruction and return the name of its result."""
        self.count += 1
        self.lines.append(f"%v{self.count} = {instruction}")
        return f"%v{self.count}"

    def constant(self, value: float) -> str:
        """Return a vector of one number."""
        bits = int(np.float64(self.dtype.type(value)).view(np.uint64))  # exactly: LLVM writes floats as doubles
        return f"<{', '.join([f'{self.kind} 0x{bits:016X}'] * self.width)}>"

    def call(self, function: str, name: str) -> str:
        """Write a call of one of LLVM's functions of vectors."""
        return self.add(f"call {self.vector} @llvm.{function}({self.vector} {name})")

    def sum(self, rows: Sequence[Row], signs: Sequence[float] | None = None) -> Row:
        """Return the sum of rows, each with the sign of a number; 0 leaves it out."""
        chosen = [
            (row, sign > 0) for row, sign in zip(rows, [1] * len(rows) if signs is None else signs, strict=True) if sign
        ]
        if not chosen:
            return Row(self, self.constant(0.0))
        total = chosen[0][0] if chosen[0][1] else -chosen[0][0]
        for row, plus in chosen[1:]:
            total = total + row if plus else total - row
        return total

    def combined(self, table: tuple[NDArray[Any], ...], a: Sequence[Row], b: Sequence[Row]) -> list[Row]:
        """Return the rows Σ coef a[left] b[right] of a product table (indptr, left, right, coef)."""
        indptr, left, right, coef = (part.tolist() for part in table)
        rows = []
        for start, stop in itertools.pairwise(indptr):
            terms: dict[tuple[int, int], float] = {}
            for i, j, c in zip(left[start:stop], right[start:stop], coef[start:stop], strict=True):
                pair = (min(i, j), max(i, j)) if a is b else (i, j)
                terms[pair] = terms.get(pair, 0.0) + c
            signed = [(a[i] * b[j], c) for (i, j), c in terms.items() if c]
            rows.append(self.sum([row if abs(c) == 1 else row * abs(c) for row, c in signed], [c for _, c in signed]))
        return rows

    def require(self, comparison: str, a: Row, b: Row | float) -> None:
        """Write a condition that all samples must meet."""
        name = b.name if isinstance(b, Row) else self.constant(b)
        found = self.add(f"fcmp {comparison} {self.vector} {a.name}, {name}")
        self.held = self.add(f"and <{self.width} x i1> {self.held}, {found}")

    def store(self, row: Row) -> None:
        """Write the next row of the result."""
        self.lines.append(f"store {self.vector} {row.name}, {self._place('out', self.stored)}")
        self.stored += 1

    def _load(self, k: int, row: int) -> str:
        return self.add(f"load {self.vector}, {self._place(f'a{k}', row)}")

    def _place(self, name: str, row: int) -> str:
        step = self.add(f"mul i64 %{name}_step, {row}")
        address = self.add(f"add i64 %{name}_i, {step}")
        pointer = self.add(f"inttoptr i64 {address} to {self._pointer}")
        return f"{self._pointer} {pointer}, align {self.dtype.itemsize}"

    @property
    def _pointer(self) -> str:
        from llvmlite import binding

        return "ptr" if binding.llvm_version_info[0] >= 17 else f"{self.vector}*"

    def text(self) -> str:
        """Return the function in LLVM's language: a loop over samples whose last step may repeat some."""
        names = [*(f"a{k}" for k in range(self.n_operands)), "out"]
        heads = "\n".join(f"%{name}_i = add i64 %{name}, %offset" for name in names)
        bits = f"<{self.width} x i1>"
        suffix = f"v{self.width}f{8 * self.dtype.itemsize}"
        body = (
            "\n".join(self.lines)
            .replace("@llvm.fabs(", f"@llvm.fabs.{suffix}(")
            .replace("@llvm.sqrt(", f"@llvm.sqrt.{suffix}(")
        )
        return f"""
declare {self.vector} @llvm.fabs.{suffix}({self.vector})
declare {self.vector} @llvm.sqrt.{suffix}({self.vector})
define i8 @rows({", ".join(f"i64 %{name}, i64 %{name}_step" for name in names)}, i64 %first, i64 %stop) {{
entry:
%end = sub i64 %stop, {self.width}
br label %loop
loop:
%i = phi i64 [ %first, %entry ], [ %next, %loop ]
%before = phi {bits} [ <{", ".join(["i1 true"] * self.width)}>, %entry ], [ %fine, %loop ]
%offset = mul i64 %i, {self.dtype.itemsize}
{heads}
{body}
%fine = and {bits} %before, {self.held}
%later = add i64 %i, {self.width}
%over = icmp sgt i64 %later, %end
%next = select i1 %over, i64 %end, i64 %later
%last = icmp sge i64 %i, %end
br i1 %last, label %exit, label %loop
exit:
%packed = bitcast {bits} %fine to i{self.width}
%all = icmp eq i{self.width} %packed, -1
%result = zext i1 %all to i8
ret i8 %result
}}
"""

    def compile(self) -> "RowFunction":
        """Return the function."""
        return RowFunction(self)


class RowFunction:
    """A compiled function of arrays (rows, N); the machine code lives as long as this."""

    def __init__(self, written: Writer) -> None:
        from llvmlite import binding

        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        features = binding.get_host_cpu_features().flatten()
        machine = binding.Target.from_default_triple().create_target_machine(
            cpu=binding.get_host_cpu_name(), features=features, opt=2, jit=True
        )
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(written.text()), machine)
        self._engine.finalize_object()
        self.rows = written.stored
        self.width = written.width
        self.least = BYTES + THREADS_FROM // len(written.lines)
        kinds = [ctypes.c_int64] * (2 * written.n_operands + 4)
        self._call = ctypes.CFUNCTYPE(ctypes.c_bool, *kinds)(self._engine.get_function_address("rows"))

    def all(self, *operands: NDArray[Any]) -> NDArray[Any] | None:
        """Return the rows (rows, N) of the result, None where the conditions did not hold in all samples."""
        n = operands[0].shape[1]
        out = np.empty((self.rows, n), dtype=operands[0].dtype)
        if n < 2 * self.least:
            return out if self(operands, out, 0, n) else None
        fine: list[bool] = []
        for_each_slice(lambda part: fine.append(self(operands, out, part.start, part.stop)), n, least=self.least)
        return out if all(fine) else None

    def __call__(self, operands: Sequence[NDArray[Any]], out: NDArray[Any], first: int, stop: int) -> bool:
        """Write the samples from ``first`` to ``stop`` of ``out`` (rows, N), and tell whether all conditions held.

        Operands and ``out`` are of one dtype, each row contiguous; ``out`` overlaps none of them. The GIL is free.
        """
        if stop - first < self.width:
            padded = [np.repeat(a[:, stop - 1 : stop], self.width, axis=1) for a in operands]
            for a, b in zip(padded, operands, strict=True):
                a[:, : stop - first] = b[:, first:stop]
            found = np.empty((self.rows, self.width), dtype=out.dtype)
            fine = self(padded, found, 0, self.width)
            out[:, first:stop] = found[:, : stop - first]
            return fine
        places = [n for a in (*operands, out) for n in (a.__array_interface__["data"][0], a.strides[0])]
        return bool(self._call(*places, first, stop))


class Rented:
    """A function that is compiled for a dtype once the work that it stands for has cost as much."""

    def __init__(self, write: Callable[[np.dtype], Writer], work: int) -> None:
        """``write`` a function whose ``work`` is a number of products for each sample."""
        self._write = write
        self._work = work
        self._done = 0
        self._made: dict[Any, RowFunction] = {}

    def function(self, dtype: np.dtype, samples: int) -> RowFunction | None:
        """Return the function, None as long as ``samples`` are better computed by other ways."""
        found = self._made.get(dtype)
        if found is not None:
            return found
        self._done += samples * self._work + CALL
        load = COMPILE if "llvmlite.binding" in sys.modules else LOAD
        if self._done < load + COMPILE_PRODUCT * self._work:
            return None
        return self._made.setdefault(dtype, self._write(dtype).compile())
