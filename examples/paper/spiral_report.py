"""Results on the spiral: means and deviations, and differences between kinds of gates, seed by seed."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from examples.paper.spiral_networks import SPIRAL_NETWORKS
from examples.paper.statistics import compared
from examples.paper.summary import mean_and_deviation

__all__ = ["spiral_report"]

_PAIRS = (
    ("relu-cross", "relu-gaussian"),
    ("relu-cross", "relu-gaussian-printed"),
    ("lasso-sampled", "relu-gaussian"),
    ("gated-cross", "gated-gaussian"),
)
_HEAD = (
    "network",
    "seeds",
    "neurons",
    "objective (paper's scale)",
    "above the optimum",
    "gap at most",
    "over",
    "train accuracy",
    "between",
    "seconds",
)

Rows = Sequence[Mapping[str, str]]


def spiral_report(rows: Rows, n_gates: int) -> list[str]:
    """Return the lines of ``spiral.md``."""
    lines = [f"| {' | '.join(_HEAD)} |", "|" + "---|" * len(_HEAD)]
    for name in (*SPIRAL_NETWORKS, "adamw"):
        of = [row for row in rows if row["method"] == name]
        if of:
            lines.append(f"| {' | '.join(_cells(name, of, n_gates))} |")
    lines += [
        "",
        "Mean ± standard deviation over the seeds. A gap is about the family named beside it; that of the first row is "
        "about every two-layer ReLU network. Between: accuracy on points of the arms between the training points.",
    ]
    differences = [line for pair in _PAIRS for line in _difference(rows, *pair, n_gates)]
    if differences:
        lines += ["", "Differences, seed by seed: mean ± its standard error", "", *differences]
    return lines


def _cells(name: str, of: Rows, n_gates: int) -> list[str]:
    seeds = {row["seed"] for row in of}
    return [
        f"AdamW, {n_gates} neurons, logistic loss" if name == "adamw" else _label(name, n_gates),
        "–" if seeds == {""} else str(len(seeds)),
        _spread(of, "neurons", ".0f"),
        _spread(of, "paper_objective", ".6g"),
        _spread(of, "above", ".2%"),
        _largest(of, "gap"),
        of[0]["over"] if len({row["over"] for row in of}) == 1 else f"{of[0]['over']} or so",
        _spread(of, "train_accuracy", ".3f"),
        _spread(of, "between_accuracy", ".3f"),
        _spread(of, "seconds", ".2f"),
    ]


def _label(name: str, n_gates: int) -> str:
    return SPIRAL_NETWORKS[name].label.format(m=n_gates)


def _values(of: Rows, column: str) -> NDArray[np.float64]:
    return np.array([float(row[column]) for row in of if row[column] != ""])


def _spread(of: Rows, column: str, form: str) -> str:
    values = _values(of, column)
    if not values.size:
        return ""
    if values.size == 1 or not np.ptp(values):
        return f"{values[0]:{form}}"
    mean, deviation = mean_and_deviation(list(values))
    return f"{mean:{form.replace('.6g', '.4g')}} ± {deviation:{form.replace('.6g', '.2g')}}"


def _largest(of: Rows, column: str) -> str:
    values = _values(of, column)
    return f"{values.max():.0e}" if values.size else ""


def _by_seed(rows: Rows, method: str, column: str) -> dict[str, float]:
    return {row["seed"]: float(row[column]) for row in rows if row["method"] == method and row[column] != ""}


def _difference(rows: Rows, one: str, other: str, n_gates: int) -> list[str]:
    """Return a line on two methods, or none if fewer than two seeds have both."""
    said = []
    for column, words in (
        ("paper_objective", "objective"),
        ("between_accuracy", "accuracy between"),
        ("train_accuracy", "on the training points"),
    ):
        first, second = _by_seed(rows, one, column), _by_seed(rows, other, column)
        paired = compared(first, second)
        if paired.trials < 2:
            return []
        said.append(f"{words} {paired.mean:+.4f} ± {paired.error:.4f}")
        if column == "paper_objective":
            said[0] += f" (lower for {paired.losses} of {paired.trials} seeds)"
    return [f"- {_label(one, n_gates)} minus {_label(other, n_gates)}: {', '.join(said)}"]
