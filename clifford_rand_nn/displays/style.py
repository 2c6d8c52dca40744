"""Shared parts of displays: colors, axes, literal text, estimators and labels, files of figures."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from clifford_rand._checks import as_array, check_instance, describe, fail
from clifford_rand._files import replaced
from clifford_rand._optional import require
from clifford_rand_nn.estimators.cv import BetaCV
from clifford_rand_nn.estimators.folds import PipelinePrefix

# Okabe and Ito's palette, made for color-blind readers; no two of its colors differ by hue alone.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
FIRST, SECOND, THIRD = "#0072B2", "#D55E00", "#009E73"  # of lines: contrast of 3 and more with white and with black
GREY = "#7f7f7f"


def axes_of(ax: Any = None) -> Any:
    """Return the axes to draw on: the given ones, or new ones in a figure of pyplot, as scikit-learn's displays do.

    Raises ArgumentError if what is given are none.
    MissingDependencyError
        matplotlib is not installed.
    """
    require("matplotlib", extra="app", purpose="drawing")
    if ax is not None:
        from matplotlib.axes import Axes

        check_instance(ax, Axes, "ax", "clifford_rand_nn.displays", "axes of matplotlib, or None")
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def literal(text: object) -> str:
    r"""Return text for a picture in which a dollar sign begins no formula.

    >>> print(literal("price in $, not $x$"))
    price in \$, not \$x\$
    """
    return str(text).replace("$", r"\$")


def network_of(model: Any) -> Any:
    """Return the estimator itself: the last step of a pipeline, what a search has trained."""
    while True:
        if isinstance(model, Pipeline):
            model = model[-1]
        elif isinstance(model, BetaCV) and hasattr(model, "estimator_"):
            model = model.estimator_
        else:
            return model


def encoded(model: Any, X: Any) -> Any:
    """Return rows as the last step of a fitted pipeline sees them, dense; X itself where there are no steps before."""
    while isinstance(model, Pipeline | BetaCV):
        if isinstance(model, BetaCV):
            model = model.estimator_
        else:
            X, model = PipelinePrefix(model).transform(X), model[-1]
    X = X.toarray() if hasattr(X, "toarray") else X
    return X.to_numpy() if hasattr(X, "to_numpy") else X


def save_figure(figure: Any, path: str | Path) -> None:
    """Write a figure at 150 dots per inch; the ending chooses the kind of file."""
    with replaced(path) as new:
        figure.savefig(new, dpi=150)


def places_of(y: Any, classes: NDArray[Any], n: int, owner: str) -> NDArray[np.intp]:
    """Return the places (n,) of labels among the classes.

    Raises ArgumentError if they are not n, or not all of them are classes.

    >>> places_of(["b", "a"], np.array(["a", "b"]), 2, "f")
    array([1, 0])
    """
    labels = as_array(y, "y", owner)
    if labels.shape != (n,):
        raise fail("y", owner, f"the {n} labels of the training", describe(f"shape {labels.shape}"))
    place = {label: i for i, label in enumerate(classes.tolist())}
    try:
        return np.array([place[label] for label in labels.tolist()], dtype=np.intp)
    except (KeyError, TypeError) as error:  # another label, or a list
        value = describe(f"{error}" if isinstance(error, KeyError) else "a list")
        raise fail("y", owner, f"labels among the {len(place)} classes", value) from None
