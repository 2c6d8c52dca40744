"""The picture of the plane: how often samplers visit each chamber, the chambers, and how long all of them take."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand.errors import require

__all__ = ["Visits", "Waits", "plane_figure"]

Array = NDArray[np.float64]

# Okabe and Ito's palette, made for color-blind readers; markers and labels say the same.
_COLORS = ("#E69F00", "#0072B2", "#CC79A7")
_NEVER = "#D55E00"
_REACHED = {0: (_NEVER, "never"), 1: ("#F0E442", "on one side"), 2: ("#56B4E9", "on both sides")}


class Visits(NamedTuple):
    """One sampler: a title, the share of draws in each chamber (2n,), and its law (2n,)."""

    title: str
    share: Array
    law: Array


class Waits(NamedTuple):
    """Draws until all patterns were seen: measured (k,), from ``low`` to ``high`` (k,), expected (k,), at n (k,)."""

    label: str
    n: Array
    measured: Array
    low: Array
    high: Array
    expected: Array


def plane_figure(visits: Sequence[Visits], borders: Array, angles: Array, ways: Array, waits: Sequence[Waits]) -> Any:
    """Return the figure.

    Parameters
    ----------
    visits : sequence of Visits
        Three at most.
    borders, angles : (2n,) arrays
        Of the chambers, in radians.
    ways : (2n,) array of 0, 1 or 2
        From how many of its borders each chamber is entered when the border's row is on.
    waits : sequence of Waits

    Examples
    --------
    >>> share = np.full(4, 0.25)
    >>> one = Visits("made", share, share)
    >>> k = np.array([5.0, 10.0])
    >>> wait = Waits("made", k, k, k, k, k)
    >>> figure = plane_figure([one], np.arange(4) * np.pi / 2, 2 * np.pi * share, np.array([2, 1, 0, 1]), [wait])
    >>> len(figure.axes)
    3
    """
    require("matplotlib", extra="app", purpose="drawing")
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=(12.5, 8.2), layout=ConstrainedLayoutEngine(hspace=0.08))
    grid = figure.add_gridspec(2, 6, height_ratios=(1, 1.15))
    first = None
    for i, sampler in enumerate(visits):
        ax = figure.add_subplot(grid[0, 2 * i : 2 * i + 2], sharey=first)
        _draw_visits(ax, sampler, _COLORS[i])
        if first is None:
            first = ax
            ax.set_ylabel("share of draws (%)")
    _draw_circle(figure.add_subplot(grid[1, :3], projection="polar"), borders, angles, ways)
    _draw_waits(figure.add_subplot(grid[1, 3:]), waits)
    return figure


def _draw_visits(ax: Any, sampler: Visits, color: str) -> None:
    place = np.arange(len(sampler.share))
    ax.bar(place, 100 * sampler.share, color=color, width=0.8, label="visited")
    ax.plot(place, 100 * sampler.law, "k_", ms=7, mew=1.4, label="theory")
    never = np.flatnonzero(sampler.share == 0)
    if len(never):
        height = 0.02 * 100 * sampler.law.max()  # just above the axis
        ax.plot(never, np.full(len(never), height), "x", color=_NEVER, ms=6, mew=1.8, label="never visited")
    ax.set_title(sampler.title, fontsize=10.5)
    ax.set_xlabel("chamber, in order of angle")
    ax.legend(frameon=False, fontsize=8.5, loc="upper right")
    ax.spines[["top", "right"]].set_visible(False)


def _draw_circle(ax: Any, borders: Array, angles: Array, ways: Array) -> None:
    for count, (color, label) in _REACHED.items():
        part = ways == count
        style: Mapping[str, Any] = {"hatch": "///" if count == 0 else None, "edgecolor": "white", "lw": 0.6}
        ax.bar(borders[part], 1, angles[part], align="edge", color=color, label=label, **style)
    ax.set(ylim=(0, 1), yticks=[], xticks=[])
    ax.spines["polar"].set_visible(False)
    ax.set_title(f"The {len(borders)} chambers of {len(borders) // 2} rows: arcs of directions", fontsize=10.5)
    legend = {"frameon": False, "fontsize": 8.5, "loc": "center left", "bbox_to_anchor": (1.02, 0.5)}
    ax.legend(title="entered with its\nborder row on", **legend)


def _draw_waits(ax: Any, waits: Sequence[Waits]) -> None:
    """Draw measured waits as markers and expected ones as lines."""
    for wait, color, marker in zip(waits, (*_COLORS, "#009E73"), "osD^", strict=False):
        ax.plot(wait.n, wait.expected, "-", color=color, lw=1.2)
        reach = np.maximum((wait.measured - wait.low, wait.high - wait.measured), 0)
        ax.errorbar(wait.n, wait.measured, reach, fmt=marker, color=color, ms=6, capsize=3, label=wait.label)
    ax.set(xscale="log", yscale="log", xlabel="rows n", ylabel="draws until all 2n patterns were seen")
    n = np.unique(np.concatenate([wait.n for wait in waits]))
    ax.set_xticks(n, [f"{i:.0f}" for i in n])
    ax.minorticks_off()
    ax.set_title("Median and range over sets of rows; lines: theory", fontsize=10.5)
    ax.legend(frameon=False, fontsize=8.5, loc="upper left")
    ax.spines[["top", "right"]].set_visible(False)
