"""``clifford-rand demo``: a spiral and handwritten digits, with tables and a picture, from data that is at hand."""

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from clifford_rand._files import replaced
from clifford_rand._optional import available
from clifford_rand_nn.cli.console import say, show_table
from clifford_rand_nn.cli.demo_digits import DIGITS_COLUMNS, compare_digits
from clifford_rand_nn.cli.demo_spiral import (
    SPIRAL_COLUMNS,
    draw_spiral,
    fit_spiral,
    spiral_notes,
    spiral_row,
)
from clifford_rand_nn.datasets import spiral


def run_demo(out: Path, seed: int, *, n_gates: int = 200, digits: int | None = None, resolution: int = 700) -> None:
    """Run both parts and write tables and picture into the folder ``out``.

    The last three arguments make a small version of it: gates (and pairs) of the spiral, rows of digits, grid of the
    picture.
    """
    out.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []

    def table(
        name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]
    ) -> None:
        show_table(title, columns, rows, text=("over",))
        for note in notes:
            say(note, style="dim")
        say()
        written.append(out / f"{name}.csv")
        with replaced(written[-1]) as new, open(new, "w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerows([columns, *rows])

    X, y = spiral()
    with _status("spiral") as tell:
        fits = fit_spiral(X, y, seed, n_gates, tell)
    table(
        "spiral",
        f"Spiral: {len(X)} points in the plane, five networks",
        SPIRAL_COLUMNS,
        [spiral_row(name, fits, X, y) for name in fits],
        spiral_notes(len(X)),
    )
    drawn = available("matplotlib")
    if drawn:
        with _status("spiral: drawing"):
            written.append(out / "spiral.png")
            draw_spiral(written[-1], fits, X, y, resolution)
    with _status("digits") as tell:
        scores, sizes = compare_digits(seed, digits, tell)
    table(
        "digits",
        f"Digits: {sizes.train} rows to train, {sizes.test} to test, 64 pixels, 10 classes",
        DIGITS_COLUMNS,
        [score.row() for score in scores],
        [
            f"Each method's parameter is picked from three values on {sizes.validation} of the training rows;",
            "then it is fitted to all of them. The seconds include both.",
            f"An accuracy near 0.97 has a standard error of {np.sqrt(0.97 * 0.03 / sizes.test):.3f} here.",
            "Each objective is the method's own: compare none of them. One has a proof.",
        ],
    )
    for path in written:
        say(f"wrote {path}")
    if not drawn:
        say('The picture was left out, it needs matplotlib: pip install "clifford-rand[app]"')


@contextmanager
def _status(text: str) -> Iterator[Callable[[str], object]]:
    """Show what is being done on a terminal; nothing in a pipe."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(text) as status:
        yield lambda now: status.update(now)
