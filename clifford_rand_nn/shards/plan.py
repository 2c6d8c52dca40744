"""Plans of fits to shards: bytes on disk and in memory, passes and seconds, estimated by a small trial."""

import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import quantity
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.cost import duration
from clifford_rand_nn.row_sums import Engine, Part, PartWork, RowMap, RowSum, Sums
from clifford_rand_nn.shards.source import Shard, Shards, shard_blocks, with_shards
from clifford_rand_nn.shards.stored_arrays import Stored

_TRIAL_ROWS = 2**16
_PIECES = 16  # places among all rows from which those of the trial come
_TRIAL_SECONDS = 60.0
_Value = TypeVar("_Value")
_LOOK = 0.01  # seconds between looks at the memory


@dataclass(frozen=True)
class Plan:
    """Estimated disk, memory, passes and seconds of a fit to shards. Printed, it reads as a table.

    Numbers come from a trial: the same fit to some rows from all over the shards, read from where they are. A pass over
    all rows takes as many times longer as there are more of them; the number of passes and what is done on a sample
    stay about the same.
    """

    owner: str  # the estimator
    n_rows: int
    n_columns: int
    n_shards: int
    disk: int  # bytes that a pass reads
    memory: int  # bytes of this process at most
    memory_before: int  # bytes of them that it has before the fit: Python, libraries, and what else is loaded
    n_workers: int  # parts that are worked on at a time
    n_passes: int  # over all rows
    pass_seconds: float  # of one
    seconds: float  # of the fit
    trial_rows: int
    trial_seconds: float
    trial_timed_out: bool  # whether the trial ran out of time, so that there are more passes than it had
    max_time: float | None  # of the estimator, which ends the fit

    def __str__(self) -> str:
        least = "at least " if self.trial_timed_out else "about "
        ends = ""
        if self.max_time is not None and self.max_time < self.seconds:
            ends = f", and ends after max_time={self.max_time:g} s"
        parts = "one part" if self.n_workers == 1 else f"{self.n_workers} parts"
        return "\n".join(
            [
                f"{self.owner} on {self.n_rows:,} rows × {self.n_columns:,} columns in {self.n_shards} shards",
                f"  disk    {quantity(self.disk)}, read in every pass",
                f"  memory  {quantity(self.memory)} in this process, {quantity(self.memory_before)} before the fit",
                f"  passes  {least}{self.n_passes}, {duration(self.pass_seconds)} each, {parts} at a time",
                f"  time    {least}{duration(self.seconds)}{ends}",
                f"  (from a fit to {self.trial_rows:,} of the rows, in {duration(self.trial_seconds)})",
            ]
        )


def plan_fit(
    owner: str,
    shards: Shards,
    engine_of: Callable[[Shards], Engine],
    fit: Callable[[Shards, Any, float], Any],
    max_time: float | None = None,
) -> Plan:
    """Return the plan of a fit.

    ``owner``: the estimator's name. ``engine_of``: makes the engine of the fit for some shards. ``fit``: fits a copy of
    the estimator, given shards, an engine for them, and the seconds that it may take. ``max_time``: of the estimator.
    Raises ArgumentError: the fit refuses the shards, or the rows of the trial, in which there may be one class where
    there are two.
    """
    some = _some_rows(shards, _TRIAL_ROWS, _PIECES)
    limit = _TRIAL_SECONDS if max_time is None else min(max_time, _TRIAL_SECONDS)
    with _Memory() as memory, _Timed(engine_of(some)) as engine, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine.begin()
        began = time.perf_counter()
        try:
            fit(some, engine, limit)
        except ArgumentError as error:
            if some is shards:
                raise
            trial = f"the trial fits {some.n_rows:,} of the {shards.n_rows:,} rows"
            raise ArgumentError(f"{owner}.plan: {trial}, and of these: {error}") from error
        trial_seconds = time.perf_counter() - began
    factor = shards.n_rows / some.n_rows
    longer = sum(max(0.0, seconds - engine.idle) for seconds in engine.seconds) * (factor - 1)
    kept = max(0, min(int(engine.kept * factor), engine.most_kept) - engine.kept)
    passes = len(engine.seconds)
    read = sum(engine.seconds) + longer
    return Plan(
        owner=owner,
        n_rows=shards.n_rows,
        n_columns=shards.n_features,
        n_shards=len(shards.shards),
        disk=stored_bytes(shards),
        memory=memory.peak + kept,
        memory_before=memory.before,
        n_workers=engine.workers,
        n_passes=passes,
        pass_seconds=read / max(1, passes),
        seconds=trial_seconds + longer,
        trial_rows=some.n_rows,
        trial_seconds=trial_seconds,
        trial_timed_out=trial_seconds >= limit,
        max_time=max_time,
    )


