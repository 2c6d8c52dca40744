"""Readers of columns: the cells of a column as numbers, words or texts, read alike in every table."""

# ruff: noqa: D102  # methods are described by Reader

import itertools
from collections.abc import Set
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.tables.cells import Amount, amount_of, as_word, is_missing, is_rare, numbers, truths, words
from clifford_rand_nn.tables.dates import date_cells, date_formats, moments, useful_parts, zone_of

# Families of cells, by which they are encoded.
NUMBER, TRUTH, WORD, TEXT = "numeric", "boolean", "categorical", "text"
_EARLIER = (("zone", "UTC"), ("label", ""))  # what files of earlier versions do not have
Unread = dict[str, tuple[int, str, Any]]  # of a column: cells that could not be read, the first one, and its row


@dataclass(frozen=True)
class Reader:
    """Reader of the column ``name``; `read` returns one array (n,) of cells for each name in `families`."""

    name: str
    kind: ClassVar[str] = ""

    @classmethod
    def of(cls, name: str, column: Any, format: str | None = None) -> "Reader":
        """Return the reader for a column of a table that a model is fitted to."""
        return cls(name)

    @property
    def in_files(self) -> str:
        """What to make of the cells of a file: "text", "number" if all are numbers or missing, or "" to find out."""
        return ""

    @property
    def families(self) -> dict[str, str]:
        """Names of the cells that come out, and what family they are of."""
        return {self.name: self.kind}

    def read(self, column: Any, unread: Unread) -> dict[str, NDArray[Any]]:
        """Return the cells. Those of another kind than in training are missing and in ``unread``; many are refused."""
        raise NotImplementedError

    def plain(self) -> dict[str, Any]:
        """Return the kind and all that the reader is made of, as JSON can hold it."""
        return {"kind": self.kind, **asdict(self)}

    def _set_aside(self, column: Any, odd: list[Any], unread: Unread, what: str, remedy: str) -> None:
        """Add cells of another kind to ``unread``; refuse the column where they are not rare."""
        if not odd:
            return
        words = column.astype(object).map(as_word)
        bad = words.isin(odd)
        cells = int(bad.sum())
        if is_rare(cells, len(column)) or cells == 1 < len(column):  # a block may end with few rows
            unread[self.name] = (cells, words[bad].iloc[0], words.index[bad][0])
            return
        shown = ", ".join(repr(cell) for cell in odd[:3])
        few = f"{cells} of {len(column)} cells are something else, such as {shown}"
        raise ArgumentError(f"column {self.name!r} must hold {what}, but {few}; {remedy}.")


@dataclass(frozen=True)
class NumberReader(Reader):
    """Reader of numbers, in the notation (`Amount`) of the table that the model was fitted to."""

    comma: bool = False
    unit: str = ""
    bare: bool = True
    known: bool = False  # whether these are; files of earlier versions do not have them
    kind: ClassVar[str] = NUMBER

    @classmethod
    def of(cls, name: str, column: Any, format: str | None = None) -> "NumberReader":
        return cls(name, **asdict(amount_of(column)), known=True)

    @property
    def in_files(self) -> str:
        return "text" if self.comma else "number"

    def read(self, column: Any, unread: Unread) -> dict[str, NDArray[Any]]:
        amount = amount_of(column)
        if self.known:  # 1.5 is not 1.5 k, but $1.5
            unit = amount.unit if amount.bare and not self.unit else self.unit
            amount = Amount(self.comma or amount.comma, unit, self.bare)
        values, odd = numbers(column, amount)
        what = "numbers" if amount.bare else f"numbers with the unit {self.unit!r}"
        remedy = "correct them, leave them empty, or name a mark of missing cells (--missing-values, in Python "
        remedy += "missing_values=[...])"
        self._set_aside(column, odd, unread, what, remedy)
        return {self.name: values}

    def plain(self) -> dict[str, Any]:
        return super().plain() if self.known else {"kind": self.kind, "name": self.name}

    def written(self, value: float) -> object:
        """Return a number as a cell of such a column."""
        if self.bare:
            return value
        return f"{value} {self.unit}".replace(".", "," if self.comma else ".", 1)


@dataclass(frozen=True)
class BooleanReader(Reader):
    """Reader of truth values."""

    words: bool = False  # whether they were texts where the model was fitted, such as yes and no
    kind: ClassVar[str] = TRUTH

    @classmethod
    def of(cls, name: str, column: Any, format: str | None = None) -> "BooleanReader":
        return cls(name, any(isinstance(cell, str) for cell in column))

    @property
    def in_files(self) -> str:
        return "" if self.words else "number"

    def read(self, column: Any, unread: Unread) -> dict[str, NDArray[Any]]:
        values, odd = truths(column)
        self._set_aside(column, odd, unread, "truth values", "write yes or no, or take the column as categorical")
        return {self.name: values}


