"""Shards of the command line: folders opened for a model or for its training, and the progress of passes."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.row_sums import Part
from clifford_rand_nn.shards.engines.local import LocalEngine
from clifford_rand_nn.shards.formats.readers import has_names
from clifford_rand_nn.shards.source import Shards

_EVERY = 60.0  # seconds from line to line of progress where stderr is not a terminal
_PIECES, _PIECE = 16, 1000  # places whose targets say what the task is, and rows of each


def training_shards(folder: Path, target: str | None, weights: str | None) -> Shards:
    """Return shards with their targets.

    Raises ArgumentError if there are no targets, or columns are named where files have none.
    """
    if has_names(folder):
        if target is None:
            raise ArgumentError(f"{folder}: Parquet needs --target, the column to predict.")
        return Shards(folder, target=target, sample_weight=weights)
    for option, value in (("--target", target), ("--weights", weights)):
        if value is not None:
            raise ArgumentError(f"{folder}: {option} {value} names a column, as Parquet has; targets are y-….npy here.")
    shards = Shards(folder)
    if not shards.labelled:
        raise ArgumentError(f"{folder}: there are no targets, y-00000.npy, … beside X-00000.npy, ….")
    return shards


def new_shards(folder: Path, target: str | None, train: Shards) -> Shards:
    """Return shards with targets to score on, with the columns of those of training: by name where both have names.

    Raises ArgumentError if there are no targets, or other columns.
    """
    if has_names(folder) and train.names is not None:
        return Shards(folder, target=target, columns=train.names)
    shards = training_shards(folder, target if has_names(folder) else None, None)
    if shards.d != train.d:
        raise ArgumentError(f"{folder}: these shards have {shards.d} columns, and those of training {train.d}.")
    return shards


def model_shards(model: Any, folder: Path, target: str | None = None, weights: str | None = None) -> Shards:
    """Return shards with the columns of a model, by name where both have names; targets where these are asked for."""
    names = getattr(model, "feature_names_in_", None)
    if not has_names(folder):
        return Shards(folder) if target is None and weights is None else training_shards(folder, target, weights)
    columns = None if names is None else [str(name) for name in names]
    return Shards(folder, target=target, sample_weight=weights, columns=columns)


def some_targets(shards: Shards) -> NDArray[Any]:
    """Return targets from many places, by which a task is chosen."""
    parts = shards.parts
    pieces = []
    for index in sorted({i * len(parts) // _PIECES for i in range(_PIECES)}):
        y = next(shards.blocks(parts[index], _PIECE, columns=False)).y  # which names a file that cannot be read
        assert y is not None
        pieces.append(y)
    return np.concatenate(pieces)


class ShownEngine(LocalEngine):
    """The engine of this process, with a line on stderr: redrawn on a terminal, a new one each minute in a file."""

    def __init__(self, shards: Shards) -> None:
        super().__init__(shards)
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._console = Console(stderr=True)
        description, left = TextColumn("{task.description}"), TextColumn("{task.fields[left]}")
        self._line = Progress(description, BarColumn(), left, console=self._console, transient=True)
        self._task = self._line.add_task("pass 1", total=len(shards.parts), left="")
        self._passes = 0
        self._began = self._printed = time.perf_counter()

    def __enter__(self) -> "ShownEngine":
        self._line.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._line.stop()
        super().__exit__(*error)

    def _in_order(self, work: Callable[[int, Part], Any]) -> Iterator[Any]:
        self._passes += 1
        began = time.perf_counter()
        for done, sums in enumerate(super()._in_order(work), 1):
            self._show(done, time.perf_counter(), began)
            yield sums

    def _show(self, done: int, now: float, began: float) -> None:
        parts = len(self.shards.parts)
        left = (now - began) / done * (parts - done)
        name = f"pass {self._passes}"
        words = f"{done} of {parts} parts, {left:.0f} s left of this pass, {now - self._began:.0f} s in all"
        self._line.update(self._task, description=name, completed=done, left=words)
        if not self._console.is_terminal and now - self._printed >= _EVERY:
            self._printed = now
            self._console.print(f"{name}: {words}", highlight=False, soft_wrap=True)
