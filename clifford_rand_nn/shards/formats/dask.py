"""Dask arrays: each chunk of rows is a shard, computed when it is read, and never more of the whole than that."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._optional import require
from clifford_rand_nn.shards.formats.held import HeldArray


class DaskChunk(HeldArray):
    """One chunk of rows of a Dask array, by the tasks that make it; they run in the thread that reads.

    Chunks that a cluster holds already (`persist`) are fetched from it.
    """

    def __init__(self, array: Any, name: str, looked_at: bool) -> None:
        super().__init__(array, name)
        self._looked_at = looked_at

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows."""
        return self._computed()[start:stop].copy()

    def blocks(self, start: int, stop: int, rows: int) -> Iterator[NDArray[Any]]:
        """Yield rows; the chunk is computed once."""
        chunk = self._computed()
        for first in range(start, stop, rows):
            yield chunk[first : min(first + rows, stop)]

    def ends(self) -> NDArray[np.int64]:
        """Return the end of the chunk."""
        return np.array([self.shape[0]])

    def identity(self) -> str:
        """Return shape and type and, of a few chunks, a hash of some rows; names of tasks are new in every process."""
        return super().identity() if self._looked_at else f"{self.shape}:{self.dtype}"

    def _computed(self) -> NDArray[Any]:
        try:
            found = np.asarray(_fetched(self._array).compute(scheduler="synchronous"))
        except MemoryError:
            raise
        except Exception as error:  # of whatever tasks the user's array is made of
            raise ValueError(f"its tasks failed: {type(error).__name__}: {error}") from error
        if found.shape != self.shape:
            raise ValueError(f"its tasks gave shape {found.shape}, not {self.shape}")
        return found.astype(self.dtype, copy=False)


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
    dask = require("dask", extra="shards", purpose="reading Dask arrays")
    found = []
    for i, array in enumerate(arrays):
        array = _sized(array)
        rows = _sized(like[i]) if i < len(like) else array
        if array.ndim == 0 or array.shape[0] != rows.shape[0]:
            told = describe(f"{array.shape[:1]} rows beside {rows.shape[0]}")
            raise fail(name, "Shards", "as many rows as X", told)
        whole = array.rechunk({0: rows.chunks[0], **dict.fromkeys(range(1, array.ndim), -1)})
        count = len(whole.chunks[0])
        label = name if len(arrays) == 1 else f"{name}[{i}]"
        for j in range(count):
            (chunk,) = dask.optimize(whole.blocks[j])  # its own tasks and no others
            found.append(DaskChunk(chunk, f"{label}, chunk {j}", j in (0, count // 2, count - 1)))
    return found


def _sized(array: Any) -> Any:
    """Return the array with sizes of chunks that are known."""
    return array.compute_chunk_sizes() if np.isnan(sum(array.chunks[0])) else array


def _fetched(array: Any) -> Any:
    """Return an array whose chunks that a cluster holds have been brought here."""
    graph = dict(array.__dask_graph__())
    held = {key: task for key, task in graph.items() if hasattr(task, "client")}  # a Future of distributed
    if not held:
        return array
    graph |= next(iter(held.values())).client.gather(held)
    return type(array)(graph, array.name, array.chunks, array.dtype)
