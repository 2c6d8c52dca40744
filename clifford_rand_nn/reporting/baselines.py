"""Baselines of a model, out-of-sample: the majority or the mean, and a linear model of the same columns."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clifford_rand._typing import Array
from clifford_rand_nn.solvers.interrupts import raise_if_interrupted
from clifford_rand_nn.sparse_rows import merged_rows

FOLDS = 10
_GRID = 10.0 ** np.arange(-3, 3)  # of C, and of 1/alpha per row for numbers
_SMALL = 3e6  # numbers times classes: more take one fold, a fifth of the rows
_STEPS = 200
_SEED = 0


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions of rows by fits without them.

    Attributes
    ----------
    rows : (m,) int
        Which rows were left out and predicted.
    labels : (m,)
        What was predicted.
    probabilities : (m, C) or None
    """

    rows: NDArray[np.intp]
    labels: NDArray[Any]
    probabilities: Array | None = None


@dataclass(frozen=True, eq=False)
class Folds:
    """Parts of the rows that are left out in turn.

    Attributes
    ----------
    held : list of (m,) int arrays
        Rows that are left out.
    n : int
    words : str
        How, in words.
    """

    held: list[NDArray[np.intp]]
    n: int
    words: str

    @property
    def rows(self) -> NDArray[np.intp]:
        """All rows that are left out once."""
        return np.sort(np.concatenate(self.held))

    def kept(self, held: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which rows are trained on while others are held."""
        rows = np.ones(self.n, dtype=bool)
        rows[held] = False
        return rows


def together(X: Array, groups: NDArray[Any] | None) -> NDArray[Any] | None:
    """Return the rows that must be left out together: those of a group, else duplicates; None if there are none.

    Examples
    --------
    >>> together(np.array([[1.0], [2.0], [1.0]]), None).tolist()
    [0, 1, 0]
    """
    if groups is not None:
        return np.unique(groups, return_inverse=True)[1]
    first, place = merged_rows(X)
    return place if len(first) < len(X) else None


def make_folds(
    X: Array,
    y: NDArray[Any],
    groups: NDArray[Any] | None,
    *,
    classes: bool,
    count: int = FOLDS,
    only: int | None = None,
) -> Folds:
    """Return folds, stratified by class; rows of a group, or duplicates, are in one of them.

    With ``only`` so many of them are left out, the others never.
    """
    same = together(X, groups)
    count = min(count, len(y) if same is None else int(same.max()) + 1)
    if classes and same is None:
        splitter: Any = StratifiedKFold(count, shuffle=True, random_state=_SEED)
    elif classes:
        splitter = StratifiedGroupKFold(count, shuffle=True, random_state=_SEED)
    else:
        splitter = KFold(count, shuffle=True, random_state=_SEED) if same is None else GroupKFold(count)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes with fewer rows than folds: a warning names them
        held = [np.asarray(test) for _, test in splitter.split(X, y, same) if len(test)]
    words = f"{len(held)}-fold cross-validation{' by groups' if groups is not None else ''}"
    if only is not None and only < len(held):
        held = held[:only]
        words = f"a validation set of {sum(map(len, held))} rows{' of other groups' if groups is not None else ''}"
    return Folds(held, len(y), words)


def predict_left_out(model: Any, X: Array, y: NDArray[Any], weights: Array | None, folds: Folds) -> Predicted:
    """Return what clones of a model, trained without each fold, predict of its rows.

    A class that some training rows lack has probability 0 there.
    """
    classes = np.unique(y) if hasattr(model, "predict_proba") else None
    labels: list[NDArray[Any]] = []
    chances: list[Array] = []
    for held in folds.held:
        kept = folds.kept(held)
        fitted = _fitted(model, X[kept], y[kept], None if weights is None else weights[kept])
        labels.append(fitted.predict(X[held]))
        if classes is not None:
            probabilities = np.zeros((len(held), len(classes)))
            probabilities[:, np.searchsorted(classes, fitted.classes_)] = fitted.predict_proba(X[held])
            chances.append(probabilities)
    rows = np.concatenate(folds.held)
    order = np.argsort(rows)
    together = np.concatenate(chances)[order] if chances else None
    return Predicted(rows[order], np.concatenate(labels)[order], together)


def simplest(classes: bool) -> Any:
    """Return the model that knows no column: the most frequent class, with the shares of all, or the mean."""
    return DummyClassifier(strategy="prior") if classes else DummyRegressor()


def hold_out(X: Array, groups: NDArray[Any] | None, rows: NDArray[np.intp]) -> Folds:
    """Return one fold of these rows, with those of their groups or their duplicates, which no such fit may see.

    Examples
    --------
    >>> hold_out(np.array([[1.0], [2.0], [1.0], [3.0]]), None, np.array([2])).held
    [array([0, 2])]
    """
    same = together(X, groups)
    held = np.sort(rows) if same is None else np.flatnonzero(np.isin(same, same[rows]))
    return Folds([held], len(X), "the same rows")


def linear_model(
    X: Array, y: NDArray[Any], weights: Array | None, groups: NDArray[Any] | None, *, classes: bool
) -> Any:
    """Return logistic regression, or ridge for numbers, of standardized columns, its penalty chosen on held-out rows.

    The penalty is chosen among six on these rows alone, so that other rows are ignored: three folds, or one third of
    the rows where they are many. A model of this kind can be fitted to them, or to more.
    """
    work = X.size * (len(np.unique(y)) if classes else 1)
    folds = make_folds(X, y, groups, classes=classes, count=3, only=1 if work > _SMALL else None)
    best, least = 1.0, np.inf
    for strength in _GRID:
        model = _linear(strength, len(X), classes)
        predicted = predict_left_out(model, X, y, weights, folds)
        some = None if weights is None else weights[predicted.rows]
        truth = y[predicted.rows]
        if classes:
            assert predicted.probabilities is not None
            labels = np.unique(y)
            probability = predicted.probabilities[np.arange(len(truth)), np.searchsorted(labels, truth)]
            loss = float(np.average(-np.log(np.maximum(probability, 1e-15)), weights=some))
        else:
            loss = float(np.average((predicted.labels - truth) ** 2, weights=some))
        if loss < least:
            best, least = float(strength), loss
    return _linear(best, len(X), classes)


def linear_left_out(
    X: Array, y: NDArray[Any], weights: Array | None, groups: NDArray[Any] | None, folds: Folds, *, classes: bool
) -> Predicted:
    """Return out-of-sample predictions of the linear model; its penalty is selected again without each fold."""
    parts = []
    for held in folds.held:
        kept = folds.kept(held)
        some = None if weights is None else weights[kept]
        model = linear_model(X[kept], y[kept], some, None if groups is None else groups[kept], classes=classes)
        parts.append(predict_left_out(model, X, y, weights, Folds([held], folds.n, "")))
    rows = np.concatenate([part.rows for part in parts])
    order = np.argsort(rows)
    chances = [part.probabilities for part in parts if part.probabilities is not None]
    together = np.concatenate(chances)[order] if chances else None
    return Predicted(rows[order], np.concatenate([part.labels for part in parts])[order], together)


def baseline_folds(X: Array, y: NDArray[Any], groups: NDArray[Any] | None, *, classes: bool) -> Folds:
    """Return ten folds, five of many rows, and one of five that is left out where they are very many."""
    work = X.size * (len(np.unique(y)) if classes else 1)
    if work > _SMALL:
        return make_folds(X, y, groups, classes=classes, count=5, only=1)
    return make_folds(X, y, groups, classes=classes, count=FOLDS if work < _SMALL / 10 else 5)


def _linear(strength: float, n: int, classes: bool) -> Any:
    model = LogisticRegression(C=strength, max_iter=_STEPS, tol=1e-3) if classes else Ridge(n / (strength * 1e3))
    return make_pipeline(StandardScaler(), model)


def _fitted(model: Any, X: Array, y: NDArray[Any], weights: Array | None) -> Any:
    fresh = clone(model)
    keywords = {}
    if weights is not None:
        steps = [f"{name}__sample_weight" for name, _ in getattr(fresh, "steps", ())]
        keywords = dict.fromkeys(steps or ["sample_weight"], weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if hasattr(model, "predict_proba") and len(np.unique(y)) < 2:
            return simplest(True).fit(X, y)
        return raise_if_interrupted(fresh.fit(X, y, **keywords))
