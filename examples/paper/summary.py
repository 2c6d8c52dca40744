"""Means and deviations over trials: lines for a picture, and a table with paired differences in Markdown."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from examples.paper.plots.curves import Series

__all__ = [
    "Series",
    "accuracy_report",
    "accuracy_series",
    "mean_and_deviation",
    "paired_difference",
    "timing_report",
    "timing_series",
]

_RIVALS = ("adamw", "logistic")  # what every method is compared with, on the same trials
_TIMES = 100  # points of a line over time
Row = Mapping[str, str]


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation with n - 1; the latter is NaN for one value.

    Examples
    --------
    >>> mean_and_deviation([1.0, 2.0, 3.0])
    (2.0, 1.0)
    """
    array = np.asarray(values, dtype=np.float64)
    return float(array.mean()), float(array.std(ddof=1)) if array.size > 1 else float("nan")


def paired_difference(first: Mapping[str, float], second: Mapping[str, float]) -> tuple[float, float, int]:
    """Return mean difference, its standard error, and the number of trials that both have.

    Examples
    --------
    >>> paired_difference({"0": 0.5, "1": 0.75, "2": 1.0}, {"0": 0.25, "1": 0.5, "2": 0.75})
    (0.25, 0.0, 3)
    """
    shared = sorted(first.keys() & second.keys())
    if not shared:
        return float("nan"), float("nan"), 0
    mean, deviation = mean_and_deviation([first[trial] - second[trial] for trial in shared])
    return mean, deviation / math.sqrt(len(shared)), len(shared)


def accuracy_series(rows: Sequence[Row]) -> dict[str, list[Series]]:
    """Return for every set one line for each method: mean and deviation of the test accuracy against n."""
    panels: dict[str, list[Series]] = {}
    for name in _distinct(rows, "set"):
        there = [row for row in rows if row["set"] == name]
        panels[name] = [_line([row for row in there if row["method"] == m], m) for m in _distinct(there, "method")]
    return panels


def accuracy_report(rows: Sequence[Row]) -> str:
    """Return one Markdown table for each set, at its largest n."""
    parts = ["# Test accuracy: mean ± standard deviation over trials\n"]
    for name in _distinct(rows, "set"):
        there = [row for row in rows if row["set"] == name]
        n = max(int(row["n"]) for row in there)
        parts.append(_set_report(name, n, [row for row in there if row["n"] == str(n)]))
    parts.append(
        "Differences are paired: the same trials, mean ± standard error, in points of a hundred. adamw's oracle is its "
        "best grid point by test accuracy, which nobody can choose. Seconds are those of grid and final fit."
    )
    return "\n".join(parts) + "\n"


def _set_report(name: str, n: int, rows: Sequence[Row]) -> str:
    by_method = {
        method: {row["seed"]: float(row["test_accuracy"]) for row in rows if row["method"] == method}
        for method in _distinct(rows, "method")
    }
    oracle = {row["seed"]: float(row["oracle_accuracy"]) for row in rows if row["oracle_accuracy"]}
    compared = dict(by_method)
    if oracle:
        compared["adamw (oracle)"] = oracle
    rivals = [rival for rival in (*_RIVALS, "adamw (oracle)") if rival in compared]
    heads = ["method", "trials", "accuracy %", "seconds", *(f"minus {rival}" for rival in rivals)]
    lines = [f"## {name}, n = {n}\n", _row(heads), _row(["---", *("---:" for _ in heads[1:])])]
    for method, scores in compared.items():
        seconds = [float(row["seconds"]) for row in rows if row["method"] == method]
        mean, deviation = mean_and_deviation(list(scores.values()))
        cells = [method, str(len(scores)), _plus_minus(mean, deviation), f"{np.mean(seconds):.1f}" if seconds else ""]
        for rival in rivals:
            difference, error, _ = paired_difference(scores, compared[rival])
            cells.append("" if rival == method else _plus_minus(difference, error, sign=True))
        lines.append(_row(cells))
    return "\n".join(lines) + "\n"


