"""The process itself: a few threads, each with a part at a time and a BLAS thread of its own."""

import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._blas import ONE_BLAS_THREAD
from clifford_rand._threads import cpu_count
from clifford_rand_nn.shards.engines.base import Engine
from clifford_rand_nn.shards.rows import Part
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.shards.sums import PartWork, RowMap, RowSum, Sums, added, pairwise, part_map, part_sum

_HELD = 2**26  # bytes of kept arrays in memory; all beyond goes to a scratch file, read once a pass
_AHEAD = 2  # parts for each thread that are begun before their turn to be added


class LocalEngine(Engine):
    """Runs sums in threads of this process, in the same bits for every number of them.

    Parameters
    ----------
    shards : Shards
    workers : int, optional
        Threads; by default one for each processor that the process may use.
    scratch : path, optional
        Folder for what is kept of the rows beyond 64 MiB; by default that of the system.
    """

    most_kept = _HELD

    def __init__(self, shards: Shards, workers: int | None = None, scratch: str | None = None) -> None:
        self.shards, self.workers = shards, workers or cpu_count()
        self._scratch = scratch
        self._kept: list[list[NDArray[Any] | Path]] = [[] for _ in shards.parts]
        self._bytes = 0
        self._own: Path | None = None

    def sum(self, term: RowSum) -> Sums:
        """Return the sums over all rows."""

        def work(index: int, part: Part) -> Sums:
            kept = tuple(np.load(one) if isinstance(one, Path) else one for one in self._kept[index])
            return part_sum(self.shards, part, term, kept)

        return pairwise(self._in_order(work), added)

    def keep(self, make: RowMap) -> None:
        """Make small arrays of all rows, in memory as long as they are few."""
        for index, array in enumerate(self._in_order(lambda _, part: part_map(self.shards, part, make))):
            self._bytes += array.nbytes
            if self._bytes <= _HELD:
                self._kept[index].append(array)
                continue
            file = self._files() / f"{len(self._kept[index])}-{index:06d}.npy"
            np.save(file, array)
            self._kept[index].append(file)

    def each(self, work: PartWork) -> Iterator[Any]:
        """Yield what is found in every part."""
        return self._in_order(lambda _, part: work.of(self.shards, part))

    def close(self) -> None:
        """Delete the scratch file."""
        self._kept = [[] for _ in self.shards.parts]
        self._bytes = 0
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            self._own = None

    def _files(self) -> Path:
        if self._own is None:
            self._own = Path(tempfile.mkdtemp(prefix="clifford-rand-", dir=self._scratch))
        return self._own

    def _in_order(self, work: Callable[[int, Part], Any]) -> Iterator[Any]:
        parts = self.shards.parts
        with ONE_BLAS_THREAD, ThreadPoolExecutor(self.workers, thread_name_prefix="shards") as pool:
            waiting: deque[Future[Any]] = deque()
            try:
                for index, part in enumerate(parts):
                    waiting.append(pool.submit(work, index, part))
                    if len(waiting) >= _AHEAD * self.workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()
