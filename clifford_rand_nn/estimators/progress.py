"""One line on the terminal while a solver runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clifford_rand_nn.solvers.base import HistoryRow


@contextmanager
def progress_line(
    verbose: int, tol: float, max_time: float | None = None
) -> Iterator[Callable[[HistoryRow], object] | None]:
    """Yield a callback that shows step, objective, and relative gap against ``tol``; None if not ``verbose``.

    The clock runs between calls too, so the line is alive during a long step: seconds so far, and those left of
    ``max_time`` if there is one. Several solves under one line share its clock.
    """
    if not verbose:
        yield None
        return
    from rich.console import Console  # only here: a quiet fit need not load it
    from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
    from rich.text import Text

    began = time.perf_counter()

    class Clock(ProgressColumn):
        def render(self, task: Task) -> Text:
            seconds = time.perf_counter() - began
            left = "" if max_time is None else f", {max(max_time - seconds, 0):.1f} s left"
            return Text(f"{seconds:.1f} s{left}")

    console = Console(stderr=True)
    last: list[str] = []
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), Clock(), console=console, transient=True) as line:
        task = line.add_task("fitting")

        def show(row: HistoryRow) -> None:
            gap = f"relative gap {row.relative_gap:.1e} (tol {tol:.0e})"
            last[:] = [f"step {row.n_iter}  objective {row.objective:.6g}  {gap}"]
            line.update(task, description=last[0])  # drawn ten times a second, however often this is called

        yield show
    if last:
        console.print(f"{last[0]}  {time.perf_counter() - began:.1f} s", highlight=False, soft_wrap=True)
