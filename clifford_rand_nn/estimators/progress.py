"""One line on the terminal while a solver runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clifford_rand_nn.solvers.base import HistoryRow

__all__ = ["progress_line"]


@contextmanager
def progress_line(verbose: int, tol: float) -> Iterator[Callable[[HistoryRow], object] | None]:
    """Yield a callback that shows iteration, objective and gap against ``tol``; None if not ``verbose``."""
    if not verbose:
        yield None
        return
    from rich.console import Console  # only here: a quiet fit need not load it
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    last: list[HistoryRow] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("fitting")

        def show(row: HistoryRow) -> None:
            last[:] = [row]
            progress.update(task, description=_line(row, tol))

        yield show
    if last:
        console.print(_line(last[0], tol) + f"  {last[0].seconds:.1f} s", highlight=False)


def _line(row: HistoryRow, tol: float) -> str:
    return f"iteration {row.n_iter}  objective {row.objective:.6g}  relative gap {row.relative_gap:.1e} (tol {tol:.0e})"
