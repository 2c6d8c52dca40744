"""Tasks that Dask's workers run on parts, and waiting for them: never silently, and only while there is a cluster."""

import ctypes
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import cache, partial, wraps
from typing import Any, TypeVar, cast

from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand.errors import ArgumentError, require
from clifford_rand_nn.row_sums import (
    Block,
    Part,
    PartWork,
    Read,
    RowMap,
    RowSum,
    Sums,
    added,
    pairwise,
    part_map,
    part_sum,
)
from clifford_rand_nn.shards.source import Shards, shard_blocks

_TRIMMED = "65536"  # what Dask's nannies set, unless configured otherwise
_Work = TypeVar("_Work", bound=Callable[..., Any])
_LOOK_SECONDS = 1.0  # between two looks at what a pass waits for
_LATE, _LATE_SECONDS = 3.0, 5.0  # a run is late if none ends for 3 times the mean of those before and 5 s
_FIRST_SECONDS = 60.0  # and the first one if none ends for so long
_NAMED = 3  # runs


def wait_for(client: Any, last: Any, pieces: Sequence[Any], rows_of: Callable[[int], str], threads: int) -> None:
    """Wait for a future that depends on pieces, and warn, once of each, of what keeps it.

    That is: a cluster that has no workers left, workers that Dask has paused as their memory is full, pieces that take
    much longer than the others.

    ``rows_of``: what a piece, by its place among all, reads. ``threads``: pieces that are worked on at a time.
    """
    distributed = require("distributed", extra="shards", purpose="an engine of Dask")
    begin, before, done, warned = time.monotonic(), 0.0, 0, set[str]()
    while True:
        try:
            distributed.wait(last, timeout=_LOOK_SECONDS)
            return
        except TimeoutError:
            seconds = time.monotonic() - begin
        late = [place for place, future in enumerate(pieces) if future.status == "pending"]
        if len(pieces) - len(late) > done:
            before, done = seconds, len(pieces) - len(late)
        quiet = seconds - before
        if quiet <= _LATE_SECONDS:
            continue
        usual = before * threads / done if done else _FIRST_SECONDS / _LATE  # seconds of a piece
        kind, reason = client.run_on_scheduler(_hindrance)
        if not kind and late and quiet > _LATE * usual + _LATE_SECONDS:
            kind, reason = "late", _late(client, pieces, late, rows_of)
        if kind and kind not in warned:
            about = f"After {done} of {len(pieces)} sums nothing for {quiet:.0f} s: {reason}."
            warnings.warn(about, stacklevel=4)
            warned.add(kind)


def _late(client: Any, pieces: Sequence[Any], late: Sequence[int], rows_of: Callable[[int], str]) -> str:
    on = {key: name for name, keys in client.processing().items() for key in keys}
    delays = [f"{rows_of(place)} on {on.get(pieces[place].key, 'no worker yet')}" for place in late[:_NAMED]]
    more = "" if len(late) <= len(delays) else f" and {len(late) - len(delays)} more"
    return f"a pass waits for {'; '.join(delays)}{more}"


def _hindrance(dask_scheduler: Any) -> tuple[str, str]:
    """Return what keeps all tasks from workers, as a word and a sentence; it runs on the scheduler."""
    workers = dask_scheduler.workers
    if not workers:
        return "none", "the cluster has no workers left, and waits for new ones"
    paused = [name for name, worker in workers.items() if worker.status.name == "paused"]
    if paused:
        hint = "Give workers more memory, or fewer threads"
        return "paused", f"Dask has paused {', '.join(paused)}: memory limit. {hint}"
    return "", ""


@contextmanager
def connected(client: Any) -> Iterator[None]:
    """Say in one sentence that a cluster is gone, whatever Dask raises then.

    Raises ArgumentError: the scheduler is gone, or someone closed the client or cancelled its tasks.
    """
    try:
        yield
    except ArgumentError:
        raise
    except Exception as error:
        if client.status == "running" and not isinstance(error, CancelledError):
            raise
        received = "one whose tasks were cancelled" if client.status == "running" else f"one that is {client.status}"
        rule, hint = "a distributed.Client that stays connected", "A fit with a checkpoint goes on from its last state."
        raise fail("engine", "DaskEngine", rule, describe(received), hint) from error


