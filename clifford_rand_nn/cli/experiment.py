"""``clifford-rand experiment``: the experiments of the paper, from feature files to tables and pictures."""

import importlib
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clifford_rand_nn.cli.console import say
from clifford_rand_nn.experiments.settings import Settings

__all__ = ["run_experiment"]


def run_experiment(
    name: str,
    data: Path | None,
    out: Path,
    sets: Sequence[str],
    seeds: int,
    sizes: Sequence[int],
    methods: Sequence[str],
    max_time: float,
    seed: int,
    criterion: str,
) -> None:
    """Run the experiment of that name and say which files it wrote."""
    settings = Settings(
        out=out,
        data=data,
        sets=tuple(sets),
        seeds=seeds,
        sizes=tuple(sizes),
        methods=tuple(methods),
        seed=seed,
        max_time=max_time,
        criterion=criterion,
        say=say,
        track=_track,
    )
    settings = replace(settings, command=_command(name, settings))
    module = importlib.import_module(f"clifford_rand_nn.experiments.{name}")
    for path in module.run(settings):
        say(f"wrote {path}")


def _command(name: str, settings: Settings) -> str:
    """Return the command line with every option, so that it means the same when defaults change."""
    words = ["clifford-rand", "experiment", name]
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
