"""Rows of a table as numbers, with notes on them, and what a `TableEncoder` learns of a table."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from clifford_rand._checks import check_choice, check_integer, describe, fail
from clifford_rand.errors import ArgumentError, printable
from clifford_rand_nn._words import shortened, some_of
from clifford_rand_nn.tables.cells import as_frame, without_marks
from clifford_rand_nn.tables.column_readers import READERS, DateReader, Reader, Unread
from clifford_rand_nn.tables.column_types import KINDS, find_kinds
from clifford_rand_nn.tables.encodings import Learned, OneHot, families, fills_of, learn_encodings
from clifford_rand_nn.tables.writers import closest, listed

_OWNER = "TableEncoder"
_OTHER_TEXT = ("drop", "hash")
_LONGEST, _SHOWN = 30, 5  # characters of a cell, columns that are left out


class TableWarning(UserWarning):
    """Something about a table that its owner may want to know; nothing is wrong with the model.

    The message is one line; control characters in names and cells are escaped.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message))


@dataclass(frozen=True)
class Notes:
    """Notes of `encode`; the sum of two is that of both tables."""

    rows: int = 0
    ignored: tuple[str, ...] = ()  # columns that the model does not know
    unknown: dict[str, dict[str, int]] = field(default_factory=dict)  # new categories of columns, in how many rows
    filled: dict[str, int] = field(default_factory=dict)  # missing cells of columns without any in training
    unread: Unread = field(default_factory=dict)
    left_out: tuple[str, ...] = ()  # columns that a fit leaves out, and why

    def __add__(self, other: "Notes") -> "Notes":
        unknown = {
            name: dict(Counter(self.unknown.get(name)) + Counter(other.unknown.get(name)))
            for name in self.unknown | other.unknown
        }
        filled = dict(Counter(self.filled) + Counter(other.filled))
        ignored = tuple(dict.fromkeys((*self.ignored, *other.ignored)))
        unread = dict(self.unread)
        for name, (count, cell, row) in other.unread.items():
            before, *first = unread.get(name, (0, cell, row))
            unread[name] = (before + count, *first)
        left_out = tuple(dict.fromkeys((*self.left_out, *other.left_out)))
        return Notes(self.rows + other.rows, ignored, unknown, filled, unread, left_out)

    def lines(self) -> list[str]:
        """Return the notes, a line each."""
        lines = []
        if len(self.ignored) == 1:
            lines.append(f"column {self.ignored[0]!r} is not used by the model")
        elif self.ignored:
            lines.append(f"{len(self.ignored)} columns are not used by the model: {listed(self.ignored)}")
        for name, counts in self.unknown.items():
            such = f"(such as {max(counts, key=lambda word: counts[word])!r})"
            rows = f"{name!r}: {sum(counts.values())} of {self.rows} rows have a category that was not in training"
            lines.append(f"{rows} {such}; it counts as a rare one")
        for name, (count, cell, row) in self.unread.items():
            rows = f"{name!r}: {count} of {self.rows} cells could not be read"
            lines.append(f"{rows} (such as {shortened(cell, _LONGEST)!r} in row {row}); they count as missing")
        if self.left_out:
            lines.append(f"columns are left out: {some_of(self.left_out, _SHOWN)}")
        for name, count in self.filled.items():
            if name in self.unread:
                continue
            rows = f"{name!r}: {count} of {self.rows} cells are missing, where none was in training"
            lines.append(f"{rows}; the median of training stands for them")
        return lines


def column_names(names: str | Iterable[str], name: str, owner: str, rule: str = "names of columns") -> list[str]:
    """Return names of columns as a list; a text is one name. Refuse what cannot be listed, and bytes."""
    if isinstance(names, str):
        return [names]
    if not isinstance(names, Iterable) or isinstance(names, bytes | type):
        raise fail(name, owner, rule, names)
    return list(map(str, names))


def learn(encoder: Any, X: Any, y: Any = None) -> tuple[Learned, dict[str, NDArray[np.float64]]]:
    """Return what an encoder learns of a table, and the target means of its rows by the other folds."""
    check_parameters(encoder)
    frame, is_named = as_frame(X)
    frame = _without_marks(encoder, frame)
    there = [str(name) for name in frame.columns]
    if len(frame) < 2:
        raise fail("X", _OWNER, "of two rows or more, so that columns can differ", describe("one sample"))
    kinds = find_kinds(frame, _asked(encoder, there), encoder.other_text, encoder.min_frequency, y is not None)
    formats = encoder.date if isinstance(encoder.date, Mapping) else {}
    readers = tuple(
        READERS[kind.kind].of(kind.name, frame[name], formats.get(kind.name))
        for kind, name in zip(kinds, frame.columns, strict=True)
        if kind.kind != "dropped"
    )
    if not readers:
        reasons = "; ".join(f"{kind.name!r}: {kind.reason}" for kind in kinds[:3])
        raise fail("X", _OWNER, "a table with a column that can be used", describe(reasons))
    columns = {reader.name for reader in readers}
    readers = tuple(r.apart_from(columns) if isinstance(r, DateReader) else r for r in readers)
    cells = read_cells(readers, frame, {})
    encodings, out_of_fold = learn_encodings(readers, cells, encoder, y)
    complete = tuple(name for name in fills_of(encodings) if not np.isnan(cells[name]).any())
    return Learned(kinds, readers, encodings, complete, is_named), out_of_fold


