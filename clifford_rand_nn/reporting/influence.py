"""Influence of columns: the increase of the error on held-out rows when a column is shuffled."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from clifford_rand._typing import Array
from clifford_rand_nn.explanation.importance import error_measure, permutation_losses, prediction_error
from clifford_rand_nn.reporting.baselines import make_folds, together
from clifford_rand_nn.reporting.facts import Rows
from clifford_rand_nn.solvers.interrupts import raise_if_interrupted

_MOST = 2000  # rows
_REPEATS = 5
_SEED = 0


@dataclass(frozen=True, eq=False)
class Influence:
    """The increase of the error on held-out rows when a column is shuffled among them.

    Attributes
    ----------
    names : tuple of str
        Columns of the table, the most influential first.
    losses : (k, repeats) array
        Increase of the log loss, or decrease of R² (accuracy, where there are no probabilities).
    measure : str
        Which of them.
    n_train, n_test : int
        Rows.
    """

    names: tuple[str, ...]
    losses: Array
    measure: str
    n_train: int
    n_test: int


def find_influence(model: Any, rows: Rows) -> Influence | None:
    """Return the influence of each column of the table, by one fit to two thirds of the rows, or of 2000 of them.

    All encoded columns of a table column are shuffled together. Rows of a group, or duplicates, are on one side. None
    where there are too few rows to split.

    See Also
    --------
    clifford_rand_nn.explain : the same of the model itself on given rows.
    """
    rng = np.random.default_rng(_SEED)
    place = np.arange(len(rows.y)) if rows.weights is None else np.flatnonzero(rows.weights)
    place = np.sort(rng.permutation(place)[:_MOST])
    X, y = rows.X[place], rows.y[place]
    groups, classes = None if rows.groups is None else rows.groups[place], is_classifier(model)
    same = together(X, groups)
    if len(y) < 20 or (same is not None and same.max() < 3):
        return None
    folds = make_folds(X, y, groups, classes=classes, count=3, only=1)
    test, train = folds.held[0], np.flatnonzero(folds.kept(folds.held[0]))
    if classes and len(np.unique(y[train])) < 2:
        return None
    weights_of = {} if rows.weights is None else {"sample_weight": rows.weights[place][train]}
    fitted = raise_if_interrupted(_settled(model).fit(X[train], y[train], **weights_of))
    weights = None if rows.weights is None else rows.weights[place][test]
    origin = rows.origin or rows.names or tuple(f"column {j}" for j in range(X.shape[1]))
    names = list(dict.fromkeys(origin))
    columns = [np.array([j for j, of in enumerate(origin) if of == name]) for name in names]
    losses = permutation_losses(
        lambda shuffled: prediction_error(fitted, shuffled, y[test], weights), X[test], columns, _REPEATS, _SEED
    )
    order = np.argsort(-losses.mean(axis=1), kind="stable")
    return Influence(tuple(names[i] for i in order), losses[order], error_measure(fitted), len(train), len(test))


def _settled(model: Any) -> Any:
    """Return an unfitted model without the options that the fit to all rows has decided."""
    fresh = clone(model)
    if getattr(model, "metric_", True) is None and not model._finite:
        fresh.set_params(rounds=0, **({"loss": model.loss_} if hasattr(model, "loss_") else {}))
    return fresh
