"""Short representations of results: text of a few lines, and tables for notebooks."""

from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from clifford_rand.errors import printable
from clifford_rand.print_options import html_table, text_html
from clifford_rand_nn._words import shortened

Kind = TypeVar("Kind", bound=type)

_ENTRIES = 6  # of an array, a list or a tuple, that are shown themselves
_RECORDS = 8  # of a table, as text: ten lines with its headings
_HTML_RECORDS = 60  # of a table in a notebook
_LINES = 30  # of a text
_LONGEST = 80  # characters of a text in a cell


def short_repr(kind: Kind) -> Kind:
    """Let the repr of a dataclass or named tuple name the shape of an array and the length of a list (a decorator).

    >>> from typing import NamedTuple
    >>> @short_repr
    ... class Fit(NamedTuple):
    ...     rows: np.ndarray
    ...     loss: float
    >>> Fit(np.ones((100, 3)), 0.1 + 0.2)
    Fit(rows=array of (100, 3), loss=0.3)
    """
    setattr(kind, "__repr__", _fields_text)  # noqa: B010
    return kind


def _fields_text(record: Any) -> str:
    names = getattr(record, "_fields", ()) or [field.name for field in fields(record) if field.repr]
    return f"{type(record).__name__}({', '.join(f'{name}={_brief(getattr(record, name))}' for name in names)})"


def _brief(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, str):
        return repr(shortened(value, _LONGEST))
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape and (len(shape) > 1 or shape[0] > _ENTRIES):
        return f"{'array' if isinstance(value, np.ndarray) else 'matrix'} of {shape}"
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        if len(value) > _ENTRIES or (len(value) > 1 and hasattr(value[0], "_fields")):
            return f"<{len(value)} of {type(value[0]).__name__}>"
        left, right = "[]" if isinstance(value, list) else "()"
        return left + ", ".join(map(_brief, value)) + right
    return repr(value)


def _cell(value: Any) -> str:
    return printable(value if isinstance(value, str) else "" if value is None else _brief(value))


class _Table:
    """Records (named tuples of one kind) that are shown as a table, the first ones if there are many."""

    def _cells(self: Any, most: int) -> list[list[str]]:
        return [list(self[0]._fields), *([_cell(value) for value in record] for record in self[:most])]

    def __repr__(self: Any) -> str:
        if not self:
            return "[]" if isinstance(self, list) else "()"
        cells = self._cells(_RECORDS)
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        return "\n".join([*lines, *_more(len(self) - _RECORDS, type(self[0]).__name__)])

    def _repr_html_(self: Any) -> str:
        head, *rows = self._cells(_HTML_RECORDS) if self else [[]]
        return html_table(rows, head, *_more(len(self) - _HTML_RECORDS, "records"))


class RecordList(_Table, list[Any]):
    """A list of named tuples that is shown as a table."""


class RecordTuple(_Table, tuple[Any, ...]):
    """A tuple of named tuples that is shown as a table."""


def as_table(records: Any) -> Any:
    """Return a list or a tuple of named tuples as one that is shown as a table; None as it is."""
    return None if records is None else (RecordTuple if isinstance(records, tuple) else RecordList)(records)


def _more(count: int, what: str) -> list[str]:
    return [f"… and {count:,} more {what}"] if count > 0 else []


class TextShown:
    """A value whose text is what is shown, in a notebook too; its first lines if there are many."""

    def __repr__(self) -> str:
        lines = str(self).split("\n")
        more = len(lines) - _LINES
        return "\n".join(lines if more <= 0 else [*lines[:_LINES], f"… {more} more lines: print it"])

    def _repr_html_(self) -> str:
        return text_html(str(self))
