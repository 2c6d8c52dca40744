"""Which columns of the table matter: how much worse a model predicts unseen rows when one of them is shuffled."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit

from clifford_rand._typing import Array
from clifford_rand_nn._words import shortened
from clifford_rand_nn.explanation.permutation import error_measure, permutation_losses, prediction_error
from clifford_rand_nn.reporting.baselines import together
from clifford_rand_nn.reporting.facts import Rows
from clifford_rand_nn.reporting.figures import NAMES
from clifford_rand_nn.solvers.interrupts import raise_if_interrupted

_MOST = 2000  # rows, if there are more
_HELD = 0.3
_REPEATS = 5
_SEED = 0


@dataclass(frozen=True, eq=False)
class Influence:
    """How much worse rows that a fit has not seen are predicted when a column is shuffled among them.

    Attributes
    ----------
    names : tuple of str
        Columns of the table, the most influential first.
    losses : (k, repeats) array
        By how much log loss rises, or R² (accuracy, where there are no probabilities) falls.
    measure : str
        Which of them.
    trained, judged : int
        Rows.
    """

    names: tuple[str, ...]
    losses: Array
    measure: str
    trained: int
    judged: int


def find_influence(model: Any, rows: Rows) -> Influence | None:
    """Return the influence of each column of the table, by one fit to 70 % of the rows, or of 2000 of them.

    What one column of the table was encoded as is shuffled together. Rows of a group, or copies, are on one side. None
    where the rows are too few to be parted.

    See Also
    --------
    clifford_rand_nn.explain : the same, by the same measure, of the model itself and rows that are given.
    """
    rng = np.random.default_rng(_SEED)
    place = np.arange(len(rows.y)) if rows.weights is None else np.flatnonzero(rows.weights)
    place = np.sort(rng.permutation(place)[:_MOST])
    X, y = rows.X[place], rows.y[place]
    parts = _split(X, y, None if rows.groups is None else rows.groups[place], is_classifier(model))
    if parts is None:
        return None
    train, test = parts
    given = {} if rows.weights is None else {"sample_weight": rows.weights[place][train]}
    one = raise_if_interrupted(_settled(model).fit(X[train], y[train], **given))
    weights = None if rows.weights is None else rows.weights[place][test]
    origin = rows.origin or rows.names or tuple(f"column {j}" for j in range(X.shape[1]))
    names = list(dict.fromkeys(origin))
    columns = [np.array([j for j, of in enumerate(origin) if of == name]) for name in names]
    losses = permutation_losses(
        lambda seen: prediction_error(one, seen, y[test], weights), X[test], columns, _REPEATS, _SEED
    )
    order = np.argsort(-losses.mean(axis=1), kind="stable")
    return Influence(tuple(names[i] for i in order), losses[order], error_measure(one), len(train), len(test))


def _settled(model: Any) -> Any:
    """Return a fresh model, that need not try again what all rows have settled."""
    one = clone(model)
    if getattr(model, "metric_", True) is None and not model._finite:
        one.set_params(rounds=0, **({"loss": model.loss_} if hasattr(model, "loss_") else {}))
    return one


def _split(
    X: Array, y: NDArray[Any], groups: NDArray[Any] | None, classes: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Return rows to train on and rows to judge, or None."""
    same = together(X, groups)
    if len(y) < 20 or (same is not None and same.max() < 3):
        return None
    if same is not None:
        splitter: Any = GroupShuffleSplit(1, test_size=_HELD, random_state=_SEED)
    elif classes and np.unique(y, return_counts=True)[1].min() > 1:
        splitter = StratifiedShuffleSplit(1, test_size=_HELD, random_state=_SEED)
    else:
        splitter = ShuffleSplit(1, test_size=_HELD, random_state=_SEED)
    train, test = next(splitter.split(X, y, same))
    if classes and len(np.unique(y[train])) < 2:
        return None
    return train, test


def influence_bars(found: Influence, most: int) -> Any:
    """Return what draws the largest of them."""
    from clifford_rand_nn.displays.style import FIRST, GREY, literal

    def draw(ax: Any) -> None:
        count = min(most, len(found.names))
        mean, error = found.losses[:count].mean(axis=1), found.losses[:count].std(axis=1)
        names = [literal(shortened(name, NAMES)) for name in found.names[:count]]
        ax.barh(range(count), mean, xerr=error, color=FIRST, ecolor=GREY, height=0.65)
        ax.set_yticks(range(count), names)
        ax.invert_yaxis()
        ax.axvline(0, color=GREY, linewidth=0.8)
        moved = "rise of the log loss" if found.measure == "log loss" else f"fall of {found.measure}"
        ax.set_xlabel(f"{moved} when the column is shuffled")

    return draw
