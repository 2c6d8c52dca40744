"""Dialects of separated values: encoding, separator, decimal mark and names, detected from the beginning of a file."""

import csv
import gzip
import io
import itertools
import re
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO, cast

from clifford_rand._checks import fail
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._words import shortened
from clifford_rand_nn.tables.writers import read_ending, refuse_duplicates

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
DAMAGED = (gzip.BadGzipFile, zipfile.BadZipFile, EOFError, zlib.error)  # of archives
SPACES = " "  # one or more between two cells
_NO_HEADER = "give --no-header, in Python header=False, if that is a row"
_BEGINNING = 2**18  # characters: some thousand rows
_ENCODINGS = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_ROWS = 200  # by which the separator is found
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")
_COMMA = re.compile(r"\s*[+-]?(\d*,\d+|\d+,|[1-9]\d{0,2}(\.\d{3})+,\d+)([eE][+-]?\d+)?\s*")
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(\.\d{3})+\s*")  # 12.000
_COMMA_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*")
CODE = re.compile(r"\s*0\d+\s*")  # a zip code or a number of an account: as an integer it would lose its zeros
_POINT = re.compile(r"\s*[+-]?(\d*\.\d+|\d+\.)([eE][+-]?\d+)?\s*")


@dataclass(frozen=True)
class Dialect:
    """Notation of a file of separated values."""

    encoding: str
    separator: str
    decimal: str
    header: bool  # whether the first line that is not skipped holds the names
    spaces: bool  # whether separators are followed by spaces, which belong to no cell
    names: tuple[str, ...]  # of all columns, in their order
    left_out: tuple[int, ...]  # places of columns without a name: a row index, or nothing at all
    codes: tuple[str, ...]  # columns with cells such as 01234, which are texts: as numbers they would lose their zeros
    notes: tuple[str, ...]  # on what was detected, for the user
    skipped: int = 0  # lines of comments before the names
    whole: bool = True  # whether this is the dialect of all of the file, not of its beginning

    @property
    def kept(self) -> list[int]:
        """Places of the columns with a name."""
        left = set(self.left_out)
        return [i for i in range(len(self.names)) if i not in left]

    @property
    def labels(self) -> list[str]:
        """What all columns are called while they are read: those that are left out as no other is."""
        left, begun = set(self.left_out), {name.partition("|")[0] for name in self.names}
        first = next(k for k in itertools.count() if str(k) not in begun)
        return [f"{first}|{i}" if i in left else name for i, name in enumerate(self.names)]


def find_dialect(
    file: Path,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    header: bool = True,
    encoding: str | None = None,
) -> Dialect:
    """Return how a file is written; what is given is not looked for.

    Lines of comments (#) before the names are skipped. The separator is the one of ``, ; tab |`` by which most rows
    have as many cells as the first, among equals the one that leaves the most cells whole; or spaces, if by these alone
    rows are of equal length, or a column is numbers. The decimal mark is a comma where cells such as ``1,5`` stand
    between other separators and no cell such as ``1.5`` does; beside them ``12.000`` is twelve thousand.
    """
    rule = "one ASCII character that ends no line"  # pandas' parser takes a byte
    _check("separator", separator, rule, lambda text: len(text) == 1 and text.isascii() and text not in "\r\n")
    _check("decimal", decimal, "'.' or ','", lambda text: text in (".", ","))
    encoding, text, whole = _beginning(file, encoding)
    skipped, text, commented = _without_comments(text)
    if commented and not header:
        text, commented = text.partition("\n")[2], False
    notes = [f"{skipped} lines of comments are left out"] if skipped else []
    if separator is None:
        separator = _separator(text, "\t" if read_ending(file).startswith(".tsv") else ",")
        sample = _sample(text, SPACES)
        if header and separator not in text.split("\n")[0] and _has_row_names(sample) and _has_numbers(sample):
            separator = SPACES
        elif header:
            _refuse_title(file, text, separator)
        if separator != ("\t" if read_ending(file).startswith(".tsv") else ","):
            notes.append(f"the cells are separated by {SEPARATORS.get(separator, 'spaces')}")
    rows = _rows(file, text, separator, whole)
    if not rows:
        raise ArgumentError(f"{file}: the file is empty.")
    spaces = any(cell.startswith(" ") for cell in rows[0])
    if spaces:  # then a mark of quotation after one begins a cell, as for pandas
        rows = _rows(file, text, separator, whole, spaces)
    first = rows[0]
    if separator == SPACES and header and _has_row_names(rows):
        first = ["", *first]
    cells = rows[1:] if header else rows
    if decimal is None:
        decimal, thousands = _marks(cells) if separator != "," else (".", False)
        if decimal == ",":
            also = ", thousands with a point" if thousands else ""
            notes.append(f"decimals are written with a comma{also}")
    left_out: tuple[int, ...] = ()
    if header:
        left_out, left_out_notes = unnamed_columns(file, first, cells)
        notes += left_out_notes
        refuse_duplicates(file, [name for name in first if name.strip()])
    else:
        first = [f"c{i + 1}" for i in range(len(first))]
        notes.append(f"no header: the columns are called c1 to c{len(first)}" if len(first) > 1 else "no header: c1")
    coded = {i for row in cells for i, cell in enumerate(row) if CODE.fullmatch(cell)}
    codes = tuple(name for i, name in enumerate(first) if i in coded)
    named = header and not commented
    fields = (separator, decimal, named, spaces, tuple(first), left_out, codes, tuple(notes), skipped, whole)
    return Dialect(encoding, *fields)


