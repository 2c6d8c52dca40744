"""What a terminal shows while passes over shards run: which pass, how many of its parts, and seconds."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from clifford_rand_nn.shards.engines.local import LocalEngine
from clifford_rand_nn.shards.rows import Part
from clifford_rand_nn.shards.source import Shards


class ShownEngine(LocalEngine):
    """The engine of this process, with a line on stderr."""

    def __init__(self, shards: Shards) -> None:
        super().__init__(shards)
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[left]}"),
            TimeElapsedColumn(),
        )
        self._line = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._line.add_task("first pass", total=len(shards.parts), left="")
        self._passes = 0

    def __enter__(self) -> "ShownEngine":
        self._line.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._line.stop()
        super().__exit__(*error)

    def _in_order(self, work: Callable[[int, Part], Any]) -> Iterator[Any]:
        self._passes += 1
        began, parts = time.perf_counter(), len(self.shards.parts)
        self._line.update(self._task, description=f"pass {self._passes}", completed=0, left="")
        for done, found in enumerate(super()._in_order(work), 1):
            left = (time.perf_counter() - began) / done * (parts - done)
            self._line.update(
                self._task, completed=done, left=f"{done} of {parts} parts, {left:.0f} s left of this pass"
            )
            yield found
