"""Facts: the record of a fit from which text, JSON and the HTML page are made."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand import __version__
from clifford_rand._typing import Array
from clifford_rand_nn.displays.selection import Choice
from clifford_rand_nn.scores import Scores


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as the model takes them, and the table that they come from."""

    X: Array  # (n, d) float64, after encoding
    y: NDArray[Any]  # (n,)
    weights: Array | None = None  # (n,)
    groups: NDArray[Any] | None = None  # (n,)
    names: tuple[str, ...] = ()  # of the d columns
    origin: tuple[str, ...] = ()  # column of the table that each of them is made of
    # the same n rows as they are in the table, without target, weights and groups; None for arrays without names
    frame: Any = None
    columns: tuple[Any, ...] = ()  # the kind of each column of the table; empty for arrays
    path: str = ""
    target: str = ""
    read: int = 0  # rows of the file, with those that were left out
    reasons: tuple[tuple[int, str], ...] = ()  # how many rows were left out, and why
    order: NDArray[Any] | None = None  # (n,), times

    def take(self, places: NDArray[Any]) -> "Rows":
        """Return some of the rows, encoded, with their targets, weights, groups and times."""
        beside = (self.weights, self.groups, self.order)
        weights, groups, order = (None if values is None else values[places] for values in beside)
        return Rows(self.X[places], self.y[places], weights, groups, self.names, self.origin, order=order)

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """Name and kind of each column of the frame."""
        kinds = [column.kind for column in self.columns] or ["numeric"] * self.frame.shape[1]
        return list(zip(map(str, self.frame.columns), kinds, strict=True))

    @property
    def weighted(self) -> NDArray[np.intp]:
        """Places of the rows whose weight is not zero."""
        return np.arange(len(self.y)) if self.weights is None else np.flatnonzero(self.weights)


@dataclass(frozen=True)
class ModelWarning:
    """Something about rows or scores that a reader should know before the model is used."""

    # for programs: "few_rows", "rare_class", "duplicate_rows", "conflicting_duplicates", "train_test_overlap",
    # "target_leakage", "groups", "dates", "no_better_than_baseline", "linear_is_better", "not_converged"
    code: str
    text: str  # a sentence, with what to do
    columns: tuple[str, ...] = ()  # of the table, that it is about


def exceeds_noise(difference: float, error: float) -> bool:
    """Return whether a difference of scores is larger than noise, twice its standard error."""
    return abs(difference) > 2 * error


def linear_name(classes: bool) -> str:
    """Return the name of the linear model."""
    return "logistic regression" if classes else "ridge regression"


@dataclass(frozen=True)
class Association:
    """Association of two columns; see `clifford_rand_nn.displays.distributions`."""

    first: str
    second: str
    value: float  # from 0 to 1
    measure: str  # "Spearman", "Cramér's V" or "correlation ratio"


@dataclass(frozen=True)
class Distribution:
    """The distribution of the cells of a column: bins of numbers and dates (days since 1970), bars of categories."""

    name: str
    kind: str  # as of `ColumnKind`; "text" and "dropped" have no distribution
    missing: float | None  # share of the rows
    unique: int  # values
    edges: tuple[float, ...] = ()  # of the bins
    counts: tuple[int, ...] = ()  # rows in each bin
    below: int = 0  # rows below the first bin, and above the last one
    above: int = 0
    extent: tuple[float, float] | None = None  # the smallest and the largest number
    bars: tuple[tuple[str, float], ...] = ()  # the most frequent categories, and their shares of the rows
    rest: float = 0.0  # share of all others
    association: Association | None = None  # with the target


@dataclass(frozen=True)
class Standing:
    """The out-of-sample score of a model on a leaderboard, beside that of this model on the same rows."""

    name: str
    score: float  # accuracy, or R²
    n_rows: int  # that both models predicted
    method: str  # how the rows were left out, in words
    difference: float | None = None  # the score of this model on these rows, minus ``score``
    std_error: float | None = None  # of the difference, paired by rows


