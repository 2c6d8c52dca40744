"""How the cells of one column are read at every time: as plain values that a file can hold."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.tables.cells import as_word, is_missing, numbers, truths, words
from clifford_rand_nn.tables.dates import date_cells, date_formats, moments, useful_parts

# What is done with cells of a family: a median or the most frequent value for those that are missing; one column each.
NUMBER, TRUTH, WORD, TEXT = "number", "boolean", "category", "text"


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
    def as_text(self) -> bool:
        """Whether a file's reader should make no numbers of the cells."""
        return False

    @property
    def as_number(self) -> bool:
        """Whether a file's reader should make numbers of the cells, if they are none but for missing ones."""
        return False

    @property
    def families(self) -> dict[str, str]:
        """Names of the cells that come out, and what family they are of."""
        return {self.name: self.kind}

    def read(self, column: Any) -> dict[str, NDArray[Any]]:
        """Return the cells; refuse those that are something else than where the model was fitted."""
        raise NotImplementedError

    def plain(self) -> dict[str, Any]:
        """Return the kind and all that the reader is made of, as JSON can hold it."""
        return {"kind": self.kind, **asdict(self)}

    def _refuse(self, column: Any, odd: list[Any], what: str, remedy: str) -> None:
        if odd:
            cells = int(column.map(as_word).isin(odd).sum())
            shown = ", ".join(repr(cell) for cell in odd[:3])
            few = f"{cells} of {len(column)} cells are something else, such as {shown}"
            raise ArgumentError(f"column {self.name!r} must hold {what}, but {few}; {remedy}.")


@dataclass(frozen=True)
class NumberReader(Reader):
    """Reader of numbers."""

    kind: ClassVar[str] = NUMBER

    @property
    def as_number(self) -> bool:
        """Whether a file's reader should make numbers of the cells, if they are none but for missing ones."""
        return True

    def read(self, column: Any) -> dict[str, NDArray[Any]]:
        """Return the numbers, NaN where they are missing."""
        found, odd = numbers(column)
        self._refuse(column, odd, "numbers", "correct them, leave them empty, or take the column as categorical")
        return {self.name: found}


@dataclass(frozen=True)
class BooleanReader(Reader):
    """Reader of truth values.

    Attributes
    ----------
    words : bool
        Whether they were texts where the model was fitted, such as yes and no.
    """

    words: bool = False
    kind: ClassVar[str] = TRUTH

    @classmethod
    def of(cls, name: str, column: Any, format: str | None = None) -> "BooleanReader":
        """Return the reader for a column of a table that a model is fitted to."""
        return cls(name, any(isinstance(cell, str) for cell in column))

    @property
    def as_number(self) -> bool:
        """Whether a file's reader should make numbers of the cells, if they are none but for missing ones."""
        return not self.words

    def read(self, column: Any) -> dict[str, NDArray[Any]]:
        """Return 1 and 0 (and numbers as they are), NaN where they are missing."""
        found, odd = truths(column)
        self._refuse(column, odd, "truth values", "write yes or no, or take the column as categorical")
        return {self.name: found}


@dataclass(frozen=True)
class CategoryReader(Reader):
    """Reader of categories.

    Attributes
    ----------
    numeric : bool
        Whether they were numbers where the model was fitted, so that "07" is read as 7.
    """

    numeric: bool = False
    kind: ClassVar[str] = WORD

    @classmethod
    def of(cls, name: str, column: Any, format: str | None = None) -> "CategoryReader":
        """Return the reader for a column of a table that a model is fitted to."""
        return cls(name, getattr(column.dtype, "kind", "O") in "iuf")

    @property
    def as_text(self) -> bool:
        """Whether a file's reader should make no numbers of the cells."""
        return not self.numeric

    def read(self, column: Any) -> dict[str, NDArray[Any]]:
        """Return texts, None where they are missing."""
        if self.numeric and getattr(column.dtype, "kind", "O") not in "iuf":
            found, odd = numbers(column)
            if not odd:
                column = type(column)(found)
        return {self.name: words(column)}


@dataclass(frozen=True)
class DateReader(Reader):
    """Reader of dates; see `date_cells`.

    Attributes
    ----------
    format : str
    start : int
        Microseconds since 1970.
    parts : tuple of str
    """

    format: str = "ISO8601"
    start: int = 0
    parts: tuple[str, ...] = ("days",)
    kind: ClassVar[str] = "date"

    @classmethod
    def of(cls, name: str, column: Any, format: str | None = None) -> "DateReader":
        """Return the reader for a column of a table that a model is fitted to, in the format that fits."""
        formats = date_formats(column) if format is None else [format]
        if len(formats) != 1:
            example = next(iter(column.dropna().map(as_word)), "nothing")
            why = "are no dates" if not formats else "may have the day or the month first"
            hint = f"--date {name}=%d/%m/%Y says how to read them, in Python dates={{{name!r}: '%d/%m/%Y'}}"
            raise ArgumentError(f"column {name!r}: cells such as {example!r} {why}; {hint}.")
        reader = cls(name, formats[0])
        found = reader._moments(column)
        if np.isnat(found).all():
            raise ArgumentError(f"column {name!r} is to hold dates, but every cell is empty; leave it out.")
        return cls(name, formats[0], int(found[~np.isnat(found)].min().astype(np.int64)), useful_parts(found))

    @property
    def families(self) -> dict[str, str]:
        """Names of the cells that come out, such as "when (days)", and what family they are of."""
        some = date_cells(np.zeros(1, dtype="datetime64[us]"), 0, self.parts)
        return {f"{self.name} ({part})": WORD if part == "weekday" else NUMBER for part in some}

    def read(self, column: Any) -> dict[str, NDArray[Any]]:
        """Return the parts of dates as numbers and names of days."""
        cells = date_cells(self._moments(column), self.start, self.parts)
        return {f"{self.name} ({part})": values for part, values in cells.items()}

    def _moments(self, column: Any) -> NDArray[np.datetime64]:
        found = moments(column, self.format)
        unread = column[np.isnat(found) & column.notna().to_numpy()].map(as_word)
        odd = [cell for cell in dict.fromkeys(unread) if not is_missing(cell)]
        form = {"native": "moments of time", "ISO8601": "dates such as 2020-01-31"}.get(self.format, self.format)
        self._refuse(column, odd, f"dates ({form})", "write them alike, or leave them empty")
        return found


@dataclass(frozen=True)
class TextReader(Reader):
    """Reader of texts whose words are hashed."""

    kind: ClassVar[str] = TEXT

    @property
    def as_text(self) -> bool:
        """Whether a file's reader should make no numbers of the cells."""
        return True

    def read(self, column: Any) -> dict[str, NDArray[Any]]:
        """Return texts, empty where they are missing."""
        found = words(column)
        return {self.name: np.array(["" if cell is None else cell for cell in found], dtype=object)}


READERS: dict[str, type[Reader]] = {
    reader.kind: reader for reader in (NumberReader, BooleanReader, CategoryReader, DateReader, TextReader)
}
