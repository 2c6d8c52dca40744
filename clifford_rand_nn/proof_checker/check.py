"""Exact check of a proof that a two-layer network is close to the optimum of its training problem.

For rows x_i, targets y_i (vectors of C outputs) and weights w_i with sum W, a network f has the objective

    F(f) = (1/W) sum_i w_i loss(f(x_i), y_i) + beta * penalty(f).

A dual point theta, C numbers for each row, gives by Fenchel duality (Rockafellar, "Convex Analysis", 1970, theorem
31.1), for every network f of a family,

    F(f) >= (1/W) (sum_i -w_i loss*(-theta_i / w_i) - conjugate of the penalty),

if theta is orthogonal to what no penalty touches: sum_i theta_i = 0 for a free intercept. The conjugate of a norm is 0
if |theta^T k| <= W beta for the column k, one value for each row, of every neuron of norm one. The family says which
neurons there are, and its file verifies the inequality for all of them. The objective is that of the weights. A proof
is valid if its stated objective is not below the objective, and its stated bound not above the bound.

Only the standard library is used. Integers and fractions are exact; a name says where a number is rounded, and how.
"""

import csv
import hashlib
import math
import operator
import pathlib
from collections.abc import Iterable, Sequence
from fractions import Fraction
from importlib import import_module
from typing import Any, NamedTuple

BITS = 256  # significant bits of rounded fractions
ZERO = Fraction(0)
FAMILY_FILES = {"gated": "gated", "neurons": "dictionary", "dictionary": "dictionary", "cones": "cones"}
FAMILY_FILES |= {"plane": "plane", "simplices": "simplices", "moments": "moments", "kernel": "kernel"}
LOSS_FILES = {"logistic": "logarithms", "softmax": "logarithms", "log_cosh": "logarithms"}
MOST_OPERATIONS = 10**11  # multiplications of an enumeration, some hours
MOST_ENTRIES = 10**8  # of a matrix, some gigabytes


class InvalidProofError(Exception):
    """The proof is not valid; the message says why."""


def require(condition: bool, reason: str) -> None:
    """Raise InvalidProofError with the reason unless the condition holds."""
    if not condition:
        raise InvalidProofError(reason)


class Table(NamedTuple):
    """A matrix of rationals: integers over one positive denominator."""

    denominator: int
    numerators: list[list[int]]

    def row(self, i: int) -> list[Fraction]:
        """Return a row as fractions."""
        return [Fraction(value, self.denominator) for value in self.numerators[i]]

    def with_column(self, value: Fraction) -> "Table":
        """Return the table with a constant column behind it."""
        q = math.lcm(self.denominator, value.denominator)
        factor = q // self.denominator
        return Table(q, [[*(factor * entry for entry in row), int(value * q)] for row in self.numerators])


def dot(a: Iterable[int], b: Iterable[int]) -> int:
    """Return the inner product of two vectors of the same length."""
    return sum(map(operator.mul, a, b))


def rounded(x: Fraction, up: bool) -> Fraction:
    """Round to BITS significant bits, upwards or downwards."""
    scale = Fraction(2) ** (BITS - x.numerator.bit_length() + x.denominator.bit_length())
    return Fraction(math.ceil(x * scale) if up else math.floor(x * scale)) / scale


