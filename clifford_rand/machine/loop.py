"""A loop over samples as one function of arrays: whole registers, and what fills none.

The last register begins a whole one before the end, so some samples are computed twice. Fewer samples than a register
holds are copied to one, the last of them repeated. The function takes the addresses of NumPy's array objects, in which
it finds data and strides: to ask for these in Python takes a microsecond an array.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clifford_rand.machine.compiled import HEAD, STRIDES, MachineFunction, Target
from clifford_rand.machine.instructions import Instructions

AHEAD = 512  # bytes that a row is asked for before it is needed: processors themselves foresee some 20 rows, not 52
_NAME = "loop"

# Copies m samples of each row; those after the first n are the last of these.
_COPY = """
define internal void @copy(i64 %to, i64 %step, i64 %from, i64 %stride, i64 %rows, i64 %n, i64 %m) noinline {
entry:
  %last = sub i64 %n, 1
  br label %row
row:
  %r = phi i64 [0, %entry], [%r1, %next]
  %source = phi i64 [%from, %entry], [%source1, %next]
  %target = phi i64 [%to, %entry], [%target1, %next]
  br label %sample
sample:
  %j = phi i64 [0, %row], [%j1, %sample]
  %inside = icmp slt i64 %j, %last
  %k = select i1 %inside, i64 %j, i64 %last
  %ka = mul i64 %k, SIZE
  %sa = add i64 %source, %ka
  %sp = inttoptr i64 %sa to ptr
  %v = load KIND, ptr %sp
  %ja = mul i64 %j, SIZE
  %ta = add i64 %target, %ja
  %tp = inttoptr i64 %ta to ptr
  store KIND %v, ptr %tp
  %j1 = add i64 %j, 1
  %more = icmp slt i64 %j1, %m
  br i1 %more, label %sample, label %next
next:
  %source1 = add i64 %source, %stride
  %target1 = add i64 %target, %step
  %r1 = add i64 %r, 1
  %rest = icmp slt i64 %r1, %rows
  br i1 %rest, label %row, label %done
done:
  ret void
}
"""


class Operand(NamedTuple):
    """An array (rows, samples); (rows,) if it is the same for all samples; or a number."""

    rows: int
    batched: bool = True
    is_number: bool = False


class Loop(Instructions):
    """The instructions for one register of samples, ``lines``, and before them those that are done once, ``head``.

    Operands are a0, a1, …, results o0, o1, …; conditions that must hold in all samples, or before them, are appended
    to ``conditions`` and ``conditions_before``.
    """

    def __init__(self, dtype: np.dtype, register: int, operands: Sequence[Operand], results: Sequence[bool]) -> None:
        """``results`` tells which are arrays (rows, samples), and not (rows,)."""
        super().__init__(dtype, register)
        self.head: list[str] = []
        self.conditions: list[str] = []
        self.conditions_before: list[str] = []
        self._numbers = {f"a{k}": one.is_number for k, one in enumerate(operands)}
        self._numbers |= {f"o{k}": False for k, _ in enumerate(results)}
        self._batched = [f"a{k}" for k, one in enumerate(operands) if one.batched and one.rows]
        self._results = [f"o{k}" for k, wide in enumerate(results) if wide]
        self._rows = {f"a{k}": one.rows for k, one in enumerate(operands)} | {f"o{k}": 0 for k, _ in enumerate(results)}

    def row(self, array: str, row: int) -> str:
        """Return the address of the first sample of a row."""
        offset = self.new(f"mul i64 %{array}s, {row}", self.head)
        return self.new(f"add i64 %{array}, {offset}", self.head)

    def begin(self) -> None:
        """Let what was appended so far be done once, before the loop."""
        self.head, self.lines = [*self.head, *self.lines], []

    def read(self, row: str) -> str:
        """Load a register of a row."""
        address = self.new(f"add i64 {row}, %at")
        self._prefetch(address, 0)
        return self.load_at(address, True)

    def write(self, k: int, text: str, *, wide: bool = True) -> None:
        """Store the next row of result ``k``; before `begin` if it is not ``wide``."""
        row = self.row(f"o{k}", self._rows[f"o{k}"])
        self._rows[f"o{k}"] += 1
        if not wide:
            self.store_at(row, text, False)
            return
        address = self.new(f"add i64 {row}, %at")
        self.store_at(address, text, True)
        self._prefetch(address, 1)

    def _prefetch(self, address: str, write: int) -> None:
        """Ask for what comes later in a row, which may lie beyond its end."""
        pointer = self.pointer(self.new(f"add i64 {address}, {AHEAD}"))
        self.declared["prefetch"] = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
        self.lines.append(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 {write}, i32 3, i32 1)")

    def compile(self, own: Target) -> MachineFunction:
        """Return the function: of addresses of arrays or numbers, results, ``flags``, the first sample and the stop.

        ``flags`` is the address of one byte for each sample and a register more, or 0. The function returns 0; 1 if a
        condition failed in samples, whose bytes are then 1; 2 or 3 if one failed that is the same for all samples.
        """
        return MachineFunction(own, self.text(), _NAME, [*self._numbers.values(), False, False, False])

    def text(self) -> str:
        """Return the code."""
        loop, end = self.lines, self._noted()
        self.lines = self.head
        before = self.all_of(self.conditions_before, False)
        code = "0" if before is None else self.new(f"select i1 {before}, i32 0, i32 2")
        head = self.lines
        entry, kept = self._entry()
        step = self.size * self.lanes
        kinds = [f"double %{name}" if number else f"i64 %{name}o" for name, number in self._numbers.items()]
        return "\n".join(
            [
                *self.declared.values(),
                _COPY.replace("SIZE", str(self.size)).replace("KIND", self.kind),
                f"define i32 @{_NAME}({', '.join([*kinds, 'i64 %flags', 'i64 %start', 'i64 %stop'])}) {{",
                "entry:",
                *entry,
                *head,
                f"%bytes = mul i64 %samples, {self.size}",
                f"%last = sub i64 %bytes, {step}",
                "%any = icmp sgt i64 %samples, 0",
                "br i1 %any, label %loop, label %done",
                "loop:",
                "%at = phi i64 [0, %run], [%next, %latch]",
                "%bad = phi i32 [0, %run], [%worse, %latch]",
                *loop,
                *end,
                "latch:",
                "%worse = phi i32 [%bad, %loop]" + (", [1, %mark], [1, %note]" if len(end) > 1 else ""),
                f"%later = add i64 %at, {step}",
                "%over = icmp sgt i64 %later, %last",
                "%next = select i1 %over, i64 %last, i64 %later",
                "%more = icmp slt i64 %at, %last",
                "br i1 %more, label %loop, label %done",
                "done:",
                "%found = phi i32 [0, %run], [%worse, %latch]",
                f"%code = or i32 %found, {code}",
                "br i1 %small, label %keep, label %leave",
                "keep:",
                *kept,
                "br label %leave",
                "leave:",
                "ret i32 %code",
                "}",
            ]
        )

    def _noted(self) -> list[str]:
        """Return the end of a round of the loop: bytes of samples in which a condition fails."""
        held = self.all_of(self.conditions, True)
        if held is None:
            return ["br label %latch"]
        whole, byte = f"i{self.lanes}", f"<{self.lanes} x i8>"
        packed = self.new(f"bitcast {self.bits(True)} {held} to {whole}")
        good = self.new(f"icmp eq {whole} {packed}, -1")
        return [
            f"br i1 {good}, label %latch, label %mark",
            "mark:",
            "%wanted = icmp ne i64 %flags, 0",
            "br i1 %wanted, label %note, label %latch",
            "note:",
            f"%held = zext {self.bits(True)} {held} to {byte}",
            f"%marks = xor {byte} %held, <{', '.join(['i8 1'] * self.lanes)}>",
            "%first = add i64 %flags, %start",
            f"%sample = udiv i64 %at, {self.size}",
            "%flag = add i64 %first, %sample",
            "%place = inttoptr i64 %flag to ptr",
            f"store {byte} %marks, ptr %place, align 1",
            "br label %latch",
        ]

    def _entry(self) -> tuple[list[str], list[str]]:
        """Return what finds the rows, in copies if the samples fill no register, and what copies the results back."""
        self.lines = []
        step = self.lanes * self.size
        self.lines += [
            "%count = sub i64 %stop, %start",
            f"%few = icmp slt i64 %count, {self.lanes}",
            "%some = icmp sgt i64 %count, 0",
            "%small = and i1 %few, %some",
            f"%skip = mul i64 %start, {self.size}",
        ]
        data, stride, buffer = {}, {}, {}
        for array in (name for name, number in self._numbers.items() if not number):
            data[array] = self.word(f"%{array}o", HEAD)
            stride[array] = self.word(self.word(f"%{array}o", STRIDES), 0)
        results = [name for name in self._results if self._rows[name]]
        for array in (*self._batched, *results):
            data[array] = self.new(f"add i64 {data[array]}, %skip")
            made = self.new(f"alloca [{self._rows[array] * self.lanes} x {self.kind}], align 64")
            buffer[array] = self.new(f"ptrtoint ptr {made} to i64")
        self.lines += ["br i1 %small, label %fill, label %run", "fill:"]
        for array in self._batched:
            given = f"i64 {data[array]}, i64 {stride[array]}, i64 {self._rows[array]}, i64 %count, i64 {self.lanes}"
            self.lines.append(f"call void @copy(i64 {buffer[array]}, i64 {step}, {given})")
        self.lines += ["br label %run", "run:", f"%samples = select i1 %small, i64 {self.lanes}, i64 %count"]
        for array in data:
            copied = buffer.get(array)
            at, by = (data[array], stride[array]) if copied is None else (copied, str(step))
            self.lines.append(f"%{array} = select i1 %small, i64 {at}, i64 {data[array]}")
            self.lines.append(f"%{array}s = select i1 %small, i64 {by}, i64 {stride[array]}")
        kept = []
        for array in results:
            given = f"i64 {buffer[array]}, i64 {step}, i64 {self._rows[array]}, i64 %count, i64 %count"
            kept.append(f"call void @copy(i64 {data[array]}, i64 {stride[array]}, {given})")
        return self.lines, kept
