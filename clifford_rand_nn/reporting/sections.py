"""Parts of the page: a heading, sentences, a picture, a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from clifford_rand_nn._words import shortened
from clifford_rand_nn.reporting.figures import Picture

_LONG = 400  # characters of a cell
_SENTENCE = 24
_SPACE = "\N{NO-BREAK SPACE}"


class Table(NamedTuple):
    """A table: what it is, its header, rows of text; which columns are numbers and stand to the right."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[bool, ...]

    @property
    def wide(self) -> tuple[bool, ...]:
        """Which columns hold sentences."""
        return tuple(any(len(row[j]) > _SENTENCE for row in self.rows) for j in range(len(self.header)))

    @classmethod
    def of(cls, caption: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> "Table":
        """Return the table of values; a column of numbers stands to the right."""
        right = tuple(
            all(isinstance(row[j], int | float | np.number) and not isinstance(row[j], bool | np.bool_) for row in rows)
            for j in range(len(header))
        )
        return cls(caption, tuple(header), tuple(tuple(map(cell, row)) for row in rows), right)


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes
    ----------
    name : str
        For links, of letters.
    title : str
    texts : tuple of str
        Paragraphs.
    pictures : tuple of Picture
    tables : tuple of Table
    after : tuple of str
        Paragraphs below them.
    """

    name: str
    title: str
    texts: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    after: tuple[str, ...] = ()


def cell(value: Any, most: int = _LONG) -> str:
    """Return a value as a table shows it: numbers with four digits, what is missing as a dash, long text cut.

    Examples
    --------
    >>> [cell(value) for value in (3, 1234567, 0.123456, 12345.678, -1e-7, float("nan"), None, True, "x" * 500)][:8]
    ['3', '1234567', '0.1235', '12346', '-1e-07', '–', '–', 'True']
    """
    if value is None or value != value or str(value) in ("NaT", "<NA>"):
        return "–"
    if isinstance(value, float | np.floating):
        size = abs(float(value))
        return f"{value:.0f}" if 1e4 <= size < 1e15 else f"{value:.4g}"
    text = str(value)
    return shortened(text, most)


def share(value: float) -> str:
    r"""Return a share as percents with as many digits as mean something, in one piece.

    Examples
    --------
    >>> share(0.9234), share(1.0), share(0.99996)
    ('92.3\xa0%', '100\xa0%', '99.996\xa0%')
    """
    if value in (0.0, 1.0):
        return f"{100 * value:.0f}{_SPACE}%"
    digits = 1 if value < 0.9995 else 3
    return f"{100 * value:.{digits}f}{_SPACE}%"
