"""Folds and scores of a search in scikit-learn's terms, and the steps of a pipeline that are fitted once a fold."""

import numbers
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv
from sklearn.pipeline import Pipeline

from clifford_rand._checks import as_array, check_integer, check_length, check_listed, describe, fail, is_whole
from clifford_rand.errors import ArgumentError

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
LATER_BLOCKS = 10  # as folds of a report; the intervals of 90 % need nine blocks, where errors of a block are alike
_BEFORE = 1 / 3  # of the rows, before the first block: with fewer the scores are those of much smaller tables
_SMALLEST_BLOCK = 5  # rows
_RULE = "an integer from 2 to the number of rows, a splitter of scikit-learn, or pairs of rows to train on and to test"


def splits_of(cv: Any, rows: Any, targets: NDArray[Any], groups: Any, *, classifier: bool, owner: str) -> list[Split]:
    """Return the rows of every fold, to train on and to test; rows of one group are in one fold.

    Raises ArgumentError if ``cv`` is not what scikit-learn takes, or cannot split these rows, or ``groups`` are not n.
    """
    n = len(targets)
    if groups is not None:
        group_numbers(groups, n, owner)
    if is_whole(cv):
        if check_integer(cv, "cv", owner, low=2) > n:
            raise fail("cv", owner, "at most the number of rows", cv, f"Here n_samples = {n}.")
    elif cv is not None and (not hasattr(cv, "split") or isinstance(cv, str | bytes | type)):
        cv = [_pair(pair, n, owner) for pair in check_listed(cv, "cv", owner, _RULE)]
        if not cv:
            raise fail("cv", owner, _RULE, describe("no fold"))
    if groups is not None and (cv is None or is_whole(cv)):
        folds = 5 if cv is None else int(cv)
        cv = StratifiedGroupKFold(folds) if classifier else GroupKFold(folds)
    try:
        return list(check_cv(cv, targets, classifier=classifier).split(rows, targets, groups))
    except ArgumentError:
        raise
    except (TypeError, ValueError) as error:
        raise fail("cv", owner, "folds that these rows can be split into", cv, f"scikit-learn says: {error}") from error


def _pair(pair: Any, n: int, owner: str) -> Split:
    parts = check_listed(pair, "cv", owner, _RULE)
    if len(parts) != 2:
        raise fail("cv", owner, _RULE, describe(f"{len(parts)} parts of a fold"))
    train, test = (as_array(part, "cv", owner) for part in parts)
    for part in (train, test):
        marks = part.dtype.kind == "b" and part.shape == (n,) and part.any()
        places = part.dtype.kind in "iu" and part.ndim == 1 and part.size and -n <= part.min() <= part.max() < n
        if not (marks or places):
            raise fail("cv", owner, _RULE, describe(f"dtype {part.dtype}, shape {part.shape}"))
    return train, test


def scorer_of(scoring: Any, estimator: Any, owner: str) -> Callable[..., float]:
    """Return the scorer, a function of an estimator, rows and targets, that is meant by a name or by itself."""
    rule = "None, the name of a scorer of scikit-learn, or a function of an estimator, rows and targets"
    known = scoring is None or isinstance(scoring, str) or (callable(scoring) and not isinstance(scoring, type))
    if not known:
        raise fail("scoring", owner, rule, scoring)
    meant = str(scoring) if isinstance(scoring, str) else scoring
    try:
        scorer: Callable[..., float] = check_scoring(estimator, scoring=meant)
    except (TypeError, ValueError) as error:
        hint = "sklearn.metrics.get_scorer_names() has the names."
        raise fail("scoring", owner, rule, scoring, hint) from error
    return scorer


def group_numbers(groups: Any, n: int, owner: str) -> NDArray[np.intp]:
    """Return the groups of n rows as integers from 0, in the order of their names.

    Raises ArgumentError if they are not n, some are missing, or they are not all words, all numbers or all dates.
    """
    return _ranks(groups, n, "groups", owner, "labels that are all words, all numbers or all dates, none missing")


def order_numbers(order: Any, n: int, owner: str) -> NDArray[np.intp]:
    """Return the ranks from 0 of n rows in time, equal ones for equal values.

    Raises ArgumentError if the values are not n, some are missing, or they are not all numbers or all dates.
    """
    rule = "values that are all numbers or all dates, none missing"
    ranks = _ranks(order, n, "order", owner, rule)
    values = as_array(order, "order", owner)
    if values.dtype.kind in "US" or (n and isinstance(values[0], str)):
        raise fail("order", owner, rule, describe("text"), "pandas.to_datetime reads dates.")
    return ranks


