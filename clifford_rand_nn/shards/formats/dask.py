"""Dask arrays: each chunk of rows is a shard, computed when it is read, and never more of the whole than that."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._optional import require
from clifford_rand_nn.shards.formats.base import Stored, looked_at

_PURPOSE = {"extra": "shards", "purpose": "reading Dask arrays"}


class DaskChunk(Stored):
    """One chunk of rows of a Dask array, by the tasks that make it; they run in the thread that reads.

    Chunks that a cluster holds already (`persist`) are fetched from it.

    ``graph``: the tasks of this chunk and no others, so that it is small where it is sent. ``key``: of the task that
    gives the chunk. ``telling``: whether it is one of the few chunks that are computed to tell arrays apart.
    """

    def __init__(
        self, graph: Mapping[Any, Any], key: Any, shape: tuple[int, ...], dtype: Any, name: str, telling: bool
    ) -> None:
        self.name, self.shape, self.dtype = name, shape, np.dtype(dtype).newbyteorder("=")
        self._key, self._telling = key, telling
        self._futures = {name: task for name, task in graph.items() if type(task).__name__ == "Future"}
        self._held = list(self._futures)
        self._graph = {name: task for name, task in graph.items() if name not in self._futures}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_futures": {}}  # the cluster keeps its chunks for the process that made these

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows."""
        return self._computed()[start:stop].copy()

    def blocks(self, start: int, stop: int, rows: int) -> Iterator[NDArray[Any]]:
        """Yield rows; the chunk is computed once."""
        chunk = self._computed()
        for first in range(start, stop, rows):
            yield chunk[first : min(first + rows, stop)]

    def unit(self, row: int) -> tuple[int, int]:
        """Return all rows, which are one chunk."""
        return 0, self.shape[0]

    def identity(self) -> str:
        """Return shape and type and, of a few chunks, a hash of some rows; names of tasks are new in every process."""
        kind = f"{self.shape}:{self.dtype}"
        if not self._telling:
            return kind
        chunk = self._computed()
        return f"{kind}:{looked_at(lambda start, stop: chunk[start:stop], len(chunk))}"

    def _computed(self) -> NDArray[Any]:
        try:
            chunk = np.asarray(require("dask", **_PURPOSE).get({**self._graph, **self._fetched()}, self._key))
        except MemoryError:
            raise
        except Exception as error:  # of whatever tasks the user's array is made of
            raise ValueError(f"its tasks failed: {type(error).__name__}: {error}") from error
        if chunk.shape != self.shape:
            raise ValueError(f"its tasks gave shape {chunk.shape}, not {self.shape}")
        return chunk.astype(self.dtype, copy=False)

    def _fetched(self) -> dict[Any, Any]:
        """Return what the cluster holds; no new task of the cluster's, which may be waiting for this one."""
        if not self._held:
            return {}
        distributed = require("distributed", **_PURPOSE)
        client = distributed.get_client()
        chunks: dict[Any, Any] = client.gather({key: distributed.Future(key, client, "memory") for key in self._held})
        return chunks


def is_dask(value: Any) -> bool:
    """Tell whether a value is a Dask array, without importing Dask."""
    return type(value).__module__.partition(".")[0] == "dask" and hasattr(value, "chunks")


def dask_chunks(arrays: Sequence[Any], name: str, like: Sequence[Any] = ()) -> list[DaskChunk]:
    """Return the chunks along rows of Dask arrays, in their order, cut where those of ``like`` are.

    Sizes that are not known are computed, chunk by chunk.

    Raises
    ------
    ArgumentError
        An array has not as many rows as the one of ``like``.
    """
    cull = require("dask.optimization", **_PURPOSE).cull
    chunks = []
    for i, array in enumerate(arrays):
        array = _sized(array)
        rows = _sized(like[i]) if i < len(like) else array
        if array.ndim == 0 or array.shape[0] != rows.shape[0]:
            received = describe(f"{array.shape[:1]} rows beside {rows.shape[0]}")
            raise fail(name, "Shards", "as many rows as X", received)
        whole = array.rechunk({0: rows.chunks[0], **dict.fromkeys(range(1, array.ndim), -1)})
        graph = dict(whole.__dask_graph__())
        held = [task for task in graph.values() if type(task).__name__ == "Future"]
        if held:
            require("distributed", **_PURPOSE).wait(held)
        count = len(whole.chunks[0])
        label = name if len(arrays) == 1 else f"{name}[{i}]"
        for j, size in enumerate(whole.chunks[0]):
            key = (whole.name, j, *(0,) * (whole.ndim - 1))
            own, _ = cull(graph, [key])
            shape = (int(size), *map(int, whole.shape[1:]))
            telling = j in (0, count // 2, count - 1)
            chunks.append(DaskChunk(own, key, shape, whole.dtype, f"{label}, chunk {j}", telling))
    return chunks


def _sized(array: Any) -> Any:
    """Return the array with sizes of chunks that are known."""
    return array.compute_chunk_sizes() if np.isnan(sum(array.chunks[0])) else array
