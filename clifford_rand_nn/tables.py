"""Tables from disk: CSV, Parquet and NPZ; every fault is named with its file, column and remedy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.errors import ArgumentError
from clifford_rand_nn._archives import DAMAGED
from clifford_rand_nn._frames import column_target, column_weights, read_csv, read_parquet
from clifford_rand_nn._table_checks import (
    checked_target,
    checked_weights,
    listed,
    refuse_duplicates,
    refuse_missing,
    refuse_not_finite,
    refuse_not_numeric,
)

__all__ = ["Table", "check_ending", "read_table"]

_ENDINGS = (".csv", ".parquet", ".npz")


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
    """

    path: Path
    names: tuple[str, ...] | None
    X: NDArray[np.float64]
    target: NDArray[Any] | None
    ignored: tuple[str, ...] = ()
    weights: NDArray[np.float64] | None = None


def read_table(
    path: str | Path,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
    need_weights: bool = True,
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
    file = Path(path)
    ending = check_ending(file)
    if not file.is_file():
        raise ArgumentError(f"{file}: {'this is a folder, not a file' if file.is_dir() else 'there is no such file'}.")
    if file.stat().st_size == 0:
        raise ArgumentError(f"{file}: the file is empty.")
    if ending == ".npz":
        return _read_npz(file, target, columns, weights, need_weights)
    frame = read_csv(file) if ending == ".csv" else read_parquet(file)
    return _from_frame(file, frame, target, columns, weights, need_weights)


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


def _read_npz(
    file: Path, target: str | None, columns: Sequence[str] | None, weights: str | None, need_weights: bool
) -> Table:
    try:
        with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except DAMAGED as error:
        what = "holds object arrays, which are not read; save plain arrays" if "Object" in str(error) else "is damaged"
        raise ArgumentError(f"{file}: this NPZ file {what}.") from error
    if "X" not in arrays:
        raise ArgumentError(f"{file}: there is no array 'X' with the features; the arrays are {listed(arrays)}.")
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
        refuse_duplicates(file, names)
    ignored: tuple[str, ...] = ()
    if columns is not None and names is not None:
        refuse_missing(file, columns, names)
        ignored = tuple(name for name in names if name not in set(columns))
        X, names = X[:, [names.index(name) for name in columns]], tuple(columns)
    elif columns is not None and X.shape[1] != len(columns):
        raise ArgumentError(f"{file}: 'X' has {X.shape[1]} columns, the model wants {len(columns)}.")
    X = np.ascontiguousarray(X, dtype=np.float64)
    refuse_not_finite(file, X, names)
    y = None if target is None else checked_target(file, target, _npz_array(file, arrays, target, "target", len(X)))
    w = None
    if weights is not None and (need_weights or weights in arrays):
        w = checked_weights(file, weights, _npz_array(file, arrays, weights, "array of weights", len(X)))
    return Table(file, names, X, y, ignored, w)


def _npz_array(file: Path, arrays: Mapping[str, NDArray[Any]], name: str, what: str, n: int) -> NDArray[Any]:
    others = [other for other in arrays if other not in ("X", "feature_names")]
    if name not in others:
        raise ArgumentError(f"{file}: there is no array {name!r}; the arrays are {listed(others, name)}.")
    array = arrays[name]
    if array.shape not in ((n,), (n, 1)):
        raise ArgumentError(
            f"{file}: the {what} {name!r} must have shape ({n},), as 'X' has {n} rows, not {array.shape}."
        )
    return array.reshape(n)


# ---------------------------------------------------------------------------------------------------- CSV, Parquet


def _from_frame(
    file: Path,
    frame: Any,
    target: str | None,
    columns: Sequence[str] | None,
    weights: str | None,
    need_weights: bool,
) -> Table:
    there = [str(name) for name in frame.columns]
    if not need_weights and weights not in there:
        weights = None
    for name, use in ((target, ""), (weights, " of weights")):
        if name is not None and name not in there:
            hint = " Is it separated by semicolons?" if len(there) == 1 and ";" in there[0] else ""
            columns_are = f"the columns are {listed(there, name)}"
            raise ArgumentError(f"{file}: there is no column {name!r}{use}; {columns_are}.{hint}")
    if len(frame) == 0:
        raise ArgumentError(f"{file}: the table has columns but no rows.")
    names = [name for name in there if name not in (target, weights)] if columns is None else list(columns)
    refuse_missing(file, names, there)
    if not names:
        beside = f"the target {target!r}" + ("" if weights is None else f" and the weights {weights!r}")
        raise ArgumentError(f"{file}: there is no feature column beside {beside}.")
    refuse_not_numeric(file, frame[names])
    X = np.ascontiguousarray(frame[names].astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan))
    refuse_not_finite(file, X, names)
    y = None if target is None else column_target(file, target, frame[target])
    w = None if weights is None else column_weights(file, weights, frame[[weights]])
    ignored = tuple(name for name in there if name not in {*names, target, weights})
    return Table(file, tuple(names), X, y, ignored, w)
