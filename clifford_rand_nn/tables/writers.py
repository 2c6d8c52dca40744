"""Table files: names that are read, and writers of predictions and features."""

import csv
import difflib
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np

from clifford_rand._checks import check_path
from clifford_rand._files import replaced
from clifford_rand.errors import ArgumentError, available, require
from clifford_rand_nn._words import printable_lines, some_of

Write = Callable[[Mapping[str, Any]], None]


@contextmanager
def written_columns(path: Path | None) -> Iterator[Write]:
    """Yield a function that writes columns of one length below those before; the file appears complete or not at all.

    CSV is written by pyarrow where it is installed, else by Python: numbers so that they are read back bit for bit.
    """
    if path is None:
        with _csv(_Terminal() if sys.stdout.isatty() else sys.stdout.buffer) as write:
            yield write
        return
    writer = {".npz": _arrays, ".parquet": _parquet}.get(path.suffix.lower(), _csv_file)
    with replaced(path) as new, writer(new) as write:
        yield write


class _Terminal(io.RawIOBase):
    """Standard output on a terminal, control characters escaped; a pipe gets them unchanged."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        sys.stdout.write(printable_lines(bytes(data).decode(errors="replace")))
        return len(data)


def _csv(stream: Any) -> AbstractContextManager[Write]:
    return _arrow_csv(stream) if available("pyarrow") else _plain_csv(stream)


@contextmanager
def _csv_file(path: Path) -> Iterator[Write]:
    with open(path, "wb") as stream, _csv(stream) as write:
        yield write


@contextmanager
def _plain_csv(stream: Any) -> Iterator[Write]:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer, begun = csv.writer(text, lineterminator="\n"), False

    def write(columns: Mapping[str, Any]) -> None:
        nonlocal begun
        if not begun:
            writer.writerow(columns)
            begun = True
        writer.writerows(zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True))

    yield write
    text.detach()


@contextmanager
def _arrow_csv(stream: Any) -> Iterator[Write]:
    from pyarrow import csv as arrow_csv

    begun: dict[str, Any] = {}

    def write(columns: Mapping[str, Any]) -> None:
        if not begun:
            stream.write((",".join(map(_quoted, columns)) + "\n").encode())
        table = _table({name: _words(values) for name, values in columns.items()}, begun)
        style = "needed" if any(_has_marks(column) for column in table.columns) else "none"  # "needed": all texts
        arrow_csv.write_csv(table, stream, arrow_csv.WriteOptions(include_header=False, quoting_style=style))

    yield write
    stream.flush()


def _has_marks(column: Any) -> bool:
    """Tell whether a column holds texts that must be quoted."""
    import pyarrow as pa
    from pyarrow import compute

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    return bool(compute.any(compute.match_substring_regex(column.unique(), '[",\n\r]')).as_py())


@contextmanager
def _parquet(path: Path) -> Iterator[Write]:
    require("pandas", extra="app", purpose="Parquet")
    parquet = require("pyarrow.parquet", extra="app", purpose="Parquet")
    writer: Any = None
    begun: dict[str, Any] = {}

    def write(columns: Mapping[str, Any]) -> None:
        nonlocal writer
        table = _table(columns, begun)
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)

    yield write
    if writer is not None:
        writer.close()


@contextmanager
def _arrays(path: Path) -> Iterator[Write]:
    """Keep all blocks: an array is written at once."""
    blocks: list[Mapping[str, Any]] = []
    yield blocks.append
    arrays = {name: np.concatenate([np.asarray(block[name]) for block in blocks]) for name in blocks[0]}
    plain = {name: values.astype(str) if values.dtype == object else values for name, values in arrays.items()}
    with open(path, "wb") as stream:
        np.savez(stream, **cast("Any", plain))


def _table(columns: Mapping[str, Any], begun: dict[str, Any]) -> Any:
    """Return an Arrow table; columns are of the types of the first block, which ``begun`` holds."""
    import pyarrow as pa

    arrays = {}
    for name, values in columns.items():
        array = values if isinstance(values, pa.Array) else pa.array(values, type=begun.get(name), from_pandas=True)
        begun.setdefault(name, array.type)
        arrays[name] = array
    return pa.table(arrays)


def _words(values: Any) -> Any:
    """Return truth values as Arrow's texts of how Python writes them, other values as they are."""
    import pyarrow as pa

    if getattr(values, "dtype", None) != np.bool_:
        return values
    return pa.array(["False", "True"]).take(pa.array(np.asarray(values).astype(np.int8)))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(mark in name for mark in ',"\n\r') else name


WRITTEN = (".csv", ".parquet", ".npz")
READ = (*WRITTEN, ".tsv", ".txt", ".dat", ".data", ".csv.gz", ".tsv.gz", ".txt.gz", ".zip", ".arff", ".xlsx")
_SHOWN = 8  # names listed in one error line


def existing_table(path: str | Path) -> Path:
    """Return the path of a file that is not empty and has an ending that can be read; FileNotFoundError without one."""
    read_ending(path)
    file = Path(path)
    if file.is_dir():
        raise ArgumentError(f"{file}: this is a folder, not a file.")
    if file.stat().st_size == 0:
        raise ArgumentError(f"{file}: the file is empty.")
    return file


def read_ending(path: str | Path) -> str:
    """Return the ending of a table that can be read, such as ".csv.gz", in lower case."""
    file = check_path(path, "path", "read_frame")
    ending = file.suffix.lower()
    if ending == ".gz":
        ending = "".join(file.suffixes[-2:]).lower()
    if ending not in READ:
        raise ArgumentError(f"{path}: unknown ending {ending!r}; use one of {', '.join(READ)}.")
    return ending


def refuse_duplicates(file: Path, names: Sequence[str]) -> None:
    """Refuse a name that appears twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ArgumentError(f"{file}: the column name {name!r} appears more than once; rename or drop one.")
        seen.add(name)


def closest(name: str, there: Sequence[str]) -> str:
    """Return " (is 'x' meant?)" for the name that is closest, or nothing."""
    folded = {candidate.lower(): candidate for candidate in there}
    close = difflib.get_close_matches(name.lower(), list(folded), 1)
    return f" (is {folded[close[0]]!r} meant?)" if close else ""


def listed(names: Sequence[str] | Mapping[str, object], wanted: str | None = None) -> str:
    """List names for one error line, with the closest to ``wanted``: "'age', 'city' (is 'age' meant?)"."""
    every = list(names)
    text = some_of([repr(name) for name in every], _SHOWN) or "none"
    return text if wanted is None else text + closest(wanted, every)
