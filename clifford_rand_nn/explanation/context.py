"""Context of an explanation: the preprocessing, the given rows and targets, the reference row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.estimators.rows import given_targets
from clifford_rand_nn.explanation.preprocessing import Route, Rows
from clifford_rand_nn.explanation.sums import KernelSum, NetworkSum, Numbers, are_training_rows, rows_of_parts, sum_of

_MANY = 10  # distinct values of a column whose entries can be high or low
_SHOWN = 4  # columns of a row that are written
_KNOWN = 1000  # rows of a network, at most, that deviations and ranks are of
_SAME = 1e-9  # of the largest entry: rows of a network, brought back to what they came from, are off by rounding


@dataclass(frozen=True, eq=False)
class Context:
    """A model, its network as a sum, and the rows that were given with it."""

    route: Route
    network: NetworkSum
    rows: Rows | None  # those that were given
    targets: NDArray[Any] | None  # (n,) array
    training: bool  # whether they are the rows of training
    numbers: Numbers | None  # (P,) int, the training row that each part of a kernel network is
    # (k,), (d,), the row that columns are measured from, encoded and as the network sees it
    reference: tuple[Array, Array]
    measured_from: str  # the name of that row

    @classmethod
    def of(cls, model: Any, rows: Any, targets: Any, x: Any = None) -> "Context":
        """Return what is known of a fitted model.

        Raises ArgumentError if the model is not one that can be explained, or targets do not fit the rows.
        """
        route = Route(model, rows if rows is not None else x)
        network = sum_of(route.estimator)
        traced = None if rows is None else route.rows(rows, "X_train")[0]
        if targets is not None:
            if traced is None:
                raise fail("y_train", "explain", "given with X_train", describe("no rows"))
            targets = given_targets(targets, len(traced.seen), is_classifier(route.estimator), "explain", "y_train")
        numbers = rows_of_parts(route.estimator, network, None if traced is None else traced.seen)
        training = traced is not None and are_training_rows(route.estimator, network, numbers, traced.seen)
        if training or network.reference is None:
            reference = route.reference(network.reference, traced)
            name = "the mean of the training rows" if training else "the mean of the given rows"
            zeros = "a row that the network sees as zeros" if route.steps else "a row of zeros"
            name = zeros if traced is None else name
        else:
            reference = route.reference(network.reference, None)
            name = "the mean of the training rows"
        return cls(route, network, traced, targets, training, numbers, reference, name)

    @property
    def estimator(self) -> Any:
        """Return the estimator inside."""
        return self.route.estimator

    @property
    def output_names(self) -> list[str]:
        """Return the name of each output: a class, or a target by its number."""
        classes = getattr(self.estimator, "classes_", None)
        outputs = len(self.network.intercept)
        if self.several_labels:
            return [f"label {k}" for k in range(outputs)]
        if classes is None:
            return ["the target"] if outputs == 1 else [f"target {c}" for c in range(outputs)]
        return [str(classes[1])] if outputs == 1 else [str(label) for label in classes]

    @property
    def several_labels(self) -> bool:
        """Whether rows have several labels, each with an output and a probability of its own."""
        return bool(getattr(self.estimator, "_several", False))

    def spread(self) -> Array | None:
        """Return the deviation of the encoded columns (k,), of rows that were given, or as the network knows it."""
        if self.rows is not None:
            return np.asarray(self.rows.encoded.std(axis=0))
        if isinstance(self.network, KernelSum) and self.route.matrix is None:
            return np.asarray(self.network.own_rows(_KNOWN).std(axis=0))
        return None

    def shares_below(self, encoded: Array, seen: Array) -> Array:
        """Return for each encoded column of rows the share of known rows that are smaller, NaN where it is not known.

        Equal ones count half. It is NaN for columns with few distinct values.
        """
        if self.rows is not None:
            known, own = self.rows.encoded, encoded
        elif isinstance(self.network, KernelSum) and self.route.matrix is None:
            known, own = self.network.own_rows(_KNOWN), seen
        else:
            return np.full(encoded.shape, np.nan)
        ranks = np.full(own.shape, np.nan)
        for k in range(own.shape[1]):
            values = np.sort(known[:, k])
            if 1 + np.count_nonzero(np.diff(values)) > _MANY:
                slack = _SAME * max(1.0, float(np.abs(values[[0, -1]]).max()))
                low = np.searchsorted(values, own[:, k] - slack)
                high = np.searchsorted(values, own[:, k] + slack, side="right")
                ranks[:, k] = 0.5 * (low + high) / len(values)
        return ranks

    def row_text(self, number: int, columns: Sequence[int]) -> str:
        """Return a training row in words, by its target and some of its columns; nothing if it is not known."""
        if not self.training or self.rows is None:
            return ""
        parts = ["has"]
        if self.targets is not None:
            kind = "is" if hasattr(self.estimator, "classes_") else "has the target"
            parts = [f"{kind} {cell(self.targets[number])}:"]
        for j in list(columns)[:_SHOWN]:
            value = cell(self.route.column(self.rows.table, j)[number])
            parts.append(f"{self.route.names[j]} {value},")
        return " ".join(parts).rstrip(",:")


def cell(value: Any) -> str:
    """Return how an entry of a table is written: numbers to four digits, what is missing by that word.

    >>> [cell(value) for value in (12204.0, 0.123456, "A11", float("nan"))]
    ['12204', '0.1235', 'A11', 'missing']
    """
    if isinstance(value, np.ndarray):
        return ", ".join(map(cell, value))
    if value is None or value != value or str(value) in ("NaT", "<NA>"):
        return "missing"
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else f"{number:.4g}"
    return str(value)
