"""The table of gate rules: paired differences to Gaussian gates, who wins most often, in Markdown and panels."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from examples.paper.plots.variants import Panel, Variants
from examples.paper.statistics import Comparison, compared, holm, t_test
from examples.paper.summary import distinct, plus_minus, table_row

__all__ = ["rules_panels", "rules_report"]

_CHANCE = 0.05  # the usual level
Row = Mapping[str, str]


class _Cell(NamedTuple):
    """One set at one n: its rules' mean accuracies, and their comparisons with the base."""

    name: str
    n: str
    accuracy: dict[str, float]
    against: dict[str, Comparison]
    corrected: dict[str, float]
    objective: dict[str, Comparison]


def rules_report(rows: Sequence[Row], base: str) -> str:
    """Return the summary: an answer for each rule over all sets, then one table for each set and size."""
    cells = _cells(rows, base)
    rules = [rule for rule in distinct(rows, "rule") if rule != base]
    lines = [f"# Rules for gates, compared with {base} gates\n", *_answers(cells, rules, base), ""]
    for cell in cells:
        lines += _table(cell, base)
    lines.append(
        "Differences of test accuracy are in points of a hundred, mean ± standard error over trials. p is of the "
        "paired t-test, (in brackets) of Wilcoxon's, both corrected by Holm over the rules of a table. Objectives are "
        "those at one beta for all rules, as relative differences in percent: below 0 a rule fits better at the same "
        "penalty. Trials of a set share its test half, and at n = the whole training half also their rows: the errors "
        "are those of gates and validation rows, not of another sample of data."
    )
    return "\n".join(lines) + "\n"


def rules_panels(rows: Sequence[Row], base: str) -> list[Panel]:
    """Return one panel of accuracy differences for each set, one line for each size."""
    cells = _cells(rows, base)
    rules = tuple(rule for rule in distinct(rows, "rule") if rule != base)
    panels = []
    for name in distinct(rows, "set"):
        series = []
        for cell in cells:
            if cell.name == name:
                found = [cell.against.get(rule) for rule in rules]
                mean = np.array([np.nan if one is None else 100 * one.mean for one in found])
                error = np.array([np.nan if one is None else 100 * one.error for one in found])
                series.append(Variants(f"n = {cell.n}", rules, mean, np.nan_to_num(error)))
        panels.append(Panel(name, f"test accuracy minus {base} (points)", tuple(series), zero=True))
    return panels


def _cells(rows: Sequence[Row], base: str) -> list[_Cell]:
    found = []
    for name, n in dict.fromkeys((row["set"], row["n"]) for row in rows):
        there = [row for row in rows if (row["set"], row["n"]) == (name, n)]
        score = {rule: _by_seed(there, rule, "test_accuracy") for rule in distinct(there, "rule")}
        against = {rule: compared(own, score[base]) for rule, own in score.items() if rule != base}
        corrected = dict(zip(against, holm([one.t for one in against.values()]), strict=True))
        fit = {rule: _by_seed(there, rule, "equal_objective") for rule in score}
        relative = {
            rule: compared({seed: own[seed] / fit[base][seed] - 1 for seed in own.keys() & fit[base].keys()},
                           dict.fromkeys(fit[base], 0.0))
            for rule, own in fit.items() if rule != base
        }  # fmt: skip
        mean = {rule: float(np.mean(list(own.values()))) for rule, own in score.items()}
        found.append(_Cell(name, n, mean, against, corrected, relative))
    return found


