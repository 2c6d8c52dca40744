"""Dates: formats of texts, detected without a guess, and dates as columns that a network can use."""

import datetime as dt
import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.errors import require
from clifford_rand_nn.tables.cells import MISSING, as_word, is_missing, is_rare

NATIVE, ISO, QUARTER = "native", "ISO8601", "quarter"  # moments of the file; 2020-01-31T12:00; 2020Q1, Q1 2020, 1Q20
_OFFSET = r"(?<!\s)\s*(?:Z|[+-]\d{2}:?\d{2})$"
_ISO_TEXT = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:Z|[+-]\d{2}:?\d{2})?)?"
_QUARTER = r"(?i:(\d{4})[ /-]?Q([1-4])|Q([1-4])(?:[ /-]?(\d{4})| ?'(\d{2}))|([1-4])Q[ /'-]?(\d{4}|\d{2}))"
_CLOCK_TEXT = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:\s?[AaPp][Mm])?"
_BEGINNING = re.compile(
    rf"\d{{1,4}}[./-]\d{{1,2}}|\d{{1,2}}\.?[ -][A-Za-z]{{3,}}|[A-Za-z]{{3,}}[ -]\d{{1,4}}|{_QUARTER}|{_CLOCK_TEXT}"
)
_DAYS = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d"),
    *("%Y-%m", "%b %Y", "%B %Y", "%b-%Y", "%m/%Y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y"),
    *("%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d. %b %Y", "%d. %B %Y"),
    *("%d-%b-%y", "%d %b %y"),  # of Excel and Oracle; May-19 may be a day or a year
)
_SHORT = ("%d.%m.%y", "%y.%m.%d", "%d/%m/%y", "%m/%d/%y", "%y/%m/%d", "%d-%m-%y", "%m-%d-%y", "%y-%m-%d")
_SHORT_YEAR = r"\d{2}([./-])\d{2}\1\d{2}(?: .*)?"  # 1.2.10 is a version
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", " %H:%M:%S.%f")
_CLOCK = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M%p", "%I:%M:%S %p")  # on the first day of 1970
_FORMATS = (ISO, QUARTER, *_CLOCK, *(day + time for day, time in product(_DAYS, _TIMES)))
_TWO_DIGITS = tuple(day + time for day, time in product(_SHORT, _TIMES))
_TRIED = 20  # texts by which the formats are found that all texts are read with
DAY = 86_400_000_000  # microseconds
_YEAR = 365  # days
_FIRST = dt.date(1970, 1, 1)  # of times of the day
PARTS = ("days", "season", "weekday", "hour")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def date_formats(column: Any) -> list[str]:
    """Return every format by which most cells of a column are dates, and at most a tenth is not; numbers never are.

    "native" are moments of the file (of Parquet, say), "ISO8601" texts such as 2020-01-31 or 2020-01-31T12:00:05Z,
    "quarter" such as 2020Q1, the others are those of `datetime.strptime`; 08:30 is a time of the day. Several: whether
    day, month or a short year is first is ambiguous, as in 03/04/2020.
    """
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if pandas.api.types.is_datetime64_any_dtype(column.dtype):
        return [NATIVE]
    if pandas.api.types.is_numeric_dtype(column.dtype):
        return []
    cells = column.dropna().astype(object)
    if not all(isinstance(value, str) for value in cells):
        moments_of_time = all(hasattr(value, "isocalendar") or isinstance(value, dt.time) for value in cells)
        return [NATIVE] if len(cells) and moments_of_time else []
    counts = cells.str.strip().value_counts(sort=False)
    counts = counts[~counts.index.str.casefold().isin(MISSING)]
    n, likely = counts.sum(), counts[counts.index.str.match(_BEGINNING)]
    if not len(likely) or not is_rare(n - likely.sum(), n):
        return []
    texts = likely.index.tolist()
    short = sum(re.fullmatch(_SHORT_YEAR, text) is not None for text in texts)
    formats = _TWO_DIGITS if 2 * short > len(texts) else _FORMATS
    formats = tuple(form for form in formats if not np.isnat(_parsed(texts[:_TRIED], form)).all())
    parsed = {form: int(likely[~np.isnat(_parsed(texts, form))].sum()) for form in formats}
    best = max(parsed.values(), default=0)
    return [form for form, count in parsed.items() if count == best and is_rare(n - best, n)]


