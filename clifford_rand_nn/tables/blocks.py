"""Tables larger than memory: data frames of some thousand rows, one after the other."""

import gzip
import io
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, cast

from clifford_rand._checks import check_integer
from clifford_rand._optional import require
from clifford_rand._threads import cpu_count
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._archives import FAULTS, damaged, npz_rows, read_npz, reading_parquet
from clifford_rand_nn.tables.delimited import pandas_options, reading_csv, without_thousands
from clifford_rand_nn.tables.dialect import Dialect, find_dialect
from clifford_rand_nn.tables.files import existing_table, listed, read_ending
from clifford_rand_nn.tables.frames import named_columns, read_frame

_MOST_THREADS = 4
_BUFFER = 2**16  # bytes of a column of Parquet read at once; without, all of a row group is
_SAMPLE = 2**16  # bytes by which the length of a line is guessed


def read_blocks(
    path: str | Path,
    *,
    rows: int = 2**14,
    columns: Sequence[str] | None = None,
    as_text: Sequence[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
    header: bool = True,
    encoding: str | None = None,
) -> Iterator[Any]:
    r"""Read a table as data frames of about ``rows`` rows, in their order, so that memory does not grow with the file.

    Parquet is read by its row groups, an NPZ by the rows of X (an X in Fortran's order, and ARFF, at once), CSV by
    pandas in pieces that end with a line, a few of them at a time; from the first quotation mark on one by one.

    Parameters
    ----------
    path : path
        As for `read_frame`.
    rows : int
        About as many in a frame.
    columns : sequence of str or None
        Those to read; None for all.
    as_text : sequence of str
        Columns of a CSV whose cells are texts in every frame, even if those of one are all numbers; the
        ``text_columns`` of a `TableEncoder`.
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
    check_integer(rows, "rows", "read_blocks")
    file = existing_table(path)
    ending = read_ending(file)
    if ending == ".parquet":
        blocks = _parquet(file, rows, columns)
    elif ending == ".npz":
        blocks = _arrays(file, rows)
    elif ending == ".arff":
        frame = read_frame(file, encoding=encoding)
        blocks = (frame.iloc[i : i + rows] for i in range(0, len(frame), rows))
    else:
        dialect = find_dialect(file, separator=separator, decimal=decimal, header=header, encoding=encoding)
        blocks = _delimited(file, dialect, rows, columns, as_text)
    return _counted(file, blocks, columns)


def _counted(file: Path, blocks: Iterator[Any], columns: Sequence[str] | None) -> Iterator[Any]:
    """Take the columns, and count the rows through."""
    n = 0
    for frame in blocks:
        if columns is not None:
            _refuse_missing(file, columns, list(frame.columns))
            frame = frame[list(columns)]
        frame = frame.reset_index(drop=True)
        frame.index += n
        n += len(frame)
        yield frame
    if n == 0:
        raise ArgumentError(f"{file}: the table has columns but no rows.")


def _refuse_missing(file: Path, columns: Sequence[str] | None, there: Sequence[str]) -> None:
    for name in columns or ():
        if name not in there:
            raise ArgumentError(f"{file}: there is no column {name!r}; the columns are {listed(there, name)}.")


def _parquet(file: Path, rows: int, columns: Sequence[str] | None) -> Iterator[Any]:
    parquet = require("pyarrow.parquet", extra="app", purpose="reading a Parquet table")
    require("pandas", extra="app", purpose="reading a Parquet table")
    with reading_parquet(file), parquet.ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER) as source:
        _refuse_missing(file, columns, source.schema_arrow.names)
        for batch in source.iter_batches(rows, columns=None if columns is None else list(columns)):
            frame = batch.to_pandas(split_blocks=True)
            frame.columns = [str(name) for name in frame.columns]
            yield frame


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
    file: Path, dialect: Dialect, rows: int, columns: Sequence[str] | None, as_text: Sequence[str]
) -> Iterator[Any]:
    """Read a file of separated values: in threads, from the first quotation mark on by one reader."""
    kept = [i for i in range(len(dialect.names)) if i not in dialect.left_out]
    names = [name if i in kept else f"no name {i}" for i, name in enumerate(dialect.names)]
    _refuse_missing(file, columns, [names[i] for i in kept])
    if columns is not None:
        kept = [i for i in kept if names[i] in columns]
    options = pandas_options(dialect, as_text) | {"names": names}
    with _opened(file) as stream:
        if dialect.encoding.startswith("utf-8") and _skip_header(stream, dialect):
            options["header"] = None
            frames = _in_threads(file, dialect, stream, rows, options, kept)
        else:
            options["header"] = 0 if dialect.header else None
            stream.seek(0)
            frames = _in_order(file, dialect, stream, rows, options)
        wanted = [names[i] for i in kept]
        for frame in frames:
            frame = without_thousands(frame, dialect, as_text)
            yield frame if len(frame.columns) == len(kept) else frame[wanted]


def _opened(file: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(file, "rb")) if file.suffix.lower() == ".gz" else open(file, "rb")


def _skip_header(stream: IO[bytes], dialect: Dialect) -> bool:
    """Read the line of names; tell whether it was one line."""
    if not dialect.header:
        return True
    line = b"\n"
    while line and not line.removeprefix(b"\xef\xbb\xbf").strip():
        line = stream.readline()
    return line.count(b'"') % 2 == 0 and b"\r" not in line.rstrip(b"\r\n")


def _in_threads(
    file: Path, dialect: Dialect, stream: IO[bytes], rows: int, options: dict[str, Any], kept: Sequence[int]
) -> Iterator[Any]:
    """Read pieces in a few threads; from the first quotation mark on, where a cell may have several lines, in order."""
    pandas = require("pandas", extra="app", purpose="reading a CSV table")
    threads, mark = min(_MOST_THREADS, cpu_count()), dialect.separator.encode()
    begin = stream.tell()
    sample = stream.read(_SAMPLE)
    size = rows * max(1, len(sample) // max(1, sample.count(b"\n")))
    stream.seek(begin)
    ahead: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            while True:
                with reading_csv(file, dialect):
                    piece = stream.read(size)
                    piece += stream.readline()
                if b'"' in piece or not piece:
                    break
                most = len(dialect.names) - 1
                if io.BytesIO(piece).readline().count(mark) > most:
                    raise ArgumentError(f"{file}: malformed CSV: rows have more cells than the first line.")
                begin += len(piece)
                # of rows that are too long pandas tells only if it is to read all columns
                chosen = {"usecols": kept} if len(kept) <= most and _alike(piece, mark, most) else {}
                if not piece.isspace():
                    ahead.append(pool.submit(pandas.read_csv, io.BytesIO(piece), **options, **chosen))
                if len(ahead) > threads:
                    yield _result(file, dialect, ahead.popleft())
            while ahead:
                yield _result(file, dialect, ahead.popleft())
        finally:
            for future in ahead:
                future.cancel()
    if piece:
        stream.seek(begin)
        yield from _in_order(file, dialect, stream, rows, options)


def _alike(piece: bytes, mark: bytes, most: int) -> bool:
    """Tell whether lines have ``most`` separators each, as far as their sum tells."""
    return piece.count(mark) == most * (piece.count(b"\n") + (not piece.endswith(b"\n")))


def _result(file: Path, dialect: Dialect, future: Future[Any]) -> Any:
    with reading_csv(file, dialect):
        return future.result()


def _in_order(file: Path, dialect: Dialect, stream: IO[bytes], rows: int, options: dict[str, Any]) -> Iterator[Any]:
    """Read from where the stream is by one reader."""
    pandas = require("pandas", extra="app", purpose="reading a CSV table")
    with reading_csv(file, dialect):
        reader = pandas.read_csv(stream, chunksize=rows, **options)
    while True:
        with reading_csv(file, dialect):  # not around the yield: it would catch what the caller raises
            frame = next(reader, None)
        if frame is None:
            return
        yield frame
