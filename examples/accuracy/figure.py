"""The picture of the page: on every table, how far the network is ahead of each peer."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from clifford_rand.errors import require
from examples.accuracy.methods.ours import NAME
from examples.accuracy.tally import Row, Values, difference, names, values
from examples.paper.plots.curves import COLORS, MARKERS

__all__ = ["difference_figure"]

_LINEAR = 2.0  # points: beyond, the axis is logarithmic


def difference_figure(rows: Sequence[Row]) -> Any:
    """Return a figure with a panel for each task: a line for each set, a mark for each peer, right of 0 if behind.

    Network and peer are compared on the trials that both have.

    Raises
    ------
    MissingDependencyError
        matplotlib is not installed.

    Examples
    --------
    >>> row = {"task": "regression", "set": "made", "trial": "0", "score": "0.5"}
    >>> figure = difference_figure([{**row, "method": "network"}, {**row, "method": "ridge", "score": "0.25"}])
    >>> figure.axes[0].get_yticklabels()[0].get_text()
    'made'
    """
    require("matplotlib", extra="app", purpose="drawing")
    from matplotlib.figure import Figure

    tasks = {task: [row for row in rows if row["task"] == task] for task in names(rows, "task")}
    counts = [len(names(mine, "set")) for mine in tasks.values()]
    peers = [method for method in names(rows, "method") if method != NAME]
    figure = Figure(figsize=(8, 1.6 * len(tasks) + 0.27 * sum(counts) + 0.6), layout="constrained")
    axes = figure.subplots(len(tasks), 1, squeeze=False, height_ratios=[count + 3 for count in counts]).ravel()
    handles: dict[str, Any] = {}
    for ax, (task, mine) in zip(axes, tasks.items(), strict=True):
        _draw(ax, task, values(mine, "score"), peers, handles)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


def _draw(ax: Any, task: str, found: Values, peers: Sequence[str], handles: dict[str, Any]) -> None:
    for line, of in enumerate(found.values()):
        ax.axhline(line, color="0.9", lw=0.6, zorder=0)
        for place, peer in enumerate(peers):
            pair = difference(of, NAME, peer)
            if not pair.trials:
                continue
            error = 0.0 if np.isnan(pair.error) else 100 * pair.error
            mark = ax.errorbar(
                100 * pair.mean, line, xerr=error, fmt=MARKERS[place % len(MARKERS)], ms=4.5, lw=0.8,
                color=COLORS[place % len(COLORS)],
            )  # fmt: skip
            handles.setdefault(peer, mark)
    ax.axvline(0, color="0.4", lw=0.8)
    ax.set_xscale("symlog", linthresh=_LINEAR)
    ax.xaxis.set_major_formatter("{x:+g}")
    ax.set_yticks(range(len(found)), list(found), fontsize=8)
    ax.set_ylim(len(found) - 0.5, -0.5)
    what = "accuracy, points" if task == "classification" else "R², hundredths"
    ax.set_xlabel(f"network minus peer: {what}; mean over trials ± standard error", fontsize=9)
