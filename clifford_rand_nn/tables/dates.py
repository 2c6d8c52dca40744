"""Dates: found in text without a guess, and as columns that a network can use."""

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._optional import require
from clifford_rand_nn.tables.cells import MISSING, as_word

NATIVE, ISO = "native", "ISO8601"  # moments of the file itself; texts such as 2020-01-31T12:00
_ISO_TEXT = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:Z|[+-]\d{2}:?\d{2})?)?"
_BEGINNING = re.compile(r"\d{1,4}[./-]\d{1,2}|\d{1,2}[ -][A-Za-z]{3,}|[A-Za-z]{3,} \d{1,2}")
_DAYS = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d"),
    *("%Y-%m", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y"),
)
_SHORT = ("%d.%m.%y", "%y.%m.%d", "%d/%m/%y", "%m/%d/%y", "%y/%m/%d", "%d-%m-%y", "%m-%d-%y", "%y-%m-%d")
_SHORT_YEAR = r"\d{2}([./-])\d{2}\1\d{2}(?: .*)?"  # 1.2.10 is a version
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", " %H:%M:%S.%f")
_FORMATS = tuple(day + time for day, time in product(_DAYS, _TIMES))
_TWO_DIGITS = tuple(day + time for day, time in product(_SHORT, _TIMES))
_DAY = 86_400_000_000  # microseconds
_YEAR = 365  # days
PARTS = ("days", "season", "weekday", "hour")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def date_formats(column: Any) -> list[str]:
    """Return every format by which all cells of a column that are there are dates; numbers never are.

    "native" are moments of the file (of Parquet, say), "ISO8601" texts such as 2020-01-31 or 2020-01-31T12:00:05Z, the
    others are those of `datetime.strptime`. Several: whether day, month or a short year is first cannot be told.

    Examples
    --------
    >>> import pandas as pd
    >>> date_formats(pd.Series(["31.01.2020", "01.02.2020"])), date_formats(pd.Series([20200131, 20200201]))
    (['%d.%m.%Y'], [])
    >>> date_formats(pd.Series(["03/04/2020", "05/06/2021"]))
    ['%d/%m/%Y', '%m/%d/%Y']
    """
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if pandas.api.types.is_datetime64_any_dtype(column.dtype):
        return [NATIVE]
    if pandas.api.types.is_numeric_dtype(column.dtype):
        return []
    values = pandas.Series(pandas.unique(column.dropna().astype(object)), dtype=object)
    if not all(isinstance(value, str) for value in values):
        return [NATIVE] if len(values) and all(hasattr(value, "isocalendar") for value in values) else []
    values = values.str.strip()
    values = values[~values.str.casefold().isin(MISSING)]
    if not len(values):
        return []
    if not _BEGINNING.match(values.iloc[0]):
        return []
    if not values.str.fullmatch(_ISO_TEXT).iloc[0]:
        formats = _TWO_DIGITS if values.str.fullmatch(_SHORT_YEAR).all() else _FORMATS
        return _matching(_matching(formats, values.iloc[:1]), values)
    return _matching([ISO], values) if values.str.fullmatch(_ISO_TEXT).all() else []


def _matching(formats: Sequence[str], values: Any) -> list[str]:
    return [one for one in formats if _parsed(values, one).notna().all()]


def _parsed(values: Any, format: str) -> Any:
    pandas = require("pandas", extra="app", purpose="encoding a table")
    return pandas.to_datetime(values, format=format, errors="coerce", utc=True)


def moments(column: Any, format: str) -> NDArray[np.datetime64]:
    """Return the cells of a column as datetime64[us] in UTC; NaT where they are missing or of another format."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    dates = pandas.api.types.is_datetime64_any_dtype(column.dtype)
    if not dates or isinstance(column.dtype, pandas.ArrowDtype):
        values = column.astype(object)
        if format == NATIVE:  # a CSV of what once was a Parquet
            format = ISO if all(isinstance(value, str) for value in values.dropna()) else format
        values = values.map(_stripped)
        column = pandas.to_datetime(values, errors="coerce", utc=True) if format == NATIVE else _parsed(values, format)
    if column.dt.tz is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    found: NDArray[np.datetime64] = column.to_numpy().astype("datetime64[us]")
    return found


def _stripped(cell: object) -> object:
    """Return a cell as text if it is one, or a number, of which a format such as "%Y%m%d" may make a date."""
    if isinstance(cell, str):
        return cell.strip()
    return as_word(cell) if isinstance(cell, int | float | np.number) and cell == cell else cell


def useful_parts(found: NDArray[np.datetime64]) -> tuple[str, ...]:
    """Return which parts of dates can matter: those that differ within the table.

    "days", since the first one; "season", the place in the year, where the dates span more than one, else days say the
    same; "weekday", unless all are the first of a month; "hour", the place in the day.
    """
    there = found[~np.isnat(found)].astype(np.int64)
    days = there // _DAY
    parts = ["days"]
    if days.max() - days.min() > _YEAR:
        parts.append("season")
    monthly = (there.astype("datetime64[us]").astype("datetime64[M]").astype("datetime64[D]").astype(int) == days).all()
    if not monthly and len(np.unique((days + 3) % 7)) > 1:
        parts.append("weekday")
    if len(np.unique(there % _DAY)) > 1:
        parts.append("hour")
    return tuple(parts)


def date_cells(found: NDArray[np.datetime64], start: int, parts: Sequence[str]) -> dict[str, NDArray[Any]]:
    r"""Return the parts of dates as columns, by name.

    Place in the year and in the day are the angles :math:`2\pi t/T` as sine and cosine, so that December is near
    January; days of the week are categories, as there is no reason why Friday should lie between Thursday and Saturday.

    Parameters
    ----------
    found : (n,) datetime64[us]
    start : int
        Microseconds since 1970 from which days are counted.
    parts : names
        As of `useful_parts`.

    Examples
    --------
    >>> times = np.array(["2020-01-03T06:00", "NaT"], dtype="datetime64[us]")
    >>> [(name, values.tolist()) for name, values in date_cells(times, 0, ["days", "weekday"]).items()]
    [('days', [18264.25, nan]), ('weekday', ['Friday', None])]
    """
    gone = np.isnat(found)
    ticks = np.where(gone, 0, found.astype(np.int64))
    cells: dict[str, NDArray[Any]] = {}
    for part in parts:
        if part == "days":
            cells["days"] = np.where(gone, np.nan, (ticks - start) / _DAY)
        elif part == "weekday":
            names = np.array(WEEKDAYS, dtype=object)[(ticks // _DAY + 3) % 7]  # 1970 began on a Thursday
            names[gone] = None
            cells["weekday"] = names
        else:
            turn = _of_the_year(found) if part == "season" else (ticks % _DAY) / _DAY
            angle = np.where(gone, np.nan, 2 * np.pi * turn)
            cells[f"{part} sin"], cells[f"{part} cos"] = np.sin(angle), np.cos(angle)
    return cells


def _of_the_year(found: NDArray[np.datetime64]) -> NDArray[np.float64]:
    """Return the place in its year of each moment, from 0 to 1."""
    year = found.astype("datetime64[Y]")
    begin, end = year.astype("datetime64[us]").astype(np.int64), (year + 1).astype("datetime64[us]").astype(np.int64)
    there = ~np.isnat(found)
    place: NDArray[np.float64] = np.zeros(len(found))
    np.divide(found.astype(np.int64) - begin, end - begin, out=place, where=there)
    return place
