"""Table files, and those of separated values as data frames by pandas, whole or in blocks."""

# ruff: noqa: D102  # methods are described by TableFile

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from clifford_rand._files import named_errors
from clifford_rand._threads import cached_property
from clifford_rand.errors import ArgumentError, require
from clifford_rand_nn.tables.cells import is_rare, with_point
from clifford_rand_nn.tables.dialect import (
    CODE,
    DAMAGED,
    SPACES,
    Dialect,
    damaged_archive,
    find_dialect,
    not_text,
    open_bytes,
)

_ROWS, _PIECE = 2**16, 2**22  # rows and bytes that are searched for codes at a time
_LONGEST_CODE = 64  # bytes that two pieces have in common
_CELL = re.compile(rb"""[,;\t|"\s]0\d+["\s,;\t|]""")
_TITLE = "If it does not hold the names of the columns, remove it."


class TableFile:
    """A table on disk that is read into memory at once; ``dialect`` has the options of `read_frame` for a file."""

    def __init__(self, file: Path, dialect: Mapping[str, Any]) -> None:
        self.file, self.dialect = file, dialect

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [str(name) for name in self.read().columns]

    def read(self, verbatim: Sequence[str] = (), string_columns: Sequence[str] = ()) -> Any:
        """Return the whole table; ``verbatim`` and ``string_columns`` as for `read_frame`."""
        raise NotImplementedError

    def blocks(
        self, rows: int, wanted: Sequence[str] | None, string_columns: Sequence[str], as_number: Sequence[str]
    ) -> Iterator[Any]:
        """Yield about ``rows`` rows at a time of ``wanted`` columns, or all; the rest as for `read_blocks`."""
        frame = self.read()
        frame = frame if wanted is None else frame[wanted]
        return (frame.iloc[i : i + rows] for i in range(0, len(frame), rows))


class DelimitedFile(TableFile):
    """Separated values, read by pandas."""

    @cached_property
    def _dialect(self) -> Dialect:
        return find_dialect(self.file, **self.dialect)

    @property
    def names(self) -> list[str]:
        return [self._dialect.names[i] for i in self._dialect.kept]

    def read(self, verbatim: Sequence[str] = (), string_columns: Sequence[str] = ()) -> Any:
        file, dialect = self.file, self._dialect
        options = pandas_options(dialect, (*string_columns, *dialect.codes))
        with reading_csv(file, dialect):
            frame = _read(file, options)
            unchanged = [name for name in dict.fromkeys(verbatim) if name in frame.columns]
            if unchanged:  # pandas leaves out its marks of missing cells for all columns or for none
                cells = _read(file, options | {"dtype": str, "na_filter": False, "usecols": unchanged})
                frame[unchanged] = cells[unchanged]
            numbers = [name for name in frame.columns if frame[name].dtype.kind in "iuf"]
            late = _late_codes(file, dialect, (name for name in numbers if (frame[name].dropna() % 1 == 0).all()))
            if late:
                frame[late] = _read(file, options | {"dtype": str, "usecols": late})[late]
        frame = _without_thousands(frame, dialect, (*string_columns, *dialect.codes, *verbatim))
        frame = frame if not dialect.left_out else frame[[dialect.names[i] for i in dialect.kept]]
        frame.attrs["notes"] = list(dialect.notes)
        return frame

    def blocks(
        self, rows: int, wanted: Sequence[str] | None, string_columns: Sequence[str], as_number: Sequence[str]
    ) -> Iterator[Any]:
        names = self.names  # from the beginning of the file, so that its errors are raised at once
        return self._parsed(rows, names if wanted is None else wanted, string_columns, as_number)

    def _parsed(
        self, rows: int, wanted: Sequence[str], string_columns: Sequence[str], as_number: Sequence[str]
    ) -> Iterator[Any]:
        """Yield blocks. All columns are parsed, for pandas reports rows that are too long only then."""
        file, dialect = self.file, self._dialect
        pandas = require("pandas", extra="app", purpose="reading a CSV table")
        unknown = [name for name in wanted if name not in {*string_columns, *as_number}]
        codes = {*dialect.codes, *(_late_codes(file, dialect, unknown) if unknown else ())}
        string_columns = [*string_columns, *(name for name in unknown if name in codes)]
        with open_bytes(file) as stream:
            with reading_csv(file, dialect):
                frames = pandas.read_csv(stream, chunksize=rows, **pandas_options(dialect, string_columns))
            while True:
                with reading_csv(file, dialect):  # not around the yield: it would catch what the caller raises
                    frame = next(frames, None)
                if frame is None:
                    return
                frame = _without_thousands(frame, dialect, string_columns, as_number)
                yield frame if list(frame.columns) == list(wanted) else frame[wanted]


