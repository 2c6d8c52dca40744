"""Importance of columns: by the gradient of the network, and by permutation."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.dummy import DummyRegressor

from clifford_rand._typing import Array
from clifford_rand_nn.explanation.context import Context
from clifford_rand_nn.explanation.preprocessing import Rows, named
from clifford_rand_nn.explanation.sums import KernelSum, evenly
from clifford_rand_nn.scores import log_loss, r_squared

_PERMUTED = 500  # rows, at most, that columns are permuted on
_COLUMNS = 60  # that are permuted, if there are more: those of the largest gradients
_AT = 1000  # rows, at most, where gradients are taken
_BLOCK = 100  # of them at a time


def permutation_losses(
    error: Callable[[Array], float], rows: Array, columns: Sequence[NDArray[np.intp]], repeats: int, random_state: Any
) -> Array:
    """Return the increase of an error (k, repeats) where columns are permuted among rows (n, d).

    Each entry of ``columns`` are columns that are permuted together, as all that one column of a table was encoded as
    is. It is `sklearn.inspection.permutation_importance` on a table of the numbers of rows, so that encoders need not
    run again.

    References
    ----------
    Breiman, "Random forests", Machine Learning 45 (2001), section 10.

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
    result = permutation_importance(
        DummyRegressor(), places, np.zeros(len(rows)), scoring=score, n_repeats=repeats, random_state=random_state
    )
    return np.asarray(result.importances)


def error_measure(model: Any) -> str:
    """Return the measure of `prediction_error`: "R²", "log loss" or "accuracy"."""
    return "R²" if not is_classifier(model) else "log loss" if hasattr(model, "predict_proba") else "accuracy"


def prediction_error(model: Any, X: Any, y: NDArray[Any], weights: Array | None = None) -> float:
    """Return the error of a fitted model on rows.

    Log loss where there are probabilities (multilabel: its mean over the labels), else 1 minus the
    accuracy or R².

    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    >>> round(prediction_error(DummyClassifier().fit(X, y), X, y), 4)
    0.6931
    """
    measure = error_measure(model)
    if measure == "R²":
        return 1.0 - r_squared(y, model.predict(X), weights) if len(y) > 1 else float("nan")
    if measure == "accuracy":
        return 1.0 - float(model.score(X, y, weights))
    sure = np.asarray(model.predict_proba(X))
    if y.ndim > 1:
        labels = np.array([0, 1])
        pairs = (np.column_stack([1 - sure[:, k], sure[:, k]]) for k in range(y.shape[1]))
        return float(np.mean([log_loss(y[:, k], labels, pair, weights) for k, pair in enumerate(pairs)]))
    return log_loss(y, model.classes_, sure, weights)


class ColumnImportance(NamedTuple):
    r"""The importance of a table column for a network.

    Attributes
    ----------
    name : str
    gradient : float
        Mean over rows of :math:`|\partial f/\partial x_j|` times the deviation of the column, summed over the
        encoded columns that it became, and the root of the squares of several outputs.
    share : float
        Of the sum over columns.
    permuted : float or None
        Increase of the log loss where the column is permuted (decrease of R², or of the accuracy, where there are no
        probabilities); of more than 60 columns, for those of the largest gradients.
    permuted_error : float or None
        Standard deviation of that over permutations.
    """

    name: str
    gradient: float
    share: float
    permuted: float | None = None
    permuted_error: float | None = None


def gradient_sizes(context: Context, rows: Rows | None) -> Array:
    """Return the mean size of the gradient times the deviation of each encoded column, (k,); of its own rows if None.

    Where neither rows nor the network tell deviations these are 1.
    """
    route, network = context.route, context.network
    spread = context.spread()
    if rows is None:
        seen, encoded_deviation = _own_rows(context), np.ones(len(route.origin)) if spread is None else spread
    else:
        seen, encoded_deviation = rows.seen, np.asarray(rows.encoded.std(axis=0))
    seen = seen[evenly(len(seen), _AT)]
    total = np.zeros(len(route.origin))
    for start in range(0, len(seen), _BLOCK):
        slopes = route.back(network.local(seen[start : start + _BLOCK], context.reference[1]).slopes)
        total += np.sqrt((slopes**2).sum(axis=1)).sum(axis=0)
    return np.asarray(total / len(seen) * encoded_deviation)


def _own_rows(context: Context) -> Array:
    """Return rows as the network sees them where none were given: those that it is made of, or the one it knows."""
    network = context.network
    return network.own_rows(_AT) if isinstance(network, KernelSum) else context.reference[1][None]


def importances(context: Context, repeats: int, random_state: Any) -> list[ColumnImportance]:
    """Return the importance of every table column, the largest first; those that were permuted before the others."""
    route = context.route
    gradient = route.summed(gradient_sizes(context, context.rows))
    share = gradient / (gradient.sum() or 1.0)
    permuted: dict[int, tuple[float, float]] = {}
    if context.rows is not None and context.targets is not None and repeats:
        some = np.argsort(-gradient, kind="stable")[:_COLUMNS]
        permuted = _permuted(context, context.rows, context.targets, some, repeats, random_state)
    columns = [
        ColumnImportance(name, float(gradient[j]), float(share[j]), *permuted.get(j, (None, None)))
        for j, name in enumerate(route.names)
    ]
    return sorted(columns, key=lambda column: (column.permuted is None, -(column.permuted or 0.0), -column.gradient))


def _permuted(
    context: Context, rows: Rows, targets: Any, columns: Any, repeats: int, random_state: Any
) -> dict[int, tuple[float, float]]:
    """Return the increase of the error, and its deviation, for table columns with all their encoded columns."""
    route, some = context.route, evenly(len(targets), _PERMUTED)
    together = [np.flatnonzero(route.origin == j) for j in columns]

    def error(encoded: Array) -> float:
        return prediction_error(route.last, named(route.last, route.forth(encoded)), targets[some])

    losses = permutation_losses(error, rows.encoded[some], together, repeats, random_state)
    spread = zip(losses.mean(axis=1).tolist(), losses.std(axis=1).tolist(), strict=True)
    return dict(zip(columns.tolist(), spread, strict=True))
