"""Columns of Parquet files, read by row groups in batches: a file is never in memory as a whole."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._files import reading_parquet
from clifford_rand.errors import require
from clifford_rand_nn.shards.stored_arrays import Stored, regrouped

_BUFFER = 2**16  # bytes of a column that are read at once; without, all of a row group is
_TABLES = "Columns of categories, dates and texts are encoded by clifford_rand_nn.table_model, in memory; or drop them."


class ParquetColumns(Stored):
    """Some columns of one Parquet file as an array (n, d), or one of them as (n,).

    A column of lists of one length, such as embeddings, is as many columns.

    ``columns``: their names, where each is one column.
    """

    def __init__(
        self,
        file: "ParquetFacts",
        columns: Sequence[str],
        flat: bool,
        labels: bool = False,
        like: "ParquetFacts | None" = None,
    ) -> None:
        self.name, self._names = file.name, tuple(columns)
        self._widths = tuple((like or file).width_of(name) for name in columns)
        self.columns = None if any(self._widths) else self._names
        self._seen, self._groups, self._flat = file.seen, file.groups, flat
        self._ends = np.cumsum(self._groups)
        n = int(self._groups.sum())
        self.shape = (n,) if flat else (n, sum(max(1, width) for width in self._widths))
        self.dtype: np.dtype[Any] = np.result_type(*(file.type_of(name, labels) for name in columns))

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows."""
        blocks = list(self.blocks(start, stop, max(1, stop - start)))
        return blocks[0] if blocks else np.empty((0, *self.shape[1:]), self.dtype)

    def blocks(self, start: int, stop: int, rows: int) -> Iterator[NDArray[Any]]:
        """Yield rows, decoded from the beginning of the row group that ``start`` lies in."""
        return regrouped(self._batches(start, stop, rows), rows)

    def _batches(self, start: int, stop: int, rows: int) -> Iterator[NDArray[Any]]:
        parquet = require("pyarrow.parquet", extra="shards", purpose="reading Parquet")
        about = os.stat(self.name)
        if (about.st_size, about.st_mtime_ns) != self._seen:
            raise OSError("the file has changed since Shards was made")
        ends = self._ends
        groups = range(int(np.searchsorted(ends, start, "right")), int(np.searchsorted(ends, stop, "left")) + 1)
        at = int(ends[groups[0]] - self._groups[groups[0]])
        with parquet.ParquetFile(self.name, pre_buffer=False, buffer_size=_BUFFER) as source:
            for batch in source.iter_batches(rows, list(groups), list(self._names), use_threads=False):
                some = slice(max(0, start - at), max(0, stop - at))
                at += len(batch)
                if at > start and len(batch) > some.start and some.stop > 0:
                    yield self._array(batch.slice(some.start, some.stop - some.start))

    def _array(self, batch: Any) -> NDArray[Any]:
        rows = np.empty((len(batch), *self.shape[1:]), self.dtype)
        at = 0
        for name, width in zip(self._names, self._widths, strict=True):
            array = batch.column(name)
            if array.null_count:
                raise ValueError(f"the column {name!r} has {array.null_count} empty cells")
            if width:
                rows[:, at : at + width] = self._lists(array, name, width)
            elif self._flat:
                return _plain(array, self.dtype)
            else:
                rows[:, at] = _plain(array, self.dtype)
            at += max(1, width)
        return rows

    def _lists(self, array: Any, name: str, width: int) -> NDArray[Any]:
        from pyarrow import compute

        if not compute.all(compute.equal(compute.list_value_length(array), width)).as_py():
            raise ValueError(f"the column {name!r} has lists of other lengths than {width}")
        values = array.flatten()  # of the rows of a slice only
        if values.null_count:
            raise ValueError(f"the column {name!r} has {values.null_count} empty entries")
        return _plain(values, self.dtype).reshape(len(array), width)

    def unit(self, row: int) -> tuple[int, int]:
        """Return the rows of a row group."""
        group = int(np.searchsorted(self._ends, row, "right"))
        return int(self._ends[group] - self._groups[group]), int(self._ends[group])

    def identity(self) -> str:
        """Return path, size, time of change, and the columns."""
        return f"{Path(self.name).resolve()}:{self._seen}:{self._names}"


