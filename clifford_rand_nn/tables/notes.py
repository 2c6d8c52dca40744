"""Notes on a table that a model is fitted to or used on."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from clifford_rand._checks import fail
from clifford_rand.errors import printable
from clifford_rand_nn._words import shortened, some_of
from clifford_rand_nn.tables.writers import listed

_LONGEST, _SHOWN = 30, 5  # characters of a cell, columns that are left out


class TableWarning(UserWarning):
    """Something about a table that its owner may want to know; nothing is wrong with the model.

    The message is one line; control characters in names and cells are escaped.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message))


@dataclass(frozen=True)
class Notes:
    """Notes of `encode`; the sum of two is that of both tables.

    Attributes
    ----------
    rows : int
    ignored : tuple of str
        Columns that the model does not know.
    unknown : dict of str to dict of str to int
        For each column of categories the ones that were not there in training, and in how many rows.
    filled : dict of str to int
        Missing cells of columns in which none was missing in training.
    unread : dict of str to tuple
        For each column with cells that could not be read their number, the first one, and its row.
    left_out : tuple of str
        Columns that a fit leaves out, and why.
    """

    rows: int = 0
    ignored: tuple[str, ...] = ()
    unknown: dict[str, dict[str, int]] = field(default_factory=dict)
    filled: dict[str, int] = field(default_factory=dict)
    unread: dict[str, tuple[int, str, Any]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

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
