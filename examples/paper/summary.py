"""Means and deviations over trials: lines for pictures, and tables with paired differences in Markdown."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from examples.paper.plots.curves import Series
from examples.paper.statistics import compared

__all__ = [
    "Series",
    "accuracy_report",
    "accuracy_series",
    "distinct",
    "mean_and_deviation",
    "plus_minus",
    "seconds_series",
    "table_head",
    "table_row",
    "timing_report",
    "timing_series",
]

_RIVALS = ("adamw", "logistic")  # what every method is compared with, on the same trials
_OURS = "convex-ridge"  # what is recommended, and compared at every size
_ORACLE = "adamw (oracle)"
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


def accuracy_series(rows: Sequence[Row]) -> dict[str, list[Series]]:
    """Return for every set one line for each method: mean and deviation of the test accuracy against n."""
    panels: dict[str, list[Series]] = {}
    for name in distinct(rows, "set"):
        there = [row for row in rows if row["set"] == name]
        panels[name] = [_line(mine, method) for method, mine in _by_method(there).items()]
    return panels


def seconds_series(rows: Sequence[Row]) -> dict[str, list[Series]]:
    """Return for every set one point for each method at the largest n: mean test accuracy against mean seconds."""
    panels = {}
    for name, n, there in _largest(rows):
        panels[f"{name}, n = {n}"] = [
            Series(method, np.array([np.mean(_numbers(mine, "seconds"))]), mean, _zero_if_alone(deviation))
            for method, mine in _by_method(there).items()
            for mean, deviation in [np.array(mean_and_deviation(_numbers(mine, "test_accuracy")))[:, None]]
        ]
    return panels


def accuracy_report(rows: Sequence[Row]) -> str:
    """Return tables in Markdown: accuracies and seconds of all sets, each at its largest n; differences; set by set."""
    parts = ["# Test accuracy: mean ± standard deviation over trials\n", *_overview(rows), *_by_size(rows)]
    parts += [_set_report(name, n, there) for name, n, there in _largest(rows)]
    parts.append(
        "Differences are paired: the same trials, mean ± standard error, in points of a hundred. adamw's oracle is its "
        "best grid point by test accuracy, which nobody can choose. Seconds are those of grid and final fit."
    )
    return "\n".join(parts) + "\n"


def _overview(rows: Sequence[Row]) -> list[str]:
    """Return two tables with a line for each set and a column for each method: accuracies, and seconds."""
    methods = distinct(rows, "method")
    oracle = [_ORACLE] if any(row["oracle_accuracy"] for row in rows) else []
    accuracies = ["## Accuracy in %\n", *table_head(["set", "n", *(f"`{m}`" for m in methods), *oracle])]
    seconds = ["## Seconds, of grid and final fit\n", *table_head(["set", "n", *(f"`{m}`" for m in methods)])]
    for name, n, there in _largest(rows):
        scores = _scores(there)
        cells = [
            plus_minus(*mean_and_deviation(list(scores[method].values()))) if method in scores else ""
            for method in (*methods, *oracle)
        ]
        accuracies.append(table_row([name, n, *cells]))
        own = _by_method(there)
        times = [f"{np.mean(_numbers(own[method], 'seconds')):.1f}" if method in own else "" for method in methods]
        seconds.append(table_row([name, n, *times]))
    return ["\n".join(lines) + "\n" for lines in (accuracies, seconds)]


def _by_size(rows: Sequence[Row]) -> list[str]:
    """Return what is recommended minus its rivals, for every set and n, and how many trials it wins; none at one n."""
    sizes = sorted({int(row["n"]) for row in rows})
    rivals = [rival for rival in _RIVALS if rival in distinct(rows, "method")]
    if len(sizes) < 2 or not rivals or _OURS not in distinct(rows, "method"):
        return []
    lines = [f"## {_OURS} minus {' / minus '.join(rivals)}\n", *table_head(["set", *map(str, sizes)])]
    all_of: dict[str, list[float]] = {rival: [] for rival in rivals}
    for name in distinct(rows, "set"):
        cells = []
        for n in sizes:
            scores = _scores([row for row in rows if (row["set"], row["n"]) == (name, str(n))])
            pair = []
            for rival in rivals:
                one = compared(scores.get(_OURS, {}), scores.get(rival, {}))
                pair.append(plus_minus(one.mean, one.error, sign=True))
                both = scores.get(_OURS, {}).keys() & scores.get(rival, {}).keys()
                all_of[rival] += [scores[_OURS][seed] - scores[rival][seed] for seed in both]
            cells.append(" / ".join(pair) if all(pair) else "")
        lines.append(table_row([name, *cells]))
    for rival, found in all_of.items():
        won, lost = sum(x > 0 for x in found), sum(x < 0 for x in found)
        mean = f"{100 * np.mean(found):+.2f}"
        lines.append(f"\nAgainst {rival}, of {len(found)} trials, {won} won and {lost} lost; {mean} on average.")
    return ["\n".join(lines) + "\n"]


def _set_report(name: str, n: str, rows: Sequence[Row]) -> str:
    """Return the table of one set: accuracy, seconds, and differences to the rivals."""
    scores, own = _scores(rows), _by_method(rows)
    rivals = [rival for rival in (*_RIVALS, _ORACLE) if rival in scores]
    heads = ["method", "trials", "accuracy %", "seconds", *(f"minus {rival}" for rival in rivals)]
    lines = [f"## {name}, n = {n}\n", *table_head(heads)]
    for method, values in scores.items():
        seconds = f"{np.mean(_numbers(own[method], 'seconds')):.1f}" if method in own else ""
        cells = [method, str(len(values)), plus_minus(*mean_and_deviation(list(values.values()))), seconds]
        for rival in rivals:
            one = compared(values, scores[rival])
            cells.append("" if rival == method else plus_minus(one.mean, one.error, sign=True))
        lines.append(table_row(cells))
    return "\n".join(lines) + "\n"


def _largest(rows: Sequence[Row]) -> list[tuple[str, str, list[Row]]]:
    """Return each set, its largest n, and the rows there."""
    found = []
    for name in distinct(rows, "set"):
        there = [row for row in rows if row["set"] == name]
        n = str(max(int(row["n"]) for row in there))
        found.append((name, n, [row for row in there if row["n"] == n]))
    return found


def _by_method(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return {method: [row for row in rows if row["method"] == method] for method in distinct(rows, "method")}


def _scores(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Return the test accuracies by method and seed, of adamw's oracle too."""
    found = {m: {row["seed"]: float(row["test_accuracy"]) for row in mine} for m, mine in _by_method(rows).items()}
    oracle = {row["seed"]: float(row["oracle_accuracy"]) for row in rows if row["oracle_accuracy"]}
    return found | ({_ORACLE: oracle} if oracle else {})


