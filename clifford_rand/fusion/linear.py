"""Results that are linear in what differs between samples: their coefficients are computed once, before the loop.

One motor and many points: R x ~R is written as two products, but its coefficients are sums of products of R alone. As a
matrix it takes 30 multiplications a point in CGA(3) instead of 176.
"""

from clifford_rand.compiler.graph import ARITHMETIC, Graph, Output, Program, count_operations, needed, signed

MOST = 700  # operations of all: with more, compiling takes over a second

_Form = dict[int, int]  # node that differs between samples (0: the number 1) -> the coefficient's node


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
    if sum(count_operations(transformed)) > MOST:
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
        return signed(self._held, ref)

    def _made(self, ref: int) -> int:
        node = self.source.nodes[ref]
        if node.operation == "constant":
            return self.graph.constant(node.data)
        if node.operation == "input":
            argument, component = node.data
            return self.graph.input(argument, component, self.source.real[ref])
        arguments = [signed(self._held, argument) for argument in node.arguments]
        if node.operation in ARITHMETIC:
            return getattr(self.graph, node.operation)(*arguments)
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
