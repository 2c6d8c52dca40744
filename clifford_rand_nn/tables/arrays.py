"""Tables of numbers from disk, as arrays; every fault is named with its file, column and remedy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._files import read_npz
from clifford_rand.errors import ArgumentError, require
from clifford_rand_nn.tables.cells import has_codes, numbers
from clifford_rand_nn.tables.formats import open_table
from clifford_rand_nn.tables.writers import closest, existing_table, listed, read_ending, refuse_duplicates


@dataclass(frozen=True, eq=False)
class Table:
    """Feature columns of a file as numbers, and the target, weights and groups of the rows if they were asked for."""

    path: Path
    names: tuple[str, ...] | None  # one per column of X; None for an NPZ without feature_names
    X: NDArray[np.float64]  # (n, d)
    target: NDArray[Any] | None  # (n,) of bool, int, float or str
    ignored: tuple[str, ...] = ()  # columns of the file that were not asked for
    weights: NDArray[np.float64] | None = None  # (n,) ≥ 0, some positive
    groups: NDArray[Any] | None = None  # (n,) of bool, int, float or str


def read_table(
    path: str | Path,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
    need_weights: bool = True,
    groups: str | None = None,
) -> Table:
    """Read the features of a file as numbers, and the columns that are its target, weights and groups.

    An NPZ holds the features as an array ``X`` (n, d), target and weights as arrays (n,) under their own names and
    perhaps the ``feature_names``; without these ``columns`` are X in its order. Without ``need_weights`` a file may
    lack that column. Faults of the file are an `ArgumentError` that names file, column and remedy.
    """
    file = existing_table(path)
    if read_ending(file) == ".npz":
        return _from_npz(file, target, columns, weights, need_weights, groups)
    frame = open_table(file).read()
    there = [str(name) for name in frame.columns]
    if not need_weights and weights not in there:
        weights = None
    for name, use in ((target, ""), (weights, " of weights"), (groups, " of groups")):
        if name is not None and name not in there:
            raise ArgumentError(f"{file}: there is no column {name!r}{use}; the columns are {listed(there, name)}.")
    if len(frame) == 0:
        raise ArgumentError(f"{file}: the table has columns but no rows.")
    names = [name for name in there if name not in (target, weights, groups)] if columns is None else list(columns)
    _refuse_missing(file, names, there)
    if not names:
        beside = f"the target {target!r}" + ("" if weights is None else f" and the weights {weights!r}")
        raise ArgumentError(f"{file}: there is no feature column beside {beside}.")
    X = numeric_features(file, frame, names)
    y = None if target is None else column_target(file, target, frame[target])
    w = None if weights is None else column_weights(file, weights, frame[[weights]])
    g = None if groups is None else column_target(file, groups, frame[groups], "column of groups")
    ignored = tuple(name for name in there if name not in {*names, target, weights, groups})
    return Table(file, tuple(names), X, y, ignored, w, g)


def _from_npz(
    file: Path,
    target: str | None,
    columns: Sequence[str] | None,
    weights: str | None,
    need_weights: bool,
    groups: str | None,
) -> Table:
    arrays, there = read_npz(file, ("X", "feature_names", target, weights, groups))
    if "X" not in arrays and "meta" in there:
        raise ArgumentError(f"{file}: this is a model file; give a table here, such as the one it was trained on.")
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
        refuse_duplicates(file, names)
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
    columns = [column for column in there if column not in ("X", "feature_names")]
    if name not in columns:
        raise ArgumentError(f"{file}: there is no array {name!r}; the arrays are {listed(columns, name)}.")
    array = arrays[name]
    if array.shape not in ((n,), (n, 1)):
        rule = f"must have shape ({n},), as 'X' has {n} row{'s' * (n != 1)}"
        raise ArgumentError(f"{file}: the {what} {name!r} {rule}, not {array.shape}.")
    return array.reshape(n)


def numeric_features(file: Path, frame: Any, names: Sequence[str]) -> NDArray[np.float64]:
    """Return columns of a frame as numbers (n, d); refuse other cells, empty and infinite ones."""
    part = frame[list(names)]
    _refuse_not_numeric(file, part)
    if all(getattr(dtype, "kind", "O") in "biuf" and isinstance(dtype, np.dtype) for dtype in part.dtypes):
        X = np.ascontiguousarray(part.to_numpy(dtype=np.float64))
    else:
        X = np.ascontiguousarray(part.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan))
    _refuse_not_finite(file, X, names)
    return X


def column_target(file: str | Path, name: str, column: Any, what: str = "target") -> NDArray[Any]:
    """Return a column as targets, or ``what`` it is: booleans, integers, floats or texts, none missing."""
    missing = int(column.isna().sum())
    if missing:
        raise ArgumentError(f"{file}: the {what} {name!r} has {missing} empty cells of {len(column)}; drop those rows.")
    pandas = require("pandas", extra="app", purpose="reading a table")
    kind = pandas.api.types
    if column.dtype == object or isinstance(column.dtype, pandas.CategoricalDtype):
        column = column.astype(object).infer_objects()  # True and False beside cells that were empty
    if kind.is_bool_dtype(column):
        return np.asarray(column.to_numpy(dtype=np.bool_))
    if kind.is_integer_dtype(column):
        return np.asarray(column.to_numpy(dtype=np.int64))
    if kind.is_float_dtype(column):
        return checked_target(file, name, column.to_numpy(dtype=np.float64), what)
    values = column.to_numpy(dtype=object)
    if all(isinstance(value, Decimal) for value in values):  # of databases
        return checked_target(file, name, values.astype(np.float64), what)
    if not all(isinstance(value, str) for value in values):
        example = next(value for value in values if not isinstance(value, str))
        raise ArgumentError(f"{file}: the {what} {name!r} must be numbers, text or booleans; it has {example!r}.")
    if what == "target":  # "$1,200" is a number, and so is 007 of a file that is all digits
        parsed, odd = numbers(column)
        plain = pandas.to_numeric(column, errors="coerce")
        if not odd and not np.isnan(parsed).any() and (plain.isna().any() or has_codes(values)):
            whole = (parsed == np.round(parsed)).all() and np.abs(parsed).max() < 2**53
            return parsed.astype(np.int64) if whole else parsed
    return checked_target(file, name, values.astype(str), what)


def column_weights(file: str | Path, name: str, frame: Any) -> NDArray[np.float64]:
    """Return the column of a frame as weights of rows, at least 0."""
    _refuse_not_numeric(file, frame, "weights are numbers ≥ 0")
    return _checked_weights(file, name, frame[name].astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan))


def _refuse_not_numeric(file: str | Path, frame: Any, remedy: str = "encode it as numbers or leave it out") -> None:
    """Refuse a data frame with columns that hold no real numbers, and show a cell."""
    pandas = require("pandas", extra="app", purpose="reading a table")
    is_numeric = pandas.api.types.is_numeric_dtype
    bad = [name for name in frame.columns if not is_numeric(frame[name]) or frame[name].dtype.kind == "c"]
    bad = [name for name in bad if frame[name].notna().any() or frame[name].dtype.kind == "c"]  # empty: refused later
    if not bad:
        return
    column = frame[bad[0]]
    text = column.map(lambda value: isinstance(value, str))
    wrong = column.notna() & (pandas.to_numeric(column.where(text), errors="coerce").isna() | ~text)
    example = column[wrong].iloc[0] if wrong.any() else column.dropna().iloc[0]
    more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
    some = f"{int(wrong.sum()) or len(column)} of {len(column)} cells"
    such = repr(example) if isinstance(example, str) else example
    raise ArgumentError(f"{file}: column {bad[0]!r}{more} is not numeric: {some}, such as {such}; {remedy}.")


def checked_target(file: str | Path, name: str, y: NDArray[Any], what: str = "target") -> NDArray[Any]:
    """Return a target of bool, int, float or text; refuse other kinds, NaN and infinity."""
    if y.dtype.kind not in "biufU":
        raise ArgumentError(f"{file}: the {what} {name!r} must be numbers, text or booleans, not {y.dtype}.")
    bad = int(np.count_nonzero(~np.isfinite(y))) if y.dtype.kind == "f" else 0
    if bad:
        raise ArgumentError(
            f"{file}: the {what} {name!r} has {bad} NaN or infinite cells of {len(y)}; drop those rows."
        )
    return y


def _refuse_not_finite(file: Path, X: NDArray[np.float64], names: Sequence[str] | None) -> None:
    """Refuse features with empty or infinite cells."""
    bad = np.count_nonzero(~np.isfinite(X), axis=0)
    if bad.any():
        first = int(np.argmax(bad > 0))
        more = int(np.count_nonzero(bad)) - 1
        shown = f"column {first} of 'X'" if names is None else f"column {names[first]!r}"
        shown += f" (and {more} more)" if more else ""
        cells = f"{bad[first]} empty or infinite cells of {len(X)}"
        raise ArgumentError(f"{file}: {shown} has {cells}; fill them or drop those rows.")


def _refuse_missing(file: Path, wanted: Sequence[str], there: Sequence[str]) -> None:
    """Refuse wanted names that are not there."""
    missing = [name for name in wanted if name not in set(there)]
    if missing:
        n = f"{len(missing)} of the {len(wanted)} columns of the model are" if len(missing) > 1 else "a column is"
        raise ArgumentError(f"{file}: {n} missing: {listed(missing)}{closest(missing[0], there)}.")


def _checked_weights(file: str | Path, name: str, weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return weights of rows as float64; refuse what is not a finite number ≥ 0, and zeros alone."""
    if weights.dtype.kind not in "biuf":
        raise ArgumentError(f"{file}: the weights {name!r} must be numbers, not {weights.dtype}.")
    w, fault = weights.astype(np.float64), ""
    bad, negative = int(np.count_nonzero(~np.isfinite(w))), w[w < 0]
    if bad:
        fault = f"have {bad} empty or infinite cells of {len(w)}; fill them, 0 leaves a row out"
    elif negative.size:
        some = f"{negative.size} of {len(w)} are negative, such as {negative[0]:g}"
        fault = f"must be numbers ≥ 0: {some}; 0 leaves a row out"
    elif not w.any():
        fault = "are all zero, which leaves no row; give some row a weight"
    if fault:
        raise ArgumentError(f"{file}: the weights {name!r} {fault}.")
    return w
