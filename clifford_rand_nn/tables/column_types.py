"""Types of the columns of a table, each with the reason, and the task of a target."""

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import quantity
from clifford_rand.errors import ArgumentError, require
from clifford_rand_nn._words import shortened
from clifford_rand_nn.tables.cells import TRUTH, amount_of, as_word, distinct, has_codes, is_missing, is_rare, numbers
from clifford_rand_nn.tables.dates import date_formats

KINDS = ("numeric", "boolean", "categorical", "date", "text", "dropped")
_FEW = 20  # distinct texts or rows: so few are categories, and no identifiers
_MOST_DISTINCT = 0.5  # of the rows: texts of which more are distinct are not categories
_MOST_LABELS = 0.8  # likewise of words without a space, where their categories have target means
_LONGEST = 30  # characters of a cell that is shown
_LONG = 50  # characters, on average: sentences
_IDENTIFIER = re.compile(r"(.*[_\s.-])?(?i:id|ids|uuid|guid|index|idx|key|nr|no)|.*[a-z]I[Dd]|Unnamed: \d+")


@dataclass(frozen=True)
class ColumnKind:
    """Type of a column."""

    name: str
    kind: str  # one of "numeric", "boolean", "categorical", "date", "text" and "dropped"
    reason: str  # in a few words
    n_missing: int = 0  # cells without a value
    is_user_specified: bool = False  # whether the kind was given rather than found


def find_kinds(
    frame: Any, asked: Mapping[str, str], other_text: str = "drop", min_frequency: int = 1, supervised: bool = False
) -> tuple[ColumnKind, ...]:
    """Return what each column of a frame is; ``asked`` has the kinds that were given, by name.

    Categories none of which is in ``min_frequency`` rows are left out, unless they are many and there is a target.
    """
    columns = [(str(name), frame[name]) for name in frame.columns]
    return tuple(
        _kind(name, column, asked.get(name), other_text, min_frequency, supervised) for name, column in columns
    )


def _kind(
    name: str, column: Any, asked: str | None, other_text: str, min_frequency: int, supervised: bool
) -> ColumnKind:
    missing = int(column.isna().sum())
    if column.dtype == object or getattr(column.dtype, "kind", "O") not in "biufmM":
        missing = int((column.isna() | column.map(is_missing).astype(bool)).sum())
    if asked is not None:
        return ColumnKind(name, asked, "as asked", missing, is_user_specified=True)
    kind, why = _detected(name, column, supervised)
    if kind == "text" and other_text == "drop":
        return ColumnKind(
            name, "dropped", f"{why}: text; --text {name} uses its words, in Python text=[{name!r}]", missing
        )
    counts = column.value_counts() if kind == "categorical" else column[:0]
    if counts.size and not (supervised and len(counts) > _FEW) and max(missing, int(counts.max())) < min_frequency:
        return ColumnKind(name, "dropped", f"{why}, none in {quantity(min_frequency, 'rows')}", missing)
    return ColumnKind(name, kind, why, missing)


def _detected(name: str, column: Any, supervised: bool) -> tuple[str, str]:
    pandas = require("pandas", extra="app", purpose="encoding a table")
    types, there = pandas.api.types, column.dropna()
    if not len(there):
        return "dropped", "every cell is empty"
    if isinstance(column.dtype, pandas.CategoricalDtype):
        values = distinct(column)
        return _truths(map(as_word, values)) or _categories(values, len(there) == len(column), "categories of the file")
    if types.is_bool_dtype(column.dtype):
        return _several(there.min(), there.max(), len(there) == len(column)) or ("boolean", "true and false")
    if types.is_datetime64_any_dtype(column.dtype):
        return _several(there.min(), there.max(), len(there) == len(column)) or ("date", "dates of the file")
    if types.is_timedelta64_dtype(column.dtype):
        return "numeric", "durations, in days"
    if types.is_numeric_dtype(column.dtype):
        if getattr(column.dtype, "kind", "f") == "c":
            return "dropped", "complex numbers"
        return _numeric(name, column, numbers(column)[0])
    values = distinct(column)
    if values is None:
        return "dropped", f"cells such as {_shown(there.iloc[0])} are neither numbers nor text"
    return _of_texts(name, column, values, supervised)


