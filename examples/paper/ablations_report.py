"""The table of ablations: for each factor, accuracy and seconds of its levels, in Markdown and panels."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from examples.paper.plots.variants import Panel, Variants
from examples.paper.statistics import Comparison, compared
from examples.paper.summary import mean_and_deviation, plus_minus, table_row

__all__ = ["ablations_panels", "ablations_report"]

Row = Mapping[str, str]
Factors = Mapping[str, Mapping[str, str]]


class _Level(NamedTuple):
    """One level of a factor on one set: its label, its rows, and its comparison with the factor's first or base."""

    label: str
    rows: list[Row]
    against: Comparison


def ablations_report(rows: Sequence[Row], factors: Factors) -> str:
    """Return one table for each factor: every set at each n."""
    parts = ["# One factor at a time: mean ± standard deviation over trials\n"]
    for factor, levels in factors.items():
        reference = _reference(levels)
        own = next(label for label, variant in levels.items() if variant == reference)
        lines = [
            f"## {factor}\n",
            f"| set | n | {factor} | trials | test % | minus {own} | validation % | objective | gap | active "
            "| seconds |",
            "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        ]
        for name, n in _places(rows, levels):
            lines += [_line(name, n, level) for level in _levels(rows, name, n, levels)]
        if len(lines) > 3:
            parts.append("\n".join(lines) + "\n")
    parts.append(
        "The base has 50 gates by cross products in an SJLT sketch of 100 rows (exact products if d ≤ 100), no bias, "
        "squared loss. Differences of test accuracy are paired: the same trials, mean ± standard error, in points of a "
        "hundred. Objectives are at the beta that each variant chose; with another loss they are not comparable. gap: "
        "the largest certified relative gap. Seconds are those of gates, grid and final fit."
    )
    return "\n".join(parts) + "\n"


def ablations_panels(rows: Sequence[Row], factors: Factors) -> list[Panel]:
    """Return two panels for each factor: accuracy as differences to the base, so that sets fit on one axis; seconds."""
    panels = []
    for factor, levels in factors.items():
        gains, times = [], []
        for name, n in _places(rows, levels):
            found = _levels(rows, name, n, levels)
            names = tuple(level.label for level in found)
            spread = [level.against.error * np.sqrt(level.against.trials) for level in found]
            gain = np.array([100 * level.against.mean for level in found])
            gains.append(Variants(name, names, gain, 100 * np.nan_to_num(spread)))
            seconds = [mean_and_deviation([float(row["seconds"]) for row in level.rows]) for level in found]
            mean, deviation = np.array(seconds).T
            times.append(Variants(name, names, mean, np.minimum(np.nan_to_num(deviation), 0.9 * mean)))
        if gains:
            reference = next(label for label, variant in levels.items() if variant == _reference(levels))
            x_label = f"test accuracy minus {reference} (points)"
            panels.append(Panel(f"{factor}: accuracy", x_label, tuple(gains), zero=True))
            panels.append(Panel(f"{factor}: seconds", "seconds, grid included", tuple(times), log=True))
    return panels


def _reference(levels: Mapping[str, str]) -> str:
    return "base" if "base" in levels.values() else next(iter(levels.values()))


def _places(rows: Sequence[Row], levels: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return each set and n that has the factor's reference and another of its levels."""
    there: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if row["variant"] in levels.values():
            there.setdefault((row["set"], row["n"]), set()).add(row["variant"])
    return [place for place, found in there.items() if _reference(levels) in found and len(found) > 1]


def _levels(rows: Sequence[Row], name: str, n: str, levels: Mapping[str, str]) -> list[_Level]:
    by_variant = {
        variant: [row for row in rows if (row["set"], row["n"], row["variant"]) == (name, n, variant)]
        for variant in levels.values()
    }
    score = {v: {row["seed"]: float(row["test_accuracy"]) for row in found} for v, found in by_variant.items()}
    reference = score[_reference(levels)]
    return [
        _Level(label, by_variant[variant], compared(score[variant], reference))
        for label, variant in levels.items()
        if by_variant[variant]
    ]


def _line(name: str, n: str, level: _Level) -> str:
    test, validation, objective, active, seconds = (
        [float(row[column]) for row in level.rows]
        for column in ("test_accuracy", "validation_accuracy", "objective", "n_active", "seconds")
    )
    one = level.against
    same = one.mean == 0 and one.error == 0 and one.ties == one.trials
    cells = [
        name,
        n,
        level.label,
        str(len(test)),
        plus_minus(*mean_and_deviation(test)),
        "" if same else plus_minus(one.mean, one.error, sign=True),
        f"{100 * np.mean(validation):.2f}",
        f"{np.mean(objective):.4g}",
        max((row["gap"] for row in level.rows), key=lambda gap: float(gap or 0)),
        f"{np.mean(active):.0f}",
        f"{np.mean(seconds):.2f}",
    ]
    return table_row(cells)
