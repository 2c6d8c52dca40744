"""The protocol of the comparison: rows of a trial, one way to scale features, a grid judged on validation rows."""

import hashlib
import itertools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_integer, describe, fail
from clifford_rand.errors import ArgumentError
from examples.paper.datasets.feature_files import FeatureSet
from examples.paper.datasets.labelled import stratified
from examples.paper.methods.base import Array, Labels, Method, Model

__all__ = ["PROTOCOL", "Binary", "Choice", "Scaling", "Trial", "accuracy", "choose", "data_hash", "draw", "warm_up"]

PROTOCOL = 1  # goes up whenever a change here changes a number; results of different versions do not mix
_VALIDATION = 0.2  # of the rows of a trial
_LEAST_SPREAD = 0.1  # of a column, as a share of the root mean square of all: below, it is left small
_PATIENCE = 2  # points in a row whose validation loss rises; of the four rates of adamw none is lost by it
_LEAST_ROWS = 10  # two validation rows


@dataclass(frozen=True, eq=False)
class Binary:
    """A set with two classes, as 0 and 1, its halves apart.

    Attributes
    ----------
    X, y : (N, d), (N,) int
        The training half.
    X_test, y_test : (M, d), (M,) int
        The test half: it chooses nothing.
    """

    name: str
    X: NDArray[Any]
    y: Labels
    X_test: NDArray[Any]
    y_test: Labels

    @classmethod
    def of(cls, data: FeatureSet) -> "Binary":
        """Take the halves of a set.

        Raises
        ------
        ArgumentError
            There are not exactly two classes, or not both of them in each half.
        """
        classes, y = np.unique(data.y, return_inverse=True)
        if len(classes) != 2:
            raise ArgumentError(f"{data.name}: the experiments compare methods for 2 classes; 'y' has {len(classes)}.")
        for side, rows in (("training", data.split), ("test", ~data.split)):
            if len(np.unique(y[rows])) != 2:
                raise ArgumentError(f"{data.name}: the {side} half has rows of one class only.")
        X, y = data.X, y.astype(np.int64)
        return cls(data.name, X[data.split], y[data.split], X[~data.split], y[~data.split])


@dataclass(frozen=True, eq=False)
class Trial:
    """Rows of the training half; those marked as validation judge the grid.

    Attributes
    ----------
    X, y : (n, d), (n,) int
    validation : (n,) bool
    seed : int
    """

    X: NDArray[Any]
    y: Labels
    validation: NDArray[np.bool_]
    seed: int


def draw(data: Binary, n: int, seed: int) -> Trial:
    """Draw n training rows and, of them, a fifth for validation, each class in its share; the same for every method.

    Raises
    ------
    ArgumentError
        There are not n training rows, or too few for both classes in both parts.
    """
    half = len(data.y)
    check_integer(n, "sizes", "experiment", low=_LEAST_ROWS, high=half, hint=f"{data.name} has {half} training rows.")
    rng = np.random.default_rng([seed, n])
    rows = np.arange(half) if n == half else stratified(data.y, n, rng)
    y = data.y[rows]
    validation = np.zeros(n, dtype=np.bool_)
    validation[stratified(y, round(_VALIDATION * n), rng)] = True
    if any(len(np.unique(y[part])) < 2 for part in (validation, ~validation)):
        rule = "large enough for rows of both classes in the fitted and the validation part"
        raise fail("sizes", "experiment", rule, describe(f"{n} rows of {data.name}"))
    return Trial(data.X[rows], y, validation, seed)


