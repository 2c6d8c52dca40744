"""LLVM instructions for the nodes of a graph: one for each, of one number or of a vector register."""

import struct
from typing import Any

import numpy as np

from clifford_rand.fusion.emit import Program, needed

LONG = 150  # cycles of the longest chain of dependent operations from which on two registers of samples go side by side
FEW = 24  # values that are held at the same time up to which they do; with more, they would not stay in 32 registers
CYCLES = {"reciprocal": 13, "sqrt": 20}  # until a result is there; of all others 4
AHEAD = 512  # bytes that a row is asked for before it is needed: processors themselves foresee some 20 rows, not 52
_COMPARED = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}
_INTRINSIC = {"abs": "fabs", "sqrt": "sqrt", "rint": "rint", "floor": "floor"}
WRITTEN = frozenset({"input", "constant", "add", "mul", "reciprocal", "where", "and", "or", "pow2"}) | {
    *_COMPARED,
    *_INTRINSIC,
}


def is_written(program: Program) -> bool:
    """Tell whether a program has real numbers only, and no function that is a call."""
    graph = program.graph
    return all(graph.nodes[ref].operation in WRITTEN and graph.real[ref] for ref in needed(program)[0])


def side_by_side(program: Program) -> int:
    """Return how many registers of samples are computed at once: two where one would wait for its own results."""
    order, uses = needed(program)
    nodes = program.graph.nodes
    computed = [ref for ref in order if nodes[ref].arguments]
    done: dict[int, int] = {}
    for ref in computed:
        latest = max(done.get(abs(argument), 0) for argument in nodes[ref].arguments)
        done[ref] = latest + CYCLES.get(nodes[ref].operation, 4)
    last = {ref: max(uses[ref]) if min(uses[ref]) > 0 else order[-1] for ref in computed}  # users come later
    held = most = 0
    ends = sorted(last.values())
    passed = 0
    for ref in computed:
        while passed < len(ends) and ends[passed] <= ref:
            passed += 1
            held -= 1
        held += 1
        most = max(most, held)
    return 2 if max(done.values(), default=0) >= LONG and most <= FEW else 1


