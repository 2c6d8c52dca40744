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
from clifford_rand_nn.reporting.selection import Choice
from clifford_rand_nn.scores import Scores


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as the model takes them, and the table that they come from.

    Attributes
    ----------
    X : (n, d) float64
        After encoding.
    y : (n,)
    weights : (n,) or None
    groups : (n,) or None
    names : tuple of str
        Of the d columns.
    origin : tuple of str
        Column of the table that each of them is made of.
    frame : DataFrame or None
        The same n rows as they are in the table, without target, weights and groups; None for arrays without names.
    columns : tuple of ColumnKind
        The kind of each column of the table; empty for arrays.
    path : str
    target : str
    read : int
        Rows of the file, with those that were left out.
    reasons : tuple of (int, str)
        How many rows were left out, and why.
    """

    X: Array
    y: NDArray[Any]
    weights: Array | None = None
    groups: NDArray[Any] | None = None
    names: tuple[str, ...] = ()
    origin: tuple[str, ...] = ()
    frame: Any = None
    columns: tuple[Any, ...] = ()
    path: str = ""
    target: str = ""
    read: int = 0
    reasons: tuple[tuple[int, str], ...] = ()

    def take(self, places: NDArray[Any]) -> "Rows":
        """Return some of the rows, encoded, with their targets, weights and groups."""
        weights = None if self.weights is None else self.weights[places]
        groups = None if self.groups is None else self.groups[places]
        return Rows(self.X[places], self.y[places], weights, groups, self.names, self.origin)

    @property
    def weighted(self) -> NDArray[np.intp]:
        """Places of the rows whose weight is not zero."""
        return np.arange(len(self.y)) if self.weights is None else np.flatnonzero(self.weights)


@dataclass(frozen=True)
class ModelWarning:
    """Something about rows or scores that a reader should know before the model is used.

    Attributes
    ----------
    code : str
        For programs: "few_rows", "rare_class", "copies", "contradictions", "seen_rows", "telling_column", "groups",
        "no_better_than_simplest", "linear_is_better", "not_converged".
    text : str
        A sentence, with what to do.
    columns : tuple of str
        Of the table, that it is about.
    """

    code: str
    text: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Comparison:
    """Out-of-sample scores on the same rows: of the model, of the simplest model, of a linear model.

    Attributes
    ----------
    how : str
        The rows, and how they were left out, in words.
    model, simplest, linear : Scores
        "linear" is logistic regression, or ridge regression for numbers, on the same columns; None where it was not
        fitted.
    guess : str
        The prediction of the simplest model: the most frequent class, or the mean.
    linear_how : str
        How the linear model was left out, if in another way.
    difference, error : float or None
        Accuracy (R²) of the model minus that of the linear one, and the standard error of this difference: by the rows,
        paired.
    rows : (m,) int
        Which rows these are.
    truth, predicted : (m,)
        Of the model.
    probabilities : (m, C) or None
    interval : pair of (m,), or None
        Ends that are to hold 90 % of the targets.
    confusion : (C, C) int or None
        Rows of each class (row) that were predicted as each class (column), in the order of ``classes``.
    """

    how: str
    model: Scores
    simplest: Scores
    guess: str
    rows: NDArray[np.intp]
    truth: NDArray[Any]
    predicted: NDArray[Any]
    linear: Scores | None = None
    linear_how: str = ""
    difference: float | None = None
    error: float | None = None
    probabilities: Array | None = None
    interval: tuple[Array, Array] | None = None
    confusion: NDArray[np.intp] | None = None

    def models(self, linear: str) -> dict[str, Scores | None]:
        """Return the scores by the names of the models."""
        return {"this model": self.model, linear: self.linear, f"always {self.guess}": self.simplest}


@dataclass(frozen=True)
class Proof:
    """The certificate in one sentence and in numbers: about training, not about new rows."""

    sentence: str
    objective: float
    bound: float
    relative_gap: float
    scope: str
    loss: str
    beta: float
    converged: bool = True


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts of a fit.

    Attributes
    ----------
    path, target : str
        Table and column.
    task, why : str
        "classification" or "regression", and the reason.
    rows_read, rows_used : int
    rows_left_out : tuple of (int, str)
        How many and why.
    weights : pair of float, or None
        Smallest and largest weight of a row.
    n_groups : int or None
    columns : tuple of ColumnKind
        The kind of each column of the table; those that are left out with the reason.
    n_features : int
        Numbers that a row is encoded as.
    classes : tuple of (label, int), or None
        Rows of each class.
    model : str
        In words.
    details : tuple of (str, str)
        Of a model with finitely many gates or neurons: problem, candidates, neurons.
    chosen : tuple of Choice
        Parameters that the data selected.
    intervals : str or None
        The width of intervals for new rows.
    left_out : Comparison or None
        On the training set, each row predicted by a fit without it.
    test : Comparison or None
        On the test set.
    train : Scores
        On the training set: no measure of quality.
    proof : Proof
    solver : str
    seconds : float
        Of the fit alone.
    warnings : tuple of ModelWarning
    """

    path: str
    target: str
    task: str
    why: str
    rows_read: int
    rows_used: int
    rows_left_out: tuple[tuple[int, str], ...]
    weights: tuple[float, float] | None
    n_groups: int | None
    columns: tuple[Any, ...]
    n_features: int
    classes: tuple[tuple[Any, int], ...] | None
    model: str
    details: tuple[tuple[str, str], ...]
    chosen: tuple[Choice, ...]
    intervals: str | None
    left_out: Comparison | None
    test: Comparison | None
    train: Scores
    proof: Proof
    solver: str
    seconds: float
    warnings: tuple[ModelWarning, ...] = ()

    @property
    def measure(self) -> str:
        """The main score: "accuracy" or "R²"."""
        return "accuracy" if self.task == "classification" else "R²"

    @property
    def linear(self) -> str:
        """The name of the linear model."""
        return "logistic regression" if self.task == "classification" else "ridge regression"

    @property
    def columns_used(self) -> int:
        """Number of columns of the table that are not left out."""
        return sum(column.kind != "left out" for column in self.columns)

    @property
    def test_was_seen(self) -> bool:
        """Whether rows of the test set are training rows, too."""
        return any(warning.code == "seen_rows" for warning in self.warnings)

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
