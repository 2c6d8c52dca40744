"""Folders, files and arrays that users hand to Shards, and Dask's chunks, as lists with an array for each shard."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_path, describe, fail
from clifford_rand.errors import require
from clifford_rand_nn.shards.parquet import parquet_columns
from clifford_rand_nn.shards.stored_arrays import (
    HeldArray,
    NpyFile,
    Stored,
    ZarrArray,
    is_zarr,
    looked_at,
    mapped_file,
    open_zarr,
)

_PURPOSE = {"extra": "shards", "purpose": "reading Dask arrays"}
_PARQUET = (".parquet", ".pq")
_AS_ARRAY = "numpy.asarray(…) makes an array of rows in memory; of texts, numpy.asarray(…, dtype=str)."
Opened = Mapping[str, Sequence[Stored]]


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

    Sizes that are not known are computed, chunk by chunk. Raises ArgumentError: an array has not as many rows as the
    one of ``like``.
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


def opened_shards(X: Any, y: Any, sample_weight: Any, target: Any, columns: Any) -> Opened:
    """Return rows ``X``, targets ``y`` and weights ``sample_weight``, each a list, empty where there are none.

    Raises ArgumentError: what is given is none of the formats, cannot be read, or lacks a part.
    """
    if isinstance(X, str | os.PathLike):
        X = _inside(check_path(X, "X", "Shards"))
    elif isinstance(X, Mapping):
        raise fail("X", "Shards", "a path, an array, or a list of them", describe(type(X).__name__))
    elif hasattr(X, "shape"):
        X = [X]
        y, sample_weight = ([value] if hasattr(value, "shape") else value for value in (y, sample_weight))
    if isinstance(X, Mapping):
        for name, value in (("y", y), ("sample_weight", sample_weight)):
            if value is not None:
                rule = "None with a folder that has files of its own"
                raise fail(name, "Shards", rule, describe(type(value).__name__))
        lists = X
    else:
        X = _listed(X, "X")
        if X and all(_is_path(value) and Path(value).suffix.lower() in _PARQUET for value in X):
            return _parquet(X, y, sample_weight, target, columns)
        lists = {"X": X, "y": _listed(y, "y"), "sample_weight": _listed(sample_weight, "sample_weight")}
    for name, value in (("target", target), ("columns", columns)):
        if value is not None:
            raise fail(name, "Shards", "None but for Parquet, which has named columns", value)
    return _opened(lists)


def has_names(path: Path) -> bool:
    """Tell whether a folder or file is one of Parquet, whose columns have names."""
    files = _inside(path)
    return isinstance(files, list) and all(file.suffix.lower() in _PARQUET for file in files)


def _parquet(X: Sequence[Any], y: Any, sample_weight: Any, target: Any, columns: Any) -> Opened:
    if y is not None and target is not None:
        raise fail("y", "Shards", "None where target= names a column", describe(type(y).__name__))
    if sample_weight is not None and not isinstance(sample_weight, str):
        beside = _listed(sample_weight, "sample_weight")
        sample_weight = None
    else:
        beside = []
    named = parquet_columns(X, target, sample_weight, columns)
    more = _opened({"X": [], "y": _listed(y, "y"), "sample_weight": beside})
    return {name: named[name] or more[name] for name in named}


def _opened(lists: Mapping[str, Sequence[Any]]) -> Opened:
    X = lists["X"]
    if X and all(map(is_dask, X)):
        chunks: dict[str, Sequence[Stored]] = {"X": dask_chunks(X, "X")}
        for name in ("y", "sample_weight"):
            values = lists[name]
            if values and not (len(values) == len(X) and all(map(is_dask, values))):
                rule = "Dask arrays, one for each of X"
                raise fail(name, "Shards", rule, describe(f"{len(values)} of {type(values[0]).__name__}"))
            chunks[name] = dask_chunks(values, name, X)
        return chunks
    opened: dict[str, list[Stored]] = {name: [] for name in lists}
    for name, values in lists.items():
        for i, value in enumerate(values):
            group = _one(value, name, f"{name}[{i}]")
            for role, stored in group.items():
                opened[role].append(stored)
    return opened


def _one(value: Any, name: str, label: str) -> dict[str, Stored]:
    """Return what one entry of a list is; a group of Zarr has targets and weights, too."""
    rule = "a path, or an array with shape, dtype and slices"
    try:
        if _is_path(value):
            return _file(value, name)
        if not (hasattr(value, "shape") and hasattr(value, "dtype")):
            raise TypeError
        if type(value).__module__.partition(".")[0] == "zarr":
            return {name: ZarrArray(value, label)}
        return {name: mapped_file(value) or HeldArray(value, label)}
    except TypeError as error:
        received = " ".join(f"{label}, a {type(value).__name__} {error}".split())
        raise fail(name, "Shards", rule, describe(received), _AS_ARRAY) from error


def _file(value: Any, name: str) -> dict[str, Stored]:
    path = Path(value)
    if is_zarr(path):
        arrays = open_zarr(path)
        return dict(arrays) if name == "X" else {name: arrays["X"]}
    if path.suffix.lower() == ".npy":
        return {name: NpyFile(value)}
    hint = "All of X must be Parquet if some of it is." if path.suffix.lower() in _PARQUET else ""
    raise fail(name, "Shards", "a list of .npy, .parquet or .zarr", describe(os.fspath(value)), hint)


def _inside(path: Path) -> Mapping[str, list[Path]] | list[Path]:
    """Return the files of a folder: X-….npy with its neighbors, Parquet or Zarr; or a file itself."""
    if path.is_file() or is_zarr(path):
        return [path]
    if rows := sorted(path.glob("X-*.npy")):
        return _neighbors(path, rows)
    for endings in (_PARQUET, (".zarr",)):
        if files := sorted(file for file in path.glob("*") if file.suffix.lower() in endings and file.name[0] != "."):
            return files
    rule = "a folder with X-00000.npy, y-00000.npy, …, with .parquet or with .zarr"
    raise fail("X", "Shards", rule, describe(f"{path}" + ("" if path.is_dir() else ", which is no folder")))


def _neighbors(folder: Path, rows: list[Path]) -> dict[str, list[Path]]:
    roles = {"X": rows, "y": [], "sample_weight": []}
    for role, letter in (("y", "y"), ("sample_weight", "w")):
        present = sorted(folder.glob(f"{letter}-*.npy"))
        wanted = [path.with_name(letter + path.name[1:]) for path in rows]
        if not present:
            continue
        odd = sorted(set(wanted) ^ set(present))
        if odd:
            missing = odd[0] if odd[0] in wanted else odd[0].with_name("X" + odd[0].name[1:])
            rule = f"a folder with an {letter}-….npy for each X-….npy"
            raise fail("X", "Shards", rule, describe(f"no {missing.name} in {folder}"))
        roles[role] = wanted
    return roles


def _listed(values: Any, name: str) -> list[Any]:
    if values is None:
        return []
    rule = "a list with a file or an array for each shard"
    if isinstance(values, str | bytes | os.PathLike | Mapping | Set) or not isinstance(values, Iterable):
        raise fail(name, "Shards", rule, describe(type(values).__name__))
    entries = list(values)
    if not entries:  # which is not the same as none given
        raise fail(name, "Shards", "a list with at least one shard", describe("an empty one"))
    return entries


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)
