"""Pictures: decision regions of a classifier, and panels of them. The only file that uses matplotlib."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, describe, fail
from clifford_rand._files import replaced
from clifford_rand._optional import require

# Okabe and Ito's palette, made for colour-blind readers; no two of its colours differ by hue alone.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
_TINT = 0.72  # how far a region's colour is mixed with white
_ROWS = 50_000  # grid points predicted at once


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
    require("matplotlib", extra="app", purpose="drawing")
    from matplotlib.colors import ListedColormap, to_rgb

    data, labels = as_real(X, "X", "plot_decision_regions"), np.asarray(y)
    if data.ndim != 2 or data.shape[1] != 2:
        raise fail("X", "plot_decision_regions", "of shape (n, 2)", describe(f"shape {data.shape}"))
    classes = np.unique(labels)
    if len(classes) > len(_COLOURS):
        raise fail(
            "y", "plot_decision_regions", f"labels of at most {len(_COLOURS)} classes", describe(str(len(classes)))
        )
    low, high = data.min(axis=0), data.max(axis=0)
    margin = 0.06 * np.where(high > low, high - low, 1.0)
    low, high = low - margin, high + margin
    horizontal, vertical = (np.linspace(a, b, resolution) for a, b in zip(low, high, strict=True))
    grid = np.stack(np.meshgrid(horizontal, vertical), axis=-1)
    region = np.searchsorted(classes, _predict(model, grid.reshape(-1, 2))).reshape(resolution, resolution)
    tints = ListedColormap([tuple(_TINT + (1 - _TINT) * c for c in to_rgb(colour)) for colour in _COLOURS])
    extent = (low[0], high[0], low[1], high[1])
    top = len(_COLOURS) - 0.5
    ax.imshow(region, cmap=tints, vmin=-0.5, vmax=top, extent=extent, origin="lower", interpolation="nearest")
    if gates is not None:
        _draw_lines(ax, gates, low, high)
    for i, label in enumerate(classes):
        points = data[labels == label]
        ax.scatter(
            *points.T,
            s=22,
            marker=_MARKERS[i],
            color=_COLOURS[i],
            edgecolor="white",
            linewidth=0.6,
            label=str(label),
            zorder=3,
        )
    ax.set(xlim=extent[:2], ylim=extent[2:], xticks=[], yticks=[])
    ax.set_title(title, fontsize=10)


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


def save_figure(figure: Any, path: str | Path) -> None:
    """Write a figure at 150 dots per inch; the ending chooses the kind of file."""
    with replaced(path) as new:
        figure.savefig(new, dpi=150)


def _predict(model: Any, points: NDArray[np.float64]) -> NDArray[Any]:
    return np.concatenate([model.predict(points[i : i + _ROWS]) for i in range(0, len(points), _ROWS)])


def _draw_lines(ax: Any, gates: Any, low: NDArray[Any], high: NDArray[Any]) -> None:
    """Draw each line h·x + c = 0 across the box: from its point nearest the middle, both ways along it."""
    from matplotlib.collections import LineCollection

    directions, offsets = gates
    middle, reach = (low + high) / 2, np.linalg.norm(high - low)
    length = np.linalg.norm(directions, axis=0)
    drawn = length > 0
    normal = directions[:, drawn] / length[drawn]
    foot = middle[:, None] - normal * (middle @ normal + offsets[drawn] / length[drawn])
    along = reach * np.stack([-normal[1], normal[0]])
    ends = np.stack([foot - along, foot + along]).transpose(2, 0, 1)
    ax.add_collection(LineCollection(list(ends), colors="0.35", linewidths=0.25, alpha=0.5, zorder=2))
