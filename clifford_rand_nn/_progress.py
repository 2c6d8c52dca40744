"""Progress of long work on stderr: its phases, a bar on terminals, a line now and then elsewhere.

Who is asked for it opens a `reporting` block. What is done in it calls `phase`, `track` and `step_callback`, which do
nothing where no block is open: in other threads and processes, and in the fits of a search whose ``verbose`` is 0.
"""

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

from clifford_rand._checks import check_integer
from clifford_rand.errors import available, printable

_Item = TypeVar("_Item")

_EVERY, _LATER = 10.0, 60.0  # seconds between lines where stderr is not a terminal: at first, and at most


def check_verbose(verbose: object, owner: str) -> None:
    """Raise unless ``verbose`` is a truth value or an integer ≥ 0."""
    check_integer(int(verbose) if isinstance(verbose, bool) else verbose, "verbose", owner, low=0)


@contextmanager
def reporting(verbose: object, max_time: float | None = None, *, brief: bool = False) -> Iterator[None]:
    """Show what the block does if ``verbose``, within the report of a block around it, and nothing otherwise.

    ``max_time``: seconds of which the bar shows what is left. ``brief``: no line for each phase, only what is shown
    while it lasts.
    """
    outer = _CURRENT.get()
    inner = (outer or _Report(max_time, brief)) if verbose else None
    token = _CURRENT.set(inner)
    try:
        if inner is None or inner is outer:
            yield
        else:
            with inner:
                yield
    finally:
        _CURRENT.reset(token)


def phase(text: str) -> None:
    """Begin a phase; the one before has ended."""
    if (report := _current()) is not None:
        report.begin(text)


def note(text: str) -> None:
    """Show a line that stays."""
    if (report := _current()) is not None:
        report.say(text)


def count(number: int, total: int, what: str) -> None:
    """Show what of a phase is being worked on: "fold 2 of 5"; nothing any more with a ``total`` of 0."""
    if (report := _current()) is not None:
        report.count(number, total, what)


def track(items: Iterable[_Item], total: int, what: str) -> Iterator[_Item]:
    """Yield the items, and `count` them as they are taken."""
    try:
        for number, item in enumerate(items, 1):
            count(number, total, what)
            yield item
    finally:
        count(0, 0, what)


def step_callback(tol: float, expected: bool = False) -> Callable[[Any], None] | None:
    """Return what shows the rows of a solver's history, the last of which stays; None where nothing is shown.

    ``expected`` adds the seconds that the gap takes to fall to ``tol`` if it goes on as in the last half of the steps.
    """
    report, gaps = _current(), list[tuple[float, float]]()
    if report is None:
        return None

    def show(row: Any) -> None:
        if expected:
            gaps.append((time.perf_counter(), row.relative_gap))
        left = seconds_left(gaps, tol)
        gap = f"relative gap {row.relative_gap:.1e} (tol {tol:.0e})"
        report.step = f"step {row.n_iter}  objective {row.objective:.6g}  {gap}"
        report.step += "" if left is None else f"  about {left:.0f} s left"
        report.stays = not report.counted

    return show


def _current() -> "_Report | None":
    report = _CURRENT.get()
    return None if report is None or report.place != (os.getpid(), threading.get_ident()) else report


class _Report:
    """Progress of one block: its phase, its counter, the last step of its solver, and the bar."""

    def __init__(self, max_time: float | None, brief: bool) -> None:
        self.place = os.getpid(), threading.get_ident()
        self._max_time, self._brief = max_time, brief
        self._began = self._since = time.perf_counter()
        self._over = threading.Event()
        self._phase = self.counted = self.step = ""
        self.stays = False  # the step: it is not one of many solves that are counted
        self._bar = _bar(self)

    def __str__(self) -> str:
        seconds = time.perf_counter() - self._began
        left = "" if self._max_time is None else f", {max(self._max_time - seconds, 0):.1f} s left"
        return "  ".join(filter(None, (f"{seconds:.1f} s{left}", self._phase, self.counted, self.step)))

    def __enter__(self) -> None:
        if self._bar is not None:
            self._bar.start()
        else:
            with suppress(RuntimeError):  # there are no threads in a browser
                threading.Thread(target=self._repeat, daemon=True).start()

    def __exit__(self, kind: object, *_: object) -> None:
        self._over.set()
        if kind is None and self.stays:
            self.say(self.step)
        if self._bar is not None:
            self._bar.stop()

    def _repeat(self) -> None:
        while not self._over.wait(min(max(_EVERY, 0.1 * (time.perf_counter() - self._began)), _LATER)):
            print(printable(str(self)), file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        if not self._brief:
            line = printable(f"{time.perf_counter() - self._began:.1f} s  {text}")
            if self._bar is None:
                print(line, file=sys.stderr, flush=True)
            else:
                self._bar.console.print(line, soft_wrap=True)

    def begin(self, text: str) -> None:
        if self.stays:
            self.say(self.step)
        self.stays = False
        self._phase, self.step = text, ""
        self.count(0, 0, "")
        self.say(text)

    def count(self, number: int, total: int, what: str) -> None:
        now = time.perf_counter()
        if number <= 1:
            self._since = now
        left = f", about {(now - self._since) / (number - 1) * (total - number + 1):.0f} s left" if number > 1 else ""
        self.counted = f"{what} {number} of {total}{left}" if total else ""
        if self._bar is not None:
            self._bar.tasks[0].completed, self._bar.tasks[0].total = max(number - 1, 0), total or None


def _bar(report: _Report) -> Any:
    """Return the bar of a report on a terminal, where rich is installed, or None."""
    if not available("rich"):
        return None
    from rich.console import Console  # only here: a quiet fit need not load it
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True, force_jupyter=False, highlight=False, markup=False, emoji=False)
    columns = BarColumn(20), TextColumn("{task.fields[report]}", markup=False)  # drawn ten times a second
    bar = Progress(*columns, console=console, transient=True, redirect_stdout=False)
    bar.add_task("", total=None, report=report)
    return bar if console.is_terminal else None


def seconds_left(gaps: Sequence[tuple[float, float]], tol: float) -> float | None:
    """Return the seconds until a gap is ``tol`` if it goes on to fall by the same factor; None if it does not fall.

    ``gaps`` are pairs of seconds and gap in their order; the last half decides how fast it falls.
    """
    if len(gaps) < 2:
        return None
    (now, gap), (then, before) = gaps[-1], gaps[(len(gaps) - 1) // 2]
    if not (0 < gap < before < math.inf and tol > 0):
        return None
    return max(0.0, math.log(gap / tol) * (now - then) / math.log(before / gap))


_CURRENT: ContextVar[_Report | None] = ContextVar("report", default=None)