class Instructions:
    """Instructions in the order in which they are appended, and where each node's value is held."""

    def __init__(self, program: Program, register: int) -> None:
        self.program, self.graph = program, program.graph
        double = program.precision == np.float64
        self.kind, self.size = ("double", 8) if double else ("float", 4)
        self.lanes = register // self.size
        self.short = f"{'f64' if double else 'f32'}"
        self.vector = f"<{self.lanes} x {self.kind}>"
        self.batch = sum(1 << k for k, one in enumerate(program.inputs) if one.batched)
        self.order, _ = needed(program)
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self.count = 0
        self.held: dict[int, str] = {}  # node -> its register
        self.spread: dict[int, str] = {}  # node that is the same for all samples -> its vector
        self.is_condition: dict[int, bool] = {}

    # ---- one instruction

    def new(self, text: str) -> str:
        """Append an instruction, return its result."""
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def type_of(self, wide: bool) -> str:
        """Return the type of a number."""
        return self.vector if wide else self.kind

    def bits(self, wide: bool) -> str:
        """Return the type of a condition."""
        return f"<{self.lanes} x i1>" if wide else "i1"

    def literal(self, number: Any, wide: bool) -> str:
        """Return a constant."""
        value = float(number) if self.size == 8 else float(np.float32(float(number)))
        text = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        return f"<{', '.join([f'{self.kind} {text}'] * self.lanes)}>" if wide else text

    def whole(self, number: int, wide: bool) -> str:
        """Return an integer of the numbers' size."""
        kind = f"i{8 * self.size}"
        return f"<{', '.join([f'{kind} {number}'] * self.lanes)}>" if wide else str(number)

    def is_wide(self, ref: int) -> bool:
        """Tell whether a node differs between samples."""
        return bool(self.graph.sources[ref] & self.batch)

    def operand(self, ref: int, wide: bool) -> str:
        """Return a node, positive, as it is held: spread over the lanes if it is the same for all samples."""
        node = self.graph.nodes[ref]
        if node.operation == "constant":
            return self.literal(node.data, wide)
        return self.spread[ref] if wide and not self.is_wide(ref) else self.held[ref]

    def number(self, ref: int, wide: bool) -> str:
        """Return a reference as a number."""
        text, kind = self.operand(abs(ref), wide), self.type_of(wide)
        if self.is_condition.get(abs(ref)):
            text = self.new(f"uitofp {self.bits(wide)} {text} to {kind}")
        return text if ref >= 0 else self.new(f"fneg {kind} {text}")

    def condition(self, ref: int, wide: bool) -> str:
        """Return a reference as a condition."""
        if self.is_condition.get(abs(ref)):
            return self.operand(abs(ref), wide)
        return self.new(f"fcmp une {self.type_of(wide)} {self.number(ref, wide)}, {self.literal(0, wide)}")

    def call(self, name: str, text: str, wide: bool) -> str:
        """Append a call of one of LLVM's own functions."""
        suffix, kind = (f"v{self.lanes}{self.short}" if wide else self.short), self.type_of(wide)
        self.declared[f"llvm.{name}.{suffix}"] = f"declare {kind} @llvm.{name}.{suffix}({kind})"
        return self.new(f"call {kind} @llvm.{name}.{suffix}({kind} {text})")

    def node(self, ref: int) -> str:
        """Append what computes a node; return its register."""
        operation, arguments, _ = self.graph.nodes[ref]
        wide = self.is_wide(ref)
        kind = self.type_of(wide)
        if operation in _COMPARED or operation in ("and", "or"):
            self.is_condition[ref] = True
            if operation in _COMPARED:
                a, b = (self.number(one, wide) for one in arguments)
                return self.new(f"fcmp {_COMPARED[operation]} {kind} {a}, {b}")
            a, b = (self.condition(one, wide) for one in arguments)
            return self.new(f"{operation} {self.bits(wide)} {a}, {b}")
        if operation == "add":
            return self._sum(arguments[0], arguments[1], wide)
        if operation == "where":
            chosen = self.condition(arguments[0], wide)
            a, b = (self.number(one, wide) for one in arguments[1:])
            return self.new(f"select {self.bits(wide)} {chosen}, {kind} {a}, {kind} {b}")
        a = self.number(arguments[0], wide)
        if operation == "mul":
            return self.new(f"fmul contract {kind} {a}, {self.number(arguments[1], wide)}")
        if operation == "reciprocal":
            return self.new(f"fdiv {kind} {self.literal(1, wide)}, {a}")
        if operation == "pow2":
            return self._power_of_two(a, wide)
        return self.call(_INTRINSIC[operation], a, wide)

    def _sum(self, a: int, b: int, wide: bool) -> str:
        kind = self.type_of(wide)
        if a < 0 < b:
            a, b = b, a
        if a < 0:
            total = self.new(f"fadd contract {kind} {self.number(-a, wide)}, {self.number(-b, wide)}")
            return self.new(f"fneg {kind} {total}")
        name = "fsub" if b < 0 else "fadd"
        return self.new(f"{name} contract {kind} {self.number(a, wide)}, {self.number(abs(b), wide)}")

    def _power_of_two(self, k: str, wide: bool) -> str:
        """2^k for an integer k, 0 and infinity beyond the range of exponents."""
        mantissa, bias = (52, 1023) if self.size == 8 else (23, 127)
        kind = self.type_of(wide)
        whole = f"<{self.lanes} x i{8 * self.size}>" if wide else f"i{8 * self.size}"
        for limit, comparison in ((-bias, "olt"), (bias + 1, "ogt")):
            beyond = self.new(f"fcmp {comparison} {kind} {k}, {self.literal(limit, wide)}")
            k = self.new(f"select {self.bits(wide)} {beyond}, {kind} {self.literal(limit, wide)}, {kind} {k}")
        shifted = self.new(f"add {whole} {self.new(f'fptosi {kind} {k} to {whole}')}, {self.whole(bias, wide)}")
        return self.new(f"bitcast {whole} {self.new(f'shl {whole} {shifted}, {self.whole(mantissa, wide)}')} to {kind}")

    # ---- memory

    def pointer(self, address: str) -> str:
        """Return an address as a pointer."""
        return self.new(f"inttoptr i64 {address} to ptr")

    def address(self, array: str, row: int) -> str:
        """Return the address of the first sample of a row."""
        offset = self.new(f"mul i64 %{array}s, {row}")
        return self.new(f"add i64 %{array}, {offset}")

    def load(self, address: str, wide: bool) -> str:
        """Append a load from an address."""
        return self.new(f"load {self.type_of(wide)}, ptr {self.pointer(address)}, align {self.size}")

    def store(self, address: str, text: str, wide: bool) -> None:
        """Append a store to an address."""
        pointer = self.pointer(address)
        self.lines.append(f"store {self.type_of(wide)} {text}, ptr {pointer}, align {self.size}")

    def prefetch(self, row: str, *, write: bool) -> None:
        """Ask for what comes later in a row, which may lie beyond its end."""
        later = self.new(f"add i64 {self.new(f'add i64 {row}, %at')}, {AHEAD}")
        pointer = self.pointer(later)
        self.declared["prefetch"] = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
        self.lines.append(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 {int(write)}, i32 3, i32 1)")
