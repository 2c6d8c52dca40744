"""Tables as data frames, and cells of a column as numbers, truth values or words; which of them are something else."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.errors import ArgumentError, require

# What people write where a value is missing, besides what pandas takes for missing when it reads a CSV; in lower case.
MISSING = frozenset(
    ("", "?", "-", "--", "---", ".", "..", "na", "n/a", "n.a.", "nan", "null", "none", "nil", "#n/a", "#na", "<na>",
     "missing", "unknown", "n/k", "n.k.", "not available", "not applicable")
)  # fmt: skip
_SYMBOL = "[$\u00a2-\u00a5\u058f\u060b\u09f2\u09f3\u0e3f\u20a0-\u20cf]"  # currency symbols of Unicode
# R$, US$, EUR, and kr, Rs. or S/ with a space or a mark: u17 is a label. After a number come up to two words: "Mio. €".
_BEFORE = rf"[^\W\d_]{{0,3}}{_SYMBOL}[^\W\d_]{{0,2}}|[A-Z]{{3}}|[^\W\d_]{{1,3}}(?:[./]{{1,2}}|(?=\s))"
_WORD = rf"(?:[^\W\d_]|{_SYMBOL}|[%‰°²³/.'′″·])"
# No two parts of a pattern match the same characters in a row: a cell of 100,000 digits takes no more than its length.
_AMOUNT = rf"(?P<sign>[+\-−]?)\s*(?:(?P<before>{_BEFORE})\s*)?(?:(?P<minus>[+\-−])\s*)?(?P<number>{{}})"
# 5- as accountants write, and 5.– and 5,-- without cents
_AMOUNT += rf"(?P<last>(?<=\d)[-−](?!-))?(?:[.,:][-–—]{{1,2}})?\s*(?P<after>{_WORD}{{1,12}}(?:\s{_WORD}{{1,12}})?)?"
_NEGATIVE = re.compile(r"([^()\d]*)\(([^()\d]*\d[^()]*)\)([^()\d]*)")  # (1,234.50)
RARE = 10  # in a column of numbers or dates a tenth of the cells may be something else: they are missing
_MONEY = re.compile(rf"(?:[A-Z]{{0,2}}{_SYMBOL}|[A-Z]{{3}})?\|(?:{_SYMBOL}|[A-Z]{{3}})?")
_SAME_UNIT = {"$": "usd", "us$": "usd", "€": "eur", "£": "gbp", "₹": "inr"}
_SPACED = r"[1-9]\d{0,2}(?:[ '’\u00a0\u202f]\d{3})+"  # 1 234 and 1'234, as in French and in Switzerland
_GROUPED = rf"(?:\d{{1,3}}(?:,\d{{3}})+|\d{{1,2}}(?:,\d{{2}})+,\d{{3}}|{_SPACED})(?:\.\d*)?"  # 12,34,567 in India
_POINT = re.compile(_AMOUNT.replace("{}", rf"{_GROUPED}|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"))  # 1,234.50
_THOUSANDS = rf"(?:\d{{1,3}}(?:\.\d{{3}})+|{_SPACED})"
_COMMA = re.compile(_AMOUNT.replace("{}", rf"{_THOUSANDS}(?:,\d*)?|(?:\d+(?:,\d*)?|,\d+)(?:[eE][+-]?\d+)?"))  # 1.234,50
_ONLY = rf"{_THOUSANDS},\d*|\d{{1,3}}(?:\.\d{{3}}){{2,}}|\d*,\d{{1,2}}|\d+,\d*[eE][+-]?\d+"
_ONLY_COMMA = re.compile(_AMOUNT.replace("{}", _ONLY))
_MARKS = str.maketrans("", "", " '’\u00a0\u202f")
_DOTS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")
_FRACTION = re.compile(r"\D*\d*\.\d+\D*")
_PLURAL = re.compile(r"(?<=\w\w)s$")
_CODE = re.compile(r"0\d+")
TRUTH = {"yes": True, "no": False, "y": True, "n": False, "true": True, "false": False, "t": True, "f": False}


# Methods that bring a table into memory: of Dask, polars' LazyFrame, Spark, Modin and DuckDB.
_COMPUTED = ("compute", "toPandas", "collect", "_to_pandas", "df")


def as_frame(X: Any) -> tuple[Any, bool]:
    """Return a data frame with texts as names, and whether it had names; columns of an array are called x0, x1, …."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if hasattr(X, "to_pandas"):  # of polars and Arrow
        X = X.to_pandas()
    lazy = next((name for name in _COMPUTED if hasattr(type(X), name) and hasattr(type(X), "columns")), None)
    if lazy is not None:
        received = describe(f"a {type(X).__module__.partition('.')[0]} {type(X).__name__}, which is computed lazily")
        raise fail("X", "TableEncoder", "a table in memory", received, f"Give X.{lazy}() instead.")
    if isinstance(X, pandas.DataFrame):
        names = [str(name) for name in X.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ArgumentError(f"the column name {twice!r} appears more than once; rename or drop one.")
        _check_rows(X.shape)
        X = X if names == list(X.columns) else X.set_axis(names, axis=1)
        words = [name for name, dtype in zip(names, X.dtypes, strict=True) if getattr(dtype, "kind", "O") == "S"]
        return (X.astype(dict.fromkeys(words, object)) if words else X), True  # pandas cannot count words of bytes
    if hasattr(X, "toarray"):
        hint = "Encode what is sparse before, or give X.toarray()."
        raise fail("X", "TableEncoder", "a data frame, or an array (n, d)", describe("a sparse matrix"), hint)
    array = np.asarray(X)
    if array.ndim != 2:
        hint = "Reshape your data: one row per sample."
        raise fail("X", "TableEncoder", "a data frame, or an array (n, d)", describe(f"shape {array.shape}"), hint)
    _check_rows(array.shape)
    if array.dtype.kind == "c":
        raise fail("X", "TableEncoder", "real", describe(f"dtype {array.dtype}"), "Complex data not supported.")
    return pandas.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])]), False


