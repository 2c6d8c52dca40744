"""Panels of decision regions, one for each classifier."""

from collections.abc import Sequence
from typing import Any

from clifford_rand._checks import as_real, describe, fail
from clifford_rand._typing import ArrayLike
from clifford_rand.errors import require
from clifford_rand_nn.displays.regions import DecisionRegionsDisplay


def plot_decision_regions(
    ax: Any, model: Any, X: ArrayLike, y: ArrayLike, title: str = "", *, resolution: int = 500, gates: Any = None
) -> None:
    """Fill the regions that a classifier gives to each class, and mark the points X (n, 2) of each class y (n,).

    The grid has ``resolution`` points along each side. ``gates``, or directions (2, m) and offsets (m,), are drawn as
    thin lines. Raises ArgumentError if X has not two columns, or there are more than eight classes.

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
    """Return a figure with one panel of decision regions for each ``(title, model, gates)``, ``columns`` in a row.

    With ``lines`` the gates' hyperplanes are drawn.

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
