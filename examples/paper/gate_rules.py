"""Experiment 6: which rule for gates wins, and by how much: paired with Gaussian gates, trial by trial.

Writes ``gate_rules.csv``, ``gate_rules.md``, ``gate_rules.png`` and ``gate_rules.txt``. Every rule has 50 gates, the
squared loss, no bias, the same rows and the same grid of beta. Columns of the CSV:

set, n, seed, rule
    The trial and the rule; one row for each.
d, n_test
    Features, and rows of the test half.
value, place, points
    Share of beta_max chosen on the validation rows, its place in the grid from 1, and how many points were fitted.
validation_accuracy, train_accuracy, test_accuracy
    Of that share when fitted to four fifths; of the final model, fitted to all n rows.
n_gates, n_active
    Distinct patterns of the final model, and how many of them have weights.
seconds, gap
    Gates, grid and final fit; certified relative gap of the final model.
equal_beta, equal_objective, equal_gap
    A beta that all rules share, 0.05 of the beta_max of the Gaussian gates of this trial; the least objective on all n
    rows there, and its certified relative gap.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clifford_rand._checks import check_choice
from examples.paper.comparison import check_sizes, choice_cells, load_sets, run_facts, write_report
from examples.paper.gate_rules_report import rules_panels, rules_report
from examples.paper.methods.convex import ConvexGated
from examples.paper.methods.refined import ConvexRefined
from examples.paper.plots.variants import variant_figure
from examples.paper.protocol import Binary, Scaling, Trial, choose, draw, warm_up
from examples.paper.rows import ResultRows
from examples.paper.settings import Settings

__all__ = ["BASE", "COLUMNS", "KEY", "RULES", "measure", "run"]

BASE = "gaussian"  # what every rule is compared with
KEY = ("set", "n", "seed", "rule")
COLUMNS = (
    *KEY, "d", "n_test", "value", "place", "points", "validation_accuracy", "train_accuracy", "test_accuracy",
    "n_gates", "n_active", "seconds", "gap", "equal_beta", "equal_objective", "equal_gap",
)  # fmt: skip
_SIZES = (500, 2000)
_GATES = 50  # as in the paper
_EQUAL = 0.05  # of beta_max: where most of the validated shares are, or near it


def _sampled(
    method: str, n_gates: int = _GATES, mirror: bool = False, linear: bool = False
) -> Callable[[float], ConvexGated]:
    name = method + "-mirror" * mirror + "-linear" * linear
    return lambda max_time: ConvexGated(
        method, n_gates=n_gates, mirror=mirror, linear=linear, loss="squared", max_time=max_time, name=name
    )


RULES: dict[str, Callable[[float], ConvexGated]] = {
    "gaussian": _sampled("gaussian"),
    "cross": _sampled("cross"),
    "leverage": _sampled("leverage"),
    "volume": _sampled("volume"),
    "simplex": _sampled("simplex"),
    "polished": _sampled("polished"),
    "cross-mirror": _sampled("cross", _GATES // 2, mirror=True),
    "opposite": _sampled("opposite"),
    "gaussian-linear": _sampled("gaussian", _GATES - 1, linear=True),
    "cross-linear": _sampled("cross", _GATES - 1, linear=True),
    "refined": lambda max_time: ConvexRefined(
        "cross", n_gates=_GATES, loss="squared", max_time=max_time, name="refined"
    ),
}


def run(settings: Settings) -> list[Path]:
    """Measure every rule on every trial that is not in the table yet; return the files written.

    Trials go seed by seed, in each from the smallest size up. Gaussian gates, with which all others are compared, are
    always among the rules. Sizes above a training half are cut down to it.

    Raises
    ------
    ArgumentError
        The data, a size or a rule is refused, or ``out`` holds results that were made otherwise.
    """
    began = time.perf_counter()
    sets = load_sets(settings, "gate_rules")
    halves = [Binary.of(data) for data in sets]
    check_sizes(settings, halves, "gate_rules")
    for name in settings.methods:
        check_choice(name, "methods", "gate_rules", tuple(RULES))
    names = tuple(dict.fromkeys((BASE, *(settings.methods or RULES))))
    rules = [RULES[name](settings.max_time) for name in names]
    facts = {**run_facts(settings, sets, rules), "equal": _EQUAL}
    table = ResultRows(settings.out / "gate_rules.csv", COLUMNS, KEY, facts)
    for data in halves:
        _measure_set(settings, data, rules, table)
    return [table.path, *_report(settings, table, time.perf_counter() - began)]


def _measure_set(settings: Settings, data: Binary, rules: Sequence[ConvexGated], table: ResultRows) -> None:
    """Add the missing rows of one set."""
    sizes = sorted({min(n, len(data.y)) for n in settings.sizes or _SIZES})
    wanted = [(seed, n) for seed in range(settings.seeds) for n in sizes]
    missing = {
        (seed, n): [rule for rule in rules if not table.has(set=data.name, n=n, seed=seed, rule=rule.name)]
        for seed, n in wanted
    }
    todo = [trial for trial in wanted if missing[trial]]
    if len(todo) < len(wanted):
        settings.say(f"{data.name}: {len(wanted) - len(todo)} of {len(wanted)} trials were found in {table.path}")
    if todo:
        for rule in rules:
            warm_up(rule, data.X.shape[1])
    for seed, n in settings.track(todo, description=data.name, total=len(todo)):
        trial = draw(data, n, seed)
        equal = equal_beta(trial)
        for rule in missing[seed, n]:
            cells = measure(rule, trial, data, settings.max_time, equal)
            table.append(set=data.name, n=n, seed=seed, rule=rule.name, **cells)


def equal_beta(trial: Trial) -> float:
    """Return the beta at which objectives are compared: a share of the beta_max of the trial's Gaussian gates."""
    X = Scaling.of(trial.X)(trial.X)
    return _EQUAL * RULES[BASE](60.0).beta_max(X, trial.y, trial.seed)


def measure(rule: ConvexGated, trial: Trial, data: Binary, max_time: float, equal: float) -> dict[str, Any]:
    """Choose beta on the trial and score the test half, then solve for the shared beta; return the cells of the row."""
    choice = choose(rule, trial, max_time)
    model: Any = choice.model
    same = rule.fit_beta(choice.scaling(trial.X), trial.y, equal, trial.seed)
    return {
        **choice_cells(choice, trial, data),
        "n_gates": len(model.gates),
        "n_active": model.n_active,
        "equal_beta": f"{equal:.8g}",
        "equal_objective": f"{same.objective:.8g}",
        "equal_gap": f"{same.gap:.2e}",
    }


def _report(settings: Settings, table: ResultRows, seconds: float) -> list[Path]:
    """Write the summary, the picture and the text, from all rows of the table."""
    figures = {"gate_rules": lambda: variant_figure(rules_panels(table.rows, BASE))}
    facts = {"measurements": len(table.rows), "max_time": f"{settings.max_time:g} s for each rule and trial"}
    return write_report(settings, "gate_rules", rules_report(table.rows, BASE), figures, facts, seconds)
