"""CSV and Parquet files as data frames, and columns of a frame as targets and weights; faults are told by file."""

import csv
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._optional import require
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._table_checks import checked_target, checked_weights, refuse_duplicates, refuse_not_numeric

__all__ = ["column_target", "column_weights", "read_csv", "read_parquet"]


def read_csv(file: Path, text: Sequence[str] = ()) -> Any:
    """Read a CSV file; cells of the columns ``text`` stay as they are written: no number, no gap is made of them."""
    pandas = require("pandas", extra="app", purpose="reading a CSV table")
    try:
        with open(file, newline="", encoding="utf-8-sig") as stream:
            header = next((row for row in csv.reader(stream) if row), [])
        unnamed = [str(i + 1) for i, name in enumerate(header) if not name.strip()]
        if unnamed:
            what = f"column {unnamed[0]} has no name in the first line; name it, or leave it out if it is a row index"
            raise ArgumentError(f"{file}: {what}.")
        refuse_duplicates(file, header)
        old = tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1)  # since then decimals are read exactly
        exact = {"float_precision": "round_trip"} if old else {}
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)  # rows longer than the header
            frame = pandas.read_csv(file, index_col=False, encoding="utf-8-sig", low_memory=False, **exact)
            again = [name for name in dict.fromkeys(text) if name in frame.columns]
            if again:  # pandas has no list of its marks of gaps that one could leave out for some columns only
                written = pandas.read_csv(
                    file, usecols=again, dtype=str, na_filter=False, index_col=False, encoding="utf-8-sig"
                )
                frame[again] = written[again]
            return frame
    except pandas.errors.EmptyDataError as error:
        raise ArgumentError(f"{file}: the file is empty.") from error
    except pandas.errors.ParserWarning as error:
        raise ArgumentError(f"{file}: malformed CSV: rows have more cells than the first line.") from error
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{file}: this is not UTF-8 text; save it as CSV in UTF-8.") from error
    except (pandas.errors.ParserError, csv.Error) as error:
        said = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise ArgumentError(f"{file}: malformed CSV: {said}.") from error


def read_parquet(file: Path) -> Any:
    """Read a Parquet file, its columns under their names as text."""
    pandas = require("pandas", extra="app", purpose="reading a Parquet table")
    arrow = require("pyarrow", extra="app", purpose="reading a Parquet table")
    try:
        frame = pandas.read_parquet(file)
    except (arrow.lib.ArrowException, ValueError, OSError) as error:
        said = str(error).strip().splitlines()[0]
        raise ArgumentError(f"{file}: this is not a readable Parquet file: {said}") from error
    frame.columns = [str(name) for name in frame.columns]
    refuse_duplicates(file, list(frame.columns))
    return frame


def column_target(file: Path, name: str, column: Any) -> NDArray[Any]:
    """Return a column as targets: booleans, integers, floats or texts, none missing."""
    missing = int(column.isna().sum())
    if missing:
        raise ArgumentError(f"{file}: the target {name!r} has {missing} empty cells of {len(column)}; drop those rows.")
    kind = require("pandas", extra="app", purpose="reading a table").api.types
    if kind.is_bool_dtype(column):
        return np.asarray(column.to_numpy(dtype=np.bool_))
    if kind.is_integer_dtype(column):
        return np.asarray(column.to_numpy(dtype=np.int64))
    if kind.is_float_dtype(column):
        return checked_target(file, name, column.to_numpy(dtype=np.float64))
    values = column.to_numpy(dtype=object)
    if not all(isinstance(value, str) for value in values):
        example = next(value for value in values if not isinstance(value, str))
        raise ArgumentError(f"{file}: the target {name!r} must be numbers, text or booleans; it has {example!r}.")
    return checked_target(file, name, values.astype(str))


def column_weights(file: Path, name: str, frame: Any) -> NDArray[np.float64]:
    """Return the column of a frame as weights of rows, at least 0."""
    refuse_not_numeric(file, frame, "weights are numbers ≥ 0")
    return checked_weights(file, name, frame[name].astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan))
