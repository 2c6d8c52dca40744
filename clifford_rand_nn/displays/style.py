"""Style and axes of displays, figures as files, and the hyperplanes of networks in a plane."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from clifford_rand._checks import as_array, as_real, check_instance, check_listed, describe, fail
from clifford_rand._files import replaced
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand.errors import require
from clifford_rand_nn.estimators.cv import BetaCV
from clifford_rand_nn.estimators.folds import PipelinePrefix
from clifford_rand_nn.networks import TwoLayerNetwork

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


def places_of(y: Any, classes: NDArray[Any], n: int, owner: str, name: str = "y") -> NDArray[np.intp]:
    """Return the places (n,) of labels among the classes.

    Raises ArgumentError if they are not n, or not all of them are classes.

    >>> places_of(["b", "a"], np.array(["a", "b"]), 2, "f")
    array([1, 0])
    """
    labels = as_array(y, name, owner)
    if labels.shape != (n,):
        raise fail(name, owner, f"the {n} labels of the training", describe(f"shape {labels.shape}"))
    place = {label: i for i, label in enumerate(classes.tolist())}
    try:
        return np.array([place[label] for label in labels.tolist()], dtype=np.intp)
    except (KeyError, TypeError) as error:  # another label, or a list
        value = describe(f"{error}" if isinstance(error, KeyError) else "a list")
        raise fail(name, owner, f"labels among the {len(place)} classes", value) from None


_ON_PLANE = 1e-6  # of |x||h| + |c|


class Planes(NamedTuple):
    r"""Hyperplanes :math:`h_j\cdot x+c_j=0`: directions (d, m), offsets (m,), the rows of training that span each.

    ``moved``: whether they were moved off these, as gates are.
    """

    directions: Array
    offsets: Array
    rows: list[NDArray[np.intp]]
    moved: bool = False

    def cut(self, base: Array, columns: tuple[int, int]) -> tuple[Array, Array]:
        """Return the lines (2, m), (m,) in two columns, where the others are as in ``base`` (d,)."""
        fixed = np.setdiff1d(np.arange(len(base)), columns)
        return self.directions[list(columns)], self.offsets + base[fixed] @ self.directions[fixed]

    def spanning(self, X: Array) -> NDArray[np.intp]:
        """Return which rows X (n, d) span a hyperplane; those that are not where they should be, of other data, do not.

        The rows of a neuron lie on its hyperplane. A gate was moved off its rows into a chamber beside them, by less
        than to any other row.
        """
        spanning: set[int] = set()
        for j, rows in enumerate(self.rows):
            some = rows[(rows >= 0) & (rows < len(X))]
            size = np.linalg.norm(X, axis=1) * np.linalg.norm(self.directions[:, j]) + abs(self.offsets[j])
            away = np.abs(X @ self.directions[:, j] + self.offsets[j])
            least = np.delete(away, some).min(initial=np.inf) if self.moved else 0.0
            if len(some) and (away[some] <= least + _ON_PLANE * size[some]).all():
                spanning.update(some.tolist())
        return np.array(sorted(spanning), dtype=np.intp)


def planes_of(model: Any, planes: Any = True) -> Planes | None:
    """Return the planes of a fitted model's neurons or gates, or given ones; None if it has infinitely many, or none.

    Of a pipeline they are planes of the columns that its last step sees.
    """
    if planes is False or planes is None:
        return None
    if planes is not True:
        rule = "true, false, gates, or directions (d, m) and offsets (m,)"
        listed = check_listed(planes, "planes", "DecisionRegionsDisplay", rule)
        if len(listed) != 2:
            raise fail("planes", "DecisionRegionsDisplay", rule, planes)
        directions, offsets = (as_real(part, "planes", "DecisionRegionsDisplay") for part in listed)
        if directions.ndim != 2 or offsets.shape != directions.shape[1:]:
            value = describe(f"shapes {directions.shape} and {offsets.shape}")
            raise fail("planes", "DecisionRegionsDisplay", rule, value)
        known = getattr(planes, "incident", np.zeros((len(offsets), 0), dtype=np.intp))
        return Planes(np.asarray(directions), np.asarray(offsets), list(known), True)
    inner = network_of(model)
    network = getattr(inner, "network_", None)
    if not isinstance(network, TwoLayerNetwork):
        return None
    if network.gates is not None:
        return Planes(network.gates.directions, network.gates.offsets, list(network.gates.incident), True)
    rows = getattr(inner, "spanning_rows_", None)
    if rows is None:
        rows = np.zeros((network.n_neurons, 0), dtype=np.intp)
    return Planes(np.ascontiguousarray(network.W1.T), network.b1, list(rows))


def segments(directions: ArrayLike, offsets: ArrayLike, low: Array, high: Array) -> Array:
    """Return the ends (m, 2, 2) of the lines h·x + c = 0 beyond a box: from the point nearest its middle, both ways.

    Raises ArgumentError if the lines are not of two columns.
    """
    H, c = np.asarray(directions, dtype=np.float64), np.asarray(offsets, dtype=np.float64)
    if H.ndim != 2 or len(H) != 2:
        raise fail("planes", "DecisionRegionsDisplay", "of two columns", describe(f"shape {H.shape}"))
    middle, reach = (low + high) / 2, np.linalg.norm(high - low)
    length = np.linalg.norm(H, axis=0)
    drawn = length > 0
    normal = H[:, drawn] / length[drawn]
    foot = middle[:, None] - normal * (middle @ normal + c[drawn] / length[drawn])
    along = reach * np.stack([-normal[1], normal[0]])
    return np.stack([foot - along, foot + along]).transpose(2, 0, 1)
