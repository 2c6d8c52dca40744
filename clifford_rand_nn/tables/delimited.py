"""Files of separated values as data frames, by pandas."""

import gzip
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clifford_rand._files import named_errors
from clifford_rand._optional import require
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.tables.dialect import THOUSANDS, Dialect, not_gzip, not_text

_TITLE = "If it does not hold the names of the columns, remove it."


def read_delimited(file: Path, dialect: Dialect, text: Sequence[str] = (), as_text: Sequence[str] = ()) -> Any:
    """Read a file as ``dialect`` says; cells of ``as_text`` are no numbers, and none of ``text`` is missing either."""
    pandas = require("pandas", extra="app", purpose="reading a CSV table")
    options = pandas_options(dialect, (*as_text, *dialect.codes))
    with reading_csv(file, dialect):
        frame = pandas.read_csv(file, **options)
        again = [name for name in dict.fromkeys(text) if name in frame.columns]
        if again:  # pandas has no list of its marks of gaps that one could leave out for some columns only
            options |= {"dtype": str, "na_filter": False, "usecols": again}
            frame[again] = pandas.read_csv(file, **options)[again]
    frame = without_thousands(frame, dialect, (*as_text, *dialect.codes, *text))
    frame = frame if not dialect.left_out else frame[[dialect.names[i] for i in dialect.kept]]
    frame.attrs["notes"] = list(dialect.notes)
    return frame


def without_thousands(frame: Any, dialect: Dialect, as_text: Sequence[str] = ()) -> Any:
    """Return a frame in which 12.000 is twelve thousand, where decimals are written with a comma.

    Not by pandas' own option: it takes 31.12.2020 for a number too.
    """
    if dialect.decimal != ",":
        return frame
    pandas = require("pandas", extra="app", purpose="reading a CSV table")
    for name in frame.columns:
        cells = frame[name]
        if name in as_text or not (cells.dtype == object or pandas.api.types.is_string_dtype(cells.dtype)):
            continue
        grouped = cells.astype(object).map(lambda cell: isinstance(cell, str) and bool(THOUSANDS.fullmatch(cell)))
        if grouped.any():
            cells = cells.astype(object).where(~grouped, cells.astype(object).str.replace(".", "", regex=False))
            known = pandas.to_numeric(cells, errors="coerce")
            frame[name] = known if (known.notna() | cells.isna()).all() else cells
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
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise not_gzip(file, error) from error
    except pandas.errors.ParserError as error:
        said = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise ArgumentError(f"{file}: malformed CSV: {said}.") from error


def pandas_options(dialect: Dialect, as_text: Sequence[str] = ()) -> dict[str, Any]:
    """Return the options of pandas' reader."""
    pandas = require("pandas", extra="app", purpose="reading a CSV table")
    options: dict[str, Any] = {
        "sep": dialect.separator,
        "decimal": dialect.decimal,
        "encoding": dialect.encoding,
        "skipinitialspace": dialect.spaces,
        "index_col": False,
        "low_memory": False,
        "dtype": {name: str for name in as_text if name in dialect.names},
        "header": 0 if dialect.header else None,
        "names": dialect.labels,
    }
    if tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1):  # since then decimals are read exactly
        options["float_precision"] = "round_trip"
    return options