def open_bytes(file: Path) -> IO[bytes]:
    """Open a file, decompressed; of a .zip the only file in it."""
    if file.suffix.lower() == ".gz":
        return cast("IO[bytes]", gzip.open(file, "rb"))
    if file.suffix.lower() != ".zip":
        return open(file, "rb")
    try:
        archive = zipfile.ZipFile(file)
        names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
        if len(names) == 1:
            return archive.open(names[0])
    except (zipfile.BadZipFile, RuntimeError) as error:  # RuntimeError: encrypted
        raise damaged_archive(file, error) from error
    raise ArgumentError(f"{file}: this zip file holds {len(names)} files, not one table; unpack it and give one.")


def open_text(file: Path, encoding: str) -> TextIO:
    """Open a file of text, compressed or not."""
    stream = open_bytes(file)
    try:
        return io.TextIOWrapper(stream, encoding=encoding, newline="")
    except LookupError:  # an unknown encoding
        stream.close()
        raise


def not_text(file: Path, encoding: str | None = None) -> ArgumentError:
    """Return the error for bytes that are not text in UTF-8, or in the encoding that was given."""
    if encoding is not None and not encoding.startswith("utf-8"):
        return ArgumentError(f"{file}: this is not {encoding} text.")
    hint = "save it in UTF-8, or give the encoding it has: --encoding cp1252 if it is from Windows or Excel (in Python "
    hint += "encoding='cp1252'), latin-1, or utf-16-le"
    return ArgumentError(f"{file}: this is not UTF-8 text; {hint}.")


def damaged_archive(file: Path, error: Exception) -> ArgumentError:
    """Return the error for a file that ends in .gz or .zip and cannot be decompressed."""
    kind = "zip" if file.suffix.lower() == ".zip" else "gzip"
    return ArgumentError(f"{file}: this is not a readable {kind} file: {error}.")


def _check(name: str, value: str | None, rule: str, holds: object) -> None:
    if value is not None and not (isinstance(value, str) and callable(holds) and holds(value)):
        raise fail(name, "read_frame", rule, value)


def _beginning(file: Path, encoding: str | None) -> tuple[str, str, bool]:
    """Return the encoding, the first characters and whether they are all."""
    try:
        if encoding is None:
            with open_bytes(file) as raw:
                mark = raw.read(4)
            encoding = next((name for begin, name in _ENCODINGS.items() if mark.startswith(begin)), "utf-8-sig")
        with open_text(file, encoding) as stream:
            text = stream.read(_BEGINNING)
            if "\0" in text[:4]:
                raise not_text(file, encoding)
            return encoding, text, not stream.read(1)
    except UnicodeError as error:
        raise not_text(file, encoding) from error
    except LookupError as error:
        raise fail("encoding", "read_frame", "an encoding that Python knows", encoding) from error
    except DAMAGED as error:
        raise damaged_archive(file, error) from error


def _rows(file: Path, text: str, separator: str, whole: bool, spaces: bool = False) -> list[list[str]]:
    """Return the rows of cells at the beginning of a file that are not blank."""
    try:
        rows = _parsed(text, separator, spaces)
    except csv.Error as error:
        raise ArgumentError(f"{file}: malformed CSV: {error}.") from error
    return rows if whole or len(rows) < 2 else rows[:-1]  # the last one may be cut


def _parsed(text: str, separator: str, spaces: bool = False) -> list[list[str]]:
    """Return rows as Python reads them; line ends within cells are those of the file, as for pandas."""
    csv.field_size_limit(max(csv.field_size_limit(), _BEGINNING))  # a cell may be all of the text
    lines: Iterable[str] = io.StringIO(text, newline="")
    if separator == SPACES:
        lines = (" ".join(line.split()) for line in lines)
    return [row for row in csv.reader(lines, delimiter=separator, skipinitialspace=spaces) if row]


def _separator(text: str, usual: str) -> str:
    """Return the separator by which rows are most alike; ``usual`` if none makes two cells."""
    best, chosen = (0.0, 0.0, 0, 0), usual
    for separator in (usual, *(mark for mark in SEPARATORS if mark != usual)):
        try:
            rows = _sample(text, separator)
        except csv.Error:
            continue
        if not rows or len(rows[0]) < 2:
            continue
        alike = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        marks = [mark for mark in SEPARATORS if mark != separator]
        cells = [cell for row in rows for cell in row]
        entire = sum(bool(_NUMBER.fullmatch(cell)) or not any(mark in cell for mark in marks) for cell in cells)
        score = (alike, entire / len(cells), len(rows[0]), 0)
        if score > best:
            best, chosen = score, separator
    rows = _sample(text, SPACES)
    even = len(rows) > 1 and len({len(row) for row in rows}) == 1 < len(rows[0])
    if even and _has_numbers(rows) and (best[0] < 1 or not _has_numbers(_sample(text, chosen))):
        return SPACES
    return chosen