def stored_bytes(shards: Shards) -> int:
    """Return the bytes of the files of shards, or of their rows where these are elsewhere."""
    sizes: dict[Any, int] = {}
    for stored in (stored for shard in shards.shards for stored in shard if stored is not None):
        if Path(stored.name).is_file():
            sizes[stored.name] = os.path.getsize(stored.name)
        else:
            sizes[id(stored)] = math.prod(stored.shape) * stored.dtype.itemsize
    return sum(sizes.values())


# ---- some of the rows


class _Rows(Stored):
    """Some rows of a stored array, read from where they are."""

    def __init__(self, stored: Stored, start: int, stop: int) -> None:
        self._stored, self._start = stored, start
        self.name, self.dtype = stored.name, stored.dtype
        self.shape = (stop - start, *stored.shape[1:])

    def read(self, start: int, stop: int) -> NDArray[Any]:
        return self._stored.read(self._start + start, self._start + stop)

    def blocks(self, start: int, stop: int, rows: int) -> Iterator[NDArray[Any]]:
        return self._stored.blocks(self._start + start, self._start + stop, rows)

    def identity(self) -> str:
        return f"{self._stored.identity()}:{self._start}:{self.shape[0]}"


def _some_rows(shards: Shards, rows: int, pieces: int) -> Shards:
    """Return shards of about so many rows, from so many places; all of them where there are no more."""
    if shards.n_rows <= rows:
        return shards
    pieces_of: dict[tuple[int, int], Shard] = {}
    size = rows // pieces
    starts = [part.first for part in shards.parts]
    taken = 0
    for place in range(pieces):
        at = place * shards.n_rows // pieces
        part = shards.parts[int(np.searchsorted(starts, at, "right")) - 1]
        start = part.start + at - part.first
        # whole units, where only these can be read
        start, stop = shards.shards[part.shard].X.unit(start) or (start, min(start + size, part.stop))
        if (part.shard, start) not in pieces_of and taken < rows:
            X, y, weights = shards.shards[part.shard]
            piece = [None if stored is None else _Rows(stored, start, stop) for stored in (y, weights)]
            pieces_of[part.shard, start] = Shard(_Rows(X, start, stop), *piece)
            taken += stop - start
    return with_shards(shards, tuple(pieces_of.values()))


# ---- what the trial is watched with


class _Idle(PartWork):
    """Nothing, to see what a pass takes without rows."""

    def of(self, shards: Shards, part: Part) -> int:
        return 0


@Engine.register
class _Timed:
    """An engine whose passes are timed; all else is left to it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.seconds: list[float] = []
        self.idle, self.kept = 0.0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._engine.close()

    def begin(self) -> None:
        """Time a pass that reads nothing."""
        list(self._engine.each(_Idle()))
        began = time.perf_counter()
        list(self._engine.each(_Idle()))
        self.idle = time.perf_counter() - began

    def sum(self, term: RowSum) -> Sums:
        return self._timed(lambda: self._engine.sum(term))

    def keep(self, make: RowMap) -> None:
        self._timed(lambda: self._engine.keep(make))
        row = next(shard_blocks(self.shards, self.shards.parts[0], 1))
        self.kept += make.of(row).nbytes * self.shards.n_rows

    def each(self, work: PartWork) -> Iterator[Any]:
        return iter(self._timed(lambda: list(self._engine.each(work))))

    def _timed(self, work: Callable[[], _Value]) -> _Value:
        began = time.perf_counter()
        result = work()
        self.seconds.append(time.perf_counter() - began)
        return result


class _Memory:
    """The largest memory of this process while a block runs, looked at a hundred times a second.

    ``before``, ``peak``: bytes; of systems without /proc only the largest ever.
    """

    def __enter__(self) -> Self:
        self.before = self.peak = resident()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._over.wait(_LOOK):
            self.peak = max(self.peak, resident())

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        self.peak = max(self.peak, resident())


def resident() -> int:
    """Return the bytes of memory that this process has; the most it ever had where the system says no more."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
