"""Tables from disk: CSV, Parquet and NPZ; every fault is named with its file, column and remedy."""

import csv
import difflib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._optional import require
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._archives import DAMAGED

__all__ = ["Table", "check_ending", "read_table"]

_ENDINGS = (".csv", ".parquet", ".npz")
_SHOWN = 8  # names listed in one error line


@dataclass(frozen=True, eq=False)
class Table:
    """Feature columns of a file as numbers, and its target column if one was asked for.

    Attributes
    ----------
    path : Path
    names : tuple of str, or None
        One name per column of ``X``; None for an NPZ without ``feature_names``.
    X : (n, d) float64
    target : (n,) array of bool, int, float or str, or None
    ignored : tuple of str
        Columns of the file that were not asked for.
    """

    path: Path
    names: tuple[str, ...] | None
    X: NDArray[np.float64]
    target: NDArray[Any] | None
    ignored: tuple[str, ...] = ()


def read_table(path: str | Path, *, target: str | None = None, columns: Sequence[str] | None = None) -> Table:
    """Read the features of a CSV, Parquet or NPZ file, and its target column.

    An NPZ holds the features as an array ``X`` (n, d), the target as an array (n,) under its own name and, if it
    likes, the ``feature_names``; object arrays are refused.

    Parameters
    ----------
    path : path
    target : str or None
        Column to return as ``target``; the others are features.
    columns : sequence of str or None
        Features to return, in this order; all columns of the file but the target if None. An NPZ without
        ``feature_names`` has them in this order already.

    Raises
    ------
    ArgumentError
        The file is missing, empty, malformed or of another kind; a column is missing, repeated, not numeric or has
        empty cells.
    MissingDependencyError
        CSV and Parquet need pandas.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "train.npz"
    >>> np.savez(path, X=[[1, 2], [3, 4]], y=["a", "b"])
    >>> table = read_table(path, target="y")
    >>> table.X.shape, table.target.tolist(), table.names
    ((2, 2), ['a', 'b'], None)
    """
    file = Path(path)
    ending = check_ending(file)
    if not file.is_file():
        raise ArgumentError(f"{file}: {'this is a folder, not a file' if file.is_dir() else 'there is no such file'}.")
    if file.stat().st_size == 0:
        raise ArgumentError(f"{file}: the file is empty.")
    if ending == ".npz":
        return _read_npz(file, target, columns)
    frame = _read_csv(file) if ending == ".csv" else _read_parquet(file)
    return _from_frame(file, frame, target, columns)


def check_ending(path: str | Path) -> str:
    """Return the ending of a file that can be read and written, in lower case.

    Examples
    --------
    >>> check_ending("Train.CSV")
    '.csv'
    """
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS:
        raise ArgumentError(f"{path}: unknown ending {ending!r}; use one of {', '.join(_ENDINGS)}.")
    return ending


# ---------------------------------------------------------------------------------------------------- NPZ


def _read_npz(file: Path, target: str | None, columns: Sequence[str] | None) -> Table:
    try:
        with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except DAMAGED as error:
        what = "holds object arrays, which are not read; save plain arrays" if "Object" in str(error) else "is damaged"
        raise ArgumentError(f"{file}: this NPZ file {what}.") from error
    if "X" not in arrays:
        raise ArgumentError(f"{file}: there is no array 'X' with the features; the arrays are {_listed(arrays)}.")
    X = arrays["X"]
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "biuf":
        raise ArgumentError(
            f"{file}: 'X' must be an (n, d) array of numbers; it has shape {X.shape} and dtype {X.dtype}."
        )
    names: tuple[str, ...] | None = None
    if "feature_names" in arrays:
        names = tuple(str(name) for name in arrays["feature_names"].ravel())
        if len(names) != X.shape[1]:
            raise ArgumentError(f"{file}: 'feature_names' has {len(names)} names for {X.shape[1]} columns of 'X'.")
        _refuse_duplicates(file, names)
    ignored: tuple[str, ...] = ()
    if columns is not None and names is not None:
        _refuse_missing(file, columns, names)
        ignored = tuple(name for name in names if name not in set(columns))
        X, names = X[:, [names.index(name) for name in columns]], tuple(columns)
    elif columns is not None and X.shape[1] != len(columns):
        raise ArgumentError(f"{file}: 'X' has {X.shape[1]} columns, the model wants {len(columns)}.")
    X = np.ascontiguousarray(X, dtype=np.float64)
    _refuse_not_finite(file, X, names)
    return Table(file, names, X, None if target is None else _npz_target(file, arrays, target, len(X)), ignored)