def root_above(x: Fraction) -> Fraction:
    """Return a number that is not below the square root."""
    half = max(0, BITS - (x.numerator.bit_length() - x.denominator.bit_length()) // 2)
    return Fraction(math.isqrt(math.ceil(x * 4**half)) + 1, 2**half) if x else ZERO


def norm_above(values: Sequence[Fraction], p: int) -> Fraction:
    """Return a number that is not below the p-norm, p = 1 or 2."""
    if p == 1 or len(values) == 1:
        return sum(map(abs, values), ZERO)
    return root_above(sum((v * v for v in values), ZERO))


def integer(text: Any) -> int:
    """Return an integer that is stated as a decimal string, in the one form that there is."""
    require(isinstance(text, str) and str(int(text)) == text, f"{text!r} is not an integer as a string")
    return int(text)


def fraction(pair: Any) -> Fraction:
    """Return a fraction that is stated as [numerator, denominator]."""
    require(isinstance(pair, list), f"{pair!r} is not a list of two integers")
    numerator, denominator = map(integer, pair)
    return Fraction(numerator, denominator)


def table(stated: Any, name: str, rows: int, columns: int) -> Table:
    """Return a table, which has to be of that shape."""
    denominator, lists = integer(stated["denominator"]), stated["numerators"]
    shaped = all(isinstance(part, list) for part in (lists, *lists)) and [*map(len, lists)] == [columns] * len(lists)
    require(shaped and len(lists) == rows, f"{name} is not of shape {rows} x {columns}")
    require(denominator > 0, f"the denominator of {name} is not positive")
    return Table(denominator, [list(map(integer, row)) for row in lists])


class Problem(NamedTuple):
    """A training problem with a dual point."""

    loss: str
    delta: Fraction  # where the Huber loss and log-cosh turn from square to line
    penalty: str  # "l1", "l2": sum of |neuron|_p |output weights|_2; "squared": half the squared l2 norms
    bias: str  # "none", "free", or "penalized": the weight of a constant feature
    constant: Fraction  # that feature
    intercept: bool  # whether the output has a free constant
    beta: Fraction
    X: Table  # (n, d)
    y: Table  # (n, C)
    weights: list[Fraction]  # (n,), positive
    theta: Table  # (n, C)

    @property
    def rows(self) -> Table:
        """X, or [X constant] if biases are penalized: the rows of which the norm charges all weights, (n, D)."""
        return self.X.with_column(self.constant) if self.bias == "penalized" else self.X

    @property
    def p(self) -> int:
        """1 or 2, the norm."""
        return 1 if self.penalty == "l1" else 2

    @property
    def radius(self) -> Fraction:
        """W beta, the largest |theta^T k| of a neuron of norm one."""
        return sum(self.weights, ZERO) * self.beta

    def charged(self, neuron: list[Fraction]) -> list[Fraction]:
        """Return the numbers that the norm charges of the weights and bias (d + 1) of a neuron."""
        *slopes, bias = neuron
        require(not bias or self.bias != "none", "a neuron has a bias, and the problem has none")
        return [*slopes, bias / self.constant] if self.bias == "penalized" else slopes


def read_problem(proof: dict[str, Any], folder: pathlib.Path) -> Problem:
    """Return problem and dual point of a proof; shapes, signs and the sum of the dual point are checked."""
    stated = proof["problem"]
    n, d, outputs = (integer(stated[name]) for name in ("n", "d", "outputs"))
    require(min(n, d, outputs) > 0, "there are no rows, columns or outputs")
    delta, constant, beta = (fraction(stated[name]) for name in ("delta", "constant", "beta"))
    require(min(delta, constant, beta) > 0, "beta, delta or the constant feature is not positive")
    penalty, bias, intercept = (stated[name] for name in ("penalty", "bias", "intercept"))
    kinds = penalty in ("l1", "l2", "squared") and bias in ("none", "free", "penalized")
    require(kinds and isinstance(intercept, bool), "the penalty, the kind of bias or of intercept is unknown")
    X, y = read_csv(proof["data"], folder) if "file" in proof["data"] else (proof["data"][name] for name in "Xy")
    weights = table(stated["weights"], "weights", 1, n).row(0)
    require(min(weights) > 0, "a weight is not positive")
    theta = table(proof["dual"], "the dual point", n, outputs)
    balanced = not any(map(sum, zip(*theta.numerators, strict=True)))
    require(balanced or not intercept, "the dual point does not sum to zero")
    X, y = table(X, "X", n, d), table(y, "y", n, outputs)
    return Problem(stated["loss"], delta, penalty, bias, constant, intercept, beta, X, y, weights, theta)


def read_csv(stated: dict[str, Any], folder: pathlib.Path) -> list[dict[str, Any]]:
    """Return columns of a CSV file with the stated SHA-256 as tables X and y; its numbers are read as doubles."""
    require((folder / stated["file"]).is_file(), "the data file is missing")  # a device has no end
    content = (folder / stated["file"]).read_bytes()
    require(hashlib.sha256(content).hexdigest() == stated["sha256"], "the data file has another SHA-256")
    lines = list(csv.DictReader(content.decode().splitlines()))
    goals, labels = [[line[name] for name in stated["targets"]] for line in lines], stated["labels"]
    if labels is not None:  # the targets of each label
        goals = [labels[label] for (label,) in goals]
    return [as_stated([[line[name] for name in stated["columns"]] for line in lines]), as_stated(goals)]


def as_stated(texts: list[list[str]]) -> dict[str, Any]:
    """Return the doubles that decimals are read as, over a common denominator."""
    numbers = [[Fraction(float(text)) for text in row] for row in texts]
    q = math.lcm(*(x.denominator for row in numbers for x in row))
    return {"denominator": str(q), "numerators": [[str(int(x * q)) for x in row] for row in numbers]}


def loss_above(problem: Problem, f: list[Fraction], y: list[Fraction]) -> Fraction:
    """Return the loss of one row, or a number above it."""
    pairs = list(zip(f, y, strict=True))
    if problem.loss == "squared":  # r^2/2 of r = f - y
        return sum(((a - b) ** 2 for a, b in pairs), ZERO) / 2
    if problem.loss == "squared_hinge":  # max(0, 1 - y f)^2 / 2
        return sum((max(ZERO, 1 - b * a) ** 2 for a, b in pairs), ZERO) / 2
    if problem.loss == "huber":  # r^2/2 up to delta, then delta |r| - delta^2/2
        inside = [min(abs(a - b), problem.delta) for a, b in pairs]
        return sum((s * (abs(a - b) - s / 2) for s, (a, b) in zip(inside, pairs, strict=True)), ZERO)
    require(problem.loss in LOSS_FILES, "the loss is unknown")
    return Fraction(other_file(LOSS_FILES[problem.loss]).loss_above(problem, f, y))


def gain_below(problem: Problem, theta: list[Fraction], y: list[Fraction]) -> Fraction:
    """Return -loss*(-theta) of one row, or a number below it: theta y - theta^2/2 in the domain of the loss."""
    pairs = list(zip(theta, y, strict=True))
    if problem.loss == "squared_hinge":
        require(all(b in (-1, 1) and t * b >= 0 for t, b in pairs), "y is not 1 or -1, or y theta is negative")
    elif problem.loss == "huber":
        require(all(abs(t) <= problem.delta for t in theta), "the dual point is larger than delta")
    elif problem.loss != "squared":
        return Fraction(other_file(LOSS_FILES[problem.loss]).gain_below(problem, theta, y))
    return sum((t * b - t * t / 2 for t, b in pairs), ZERO)


Outputs = list[list[Fraction]]


def relu_network(problem: Problem, stated: dict[str, Any]) -> tuple[Outputs, Fraction]:
    """Return f_i = sum_j max(0, W_j x_i + b_j) a_j + t, and sum_j |(W_j, b_j)|_p |a_j|_2 or a number above it."""
    require(problem.penalty != "squared", "the penalty of neurons is a norm")
    m, d, outputs = len(stated["W"]["numerators"]), len(problem.X.numerators[0]), len(problem.y.numerators[0])
    W, a = table(stated["W"], "W", m, d + 1), table(stated["a"], "a", m, outputs)
    rows = problem.X.with_column(Fraction(1))
    columns = [[row[c] for row in a.numerators] for c in range(outputs)]
    q = rows.denominator * W.denominator * a.denominator
    hidden = ([max(0, dot(w, x)) for w in W.numerators] for x in rows.numerators)
    f = [[Fraction(dot(h, column), q) for column in columns] for h in hidden]
    norms = (norm_above(problem.charged(W.row(j)), problem.p) * norm_above(a.row(j), 2) for j in range(m))
    return f, sum(norms, ZERO)


def corners(f: list[Fraction], error: Fraction) -> Outputs:
    """Return vertices such that a convex loss is, at one of them, no less than wherever each output misses `error`.

    They are those of the polytope |v - f|_1 <= C error, which holds the box |v_c - f_c| <= error.
    """
    moves = [s * len(f) * error for s in (1, -1)] if error else []
    return [[*f[:c], f[c] + move, *f[c + 1 :]] for c in range(len(f)) for move in moves] or [f]


def objective_above(problem: Problem, stated: dict[str, Any], family: dict[str, Any]) -> Fraction:
    """Return the objective of the network, or a number above it."""
    error = ZERO  # of the outputs
    if stated["kind"] == "relu":
        f, penalty = relu_network(problem, stated)
    else:  # a gated network, or one of infinitely many gates, is one of its family
        require(stated["kind"] == family["kind"], "the network is not of the family")
        f, penalty, error = other_file(FAMILY_FILES[stated["kind"]]).network(problem, stated, family)
    t = table(stated["t"], "t", 1, len(problem.y.numerators[0])).row(0)
    require(problem.intercept or not any(t), "the network has an intercept, and the problem has none")
    losses = ZERO
    for i, (w, outputs) in enumerate(zip(problem.weights, f, strict=True)):
        shifted = [a + b for a, b in zip(outputs, t, strict=True)]
        largest = max(loss_above(problem, corner, problem.y.row(i)) for corner in corners(shifted, error))
        losses += rounded(w * largest, up=True)
    return losses / sum(problem.weights) + problem.beta * penalty


def other_file(name: str) -> Any:
    """Return the module of a file beside this one."""
    return import_module(f".{name}", __package__)


class Verdict(NamedTuple):
    """Statement of a proof: the objective is at most `objective`, and over the family at least `bound`."""

    objective: Fraction
    bound: Fraction
    family: str
    theorem: str

    @property
    def gap(self) -> Fraction:
        """(objective - bound) / objective; 0 if the objective is 0."""
        return (self.objective - self.bound) / self.objective if self.objective else ZERO


def evaluate(proof: dict[str, Any], folder: pathlib.Path = pathlib.Path()) -> Verdict:
    """Return the objective and the bound that network and dual point have, whatever is stated."""
    require((proof["format"], proof["version"]) == ("clifford-rand proof", "1"), "the format is unknown")
    problem, family = read_problem(proof, folder), proof["family"]
    objective, gains = objective_above(problem, proof["network"], family), ZERO
    for i, w in enumerate(problem.weights):
        gains += rounded(w * gain_below(problem, [t / w for t in problem.theta.row(i)], problem.y.row(i)), up=False)
    conjugate, words, theorem = other_file(FAMILY_FILES[family["kind"]]).family(problem, family)
    bound = max((gains - conjugate) / sum(problem.weights), ZERO)  # no loss or penalty is negative
    return Verdict(rounded(objective, up=True), rounded(bound, up=False), words, theorem)


def check(proof: dict[str, Any], folder: pathlib.Path = pathlib.Path()) -> Verdict:
    """Return what a proof states, if it is valid; raise InvalidProofError if not."""
    try:
        verdict, objective, bound = evaluate(proof, folder), fraction(proof["objective"]), fraction(proof["bound"])
    except InvalidProofError:
        raise
    except Exception as error:
        raise InvalidProofError(f"it cannot be checked: {type(error).__name__}: {error}") from error
    require(objective >= verdict.objective, "the objective of the network is above the stated one")
    require(bound <= verdict.bound, "the bound of the dual point is below the stated one")
    require(bound <= objective, "the objective is below the bound: the network is not of the family")
    return verdict._replace(objective=objective, bound=bound)