# ---- what workers run


def _reader(rows: Any) -> Read:
    """Return what reads the rows of shards, or those of blocks in memory as if they were in shards."""
    if not isinstance(rows, list):
        return partial(shard_blocks, rows)
    blocks: dict[int, Block] = {block.first: block for block in rows}
    return lambda part, rows, *, columns=True: blocks[part.first].pieces(rows)


def about_worker(paths: Sequence[str], dask_worker: Any) -> tuple[int, str]:
    """Return the memory limit of a worker and what it says of files."""
    limit = getattr(getattr(dask_worker, "memory_manager", None), "memory_limit", None) or 0
    try:
        for path in paths:
            os.stat(path)
    except OSError as error:
        return limit, str(error)
    return limit, ""


def identity(value: Any) -> Any:
    """Return the value."""
    return value


def _returning_errors(work: _Work) -> _Work:
    """Return an error of the shards instead of raising it: its sentence says all, Dask would log where it was."""

    @wraps(work)
    def run(*arguments: Any) -> Any:
        for argument in arguments:
            for value in argument if isinstance(argument, list) else [argument]:
                if isinstance(value, ArgumentError):
                    return value
        try:
            return work(*arguments)
        except ArgumentError as error:
            return error

    return cast(_Work, run)


@cache
def _keep_freed_memory() -> None:
    """Let the process use the memory of one block again for the next.

    Dask starts workers with MALLOC_TRIM_THRESHOLD_=65536, by which glibc also maps, and the system clears, every array
    of 128 KiB or more anew: a pass over 384 columns then takes twice the CPU seconds.
    """
    is_trimmed = os.environ.get("MALLOC_TRIM_THRESHOLD_") == _TRIMMED and "MALLOC_MMAP_THRESHOLD_" not in os.environ
    if is_trimmed and sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(-1, 2**26)  # M_TRIM_THRESHOLD
            mallopt(-3, 2**25)  # M_MMAP_THRESHOLD; more is refused


@_returning_errors
def hold_rows(shards: Shards, parts: Sequence[Part]) -> list[Block]:
    """Return the rows of some parts."""
    return [block for part in parts for block in shard_blocks(shards, part, part.size)]


@_returning_errors
def sum_parts(rows: Any, parts: Sequence[Part], term: RowSum, kept: Sequence[Sequence[NDArray[Any]]]) -> Sums:
    """Return the sums over some parts, which are a branch of the tree of all."""
    _keep_freed_memory()
    read = _reader(rows)
    with ONE_BLAS_THREAD:
        beside = zip(*kept, strict=True) if kept else [()] * len(parts)
        pairs = zip(parts, beside, strict=True)
        return pairwise((part_sum(read, part, term, arrays) for part, arrays in pairs), added)


def fold(tree: Any) -> Any:
    """Return the sum of a branch, halves first, or the error in it that comes first."""
    if not isinstance(tree, list):
        return tree
    left, right = map(fold, tree)
    for half in (left, right):
        if isinstance(half, ArgumentError):
            return half
    return tuple(a + b for a, b in zip(left, right, strict=True))  # no half is overwritten: Dask may want it again


@_returning_errors
def map_parts(rows: Any, parts: Sequence[Part], make: RowMap) -> list[NDArray[Any]]:
    """Return the kept arrays of some parts."""
    read = _reader(rows)
    with ONE_BLAS_THREAD:
        return [part_map(read, part, make) for part in parts]


@_returning_errors
def work_on_parts(shards: Shards, parts: Sequence[Part], work: PartWork) -> list[Any]:
    """Return the results of some parts."""
    with ONE_BLAS_THREAD:
        return [work.of(shards, part) for part in parts]