def _npz_target(file: Path, arrays: Mapping[str, NDArray[Any]], target: str, n: int) -> NDArray[Any]:
    others = [name for name in arrays if name not in ("X", "feature_names")]
    if target not in others:
        raise ArgumentError(f"{file}: there is no array {target!r}; the arrays are {_listed(others, target)}.")
    y = arrays[target]
    if y.shape not in ((n,), (n, 1)):
        raise ArgumentError(
            f"{file}: the target {target!r} must have shape ({n},), as 'X' has {n} rows, not {y.shape}."
        )
    return _checked_target(file, target, y.reshape(n))


# ---------------------------------------------------------------------------------------------------- CSV, Parquet


def _read_csv(file: Path) -> Any:
    pandas = require("pandas", extra="app", purpose="reading a CSV table")
    try:
        with open(file, newline="", encoding="utf-8-sig") as stream:
            header = next((row for row in csv.reader(stream) if row), [])
        unnamed = [str(i + 1) for i, name in enumerate(header) if not name.strip()]
        if unnamed:
            what = f"column {unnamed[0]} has no name in the first line; name it, or leave it out if it is a row index"
            raise ArgumentError(f"{file}: {what}.")
        _refuse_duplicates(file, header)
        old = tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1)  # since then decimals are read exactly
        exact = {"float_precision": "round_trip"} if old else {}
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)  # rows longer than the header
            return pandas.read_csv(file, index_col=False, encoding="utf-8-sig", low_memory=False, **exact)
    except pandas.errors.EmptyDataError as error:
        raise ArgumentError(f"{file}: the file is empty.") from error
    except pandas.errors.ParserWarning as error:
        raise ArgumentError(f"{file}: malformed CSV: rows have more cells than the first line.") from error
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{file}: this is not UTF-8 text; save it as CSV in UTF-8.") from error
    except (pandas.errors.ParserError, csv.Error) as error:
        said = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise ArgumentError(f"{file}: malformed CSV: {said}.") from error


def _read_parquet(file: Path) -> Any:
    pandas = require("pandas", extra="app", purpose="reading a Parquet table")
    arrow = require("pyarrow", extra="app", purpose="reading a Parquet table")
    try:
        frame = pandas.read_parquet(file)
    except (arrow.lib.ArrowException, ValueError, OSError) as error:
        said = str(error).strip().splitlines()[0]
        raise ArgumentError(f"{file}: this is not a readable Parquet file: {said}") from error
    frame.columns = [str(name) for name in frame.columns]
    _refuse_duplicates(file, list(frame.columns))
    return frame


def _from_frame(file: Path, frame: Any, target: str | None, columns: Sequence[str] | None) -> Table:
    there = [str(name) for name in frame.columns]
    if target is not None and target not in there:
        hint = " Is it separated by semicolons?" if len(there) == 1 and ";" in there[0] else ""
        raise ArgumentError(f"{file}: there is no column {target!r}; the columns are {_listed(there, target)}.{hint}")
    if len(frame) == 0:
        raise ArgumentError(f"{file}: the table has columns but no rows.")
    names = [name for name in there if name != target] if columns is None else list(columns)
    _refuse_missing(file, names, there)
    if not names:
        raise ArgumentError(f"{file}: there is no feature column beside the target {target!r}.")
    _refuse_not_numeric(file, frame[names])
    X = np.ascontiguousarray(frame[names].astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan))
    _refuse_not_finite(file, X, names)
    y = None if target is None else _frame_target(file, target, frame[target])
    ignored = tuple(name for name in there if name not in {*names, target})
    return Table(file, tuple(names), X, y, ignored)


