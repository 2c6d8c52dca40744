"""Lines with shaded deviations, one panel for each set."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.errors import require

__all__ = ["COLORS", "MARKERS", "Series", "curve_figure", "log_axis"]

# Okabe and Ito's palette, made for color-blind readers, its yellow darkened; beyond eight colors lines are dotted
# and markers hollow.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#8C8C00")
MARKERS = "osD^vP*Xph"
_FEW = 30  # points that are marked; of more of them the last is


class Series(NamedTuple):
    """A line: its label, places (k,), means (k,) and deviations (k,).

    ``like`` is the label of a line whose color it shares; it is dashed then.
    """

    label: str
    x: NDArray[np.float64]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    like: str = ""


def curve_figure(
    panels: Mapping[str, Sequence[Series]],
    x_label: str,
    y_label: str,
    *,
    columns: int = 3,
    log: bool = False,
) -> Any:
    """Return a figure with one panel of lines for each title; equal labels have equal colors in all panels.

    A line of one point is a marker with its deviation; a panel whose lines are all at one place is drawn as rows of
    such points.

    Parameters
    ----------
    panels : mapping of str to sequence of Series
    x_label, y_label : str
    columns : int
        Panels in a row.
    log : bool
        A logarithmic axis for x.

    Raises
    ------
    ArgumentError
        There is no panel.
    MissingDependencyError
        matplotlib is not installed.

    Examples
    --------
    >>> line = Series("made", np.array([1.0, 2.0]), np.array([0.5, 0.75]), np.array([0.125, 0.125]))
    >>> figure = curve_figure({"one": [line], "two": [line]}, "rows", "accuracy")
    >>> len(figure.axes), len(figure.axes[0].lines)
    (2, 1)
    """
    if not panels:
        raise fail("panels", "curve_figure", "one panel or more", describe("none"))
    require("matplotlib", extra="app", purpose="drawing")
    from matplotlib.figure import Figure

    across = min(columns, len(panels))
    down = -(-len(panels) // across)
    labels = list(dict.fromkeys(line.like or line.label for lines in panels.values() for line in lines))
    figure = Figure(figsize=(4.4 * across, 3.4 * down + 0.7), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for ax in axes[len(panels) :]:
        ax.remove()
    handles: dict[str, Any] = {}
    for ax, (title, lines) in zip(axes, panels.items(), strict=False):
        ax.grid(alpha=0.25, linewidth=0.5)
        places = np.unique(np.concatenate([line.x for line in lines]))
        if len(places) == 1:
            _draw_points(ax, lines, labels, y_label)
            ax.set_title(f"{title}, {places[0]:g} {x_label}", fontsize=10)
            continue
        for line in lines:
            place = labels.index(line.like or line.label)
            color = COLORS[place % len(COLORS)]
            if len(line.x) == 1:
                fmt = MARKERS[place % len(MARKERS)]
                inside = color if place < len(COLORS) else "white"
                point = ax.errorbar(
                    line.x, line.mean, line.deviation, fmt=fmt, color=color, mfc=inside, ms=5, lw=1, capsize=2
                )
                handles.setdefault(line.label, point)
                continue
            style = "--" if line.like else "-" if place < len(COLORS) else ":"
            mark, every = (".", None) if len(line.x) <= _FEW else (MARKERS[place % len(MARKERS)], [-1])
            (handle,) = ax.plot(line.x, line.mean, style, color=color, lw=1.4, marker=mark, ms=4, markevery=every)
            ax.fill_between(
                line.x, line.mean - line.deviation, line.mean + line.deviation, color=color, alpha=0.15, linewidth=0
            )
            handles.setdefault(line.label, handle)
        ax.set_title(title, fontsize=10)
        ax.set(xlabel=x_label, ylabel=y_label)
        if log:
            log_axis(ax)
    if handles:
        figure.legend(
            [handles[label] for label in handles],
            list(handles),
            loc="outside lower center",
            ncols=4,
            frameon=False,
            fontsize=9,
        )
    return figure


def log_axis(ax: Any) -> None:
    """Make the x axis logarithmic, with labels at 1, 2 and 5 of each decade: a narrow range has some too."""
    from matplotlib.ticker import LogLocator

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter("")


def _draw_points(ax: Any, lines: Sequence[Series], labels: Sequence[str], value_label: str) -> None:
    """Draw one row for each line, named at its left: mean and deviation."""
    for row, line in enumerate(lines):
        color = COLORS[labels.index(line.like or line.label) % len(COLORS)]
        ax.errorbar(line.mean, [row], xerr=line.deviation, fmt="o", markersize=4, capsize=3, color=color, linewidth=1.4)
    ax.set_yticks(range(len(lines)), [line.label for line in lines], fontsize=8)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.tick_params(axis="x", labelsize=8)
    ax.locator_params(axis="x", nbins=5)
    ax.set_xlabel(value_label)