def _several(low: Any, high: Any, every: bool) -> tuple[str, str] | None:
    """Return why a column of one value is left out; where some cells are missing, these still say something."""
    return ("dropped", f"every cell is {_shown(low)}") if low == high and every else None


def _numeric(name: str, column: Any, cells: NDArray[np.float64]) -> tuple[str, str]:
    """Tell numbers from identifiers and from 0 and 1."""
    gone = np.isnan(cells)
    values = cells[~gone]
    if not len(values):
        return "dropped", "no cell is finite"
    low, high, n = values.min(), values.max(), len(values)
    if low == high and getattr(column.dtype, "kind", "O") in "iu" and column.nunique() > 1:
        return "dropped", f"numbers such as {_shown(column.dropna().iloc[0])}, which float64 cannot tell apart"
    alone = _several(int(low) if low == np.round(low) else low, high, n == len(cells))
    if alone:
        return alone
    if low == 0 and high == 1 and set(np.unique(values)) == {0.0, 1.0}:
        return "boolean", "0 and 1"
    if n > _FEW and n == len(cells) and (values == np.round(values)).all():
        counts = low in (0, 1) and high - low == n - 1
        if (counts or _IDENTIFIER.fullmatch(name.lower() if name.isupper() else name)) and len(np.unique(values)) == n:
            return "dropped", f"whole numbers {as_word(low)} to {as_word(high)}, each once: an identifier"
    return "numeric", "numbers"


def _of_texts(name: str, column: Any, values: Any, supervised: bool) -> tuple[str, str]:
    """Tell what a column of objects is: mostly of strings."""
    texts = [as_word(value) for value in values]
    marks = sorted({text.strip() for text in texts if is_missing(text)})
    words = [text.strip() for text in texts if not is_missing(text)]
    if not words:
        return "dropped", f"every cell says {marks[0]!r}"
    every = not marks and not column.isna().any()
    truth = _truths(words)
    if truth:
        return truth
    amount = amount_of(column)
    parsed, odd = numbers(column, amount)
    n = len(column) - int(column.isna().sum())
    bad = int(column.map(as_word).isin(odd).sum()) if 2 * len(odd) <= n else n
    distinct_numbers = len(np.unique(parsed[~np.isnan(parsed)]))
    # a repeated text beside few distinct numbers is a category, and so are these
    dated = bool(amount.unit) and bool(date_formats(column))  # Jan 2020
    if not (dated or has_codes(words)) and is_rare(bad, n) and (bad == len(odd) or distinct_numbers > _FEW):
        without = ", ".join(repr(mark) for mark in [*marks, *odd[:1]] if mark)
        kind, why = _numeric(name, column, parsed)
        return (kind, f"{why}, and {without} where there is none") if without else (kind, why)
    formats = date_formats(column)
    example = _shown(next((word for word in words if any(mark.isdigit() for mark in word)), words[0]))
    if len(formats) == 1 and len(words) > 1:
        return "date", f"dates such as {example}"
    if len(formats) > 1:
        what = "day, month or year" if "%y" in formats[0] else "day or month"
        days = f"--date {name}={formats[0]} says so, in Python date={{{name!r}: {formats[0]!r}}}"
        return "dropped", f"dates such as {example}: {what} first? {days}"
    if not all(isinstance(value, str | bytes | bool | int | float | np.generic) for value in values):
        odd = next(v for v in values if not isinstance(v, str | bytes | bool | int | float | np.generic))
        return "dropped", f"cells such as {_shown(odd)} are neither numbers nor text"
    kind, why = _texts(words, n, every, supervised)
    if kind != "categorical" and 0 < bad <= n / 2 and not has_codes(words):
        why += (
            f", numbers but for {bad} cells such as {_shown(odd[0])}: correct them, give all one unit, or name marks "
        )
        why += "of missing cells (--missing-values, in Python missing_values=[...])"
    return kind, why