def _refuse_not_numeric(file: Path, frame: Any) -> None:
    pandas = require("pandas", extra="app", purpose="reading a table")
    bad = [
        name
        for name in frame.columns
        if not pandas.api.types.is_numeric_dtype(frame[name]) or frame[name].dtype.kind == "c"
    ]
    bad = [name for name in bad if frame[name].notna().any() or frame[name].dtype.kind == "c"]  # empty: NaN, told later
    if not bad:
        return
    column = frame[bad[0]]
    text = column.map(lambda value: isinstance(value, str))
    wrong = column.notna() & (pandas.to_numeric(column.where(text), errors="coerce").isna() | ~text)
    example = column[wrong].iloc[0] if wrong.any() else column.dropna().iloc[0]
    others = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
    raise ArgumentError(
        f"{file}: column {bad[0]!r}{others} is not numeric: {int(wrong.sum()) or len(column)} of {len(column)} cells, "
        f"such as {example if not isinstance(example, str) else repr(example)}; encode it as numbers or leave it out."
    )


def _frame_target(file: Path, name: str, column: Any) -> NDArray[Any]:
    missing = int(column.isna().sum())
    if missing:
        raise ArgumentError(f"{file}: the target {name!r} has {missing} empty cells of {len(column)}; drop those rows.")
    kind = require("pandas", extra="app", purpose="reading a table").api.types
    if kind.is_bool_dtype(column):
        return np.asarray(column.to_numpy(dtype=np.bool_))
    if kind.is_integer_dtype(column):
        return np.asarray(column.to_numpy(dtype=np.int64))
    if kind.is_float_dtype(column):
        return _checked_target(file, name, column.to_numpy(dtype=np.float64))
    values = column.to_numpy(dtype=object)
    if not all(isinstance(value, str) for value in values):
        example = next(value for value in values if not isinstance(value, str))
        raise ArgumentError(f"{file}: the target {name!r} must be numbers, text or booleans; it has {example!r}.")
    return _checked_target(file, name, values.astype(str))


# ---------------------------------------------------------------------------------------------------- checks


def _checked_target(file: Path, name: str, y: NDArray[Any]) -> NDArray[Any]:
    if y.dtype.kind not in "biufU":
        raise ArgumentError(f"{file}: the target {name!r} must be numbers, text or booleans, not {y.dtype}.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        bad = int(np.count_nonzero(~np.isfinite(y)))
        raise ArgumentError(
            f"{file}: the target {name!r} has {bad} NaN or infinite cells of {len(y)}; drop those rows."
        )
    return y


def _refuse_not_finite(file: Path, X: NDArray[np.float64], names: Sequence[str] | None) -> None:
    bad = np.count_nonzero(~np.isfinite(X), axis=0)
    if bad.any():
        first = int(np.argmax(bad > 0))
        others = int(np.count_nonzero(bad)) - 1
        shown = f"column {first} of 'X'" if names is None else f"column {names[first]!r}"
        raise ArgumentError(
            f"{file}: {shown}{f' (and {others} more)' if others else ''} has {bad[first]} empty or infinite cells of "
            f"{len(X)}; fill them or drop those rows."
        )


def _refuse_duplicates(file: Path, names: Sequence[str]) -> None:
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ArgumentError(f"{file}: the column name {twice[0]!r} appears more than once; rename or drop one.")


def _refuse_missing(file: Path, wanted: Sequence[str], there: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in set(there)]
    if missing:
        n = f"{len(missing)} of the {len(wanted)} columns of the model are" if len(missing) > 1 else "a column is"
        close = difflib.get_close_matches(missing[0], list(there), 1)
        hint = f" (is {close[0]!r} meant?)" if close else ""
        raise ArgumentError(f"{file}: {n} missing: {_listed(missing)}{hint}.")


def _listed(names: Sequence[str] | Mapping[str, object], wanted: str | None = None) -> str:
    """List names for one error line, with the closest to ``wanted``."""
    every = list(names)
    text = ", ".join(repr(name) for name in every[:_SHOWN]) or "none"
    if len(every) > _SHOWN:
        text += f", … ({len(every)} in all)"
    if wanted is not None:
        folded = {name.lower(): name for name in every}
        close = difflib.get_close_matches(wanted.lower(), list(folded), 1)
        text += f" (is {folded[close[0]]!r} meant?)" if close else ""
    return text
