"""Which columns of the table matter: how much worse a model predicts unseen rows when one of them is shuffled."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit

from clifford_rand._typing import Array
from clifford_rand_nn.reporting.baselines import together
from clifford_rand_nn.reporting.facts import Rows
from clifford_rand_nn.reporting.scores import score_classes, score_numbers

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
        By how much log loss rises or R² falls.
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

    References
    ----------
    Breiman, "Random forests", Machine Learning 45 (2001), section 10; `sklearn.inspection.permutation_importance`.
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
    one = _settled(model).fit(X[train], y[train], **given)
    weights = None if rows.weights is None else rows.weights[place][test]
    origin = rows.origin or rows.names or tuple(f"column {j}" for j in range(X.shape[1]))
    best, measure = _error(one, X[test], y[test], weights)
    names = list(dict.fromkeys(origin))
    losses = np.empty((len(names), _REPEATS))
    for i, name in enumerate(names):
        columns = [j for j, of in enumerate(origin) if of == name]
        for k in range(_REPEATS):
            moved = X[test].copy()
            moved[:, columns] = moved[rng.permutation(len(moved))][:, columns]
            losses[i, k] = _error(one, moved, y[test], weights)[0] - best
    order = np.argsort(-losses.mean(axis=1), kind="stable")
    return Influence(tuple(names[i] for i in order), losses[order], measure, len(train), len(test))


def _settled(model: Any) -> Any:
    """Return a fresh model, that need not try again what all rows have settled."""
    one = clone(model)
    if getattr(model, "metric_", True) is None and not model._finite:
        one.set_params(rounds=0, **({"loss": model.loss_} if hasattr(model, "loss_") else {}))
    return one


def _error(model: Any, X: Array, y: NDArray[Any], weights: Array | None) -> tuple[float, str]:
    """Return what a model errs on rows, and in what measure."""
    if not is_classifier(model):
        r2 = score_numbers(y, model.predict(X), weights).r2
        return -float("nan" if r2 is None else r2), "R²"
    if not hasattr(model, "predict_proba"):
        return 1 - score_classes(y, model.predict(X), weights=weights).main, "accuracy"
    found = score_classes(y, model.predict(X), model.classes_, model.predict_proba(X), weights)
    assert found.log_loss is not None
    return found.log_loss, "log loss"


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
        names = [literal(short(name)) for name in found.names[:count]]
        ax.barh(range(count), mean, xerr=error, color=FIRST, ecolor=GREY, height=0.65)
        ax.set_yticks(range(count), names)
        ax.invert_yaxis()
        ax.axvline(0, color=GREY, linewidth=0.8)
        moved = "rise of the log loss" if found.measure == "log loss" else f"fall of {found.measure}"
        ax.set_xlabel(f"{moved} when the column is shuffled")

    return draw


def short(name: str, most: int = 28) -> str:
    """Return a name cut to so many characters."""
    return name if len(name) <= most else name[: most - 1] + "…"


def listed(names: Sequence[str]) -> str:
    """Return names in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
