"""Tables larger than memory: data frames of some thousand rows, one after the other."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from clifford_rand._checks import check_integer
from clifford_rand._optional import require
from clifford_rand._threads import cpu_count, map_ahead
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._archives import FAULTS, damaged, npz_rows, read_npz, reading_parquet
from clifford_rand_nn.tables.arrow_csv import ArrowPieces
from clifford_rand_nn.tables.delimited import late_codes, pandas_options, reading_csv, without_thousands
from clifford_rand_nn.tables.dialect import SPACES, Dialect, find_dialect, open_bytes
from clifford_rand_nn.tables.files import existing_table, listed, read_ending
from clifford_rand_nn.tables.frames import named_columns, read_frame

Columns = Sequence[str] | Callable[[list[str]], Sequence[str]] | None

_MOST_THREADS = 4
_BUFFER = 2**16  # bytes of a column of Parquet read at once; without, all of a row group is
_MARK = b"\xef\xbb\xbf"  # of UTF-8, where a file begins with it
_SAMPLE = 2**16  # bytes by which the length of a line is guessed


def read_blocks(
    path: str | Path,
    *,
    rows: int = 2**14,
    columns: Columns = None,
    as_text: Sequence[str] = (),
    as_number: Sequence[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
    header: bool = True,
    encoding: str | None = None,
) -> Iterator[Any]:
    r"""Read a table as data frames of about ``rows`` rows, in their order, so that memory does not grow with the file.

    Parquet is read by its row groups, an NPZ by the rows of X (an X in Fortran's order, ARFF and Excel, at once), CSV
    by pandas in pieces that end with a line, a few of them at a time; from the first quotation mark on one by one.

    Parameters
    ----------
    path : path
        As for `read_frame`.
    rows : int
        About as many in a frame.
    columns : sequence of str, function or None
        Those to read; None for all. A function gets the names that are there, and returns those to read.
    as_text : sequence of str
        Columns of a CSV whose cells are texts in every frame, even if those of one are all numbers; the
        ``text_columns`` of a `TableEncoder`.
    as_number : sequence of str
        Columns of a CSV that hold numbers: float64 in a frame that has nothing else in them; the ``number_columns`` of
        a `TableEncoder`. If all columns to read are in ``as_text`` or here, Arrow's parser reads frames of cells such
        as 1.5 and missing ones, in less time; the values are the same.
    separator, decimal, header, encoding
        As for `read_frame`.

    Yields
    ------
    pandas.DataFrame
        The index counts the rows of the file.

    Raises
    ------
    ArgumentError
        As `read_frame` does; a block may come before the fault is met.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "new.csv"
    >>> _ = path.write_text("a,b\n" + "1,x\n" * 5)
    >>> [frame.shape for frame in read_blocks(path, columns=["a"])]
    [(5, 1)]
    """
    rows = check_integer(rows, "rows", "read_blocks")
    file = existing_table(path)
    ending = read_ending(file)
    if ending == ".parquet":
        blocks = _parquet(file, rows, columns)
    elif ending == ".npz":
        blocks = _taken(file, _arrays(file, rows), columns)
    elif ending in (".arff", ".xlsx"):
        frame = read_frame(file, encoding=encoding, header=header)
        blocks = _taken(file, (frame.iloc[i : i + rows] for i in range(0, len(frame), rows)), columns)
    else:
        dialect = find_dialect(file, separator=separator, decimal=decimal, header=header, encoding=encoding)
        blocks = _delimited(file, dialect, rows, columns, as_text, as_number)
    return _counted(file, blocks)


def _counted(file: Path, blocks: Iterator[Any]) -> Iterator[Any]:
    """Count the rows through."""
    n = 0
    for frame in blocks:
        frame = frame.reset_index(drop=True)
        frame.index += n
        n += len(frame)
        yield frame
    if n == 0:
        raise ArgumentError(f"{file}: the table has columns but no rows.")


def _chosen(file: Path, columns: Columns, there: Sequence[str]) -> list[str]:
    """Return the names of the columns to read, which must be there."""
    if columns is None:
        return list(there)
    chosen = list(columns(list(there)) if callable(columns) else columns)
    for name in chosen:
        if name not in there:
            raise ArgumentError(f"{file}: there is no column {name!r}; the columns are {listed(there, name)}.")
    return chosen


def _taken(file: Path, blocks: Iterator[Any], columns: Columns) -> Iterator[Any]:
    chosen: list[str] | None = None
    for frame in blocks:
        if chosen is None:
            chosen = _chosen(file, columns, list(frame.columns))
        yield frame[chosen]


def _parquet(file: Path, rows: int, columns: Columns) -> Iterator[Any]:
    parquet = require("pyarrow.parquet", extra="app", purpose="reading a Parquet table")
    require("pandas", extra="app", purpose="reading a Parquet table")
    with reading_parquet(file), parquet.ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER) as source:
        chosen = _chosen(file, columns, source.schema_arrow.names)
        for batch in source.iter_batches(rows, columns=None if columns is None else chosen):
            frame = batch.to_pandas(split_blocks=True)
            frame.columns = [str(name) for name in frame.columns]
            yield frame if columns is None else frame[chosen]


def _arrays(file: Path, rows: int) -> Iterator[Any]:
    pandas = require("pandas", extra="app", purpose="reading an NPZ as a data frame")
    _, there = read_npz(file, ())
    if "X" not in there:
        raise ArgumentError(f"{file}: there is no array 'X' (n, d) with the features; the arrays are {listed(there)}.")
    arrays, _ = read_npz(file, [name for name in there if name != "X"])
    try:
        with npz_rows(file, "X", rows) as (shape, blocks):
            if len(shape) != 2:
                raise ArgumentError(f"{file}: 'X' must be an (n, d) array; it has shape {shape}.")
            names, beside = named_columns(file, shape, arrays)
            begin = 0
            for X in blocks:
                some = {name: column[begin : begin + len(X)] for name, column in beside.items()}
                begin += len(X)
                yield pandas.concat([pandas.DataFrame(X, columns=names), pandas.DataFrame(some)], axis=1)
    except ArgumentError:
        raise
    except FAULTS as error:
        raise damaged(file, "this NPZ file", error) from error


def _delimited(
    file: Path, dialect: Dialect, rows: int, columns: Columns, as_text: Sequence[str], as_number: Sequence[str]
) -> Iterator[Any]:
    """Read a file of separated values: in threads, from the first quotation mark on by one reader."""
    names = dialect.names
    wanted = _chosen(file, columns, [names[i] for i in dialect.kept])
    some = set(wanted)
    kept = [i for i in dialect.kept if names[i] in some]
    unknown = [name for name in wanted if name not in {*as_text, *as_number}]
    codes = {*dialect.codes, *(late_codes(file, dialect, unknown) if unknown else ())}
    as_text = [*as_text, *(name for name in unknown if name in codes)]
    options = pandas_options(dialect, as_text)
    arrow = ArrowPieces.of(dialect, kept, as_number, as_text)
    with open_bytes(file) as stream:
        by_lines = dialect.encoding.startswith("utf-8") and not dialect.skipped and dialect.separator != SPACES
        if by_lines and _skip_header(stream, dialect):
            options["header"] = None
            frames = _in_threads(file, dialect, stream, rows, options, kept, arrow)
        else:
            stream.seek(0)
            frames = _in_order(file, dialect, stream, rows, options)
        for frame in frames:
            frame = without_thousands(frame, dialect, as_text, as_number)
            kinds = {name: dtype.kind for name, dtype in frame.dtypes.items()}
            whole = {name: np.float64 for name in as_number if kinds.get(name) in ("i", "u")}
            frame = frame.astype(whole) if whole else frame
            yield frame if list(frame.columns) == wanted else frame[wanted]


def _skip_header(stream: IO[bytes], dialect: Dialect) -> bool:
    """Read the line of names; tell whether it was one line."""
    if not dialect.header:
        return True
    line = b"\n"
    while line and not line.removeprefix(_MARK).strip():
        line = stream.readline()
    if b"\r" in line.rstrip(b"\r\n"):
        return False
    try:
        first = line.decode("utf-8-sig").rstrip("\r\n")
        names = next(csv.reader([first], delimiter=dialect.separator, skipinitialspace=dialect.spaces), [])
    except (UnicodeError, csv.Error):
        return False
    # a mark of quotation that is not closed goes on in the next line; one within a cell is a character like others
    return names == list(dialect.names)


def _in_threads(
    file: Path,
    dialect: Dialect,
    stream: IO[bytes],
    rows: int,
    options: dict[str, Any],
    kept: Sequence[int],
    arrow: ArrowPieces | None,
) -> Iterator[Any]:
    """Read pieces in a few threads; from the first quotation mark on, where a cell may have several lines, in order."""
    pandas = require("pandas", extra="app", purpose="reading a CSV table")
    mark, most = dialect.separator.encode(), len(dialect.names) - 1

    def read(piece: bytes) -> Any:
        frame = None if arrow is None else arrow(piece)
        if frame is not None:
            return frame
        # of rows that are too long pandas tells only if it is to read all columns
        chosen = {"usecols": kept} if len(kept) <= most and _alike(piece, mark, most) else {}
        return pandas.read_csv(io.BytesIO(piece), **options, **chosen)

    pieces = _pieces(file, dialect, stream, rows)
    yield from _told(file, dialect, map_ahead(read, pieces, min(_MOST_THREADS, cpu_count())))
    yield from _in_order(file, dialect, stream, rows, options)


def _pieces(file: Path, dialect: Dialect, stream: IO[bytes], rows: int) -> Iterator[bytes]:
    """Yield about ``rows`` lines at a time until there are quotation marks; the stream is left at that piece."""
    mark, most = dialect.separator.encode(), len(dialect.names) - 1
    begin = stream.tell()
    sample = stream.read(_SAMPLE)
    size = rows * max(1, len(sample) // max(1, sample.count(b"\n")))
    stream.seek(begin)
    while piece := stream.read(size) + stream.readline():
        if b'"' in piece:
            stream.seek(begin - (begin > 0 and piece.startswith(_MARK)))  # with the end of the line before it
            return
        if io.BytesIO(piece).readline().count(mark) > most:
            raise ArgumentError(f"{file}: malformed CSV: rows have more cells than the first line.")
        begin += len(piece)
        if piece.strip(b" \r\n"):  # a line of nothing but tabs is a row of empty cells
            # a byte order mark is one at the beginning of the file; at that of a piece it is part of a cell (files
            # joined to one have some), which parsers would leave out: they do not look for it below a blank line
            yield b"\n" + piece if piece.startswith(_MARK) and begin > len(piece) else piece


def _alike(piece: bytes, mark: bytes, most: int) -> bool:
    """Tell whether lines have ``most`` separators each, as far as their sum tells."""
    lines = _count(piece, b"\n") + (not piece.endswith(b"\n"))
    return _count(piece, mark) == most * lines


def _count(piece: bytes, mark: bytes) -> int:
    """Return how often a character occurs; without the lock that `bytes.count` holds, and in an eighth of its time."""
    if len(mark) > 1:
        return piece.count(mark)
    return int(np.count_nonzero(np.frombuffer(piece, dtype=np.uint8) == mark[0]))


def _in_order(file: Path, dialect: Dialect, stream: IO[bytes], rows: int, options: dict[str, Any]) -> Iterator[Any]:
    """Read from where the stream is by one reader, if there is anything."""
    pandas = require("pandas", extra="app", purpose="reading a CSV table")
    with reading_csv(file, dialect):
        if not cast("Any", stream).peek(1):
            return
        reader = pandas.read_csv(stream, chunksize=rows, **options)
    yield from _told(file, dialect, reader)


def _told(file: Path, dialect: Dialect, frames: Iterator[Any]) -> Iterator[Any]:
    """Yield frames, and tell of what pandas raises of them."""
    while True:
        with reading_csv(file, dialect):  # not around the yield: it would catch what the caller raises
            frame = next(frames, None)
        if frame is None:
            return
        yield frame