class ParquetFacts:
    """The footer of a Parquet file: columns with their types, rows of each row group, size and time of change.

    Raises ArgumentError: there is no such file, or it is cut off or something else.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        parquet = require("pyarrow.parquet", extra="shards", purpose="reading Parquet")
        self.name = os.fspath(path)
        if not os.path.isfile(path):
            raise fail("X", "Shards", "files that are there", describe(self.name))
        about = os.stat(path)
        self.seen = about.st_size, about.st_mtime_ns
        with reading_parquet(path), parquet.ParquetFile(path) as source:
            self.schema = source.schema_arrow
            self._first = self._one_row(source)
            about = source.metadata
            groups = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
            if min(groups, default=0) < 0:
                raise ValueError(f"a row group that says it has {min(groups)} rows")
        self.groups = np.array(groups, dtype=np.int64)

    def _one_row(self, source: Any) -> Any:
        """Return the first row of the columns whose lists have no fixed length; None if there are none."""
        import pyarrow as pa

        free = [
            field.name for field in self.schema if pa.types.is_list(field.type) or pa.types.is_large_list(field.type)
        ]
        return next(source.iter_batches(1, columns=free, use_threads=False), None) if free else None

    def width_of(self, column: str) -> int:
        """Return how long the lists of a column are; 0 if it has none."""
        import pyarrow as pa

        kind = self.schema.field(column).type
        if not _is_list(kind):
            return 0
        if pa.types.is_fixed_size_list(kind):
            return int(kind.list_size)
        first = None if self._first is None else self._first.column(column)[0]
        if first is None or not first.is_valid or len(first) == 0:
            received = describe(f"{self.name}: the column {column!r} begins with none")
            raise fail("X", "Shards", "lists of one length ≥ 1", received)
        return len(first)

    def type_of(self, column: str, labels: bool) -> np.dtype[Any]:
        """Return the type in which a column is read; texts only where these are labels."""
        import pyarrow as pa

        kind = self.schema.field(column).type
        if not labels and _is_list(kind):
            kind = kind.value_type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type if labels else kind
        if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
            return np.dtype(str(kind.to_pandas_dtype().__name__))
        if pa.types.is_decimal(kind):
            return np.dtype(np.float64)
        if labels and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return np.dtype(str)
        received = describe(f"{self.name}: the column {column!r} of type {kind}")
        if labels:
            raise fail("target", "Shards", "a column of numbers, truth values or texts", received)
        raise fail("X", "Shards", "columns of numbers or truth values", received, _TABLES)


def parquet_columns(
    paths: Sequence[str | os.PathLike[str]],
    target: str | Sequence[str] | None,
    sample_weight: str | None,
    columns: Sequence[str] | None,
) -> dict[str, list[Stored]]:
    """Return features, targets and weights of Parquet files, which have the same columns in any order.

    Features are the ``columns``, or all but the targets and the weights. Raises ArgumentError: a file cannot be read;
    it lacks a column or has other ones than the first; a column holds no numbers.
    """
    targets = [target] if isinstance(target, str) else list(target or ())
    apart = [*targets, *([] if sample_weight is None else [sample_weight])]
    facts = [ParquetFacts(path) for path in paths]
    first = facts[0]
    chosen = list(columns) if columns is not None else [name for name in first.schema.names if name not in apart]
    if not chosen:
        raise fail("X", "Shards", "files with columns for features", describe(f"{first.name}: none"))
    like = next((file for file in facts if file.groups.sum()), first)  # lists of a file without rows have no length
    roles: dict[str, list[Stored]] = {"X": [], "y": [], "sample_weight": []}
    for file in facts:
        present = file.schema.names
        for role, names in (("target", targets), ("sample_weight", apart[len(targets) :]), ("X", chosen)):
            for name in names:
                if present.count(name) != 1:
                    rule = f"{'a column' if role != 'X' else 'columns'} that every file has once"
                    raise fail(role, "Shards", rule, describe(f"{file.name}: {present.count(name)} named {name!r}"))
        more = [] if columns is not None else sorted(set(present) - {*chosen, *apart})
        if more:
            received = describe(f"{file.name}: {', '.join(more)} beside those of {first.name}")
            raise fail("X", "Shards", "files with the same columns", received, "Name those to take: columns=[…].")
    for file in facts:
        roles["X"].append(ParquetColumns(file, chosen, flat=False, like=like))
        if targets:
            roles["y"].append(ParquetColumns(file, targets, flat=len(targets) == 1, labels=True))
        if sample_weight is not None:
            roles["sample_weight"].append(ParquetColumns(file, [sample_weight], flat=True))
    return roles


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _plain(array: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a column of Arrow as an array: of dictionaries their values, decimals as float64."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.float64())
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values.astype(str if dtype.kind == "U" else dtype, copy=False)
