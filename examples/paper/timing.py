"""Experiment 3: accuracy against seconds of training, at the largest size, for the methods that go step by step.

Writes ``timing.csv``, ``timing.md``, ``timing.png`` and ``timing.txt``. Columns of the CSV:

set, n, seed, method, step
    The trial, the method, and its epoch (adamw) or step of the kernel method (convex networks).
last
    1 in the last row of a training, else 0.
value
    The grid point that the protocol chose on the validation rows.
seconds
    Of the training on all n rows up to this step, with scaling, gates and set-up; scoring does not count.
grid_seconds
    What the choice of that grid point took before; add it for the seconds of the whole.
train_accuracy, test_accuracy
    Of the model as it is then.
gap
    Its certified relative gap; empty where nothing is proved.
"""

import time
from pathlib import Path
from typing import Any

from clifford_rand._checks import fail
from examples.paper.comparison import check_sizes, load_sets, run_facts, shown_value, write_report
from examples.paper.methods.base import SteppedMethod
from examples.paper.methods.registry import make_methods
from examples.paper.plots.curves import curve_figure
from examples.paper.protocol import Binary, Scaling, Trial, accuracy, choose, draw, warm_up
from examples.paper.rows import ResultRows
from examples.paper.settings import Settings
from examples.paper.summary import timing_report, timing_series

__all__ = ["COLUMNS", "KEY", "run"]

KEY = ("set", "n", "seed", "method", "step")
COLUMNS = (*KEY, "last", "value", "seconds", "grid_seconds", "train_accuracy", "test_accuracy", "gap")
_METHODS = ("convex", "convex-cross", "convex-gaussian", "convex-ridge", "adamw")
_SIZE = 2000  # the paper's


def run(settings: Settings) -> list[Path]:
    """Train step by step on every trial that is not in the table yet; return the files written.

    Raises
    ------
    ArgumentError
        The data, a size or a method is refused, or ``out`` holds results that were made otherwise.
    """
    began = time.perf_counter()
    sets = load_sets(settings, "timing")
    halves = [Binary.of(data) for data in sets]
    check_sizes(settings, halves, "timing")
    methods = []
    for method in make_methods(settings.methods or _METHODS, settings.max_time, settings.say, "timing"):
        if not isinstance(method, SteppedMethod):
            raise fail("methods", "timing", f"methods that go step by step: {', '.join(_METHODS)}", method.name)
        methods.append(method)
    table = ResultRows(
        settings.out / "timing.csv",
        COLUMNS,
        KEY,
        {**run_facts(settings, sets, methods), "criterion": settings.criterion},
    )
    for data in halves:
        _measure_set(settings, data, methods, table)
    return [table.path, *_report(settings, table, time.perf_counter() - began)]


def _measure_set(settings: Settings, data: Binary, methods: list[SteppedMethod], table: ResultRows) -> None:
    """Add the missing trainings of one set; one without its last row is measured again, and completed."""
    finished = {
        (row["n"], row["seed"], row["method"]) for row in table.rows if row["set"] == data.name and row["last"] == "1"
    }
    sizes = sorted(set(settings.sizes or (min(_SIZE, len(data.y)),)), reverse=True)
    wanted = [(seed, n, method) for seed in range(settings.seeds) for n in sizes for method in methods]
    missing = [(s, n, m) for s, n, m in wanted if (str(n), str(s), m.name) not in finished]
    if len(missing) < len(wanted):
        settings.say(f"{data.name}: {len(wanted) - len(missing)} of {len(wanted)} trainings were found in {table.path}")
    for method in {m.name: m for _, _, m in missing}.values():
        warm_up(method, data.X.shape[1])
    for seed, n, method in settings.track(missing, description=data.name, total=len(missing)):
        for cells in _train(method, draw(data, n, seed), data, settings):
            key = {"set": data.name, "n": n, "seed": seed, "method": method.name, "step": cells["step"]}
            if not table.has(**key):
                table.append(**{**key, **cells})


def _train(method: SteppedMethod, trial: Trial, data: Binary, settings: Settings) -> list[dict[str, Any]]:
    """Choose the grid point by the protocol, then train once more and score every step."""
    choice = choose(method, trial, settings.max_time, settings.criterion)
    began = time.perf_counter()
    scaling = Scaling.of(trial.X)
    X = scaling(trial.X)
    scaled = time.perf_counter() - began
    X_test = scaling(data.X_test)
    rows = [
        {
            "step": snapshot.step,
            "last": 0,
            "value": shown_value(choice.value),
            "seconds": f"{scaled + snapshot.seconds:.4f}",
            "grid_seconds": f"{choice.seconds - choice.final_seconds:.4f}",
            "train_accuracy": f"{accuracy(snapshot.model.decision(X), trial.y):.6f}",
            "test_accuracy": f"{accuracy(snapshot.model.decision(X_test), data.y_test):.6f}",
            "gap": None if snapshot.model.gap is None else f"{snapshot.model.gap:.2e}",
        }
        for snapshot in method.steps(X, trial.y, choice.value, trial.seed)
    ]
    rows[-1]["last"] = 1
    return rows


def _report(settings: Settings, table: ResultRows, seconds: float) -> list[Path]:
    """Write the summary, the picture and the text, from all rows of the table."""
    figures = {"timing": lambda: curve_figure(timing_series(table.rows), "seconds", "accuracy", columns=2, log=True)}
    facts = {"rows": len(table.rows), "max_time": f"{settings.max_time:g} s for each method and trial"}
    return write_report(settings, "timing", timing_report(table.rows), figures, facts, seconds)
