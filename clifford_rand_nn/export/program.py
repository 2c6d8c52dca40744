"""Programs of array operations that fitted models state once, and that writers translate for a library.

A model states its outputs with `Value`, which has the operators of an array: ``maximum(x @ W + b, 0) @ w``. The result
is a graph; `numpy_source`, `onnx_file` and `torch_module` know what each operation is called in their library.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partialmethod
from typing import Any

import numpy as np

from clifford_rand._typing import ArrayLike, NDArray

# Of arcsin(s)/s by rising powers of z = s² ≤ 1/4: interpolation in the Chebyshev points of [0, 1/4], error 2e-17.
ARCSINE = (
    *(1.0, 0.16666666666664942, 0.07500000000385201, 0.044642856805998936, 0.03038195969768514),
    *(0.022371749733164054, 0.01735977964134998, 0.01388484282640208, 0.012170138592391726),
    *(0.0065293020047365695, 0.019513468251252167, -0.016187392271599134, 0.03187962140081284),
)

# Every operation there is, and what it means in NumPy; a, b, c are its operands.
OPERATIONS = {
    "rows": "the rows X (n, d), float64",
    "numbers": "a column (n, 1) of a table, float64, NaN where it is missing",
    "words": "a column (n, 1) of a table, texts, empty where it is missing",
    "days": "a column (n, 1) of a table, days since 1970 with their fractions, NaN where it is missing",
    "constant": "an array of the model",
    "add": "a + b",
    "subtract": "a - b",
    "multiply": "a * b",
    "divide": "a / b",
    "matmul": "a @ b",
    "matmul_t": "a @ b.T",
    "maximum": "np.maximum(a, b)",
    "less": "a < b",
    "equals": "a == b",
    "where": "np.where(a, b, c)",
    "abs": "np.abs(a)",
    "sign": "np.sign(a)",
    "floor": "np.floor(a)",
    "sin": "np.sin(a)",
    "cos": "np.cos(a)",
    "sqrt": "np.sqrt(a)",
    "exp": "np.exp(a)",
    "log": "np.log(a)",
    "log1p": "np.log1p(a)",
    "arcsin": "np.arcsin(a); a derivative, if there is one, is 0 at ±1",
    "row_sums": "a.sum(axis=1, keepdims=True)",
    "row_largest": "a.max(axis=1, keepdims=True)",
    "layers": "a.T[:, :, None]",
    "layer_sums": "a.sum(axis=0)",
    "total": "a.sum()",
    "first": "a[:, 0]",
    "argmax": "a.argmax(axis=1)",
    "whole": "a.astype(np.int64)",
    "beside": "np.concatenate([a, b, …], axis=1)",
}
COLUMNS = ("numbers", "words", "days")  # what a table holds


@dataclass(frozen=True, eq=False)
class Value:
    """Array of a program: an operation on others, or an array that is given.

    >>> x = rows()
    >>> hidden = maximum(x @ constant([[1.0], [2.0]], "W"), 0)
    >>> hidden.op, hidden.operands[0].op
    ('maximum', 'matmul')
    """

    op: str  # one of OPERATIONS
    operands: "tuple[Value | float, ...]" = ()
    data: NDArray[Any] | None = None  # of a constant
    name: str = ""  # of constants, and of values that read better with one
    trained: bool = False  # whether a constant is a variable of the problem that was solved

    __array_ufunc__ = None  # so that array * value is refused by NumPy and comes here

    def named(self, name: str) -> "Value":
        """Return the same under a name, for those who read what is written."""
        return Value(self.op, self.operands, self.data, name, self.trained)

    @property
    def values(self) -> "tuple[Value, ...]":
        """Operands that are not numbers."""
        return tuple(operand for operand in self.operands if isinstance(operand, Value))

    def _with(self, other: "Value | float", op: str, *, swap: bool = False) -> "Value":
        return Value(op, (other, self) if swap else (self, other))

    __add__ = partialmethod(_with, op="add")
    __radd__ = partialmethod(_with, op="add", swap=True)
    __sub__ = partialmethod(_with, op="subtract")
    __rsub__ = partialmethod(_with, op="subtract", swap=True)
    __mul__ = partialmethod(_with, op="multiply")
    __rmul__ = partialmethod(_with, op="multiply", swap=True)
    __truediv__ = partialmethod(_with, op="divide")
    __rtruediv__ = partialmethod(_with, op="divide", swap=True)
    __matmul__ = partialmethod(_with, op="matmul")
    __lt__ = partialmethod(_with, op="less")


def rows() -> Value:
    """Return the rows that a program is for."""
    return Value("rows", name="X")


def constant(data: ArrayLike, name: str, trained: bool = False) -> Value:
    """Return an array of the model; ``name`` is its own among those of a program."""
    return Value("constant", data=np.array(data, dtype=np.float64, order="C"), name=name, trained=trained)


def column(kind: str, name: str) -> Value:
    """Return a column of the table that a program is for; ``kind`` is one of `COLUMNS`."""
    return Value(kind, name=name)


def equals(a: Value, words: Iterable[str] | Iterable[float], name: str) -> Value:
    """Return whether a column (n, 1) holds each of some texts or numbers, (n, k) of 1 and 0."""
    entries = list(words)
    data = np.array(entries, dtype=object if entries and isinstance(entries[0], str) else np.float64)
    return where(Value("equals", (a, Value("constant", data=data, name=name))), 1.0, 0.0)


def beside(parts: Iterable[Value]) -> Value:
    """Return columns side by side."""
    return Value("beside", tuple(parts))


def matmul_t(a: Value, b: Value) -> Value:
    """Return a bᵀ."""
    return Value("matmul_t", (a, b))


def maximum(a: Value, b: Value | float) -> Value:
    """Return the larger entry of two at every place."""
    return Value("maximum", (a, b))


def clipped(a: Value, far: float) -> Value:
    """Return the nearest entries from -far to far."""
    return 0.0 - maximum(0.0 - maximum(a, -far), -far)


def where(condition: Value, a: Value | float, b: Value | float) -> Value:
    """Return a where the condition holds, else b."""
    return Value("where", (condition, a, b))


def apply(op: str, a: Value) -> Value:
    """Return an operation of `OPERATIONS` that has one operand."""
    return Value(op, (a,))


def inverse_lengths(squares: Value) -> Value:
    """Return one over the roots, and 0 for 0."""
    positive = Value("less", (0.0, squares))
    return where(positive, 1.0 / apply("sqrt", where(positive, squares, 1.0)), 0.0)


def roots(squares: Value) -> Value:
    """Return the roots of numbers ≥ 0; a derivative, if there is one, is 0 where they are 0."""
    positive = Value("less", (0.0, squares))
    return where(positive, apply("sqrt", where(positive, squares, 1.0)), 0.0)


def softplus(a: Value) -> Value:
    """Return log(1 + eᵃ), without overflow."""
    return maximum(a, 0.0) + apply("log1p", apply("exp", 0.0 - apply("abs", a)))


def sigmoid(a: Value) -> Value:
    """Return 1/(1 + e⁻ᵃ), without overflow."""
    return apply("exp", 0.0 - softplus(0.0 - a))


def log_softmax(scores: Value) -> Value:
    """Return the logarithms of the shares of the exponentials in every row."""
    less = (scores - apply("row_largest", scores)).named("less")
    return less - apply("log", apply("row_sums", apply("exp", less)))


def two_layers(
    X: Value, network: Any, p: int = 2, feature: float | None = None, squared: bool = False
) -> tuple[Value, Value]:
    r"""Return the outputs (n, C) of a `TwoLayerNetwork`, and what beta weighs in the objective that it minimizes.

    Of ReLU neurons :math:`\frac12\sum_j(||W_j||_p^2+||w_{2,j}||_2^2)`; of gated ones
    :math:`\sum_i|\alpha_i|\,||W_i||_F` over units, or with ``squared`` half the squares, where gates and amplitudes
    :math:`\alpha` are not trained, so that the problem is convex as it was. With a ``feature`` c biases are weights,
    over c.
    """
    gated = network.gates is not None
    W1, b1 = constant(network.W1, "W1", trained=True), constant(network.b1, "b1", trained=True)
    w2, b2 = constant(network.w2, "w2", trained=not gated), constant(network.b2, "b2", trained=True)
    inside = matmul_t(X, W1) + b1
    if gated:
        plane = X @ constant(network.gates.directions, "gates") + constant(network.gates.offsets, "gate_offsets")
        hidden = where(plane < 0.0, 0.0, inside).named("hidden")
    else:
        hidden = maximum(inside, 0.0).named("hidden")
    outputs = (hidden @ w2 + b2).named("outputs")
    ones = constant(np.ones(network.W1.shape[1]), "ones")
    if p == 1:
        sizes = apply("abs", W1) @ ones
        sizes = sizes if feature is None else sizes + apply("abs", b1) / feature
        squares = sizes * sizes
    else:
        squares = (W1 * W1) @ ones
        squares = squares if feature is None else squares + b1 * b1 / feature**2
    if not gated:
        return outputs, 0.5 * (apply("total", squares) + apply("total", w2 * w2))
    units = np.arange(len(network.b1)) if network.units is None else network.units
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    amplitude = constant(np.linalg.norm(network.w2[first], axis=1), "amplitude")
    of_unit = constant(np.arange(first.size)[:, None] == unit, "of_unit") @ squares
    if squared:
        return outputs, 0.5 * apply("total", amplitude * amplitude * of_unit)
    return outputs, apply("total", amplitude * roots(of_unit))


@dataclass(frozen=True, eq=False)
class Program:
    """Results of a fitted model for rows.

    ``results`` have the names of the methods that give the same: "predict" or, of a classifier, "decision_function",
    "index" (of the label in ``classes``; without these, which of several labels are there, 0 and 1) and perhaps
    "predict_proba"; "low" and "high", the ends of intervals. "outputs" (n, C) are those of the network, before any
    calibration; "scores" (n, classes) are what labels are by.
    """

    model: str  # class of the model
    d: int  # columns of the rows
    results: dict[str, Value]
    penalty: Value | None = None  # what beta weighs in the objective that was minimized, a number
    classes: NDArray[Any] | None = None
    columns: tuple[str, ...] | None = None  # names of the columns, if the model knows them
    width: int = 1  # entries of the widest array, for each row
    rows: Value | None = None  # what the rows are made of, if the program is for a table
    table: tuple[Value, ...] = ()  # the columns of that table, in its order
    notes: dict[str, str] = field(default_factory=dict)  # for users
    missing: bool = False  # whether entries of the rows may be NaN, for which the program fills something in

    def constants(self) -> list[Value]:
        """Return the arrays of the model, each once, in the order of their use."""
        ends = [*self.results.values(), *([] if self.penalty is None else [self.penalty])]
        constants = [value for value in ordered(ends) if value.op == "constant"]
        assert len({value.name for value in constants}) == len(constants), "each array has its own name"
        return constants

    def block(self, entries: int = 2**16) -> int | None:
        """Return the number of rows at a time with which the widest array stays small; None where it needs no care."""
        return max(1, entries // self.width) if self.width > _WIDE else None


_WIDE = 128  # entries a row, up to which arrays are no larger than rows often are


def ordered(ends: "list[Value]") -> "list[Value]":
    """Return the values that some depend on, and these, each once and after its operands."""
    seen: dict[int, Value] = {}
    stack: list[tuple[Value, Iterator[Value]]] = []
    for end in ends:
        stack.append((end, iter(end.values)))
        while stack:
            value, left = stack[-1]
            following = next((operand for operand in left if id(operand) not in seen), None)
            if following is None:
                seen.setdefault(id(value), value)
                stack.pop()
            else:
                stack.append((following, iter(following.values)))
    return list(seen.values())
