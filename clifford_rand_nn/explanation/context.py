"""Context of an explanation: preprocessing, given rows and targets, reference row; and the importance of columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.dummy import DummyRegressor

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.estimators.rows import given_targets
from clifford_rand_nn.explanation.preprocessing import Route, Rows, named
from clifford_rand_nn.explanation.sums import (
    KernelSum,
    NetworkSum,
    Numbers,
    are_training_rows,
    evenly,
    rows_of_parts,
    sum_of,
)
from clifford_rand_nn.scores import log_loss, r_squared

_MANY = 10  # distinct values of a column whose entries can be high or low
_SHOWN = 4  # columns of a row that are written
_KNOWN = 1000  # rows of a network, at most, that deviations and ranks are of
_SAME = 1e-9  # of the largest entry: rows of a network, brought back to what they came from, are off by rounding
_PERMUTED = 500  # rows, at most, that columns are permuted on
_COLUMNS = 60  # that are permuted, if there are more: those of the largest gradients
_AT = 1000  # rows, at most, where gradients are taken
_BLOCK = 100  # of them at a time


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
        name, is_given = "the mean of the training rows", training or network.reference is None
        reference = route.reference(network.reference, traced if is_given else None)
        if is_given and not training:
            zeros = "a row that the network sees as zeros" if route.steps else "a row of zeros"
            name = zeros if traced is None else "the mean of the given rows"
        return cls(route, network, traced, targets, training, numbers, reference, name)

    @property
    def estimator(self) -> Any:
        """The estimator inside."""
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


def permutation_losses(
    error: Callable[[Array], float], rows: Array, columns: Sequence[NDArray[np.intp]], repeats: int, random_state: Any
) -> Array:
    """Return the increase of an error (k, repeats) where columns are permuted among rows (n, d).

    Each entry of ``columns`` are columns that are permuted together, as all that one column of a table was encoded as
    is. It is `sklearn.inspection.permutation_importance` on a table of the numbers of rows, so that encoders need not
    run again.

    References
    ----------
    Breiman, "Random forests", Machine Learning 45 (2001), section 10.

    >>> rows = np.arange(12.0).reshape(6, 2)
    >>> losses = permutation_losses(lambda X: float(np.abs(X[:, 0] - rows[:, 0]).mean()), rows, [[0], [1]], 3, 0)
    >>> losses.shape, bool((losses[0] > 0).all()), losses[1].tolist()
    ((2, 3), True, [0.0, 0.0, 0.0])
    """
    from sklearn.inspection import permutation_importance

    def score(_: object, places: Any, __: object) -> float:
        mixed = rows.copy()
        for place, together in zip(places.T, columns, strict=True):
            mixed[:, together] = rows[np.ix_(place, together)]
        return -error(mixed)

    places = np.repeat(np.arange(len(rows))[:, None], len(columns), axis=1)
    result = permutation_importance(
        DummyRegressor(), places, np.zeros(len(rows)), scoring=score, n_repeats=repeats, random_state=random_state
    )
    return np.asarray(result.importances)


def error_measure(model: Any) -> str:
    """Return the measure of `prediction_error`: "R²", "log loss" or "accuracy"."""
    return "R²" if not is_classifier(model) else "log loss" if hasattr(model, "predict_proba") else "accuracy"


def prediction_error(model: Any, X: Any, y: NDArray[Any], weights: Array | None = None) -> float:
    """Return the error of a fitted model on rows.

    Log loss where there are probabilities (multilabel: its mean over the labels), else 1 minus the
    accuracy or R².

    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    >>> round(prediction_error(DummyClassifier().fit(X, y), X, y), 4)
    0.6931
    """
    measure = error_measure(model)
    if measure == "R²":
        return 1.0 - r_squared(y, model.predict(X), weights) if len(y) > 1 else float("nan")
    if measure == "accuracy":
        return 1.0 - float(model.score(X, y, weights))
    sure = np.asarray(model.predict_proba(X))
    if y.ndim > 1:
        labels = np.array([0, 1])
        pairs = (np.column_stack([1 - sure[:, k], sure[:, k]]) for k in range(y.shape[1]))
        return float(np.mean([log_loss(y[:, k], labels, pair, weights) for k, pair in enumerate(pairs)]))
    return log_loss(y, model.classes_, sure, weights)


class ColumnImportance(NamedTuple):
    r"""The importance of a table column for a network.

    The gradient is the mean over rows of :math:`|\partial f/\partial x_j|` times the deviation of the column, summed
    over the encoded columns that it became, and the root of the squares of several outputs.
    """

    name: str
    gradient: float
    share: float  # of the sum of gradients over columns
    # increase of the log loss where the column is permuted (decrease of R², or of the accuracy, where there are no
    # probabilities); of more than 60 columns, for those of the largest gradients
    permuted: float | None = None
    permuted_error: float | None = None  # standard deviation of that over permutations


def gradient_sizes(context: Context, rows: Rows | None) -> Array:
    """Return the mean size of the gradient times the deviation of each encoded column, (k,); of its own rows if None.

    Where neither rows nor the network tell deviations these are 1.
    """
    route, network = context.route, context.network
    spread = context.spread()
    if rows is None:  # those that the network is made of, or the one that it knows
        seen = network.own_rows(_AT) if isinstance(network, KernelSum) else context.reference[1][None]
        encoded_deviation = np.ones(len(route.origin)) if spread is None else spread
    else:
        seen, encoded_deviation = rows.seen, np.asarray(rows.encoded.std(axis=0))
    seen = seen[evenly(len(seen), _AT)]
    total = np.zeros(len(route.origin))
    for start in range(0, len(seen), _BLOCK):
        slopes = route.back(network.local(seen[start : start + _BLOCK], context.reference[1]).slopes)
        total += np.sqrt((slopes**2).sum(axis=1)).sum(axis=0)
    return np.asarray(total / len(seen) * encoded_deviation)


def importances(context: Context, repeats: int, random_state: Any) -> list[ColumnImportance]:
    """Return the importance of every table column, the largest first; those that were permuted before the others."""
    route = context.route
    gradient = route.summed(gradient_sizes(context, context.rows))
    share = gradient / (gradient.sum() or 1.0)
    permuted: dict[int, tuple[float, float]] = {}
    if context.rows is not None and context.targets is not None and repeats:
        some = np.argsort(-gradient, kind="stable")[:_COLUMNS]
        permuted = _permuted(context, context.rows, context.targets, some, repeats, random_state)
    columns = [
        ColumnImportance(name, float(gradient[j]), float(share[j]), *permuted.get(j, (None, None)))
        for j, name in enumerate(route.names)
    ]
    return sorted(columns, key=lambda column: (column.permuted is None, -(column.permuted or 0.0), -column.gradient))


def _permuted(
    context: Context, rows: Rows, targets: Any, columns: Any, repeats: int, random_state: Any
) -> dict[int, tuple[float, float]]:
    """Return the increase of the error, and its deviation, for table columns with all their encoded columns."""
    route, some = context.route, evenly(len(targets), _PERMUTED)
    together = [np.flatnonzero(route.origin == j) for j in columns]

    def error(encoded: Array) -> float:
        return prediction_error(route.last, named(route.last, route.forth(encoded)), targets[some])

    losses = permutation_losses(error, rows.encoded[some], together, repeats, random_state)
    spread = zip(losses.mean(axis=1).tolist(), losses.std(axis=1).tolist(), strict=True)
    return dict(zip(columns.tolist(), spread, strict=True))
