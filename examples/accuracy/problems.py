"""Tables with their trials: ten halves of a training part met by one test part, or five folds."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from clifford_rand.errors import ArgumentError
from examples.paper.datasets.feature_files import FeatureSet
from examples.paper.datasets.labelled import stratified
from examples.paper.protocol import data_hash

__all__ = ["HALVES", "Problem", "Task", "Trial", "classification", "regression"]

Task = Literal["classification", "regression"]
HALVES = 10
_FOLDS = 5


class Trial(NamedTuple):
    """Training and test rows of one trial."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    X_test: NDArray[np.float64]
    y_test: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """A table and the rows of its trials.

    Attributes
    ----------
    name, task : str
    X, y : (N, d), (N,)
        y is 0, 1, …, C - 1 or a real target.
    rows : tuple of pairs
        For each trial the rows to fit and the rows to test.
    digest : str
        Of the data and the split.
    """

    name: str
    task: Task
    X: NDArray[np.float64]
    y: NDArray[Any]
    rows: tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]
    digest: str

    @property
    def n_classes(self) -> int:
        """Number of classes; 1 for a real target."""
        return len(np.unique(self.y)) if self.task == "classification" else 1

    @property
    def size(self) -> int:
        """Entries of a trial's rows times classes: what a fit grows with."""
        return int(len(self.rows[0][0]) * self.X.shape[1] * self.n_classes)

    def trial(self, number: int) -> Trial:
        """Return the rows of one trial."""
        fitted, tested = self.rows[number]
        return Trial(self.X[fitted], self.y[fitted], self.X[tested], self.y[tested])


def classification(data: FeatureSet) -> Problem:
    """Return ten random halves of the training part, each class in its share; the test part is the same for all.

    Raises
    ------
    ArgumentError
        A class has fewer than ten training rows: the halves of three folds would miss it.

    Examples
    --------
    >>> made = FeatureSet(X=np.eye(60), y=np.arange(60) % 2, split=np.arange(60) < 40, name="made")
    >>> trial = classification(made).trial(0)
    >>> len(trial.y), np.bincount(trial.y).tolist(), len(trial.y_test)
    (20, [10, 10], 20)
    """
    classes, y = np.unique(data.y, return_inverse=True)
    train, test = np.flatnonzero(data.split), np.flatnonzero(~data.split)
    least = int(np.bincount(y[train], minlength=len(classes)).min())
    if least < 10:
        raise ArgumentError(f"{data.name}: a class has {least} training rows; at least 10 are needed.")
    rows = tuple(
        (train[stratified(y[train], len(train) // 2, np.random.default_rng([2024, half]))], test)
        for half in range(HALVES)
    )
    return Problem(data.name, "classification", data.X.astype(np.float64), y, rows, data_hash(data))


def regression(name: str, X: NDArray[np.float64], y: NDArray[np.float64]) -> Problem:
    """Return the five folds of a table with a real target, shuffled once.

    Examples
    --------
    >>> problem = regression("made", np.eye(10), np.arange(10.0))
    >>> len(problem.rows), sorted(np.concatenate([tested for _, tested in problem.rows]).tolist()) == list(range(10))
    (5, True)
    """
    folds = tuple(KFold(_FOLDS, shuffle=True, random_state=0).split(X))
    whole = FeatureSet(X=X, y=y, split=np.ones(len(y), dtype=np.bool_), name=name)
    return Problem(name, "regression", np.asarray(X, dtype=np.float64), y, folds, data_hash(whole))
