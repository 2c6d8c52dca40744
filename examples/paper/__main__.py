"""``python -m examples.paper``: the experiments of the paper, from feature files to tables and pictures."""

import importlib
import shlex
import sys
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from clifford_rand_nn.cli.console import one_line_errors, say
from examples.paper.settings import Settings

__all__ = ["app", "main"]


class _Command(TyperCommand):
    """A command whose known errors are one line on stderr."""

    def invoke(self, ctx: Any) -> Any:
        with one_line_errors():
            return super().invoke(ctx)


app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Experiment(StrEnum):
    """Experiments of the paper that are repeated."""

    spiral = "spiral"
    accuracy = "accuracy"
    timing = "timing"
    plane = "plane"
    ablations = "ablations"
    gate_rules = "gate_rules"


class Criterion(StrEnum):
    """Criteria that select a grid point."""

    loss = "loss"
    accuracy = "accuracy"


@app.command(cls=_Command, no_args_is_help=True)
def run(
    name: Annotated[
        Experiment,
        typer.Argument(
            help="spiral: decision regions and paths; accuracy: test accuracy against rows; timing: accuracy against "
            "seconds; plane: how often gates in the plane are drawn; ablations: one part at a time; gate_rules: which "
            "gates win.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the results; a second run goes on from what is there.")],
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of .npz files with X, y and split, as clifford-rand embed writes them; not for spiral and "
            "plane.",
            show_default=False,
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="<name>", help="File without .npz; repeatable.", show_default="all"),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Trials of each size.")] = 5,
    sizes: Annotated[
        list[int] | None,
        typer.Option(
            "--size",
            metavar="<n>",
            help="Training rows; repeatable.",
            show_default="200, 400, …, 2000; timing, ablations: 2000; gate_rules: 500, 2000",
        ),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", metavar="<name>", help="Method to run; repeatable.", show_default="all"),
    ] = None,
    max_time: Annotated[
        float, typer.Option(metavar="<seconds>", help="For each method on one trial, its grid included.")
    ] = 60.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed where there is one trial only: spiral and plane.")] = 0,
    choose: Annotated[
        Criterion, typer.Option(help="What of the validation rows chooses a grid point, in accuracy and timing.")
    ] = Criterion.loss,
) -> None:
    """Run an experiment of the paper: tables, pictures, and the command that makes them again, in a folder."""
    settings = Settings(
        out=out,
        data=data,
        sets=tuple(sets or ()),
        seeds=seeds,
        sizes=tuple(sizes or ()),
        methods=tuple(methods or ()),
        seed=seed,
        max_time=max_time,
        criterion=choose.value,
        say=say,
        track=_track,
    )
    settings = replace(settings, command=_command(name.value, settings))
    for path in importlib.import_module(f"examples.paper.{name.value}").run(settings):
        say(f"wrote {path}")


def main() -> None:
    """Run the command line."""
    app(prog_name="python -m examples.paper")


def _command(name: str, settings: Settings) -> str:
    """Return the command line with every option, so that it means the same when defaults change."""
    words = ["python", "-m", "examples.paper", name]
    words += [] if settings.data is None else ["--data", str(settings.data)]
    words += ["--out", str(settings.out), "--seeds", str(settings.seeds), "--seed", str(settings.seed)]
    words += ["--max-time", f"{settings.max_time:g}", "--choose", settings.criterion]
    for option, values in (("--set", settings.sets), ("--size", settings.sizes), ("--method", settings.methods)):
        for value in values:
            words += [option, str(value)]
    return shlex.join(words)


def _track(items: Iterable[Any], *, description: str = "", total: float | None = None) -> Iterable[Any]:
    """Yield the items under a progress bar on stderr; without one in a pipe."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    if not sys.stderr.isatty():
        yield from items
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield from progress.track(items, total=total, description=description)


if __name__ == "__main__":
    main()
