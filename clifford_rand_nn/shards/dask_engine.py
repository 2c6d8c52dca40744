"""Workers of Dask: rows stay with them, sums of fixed size travel, and Dask's scheduler does the rest."""

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import uuid4

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.errors import ArgumentError, require
from clifford_rand_nn.row_sums import Engine, PartWork, RowMap, RowSum, Run, Sums, pairwise, runs
from clifford_rand_nn.shards.dask_tasks import (
    about_worker,
    connected,
    fold,
    hold_rows,
    identity,
    map_parts,
    sum_parts,
    wait_for,
    work_on_parts,
)
from clifford_rand_nn.shards.source import Shards, part_bytes

_SHARE = 0.4  # of a worker's memory for rows and what is kept of them; Dask spills at 0.6 and pauses at 0.8
_SENT = 2**26  # bytes of arrays of this process that may travel to the workers, as their shards
_LOOKED_AT = 5  # shards that every worker looks for before the first pass


class DaskEngine(Engine):
    """Runs sums on the workers of a Dask cluster, in the same bits as `LocalEngine`.

    Neighboring parts belong to one worker, as many as its threads ask for. Their rows are held in its memory in the
    type in which they are stored, as long as they fit; the others are read from their files in every pass. A pass
    sends the parameters once and returns one sum; in between, sums are added where they are, in pairs. Rows do not
    travel, but for those that Dask gives to an idle worker. A worker that dies costs its share of the pass: Dask runs
    its tasks again elsewhere, from the files.

    ``shards``: files that every worker can read under the same paths, or lazy arrays. ``client``: it stays open, and
    the user's. ``max_memory``: bytes a worker; by default its own limit; rows and what is kept of them take at most
    40 %. Raises ArgumentError: a client without workers, or with workers that cannot read the shards or have not this
    library.
    """

    def __init__(self, shards: Shards, client: Any, max_memory: float | None = None) -> None:
        self.shards = shards
        self._dask = require("distributed", extra="shards", purpose="an engine of Dask")
        self._client = client
        self._names = _names(client)
        _check_travel(shards)
        limits = self._look()
        threads = [self._names[name] for name in limits]
        self.workers = sum(threads)
        self._addresses = list(limits)
        self._runs = runs(shards.parts, threads)
        self._held_runs = self._fitting([min(limit or np.inf, max_memory or np.inf) for limit in limits.values()])
        self._numbers = itertools.count()
        self._token = uuid4().hex[:8]
        self._source: Any = None
        self._rows: dict[int, Any] = {}
        self._kept: list[list[Any]] = [[] for _ in self._runs]

    def sum(self, term: RowSum) -> Sums:
        """Return the sums over all rows."""
        with connected(self._client):
            sent, kept = self._send(term), self._kept
            pieces = [
                self._submit(sum_parts, run, self._of(run), run.parts, sent, kept[run.number]) for run in self._runs
            ]
            tree, _ = pairwise(zip(pieces, self._runs, strict=True), self._together)
            total = self._folded(tree, self._runs[0])
            self._wait(total, pieces)
            sums: Sums = self._result(total, pieces)
        return sums

    def _together(self, a: tuple[Any, Run], b: tuple[Any, Run]) -> tuple[Any, Run]:
        """Return a branch of the tree of sums, futures in nested lists, and a run of the worker that will add it up.

        Where its right half is another worker's, that one adds it first, and one sum travels.
        """
        right = b[0] if a[1].owner == b[1].owner else self._folded(*b)
        return [a[0], right], a[1]

    def _folded(self, tree: Any, run: Run) -> Any:
        return self._submit(fold, run, tree) if isinstance(tree, list) else tree

    def keep(self, make: RowMap) -> None:
        """Make small arrays of all rows, which stay with their workers; what fills their memory, Dask writes to disk.

        It does not wait: what goes wrong is an error of the next sum.
        """
        with connected(self._client):
            sent = self._send(make)
            for run in self._runs:
                self._kept[run.number].append(self._submit(map_parts, run, self._of(run), run.parts, sent))

    def each(self, work: PartWork) -> Iterator[Any]:
        """Yield what is found in every part."""
        with connected(self._client):
            sent = self._send(work)
            source = self._shards()
            waiting = [self._submit(work_on_parts, run, source, run.parts, sent) for run in self._runs]
        everything = list(waiting)
        while waiting:
            with connected(self._client):
                self._wait(waiting[0], everything)
                results = self._result(waiting.pop(0), everything)
            yield from results

    def close(self) -> None:
        """Release what the workers hold."""
        for future in [*self._rows.values(), *itertools.chain(*self._kept), self._source]:
            if future is not None:
                future.release()
        self._source, self._rows, self._kept = None, {}, [[] for _ in self._runs]

    # ---- what stays with the workers

    def _look(self) -> dict[str, int]:
        """Return the memory limit of each worker that can read the shards; 0 is none. One that dies is none."""
        with connected(self._client):
            replies = self._client.run(about_worker, _files(self.shards), on_error="return")
        died = {name for name, reply in replies.items() if name not in self._names or isinstance(reply, OSError)}
        about = {name: reply for name, reply in replies.items() if name not in died}
        if not about:
            raise _refused(describe("one whose workers have died"))
        for name, reply in about.items():
            if isinstance(reply, Exception):  # whatever a worker without this library, or of another version, says
                hint = "Workers need the same versions of Python and of this library."
                raise _refused(describe(f"{name}: {type(reply).__name__}: {reply}"), hint) from reply
            if problem := reply[1]:
                hint = "Put the shards where every worker sees them, and give absolute paths."
                raise fail("shards", "DaskEngine", "readable by every worker", describe(f"{name}: {problem}"), hint)
        return {name: limit for name, (limit, _) in about.items()}

    def _fitting(self, memory: Sequence[float]) -> set[int]:
        """Return the runs whose rows are held by their workers."""
        left = [_SHARE * limit if limit < np.inf else 0.0 for limit in memory]
        held = set()
        for run in self._runs:
            need = sum(part_bytes(self.shards, part) for part in run.parts)
            if need <= left[run.owner]:
                left[run.owner] -= need
                held.add(run.number)
        return held

    def _shards(self) -> Any:
        if self._source is None:
            self._source = self._send(self.shards)
        return self._source

    def _of(self, run: Run) -> Any:
        """Return where a run gets its rows: what its worker holds of them, or the shards."""
        if run.number in self._held_runs and run.number not in self._rows:
            self._rows[run.number] = self._submit(hold_rows, run, self._shards(), run.parts)
        return self._rows.get(run.number, self._shards())

    # ---- Dask

    def _label(self, what: str) -> str:
        return f"shards-{what.strip('_')}-{self._token}-{next(self._numbers)}"

    def _send(self, value: Any) -> Any:
        """Return a future of a value: a task, so that Dask can make it again; workers pass it on to each other."""
        return self._client.submit(identity, value, key=self._label("sent"))

    def _submit(self, work: Callable[..., Any], run: Run, *arguments: Any) -> Any:
        key = f"{self._label(work.__name__)}-{run.number}"
        where = {"workers": [self._addresses[run.owner]], "allow_other_workers": True}
        return self._client.submit(work, *arguments, key=key, **where)

    def _wait(self, last: Any, pieces: list[Any]) -> None:
        wait_for(self._client, last, pieces, lambda place: self._rows_of(self._runs[place]), self.workers)

    def _rows_of(self, run: Run) -> str:
        first, last = run.parts[0], run.parts[-1]
        name = self.shards.shards[first.shard].X.name
        until = "" if last.shard == first.shard else f"{self.shards.shards[last.shard].X.name}, row "
        return f"{name}, rows {first.start} to {until}{last.stop}"

    def _result(self, future: Any, pieces: list[Any]) -> Any:
        """Return the result of a future that depends on pieces, one a run.

        Dask blames all tasks that a worker had when it died, in any order. Workers begin with the first of their runs,
        so that the first one that was given up has most likely been at work.
        """
        try:
            received = future.result()
        except self._dask.KilledWorker as error:
            failed = self._client.run_on_scheduler(_failed, [piece.key for piece in pieces])
            rows = "" if "-sent-" in str(error.task) else f" with {self._rows_of(self._runs[failed])}"
            received = describe(f"several that died{rows}, the last one {error.last_worker.address}")
            hint = "Most often the memory of workers is too small, or more threads share it than it is enough for."
            raise fail("engine", "DaskEngine", "workers that live through a pass", received, hint) from None
        if isinstance(received, ArgumentError):
            raise received
        return received


