"""What a permutation of a column costs: the one loop, and the one measure, of `explain` and of the report."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.dummy import DummyRegressor

from clifford_rand._typing import Array
from clifford_rand_nn.scores import score_classes, score_numbers


def permutation_losses(
    error: Callable[[Array], float], rows: Array, columns: Sequence[NDArray[np.intp]], repeats: int, random_state: Any
) -> Array:
    """Return by how much an error rises (k, repeats) where columns are permuted among rows (n, d).

    Each entry of ``columns`` are columns that are permuted together, as all that one column of a table was encoded as
    is. It is `sklearn.inspection.permutation_importance` on a table of the numbers of rows, so that encoders need not
    run again.

    References
    ----------
    Breiman, "Random forests", Machine Learning 45 (2001), section 10.

    Examples
    --------
    >>> rows = np.arange(12.0).reshape(6, 2)
    >>> losses = permutation_losses(lambda X: float(np.abs(X[:, 0] - rows[:, 0]).mean()), rows, [[0], [1]], 3, 0)
    >>> losses.shape, bool((losses[0] > 0).all()), losses[1].tolist()
    ((2, 3), True, [0.0, 0.0, 0.0])
    """
    from sklearn.inspection import permutation_importance

    def score(_: object, places: Any, __: object) -> float:
        mixed = rows.copy()
        for place, together in zip(places.T, columns, strict=True):
            mixed[:, together] = rows[np.ix_(place, together)]
        return -error(mixed)

    places = np.repeat(np.arange(len(rows))[:, None], len(columns), axis=1)
    found = permutation_importance(
        DummyRegressor(), places, np.zeros(len(rows)), scoring=score, n_repeats=repeats, random_state=random_state
    )
    return np.asarray(found.importances)


def error_measure(model: Any) -> str:
    """Return in which measure `prediction_error` tells what a model errs: "R²", "log loss" or "accuracy"."""
    return "R²" if not is_classifier(model) else "log loss" if hasattr(model, "predict_proba") else "accuracy"


def prediction_error(model: Any, X: Any, y: NDArray[Any], weights: Array | None = None) -> float:
    """Return what a fitted model errs on rows.

    Log loss where there are probabilities (of several labels a row, its mean over the labels), else what is missing to
    an accuracy or an R² of 1.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    >>> round(prediction_error(DummyClassifier().fit(X, y), X, y), 4)
    0.6931
    """
    measure = error_measure(model)
    if measure == "R²":
        return 1.0 - score_numbers(y, model.predict(X), weights).main
    if measure == "accuracy":
        return 1.0 - float(model.score(X, y, weights))
    sure = np.asarray(model.predict_proba(X))
    if y.ndim > 1:
        labels = np.array([0, 1])
        pairs = (np.column_stack([1 - sure[:, k], sure[:, k]]) for k in range(y.shape[1]))
        found = [score_classes(y[:, k], y[:, k], labels, pair, weights) for k, pair in enumerate(pairs)]
        return float(np.mean([one.log_loss for one in found]))
    told = score_classes(y, y, model.classes_, sure, weights).log_loss
    assert told is not None
    return told
