"""Means with errors of named variants, one panel for each question: dots in rows, a color for each series."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.errors import require
from examples.paper.plots.curves import COLORS, MARKERS, log_axis

__all__ = ["Panel", "Variants", "variant_figure"]


class Variants(NamedTuple):
    """One series: its label, the variants' names (k), means (k,) and errors (k,); NaN where one was not measured."""

    label: str
    names: tuple[str, ...]
    mean: NDArray[np.float64]
    error: NDArray[np.float64]


class Panel(NamedTuple):
    """A panel: title, what is measured, its series; a line at 0, or a logarithmic axis."""

    title: str
    x_label: str
    series: tuple[Variants, ...]
    zero: bool = False
    log: bool = False


def variant_figure(panels: Sequence[Panel], *, columns: int = 3) -> Any:
    """Return the figure; equal labels of series have equal colors in all panels.

    Raises
    ------
    ArgumentError
        There is no panel.
    MissingDependencyError
        matplotlib is not installed.

    Examples
    --------
    >>> one = Variants("made", ("a", "b"), np.array([0.5, -0.5]), np.array([0.1, 0.1]))
    >>> figure = variant_figure([Panel("first", "difference", (one,), zero=True)])
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['a', 'b']
    """
    if not panels:
        raise fail("panels", "variant_figure", "one panel or more", describe("none"))
    require("matplotlib", extra="app", purpose="drawing")
    from matplotlib.figure import Figure

    across = min(columns, len(panels))
    down = -(-len(panels) // across)
    names = [list(dict.fromkeys(name for one in panel.series for name in one.names)) for panel in panels]
    labels = list(dict.fromkeys(one.label for panel in panels for one in panel.series))
    tallest = max(len(some) for some in names)
    size = (4.4 * across, down * (0.9 + 0.2 * tallest + 0.06 * tallest * len(labels)) + 0.6)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for ax in axes[len(panels) :]:
        ax.remove()
    handles: dict[str, Any] = {}
    for ax, panel, there in zip(axes, panels, names, strict=False):
        for one in panel.series:
            place = labels.index(one.label)
            shift = 0.6 * ((place + 0.5) / len(labels) - 0.5)  # series of one variant lie below each other
            rows = np.array([there.index(name) for name in one.names]) + shift
            color, marker = COLORS[place % len(COLORS)], MARKERS[place % len(MARKERS)]
            handle = ax.errorbar(one.mean, rows, xerr=one.error, fmt=marker, color=color, ms=4, lw=1, capsize=2)
            handles.setdefault(one.label, handle)
        ax.set_yticks(range(len(there)), there, fontsize=8.5)
        ax.set_ylim(len(there) - 0.4, -0.6)
        if panel.zero:
            ax.axvline(0, color="0.4", lw=0.8)
        if panel.log:
            log_axis(ax)
        ax.set_title(panel.title, fontsize=10)
        ax.set_xlabel(panel.x_label, fontsize=9)
        ax.grid(axis="x", alpha=0.25, lw=0.5)
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    return figure
