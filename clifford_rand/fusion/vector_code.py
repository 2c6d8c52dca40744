"""A traced function of real numbers as machine code: one instruction for each node of the graph.

Each is on a vector register of samples, or before the loop on one number. Nothing is left to find for LLVM's own
vectoriser and for Numba's type inference, which together take a second for a thousand nodes.
"""

from typing import Any

from clifford_rand.fusion.codegen import Program, needed
from clifford_rand.machine.loop import Loop, Operand

LONG = 150  # cycles of the longest chain of dependent operations from which on two registers of samples go side by side
FEW = 24  # values that are held at the same time up to which they do; with more, they would not stay in 32 registers
CYCLES = {"reciprocal": 13, "sqrt": 20}  # until a result is there; of all others 4
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


class VectorCode(Loop):
    """The loop of a program, written at once, for registers of some bytes."""

    def __init__(self, program: Program, register: int) -> None:
        operands = [Operand(len(one.labels), one.batched, one.is_number) for one in program.inputs]
        results = [one.batched for one in program.outputs]
        super().__init__(program.precision, register * side_by_side(program), operands, results)
        self.graph = program.graph
        self.batch = sum(1 << k for k, one in enumerate(program.inputs) if one.batched)
        self.held: dict[int, str] = {}  # node -> its register
        self.alike: dict[int, str] = {}  # node that is the same for all samples -> its vector
        self.is_condition: dict[int, bool] = {}
        order, _ = needed(program)
        wide = [ref for ref in order if self.is_wide(ref)]
        for ref in order:
            if not self.is_wide(ref) and self.graph.nodes[ref].operation != "constant":
                self.held[ref] = self._input(ref, program) or self.node(ref)
        for wanted in (False, True):
            for k, output in enumerate(program.outputs):
                if output.batched == wanted:
                    for ref in output.refs:
                        self.write(k, self.number(ref, wanted), wide=wanted)
            guards = [self.condition(ref, wanted) for ref in program.guards if self.is_wide(abs(ref)) == wanted]
            (self.conditions if wanted else self.conditions_before).extend(guards)
            if not wanted:
                self._spread(program, wide)
                self.begin()
                for ref in wide:
                    self.held[ref] = self._input(ref, program) or self.node(ref)

    def is_wide(self, ref: int) -> bool:
        """Tell whether a node differs between samples."""
        return bool(self.graph.sources[ref] & self.batch)

    def operand(self, ref: int, wide: bool) -> str:
        """Return a node, positive, as it is held: spread over the lanes if it is the same for all samples."""
        node = self.graph.nodes[ref]
        if node.operation == "constant":
            return self.literal(node.data, wide)
        return self.alike[ref] if wide and not self.is_wide(ref) else self.held[ref]

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
        return self.compare("une", self.number(ref, wide), self.literal(0, wide), wide)

    def _input(self, ref: int, program: Program) -> str:
        """Return the register of an input, nothing for other nodes."""
        node = self.graph.nodes[ref]
        if node.operation != "input":
            return ""
        argument, component = node.data
        if program.inputs[argument].is_number:
            text = f"%a{argument}"
            return text if self.size == 8 else self.new(f"fptrunc double {text} to float")
        row = self.row(f"a{argument}", component)
        return self.read(row) if self.is_wide(ref) else self.load_at(row, False)

    def node(self, ref: int) -> str:
        """Append what computes a node; return its register."""
        operation, arguments, _ = self.graph.nodes[ref]
        wide = self.is_wide(ref)
        kind = self.type_of(wide)
        if operation in _COMPARED or operation in ("and", "or"):
            self.is_condition[ref] = True
            if operation in _COMPARED:
                a, b = (self.number(one, wide) for one in arguments)
                return self.compare(_COMPARED[operation], a, b, wide)
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
            return self.binary("fmul", a, self.number(arguments[1], wide), wide)
        if operation == "reciprocal":
            return self.binary("fdiv", self.literal(1, wide), a, wide)
        if operation == "pow2":
            return self._power_of_two(a, wide)
        return self.call(_INTRINSIC[operation], a, wide)

    def _sum(self, a: int, b: int, wide: bool) -> str:
        if a < 0 < b:
            a, b = b, a
        if a < 0:
            total = self.binary("fadd", self.number(-a, wide), self.number(-b, wide), wide)
            return self.new(f"fneg {self.type_of(wide)} {total}")
        return self.binary("fsub" if b < 0 else "fadd", self.number(a, wide), self.number(abs(b), wide), wide)

    def _power_of_two(self, k: str, wide: bool) -> str:
        """2^k for an integer k, 0 and infinity beyond the range of exponents."""
        mantissa, bias = (52, 1023) if self.size == 8 else (23, 127)
        kind, whole = self.type_of(wide), self.integer(wide)
        for limit, comparison in ((-bias, "olt"), (bias + 1, "ogt")):
            beyond = self.compare(comparison, k, self.literal(limit, wide), wide)
            k = self.new(f"select {self.bits(wide)} {beyond}, {kind} {self.literal(limit, wide)}, {kind} {k}")
        shifted = self.new(f"add {whole} {self.new(f'fptosi {kind} {k} to {whole}')}, {self.whole(bias, wide)}")
        return self.new(f"bitcast {whole} {self.new(f'shl {whole} {shifted}, {self.whole(mantissa, wide)}')} to {kind}")

    def _spread(self, program: Program, wide: list[int]) -> None:
        """Spread over the lanes what the loop takes of nodes that are the same for all samples."""
        used: dict[int, Any] = {abs(one): None for ref in wide for one in self.graph.nodes[ref].arguments}
        used |= {abs(ref): None for output in program.outputs if output.batched for ref in output.refs}
        for ref in used:
            if ref in self.held:
                self.alike[ref] = self.spread(self.held[ref], ref in self.is_condition)