def check_parameters(encoder: Any) -> None:
    """Raise ArgumentError if a parameter breaks its rule; `learn` checks those that name columns."""
    check_choice(encoder.other_text, "other_text", _OWNER, _OTHER_TEXT)
    for name in ("min_frequency", "max_categories", "n_text_features"):
        check_integer(getattr(encoder, name), name, _OWNER, low=2 if name == "max_categories" else 1)


def encode(
    encoder: Any, X: Any, out_of_fold: Mapping[str, NDArray[np.float64]] | None = None
) -> tuple[NDArray[np.float64], Notes]:
    """Return the rows of a data frame as numbers (n, d), and notes on it; for tables in blocks.

    ``out_of_fold`` are the target means of rows of training, by `learn`.
    """
    check_is_fitted(encoder, "encodings_")
    frame = _matching(encoder, X)
    unread: Unread = {}
    cells = read_cells(encoder.readers_, frame, unread)
    known, origin = {kind.name for kind in encoder.columns_}, families(encoder.readers_)[1]
    ignored = tuple(name for name in frame.columns if name not in known)
    unknown = {
        encoding.column: new
        for encoding in encoder.encodings_
        if isinstance(encoding, OneHot) and (new := encoding.new_words(cells[encoding.cells]))
    }
    gaps = {name: int(np.count_nonzero(np.isnan(cells[name]))) for name in encoder.complete_columns_}
    filled = {origin[name]: count for name, count in gaps.items() if count}
    means = out_of_fold or {}
    parts = [means[part.cells] if part.cells in means else part(cells[part.cells]) for part in encoder.encodings_]
    return np.hstack(parts), Notes(len(frame), ignored, unknown, filled, unread)


def columns_as_text(encoder: Any) -> tuple[str, ...]:
    """Return the columns of the table that are read as texts: ``string_columns`` of `read_frame` and `read_blocks`."""
    return tuple(reader.name for reader in encoder.readers_ if reader.in_files == "text")


def columns_as_number(encoder: Any) -> tuple[str, ...]:
    """Return the columns of the table that are read as numbers: ``as_number`` of `read_blocks`."""
    return tuple(reader.name for reader in encoder.readers_ if reader.in_files == "number")


def read_cells(readers: Iterable[Reader], frame: Any, unread: Unread) -> dict[str, NDArray[Any]]:
    """Return the cells of all columns that are used, by their names; ``unread`` gets those that could not be read."""
    cells: dict[str, NDArray[Any]] = {}
    for reader in readers:
        cells |= reader.read(frame[reader.name], unread)
    return cells


def _asked(encoder: Any, there: list[str]) -> dict[str, str]:
    """Return the kinds that were given, by name."""
    asked: dict[str, str] = {}
    for kind in KINDS:
        name = "drop" if kind == "dropped" else kind
        for column in column_names(getattr(encoder, name), name, _OWNER):
            if column not in there:
                hint = f"The columns are {listed(there, column)}."
                raise fail(name, _OWNER, "names of columns of the table", column, hint)
            if column in asked:
                rule = f"apart from the {asked[column]} columns"
                raise fail(name, _OWNER, rule, column, "Name a column once.")
            asked[column] = kind
    return asked


def _matching(encoder: Any, X: Any) -> Any:
    """Return a frame that has all columns that are read."""
    frame, is_named = as_frame(X)
    if not is_named:
        if frame.shape[1] != encoder.n_features_in_:
            width, wanted = frame.shape[1], encoder.n_features_in_
            hint = f"X has {width} features, but {_OWNER} is expecting {wanted} features as input."
            raise fail("X", _OWNER, f"of {wanted} columns, as in training", describe(f"{width}"), hint)
        frame.columns = [kind.name for kind in encoder.columns_]
    frame = _without_marks(encoder, frame)
    there = set(frame.columns)
    missing = [reader.name for reader in encoder.readers_ if reader.name not in there]
    if missing:
        n = "a column" if len(missing) == 1 else f"{len(missing)} of the {len(encoder.readers_)} columns"
        what = f"{n} of the model {'is' if len(missing) == 1 else 'are'} missing from the table"
        raise ArgumentError(f"{what}: {listed(missing)}{closest(missing[0], list(frame.columns))}.")
    return frame


def _without_marks(encoder: Any, frame: Any) -> Any:
    marks = column_names(encoder.missing_values, "missing_values", _OWNER, "marks of missing cells")
    return without_marks(frame, marks)
