"""What users hand over instead of arrays: rows in shards, on disk or elsewhere."""

import os
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import check_integer, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand_nn.shards.formats.held import HeldArray
from clifford_rand_nn.shards.formats.npy import NpyFile
from clifford_rand_nn.shards.formats.stored import Stored
from clifford_rand_nn.shards.rows import Block, Part

_PART_BYTES = 2**25  # of the rows of a part: some seconds of a pass at most, many parts a worker
_LEAST_ROWS = 4096  # of a part, and what its size is a multiple of


class Shard(NamedTuple):
    """Rows with their targets and weights, where these are."""

    X: Stored
    y: Stored | None
    weights: Stored | None


class Shards:
    r"""Rows in shards, for `fit` of the estimators that train beyond memory; nothing is read but headers.

    Parameters
    ----------
    X : path of a folder, or list of paths or arrays
        A folder holds ``X-00000.npy``, ``y-00000.npy``, … and, if rows have weights, ``w-00000.npy``, …, of the same
        numbers. A list has a file or array (n_i, d) for each shard; arrays are anything with a shape, a dtype and
        slices: memory maps, Zarr arrays. float16, float32, float64, integers and booleans are read as they are.
    y : list, optional
        Labels or targets, (n_i,) or (n_i, C), for each shard; None with a folder.
    sample_weight : list, optional
        Weights (n_i,) ≥ 0 of the rows.
    part_rows : int, optional
        Rows that a worker takes at a time; by default 32 MiB of them.

    Attributes
    ----------
    n, d : int
        Rows and columns.
    dtype : numpy.dtype
        Of the rows.
    parts : tuple of Part

    Raises
    ------
    ArgumentError
        A folder without shards, files that are missing, cut off, or of other shapes than their neighbours.

    Examples
    --------
    >>> rows = [np.ones((5, 2), np.float16), np.zeros((3, 2), np.float16)]
    >>> shards = Shards(rows, [np.ones(5), np.zeros(3)])
    >>> shards.n, shards.d, len(shards.parts)
    (8, 2, 2)
    """

    def __init__(self, X: Any, y: Any = None, *, sample_weight: Any = None, part_rows: int | None = None) -> None:
        if isinstance(X, str | os.PathLike):
            X, y, sample_weight = _folder(Path(X), y, sample_weight)
        lists = {"X": X, "y": y, "sample_weight": sample_weight}
        opened = {name: _stored(values, name) for name, values in lists.items()}
        rows = opened["X"]
        if not rows:
            raise fail("X", "Shards", "at least one shard", X)
        for name in ("y", "sample_weight"):
            if opened[name] and len(opened[name]) != len(rows):
                found = describe(f"{len(opened[name])} beside {len(rows)}")
                raise fail(name, "Shards", "one for each shard of X", found)
        none: list[Any] = [None] * len(rows)
        self.shards = tuple(map(Shard, rows, opened["y"] or none, opened["sample_weight"] or none))
        self._check()
        row_bytes = self.d * self.dtype.itemsize
        size = part_rows or max(_LEAST_ROWS, _PART_BYTES // max(1, row_bytes) // _LEAST_ROWS * _LEAST_ROWS)
        self.part_rows = check_integer(size, "part_rows", "Shards")
        self.parts = tuple(self._parts())

    def _check(self) -> None:
        first = self.shards[0]
        for shard in self.shards:
            if len(shard.X.shape) != 2 or shard.X.shape[1] != first.X.shape[1] or shard.X.shape[1] == 0:
                wanted = f"(n, d) arrays, all of d = {first.X.shape[-1]} columns"
                raise fail("X", "Shards", wanted, describe(f"{shard.X.name}: shape {shard.X.shape}"))
            if shard.X.dtype.kind not in "fiub":
                raise fail("X", "Shards", "real numbers", describe(f"{shard.X.name}: {shard.X.dtype}"))
            for name, other in (("y", shard.y), ("sample_weight", shard.weights)):
                if other is not None and other.shape[:1] != shard.X.shape[:1]:
                    found = describe(f"{other.name}: {other.shape[0]} rows, {shard.X.name}: {shard.X.shape[0]}")
                    raise fail(name, "Shards", "as many rows as X", found)
            if shard.y is not None and first.y is not None and shard.y.shape[1:] != first.y.shape[1:]:
                found = describe(f"{shard.y.name}: shape {shard.y.shape}")
                raise fail("y", "Shards", f"all of shape (n, …{first.y.shape[1:]})", found)
        if self.n == 0:
            raise fail("X", "Shards", "at least one row", describe("none"))

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(shard.X.shape[0] for shard in self.shards)

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.shards[0].X.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the rows; the widest, if shards differ."""
        return np.result_type(*(shard.X.dtype for shard in self.shards))

    @property
    def labelled(self) -> bool:
        """Whether there are targets."""
        return all(shard.y is not None for shard in self.shards)

    def _parts(self) -> Iterator[Part]:
        first = 0
        for index, shard in enumerate(self.shards):
            for start in range(0, shard.X.shape[0], self.part_rows):
                stop = min(start + self.part_rows, shard.X.shape[0])
                yield Part(index, start, stop, first + start)
            first += shard.X.shape[0]

    def blocks(self, part: Part, rows: int) -> Iterator[Block]:
        """Yield the rows of a part, at most ``rows`` at a time.

        Raises
        ------
        ArgumentError
            They cannot be read; the sentence names the file and the rows.
        """
        X, y, weights = self.shards[part.shard]
        for start in range(part.start, part.stop, rows):
            stop = min(start + rows, part.stop)
            read = [None if one is None else _read(one, start, stop) for one in (X, y, weights)]
            w = None if read[2] is None else read[2].astype(np.float64).reshape(stop - start)
            assert read[0] is not None
            yield Block(read[0], read[1], w, part.first + start - part.start)

    @cached_property
    def fingerprint(self) -> str:
        """What tells these shards from others, and from themselves after a change: names, sizes, times, some rows."""
        digest = blake2b(digest_size=16)
        for shard in self.shards:
            for one in shard:
                digest.update(b"-" if one is None else one.identity().encode())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return f"Shards(n={self.n}, d={self.d}, dtype={self.dtype}, shards={len(self.shards)})"


def _read(stored: Stored, start: int, stop: int) -> Any:
    try:
        return stored.read(start, stop)
    except (OSError, ValueError, EOFError) as error:
        found = describe(f"{stored.name}, rows {start} to {stop}: {error}")
        raise fail("X", "Shards", "readable shards", found) from error


def _stored(values: Any, name: str) -> list[Stored]:
    if values is None:
        return []
    if isinstance(values, str | os.PathLike) or not isinstance(values, Sequence | tuple):
        raise fail(name, "Shards", "a list with a file or an array for each shard", describe(type(values).__name__))
    return [_one(value, f"{name}[{i}]") for i, value in enumerate(values)]


def _one(value: Any, name: str) -> Stored:
    if isinstance(value, str | os.PathLike):
        return NpyFile(value)
    if not (hasattr(value, "shape") and hasattr(value, "dtype")):
        raise fail(name, "Shards", "a path, or an array with shape, dtype and slices", value)
    return HeldArray(value, name)


def _folder(folder: Path, y: Any, sample_weight: Any) -> tuple[list[Path], list[Path], list[Path] | None]:
    if y is not None or sample_weight is not None:
        raise fail("y", "Shards", "None with a folder, which has files of its own", describe("another"))
    rows = sorted(folder.glob("X-*.npy"))
    if not rows:
        rule = "a folder with X-00000.npy, y-00000.npy, …"
        raise fail("X", "Shards", rule, describe(f"{folder}" + ("" if folder.is_dir() else ", which is no folder")))

    def beside(letter: str) -> list[Path]:
        return [path.with_name(letter + path.name[1:]) for path in rows]

    weights = beside("w") if any(folder.glob("w-*.npy")) else None
    labels = beside("y") if any(folder.glob("y-*.npy")) else None
    for path in [*(labels or []), *(weights or [])]:
        if not path.exists():
            raise fail("X", "Shards", "a folder with a y (and w) for each X", describe(f"no {path.name} in {folder}"))
    return rows, labels, weights  # type: ignore[return-value]
