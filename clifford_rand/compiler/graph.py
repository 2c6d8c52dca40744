"""Graphs of scalar terms, each computed once and what vanishes left out, and the programs that they make.

A reference to a node is an integer: its number, or minus that for its negative; 0 is the number zero. Every node has a
value at one random point modulo a prime. Polynomials that agree there are equal but for a chance of (degree / prime),
2⁻¹²⁰ (J. T. Schwartz, "Fast probabilistic algorithms for verification of polynomial identities", Journal of the ACM 27,
1980), so a new term is looked up by its value: equal terms are one node however they were written, and what cancels
is 0. Reciprocals, roots and other functions are unknowns of their own, one for each value of their arguments.
"""

import hashlib
import math
import operator
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

PRIME = 2**127 - 1

ARITHMETIC = ("add", "mul")
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "eq": operator.eq,
    "ne": operator.ne,
}
EVEN = frozenset({"abs", "cos", "cosh"})
ODD = frozenset({"sin", "tan", "sinh", "tanh", "arcsin", "arctan", "arcsinh", "rint"})
FUNCTIONS = EVEN | ODD | {"sqrt", "exp", "log", "floor", "arccos", "arctan2", "power", "pow2", "reciprocal"}
ROOTS = ("cosh_root", "sinhc_root", "sinhc_root_slope")  # cosh √s, sinh √s / √s and its derivative
POSITIVE = frozenset({"abs", "exp", "cosh", "sqrt", "pow2"})


class Node(NamedTuple):
    """One operation on earlier nodes; ``data`` is a constant's number, or (argument, component) of an input."""

    operation: str
    arguments: tuple[int, ...]
    data: Any = None


class Graph:
    """Nodes in the order in which they can be computed.

    ``sign`` is 1 or -1 where a node is known to be ≥ 0 or ≤ 0, ``sources`` holds the bits of the arguments it comes
    from, and ``real`` tells whether it is a real number in any case. With ``whole`` functions that `fusion.analysis`
    writes as terms are nodes of their own.
    """

    def __init__(self, *, whole: bool = False) -> None:
        self.whole = whole
        self.nodes: list[Node] = [Node("constant", (), Fraction(0))]
        self.values: list[int] = [0]
        self.sign: list[int] = [1]
        self.sources: list[int] = [0]
        self.real: list[bool] = [True]
        self._at: dict[int, int] = {}
        self._made: dict[Any, int] = {}

    # ---- makers

    def input(self, argument: int, component: int, real: bool) -> int:
        """Return the node of one component of one argument."""
        value = _random("input", (argument, component))
        return self._node(Node("input", (), (argument, component)), value, 0, 1 << argument, real)

    def constant(self, number: Any) -> int:
        """Return a reference to a number; floats are the fractions that they are."""
        if isinstance(number, complex) and number.imag:
            if not (math.isfinite(number.real) and math.isfinite(number.imag)):
                raise ValueError(f"the constant {number} is not finite")
            value = _residue(Fraction(number.real)) + _residue(Fraction(number.imag)) * _random("imaginary unit", ())
            return self._node(Node("constant", (), number), value % PRIME, 0, 0, False)
        exact = Fraction(number.real if isinstance(number, complex) else number)
        if exact == 0:
            return 0
        size = self._node(Node("constant", (), abs(exact)), _residue(abs(exact)), 1, 0, True)
        return size if exact > 0 else -size

    def number(self, ref: int) -> Any:
        """Return the number that a constant is, None for what depends on an argument."""
        node = self.nodes[abs(ref)]
        if node.operation != "constant":
            return None
        return -node.data if ref < 0 else node.data

    def add(self, a: int, b: int) -> int:
        """Return a + b."""
        if not a or not b:
            return a or b
        if a == -b:
            return 0
        result = self._made.get((a, b))
        if result is None:
            x, y = self.number(a), self.number(b)
            if x is not None and y is not None:
                result = self.constant(x + y)
            else:
                both = sorted((a, b), key=abs)
                sign = self.sign_of(a) if self.sign_of(a) == self.sign_of(b) else 0
                result = self._operation("add", (both[0], both[1]), (self._value(a) + self._value(b)) % PRIME, sign)
            self._made[a, b] = self._made[b, a] = result
        return result

    def mul(self, a: int, b: int) -> int:
        """Return a b."""
        if not a or not b:
            return 0
        sign = 1 if (a > 0) == (b > 0) else -1
        a, b = abs(a), abs(b)
        result = self._made.get((a, b, "mul"))
        if result is None:
            x, y = self.number(a), self.number(b)
            if x is not None and y is not None:
                result = self.constant(x * y)
            elif x == 1 or y == 1:
                result = b if x == 1 else a
            else:
                known = 1 if a == b and self.real[a] else self.sign[a] * self.sign[b]
                result = self._operation("mul", (min(a, b), max(a, b)), self.values[a] * self.values[b] % PRIME, known)
            self._made[a, b, "mul"] = self._made[b, a, "mul"] = result
        return sign * result

    def sum(self, refs: Iterable[int]) -> int:
        """Return the sum of several."""
        total = 0
        for ref in refs:
            total = self.add(total, ref)
        return total

    def call(self, name: str, *arguments: int) -> int:
        """Return a function of `FUNCTIONS`, a comparison, "and", "or", "where" of nodes."""
        if name in ("where", "and", "or"):
            known_condition = self._decided(name, arguments)
            if known_condition is not None:
                return known_condition
        sign = 1
        if len(arguments) == 1:
            known, flipped = self.sign_of(arguments[0]), arguments[0] < 0
            if name == "abs" and known:
                return known * arguments[0]
            if flipped and (name in EVEN or name in ODD or name == "reciprocal"):
                arguments = (-arguments[0],)
                sign = 1 if name in EVEN else -1
        numbers = [self.number(ref) for ref in arguments]
        folded = None if None in numbers else _fold(name, numbers)
        if folded is not None:
            return sign * self.constant(int(folded) if isinstance(folded, bool) else folded)
        real = all(self.real[abs(ref)] for ref in arguments) or name == "abs"
        known = 1 if name in POSITIVE and real else self.sign_of(arguments[0]) if name == "reciprocal" else 0
        if name == "where" and self.sign_of(arguments[1]) == self.sign_of(arguments[2]):
            known = self.sign_of(arguments[1])
        value = _random(name, tuple(self._value(ref) for ref in arguments))
        return sign * self._operation(name, arguments, value, known, real)

    def _decided(self, name: str, arguments: tuple[int, ...]) -> int | None:
        """Return "where", "and", "or" of a condition that is known, 1 or 0; None if it is not."""
        if name == "where":
            if arguments[1] == arguments[2]:
                return arguments[1]
            known = self.number(arguments[0])
            return None if known is None else arguments[1] if known else arguments[2]
        for first, second in (arguments, arguments[::-1]):
            known = self.number(first)
            if known is not None:
                return second if bool(known) == (name == "and") else first
        return None

    # ---- what is known of a reference

    def sign_of(self, ref: int) -> int:
        """Return 1 where it is known to be ≥ 0, -1 for ≤ 0, else 0."""
        return -self.sign[-ref] if ref < 0 else self.sign[ref]

    def _value(self, ref: int) -> int:
        return PRIME - self.values[-ref] if ref < 0 else self.values[ref]

    def _operation(self, name: str, arguments: tuple[int, ...], value: int, sign: int, real: bool | None = None) -> int:
        sources = 0
        for ref in arguments:
            sources |= self.sources[abs(ref)]
        if real is None:
            real = all(self.real[abs(ref)] for ref in arguments)
        return self._node(Node(name, arguments), value, sign, sources, real)

    def _node(self, node: Node, value: int, sign: int, sources: int, real: bool) -> int:
        """Return the node of this value or of its negative, a new one only if there is none."""
        if not value:
            return 0
        result = self._at.get(value)
        if result is None and (opposite := self._at.get(PRIME - value)) is not None:
            result = -opposite
        if result is not None:
            if sign and not self.sign[abs(result)]:
                self.sign[abs(result)] = sign if result > 0 else -sign
            return result
        result = len(self.nodes)
        self._at[value] = result
        self.nodes.append(node)
        self.values.append(value)
        self.sign.append(sign)
        self.sources.append(sources)
        self.real.append(real)
        return result


