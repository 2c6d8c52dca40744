"""What a column of a table is taken for, and why."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clifford_rand._optional import require
from clifford_rand_nn.tables.cells import MISSING, TRUTH, is_text, moments, numbers

KINDS = ("number", "boolean", "category", "date", "text", "left out")
_MOST_CATEGORIES = 0.5  # of the rows: texts that are mostly distinct are no categories
_FEW = 20  # distinct texts are categories, however few rows there are
_LONG = 50  # characters, on average: sentences


@dataclass(frozen=True)
class ColumnKind:
    """What a column is taken for.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "category", "date", "text", "left out"}
    why : str
        In a few words.
    missing : int
        Cells without a value.
    asked : bool
        Whether the kind was given rather than found.
    """

    name: str
    kind: str
    why: str
    missing: int = 0
    asked: bool = False


def find_kinds(frame: Any, asked: Mapping[str, str], text: str = "leave out") -> tuple[ColumnKind, ...]:
    """Return what each column of a frame is; ``asked`` has the kinds that were given, by name."""
    return tuple(_kind(str(name), frame[name], asked.get(str(name)), text) for name in frame.columns)


def _kind(name: str, column: Any, asked: str | None, text: str) -> ColumnKind:
    missing = int(column.isna().sum())
    if asked is not None:
        return ColumnKind(name, asked, "as asked", missing, asked=True)
    kind, why = _found(name, column, missing)
    if kind == "text" and text == "leave out":
        return ColumnKind(name, "left out", f"{why}; `embed` makes features of it", missing)
    return ColumnKind(name, kind, why, missing)


def _found(name: str, column: Any, missing: int) -> tuple[str, str]:
    pandas = require("pandas", extra="app", purpose="encoding a table")
    types = pandas.api.types
    n = len(column)
    if missing == n:
        return "left out", "every cell is empty"
    values = column.dropna().unique()
    if len(values) == 1 and not missing:
        return "left out", f"every cell is {_shown(values[0])}"
    if types.is_bool_dtype(column.dtype):
        return "boolean", "true and false"
    if types.is_datetime64_any_dtype(column.dtype):
        return "date", "dates of the file"
    if isinstance(column.dtype, pandas.CategoricalDtype):
        return "category", f"{len(values)} categories of the file"
    if types.is_numeric_dtype(column.dtype):
        if set(np.unique(np.asarray(values, dtype=np.float64))) <= {0.0, 1.0}:
            return "boolean", "0 and 1"
        return "number", "numbers"
    if not is_text(values):
        if moments(column) is not None:
            return "date", "dates of the file"
        return "left out", f"cells such as {_shown(values[0])} are neither numbers nor text"
    words = {str(value).strip().casefold() for value in values}
    if words <= TRUTH.keys() and len({TRUTH[word] for word in words}) == 2:
        return "boolean", " and ".join(sorted(words, key=lambda word: TRUTH[word]))
    if words <= MISSING:
        return "left out", "every cell is empty or says so"
    if numbers(column) is not None:
        marks = sorted(word for word in words if word in MISSING)
        said = f", and {', '.join(repr(mark) for mark in marks)} for missing ones" if marks else ""
        return "number", f"numbers{said}"
    if moments(column) is not None:
        return "date", f"dates such as {_shown(values[0])}"
    return _words(values, n - missing)


def _words(values: Any, n: int) -> tuple[str, str]:
    """Tell categories from text and identifiers."""
    many = f"{len(values)} different texts in {n} rows"
    if len(values) == n and n > _FEW and not any(" " in str(value).strip() for value in values):
        return "left out", f"{many}: an identifier"
    if len(values) > max(_FEW, _MOST_CATEGORIES * n) or np.mean([len(str(value)) for value in values]) > _LONG:
        return "text", many
    return "category", f"{len(values)} different texts"


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 30 else text[:29] + "…"


def given_kinds(**given: Iterable[str]) -> dict[str, str]:
    """Return the kind of every column that was given."""
    return {name: kind for kind, names in given.items() for name in names}