def _sample(text: str, separator: str) -> list[list[str]]:
    """Return the first rows of cells, where a mark of quotation after a space begins a cell if names do so."""
    rows = _parsed(text, separator)[:_ROWS]
    spaces = rows and any(cell.startswith(" ") for cell in rows[0])
    return _parsed(text, separator, True)[:_ROWS] if spaces else rows


def _has_row_names(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether there is a name for all cells of a row but the first, as R's write.table has it."""
    return len(rows) > 1 and {len(row) for row in rows[1:]} == {len(rows[0]) + 1} != {2}


def _has_numbers(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a column is numbers below its first row."""
    return any(all(_NUMBER.fullmatch(cell) for cell in column) for column in zip(*rows[1:], strict=False))


def _without_comments(text: str) -> tuple[int, str, bool]:
    """Return the number of comment lines (#) above a table, the text below, and whether that begins with the last one.

    The last line is that of the names if it has as many cells as the next one, and that has numbers, as NumPy's
    savetxt writes it, or there is no space after the mark, as in #CHROM.
    """
    lines = text.splitlines(keepends=True)
    first = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    last = next((i for i in range(first - 1, -1, -1) if lines[i].startswith("#")), None)
    if last is None:
        return 0, text, False
    names, below = lines[last].lstrip("# "), "".join(lines[first:])
    separator = _separator(names + below, ",")
    names_row, first_row = (_parsed(part, separator)[:1] or [[]] for part in (names, lines[first]))
    if len(names_row[0]) == len(first_row[0]) > 1:
        if lines[last][1:2].strip():
            return last, "".join(lines[last:]), False
        if any(_NUMBER.fullmatch(cell) for cell in first_row[0]):
            return first, names + below, True
    return first, below, False


def _refuse_title(file: Path, text: str, separator: str) -> None:
    """Refuse a first line of one cell above rows of several: a title, or Excel's "sep=;"."""
    if separator == SPACES:
        return
    text = text.lstrip("\r\n ")
    stream = io.StringIO(text, newline="")
    next(csv.reader(stream, delimiter=separator), None)  # a quoted name may have several lines
    line, below = text[: stream.tell()].strip(), stream.read()
    if any(mark in line for mark in SEPARATORS) and not line.lower().startswith("sep="):
        return
    below_separator = _separator(below, separator)
    rows = _parsed(below, below_separator)[:_ROWS]
    lengths = [len(row) for row in rows]
    if lengths and min(lengths) == max(lengths) > 1:
        many = f"the {lengths[0]} cells of the others are separated by {SEPARATORS.get(below_separator, 'spaces')}"
        remedy = "remove what stands above the names of the columns"
        raise ArgumentError(f"{file}: the first line, {shortened(line, 30)!r}, holds no names: {many}; {remedy}.")


def _marks(rows: Sequence[Sequence[str]]) -> tuple[str, bool]:
    """Return the decimal mark, and whether points are marks of thousands.

    It is a comma if cells are numbers by it and none is one with a decimal point. A cell such as 12.000 is none beside
    a comma that can be no mark of thousands, as in 1,5.
    """
    cells = {cell for row in rows for cell in row}
    commas = [cell for cell in cells if _COMMA.fullmatch(cell)]
    points = [cell for cell in cells if _POINT.fullmatch(cell)]
    grouped = any(THOUSANDS.fullmatch(cell.partition(",")[0]) for cell in commas)
    if commas and not points:
        return ",", grouped
    sure = any(not _COMMA_THOUSANDS.fullmatch(cell) for cell in commas)
    return (",", True) if sure and all(THOUSANDS.fullmatch(cell) for cell in points) else (".", False)


def unnamed_columns(
    file: Path, names: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[tuple[int, ...], list[str]]:
    """Return the places of columns without a name that can be left out, with notes on them; refuse others."""
    left_out, notes = [], []
    for i, name in enumerate(names):
        if name.strip():
            continue
        if not any(len(row) > i and row[i].strip() for row in rows):
            notes.append(f"column {i + 1} has neither a name nor cells, and is left out")
        elif i == 0:
            notes.append("the first column has no name: it is taken for a row index and left out")
        else:
            raise ArgumentError(f"{file}: column {i + 1} has no name in the first line; name it, or {_NO_HEADER}.")
        left_out.append(i)
    if len(left_out) == len(names):
        raise ArgumentError(f"{file}: no column has a name in the first line; {_NO_HEADER}.")
    return tuple(left_out), notes
