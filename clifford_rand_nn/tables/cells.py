"""Cells of a column as numbers, truth values or words, and which of them are something else."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._optional import require

# What people write where a value is missing, besides what pandas takes for missing when it reads a CSV; in lower case.
MISSING = frozenset(
    ("", "?", "-", "--", "---", ".", "..", "na", "n/a", "n.a.", "nan", "null", "none", "nil", "#n/a", "#na", "<na>",
     "missing", "unknown", "n/k", "n.k.", "not available", "not applicable")
)  # fmt: skip
_MONEY = r"(?:[$€£¥]|EUR|USD|GBP|CHF)?"
_AMOUNT = rf"(?P<sign>[+\-−]?\s*{_MONEY}|{_MONEY}\s*[+\-−]?)\s*(?P<number>{{}})\s*(?:%|{_MONEY})"
_SPACED = r"[1-9]\d{0,2}(?:[ '’\u00a0\u202f]\d{3})+"  # 1 234 and 1'234, as in French and in Switzerland
_POINT = re.compile(
    _AMOUNT.replace("{}", rf"(?:\d{{1,3}}(?:,\d{{3}})+|{_SPACED})(?:\.\d*)?|\d+\.?\d*|\.\d+")
)  # 1,234.50
_COMMA = re.compile(
    _AMOUNT.replace("{}", rf"(?:\d{{1,3}}(?:\.\d{{3}})+|{_SPACED})(?:,\d*)?|\d+(?:,\d*)?|,\d+")
)  # 1.234,50
_ONLY_COMMA = re.compile(
    _AMOUNT.replace("{}", rf"(?:\d{{1,3}}(?:\.\d{{3}})+|{_SPACED}),\d*|\d{{1,3}}(?:\.\d{{3}}){{2,}}|\d*,\d{{1,2}}")
)
_MARKS = str.maketrans("", "", " '’\u00a0\u202f")
_DOTS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+")
_CODE = re.compile(r"0\d+")
TRUTH = {"yes": True, "no": False, "y": True, "n": False, "true": True, "false": False, "t": True, "f": False}


def distinct(column: Any) -> Any:
    """Return the distinct values of a column that are there, or None if they are lists and the like."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if isinstance(column.dtype, pandas.CategoricalDtype):
        column = column.cat.remove_unused_categories()
        return column.cat.categories.to_numpy()
    try:
        return pandas.unique(column.dropna().to_numpy() if column.dtype != object else column.dropna())
    except TypeError:  # unhashable
        return None


def as_word(value: object) -> str:
    """Return a value as the text by which it is looked up; 3, 3.0 and "3" are alike, True and "True" too."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def is_missing(word: object) -> bool:
    """Tell whether a text says that there is no value."""
    return isinstance(word, str) and word.strip().casefold() in MISSING


def numbers(column: Any) -> tuple[NDArray[np.float64], list[Any]]:
    """Return a column as numbers, NaN where they are missing or infinite, and the distinct cells that are no numbers.

    Of "12 %", "$1,234.50", "1.234,50 €", "1 234,50" and "1'234.50" it is the number. A column has decimal commas if one
    of its cells is a number by them alone, such as "9,5 €".

    Examples
    --------
    >>> import pandas as pd
    >>> numbers(pd.Series(["1.5", "?", None, "inf", "old", "12 %"]))
    (array([ 1.5,  nan,  nan,  nan,  nan, 12. ]), ['old'])
    """
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if column.dtype == np.float64:
        found = column.to_numpy()
        return (found if np.isfinite(found).all() else np.where(np.isinf(found), np.nan, found)), []
    types, odd = pandas.api.types, []
    if types.is_timedelta64_dtype(column.dtype):
        found = (column / pandas.Timedelta(days=1)).to_numpy(dtype=np.float64)
    elif types.is_numeric_dtype(column.dtype) and getattr(column.dtype, "kind", "f") != "c":
        found = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        cells = column.astype(object)
        values = pandas.to_numeric(cells, errors="coerce")
        place = (cells.notna() & values.isna()).to_numpy()
        unread = cells[place]
        commas = len(unread) > 0 and any(_ONLY_COMMA.fullmatch(as_word(cell).strip()) for cell in unread)
        if commas:  # "1.234" is of a thousand, too
            place = place | np.array([isinstance(cell, str) and bool(_DOTS.fullmatch(cell.strip())) for cell in cells])
            unread = cells[place]
        found = np.array(values.to_numpy(dtype=np.float64, na_value=np.nan))
        if len(unread):
            texts = unread.map(as_word)
            with_units = {text: (_COMMA if commas else _POINT).fullmatch(text.strip()) for text in pandas.unique(texts)}
            odd = [text for text, match in with_units.items() if match is None and not is_missing(text)]
            known = {text: _value(match, commas) for text, match in with_units.items() if match}
            if known:
                found[place] = texts.map(known).to_numpy(dtype=np.float64)
    infinite = np.isinf(found)
    return (np.where(infinite, np.nan, found) if infinite.any() else found), odd


def has_codes(words: Iterable[str]) -> bool:
    """Tell whether a text is digits that begin with 0, such as a zip code."""
    return any(_CODE.fullmatch(word.strip()) for word in words)


def _value(match: re.Match[str], commas: bool) -> float:
    """Return the number of a cell without its marks of thousands."""
    digits = match["number"].translate(_MARKS)
    digits = digits.replace(".", "").replace(",", ".") if commas else digits.replace(",", "")
    return -float(digits) if set("-−") & set(match["sign"]) else float(digits)


def truths(column: Any) -> tuple[NDArray[np.float64], list[Any]]:
    """Return a column as 1 and 0, NaN where they are missing, and the distinct cells that are neither true nor false.

    Examples
    --------
    >>> import pandas as pd
    >>> truths(pd.Series(["yes", "No ", None, "maybe"]))
    (array([ 1.,  0., nan, nan]), ['maybe'])
    """
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if not pandas.api.types.is_numeric_dtype(column.dtype):
        table = {cell: TRUTH.get(as_word(cell).strip().casefold(), cell) for cell in distinct(column)}
        column = column.astype(object).map({cell: float(v) if isinstance(v, bool) else v for cell, v in table.items()})
    return numbers(column)


def words(column: Any) -> NDArray[Any]:
    """Return a column as texts, None where they are missing or empty, as an empty cell of a file is."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if isinstance(column.dtype, pandas.CategoricalDtype):
        codes, values = column.cat.codes.to_numpy(), column.cat.categories
    else:
        codes, values = pandas.factorize(column)
    table: NDArray[Any] = np.array([*(as_word(value) or None for value in values), None], dtype=object)
    return np.asarray(table[codes])
