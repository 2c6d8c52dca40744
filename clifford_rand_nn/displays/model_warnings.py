"""Warnings from the rows alone: few rows, rare classes, duplicates, target leakage, identifiers."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import f_classif, f_regression
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from clifford_rand._typing import Array
from clifford_rand_nn._words import some_of
from clifford_rand_nn.displays.baselines import make_folds
from clifford_rand_nn.displays.facts import ModelWarning, Rows
from clifford_rand_nn.sparse_rows import merged_rows
from clifford_rand_nn.tables.model import date_note

_RARE = 10  # rows of a class: a share of them is known to some 15 points at best
_LOOKED_AT = 2000  # rows on which single columns are tried
_TRIED = 20  # columns that go best with the target
_TELLS = 0.05  # of the error without columns is left: such a column is the target in other words
_SHOWN = 5
_ID = re.compile(r"(^|[_\W])(id|ids|uuid|key|nr|no|patient|subject|person|user|customer|client|author|device)([_\W]|$)")
_REPEATS = 2  # rows of an id, on average


def sample_warnings(X: Array, y: NDArray[Any], *, classes: bool) -> list[ModelWarning]:
    """Return warnings of few rows, rare classes and duplicates."""
    warned = []
    n, d = X.shape
    if n < d:
        text = f"there are fewer rows ({n}) than columns ({d}, after encoding): many models fit such rows exactly, so"
        warned.append(ModelWarning("few_rows", f"{text} trust out-of-sample scores only, and drop columns."))
    if classes:
        warned += _rare(y)
    first, place = merged_rows(X)
    if len(first) < n:
        warned += _copies(y, place, n - len(first), classes)
    return warned


def _rare(y: NDArray[Any]) -> list[ModelWarning]:
    labels, counts = np.unique(y, return_counts=True)
    rare = [f"{label} ({count})" for label, count in zip(labels, counts, strict=True) if count < _RARE]
    if not rare:
        return []
    text = f"{'classes have' if len(rare) > 1 else 'a class has'} fewer than {_RARE} rows: {some_of(rare, _SHOWN)}"
    return [ModelWarning("rare_class", f"{text}; what is said of them is hardly known.")]


def _copies(y: NDArray[Any], place: NDArray[np.intp], copies: int, classes: bool) -> list[ModelWarning]:
    share = copies / len(y)
    several = f"{copies} rows ({share:.1%}) are duplicates of other rows"
    what = "1 row is a duplicate of another row" if copies == 1 else several
    remedy = "if new rows will repeat them, give each row a group of its own"
    text = f"{what} in every column; duplicates whose targets agree are left out together ({remedy})."
    warned = [ModelWarning("duplicate_rows", text)]
    if classes:
        code = np.unique(y, return_inverse=True)[1]
        low, high = np.full(place.max() + 1, code.max()), np.zeros(place.max() + 1, dtype=code.dtype)
        np.minimum.at(low, place, code)
        np.maximum.at(high, place, code)
        apart = int(np.count_nonzero((low < high)[place]))
        if apart:
            what = f"{apart} rows are equal in every column but of different classes: no model can be right on all."
            warned.append(ModelWarning("conflicting_duplicates", what))
    return warned


def overlap_warning(X: Array, test: Array) -> list[ModelWarning]:
    """Return a warning of test rows that are training rows."""
    first, place = merged_rows(np.concatenate([X, test]))
    known = np.zeros(len(first), dtype=bool)
    known[place[: len(X)]] = True
    seen = int(known[place[len(X) :]].sum())
    if not seen:
        return []
    text = f"{seen} of {len(test)} test rows ({seen / len(test):.1%}) are rows of the training table in every column:"
    return [ModelWarning("train_test_overlap", f"{text} the test score flatters.")]


def leakage_warning(rows: Rows, *, classes: bool) -> list[ModelWarning]:
    """Return a warning of columns of the table that predict the target almost alone.

    The twenty that go best with the target (F test) are tried, each with a small tree (and, for numbers, a line)
    that is trained on a half of up to 2000 rows and scored on the other: a column is named whose error is less than a
    twentieth of that without any column.
    """
    columns: dict[str, list[int]] = {}
    for i, name in enumerate(rows.origin or rows.names or map(str, range(rows.X.shape[1]))):
        columns.setdefault(name, []).append(i)
    if len(columns) < 2:
        return []
    rows = replace(rows.take(np.random.default_rng(0).permutation(len(rows.y))[:_LOOKED_AT]), order=None)
    X, y = rows.X, rows.y
    if len(np.unique(y)) < 2:
        return []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        strength = np.nan_to_num((f_classif if classes else f_regression)(X, y)[0], posinf=np.inf)
    order = sorted(columns, key=lambda name: -max(strength[columns[name]]))[:_TRIED]
    folds = make_folds(rows, classes=classes, count=2)
    splits = [(np.flatnonzero(folds.kept(held)), held) for held in folds.held]
    if classes:
        least = 1 - np.unique(y, return_counts=True)[1].max() / len(y)
        models: list[Any] = [DecisionTreeClassifier(max_leaf_nodes=64, random_state=0)]
    else:
        least = float(np.var(y))
        models = [DecisionTreeRegressor(max_leaf_nodes=64, random_state=0), LinearRegression()]
    leaks = []
    for name in order:
        guesses = [cross_val_predict(model, X[:, columns[name]], y, cv=splits) for model in models]
        error = min(float(np.mean(guess != y if classes else (guess - y) ** 2)) for guess in guesses)
        if error < _TELLS * least:
            leaks.append((name, 1 - error if classes else 1 - error / least))
    if not leaks or len(leaks) > len(columns) / 2:  # where most columns predict it, the task is easy
        return []
    measure = "accuracy" if classes else "R²"
    names = some_of([f"{name} ({measure} {value:.3f})" for name, value in leaks], _SHOWN)
    text = f"alone predicts the target almost perfectly: {names}. Is it known before the target is? If not, --drop it."
    return [ModelWarning("target_leakage", f"a column {text}", tuple(name for name, _ in leaks))]


def date_warning(dates: Sequence[str]) -> list[ModelWarning]:
    """Return a warning of columns of dates where rows are left out whatever their time, as leave-one-out does."""
    if not dates:
        return []
    advice = f"if new rows will be later, give --order {dates[0]}, in Python order={dates[0]!r}."
    return [ModelWarning("dates", f"{date_note(dates)}; {advice}", tuple(dates))]


def group_warnings(frame: Any, kinds: Sequence[tuple[str, str]]) -> list[ModelWarning]:
    """Return a warning of columns that look like ids whose rows belong together, by their names and kinds."""
    warned = []
    for name, kind in kinds:
        values = frame[name].dropna()
        if len(values) == 0 or not _ID.search(name.lower()) or kind in ("date", "boolean"):
            continue
        if values.dtype.kind == "f" and (values % 1 != 0).any():
            continue
        n_unique = int(values.nunique())
        if n_unique >= 3 and _REPEATS * n_unique <= len(values) and n_unique > len(values) ** 0.5 / 4:
            used = "" if kind == "dropped" else f", and is used as a {kind} column"
            text = f"column {name} looks like an id that repeats ({n_unique} values in {len(values)} rows){used}:"
            advice = f"if rows of one {name} belong together, give --groups {name}, else scores may flatter."
            warned.append(ModelWarning("groups", f"{text} {advice}", (name,)))
    return warned