def _names(client: Any) -> dict[str, int]:
    if getattr(client, "asynchronous", False):
        raise _refused(describe("an asynchronous one"))
    if client.status != "running":
        raise _refused(describe(f"one that is {client.status}"))
    threads: dict[str, int] = client.nthreads()
    if not threads:
        raise _refused(describe("one without workers"), "client.wait_for_workers(1) waits for the first.")
    return threads


def _refused(received: str, hint: str = "") -> ArgumentError:
    return fail("engine", "DaskEngine", "a distributed.Client that is connected to workers", received, hint)


def _check_travel(shards: Shards) -> None:
    arrays = [getattr(stored, "_array", None) for shard in shards.shards for stored in shard]
    size = sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
    if size > _SENT:
        received, hint = describe(f"arrays of this process, {size / 2**20:.0f} MiB"), "Save them and give their paths."
        raise fail("shards", "DaskEngine", "files that every worker can read", received, hint)


def _files(shards: Shards) -> list[str]:
    """Return the paths of some shards; those without have names only, and come as they are."""
    step = max(1, len(shards.shards) // _LOOKED_AT)
    some = itertools.chain.from_iterable([*shards.shards[::step], shards.shards[-1]])
    return [stored.name for stored in some if stored is not None and os.path.exists(stored.name)]


def _failed(keys: Sequence[str], dask_scheduler: Any) -> int:
    """Return the place of the first task that was given up; it runs on the scheduler, between two of its turns."""
    return next(i for i, key in enumerate(keys) if dask_scheduler.tasks[key].state == "erred")