def _parsed(texts: Sequence[str], format: str) -> NDArray[np.datetime64]:
    """Return texts as moments, NaT where they are of another format; offsets from UTC are left out."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    cells: Sequence[str | None] = texts
    if format == QUARTER:
        cells, format = [_quarter(text) for text in texts], "%Y-%m"
    if format == ISO:
        cells = [re.sub(_OFFSET, "", text) if re.fullmatch(_ISO_TEXT, text) else None for text in texts]
    if format in _CLOCK:
        cells = [f"{_FIRST} {text}" if re.fullmatch(_CLOCK_TEXT, text) else None for text in texts]
        format = f"%Y-%m-%d {format}"
    return _microseconds(pandas.to_datetime(np.array(cells, dtype=object), format=format, errors="coerce"))


def _quarter(text: str) -> str | None:
    """Return the first month of a quarter."""
    match = re.fullmatch(_QUARTER, text)
    if match is None:
        return None
    quarter, year = sorted(filter(None, match.groups()), key=len)
    century = dt.datetime.strptime(year, "%y").year - int(year) if len(year) == 2 else 0
    return f"{int(year) + century:04d}-{3 * int(quarter) - 2:02d}"


def zone_of(column: Any, format: str) -> str:
    """Return the time zone of all moments of a column; "" if there is none, or several, as +01:00 beside +02:00."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if isinstance(column.dtype, pandas.DatetimeTZDtype):
        names = {str(column.dt.tz)}
    else:
        offsets = [_offset(cell) for cell in column.dropna().astype(object) if not is_missing(cell)]
        names = set(offsets) if format in (NATIVE, ISO) or "%z" in format else set()
    try:
        (name,) = names
        pandas.Timestamp(0, tz=name or None)
    except (ValueError, LookupError):
        return ""
    return str(name)


def _offset(cell: Any) -> str:
    """Return the time zone of a moment, or the offset that a text ends with, such as "UTC+02:00"; else ""."""
    if not isinstance(cell, str):
        return str(getattr(cell, "tzinfo", None) or "")
    match = re.search(_OFFSET, cell.strip())
    text = match[0].strip().replace(":", "") if match and ":" in cell else ""
    return "UTC" if text == "Z" else text and f"UTC{text[:3]}:{text[3:]}"


def moments(column: Any, format: str, zone: str = "UTC") -> NDArray[np.datetime64]:
    """Return the cells of a column as datetime64[us]; NaT where they are missing or of another format.

    They are read off a clock in ``zone``; without a zone, and where a cell has no offset from UTC, as they are written.
    """
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if pandas.api.types.is_datetime64_any_dtype(column.dtype) and not isinstance(column.dtype, pandas.ArrowDtype):
        if column.dt.tz is not None:
            column = (column.dt.tz_convert(zone) if zone else column).dt.tz_localize(None)
        return _microseconds(column)
    cells = [_stripped(cell) for cell in column.tolist()]
    if "%z" in format:
        cells = [_moment(cell, format) for cell in cells]
    texts = {i: cell for i, cell in enumerate(cells) if isinstance(cell, str)}
    times: dict[int, Any] = {
        i: cell for i, cell in enumerate(cells) if hasattr(cell, "isocalendar") and cell is not pandas.NaT
    }
    moved = [i for i, cell in times.items() if _offset(cell) not in ("", zone)]
    result = np.full(len(cells), np.datetime64("NaT", "us"))
    if times:
        plain = [cell.replace(tzinfo=None) if getattr(cell, "tzinfo", None) else cell for cell in times.values()]
        result[list(times)] = _microseconds(pandas.to_datetime(plain, errors="coerce"))
    if texts:
        if format == NATIVE:  # a CSV of what once was a Parquet
            format = (date_formats(pandas.Series(texts, dtype=object)) or [ISO])[0]
        result[list(texts)] = _parsed(list(texts.values()), format)
        if format == ISO:
            moved += [i for i, cell in texts.items() if _offset(cell) not in ("", zone) and not np.isnat(result[i])]
    if zone and moved:
        there = pandas.to_datetime([cells[i] for i in moved], utc=True, errors="coerce", format=ISO)
        result[moved] = _microseconds(there.tz_convert(zone).tz_localize(None))
    return result