def _truths(words: Iterable[str]) -> tuple[str, str] | None:
    """Return the kind of texts that are true and false, both of them."""
    folded = {word.strip().casefold() for word in words}
    if not folded <= TRUTH.keys() or len({TRUTH[word] for word in folded}) < 2:
        return None
    return "boolean", " and ".join(sorted(folded, key=lambda word: TRUTH[word]))


def _texts(words: list[str], n: int, every: bool, supervised: bool) -> tuple[str, str]:
    """Tell categories from text and identifiers."""
    many = f"{len(words)} different texts in {n} rows"
    mean = np.mean([len(word) for word in words])
    labels = mean <= _LONG and not any(" " in word for word in words)
    if len(words) == n > _FEW and labels:
        return "dropped", f"{many}: an identifier"
    most = _MOST_LABELS if labels and supervised else _MOST_DISTINCT
    if len(words) > max(_FEW, most * n) or (mean > _LONG and len(words) > 2):
        return "text", many
    return _categories(words, every, "different texts")


def _categories(values: Any, every: bool, what: str) -> tuple[str, str]:
    if len(values) > 1:
        return "categorical", f"{len(values)} {what}"
    return _several(values[0], values[0], every) or ("categorical", f"{_shown(values[0])} or nothing")


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return shortened(text, _LONGEST)


MOST_CLASSES = 20  # more distinct whole numbers than this are counts or codes rather than classes


def choose_task(target: NDArray[Any]) -> tuple[str, str]:
    """Return the task for a target, and why; refuse texts most of which occur once, which are not classes."""
    values = np.unique(target)
    if target.dtype.kind in "US":
        if len(values) > max(MOST_CLASSES, len(target) // 2):
            many = f"{len(values)} different ones in {len(target)} rows, such as {str(values[0])!r}"
            advice = "name another column, or write its numbers as 1234.5 or $1,234.50"
            raise ArgumentError(f"the target is text, {many}: neither classes nor numbers; {advice}.")
        return "classification", f"the target is text, {len(values)} classes"
    if target.dtype.kind == "b":
        return "classification", "the target is boolean"
    from sklearn.utils.multiclass import type_of_target

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "more classes than half the samples": that is decided here
        continuous = type_of_target(target).startswith("continuous")
    if continuous:
        return "regression", "the target has fractions"
    few = f"{len(values)} distinct whole numbers in {len(target)} rows"
    if len(values) <= min(MOST_CLASSES, max(2, len(target) // 2)):
        return "classification", f"the target has {few}; else give --task regression"
    return "regression", f"the target has {few}; else give --task classification"


def indicators(y: Any, n: int) -> tuple[tuple[str, ...], NDArray[np.float64]] | None:
    """Return a target of n rows as columns: itself, or 0 and 1 for each class, of two classes for the second only.

    None where cells of it are missing, it has several columns, or too many classes.
    """
    target = np.asarray(y)
    target = target[:, 0] if target.shape == (n, 1) else target
    if target.shape != (n,) or (target.dtype.kind == "f" and not np.isfinite(target).all()):
        return None
    target = target.astype(str) if target.dtype.kind == "O" else target
    try:
        task, _ = choose_task(target)
    except ArgumentError:
        return None
    if task == "regression":
        return ("",), target.astype(np.float64)[:, None]
    classes = np.unique(target)
    if not 2 <= len(classes) <= MOST_CLASSES:
        return None
    classes = classes[-1:] if len(classes) == 2 else classes
    return tuple(map(str, classes)), (target[:, None] == classes).astype(np.float64)