def _check_rows(shape: tuple[int, ...]) -> None:
    for count, what in zip(shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ArgumentError(f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")


def _is_numpy(dtype: Any, kinds: str) -> bool:
    """Return whether cells are an array of NumPy of some kinds: pandas' own types cost ten times as much."""
    return isinstance(dtype, np.dtype) and dtype.kind in kinds


def is_rare(count: int, n: int) -> bool:
    """Return whether so few of n cells can be mistakes."""
    return RARE * count <= n


def distinct(column: Any) -> Any:
    """Return the distinct values of a column that are there, or None if they are lists and the like."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if isinstance(column.dtype, pandas.CategoricalDtype):
        column = column.cat.remove_unused_categories()
        return column.cat.categories.to_numpy()
    try:
        if column.dtype == object:
            cells = column.to_numpy()
            return pandas.unique(cells[~pandas.isna(cells)])
        values = column.dropna().to_numpy()  # pandas takes numbers in the order of this machine's bytes only
        return pandas.unique(values.astype(values.dtype.newbyteorder("="), copy=False))
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


def without_marks(frame: Any, marks: Iterable[str], target: Any = None) -> Any:
    """Return a frame in which cells that are one of some marks are missing; -999 is one for numbers, too.

    A target whose other cells are plain numbers is of numbers then, as if these cells of its file had been empty.
    """
    known = {mark.strip().casefold() for mark in marks}
    for name in frame.columns if known else ():
        values = distinct(frame[name])
        gone = [value for value in values if as_word(value).strip().casefold() in known] if values is not None else []
        if gone:
            frame = frame.copy(deep=False)
            frame[name] = column = frame[name].mask(frame[name].isin(gone))
            left = [value for value in values if value not in gone]
            if name == target and any(isinstance(value, str) for value in left) and not has_codes(map(as_word, left)):
                plain = require("pandas", extra="app", purpose="encoding a table").to_numeric(column, errors="coerce")
                frame[name] = plain if (plain.isna() == column.isna()).all() else column
    return frame


def numbers(column: Any, amount: "Amount | None" = None) -> tuple[NDArray[np.float64], list[Any]]:
    """Return a column as numbers, NaN where they are missing or infinite, and the distinct cells that are not numbers.

    Of "$1,234.50", "(1,234.50)", "1.234,50 €", "1 234,50" and "70 kg" it is the number. ``amount`` is how the cells
    are written, by default as most of them are: a cell with another unit is not a number.
    """
    pandas = require("pandas", extra="app", purpose="encoding a table")
    plain = amount is None or amount.bare
    types, odd = pandas.api.types, []
    if plain and _is_numpy(column.dtype, "biuf"):
        values = column.to_numpy(dtype=np.float64)
    elif types.is_timedelta64_dtype(column.dtype):
        values = (column / pandas.Timedelta(days=1)).to_numpy(dtype=np.float64)
    elif plain and types.is_numeric_dtype(column.dtype) and getattr(column.dtype, "kind", "f") != "c":
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        cells = column.astype(object)
        values = np.array(pandas.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan))
        if amount is None:
            amount = amount_of(column)
        place = (cells.notna() & np.isnan(values)).to_numpy()
        if amount.comma:  # "1.234" is of a thousand, too
            place = place | np.array([isinstance(cell, str) and bool(_DOTS.fullmatch(cell.strip())) for cell in cells])
        if not amount.bare:
            place = cells.notna().to_numpy() & ~np.isinf(values)
        if place.any():
            texts = cells[place].map(as_word)
            read = {text: amount.read(text) for text in pandas.unique(texts)}
            odd = [text for text, value in read.items() if value is None and not is_missing(text)]
            values[place] = texts.map(read).to_numpy(dtype=np.float64)
    infinite = np.isinf(values)
    return (np.where(infinite, np.nan, values) if infinite.any() else values), odd


@dataclass(frozen=True)
class Amount:
    """Notation of the numbers of a column."""

    comma: bool = False  # whether decimals are written with a comma, and thousands with a point
    unit: str = ""  # of all cells, such as "kg" or "usd"
    bare: bool = True  # whether a cell may have no unit: there is none, or it is a currency

    def read(self, text: str) -> float | None:
        """Return the number of a cell, or None if it is not a number in this unit."""
        parts = _parts(text, _COMMA if self.comma else _POINT)
        if parts is None or not (parts[1] == self.unit or (self.bare and not parts[1])):
            return None
        return parts[0]


def amount_of(column: Any) -> Amount:
    """Return how most cells of a column are written.

    Decimals have a comma if cells are numbers by that alone, such as "9,5 €", and none by a point alone. Where "1.234"
    is in ten times as many cells, that takes one such as "1.234,5".
    """
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if pandas.api.types.is_numeric_dtype(column.dtype):
        return Amount()
    counts = column.dropna().astype(object).map(as_word).value_counts()
    texts = [text.strip() for text in counts.index]
    every = list(zip(texts, counts.tolist(), strict=True))
    commas = {t: count for t, count in every if ("," in t or t.count(".") > 1) and _parts(t, _ONLY_COMMA)}
    points = {t: count for t, count in every if "." in t and _FRACTION.fullmatch(t)} if commas else {}
    sure = any("." in text for text in commas) or not is_rare(sum(commas.values()), sum(points.values()))
    comma = bool(commas) and sure and all(_DOTS.search(text) for text in points)
    units: dict[str, int] = {}
    bare = {""}
    for text, count in every:
        parts = _parts(text, _COMMA if comma else _POINT)
        if parts is not None:
            units[parts[1]] = units.get(parts[1], 0) + count
            bare |= {parts[1]} if parts[2] else set()
    unit = max((name for name in units if name), key=lambda name: units[name], default="")
    if unit not in bare and units[unit] <= units.get("", 0):
        unit = ""
    return Amount(comma, unit, unit in bare)


def with_point(cell: object) -> object:
    """Return "1.234,5 kg" as "1234.5 kg", marks of missing cells as they are, and None for other cells."""
    if isinstance(cell, str) and _parts(cell, _COMMA):
        return cell.replace(".", "").replace(",", ".")
    return cell if is_missing(cell) else None


def _parts(text: str, form: re.Pattern[str]) -> tuple[float, str, bool] | None:
    """Return the number of a cell, its unit, and whether that is a currency; None for another text."""
    text = text.strip()
    enclosed = _NEGATIVE.fullmatch(text) if "(" in text else None
    match = form.fullmatch("".join(enclosed.groups()).strip() if enclosed else text)
    if match is None:
        return None
    signs = match["sign"] + (match["minus"] or "") + (match["last"] or "") + "-" * bool(enclosed)
    if len(signs) > 1:
        return None
    digits = match["number"].translate(_MARKS)
    digits = digits.replace(",", "") if form is _POINT else digits.replace(".", "").replace(",", ".")
    affixes = f"{match['before'] or ''}|{match['after'] or ''}"
    word = "".join(affixes.split()).replace("|", "").rstrip(".")
    word = _PLURAL.sub("", word.casefold()) if len(word) > 1 else word  # m is not M
    value = float(digits)
    return -value if signs in ("-", "−") else value, _SAME_UNIT.get(word, word), bool(_MONEY.fullmatch(affixes))


def has_codes(words: Iterable[str]) -> bool:
    """Tell whether a text is digits that begin with 0, such as a zip code."""
    return any(_CODE.fullmatch(word.strip()) for word in words)


def truths(column: Any) -> tuple[NDArray[np.float64], list[Any]]:
    """Return a column as 1 and 0, NaN where missing, and the distinct cells that are neither true nor false."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if not pandas.api.types.is_numeric_dtype(column.dtype):
        table = {cell: TRUTH.get(as_word(cell).strip().casefold(), cell) for cell in distinct(column)}
        if _is_numpy(column.dtype, "O") and all(isinstance(value, bool) for value in table.values()):
            return np.array([float(table.get(cell, np.nan)) for cell in column.to_numpy()]), []
        column = column.astype(object).map({cell: float(v) if isinstance(v, bool) else v for cell, v in table.items()})
    return numbers(column)


def words(column: Any) -> NDArray[Any]:
    """Return a column as texts, None where they are missing or empty, as an empty cell of a file is."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if isinstance(column.dtype, pandas.CategoricalDtype):
        cells = column.array
        table: NDArray[Any] = np.array([*(as_word(value) or None for value in cells.categories), None], dtype=object)
        return np.asarray(table[cells.codes])
    cells = column.tolist()
    words = {
        cell: None if cell is None or cell is pandas.NA or cell != cell else as_word(cell) or None
        for cell in dict.fromkeys(cells)
    }
    return np.array([words[cell] for cell in cells], dtype=object)