def timing_series(rows: Sequence[Row]) -> dict[str, list[Series]]:
    """Return for every set a panel of test and one of train accuracy: each method, and each with its grid's seconds."""
    panels: dict[str, list[Series]] = {}
    for name, n in dict.fromkeys((row["set"], row["n"]) for row in rows):
        there = [row for row in rows if (row["set"], row["n"]) == (name, n)]
        for side in ("test", "train"):
            lines = []
            for method in _distinct(there, "method"):
                mine = [row for row in there if row["method"] == method]
                lines.append(_over_time(mine, method, side, with_grid=False))
                lines.append(_over_time(mine, f"{method}, after its grid", side, with_grid=True))
            panels[f"{name}, n = {n}: {side}"] = lines
    return panels


def timing_report(rows: Sequence[Row]) -> str:
    """Return one Markdown table for each set: what the last step has reached, and in how many seconds."""
    parts = ["# Accuracy against seconds: mean ± standard deviation over trials\n"]
    heads = ["method", "trials", "steps", "seconds", "grid seconds", "train %", "test %"]
    for name, n in dict.fromkeys((row["set"], row["n"]) for row in rows):
        ends = [row for row in rows if (row["set"], row["n"], row["last"]) == (name, n, "1")]
        lines = [f"## {name}, n = {n}\n", _row(heads), _row(["---", *("---:" for _ in heads[1:])])]
        for method in _distinct(ends, "method"):
            mine = [row for row in ends if row["method"] == method]
            steps, seconds, grid = (
                f"{np.mean([float(row[column]) for row in mine]):.{digits}f}"
                for column, digits in (("step", 0), ("seconds", 2), ("grid_seconds", 2))
            )
            scores = [
                _plus_minus(*mean_and_deviation([float(row[f"{side}_accuracy"]) for row in mine]))
                for side in ("train", "test")
            ]
            lines.append(_row([method, str(len(mine)), steps, seconds, grid, *scores]))
        parts.append("\n".join(lines) + "\n")
    parts.append("Seconds are those of one training at the grid point chosen; the grid took its own before.")
    return "\n".join(parts) + "\n"


def _over_time(rows: Sequence[Row], label: str, side: str, *, with_grid: bool) -> Series:
    """Mean over trials of what each has reached by a time, from when all have reached something."""
    trials = []
    for seed in _distinct(rows, "seed"):
        mine = [row for row in rows if row["seed"] == seed]
        seconds = np.array([float(row["seconds"]) + with_grid * float(row["grid_seconds"]) for row in mine])
        scores = np.array([float(row[f"{side}_accuracy"]) for row in mine])
        order = np.argsort(seconds, kind="stable")
        trials.append((seconds[order], scores[order]))
    first = max(float(seconds[0]) for seconds, _ in trials)
    last = max(max(float(seconds[-1]) for seconds, _ in trials), first)
    times = np.geomspace(first, last, _TIMES)
    times[0] = first  # geomspace may round below it
    reached = [scores[np.searchsorted(seconds, times, side="right") - 1] for seconds, scores in trials]
    deviation = np.std(reached, axis=0, ddof=1) if len(reached) > 1 else np.zeros(_TIMES)
    like = rows[0]["method"] if with_grid else ""
    return Series(label, times, np.mean(reached, axis=0), deviation, like)


def _line(rows: Sequence[Row], label: str) -> Series:
    sizes = sorted({int(row["n"]) for row in rows})
    pairs = [mean_and_deviation([float(r["test_accuracy"]) for r in rows if r["n"] == str(n)]) for n in sizes]
    means, deviations = np.array(pairs, dtype=np.float64).T
    return Series(label, np.array(sizes, dtype=np.float64), means, _zero_if_alone(deviations))


def _zero_if_alone(deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.nan_to_num(deviations)  # one trial has no deviation: no shade


def _distinct(rows: Sequence[Row], name: str) -> list[str]:
    return list(dict.fromkeys(row[name] for row in rows))


def _plus_minus(mean: float, deviation: float, sign: bool = False) -> str:
    if np.isnan(mean):
        return ""
    first = f"{100 * mean:{'+' if sign else ''}.2f}"
    return first if np.isnan(deviation) else f"{first} ± {100 * deviation:.2f}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
