"""Cells of a column as numbers, truth values, words or moments; None where they are something else."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._optional import require

# What people write where a number is missing, besides what pandas takes for missing when it reads a CSV.
MISSING = frozenset(
    ("", "?", "-", "--", ".", "na", "n/a", "n.a.", "nan", "null", "none", "nil", "missing", "unknown", "#n/a", "<na>")
)
TRUTH = {"yes": True, "no": False, "y": True, "n": False, "true": True, "false": False, "t": True, "f": False}
_FORMATS = ("%d.%m.%Y", "%d.%m.%Y %H:%M", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y")
_ISO = r"\s*\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?)?\s*"


def is_text(values: Any) -> bool:
    """Tell whether all values are strings."""
    return all(isinstance(value, str) for value in values)


def numbers(column: Any) -> NDArray[np.float64] | None:
    """Return a column as numbers, NaN where they are missing or infinite."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if pandas.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind != "c":
        found: NDArray[np.float64] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        column = column.astype(object)
        there = column.notna()
        values = pandas.to_numeric(column, errors="coerce").astype(np.float64)
        odd = column[there & values.isna()]
        if not all(isinstance(value, str) and value.strip().casefold() in MISSING for value in odd.unique()):
            return None
        found = np.asarray(values.to_numpy())
    return np.asarray(np.where(np.isfinite(found), found, np.nan), dtype=np.float64)


def truths(column: Any) -> NDArray[np.float64] | None:
    """Return a column as 0 and 1, NaN where they are missing."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if not pandas.api.types.is_numeric_dtype(column.dtype):
        words = column.astype(object).map(lambda cell: cell.strip().casefold() if isinstance(cell, str) else cell)
        column = words.map(lambda cell: float(TRUTH[cell]) if isinstance(cell, str) and cell in TRUTH else cell)
    found = numbers(column)
    if found is None or set(np.unique(found[~np.isnan(found)])) - {0.0, 1.0}:
        return None
    return found


def words(column: Any) -> NDArray[Any]:
    """Return a column as texts, None where they are missing; 3 and 3.0 are both "3"."""
    texts = {value: _text(value) for value in column.dropna().unique()}
    found: NDArray[Any] = column.astype(object).map(texts).to_numpy(dtype=object)
    found[column.isna().to_numpy()] = None
    return found


def moments(column: Any) -> Any:
    """Return a column as moments of time, missing ones NaT, or None where cells are something else."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if pandas.api.types.is_datetime64_any_dtype(column.dtype):
        return column if column.dt.tz is None else column.dt.tz_convert("UTC").dt.tz_localize(None)
    column = column.astype(object)
    values = column.dropna()
    if not is_text(values):
        if all(hasattr(value, "year") for value in values):
            return pandas.to_datetime(column)
        return None
    if values.str.fullmatch(_ISO).all():
        found = pandas.to_datetime(column, format="ISO8601", utc=True, errors="coerce")
        return found.dt.tz_localize(None) if found[values.index].notna().all() else None
    for format in _FORMATS:
        found = pandas.to_datetime(column, format=format, errors="coerce")
        if found[values.index].notna().all():
            return found
    return None


def _text(value: object) -> str:
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