def _microseconds(times: Any) -> NDArray[np.datetime64]:
    result: NDArray[np.datetime64] = times.to_numpy().astype("datetime64[us]")
    return result


def _moment(cell: object, format: str) -> dt.datetime | None:
    """Return a text as a moment with its offset from UTC, or None."""
    try:
        return dt.datetime.strptime(str(cell), format)
    except ValueError:
        return None


def _stripped(cell: object) -> object:
    """Return a cell as text if it is one, or a number, of which a format such as "%Y%m%d" may make a date.

    A time of the day is a moment of the first day of 1970.
    """
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, dt.time):
        return dt.datetime.combine(_FIRST, cell)
    return as_word(cell) if isinstance(cell, int | float | np.number) and cell == cell else cell


def useful_parts(times: NDArray[np.datetime64]) -> tuple[str, ...]:
    """Return which parts of dates can matter: those that differ within the table.

    "days", since the first one; "season", the place in the year, where the dates span more than one, else days say the
    same; "weekday", unless all are the first of a month; "hour", the place in the day.
    """
    there = times[~np.isnat(times)].astype(np.int64)
    days = there // DAY
    parts = ["days"]
    if days.max() - days.min() > _YEAR:
        parts.append("season")
    monthly = (there.astype("datetime64[us]").astype("datetime64[M]").astype("datetime64[D]").astype(int) == days).all()
    if not monthly and len(np.unique((days + 3) % 7)) > 1:
        parts.append("weekday")
    if len(np.unique(there % DAY)) > 1:
        parts.append("hour")
    return tuple(parts)


def date_cells(times: NDArray[np.datetime64], start: int, parts: Sequence[str]) -> dict[str, NDArray[Any]]:
    r"""Return the parts of dates as columns, by name.

    Place in the year and in the day are the angles :math:`2\pi t/T` as sine and cosine, so that December is near
    January; days of the week are categories, as there is no reason why Friday should lie between Thursday and Saturday.

    ``times`` (n,) are datetime64[us], ``start`` the microseconds since 1970 from which days are counted, ``parts`` as
    of `useful_parts`.
    """
    gone = np.isnat(times)
    ticks = np.where(gone, 0, times.astype(np.int64))
    cells: dict[str, NDArray[Any]] = {}
    for part in parts:
        if part == "days":
            cells["days"] = np.where(gone, np.nan, (ticks - start) / DAY)
        elif part == "weekday":
            names = np.array(WEEKDAYS, dtype=object)[(ticks // DAY + 3) % 7]  # 1970 began on a Thursday
            names[gone] = None
            cells["weekday"] = names
        else:
            turn = _of_the_year(times) if part == "season" else (ticks % DAY) / DAY
            angle = np.where(gone, np.nan, 2 * np.pi * turn)
            cells[f"{part} sin"], cells[f"{part} cos"] = np.sin(angle), np.cos(angle)
    return cells


def _of_the_year(times: NDArray[np.datetime64]) -> NDArray[np.float64]:
    """Return the place in its year of each moment, from 0 to 1."""
    year = times.astype("datetime64[Y]")
    begin = year.astype("datetime64[us]").astype(np.int64)
    end = (year + np.timedelta64(1, "Y")).astype("datetime64[us]").astype(np.int64)
    there = ~np.isnat(times)
    place: NDArray[np.float64] = np.zeros(len(times))
    np.divide(times.astype(np.int64) - begin, end - begin, out=place, where=there)
    return place
