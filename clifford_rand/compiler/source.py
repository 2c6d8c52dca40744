"""Source code of a traced function: each term that is used more than once is a line."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from clifford_rand.compiler.graph import ARITHMETIC, ROOTS, Output, Program, needed
from clifford_rand.compiler.scalar import STANDARD

LONGEST_SUM = 24  # terms of one line
DEEPEST = 12  # operations within each other in one line
# Processors foresee some twenty rows: with more, each row is asked for ahead (bench_fused.py: two motors and a line of
# CGA(3), 52 rows, take 2.2 ms for 3.4 without, 10⁵ samples; from 20 rows on nothing is lost).
PREFETCH_FROM = 20  # rows
PREFETCH_BYTES = 512  # ahead of the samples that are computed
CACHE_LINE = 64  # bytes
_NUMPY = ("import numpy as _np", "from numpy import float32 as _f32")
_OF_LOOP = ("_flags", "_start", "_stop")
_SIGNS = {"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "and": "&", "or": "|"}


class _Writer:
    """The lines of one program; ``array`` for whole arrays of samples instead of one sample.

    ``library`` is for arrays (..., components) of other libraries than NumPy, whose numbers take the arrays' dtype.
    """

    def __init__(self, program: Program, array: bool, library: bool = False, python: bool = False) -> None:
        self.program, self.array, self.library, self.python = program, array, library, python
        self.graph = program.graph
        self.double = library or python or program.precision == np.float64
        self.batch = sum(1 << k for k, source in enumerate(program.inputs) if source.batched)
        self.names: dict[int, str] = {}
        self.constants: dict[str, str] = {}
        self.count = 0
        self.order, self.uses = needed(program)

    def is_fixed(self, ref: int) -> bool:
        """Tell whether a node is the same for all samples."""
        return not self.graph.sources[abs(ref)] & self.batch

    def number(self, value: Any) -> str:
        if isinstance(value, complex):
            return repr(value)
        text = repr(float(value)) if value >= 0 else f"({float(value)!r})"
        if self.double:
            return text
        return self.constants.setdefault(text, f"_k{len(self.constants)}")

    def name(self, ref: int) -> str:
        """Return a reference that stands on a line of its own, with its sign."""
        node = self.graph.nodes[abs(ref)]
        text = self.names[abs(ref)] if abs(ref) in self.names else self.number(node.data)
        return text if ref >= 0 else f"(-{text})"

    def is_inline(self, ref: int) -> bool:
        """Tell whether a node is written within the expression of its only user."""
        return abs(ref) not in self.names and self.graph.nodes[abs(ref)].operation != "constant"

    def text(self, ref: int) -> str:
        """Return the expression of a node, positive."""
        node = self.graph.nodes[ref]
        if node.operation == "add":
            return self._sum(self._summands(ref))
        if node.operation == "mul":
            a, b = node.arguments
            if self.python:  # x / y rounds once, x * (1 / y) twice
                for x, y in ((a, b), (b, a)):
                    over = self.graph.nodes[abs(y)]
                    if over.operation == "reciprocal" and self.graph.nodes[abs(x)].operation != "reciprocal":
                        divisor = over.arguments[0] if y > 0 else -over.arguments[0]
                        return f"{self._factor(x)}/{self._factor(divisor, is_right=True)}"
            # a product on the right is in brackets: (a b) c rounds otherwise than a (b c)
            return f"{self._factor(a)}*{self._factor(b, is_right=True)}"
        return self._call(node.operation, [self.name(argument) for argument in node.arguments])

    def _summands(self, ref: int) -> list[int]:
        """Return the terms of a sum that is added from left to right: of (a + b) + c three, of (a + b) + (c + d) three.

        The two sides of one addition may change places, which rounds alike.
        """
        terms: list[int] = []
        while True:
            left, right = self.graph.nodes[ref].arguments
            if self._is_inner_sum(right) and not self._is_inner_sum(left):
                left, right = right, left
            terms.append(right)
            if not self._is_inner_sum(left):
                return [left, *reversed(terms)]
            ref = left

    def _is_inner_sum(self, ref: int) -> bool:
        return ref > 0 and self.is_inline(ref) and self.graph.nodes[ref].operation == "add"

    def _sum(self, refs: list[int]) -> str:
        """Return the sum, added from left to right: the order of the graph decides how it rounds."""
        text = ("-" if refs[0] < 0 else "") + self._summand(refs[0])
        for ref in refs[1:]:
            text += (" - " if ref < 0 else " + ") + self._summand(ref)
        return text

    def _summand(self, ref: int) -> str:
        if not self.is_inline(ref):
            return self.name(abs(ref))
        text = self.text(abs(ref))
        return f"({text})" if self.graph.nodes[abs(ref)].operation == "add" else text

    def _factor(self, ref: int, *, is_right: bool = False) -> str:
        if not self.is_inline(ref):
            return self.name(ref)
        text = self.text(ref)  # factors are positive: the graph keeps signs outside of products
        return f"({text})" if is_right or self.graph.nodes[ref].operation == "add" else text

    def _call(self, name: str, arguments: list[str]) -> str:
        if name == "reciprocal":
            return f"{self.number(Fraction(1))} / {arguments[0]}"
        if name in _SIGNS:
            return f"({arguments[0]} {_SIGNS[name]} {arguments[1]})"
        if name == "where" and not self.array:
            return f"({arguments[1]} if {arguments[0]} else {arguments[2]})"
        if self.python:
            return f"_{name}({', '.join(arguments)})"
        if self.library and name in (*ROOTS, "where"):
            return f"_{name}({', '.join(['_xp', *arguments, *(['_a0'] if name == 'where' else [])])})"
        if self.library and name in STANDARD:
            return f"_xp.{STANDARD[name]}({', '.join(arguments)})"
        if name == "power":
            return f"{arguments[0]} ** {arguments[1]}"
        if name == "abs":
            return f"abs({arguments[0]})"
        if name == "pow2":
            return f"_pow2({arguments[0]})"
        return f"{'_xp' if self.library else '_np'}.{name}({', '.join(arguments)})"

    def lines(self, fixed: bool) -> list[str]:
        """Return an assignment for each node that has a line: of the same value for all samples, or not."""
        lines = []
        for ref in self.order:
            node = self.graph.nodes[ref]
            if self.is_fixed(ref) != fixed or node.operation in ("input", "constant") or not self._stands(ref):
                continue
            text = self.text(ref)
            self.names[ref] = f"_{self.count}"
            self.count += 1
            lines.append(f"{self.names[ref]} = {text}")
        return lines

    def _stands(self, ref: int) -> bool:
        """Tell whether a node has a line of its own."""
        users = self.uses[ref]
        if len(users) != 1 or self.graph.nodes[ref].operation not in ARITHMETIC:
            return True
        (user,) = users
        if user < 0 or self.graph.nodes[user].operation not in ARITHMETIC or self.is_fixed(user) != self.is_fixed(ref):
            return True
        return self._length(ref) >= LONGEST_SUM or self._depth(ref) >= DEEPEST

    def _length(self, ref: int) -> int:
        node = self.graph.nodes[ref]
        if abs(ref) in self.names or node.operation not in ARITHMETIC:
            return 1
        return sum(self._length(abs(argument)) for argument in node.arguments)

    def _depth(self, ref: int) -> int:
        node = self.graph.nodes[ref]
        if ref in self.names or node.operation not in ARITHMETIC:
            return 0
        # a chain of sums is one level
        inner = [abs(argument) for argument in node.arguments]
        return max(
            self._depth(ref) + (0 if node.operation == "add" == self.graph.nodes[ref].operation else 1) for ref in inner
        )

    def reads(self, batched: bool) -> list[str]:
        """Return the lines that read the components that are used."""
        lines = []
        for ref in self.order:
            node = self.graph.nodes[ref]
            if node.operation != "input":
                continue
            argument, component = node.data
            source = self.program.inputs[argument]
            if source.batched != batched:
                continue
            label = source.labels[component]
            self.names[ref] = label
            if self.python:
                continue
            if self.library:
                lines.append(f"{label} = _a{argument}" + ("" if source.is_scalar else f"[..., {component}]"))
            elif source.is_number and not batched:
                lines.append(f"{label} = _a{argument}" if self.double else f"{label} = _f32(_a{argument})")
            elif batched and not self.array:
                lines.append(f"{label} = _load(_a{argument}, {component}, _i)")
            else:
                lines.append(f"{label} = _a{argument}[{component}]")
        return lines

    def writes(self, batched: bool) -> list[str]:
        """Return the lines that write the results."""
        lines = []
        slots = count_rows(self.program.outputs)
        slot = 0
        for k, output in enumerate(self.program.outputs):
            for row, ref in enumerate(output.refs):
                if output.batched == batched:
                    value = self.name(ref)
                    plain = f"_o{k}[{row}] = {value}"
                    vector = f"_store(_o{k}, {row}, {slot}, {slots}, _i, {value})"
                    lines.append(vector if batched and not self.array else plain)
                slot += 1
        return lines

    def batched_rows(self) -> list[tuple[str, int, int]]:
        """Return (array, row, whether it is written) of all rows that the loop moves along."""
        inputs = (self.graph.nodes[ref].data for ref in self.order if self.graph.nodes[ref].operation == "input")
        reads = [(f"_a{k}", row, 0) for k, row in inputs if self.program.inputs[k].batched]
        outputs = ((k, len(output.refs)) for k, output in enumerate(self.program.outputs) if output.batched)
        return reads + [(f"_o{k}", row, 1) for k, size in outputs for row in range(size)]

    def guards(self, fixed: bool) -> str:
        """Return the condition of the guards, empty if there are none."""
        return " & ".join(self.name(ref) for ref in self.program.guards if self.is_fixed(ref) == fixed)


def count_rows(outputs: Sequence[Output]) -> int:
    """Return the number of rows of all results."""
    return sum(len(output.refs) for output in outputs)


def _module(title: str, head: Sequence[str], arguments: Sequence[str], lines: Sequence[str]) -> str:
    kernel = ["", "", f"def kernel({', '.join(arguments)}):", *(f"    {line}" for line in lines)]
    return "\n".join([f'"""{title}"""', "", *head, *kernel]) + "\n"


def _names(kind: str, sources: Sequence[Any]) -> list[str]:
    return [f"_{kind}{k}" for k in range(len(sources))]


def loop_source(program: Program, title: str) -> str:
    """Return a module with the function ``kernel`` that runs over samples, one after the other, for Numba.

    It returns 0; 1 if a guard failed in samples, whose numbers in the row ``_flags`` are then 1; 2 or 3 if a guard
    failed that is the same for all samples.
    """
    writer = _Writer(program, array=False)
    # once, before the loop: what is the same for all samples
    fixed = writer.reads(batched=False) + writer.lines(fixed=True)
    once = writer.writes(batched=False)
    start = writer.guards(fixed=True)
    lines = [f"{label} = _f32({text})" for text, label in writer.constants.items()] + fixed
    if once:
        lines += ["if _start == 0:", *(f"    {line}" for line in once)]
    lines.append(f"_bad = {f'(0 if {start} else 2)' if start else '0'}")
    # for each sample
    known = len(writer.constants)
    body = writer.reads(batched=True) + writer.lines(fixed=False) + writer.writes(batched=True)
    condition = writer.guards(fixed=False)
    if condition:
        slots = count_rows(program.outputs)
        flag = f"_flag = {writer.number(Fraction(0))} if {condition} else {writer.number(Fraction(1))}"
        body += [flag, f"_store(_flags, 0, {slots}, {slots + 1}, _i, _flag)", "_bad |= 0 if _flag == 0 else 1"]
    lines = [f"{label} = _f32({text})" for text, label in list(writer.constants.items())[known:]] + lines
    if body:
        lines += _over_samples(writer, body)
    lines.append("return _bad")
    names = ("load", "pow2", "prefetch", "store")
    head = [*_NUMPY, "", *(f"from clifford_rand.compiler.machine_code import {name} as _{name}" for name in names)]
    return _module(title, head, [*_names("a", program.inputs), *_names("o", program.outputs), *_OF_LOOP], lines)


def _over_samples(writer: "_Writer", body: list[str]) -> list[str]:
    """Return the loop over samples; with many rows, a loop over lines of the cache that asks for later ones ahead."""
    rows = writer.batched_rows()
    if len(rows) < PREFETCH_FROM:
        return ["for _i in range(_start, _stop):", *(f"    {line}" for line in body)]
    step = CACHE_LINE // writer.program.precision.itemsize
    ahead = PREFETCH_BYTES // writer.program.precision.itemsize
    return [
        f"for _line in range(_start, _stop, {step}):",
        *(f"    _prefetch({array}, {row}, _line + {ahead}, {write})" for array, row, write in rows),
        f"    for _i in range(_line, min(_line + {step}, _stop)):",
        *(f"        {line}" for line in body),
    ]


def array_source(program: Program, title: str) -> str:
    """Return a module with the function ``kernel`` that takes whole arrays, by NumPy; it returns where guards fail."""
    writer = _Writer(program, array=True)
    lines = writer.reads(batched=False) + writer.lines(fixed=True) + writer.writes(batched=False)
    lines += writer.reads(batched=True) + writer.lines(fixed=False) + writer.writes(batched=True)
    condition = " & ".join(part for part in (writer.guards(True), writer.guards(False)) if part)
    lines.append(f"return _np.logical_not({condition})" if condition else "return False")
    head = [*_NUMPY, "", "", "def _pow2(k):", "    return _np.ldexp(k.dtype.type(1), k.astype(_np.int64))"]
    constants = [f"{label} = _f32({text})" for text, label in writer.constants.items()]
    return _module(title, head, [*_names("a", program.inputs), *_names("o", program.outputs)], [*constants, *lines])


def tensor_source(program: Program, title: str) -> str:
    """Return a module with the function ``kernel`` of arrays (..., components) of any library, namespace first."""
    writer = _Writer(program, array=True, library=True)
    lines = writer.reads(batched=True) + writer.reads(batched=False)
    lines += writer.lines(fixed=True) + writer.lines(fixed=False)
    results = []
    for output in program.outputs:
        sources = 0
        for ref in output.refs:
            sources |= program.graph.sources[abs(ref)]
        like = next((k for k in range(len(program.inputs)) if sources >> k & 1 and not program.inputs[k].is_number), 0)
        first = f"_a{like}" if program.inputs[like].is_scalar else f"_a{like}[..., 0]"
        results.append(f"_stack(_xp, [{', '.join(writer.name(ref) for ref in output.refs)}], {first})")
    lines.append(f"return [{', '.join(results)}]")
    names = (*ROOTS, "pow2", "stack", "where")
    head = [f"from clifford_rand.fusion.tracing import {name} as _{name}" for name in names]
    return _module(title, head, ["_xp", *_names("a", program.inputs)], lines)


def _guards_first(program: Program, order: list[int]) -> list[int]:
    """Return the order in which the guards that need the fewest nodes are computed first: a failing path ends early."""
    below: dict[int, int] = {}  # bits of the nodes that a node needs
    for ref in order:
        below[ref] = 1 << ref
        for argument in program.graph.nodes[ref].arguments:
            below[ref] |= below[abs(argument)]
    first: dict[int, None] = {}
    for guard in sorted(map(abs, program.guards), key=lambda ref: below[ref].bit_count()):
        first.update(dict.fromkeys(ref for ref in order if ref <= guard and below[guard] >> ref & 1))
    return list(first | dict.fromkeys(order))


def python_source(program: Program, title: str) -> str:
    """Return a module with the function ``kernel`` of Python's numbers: (components, …) to rows of results, or None.

    None where a guard fails.
    """
    writer = _Writer(program, array=False, python=True)
    writer.order = _guards_first(program, writer.order)
    reads = [f"{', '.join(source.labels)}, = _a{k}" for k, source in enumerate(program.inputs) if source.labels]
    for batched in (True, False):  # which names the inputs
        writer.reads(batched)
    lines = writer.lines(fixed=True) + writer.lines(fixed=False)
    is_single = {writer.name(ref): len(writer.uses[abs(ref)]) == 1 for ref in program.guards}  # used by the guard alone
    ends = {name: f"if not {name}: return None" for name, single in is_single.items() if not single}
    lines = [f"if not {x.split(' = ')[1]}: return None" if is_single.get(x.split()[0]) else x for x in lines]
    lines = [part for line in lines for part in (line, ends.pop(line.split()[0], "")) if part] + [*ends.values()]
    # no -0.0
    rows = [f"[{', '.join(f'{writer.name(ref)} + 0.0' for ref in output.refs)}]" for output in program.outputs]
    return _module(title, [], _names("a", program.inputs), [*reads, *lines, f"return [{', '.join(rows)}]"])