def _ranks(values: Any, n: int, name: str, owner: str, rule: str) -> NDArray[np.intp]:
    labels = as_array(values, name, owner)
    check_length(labels.shape, n, name, owner, "label")
    if labels.ndim > 1:
        raise fail(name, owner, f"of shape ({n},), one label per row", describe(f"shape {labels.shape}"))
    if labels.dtype.kind in "cV":
        raise fail(name, owner, rule, describe(f"dtype {labels.dtype}"))
    if labels.dtype.kind == "O":
        kinds = {_sortable_kind(label) for label in labels.tolist()}
        if len(kinds) != 1 or None in kinds:
            raise fail(name, owner, rule, values)
    elif labels.dtype.kind in "fMm" and not np.isfinite(labels).all():  # NaT is not
        raise fail(name, owner, rule, describe("NaN or infinite labels"))
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def later_blocks(ranks: NDArray[np.intp], count: int = LATER_BLOCKS) -> list[Split]:
    """Return blocks of later rows, each as the rows before it and its own rows; see scikit-learn's TimeSeriesSplit.

    In the order of their ``ranks`` (n,) the last two thirds of the rows are cut into ``count`` blocks of about the same
    size, fewer where they would have less than five rows; rows of equal rank stay together. There is no block where all
    ranks are equal.

    >>> later_blocks(np.repeat([0, 1, 2], 5))
    [(array([0, 1, 2, 3, 4]), array([5, 6, 7, 8, 9])), (array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), \
array([10, 11, 12, 13, 14]))]
    """
    ends = np.cumsum(np.bincount(ranks))
    n, later = len(ranks), len(ranks) * (1 - _BEFORE)
    count = max(1, min(count, int(later) // _SMALLEST_BLOCK))
    cuts = ends[np.abs(ends[:, None] - (n - later * np.arange(1, count + 1) / count)).argmin(axis=0)]
    bounds, places = np.unique([*cuts, n]), np.argsort(ranks, kind="stable")
    return [(np.sort(places[:start]), np.sort(places[start:stop])) for start, stop in pairwise(bounds)]


def _sortable_kind(label: Any) -> type | None:
    """Return what a label is, of which others can be sorted with it; None for what cannot name a group."""
    if isinstance(label, str):
        return str
    if isinstance(label, numbers.Real):
        return float if label - label == 0 else None
    return type(label) if hasattr(type(label), "__lt__") and type(label).__hash__ is not None else None


class PipelinePrefix(NamedTuple):
    """Steps before an estimator; none, where it stands alone."""

    pipeline: Pipeline | None  # whose last step is the estimator

    @classmethod
    def of(cls, estimator: Any) -> tuple["PipelinePrefix", Any]:
        """Return the steps before an estimator, and the estimator."""
        if type(estimator) is not Pipeline:
            return cls(None), estimator
        return cls(estimator), estimator.steps[-1][1]

    def fit(self, X: Any, y: Any) -> tuple["PipelinePrefix", Any]:
        """Return the steps fitted to X and y, and what they make of X."""
        if self.pipeline is None or len(self.pipeline.steps) == 1:
            return self, X
        fitted = clone(self.pipeline)
        return PipelinePrefix(fitted), fitted[:-1].fit_transform(X, y)  # a slice shares its steps

    def transform(self, X: Any) -> Any:
        """Return what the fitted steps make of other rows."""
        return X if self.pipeline is None or len(self.pipeline.steps) == 1 else self.pipeline[:-1].transform(X)

    def joined(self, estimator: Any) -> Any:
        """Return the fitted steps with a fitted estimator behind them."""
        if self.pipeline is None:
            return estimator
        *steps, (name, _) = self.pipeline.steps
        return Pipeline([*steps, (name, estimator)], memory=self.pipeline.memory, verbose=self.pipeline.verbose)


def take_features(model: Any, fitted: Any) -> None:
    """Set what a fitted estimator or pipeline knows of the columns; a step that takes texts knows nothing."""
    for name in ("n_features_in_", "feature_names_in_"):
        vars(model).pop(name, None)  # of another fit
        if hasattr(fitted, name):
            setattr(model, name, getattr(fitted, name))
