"""LLVM code of a traced function of real numbers: samples side by side in vector registers.

One instruction for each node of the graph, for as many samples as a register holds. Nothing is left to find for LLVM's
own vectoriser and for Numba's type inference, which together take a second for a thousand nodes. Samples that fill no
register are copied to one, the last of them repeated.
"""

from clifford_rand.fusion.emit import Program
from clifford_rand.fusion.instructions import Instructions, side_by_side

HEAD = object.__basicsize__  # of a Python object; NumPy's C interface: data, number of axes, shape and strides follow
STRIDES = HEAD + 24

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


def vector_code(program: Program, name: str, register: int) -> str:
    """Return the LLVM code of function ``name`` for registers of some bytes.

    Its arguments are the addresses of NumPy's array objects or numbers, those of the results, that of one byte for each
    sample and a register more (0 for none), the first sample and the one after the last. It returns 0; 1 if a guard
    failed in samples, whose bytes are then 1; 2 or 3 if a guard failed that is the same for all samples.
    """
    return _Functions(program, register * side_by_side(program)).module(name)


class _Functions(Instructions):
    """The function that takes arrays, and the loop within."""

    def module(self, name: str) -> str:
        body = self._body()
        outer = self._outer(name)
        copy = _COPY.replace("SIZE", str(self.size)).replace("KIND", self.kind)
        return "\n".join([*self.declared.values(), copy, body, outer])

    def _parameters(self) -> list[str]:
        """Return the parameters of the inner function: address and stride of each array, or a number."""
        found = []
        for k, one in enumerate(self.program.inputs):
            found += [f"double %a{k}"] if one.is_number else [f"i64 %a{k}", f"i64 %a{k}s"]
        for k, _ in enumerate(self.program.outputs):
            found += [f"i64 %o{k}", f"i64 %o{k}s"]
        return [*found, "i64 %flags", "i64 %count"]

    def _guards(self, wide: bool) -> str | None:
        """Return the condition of the guards that differ between samples, or of the others."""
        total = None
        for ref in self.program.guards:
            if self.is_wide(abs(ref)) == wide:
                one = self.condition(ref, wide)
                total = one if total is None else self.new(f"and {self.bits(wide)} {total}, {one}")
        return total

    def _body(self) -> str:
        """Return the function that computes ``count`` samples, a multiple of the lanes."""
        inputs, outputs = self.program.inputs, self.program.outputs
        fixed = [ref for ref in self.order if not self.is_wide(ref)]
        for ref in fixed:
            node = self.graph.nodes[ref]
            if node.operation == "input":
                argument, component = node.data
                if inputs[argument].is_number:
                    text = f"%a{argument}"
                    self.held[ref] = text if self.size == 8 else self.new(f"fptrunc double {text} to float")
                else:
                    self.held[ref] = self.load(self.address(f"a{argument}", component), False)
            elif node.operation != "constant":
                self.held[ref] = self.node(ref)
        for k, output in enumerate(outputs):
            if not output.batched:
                for row, ref in enumerate(output.refs):
                    self.store(self.address(f"o{k}", row), self.number(ref, False), False)
        guard = self._guards(False)
        failed = "0" if guard is None else self.new(f"select i1 {guard}, i32 0, i32 2")
        self._spread(fixed)
        rows = {ref: self._row(ref) for ref in self.order if self._is_read(ref)}
        places = {
            (k, row): self.address(f"o{k}", row)
            for k, output in enumerate(outputs)
            if output.batched
            for row in range(len(output.refs))
        }
        head, self.lines = self.lines, []
        for ref in self.order:
            if self._is_read(ref):
                self.held[ref] = self.load(self.new(f"add i64 {rows[ref]}, %at"), True)
                self.prefetch(rows[ref], write=False)
            elif self.is_wide(ref):
                self.held[ref] = self.node(ref)
        for (k, row), place in places.items():
            self.store(self.new(f"add i64 {place}, %at"), self.number(outputs[k].refs[row], True), True)
            self.prefetch(place, write=True)
        end = self._flagged()
        parameters = ", ".join(self._parameters())
        return "\n".join(
            [
                f"define internal i32 @body({parameters}) noinline {{",
                "entry:",
                *head,
                f"%end = mul i64 %count, {self.size}",
                "%any = icmp sgt i64 %count, 0",
                "br i1 %any, label %loop, label %done",
                "loop:",
                "%at = phi i64 [0, %entry], [%next, %latch]",
                "%bad = phi i32 [0, %entry], [%worse, %latch]",
                *self.lines,
                *end,
                "latch:",
                "%worse = phi i32 [%bad, %loop]" + (", [1, %mark], [1, %note]" if len(end) > 1 else ""),
                f"%next = add i64 %at, {self.size * self.lanes}",
                "%more = icmp slt i64 %next, %end",
                "br i1 %more, label %loop, label %done",
                "done:",
                "%found = phi i32 [0, %entry], [%worse, %latch]",
                f"%code = or i32 %found, {failed}",
                "ret i32 %code",
                "}",
            ]
        )

    def _is_read(self, ref: int) -> bool:
        return self.is_wide(ref) and self.graph.nodes[ref].operation == "input"

    def _row(self, ref: int) -> str:
        argument, component = self.graph.nodes[ref].data
        return self.address(f"a{argument}", component)

    def _spread(self, fixed: list[int]) -> None:
        """Spread over the lanes what the loop takes of nodes that are the same for all samples."""
        wide = [ref for ref in self.order if self.is_wide(ref)]
        used = {abs(argument) for ref in wide for argument in self.graph.nodes[ref].arguments}
        used |= {abs(ref) for output in self.program.outputs if output.batched for ref in output.refs}
        for ref in fixed:
            if ref in used and ref in self.held:
                kind, vector = self.type_of(False), self.vector
                if self.is_condition.get(ref):
                    kind, vector = "i1", self.bits(True)
                one = self.new(f"insertelement {vector} undef, {kind} {self.held[ref]}, i32 0")
                zeros = f"<{self.lanes} x i32> zeroinitializer"
                self.spread[ref] = self.new(f"shufflevector {vector} {one}, {vector} undef, {zeros}")

    def _flagged(self) -> list[str]:
        """Return the end of a round of the loop: bytes of samples whose guards fail."""
        guard = self._guards(True)
        if guard is None:
            return ["br label %latch"]
        whole, bits = f"i{self.lanes}", self.bits(True)
        held = self.new(f"bitcast {bits} {guard} to {whole}")
        good = self.new(f"icmp eq {whole} {held}, -1")
        byte = f"<{self.lanes} x i8>"
        return [
            f"br i1 {good}, label %latch, label %mark",
            "mark:",
            "%wanted = icmp ne i64 %flags, 0",
            "br i1 %wanted, label %note, label %latch",
            "note:",
            f"%bytes = zext {bits} {guard} to {byte}",
            f"%marks = xor {byte} %bytes, <{', '.join(['i8 1'] * self.lanes)}>",
            f"%sample = udiv i64 %at, {self.size}",
            "%flag = add i64 %flags, %sample",
            "%place = inttoptr i64 %flag to ptr",
            f"store {byte} %marks, ptr %place, align 1",
            "br label %latch",
        ]

    def _outer(self, name: str) -> str:
        """Return the function that takes arrays: whole registers at once, then the samples that are left."""
        self.lines = []
        inputs, outputs, lanes = self.program.inputs, self.program.outputs, self.lanes
        rows = {f"a{k}": len(one.labels) for k, one in enumerate(inputs) if not one.is_number}
        rows |= {f"o{k}": len(one.refs) for k, one in enumerate(outputs)}
        own = [f"a{k}" for k, one in enumerate(inputs) if one.batched]  # have a column for each sample
        results = [f"o{k}" for k, one in enumerate(outputs) if one.batched]
        data, stride = {}, {}
        for array in rows:
            data[array] = self._word(f"%{array}", HEAD)
            stride[array] = self._word(self._word(f"%{array}", STRIDES), 0)
        buffers = {}
        for array in (*own, *results):
            kind = f"[{max(1, rows[array]) * lanes} x {self.kind}]"
            made = self.new(f"alloca {kind}, align 64")
            buffers[array] = self.new(f"ptrtoint ptr {made} to i64")
        count = self.new("sub i64 %stop, %start")
        whole = self.new(f"and i64 {count}, {-lanes}")
        left = self.new(f"sub i64 {count}, {whole}")
        begin, skip = self.new(f"mul i64 %start, {self.size}"), self.new(f"mul i64 {whole}, {self.size}")
        at = {array: self.new(f"add i64 {data[array]}, {begin}") for array in buffers}
        ends = {array: self.new(f"add i64 {at[array]}, {skip}") for array in buffers}
        known = self.new("icmp ne i64 %flags, 0")
        marks = self.new(f"select i1 {known}, i64 {self.new('add i64 %flags, %start')}, i64 0")
        last = self.new(f"select i1 {known}, i64 {self.new(f'add i64 {marks}, {whole}')}, i64 0")
        some, none = self.new(f"icmp sgt i64 {whole}, 0"), self.new(f"icmp eq i64 {count}, 0")
        rest = self.new(f"icmp sgt i64 {left}, 0")
        self.lines += [f"br i1 {self.new(f'or i1 {some}, {none}')}, label %blocks, label %part", "blocks:"]
        code = self._call({**data, **at}, stride, marks, whole)
        self.lines += [f"br i1 {rest}, label %part, label %end", "part:"]
        self.lines.append(f"%before = phi i32 [0, %entry], [{code}, %blocks]")
        step = str(lanes * self.size)
        for array in own:
            if rows[array]:
                source = f"i64 {ends[array]}, i64 {stride[array]}, i64 {rows[array]}, i64 {left}, i64 {lanes}"
                self.lines.append(f"call void @copy(i64 {buffers[array]}, i64 {step}, {source})")
        final = self._call({**data, **buffers}, {**stride, **dict.fromkeys(buffers, step)}, last, str(lanes))
        for array in results:
            if rows[array]:
                source = f"i64 {buffers[array]}, i64 {step}, i64 {rows[array]}, i64 {left}, i64 {left}"
                self.lines.append(f"call void @copy(i64 {ends[array]}, i64 {stride[array]}, {source})")
        self.lines += [f"%both = or i32 %before, {final}", "br label %end", "end:"]
        self.lines += [f"%result = phi i32 [{code}, %blocks], [%both, %part]", "ret i32 %result", "}"]
        kinds = [f"{'double' if one.is_number else 'i64'} %a{k}" for k, one in enumerate(inputs)]
        kinds += [f"i64 %o{k}" for k in range(len(outputs))] + ["i64 %flags", "i64 %start", "i64 %stop"]
        return "\n".join([f"define i32 @{name}({', '.join(kinds)}) {{", "entry:", *self.lines])

    def _word(self, address: str, offset: int) -> str:
        """Return the integer at an address."""
        place = self.new(f"inttoptr i64 {self.new(f'add i64 {address}, {offset}')} to ptr")
        return self.new(f"load i64, ptr {place}")

    def _call(self, places: dict[str, str], steps: dict[str, str], flags: str, count: str) -> str:
        given = []
        for k, one in enumerate(self.program.inputs):
            given += [f"double %a{k}"] if one.is_number else [f"i64 {places[f'a{k}']}", f"i64 {steps[f'a{k}']}"]
        for k in range(len(self.program.outputs)):
            given += [f"i64 {places[f'o{k}']}", f"i64 {steps[f'o{k}']}"]
        return self.new(f"call i32 @body({', '.join([*given, f'i64 {flags}', f'i64 {count}'])})")