@dataclass(frozen=True)
class CategoryReader(Reader):
    """Reader of categories."""

    numeric: bool = False  # whether they were numbers where the model was fitted, so that "07" is read as 7
    kind: ClassVar[str] = WORD

    @classmethod
    def of(cls, name: str, column: Any, format: str | None = None) -> "CategoryReader":
        return cls(name, getattr(column.dtype, "kind", "O") in "iuf")

    @property
    def in_files(self) -> str:
        return "" if self.numeric else "text"

    def read(self, column: Any, unread: Unread) -> dict[str, NDArray[Any]]:
        if self.numeric and getattr(column.dtype, "kind", "O") not in "iuf":
            values, odd = numbers(column)
            if not odd:
                column = type(column)(values)
        return {self.name: words(column)}


@dataclass(frozen=True)
class DateReader(Reader):
    """Reader of dates; see `date_cells`."""

    format: str = "ISO8601"
    start: int = 0  # microseconds since 1970
    parts: tuple[str, ...] = ("days",)
    zone: str = "UTC"  # of the clock of the column, or ""; earlier versions had UTC for every column
    label: str = ""  # name in "t (days)" and the like where another column has that name
    kind: ClassVar[str] = "date"

    @classmethod
    def of(cls, name: str, column: Any, format: str | None = None) -> "DateReader":
        formats = date_formats(column) if format is None else [format]
        if len(formats) != 1:
            example = next(iter(column.dropna().map(as_word)), "nothing")
            why = "are not dates" if not formats else "may have the day or the month first"
            hint = f"--date {name}=%d/%m/%Y says how to read them, in Python date={{{name!r}: '%d/%m/%Y'}}"
            raise ArgumentError(f"column {name!r}: cells such as {example!r} {why}; {hint}.")
        reader = cls(name, formats[0], zone=zone_of(column, formats[0]))
        times = reader.moments(column, {})
        if np.isnat(times).all():
            raise ArgumentError(f"column {name!r} is to hold dates, but every cell is empty; leave it out.")
        return replace(reader, start=int(times[~np.isnat(times)].min().astype(np.int64)), parts=useful_parts(times))

    @property
    def families(self) -> dict[str, str]:
        some = date_cells(np.zeros(1, dtype="datetime64[us]"), 0, self.parts)
        return {self.part(part): WORD if part == "weekday" else NUMBER for part in some}

    def part(self, part: str) -> str:
        """Return the name of the cells of a part."""
        return f"{self.label or self.name} ({part})"

    def apart_from(self, taken: Set[str]) -> "DateReader":
        """Return the reader whose parts have other names than the columns ``taken``."""
        labels = (replace(self, label=f"{self.name} ({i})") for i in itertools.count(2))
        return next(reader for reader in itertools.chain([self], labels) if not reader.families.keys() & taken)

    def read(self, column: Any, unread: Unread) -> dict[str, NDArray[Any]]:
        cells = date_cells(self.moments(column, unread), self.start, self.parts)
        return {self.part(part): values for part, values in cells.items()}

    def plain(self) -> dict[str, Any]:
        return {name: value for name, value in super().plain().items() if (name, value) not in _EARLIER}

    def moments(self, column: Any, unread: Unread) -> NDArray[np.datetime64]:
        """Return the cells as moments on the clock of the time zone."""
        times = moments(column, self.format, self.zone)
        gone = np.isnat(times)
        cells = column[gone].dropna().map(as_word) if gone.any() else ()
        odd = [cell for cell in dict.fromkeys(cells) if not is_missing(cell)]
        form = {"native": "moments of time", "ISO8601": "dates such as 2020-01-31"}.get(self.format, self.format)
        self._set_aside(column, odd, unread, f"dates ({form})", "write them alike, or leave them empty")
        return times


@dataclass(frozen=True)
class TextReader(Reader):
    """Reader of texts whose words are hashed."""

    kind: ClassVar[str] = TEXT

    @property
    def in_files(self) -> str:
        return "text"

    def read(self, column: Any, unread: Unread) -> dict[str, NDArray[Any]]:
        return {self.name: np.array([cell or "" for cell in words(column)], dtype=object)}


READERS: dict[str, type[Reader]] = {
    reader.kind: reader for reader in (NumberReader, BooleanReader, CategoryReader, DateReader, TextReader)
}