def _numbers(rows: Sequence[Row], column: str) -> list[float]:
    return [float(row[column]) for row in rows]


def timing_series(rows: Sequence[Row]) -> dict[str, list[Series]]:
    """Return for every set a panel of test and one of train accuracy: each method, and each with its grid's seconds."""
    panels: dict[str, list[Series]] = {}
    for name, n in dict.fromkeys((row["set"], row["n"]) for row in rows):
        there = [row for row in rows if (row["set"], row["n"]) == (name, n)]
        for side in ("test", "train"):
            lines = []
            for method in distinct(there, "method"):
                mine = [row for row in there if row["method"] == method]
                lines.append(_over_time(mine, method, side, with_grid=False))
                lines.append(_over_time(mine, f"{method}, after its grid", side, with_grid=True))
            panels[f"{name}, n = {n}: {side}"] = lines
    return panels


def timing_report(rows: Sequence[Row]) -> str:
    """Return one table in Markdown: what the last step of each method has reached on each set, in how many seconds."""
    heads = ["set", "n", "method", "trials", "steps", "seconds", "grid seconds", "train %", "test %"]
    lines = [
        "# Accuracy against seconds: mean ± standard deviation over trials\n",
        "## Last steps\n",
        *table_head(heads),
    ]
    for name, n in dict.fromkeys((row["set"], row["n"]) for row in rows):
        ends = [row for row in rows if (row["set"], row["n"], row["last"]) == (name, n, "1")]
        for method, mine in _by_method(ends).items():
            steps, seconds, grid = (
                f"{np.mean(_numbers(mine, column)):.{digits}f}"
                for column, digits in (("step", 0), ("seconds", 2), ("grid_seconds", 2))
            )
            scores = [plus_minus(*mean_and_deviation(_numbers(mine, f"{side}_accuracy"))) for side in ("train", "test")]
            lines.append(table_row([name, n, f"`{method}`", str(len(mine)), steps, seconds, grid, *scores]))
    lines.append("\nSeconds are those of one training at the grid point chosen; the grid took its own before.")
    return "\n".join(lines) + "\n"


def _over_time(rows: Sequence[Row], label: str, side: str, *, with_grid: bool) -> Series:
    """Mean over trials of what each has reached by a time, from when all have reached something."""
    trials = []
    for seed in distinct(rows, "seed"):
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


def distinct(rows: Sequence[Row], name: str) -> list[str]:
    """Return the different cells of a column, in their order."""
    return list(dict.fromkeys(row[name] for row in rows))


def plus_minus(mean: float, deviation: float, sign: bool = False) -> str:
    """Return both in percent as a cell: empty where there is no mean, alone where there is no deviation.

    Examples
    --------
    >>> plus_minus(0.5, 0.01), plus_minus(0.01, float("nan"), sign=True)
    ('50.00 ± 1.00', '+1.00')
    """
    if np.isnan(mean):
        return ""
    first = f"{100 * mean:{'+' if sign else ''}.2f}"
    return first if np.isnan(deviation) else f"{first} ± {100 * deviation:.2f}"


def table_head(names: Sequence[str]) -> list[str]:
    """Return the first two lines of a table in Markdown: text in its first column, numbers in the others."""
    return [table_row(names), table_row(["---", *("---:" for _ in names[1:])])]


def table_row(cells: Sequence[str]) -> str:
    """Return a line of a table in Markdown."""
    return "| " + " | ".join(cells) + " |"
