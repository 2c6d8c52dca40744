"""Target means of categories most of which are rare, by scikit-learn's TargetEncoder, out of sample in training."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._optional import require
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.tables.task import MOST_CLASSES, choose_task

FEWEST = 20  # categories: up to so many are left to one-hot columns
_FOLDS = 5  # as scikit-learn's TargetEncoder has by default


@dataclass(frozen=True)
class TargetMeans:
    """Means of the targets for each category of one column, shrunk to the mean of all by empirical Bayes.

    Attributes
    ----------
    words : tuple of str or None
        Categories; None is that of missing cells.
    labels : tuple of str
        Classes of whose indicators these are the means; "" is the target itself.
    values : tuple of tuple of float
        For each label the means of all categories, and at the end that of all rows, for new categories.
    """

    words: tuple[str | None, ...]
    labels: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]

    def names(self, name: str) -> list[str]:
        """Return the names of the columns that come out."""
        return [f"{name} (share of {label})" if label else f"{name} (mean target)" for label in self.labels]

    def __call__(self, cells: NDArray[Any]) -> NDArray[np.float64]:
        """Return the means for cells (n,), (n, labels)."""
        codes, words = require("pandas", extra="app", purpose="encoding a table").factorize(cells)
        place = {word: i for i, word in enumerate(self.words)}
        places = np.array([place.get(word, -1) for word in [*words, None]])
        return np.asarray(np.array(self.values).T[places[codes]])


def indicators(y: Any, n: int) -> tuple[tuple[str, ...], NDArray[np.float64]] | None:
    """Return a target of n rows as columns: itself, or 0 and 1 for each class, of two classes for the second only.

    None where cells of it are missing, it has several columns, or too many classes.
    """
    target = np.asarray(y)
    target = target[:, 0] if target.shape == (n, 1) else target
    if target.shape != (n,) or (target.dtype.kind == "f" and not np.isfinite(target).all()):
        return None
    target = target.astype(str) if target.dtype.kind == "O" else target
    try:
        task, _ = choose_task(target)
    except ArgumentError:
        return None
    if task == "regression":
        return ("",), target.astype(np.float64)[:, None]
    classes = np.unique(target)
    if not 2 <= len(classes) <= MOST_CLASSES:
        return None
    classes = classes[-1:] if len(classes) == 2 else classes
    return tuple(map(str, classes)), (target[:, None] == classes).astype(np.float64)


def target_means(
    cells: NDArray[Any], labels: tuple[str, ...], targets: NDArray[np.float64]
) -> tuple[TargetMeans, NDArray[np.float64]]:
    """Return the means for all categories of a column, and for each row those of the other folds, (n, labels)."""
    from sklearn.model_selection import KFold

    codes, words = require("pandas", extra="app", purpose="encoding a table").factorize(cells)
    words = (*words, None) if (codes < 0).any() else tuple(words)
    rows = np.where(codes < 0, len(words) - 1, codes)[:, None]
    values = _means(rows, targets, np.arange(len(words) + 1)[:, None])  # the last one is in no row
    means = TargetMeans(words, labels, tuple(map(tuple, values.T.tolist())))
    out_of_fold = np.empty(targets.shape)
    for train, test in KFold(min(_FOLDS, len(cells)), shuffle=True, random_state=0).split(rows):
        out_of_fold[test] = _means(rows[train], targets[train], rows[test])
    return means, out_of_fold


def _means(rows: NDArray[Any], targets: NDArray[np.float64], new: NDArray[Any]) -> NDArray[np.float64]:
    """Return the means of each target for the categories of new rows, learned from other rows."""
    from sklearn.preprocessing import TargetEncoder

    encoders = [TargetEncoder(target_type="continuous").fit(rows, target) for target in targets.T]
    return np.hstack(
        [np.asarray(encoder.transform(new)) for encoder in encoders]
    )  # frames by scikit-learn's set_config
