"""A method of the comparison: a name, a maker of scikit-learn estimators, and words for what it tries."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from clifford_rand.errors import available
from examples.accuracy.problems import Task

__all__ = ["Method", "folds"]

_FEW = 500  # rows: above it, costly peers are judged on one of the three folds


@dataclass(frozen=True)
class Method:
    """A method; the estimator that it makes needs no argument but the rows.

    Attributes
    ----------
    name, task : str
    make : callable
        ``make(seed)`` returns an estimator with ``fit`` and ``predict``, and ``predict_proba`` if it has any.
    about : str
        What is tried, and how it is chosen: rows measured under another text do not belong to one table.
    every : bool
        Whether it gets every trial, however long it takes.
    library : str
        What must be installed beside scikit-learn.
    """

    name: str
    task: Task
    make: Callable[[int], Any]
    about: str
    every: bool = False
    library: str = ""

    @property
    def available(self) -> bool:
        """Whether the library that it needs is installed."""
        return not self.library or available(self.library)


def folds(X: NDArray[np.float64], y: NDArray[Any], seed: int, *, classes: bool, whole: bool = True) -> list[Any]:
    """Return the rows of three folds, by class; only the first of them if not ``whole`` and the rows are many.

    Examples
    --------
    >>> small, large = (np.zeros((n, 2)) for n in (9, 600))
    >>> [len(folds(X, np.arange(len(X)) % 3, 0, classes=True, whole=False)) for X in (small, large)]
    [3, 1]
    """
    kind = StratifiedKFold if classes else KFold
    parts: Iterator[Any] = kind(3, shuffle=True, random_state=seed).split(X, y)
    return list(parts)[: 1 if len(y) > _FEW and not whole else 3]