@dataclass(frozen=True, eq=False)
class Comparison:
    """Out-of-sample scores on the same rows: of the model, of the simplest model, of a linear model."""

    method: str  # the rows, and how they were left out, in words
    # "linear" is logistic regression, or ridge regression for numbers, on the same columns; None where it was not
    # fitted
    scores: Scores
    baseline_scores: Scores  # of the most frequent class, or the mean
    baseline_label: str  # which that is
    rows: NDArray[np.intp]  # (m,) int, which rows these are
    truth: NDArray[Any]  # (m,), of the model
    predicted: NDArray[Any]  # (m,)
    linear_scores: Scores | None = None
    linear_method: str = ""  # how rows were left out for the linear model, if in another way
    # accuracy (R²) of the model minus that of the linear one, and the standard error of this difference: by the rows,
    # paired
    difference: float | None = None
    std_error: float | None = None
    probabilities: Array | None = None  # (m, C)
    interval: tuple[Array, Array] | None = None  # pair of (m,), ends that are to hold 90 % of the targets
    # (C, C) int, rows of each class (row) that were predicted as each class (column), in the order of ``classes``
    confusion: NDArray[np.intp] | None = None
    leaderboard: tuple[Standing, ...] = ()  # with gradient boosting, the best first

    @property
    def verdict(self) -> str | None:
        """Whether the model is "better" or "worse" than the linear one, or "within noise" of it; None without one."""
        if self.difference is None or self.std_error is None:
            return None
        if not exceeds_noise(self.difference, self.std_error):
            return "within noise"
        return "better" if self.difference > 0 else "worse"

    def models(self, linear: str) -> dict[str, Scores | None]:
        """Return the scores by the names of the models."""
        simple = f"always {self.baseline_label}"
        return {"this model": self.scores, linear: self.linear_scores, simple: self.baseline_scores}


@dataclass(frozen=True)
class Proof:
    """The certificate in one sentence and in numbers: about training, not about new rows."""

    sentence: str
    objective: float
    lower_bound: float
    relative_gap: float
    scope: str
    loss: str
    beta: float
    converged: bool = True


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts of a fit."""

    table: str  # table and column
    target: str
    task: str  # "classification" or "regression", and the reason
    reason: str
    n_rows_read: int
    n_rows: int  # of them, those that were used
    rows_left_out: tuple[tuple[int, str], ...]  # how many and why
    weights: tuple[float, float] | None  # smallest and largest weight of a row
    n_groups: int | None
    columns: tuple[Any, ...]  # the kind of each column of the table; those that are dropped with the reason
    n_features: int  # numbers that a row is encoded as
    classes: tuple[tuple[Any, int], ...] | None  # rows of each class
    description: str  # of the model, in words
    details: tuple[tuple[str, str], ...]  # of a model with finitely many gates or neurons: problem, candidates, neurons
    selected: tuple[Choice, ...]  # parameters that the data selected
    intervals: str | None  # the width of intervals for new rows
    left_out: Comparison | None  # on the training set, each row predicted by a fit without it
    test: Comparison | None  # on the test set
    train: Scores  # on the training set: no measure of quality
    proof: Proof
    solver: str
    seconds: float  # of the fit alone
    warnings: tuple[ModelWarning, ...] = ()
    distributions: tuple[Distribution, ...] = ()  # of the target, and of the columns by their association with it
    associations: tuple[Association, ...] = ()  # of pairs of columns, the largest ones

    @property
    def measure(self) -> str:
        """The main score: "accuracy" or "R²"."""
        return "accuracy" if self.task == "classification" else "R²"

    @property
    def linear(self) -> str:
        """The name of the linear model."""
        return linear_name(self.task == "classification")

    @property
    def columns_used(self) -> int:
        """Number of columns of the table that are not dropped."""
        return sum(column.kind != "dropped" for column in self.columns)

    @property
    def test_was_seen(self) -> bool:
        """Whether rows of the test set are training rows, too."""
        return any(warning.code == "train_test_overlap" for warning in self.warnings)

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as plain values for JSON; keys are the names of attributes, NaN is None.

        Arrays of single rows are left out.
        """
        return {"library": f"clifford-rand {__version__}", **_plain(self), "details": dict(self.details)}


_ROWWISE = ("rows", "truth", "predicted", "probabilities", "interval")


def _plain(value: Any) -> Any:
    """Return records, arrays and NumPy's scalars as dicts, lists and Python's."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        if isinstance(value, Comparison):
            names = [name for name in names if name not in _ROWWISE]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
