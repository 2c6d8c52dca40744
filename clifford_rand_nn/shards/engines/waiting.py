"""Waiting for tasks of Dask: never without a word about what a pass waits for, and only while there is a cluster."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from clifford_rand._checks import describe, fail
from clifford_rand._optional import require
from clifford_rand.errors import ArgumentError

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

    Raises
    ------
    ArgumentError
        The scheduler is gone, or someone closed the client or cancelled its tasks.
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