@dataclass(frozen=True, eq=False)
class Scaling:
    """Features minus their mean, each divided by its standard deviation, or by a tenth of the root mean square one.

    Columns of one set may have different units, as differences and products of two embeddings; a pixel that is nearly
    always black is not blown up to the size of the others.

    Examples
    --------
    >>> X = np.array([[0.0, 2.0], [4.0, 2.0]])
    >>> Scaling.of(X)(X).round(3).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    mean: Array
    scale: Array

    @classmethod
    def of(cls, X: NDArray[Any]) -> "Scaling":
        """Return the scaling that gives the columns of these rows mean 0 and standard deviation 1, or less."""
        rows = np.asarray(X, dtype=np.float64)
        mean = rows.mean(axis=0)
        spread = np.sqrt(np.mean((rows - mean) ** 2, axis=0))
        least = _LEAST_SPREAD * float(np.sqrt(np.mean(spread**2)))
        return cls(mean, np.maximum(spread, least) if least > 0 else np.ones_like(spread))

    def __call__(self, X: NDArray[Any]) -> Array:
        """Scale rows."""
        return np.asarray((np.asarray(X, dtype=np.float64) - self.mean) / self.scale)


@dataclass(frozen=True, eq=False)
class Choice:
    """The protocol's result for a method on a trial, before any test row.

    Attributes
    ----------
    value
        The grid point chosen.
    place : int
        Its place in the grid, from 1.
    n_points : int
        Grid points that were fitted; fewer than the grid has if the time was over.
    validation_accuracy, validation_loss : float
        Of the chosen point, fitted to four fifths; the loss is NaN for a method without one.
    model : Model
        The chosen point fitted to all rows of the trial, with ``scaling``.
    scaling : Scaling
    gap, grid_gap : float or None
        Certified relative gap of the model, and the largest one in the grid.
    seconds, final_seconds : float
        All of it, and the final fit alone.
    """

    value: Any
    place: int
    n_points: int
    validation_accuracy: float
    validation_loss: float
    model: Model
    scaling: Scaling
    gap: float | None
    grid_gap: float | None
    seconds: float
    final_seconds: float

    def accuracy(self, X: NDArray[Any], y: Labels) -> float:
        """Return the share of rows that the final model gets right."""
        return accuracy(self.model.decision(self.scaling(X)), y)


def choose(method: Method, trial: Trial, max_time: float, criterion: str = "accuracy") -> Choice:
    """Fit the grid to four fifths, take the best on the validation fifth, fit that to all rows.

    With ``criterion`` "accuracy" the best validation accuracy wins; of equal ones the lower validation loss, of the
    kind that decision values are made for; of equal ones again the earlier point. With "loss" the lower validation loss
    wins, and the grid ends when it has risen twice in a row; methods without a loss go by accuracy. When ``max_time``
    seconds are over, the grid ends with the points so far, at least one; the final fit is always made.
    """
    began = time.perf_counter()
    fitted, held = ~trial.validation, trial.validation
    scaling = Scaling.of(trial.X[fitted])
    X, y, X_held, y_held = scaling(trial.X[fitted]), trial.y[fitted], scaling(trial.X[held]), trial.y[held]
    scores: list[tuple[float, float]] = []
    by_loss = criterion == "loss" and method.margin_loss is not None
    gaps: list[float] = []
    for model in method.fit_grid(X, y, method.grid, trial.seed):
        margins = model.decision(X_held)
        scores.append((accuracy(margins, y_held), _loss(margins, y_held, method.margin_loss)))
        if model.gap is not None:
            gaps.append(model.gap)
        if time.perf_counter() - began > max_time or (by_loss and _past_the_best(scores)):
            break
    loss = [score[1] if method.margin_loss else 0.0 for score in scores]
    best = min(range(len(scores)), key=lambda i: loss[i] if by_loss else (-scores[i][0], loss[i]))
    middle = time.perf_counter()
    scaling = Scaling.of(trial.X)
    final = method.fit(scaling(trial.X), trial.y, method.grid[best], trial.seed)
    ended = time.perf_counter()
    return Choice(
        value=method.grid[best],
        place=best + 1,
        n_points=len(scores),
        validation_accuracy=scores[best][0],
        validation_loss=scores[best][1],
        model=final,
        scaling=scaling,
        gap=final.gap,
        grid_gap=max(gaps) if gaps else None,
        seconds=ended - began,
        final_seconds=ended - middle,
    )


def _past_the_best(scores: list[tuple[float, float]]) -> bool:
    """Tell whether the last losses have all risen: less regularized points, which come next, would raise them more."""
    last = [loss for _, loss in scores[-_PATIENCE - 1 :]]
    return len(last) > _PATIENCE and all(b > a for a, b in itertools.pairwise(last))


def warm_up(method: Method, d: int) -> None:
    """Fit a small made problem of d features, so that compiling and importing are not measured."""
    rng = np.random.default_rng(0)
    y = np.arange(48) % 2
    X = rng.standard_normal((48, d)) + y[:, None] / 2
    method.fit(X, y.astype(np.int64), method.grid[0], 0)


def accuracy(decision: Array, y: Labels) -> float:
    """Return the share of rows whose decision value has the sign of their class; 0 is class 0."""
    return float(np.mean((decision > 0) == (y == 1)))


def data_hash(data: FeatureSet) -> str:
    """Return a digest of features, labels and split, which tells whether two runs had the same data."""
    digest = hashlib.sha256()
    for array in (data.X, np.asarray(data.y).astype(str), data.split):
        digest.update(f"{array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _loss(margins: Array, y: Labels, kind: str | None) -> float:
    """Return the mean loss of this kind on labels of -1 and 1; NaN for none."""
    if kind is None:
        return float("nan")
    signs = np.where(y == 1, 1.0, -1.0)
    if kind == "squared":
        return float(0.5 * np.mean((margins - signs) ** 2))
    return float(np.logaddexp(0.0, -signs * margins).mean())