def _answers(cells: Sequence[_Cell], rules: Sequence[str], base: str) -> list[str]:
    """Return who wins most often, and a line for each rule."""
    best = dict.fromkeys((base, *rules), 0)
    for cell in cells:
        top = max(cell.accuracy.values())
        for rule, value in cell.accuracy.items():
            best[rule] += value == top
    most = max(best.values())
    winners = ", ".join(rule for rule, count in best.items() if count == most)
    counts = ", ".join(f"{rule} {count}" for rule, count in sorted(best.items(), key=lambda item: -item[1]))
    lines = [
        f"Highest mean test accuracy most often: **{winners}**, in {most} of {len(cells)} cells (a set at one n; of "
        f"equal ones each counts): {counts}.\n",
        *_question(cells, base),
        f"| rule | against {base} over all sets | points | p | cells + / = / - | of which p < {_CHANCE:g} "
        "| trials + / = / - | objective lower in |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for rule in rules:
        mine = [cell for cell in cells if rule in cell.against]
        if mine:
            lines.append(_answer(rule, mine))
    lines.append(
        "\npoints: mean over sets of the difference in test accuracy, ± its standard error over sets; p: t-test of "
        f"that mean over sets, not corrected for the {len(rules)} rules."
    )
    return lines


def _question(cells: Sequence[_Cell], base: str) -> list[str]:
    """Return the plain answer to the paper's question, if its gates are among the rules."""
    mine = [cell for cell in cells if "cross" in cell.against]
    if not mine:
        return []
    mean, _, p = _over_sets("cross", mine)
    answer = {"better": "yes", "worse": "no, they are worse"}.get(_verdict(mean, p), "not shown")
    higher = sum(cell.against["cross"].mean > 0 for cell in mine)
    return [
        f"Do cross-product gates beat {base} gates? **{answer[0].upper()}{answer[1:]}** ({_verdict(mean, p)}): higher "
        f"mean test accuracy in {higher} of {len(mine)} cells, by {100 * mean:+.2f} points on average over sets.\n"
    ]


def _answer(rule: str, cells: Sequence[_Cell]) -> str:
    """Return the line of one rule; its verdict is about the mean over sets, each with its sizes averaged."""
    mean, error, p = _over_sets(rule, cells)
    verdict = _verdict(mean, p)
    signs = [np.sign(cell.against[rule].mean) for cell in cells]
    significant = [sign for sign, cell in zip(signs, cells, strict=True) if cell.corrected[rule] < _CHANCE]
    trials = [sum(getattr(cell.against[rule], side) for cell in cells) for side in ("wins", "ties", "losses")]
    lower = sum(cell.objective[rule].mean < 0 for cell in cells)
    cells_won = f"{signs.count(1)} / {signs.count(0)} / {signs.count(-1)}"
    counts = f"{significant.count(1)} better, {significant.count(-1)} worse"
    difference = plus_minus(mean, error, sign=True)
    trials_won = " / ".join(map(str, trials))
    return table_row([rule, verdict, difference, _p(p), cells_won, counts, trials_won, f"{lower} of {len(cells)}"])


def _over_sets(rule: str, cells: Sequence[_Cell]) -> tuple[float, float, float]:
    """Return mean over sets, its standard error, and the p-value of the t-test."""
    names = list(dict.fromkeys(cell.name for cell in cells))
    by_set = [float(np.mean([cell.against[rule].mean for cell in cells if cell.name == name])) for name in names]
    error = float(np.std(by_set, ddof=1) / np.sqrt(len(by_set))) if len(by_set) > 1 else np.nan
    return float(np.mean(by_set)), error, t_test(by_set)


def _verdict(mean: float, p: float) -> str:
    if np.isnan(p):
        return "one set alone is not enough"
    if p >= _CHANCE:
        return "not significant"
    return "better" if mean > 0 else "worse"


def _table(cell: _Cell, base: str) -> list[str]:
    trials = max((one.trials for one in cell.against.values()), default=0)
    lines = [
        f"## {cell.name}, n = {cell.n}, {trials} trials\n",
        f"| rule | accuracy % | minus {base} | p | + / = / - | objective, % |",
        "|---|---:|---:|---:|---:|---:|",
        f"| {base} | {100 * cell.accuracy[base]:.2f} | | | | |",
    ]
    ranks = dict(zip(cell.against, holm([one.wilcoxon for one in cell.against.values()]), strict=True))
    for rule, one in cell.against.items():
        fit = cell.objective[rule]
        difference, objective = (plus_minus(x.mean, x.error, sign=True) for x in (one, fit))
        p, won = f"{_p(cell.corrected[rule])} ({_p(ranks[rule])})", f"{one.wins} / {one.ties} / {one.losses}"
        lines.append(table_row([rule, f"{100 * cell.accuracy[rule]:.2f}", difference, p, won, objective]))
    return [*lines, ""]


def _by_seed(rows: Sequence[Row], rule: str, column: str) -> dict[str, float]:
    return {row["seed"]: float(row[column]) for row in rows if row["rule"] == rule}


def _p(value: float) -> str:
    return "" if np.isnan(value) else "< 0.001" if value < 1e-3 else f"{value:.3f}"
