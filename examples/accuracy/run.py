"""The runner: every method on every trial that is not on the disk yet, small tables first."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from clifford_rand._checks import check_choice, fail
from clifford_rand.errors import available, install_command
from examples.accuracy.bundled import bundled_classification, bundled_regression
from examples.accuracy.clock import one_thread
from examples.accuracy.figure import difference_figure
from examples.accuracy.measure import COLUMNS, KEY, measure, warm_up
from examples.accuracy.methods import METHODS
from examples.accuracy.methods.base import Method
from examples.accuracy.problems import Problem, Task, classification
from examples.accuracy.report import report
from examples.paper.about import write_about
from examples.paper.datasets.feature_files import load_feature_folder
from examples.paper.page import filled
from examples.paper.rows import ResultRows
from examples.paper.settings import Settings

__all__ = ["Plan", "gather", "run"]

PROTOCOL = 1  # goes up whenever a change here changes a number
_FIRST = 3  # trials that every method gets
_STAGES = (0, 1, _FIRST, 10**6)  # a run that was stopped has these trials of all tables


@dataclass(frozen=True)
class Plan:
    """The comparison to run.

    Attributes
    ----------
    out : Path
        Folder of the results; a second run goes on from what is there.
    data : tuple of Path
        Folders of NPZ files with X, y and split.
    sets, methods : tuple of str
        Names; all if empty.
    peer_seconds : float
        Of processors: a peer that has spent more on a table gets no trial there after its third.
    page : Path or None
        A page whose places take the tables; the picture goes to ``images`` beside it.
    command : str
    say : callable
        Takes lines for a person.
    """

    out: Path
    data: tuple[Path, ...] = ()
    sets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    peer_seconds: float = 60.0
    page: Path | None = None
    command: str = ""
    say: Callable[[str], None] = print


def run(plan: Plan) -> list[Path]:
    """Measure what is missing, then write tables, picture and page; return the files.

    Raises
    ------
    ArgumentError
        A set or a method is unknown, a file is refused, or ``out`` holds results that were made otherwise.
    """
    began = time.perf_counter()
    methods = _chosen_methods(plan)
    problems = gather(plan)
    tables = {(m.task, m.name): _table(plan, m, problems) for m in methods}
    with one_thread():
        _measure_all(plan, problems, methods, tables)
    return _write(plan, time.perf_counter() - began)


def gather(plan: Plan) -> list[Problem]:
    """Return the tables that were asked for, from small to large."""
    found = [classification(data) for folder in plan.data for data in load_feature_folder(folder).values()]
    found += bundled_classification()
    found += bundled_regression(plan.say)
    names = [problem.name for problem in found]
    for name in plan.sets:
        check_choice(name, "sets", "accuracy", names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise fail("data", "accuracy", "folders whose files have different names", ", ".join(twice))
    wanted = [problem for problem in found if not plan.sets or problem.name in plan.sets]
    return sorted(wanted, key=lambda problem: problem.size)


def _chosen_methods(plan: Plan) -> list[Method]:
    for name in plan.methods:
        check_choice(name, "methods", "accuracy", list(dict.fromkeys(m.name for m in METHODS)))
    chosen = [m for m in METHODS if not plan.methods or m.name in plan.methods]
    for method in chosen:
        if not method.available:
            plan.say(f"{method.name} is left out, it needs {method.library}: pip install {method.library}")
    return [method for method in chosen if method.available]


def _table(plan: Plan, method: Method, problems: Sequence[Problem]) -> ResultRows:
    """Open the rows of one method: a file of its own, which can be deleted to measure it again."""
    facts = {
        "protocol": PROTOCOL,
        "method": method.about,
        "data": {p.name: p.digest for p in problems if p.task == method.task},
    }
    return ResultRows(plan.out / "rows" / f"{method.task}-{method.name}.csv", COLUMNS, KEY, facts)


def _measure_all(
    plan: Plan, problems: Sequence[Problem], methods: Sequence[Method], tables: dict[tuple[Task, str], ResultRows]
) -> None:
    warm = set()
    for problem, method, number in _jobs(problems, methods):
        table = tables[method.task, method.name]
        if table.has(set=problem.name, trial=number, method=method.name):
            continue
        if number >= _FIRST and not method.every and _spent(table, problem) > plan.peer_seconds:
            continue
        if method not in warm:
            warm.add(method)
            warm_up(method)
        cells = measure(method, problem, number)
        table.append(**cells)
        plan.say(f"{problem.name} {number} {method.name}: {cells['score']}, {cells['cpu_seconds']} s {cells['chosen']}")


def _jobs(problems: Sequence[Problem], methods: Sequence[Method]) -> Iterator[tuple[Problem, Method, int]]:
    """Yield the first trial of all tables, then the next two, then the others."""
    for first, end in itertools.pairwise(_STAGES):
        for problem in problems:
            for number in range(first, min(end, len(problem.rows))):
                yield from ((problem, method, number) for method in methods if method.task == problem.task)


def _spent(table: ResultRows, problem: Problem) -> float:
    return sum(float(row["cpu_seconds"]) for row in table.rows if row["set"] == problem.name)


def _write(plan: Plan, seconds: float) -> list[Path]:
    """Write tables, picture and how they were made from every row on the disk, of methods not run now, too."""
    rows = [row for path in sorted((plan.out / "rows").glob("*.csv")) for row in _read(path)]
    order: dict[tuple[str, str], int] = {(method.task, method.name): place for place, method in enumerate(METHODS)}
    sizes = {row["set"]: int(row["n"]) * int(row["d"]) * int(row["classes"]) for row in rows}
    rows.sort(key=lambda row: (sizes[row["set"]], row["set"], order[row["task"], row["method"]], int(row["trial"])))
    text = report(rows)
    written = [plan.out / "accuracy.md"]
    written[0].write_text(text, encoding="utf-8")
    pictures = [plan.out / "accuracy.png"]
    if plan.page is not None:
        page, _ = filled(plan.page.read_text(encoding="utf-8"), text)
        plan.page.write_text(page, encoding="utf-8")
        pictures.append(plan.page.parent / "images" / "accuracy.png")
        written.append(plan.page)
    if available("matplotlib"):
        from clifford_rand_nn.displays import save_figure

        for path in pictures:
            save_figure(difference_figure(rows), path)
            written.append(path)
    else:
        plan.say(f"No picture was drawn, that needs matplotlib: {install_command('matplotlib', 'app')}")
    about = Settings(out=plan.out, command=plan.command)
    return [*written, write_about(about, "accuracy", seconds, {"measurements": len(rows)})]


def _read(path: Path) -> list[dict[str, str]]:
    import csv

    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))
