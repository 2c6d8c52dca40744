"""Panels of decision regions, and the hyperplanes in them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, check_listed, describe, fail
from clifford_rand._optional import require
from clifford_rand._typing import Array
from clifford_rand_nn.displays.regions import DecisionRegionsDisplay
from clifford_rand_nn.displays.style import network_of
from clifford_rand_nn.networks import TwoLayerNetwork


def plot_decision_regions(
    ax: Any, model: Any, X: ArrayLike, y: ArrayLike, title: str = "", *, resolution: int = 500, gates: Any = None
) -> None:
    """Fill the regions that a classifier gives to each class, and mark the points of each class.

    Parameters
    ----------
    ax : matplotlib Axes
    model : object with ``predict``
        Fitted to two features and at most eight classes.
    X : (n, 2) array
    y : (n,) array
    title : str
    resolution : int
        Grid points along each side.
    gates : Gates or (directions (2, m), offsets (m,)), optional
        Hyperplanes to draw as thin lines.

    Raises
    ------
    ArgumentError
        X has not two columns, or there are more than eight classes.
    MissingDependencyError
        matplotlib is not installed.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from clifford_rand_nn import GatedReLUClassifier, spiral
    >>> X, y = spiral()
    >>> model = GatedReLUClassifier(n_gates=20, random_state=0).fit(X, y)
    >>> ax = Figure().subplots()
    >>> plot_decision_regions(ax, model, X, y, "20 gates", resolution=50)
    """
    data = as_real(X, "X", "plot_decision_regions")
    if data.ndim != 2 or data.shape[1] != 2:
        raise fail("X", "plot_decision_regions", "of shape (n, 2)", describe(f"shape {data.shape}"))
    lines = None if gates is None else tuple(gates)  # without the rows that span them
    drawn = DecisionRegionsDisplay.from_estimator(
        model, data, y, planes=lines, resolution=resolution, ax=ax, title=title, legend=False
    )
    drawn.ax_.set_aspect("equal")


def spiral_figure(
    panels: Sequence[tuple[str, Any, Any]],
    X: ArrayLike,
    y: ArrayLike,
    *,
    resolution: int = 600,
    lines: bool = False,
    columns: int = 2,
) -> Any:
    """Return a figure with one panel of decision regions for each ``(title, model, gates)``, two in a row.

    Parameters
    ----------
    panels : sequence of (str, classifier, Gates or None)
    X : (n, 2) array
    y : (n,) array
    resolution : int
        Grid points along each side of a panel.
    lines : bool
        Whether the gates' hyperplanes are drawn.
    columns : int
        Panels in a row.

    Examples
    --------
    >>> from clifford_rand_nn import GatedReLUClassifier, spiral
    >>> X, y = spiral()
    >>> model = GatedReLUClassifier(n_gates=20, random_state=0).fit(X, y)
    >>> figure = spiral_figure([("20 gates", model, None)], X, y, resolution=50)
    >>> len(figure.axes)
    1
    """
    require("matplotlib", extra="app", purpose="drawing")
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.08)
    across = min(columns, len(panels))
    down = -(-len(panels) // across)
    figure = Figure(figsize=(4.8 * across, 4.8 * down + 0.35), layout=layout)
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for ax in axes[len(panels) :]:
        ax.remove()
    for ax, (title, model, gates) in zip(axes, panels, strict=False):
        plot_decision_regions(ax, model, X, y, title, resolution=resolution, gates=gates if lines else None)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, [f"class {label}" for label in labels], loc="outside lower center", ncols=len(labels), frameon=False
    )
    return figure


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

    Parameters
    ----------
    model : fitted estimator
        Of a pipeline they are planes of the columns that its last step sees.
    planes : bool, Gates or (directions (d, m), offsets (m,))
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
        rows = list(getattr(inner, "rows_", np.zeros((network.n_neurons, 0), dtype=np.intp)))
    return Planes(np.ascontiguousarray(network.W1.T), network.b1, rows)


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