def signed(values: Any, ref: int) -> Any:
    """Return the value of a reference, from those of the nodes."""
    return values[ref] if ref >= 0 else -values[-ref]


class Input(NamedTuple):
    """One argument of the kernel: the names of its components, and whether it has one of each for every sample."""

    labels: tuple[str, ...]
    batched: bool
    is_number: bool
    is_scalar: bool = False


class Output(NamedTuple):
    """One result of the kernel: the nodes of its components, and whether they differ between samples."""

    refs: tuple[int, ...]
    batched: bool


class Program(NamedTuple):
    """The terms to be computed, of which arguments and results, and the conditions that they hold under."""

    graph: Graph
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    guards: tuple[int, ...]
    precision: np.dtype


class Operations(NamedTuple):
    """The number of operations on one sample; what does not differ between samples is counted too."""

    multiplications: int
    additions: int
    other: int


def needed(program: Program) -> tuple[list[int], dict[int, list[int]]]:
    """Return the nodes that results and guards need, in order, and the users of each; -1 stands for a result."""
    uses: dict[int, list[int]] = {}
    waiting = [abs(ref) for output in program.outputs for ref in output.refs] + [abs(ref) for ref in program.guards]
    for ref in waiting:
        uses.setdefault(ref, []).append(-1)
    seen = set()
    while waiting:
        ref = waiting.pop()
        if ref in seen:
            continue
        seen.add(ref)
        for argument in program.graph.nodes[ref].arguments:
            uses.setdefault(abs(argument), []).append(ref)
            waiting.append(abs(argument))
    return sorted(seen), uses


def count_operations(program: Program) -> Operations:
    """Return the number of operations that the code has."""
    order, _ = needed(program)
    names = [program.graph.nodes[ref].operation for ref in order]
    products, sums = names.count("mul"), names.count("add")
    rest = sum(name not in ("input", "constant", *ARITHMETIC) for name in names)
    return Operations(products, sums, rest)


def _residue(number: Fraction) -> int:
    return number.numerator * pow(number.denominator, -1, PRIME) % PRIME


def _random(name: str, arguments: tuple[int, ...]) -> int:
    """Return a number below the prime that is the same in every process, so that equal functions have equal code."""
    digest = hashlib.blake2b(repr((name, arguments)).encode(), digest_size=16).digest()
    return int.from_bytes(digest, "little") % (PRIME - 1) + 1


def _fold(name: str, numbers: list[Any]) -> Any:
    """Return the value at constants where Python's math has the function, else None."""
    if name in COMPARISONS:
        return COMPARISONS[name](*numbers)
    if any(isinstance(number, complex) for number in numbers):
        return None
    if name == "reciprocal":
        return 1 / numbers[0]
    if name == "abs":
        return abs(numbers[0])
    if name in ("sqrt", "log") and numbers[0] <= 0:
        return None
    if name in ("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh"):
        return getattr(math, name)(float(numbers[0]))
    return None