def _read(file: Path, options: dict[str, Any]) -> Any:
    pandas = require("pandas", extra="app", purpose="reading a CSV table")
    with open_bytes(file) as stream:
        return pandas.read_csv(stream, **options)


def _late_codes(file: Path, dialect: Dialect, names: Iterable[str]) -> list[str]:
    """Return the columns that have cells such as 01234, and no fractions, below the lines that gave the dialect.

    Bytes are searched for digits after a 0 that begins a cell; cells are read only if there are some.
    """
    if dialect.whole or (dialect.encoding.startswith("utf-8") and not _zeros(file)) or not (names := list(names)):
        return []
    pandas = require("pandas", extra="app", purpose="reading a CSV table")
    options = pandas_options(dialect) | {"dtype": str, "usecols": names, "chunksize": _ROWS}
    late: set[str] = set()
    fractions: set[str] = set()
    with open_bytes(file) as stream:
        for frame in pandas.read_csv(stream, **options):
            late |= {name for name in set(names) - late if frame[name].str.fullmatch(CODE.pattern).any()}
            fractions |= {name for name in set(names) - fractions if frame[name].str.contains("[.,]").any()}
    return [name for name in names if name in late - fractions]


def _zeros(file: Path) -> bool:
    """Return whether a cell of a text is digits that begin with 0, whatever the separator."""
    with open_bytes(file) as stream:
        end = b""
        while piece := stream.read(_PIECE):
            piece = end + piece
            end = piece[-_LONGEST_CODE:]
            cells = np.frombuffer(piece, dtype=np.uint8)
            digits = cells[2:] - 48 < 10  # uint8: less than 0 is more than 10
            begins = (cells[1:-1] == 48) & digits & (cells[:-2] - 48 >= 10) & (cells[:-2] != ord("."))
            if begins.any() and _CELL.search(piece):
                return True
    return False


def _without_thousands(
    frame: Any, dialect: Dialect, string_columns: Sequence[str] = (), as_number: Sequence[str] = ()
) -> Any:
    """Return a frame in which 12.000 is twelve thousand, where decimals are written with a comma.

    So are "1.234,5 kg" and "0,512" beside a cell that is not a number: then they have a decimal point. pandas' own
    option takes 31.12.2020 for a number too.
    """
    if dialect.decimal != ",":
        return frame
    pandas = require("pandas", extra="app", purpose="reading a CSV table")
    for name in frame.columns:
        cells = frame[name]
        if name in string_columns or not (cells.dtype == object or pandas.api.types.is_string_dtype(cells.dtype)):
            continue
        cells = cells.astype(object)
        read = cells.map(with_point)
        unread = cells.notna() & read.isna()
        if name in as_number or is_rare(int(unread.sum()), int(cells.notna().sum())):
            known = pandas.to_numeric(read, errors="coerce")
            frame[name] = known if (known.notna() | cells.isna()).all() else read.where(read.notna(), cells)
    return frame


@contextmanager
def reading_csv(file: Path, dialect: Dialect) -> Iterator[None]:
    """Turn what pandas raises on a file that is malformed into the one error."""
    pandas = require("pandas", extra="app", purpose="reading a CSV table")
    try:
        with named_errors(file), warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)  # rows longer than the header
            yield
    except pandas.errors.EmptyDataError as error:
        raise ArgumentError(f"{file}: the file is empty.") from error
    except pandas.errors.ParserWarning as error:
        raise ArgumentError(f"{file}: malformed CSV: rows have more cells than the first line. {_TITLE}") from error
    except UnicodeError as error:
        raise not_text(file, dialect.encoding) from error
    except DAMAGED as error:
        raise damaged_archive(file, error) from error
    except pandas.errors.ParserError as error:
        message = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise ArgumentError(f"{file}: malformed CSV: {message}.") from error


def pandas_options(dialect: Dialect, string_columns: Sequence[str] = ()) -> dict[str, Any]:
    """Return the options of pandas' reader."""
    pandas = require("pandas", extra="app", purpose="reading a CSV table")
    options: dict[str, Any] = {
        "sep": r"\s+" if dialect.separator == SPACES else dialect.separator,
        "skiprows": dialect.skipped,
        "decimal": dialect.decimal,
        "encoding": dialect.encoding,
        "skipinitialspace": dialect.spaces,
        "index_col": False,
        "low_memory": False,
        "dtype": {name: str for name in string_columns if name in dialect.names},
        "header": 0 if dialect.header else None,
        "names": dialect.labels,
    }
    if tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1):  # since then decimals are read exactly
        options["float_precision"] = "round_trip"
    return options
