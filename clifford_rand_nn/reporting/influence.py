"""Influence of columns: the increase of the error on held-out rows when a column is shuffled."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from clifford_rand._typing import Array
from clifford_rand_nn.explanation.importance import error_measure, permutation_losses, prediction_error
from clifford_rand_nn.reporting.baselines import fit_weighted, make_folds, together
from clifford_rand_nn.reporting.facts import Rows

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
    place = np.sort(np.random.default_rng(_SEED).permutation(rows.weighted)[:_MOST])
    data, classes = rows.take(place), is_classifier(model)
    same = together(data.X, data.groups)
    if len(place) < 20 or (same is not None and same.max() < 3):
        return None
    folds = make_folds(data, classes=classes, count=3, only=1)
    train, test = data.take(folds.kept(folds.held[0])), data.take(folds.held[0])
    if classes and len(np.unique(train.y)) < 2:
        return None
    fitted = fit_weighted(_settled(model), train)
    origin = rows.origin or rows.names or tuple(f"column {j}" for j in range(data.X.shape[1]))
    names = list(dict.fromkeys(origin))
    columns = [np.array([j for j, of in enumerate(origin) if of == name]) for name in names]
    losses = permutation_losses(
        lambda shuffled: prediction_error(fitted, shuffled, test.y, test.weights), test.X, columns, _REPEATS, _SEED
    )
    order = np.argsort(-losses.mean(axis=1), kind="stable")
    return Influence(tuple(names[i] for i in order), losses[order], error_measure(fitted), len(train.y), len(test.y))


def _settled(model: Any) -> Any:
    """Return an unfitted model without the options that the fit to all rows has decided."""
    fresh = clone(model)
    if getattr(model, "metric_", True) is None and not model._finite:
        fresh.set_params(rounds=0, **({"loss": model.loss_} if hasattr(model, "loss_") else {}))
    return fresh
