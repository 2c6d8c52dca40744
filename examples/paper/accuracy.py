"""Experiment 2: test accuracy against the number of training rows, for every method under one protocol.

Writes ``accuracy.csv``, ``accuracy.md``, ``accuracy.png`` (against rows), ``accuracy_seconds.png`` (against seconds, at
the largest size) and ``accuracy.txt``. Columns of the CSV:

set, n, seed, method
    The trial and the method; one row for each.
d, n_test
    Features, and rows of the test half.
value, place, points
    The grid point chosen on the validation rows, its place in the grid from 1, and how many points were fitted.
validation_accuracy, validation_loss
    Of that point when fitted to four fifths of the rows.
train_accuracy, test_accuracy
    Of the final model, fitted to all n rows.
seconds, final_seconds
    Scaling, gates, grid and final fit; the final fit alone.
gap, grid_gap
    Certified relative gap of the final model, and the largest one in the grid; empty where nothing is proved.
oracle_value, oracle_accuracy
    For adamw: of all its grid points fitted to all n rows, the best by *test* accuracy. Nobody can choose so without
    the test labels; it bounds what a better choice of the learning rate could give. Not in the seconds.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from examples.paper.comparison import (
    check_sizes,
    choice_cells,
    load_sets,
    run_facts,
    shown_value,
    write_report,
)
from examples.paper.methods.base import Method
from examples.paper.methods.registry import NAMES, make_methods
from examples.paper.plots.curves import curve_figure
from examples.paper.protocol import Binary, Choice, Trial, accuracy, choose, draw, warm_up
from examples.paper.rows import ResultRows
from examples.paper.settings import Settings
from examples.paper.summary import accuracy_report, accuracy_series, seconds_series

__all__ = ["COLUMNS", "KEY", "measure", "run"]

KEY = ("set", "n", "seed", "method")
COLUMNS = (
    *KEY, "d", "n_test", "value", "place", "points", "validation_accuracy", "validation_loss", "train_accuracy",
    "test_accuracy", "seconds", "final_seconds", "gap", "grid_gap", "oracle_value", "oracle_accuracy",
)  # fmt: skip
_SIZES = tuple(range(200, 2001, 200))  # the paper's


def run(settings: Settings) -> list[Path]:
    """Measure every method on every trial that is not in the table yet; return the files written.

    Sets come one after the other; in each, trials go seed by seed from the largest size down, so that a run that was
    stopped has whole trials. Sizes above a training half are left out, and the half itself is taken instead.

    Raises
    ------
    ArgumentError
        The data, a size or a method is refused, or ``out`` holds results that were made otherwise.
    """
    began = time.perf_counter()
    sets = load_sets(settings, "accuracy")
    halves = [Binary.of(data) for data in sets]
    check_sizes(settings, halves, "accuracy")
    methods = make_methods(settings.methods or NAMES, settings.max_time, settings.say, "accuracy")
    table = ResultRows(
        settings.out / "accuracy.csv",
        COLUMNS,
        KEY,
        {**run_facts(settings, sets, methods), "criterion": settings.criterion},
    )
    for data in halves:
        _measure_set(settings, data, methods, table)
    return [table.path, *_report(settings, table, time.perf_counter() - began)]


def _measure_set(settings: Settings, data: Binary, methods: Sequence[Method], table: ResultRows) -> None:
    """Add the missing rows of one set."""
    wanted = [
        (seed, n, method)
        for seed in range(settings.seeds)
        for n in sorted(set(settings.sizes or _own_sizes(len(data.y))), reverse=True)
        for method in methods
    ]
    missing = [(s, n, m) for s, n, m in wanted if not table.has(set=data.name, n=n, seed=s, method=m.name)]
    found = len(wanted) - len(missing)
    if found:
        settings.say(f"{data.name}: {found} of {len(wanted)} measurements were found in {table.path}")
    for method in {m.name: m for _, _, m in missing}.values():
        warm_up(method, data.X.shape[1])
    for seed, n, method in settings.track(missing, description=data.name, total=len(missing)):
        cells = measure(method, draw(data, n, seed), data, settings.max_time, settings.criterion)
        table.append(set=data.name, n=n, seed=seed, method=method.name, **cells)


def measure(method: Method, trial: Trial, data: Binary, max_time: float, criterion: str = "loss") -> dict[str, Any]:
    """Choose on the trial, then score on the test half; return the cells of the row."""
    choice = choose(method, trial, max_time, criterion)
    best, oracle = _oracle(method, trial, data, choice) if method.oracle else (None, None)
    return {
        **choice_cells(choice, trial, data),
        "validation_loss": None if np.isnan(choice.validation_loss) else _round(choice.validation_loss),
        "final_seconds": f"{choice.final_seconds:.4f}",
        "grid_gap": None if choice.grid_gap is None else f"{choice.grid_gap:.2e}",
        "oracle_value": best,
        "oracle_accuracy": oracle,
    }


def _oracle(method: Method, trial: Trial, data: Binary, choice: Choice) -> tuple[str, str]:
    """Return the grid point that is best on the test rows, and its accuracy there."""
    X, X_test = choice.scaling(trial.X), choice.scaling(data.X_test)
    scores = []
    for value in method.grid:
        model = choice.model if value == choice.value else method.fit(X, trial.y, value, trial.seed)
        scores.append(accuracy(model.decision(X_test), data.y_test))
    best = int(np.argmax(scores))
    return shown_value(method.grid[best]), _round(scores[best])


def _own_sizes(half: int) -> tuple[int, ...]:
    """Return the paper's sizes up to the training half, and the half itself if it is smaller than the largest."""
    return tuple(n for n in _SIZES if n <= half) + ((half,) if half < _SIZES[-1] and half not in _SIZES else ())


def _report(settings: Settings, table: ResultRows, seconds: float) -> list[Path]:
    """Write the summary, the pictures and the text, from all rows of the table."""
    figures = {
        "accuracy": lambda: curve_figure(accuracy_series(table.rows), "training rows", "test accuracy"),
        "accuracy_seconds": lambda: curve_figure(
            seconds_series(table.rows), "seconds, of grid and final fit", "test accuracy", log=True
        ),
    }
    facts = {"measurements": len(table.rows), "max_time": f"{settings.max_time:g} s for each method and trial"}
    return write_report(settings, "accuracy", accuracy_report(table.rows), figures, facts, seconds)


def _round(value: float) -> str:
    return f"{value:.6f}"
