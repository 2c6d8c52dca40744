"""Shards: rows beyond memory, on disk or elsewhere, that estimators fit instead of arrays."""

import copy
import math
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_integer, describe, fail
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.row_sums import Block, Part
from clifford_rand_nn.shards.readers import opened_shards
from clifford_rand_nn.shards.stored_arrays import UNREADABLE, Stored

_MOST_BYTES = 2**44  # of rows that are said to be there
_PART_BYTES = 2**25  # of the rows of a part at most: a second of a pass
_PARTS = 64  # at least, if there are the rows: workers take whole parts, and end at about the same time
_ROLES = ("X", "y", "sample_weight")
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
    X : path, list of paths or arrays, or array
        A folder holds ``X-00000.npy``, ``y-00000.npy``, … and, if rows have weights, ``w-00000.npy``, …, of the same
        numbers; or Parquet files; or Zarr. A Zarr group has the arrays ``X``, ``y`` and, with weights,
        ``sample_weight``. A list has a file or an array (n_i, d) for each shard. Arrays are anything with a shape, a
        dtype and slices: memory maps (read as the files they are), Zarr, HDF5; the chunks along rows of a Dask array
        are shards. float16, float32, float64, integers and booleans are read as they are.
    y : list, optional
        Labels or targets, (n_i,) or (n_i, C), for each shard; None with a folder. Labels may be texts.
    sample_weight : list, or str, optional
        Weights (n_i,) ≥ 0 of the rows; of Parquet the name of a column.
    target : str or sequence of str, optional
        Column of Parquet files with the targets; several are several outputs.
    columns : sequence of str, optional
        Columns of Parquet files that are features; by default all that are neither targets nor weights. One whose cells
        are lists of one length (embeddings) is as many columns.
    part_rows : int, optional
        Rows that a worker takes at a time; by default a 64th of all, at least 4096, at most 32 MiB. Row groups of
        Parquet and chunks of other formats are not divided.

    Raises
    ------
    ArgumentError
        A folder without shards; files that are missing, cut off, or of other shapes than their neighbors; columns that
        hold no numbers; more than 16 TiB.
    MissingDependencyError
        The library that reads the format is missing.

    Examples
    --------
    >>> rows = [np.ones((5, 2), np.float16), np.zeros((3, 2), np.float16)]
    >>> shards = Shards(rows, [np.ones(5), np.zeros(3)])
    >>> shards.n_rows, shards.n_features, len(shards.parts)
    (8, 2, 2)
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        target: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        part_rows: int | None = None,
    ) -> None:
        opened = opened_shards(X, y, sample_weight, target, columns)
        rows = opened["X"]
        if not rows:
            raise fail("X", "Shards", "at least one shard", X)
        for name in ("y", "sample_weight"):
            if opened[name] and len(opened[name]) != len(rows):
                received = describe(f"{len(opened[name])} beside {len(rows)}")
                raise fail(name, "Shards", "one for each shard of X", received)
        none: list[Any] = [None] * len(rows)
        self.shards = tuple(map(Shard, rows, opened["y"] or none, opened["sample_weight"] or none))
        self._check()
        most = min(_PART_BYTES // (self.n_features * self.dtype.itemsize), self.n_rows // _PARTS)
        size = max(_LEAST_ROWS, most // _LEAST_ROWS * _LEAST_ROWS)
        self.part_rows = check_integer(size if part_rows is None else part_rows, "part_rows", "Shards")
        self.parts: tuple[Part, ...] = tuple(_parts_of(self))

    def _check(self) -> None:
        first = self.shards[0]
        for shard in self.shards:
            if len(shard.X.shape) != 2 or shard.X.shape[1:] != first.X.shape[1:] or shard.X.shape[1] == 0:
                same = f", all of d = {first.X.shape[1]} columns" if len(first.X.shape) == 2 else ""
                raise fail("X", "Shards", f"(n, d) arrays{same}", describe(f"{shard.X.name}: shape {shard.X.shape}"))
            for name, stored, kinds in (("X", shard.X, "fiub"), ("y", shard.y, "fiubUS"), ("w", shard.weights, "fiub")):
                if stored is not None and stored.dtype.kind not in kinds:
                    rule = "numbers or texts of fixed size" if name == "y" else "real numbers"
                    received = describe(f"{stored.name}: {stored.dtype}")
                    hint = "numpy.asarray(y, dtype=str) has texts of one size." if stored.dtype == object else ""
                    raise fail("sample_weight" if name == "w" else name, "Shards", rule, received, hint)
            for name, beside in (("y", shard.y), ("sample_weight", shard.weights)):
                if beside is not None and beside.shape[:1] != shard.X.shape[:1]:
                    received = describe(f"{beside.name}: {_rows(beside)}, {shard.X.name}: {_rows(shard.X)}")
                    raise fail(name, "Shards", "as many rows as X", received)
            if shard.weights is not None and shard.weights.shape[1:] not in ((), (1,)):
                received = describe(f"{shard.weights.name}: shape {shard.weights.shape}")
                raise fail("sample_weight", "Shards", "one number a row", received)
            if shard.y is not None and len(shard.y.shape) > 2:
                raise fail("y", "Shards", "(n,) or (n, C)", describe(f"{shard.y.name}: shape {shard.y.shape}"))
            if shard.y is not None and first.y is not None and shard.y.shape[1:] != first.y.shape[1:]:
                received = describe(f"{shard.y.name}: shape {shard.y.shape}")
                raise fail("y", "Shards", f"all of shape (n, …{first.y.shape[1:]})", received)
            if shard.y is not None and first.y is not None and _said(shard.y) != _said(first.y):
                received = describe(f"{_said(shard.y)} in {shard.y.name}, {_said(first.y)} in {first.y.name}")
                raise fail("y", "Shards", "numbers in all shards, or texts in all", received)
        if self.n_rows == 0:
            raise fail("X", "Shards", "at least one row", describe("none"))
        # of chunks that are not there: formats fill them in
        if self.n_rows * self.n_features * self.dtype.itemsize > _MOST_BYTES:
            received = describe(f"shape ({self.n_rows}, {self.n_features})")
            raise fail("X", "Shards", f"at most {_MOST_BYTES >> 40} TiB", received)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(shard.X.shape[0] for shard in self.shards)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.shards[0].X.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the rows; the widest, if shards differ."""
        return np.result_type(*(shard.X.dtype for shard in self.shards))

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, where the format has any."""
        return getattr(self.shards[0].X, "columns", None)

    @property
    def has_targets(self) -> bool:
        """Whether there are targets."""
        return all(shard.y is not None for shard in self.shards)

    def __repr__(self) -> str:
        return f"Shards(n={self.n_rows}, d={self.n_features}, dtype={self.dtype}, shards={len(self.shards)})"


def _parts_of(shards: Shards) -> Iterator[Part]:
    first = 0
    for index, shard in enumerate(shards.shards):
        n, start = shard.X.shape[0], 0
        while start < n:
            stop = min(start + shards.part_rows, n)
            unit = shard.X.unit(stop) if stop < n else None
            if unit is not None:  # as many whole units as there is room for, or one
                stop = unit[0] if unit[0] > start else unit[1]
            yield Part(index, start, stop, first + start)
            start = stop
        first += n


def part_bytes(shards: Shards, part: Part) -> int:
    """Return the bytes of the rows of a part, in the types in which they are stored."""
    stored = [array for array in shards.shards[part.shard] if array is not None]
    return part.size * sum(math.prod(array.shape[1:]) * array.dtype.itemsize for array in stored)


def with_shards(shards: Shards, others: tuple[Shard, ...]) -> Shards:
    """Return shards of other rows, divided as these."""
    copied = copy.copy(shards)
    copied.shards = others
    copied.parts = tuple(_parts_of(copied))
    return copied


def whole_shards(shards: Shards) -> Shards:
    """Return the same shards with a part for each, for work that writes a file a shard."""
    copied = copy.copy(shards)
    first = np.cumsum([0, *(shard.X.shape[0] for shard in shards.shards)])
    sizes = enumerate(shard.X.shape[0] for shard in shards.shards)
    copied.parts = tuple(Part(index, 0, size, int(first[index])) for index, size in sizes if size)
    return copied


def shard_blocks(
    shards: Shards, part: Part, rows: int, *, targets: bool = True, columns: bool = True
) -> Iterator[Block]:
    """Yield the rows of a part, at most ``rows`` at a time, with their targets and weights if these are wanted.

    Without ``columns`` their X is (k, 0), and nothing is read of them. Raises ArgumentError: they cannot be read; the
    sentence names the file and the rows.
    """
    stored = shards.shards[part.shard] if targets else (shards.shards[part.shard].X, None, None)
    named = zip(_ROLES, stored, strict=True)
    X, y, weights = (None if stored is None else _read(name, stored, part, rows) for name, stored in named)
    assert X is not None
    first = part.first
    sizes = (min(rows, part.stop - start) for start in range(part.start, part.stop, rows))
    for block in X if columns else (np.empty((size, 0), shards.dtype) for size in sizes):
        w = None if weights is None else next(weights).astype(np.float64).reshape(len(block))
        yield Block(block, None if y is None else next(y), w, first)
        first += len(block)


def fingerprint(shards: Shards) -> str:
    """Return what tells shards from others, and from themselves after a change: names, sizes, times, some rows."""
    digest = blake2b(digest_size=16)
    for shard in shards.shards:
        for name, stored in zip(_ROLES, shard, strict=True):
            try:
                digest.update(b"-" if stored is None else stored.identity().encode())
            except UNREADABLE as error:
                assert stored is not None
                raise _unreadable(name, f"{stored.name}", error) from error
    return digest.hexdigest()


def _rows(stored: Stored) -> str:
    return f"{stored.shape[0]} rows" if stored.shape else "one number"


def _said(stored: Stored) -> str:
    return {"U": "texts", "S": "bytes"}.get(stored.dtype.kind, "numbers")


def _unreadable(name: str, where: str, error: BaseException) -> ArgumentError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
    return fail(name, "Shards", "readable shards", describe(f"{where}: {' '.join(reason.split())}"))


def _read(name: str, stored: Stored, part: Part, rows: int) -> Iterator[NDArray[Any]]:
    """Yield the rows of a part; a shard that cannot be read, or gives less, is named."""
    start = part.start
    try:
        for block in stored.blocks(part.start, part.stop, rows):
            if len(block) != min(rows, part.stop - start):  # of a damaged file: targets beside it may be whole
                raise EOFError(f"there are {len(block)} rows")
            yield block
            start += len(block)
        if start < part.stop:
            raise EOFError("there are no more rows")
    except UNREADABLE as error:
        raise _unreadable(name, f"{stored.name}, rows {start} to {min(start + rows, part.stop)}", error) from error
