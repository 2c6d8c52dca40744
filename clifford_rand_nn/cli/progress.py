"""What is shown on stderr while passes over shards run: which pass, how many of its parts, and seconds."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from clifford_rand_nn.row_sums.sums import Part
from clifford_rand_nn.shards.engines.local import LocalEngine
from clifford_rand_nn.shards.source import Shards

_EVERY = 60.0  # seconds from line to line where stderr is no terminal


class ShownEngine(LocalEngine):
    """The engine of this process, with a line on stderr: redrawn on a terminal, a new one each minute in a file."""

    def __init__(self, shards: Shards) -> None:
        super().__init__(shards)
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._console = Console(stderr=True)
        told, left = TextColumn("{task.description}"), TextColumn("{task.fields[left]}")
        self._line = Progress(told, BarColumn(), left, console=self._console, transient=True)
        self._task = self._line.add_task("pass 1", total=len(shards.parts), left="")
        self._passes = 0
        self._began = self._told = time.perf_counter()

    def __enter__(self) -> "ShownEngine":
        self._line.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._line.stop()
        super().__exit__(*error)

    def _in_order(self, work: Callable[[int, Part], Any]) -> Iterator[Any]:
        self._passes += 1
        began = time.perf_counter()
        for done, found in enumerate(super()._in_order(work), 1):
            self._show(done, time.perf_counter(), began)
            yield found

    def _show(self, done: int, now: float, began: float) -> None:
        parts = len(self.shards.parts)
        left = (now - began) / done * (parts - done)
        name = f"pass {self._passes}"
        words = f"{done} of {parts} parts, {left:.0f} s left of this pass, {now - self._began:.0f} s in all"
        self._line.update(self._task, description=name, completed=done, left=words)
        if not self._console.is_terminal and now - self._told >= _EVERY:
            self._told = now
            self._console.print(f"{name}: {words}", highlight=False, soft_wrap=True)
