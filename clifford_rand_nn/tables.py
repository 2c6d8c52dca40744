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
from clifford_rand_nn._archives import read_npz, reading_parquet

_ENDINGS = (".csv", ".parquet", ".npz")
_SHOWN = 8  # names listed in one error line


@dataclass(frozen=True, eq=False)
class Table:
    """Feature columns of a file as numbers, and its target and weights of rows if they were asked for.

    Attributes
    ----------
    path : Path
    names : tuple of str, or None
        One name per column of ``X``; None for an NPZ without ``feature_names``.
    X : (n, d) float64
    target : (n,) array of bool, int, float or str, or None
    ignored : tuple of str
        Columns of the file that were not asked for.
    weights : (n,) float64, or None
        At least 0, and some positive.
    groups : (n,) array of bool, int, float or str, or None
    """

    path: Path
    names: tuple[str, ...] | None
    X: NDArray[np.float64]
    target: NDArray[Any] | None
    ignored: tuple[str, ...] = ()
    weights: NDArray[np.float64] | None = None
    groups: NDArray[Any] | None = None


def read_table(
    path: str | Path,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
    need_weights: bool = True,
    groups: str | None = None,
) -> Table:
    """Read the features of a CSV, Parquet or NPZ file, its target column and its weights of rows.

    An NPZ holds the features as an array ``X`` (n, d), target and weights as arrays (n,) under their own names and, if
    it likes, the ``feature_names``; object arrays are refused.

    Parameters
    ----------
    path : path
    target : str or None
        Column to return as ``target``.
    columns : sequence of str or None
        Features to return, in this order; all columns of the file but target and weights if None. An NPZ without
        ``feature_names`` has them in this order already.
    weights : str or None
        Column to return as ``weights``.
    need_weights : bool
        Whether a file without that column is refused, or has ``weights`` None.
    groups : str or None
        Column to return as ``groups``.

    Raises
    ------
    ArgumentError
        The file is missing, empty, malformed or of another kind; a column is missing, repeated, not numeric or has
        empty cells; a weight is negative, or all are zero.
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
    file = existing_table(path)
    if file.suffix.lower() == ".npz":
        return _from_npz(file, target, columns, weights, need_weights, groups)
    return _from_frame(file, read_frame(file), target, columns, weights, need_weights, groups)


def default_target(path: str | Path) -> str:
    """Return the target of a table for which none is named: the last column, or ``y`` of an NPZ."""
    file = existing_table(path)
    ending = file.suffix.lower()
    if ending == ".npz":
        return "y"
    if ending == ".csv":
        return _csv_header(file)[-1]
    return str(read_frame(file).columns[-1])


def existing_table(path: str | Path) -> Path:
    """Return the path of a file that is there, is not empty and has an ending that can be read."""
    file = Path(path)
    check_ending(file)
    if not file.is_file():
        raise ArgumentError(f"{file}: {'this is a folder, not a file' if file.is_dir() else 'there is no such file'}.")
    if file.stat().st_size == 0:
        raise ArgumentError(f"{file}: the file is empty.")
    return file


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


def _from_npz(
    file: Path,
    target: str | None,
    columns: Sequence[str] | None,
    weights: str | None,
    need_weights: bool,
    groups: str | None,
) -> Table:
    arrays, there = read_npz(file, ("X", "feature_names", target, weights, groups))
    if "X" not in arrays:
        raise ArgumentError(f"{file}: there is no array 'X' with the features; the arrays are {listed(there)}.")
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
    y = None if target is None else checked_target(file, target, _npz_array(file, arrays, there, target, "target"))
    w = None
    if weights is not None and (need_weights or weights in arrays):
        w = _checked_weights(file, weights, _npz_array(file, arrays, there, weights, "array of weights"))
    g = None
    if groups is not None:
        g = checked_target(file, groups, _npz_array(file, arrays, there, groups, "array of groups"), "column of groups")
    return Table(file, names, X, y, ignored, w, g)


def _npz_array(
    file: Path, arrays: Mapping[str, NDArray[Any]], there: Sequence[str], name: str, what: str
) -> NDArray[Any]:
    n = len(arrays["X"])
    others = [other for other in there if other not in ("X", "feature_names")]
    if name not in others:
        raise ArgumentError(f"{file}: there is no array {name!r}; the arrays are {listed(others, name)}.")
    array = arrays[name]
    if array.shape not in ((n,), (n, 1)):
        raise ArgumentError(
            f"{file}: the {what} {name!r} must have shape ({n},), as 'X' has {n} rows, not {array.shape}."
        )
    return array.reshape(n)


def _from_frame(
    file: Path,
    frame: Any,
    target: str | None,
    columns: Sequence[str] | None,
    weights: str | None,
    need_weights: bool,
    groups: str | None,
) -> Table:
    there = [str(name) for name in frame.columns]
    if not need_weights and weights not in there:
        weights = None
    for name, use in ((target, ""), (weights, " of weights"), (groups, " of groups")):
        if name is not None and name not in there:
            hint = " Is it separated by semicolons?" if len(there) == 1 and ";" in there[0] else ""
            columns_are = f"the columns are {listed(there, name)}"
            raise ArgumentError(f"{file}: there is no column {name!r}{use}; {columns_are}.{hint}")
    if len(frame) == 0:
        raise ArgumentError(f"{file}: the table has columns but no rows.")
    names = [name for name in there if name not in (target, weights, groups)] if columns is None else list(columns)
    _refuse_missing(file, names, there)
    if not names:
        beside = f"the target {target!r}" + ("" if weights is None else f" and the weights {weights!r}")
        raise ArgumentError(f"{file}: there is no feature column beside {beside}.")
    _refuse_not_numeric(file, frame[names])
    X = np.ascontiguousarray(frame[names].astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan))
    _refuse_not_finite(file, X, names)
    y = None if target is None else column_target(file, target, frame[target])
    w = None if weights is None else _column_weights(file, weights, frame[[weights]])
    g = None if groups is None else column_target(file, groups, frame[groups], "column of groups")
    ignored = tuple(name for name in there if name not in {*names, target, weights, groups})
    return Table(file, tuple(names), X, y, ignored, w, g)


def read_frame(file: Path, text: Sequence[str] = ()) -> Any:
    """Read a CSV or Parquet file; cells of the columns ``text`` of a CSV stay as they are written."""
    return _read_csv(file, text) if file.suffix.lower() == ".csv" else _read_parquet(file)


def _read_csv(file: Path, text: Sequence[str]) -> Any:
    """Read a CSV file; of the columns ``text`` no number and no gap is made."""
    pandas = require("pandas", extra="app", purpose="reading a CSV table")
    _csv_header(file)
    try:
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
        raise _not_utf8(file) from error
    except pandas.errors.ParserError as error:
        said = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise ArgumentError(f"{file}: malformed CSV: {said}.") from error


def _csv_header(file: Path) -> list[str]:
    """Return the names in the first line of a CSV file, all different and none empty."""
    try:
        with open(file, newline="", encoding="utf-8-sig") as stream:
            header = next((row for row in csv.reader(stream) if row), [])
    except UnicodeDecodeError as error:
        raise _not_utf8(file) from error
    except csv.Error as error:
        raise ArgumentError(f"{file}: malformed CSV: {error}.") from error
    if not header:
        raise ArgumentError(f"{file}: the file is empty.")
    unnamed = [str(i + 1) for i, name in enumerate(header) if not name.strip()]
    if unnamed:
        what = f"column {unnamed[0]} has no name in the first line; name it, or leave it out if it is a row index"
        raise ArgumentError(f"{file}: {what}.")
    _refuse_duplicates(file, header)
    return header


def _not_utf8(file: Path) -> ArgumentError:
    return ArgumentError(f"{file}: this is not UTF-8 text; save it as CSV in UTF-8.")


def _read_parquet(file: Path) -> Any:
    """Read a Parquet file, its columns under their names as text."""
    pandas = require("pandas", extra="app", purpose="reading a Parquet table")
    with reading_parquet(file):
        frame = pandas.read_parquet(file)
    frame.columns = [str(name) for name in frame.columns]
    _refuse_duplicates(file, list(frame.columns))
    return frame


def column_target(file: Path, name: str, column: Any, what: str = "target") -> NDArray[Any]:
    """Return a column as targets, or ``what`` it is: booleans, integers, floats or texts, none missing."""
    missing = int(column.isna().sum())
    if missing:
        raise ArgumentError(f"{file}: the {what} {name!r} has {missing} empty cells of {len(column)}; drop those rows.")
    kind = require("pandas", extra="app", purpose="reading a table").api.types
    if kind.is_bool_dtype(column):
        return np.asarray(column.to_numpy(dtype=np.bool_))
    if kind.is_integer_dtype(column):
        return np.asarray(column.to_numpy(dtype=np.int64))
    if kind.is_float_dtype(column):
        return checked_target(file, name, column.to_numpy(dtype=np.float64), what)
    values = column.to_numpy(dtype=object)
    if not all(isinstance(value, str) for value in values):
        example = next(value for value in values if not isinstance(value, str))
        raise ArgumentError(f"{file}: the {what} {name!r} must be numbers, text or booleans; it has {example!r}.")
    return checked_target(file, name, values.astype(str), what)


def _column_weights(file: Path, name: str, frame: Any) -> NDArray[np.float64]:
    """Return the column of a frame as weights of rows, at least 0."""
    _refuse_not_numeric(file, frame, "weights are numbers ≥ 0")
    return _checked_weights(file, name, frame[name].astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan))


def _refuse_not_numeric(file: Path, frame: Any, remedy: str = "encode it as numbers or leave it out") -> None:
    """Refuse a data frame with columns that hold no real numbers, and show a cell."""
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
        f"such as {example if not isinstance(example, str) else repr(example)}; {remedy}."
    )


def checked_target(file: Path, name: str, y: NDArray[Any], what: str = "target") -> NDArray[Any]:
    """Return a target of bool, int, float or text; refuse other kinds, NaN and infinity."""
    if y.dtype.kind not in "biufU":
        raise ArgumentError(f"{file}: the {what} {name!r} must be numbers, text or booleans, not {y.dtype}.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        bad = int(np.count_nonzero(~np.isfinite(y)))
        raise ArgumentError(
            f"{file}: the {what} {name!r} has {bad} NaN or infinite cells of {len(y)}; drop those rows."
        )
    return y


def _refuse_not_finite(file: Path, X: NDArray[np.float64], names: Sequence[str] | None) -> None:
    """Refuse features with empty or infinite cells."""
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
    """Refuse a name that appears twice."""
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ArgumentError(f"{file}: the column name {twice[0]!r} appears more than once; rename or drop one.")


def _refuse_missing(file: Path, wanted: Sequence[str], there: Sequence[str]) -> None:
    """Refuse wanted names that are not there."""
    missing = [name for name in wanted if name not in set(there)]
    if missing:
        n = f"{len(missing)} of the {len(wanted)} columns of the model are" if len(missing) > 1 else "a column is"
        close = difflib.get_close_matches(missing[0], list(there), 1)
        hint = f" (is {close[0]!r} meant?)" if close else ""
        raise ArgumentError(f"{file}: {n} missing: {listed(missing)}{hint}.")


def listed(names: Sequence[str] | Mapping[str, object], wanted: str | None = None) -> str:
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


def _checked_weights(file: Path, name: str, weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return weights of rows as float64; refuse what is no finite number ≥ 0, and nothing but zeros."""
    if weights.dtype.kind not in "biuf":
        raise ArgumentError(f"{file}: the weights {name!r} must be numbers, not {weights.dtype}.")
    w = weights.astype(np.float64)
    bad = int(np.count_nonzero(~np.isfinite(w)))
    if bad:
        what = f"{bad} empty or infinite cells of {len(w)}; fill them, 0 leaves a row out"
        raise ArgumentError(f"{file}: the weights {name!r} have {what}.")
    negative = np.flatnonzero(w < 0)
    if negative.size:
        what = f"{negative.size} of {len(w)} are negative, such as {w[negative[0]]:g}; 0 leaves a row out"
        raise ArgumentError(f"{file}: the weights {name!r} must be numbers ≥ 0: {what}.")
    if not w.any():
        raise ArgumentError(f"{file}: the weights {name!r} are all zero, which leaves no row; give some row a weight.")
    return w
