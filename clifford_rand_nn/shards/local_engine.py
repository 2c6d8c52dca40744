"""The engine of this process, a few threads with a BLAS thread of their own; and the engine that a user names."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD, cpu_count, map_ahead
from clifford_rand_nn._progress import track
from clifford_rand_nn.row_sums import (
    Engine,
    Need,
    Part,
    PartWork,
    RowMap,
    RowSum,
    Sums,
    added,
    pairwise,
    part_map,
    part_sum,
)
from clifford_rand_nn.shards.source import Shards, fingerprint, shard_blocks
from clifford_rand_nn.shards.stored_arrays import NpyFile, RawFile

_HELD = 2**26  # bytes of kept arrays in memory; all beyond goes to a scratch file, read once a pass
_LEAST_ROWS = 64  # of a block, with little memory

_Work = TypeVar("_Work", RowSum, RowMap, PartWork)


class LocalEngine(Engine):
    """Runs sums in threads of this process, in the same bits for every number of them.

    ``workers``: threads; by default one for each processor that the process may use. ``scratch``: folder for what is
    kept of the rows beyond 64 MiB; by default that of the system.
    """

    def __init__(self, shards: Shards, workers: int | None = None, scratch: str | None = None) -> None:
        self.shards, self.workers = shards, workers or cpu_count()
        self._read = partial(shard_blocks, shards)
        self.most_kept, self._rows = _HELD, sys.maxsize
        self._scratch = scratch
        self._kept: list[list[NDArray[Any] | RawFile]] = [[] for _ in shards.parts]
        self._bytes = 0
        self._own: Path | None = None

    def keep_to(self, most: float | None, need: Need, owner: str) -> None:
        """Keep to ``most`` bytes: by fewer threads, then smaller blocks, whose sums differ by rounding; or refuse."""
        if most is None:
            return
        self.refuse_more(most, need.always + need.sums + _LEAST_ROWS * need.row, owner)
        left, rows = most - need.always, need.rows
        # halve the blocks until one worker fits
        while left < need.sums + rows * need.row:
            rows //= 2
        each = need.sums + rows * need.row
        self.workers = min(self.workers, int(left // each))
        self._rows = rows
        self.most_kept = min(_HELD, int(left - self.workers * each))

    def sum(self, term: RowSum) -> Sums:
        """Return the sums over all rows."""
        term = self._small(term)

        def work(index: int, part: Part) -> Sums:
            kept = (a if isinstance(a, np.ndarray) else a.read(0, a.shape[0]) for a in self._kept[index])
            return part_sum(self._read, part, term, tuple(kept))

        return pairwise(self._in_order(work), added)

    def keep(self, make: RowMap) -> None:
        """Make small arrays of all rows, in memory as long as they are few."""
        make = self._small(make)
        for index, array in enumerate(self._in_order(lambda _, part: part_map(self._read, part, make))):
            self._bytes += array.nbytes
            if self._bytes <= self.most_kept:
                self._kept[index].append(array)
                continue
            file = self._files() / f"{len(self._kept[index])}-{index:06d}.npy"
            np.save(file, array)
            self._kept[index].append(NpyFile(file))

    def each(self, work: PartWork) -> Iterator[Any]:
        """Yield what is found in every part."""
        work = self._small(work)
        return self._in_order(lambda _, part: work.of(self.shards, part))

    def close(self) -> None:
        """Delete the scratch file."""
        self._kept = [[] for _ in self.shards.parts]
        self._bytes = 0
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            self._own = None

    def _small(self, work: _Work) -> _Work:
        if work.rows <= self._rows:
            return work
        smaller = copy(work)
        smaller.rows = self._rows
        return smaller

    def _files(self) -> Path:
        if self._own is None:
            self._own = Path(tempfile.mkdtemp(prefix="clifford-rand-", dir=self._scratch))
        return self._own

    def _in_order(self, work: Callable[[int, Part], Any]) -> Iterator[Any]:
        with ONE_BLAS_THREAD:
            done = map_ahead(lambda item: work(*item), enumerate(self.shards.parts), self.workers)
            yield from track(done, len(self.shards.parts), "part")


def as_engine(engine: Any, shards: Shards, owner: str, max_memory: float | None = None) -> Engine:
    """Return the engine that runs the sums over some shards.

    ``engine``: None, this process; a distributed.Client, the workers of a Dask cluster; "torch", the ranks of
    ``torch.distributed``, or one device if there is no process group; or an Engine made by the caller for these shards.
    ``owner``: whose parameter it is, for errors. ``max_memory``: bytes a process. Raises ArgumentError: anything else,
    or an engine of other shards.

    Examples
    --------
    >>> import numpy as np
    >>> shards = Shards([np.ones((3, 2))])
    >>> type(as_engine(None, shards, "fit")).__name__
    'LocalEngine'
    """
    if engine is None:
        return LocalEngine(shards)
    if isinstance(engine, Engine):
        if engine.shards is not shards and fingerprint(engine.shards) != fingerprint(shards):
            raise fail("engine", owner, "an engine of the same shards", describe(f"one of {engine.shards!r}"))
        return engine
    if isinstance(engine, str) and engine == "torch":
        from clifford_rand_nn.shards.torch_engine import TorchEngine

        return TorchEngine(shards, max_memory=max_memory)
    distributed: Any = sys.modules.get("distributed")  # whoever has a client has imported it
    if distributed is not None and isinstance(engine, distributed.Client):
        from clifford_rand_nn.shards.dask_engine import DaskEngine

        return DaskEngine(shards, engine, max_memory)
    raise fail("engine", owner, 'None, a distributed.Client, "torch" or an Engine', engine)
