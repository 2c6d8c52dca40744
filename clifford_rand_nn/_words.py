"""Text for sentences, terminals and pictures: some of many names, several joined, one cut; lines in columns."""

from collections.abc import Sequence

from clifford_rand.errors import printable


def some_of(names: Sequence[str], most: int) -> str:
    """Return the first names of a list, and how many there are in all if that is more: "a, b, … (3 in all)"."""
    return ", ".join(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "")


def joined(names: Sequence[str], word: str = "and") -> str:
    """Return all names, the last one after a word: "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last


def shortened(text: str, most: int) -> str:
    """Return a text of so many characters at most, with an ellipsis in place of the rest."""
    return text if len(text) <= most else text[: most - 1] + "…"


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int], indent: str = "  ") -> list[str]:
    """Return lines of a table, the columns ``right`` to the right, control characters of cells escaped.

    >>> aligned([("kernel", "2 s"), ("total", "12 s")], right=[1])
    ['  kernel   2 s', '  total   12 s']
    """
    if not rows:
        return []
    rows = [list(map(printable, row)) for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        parts = [text.rjust(width) if i in right else text.ljust(width) for i, (text, width) in cells]
        lines.append((indent + "  ".join(parts)).rstrip())
    return lines


def literal(text: object) -> str:
    r"""Return text for a picture in which a dollar sign begins no formula.

    >>> print(literal("price in $, not $x$"))
    price in \$, not \$x\$
    """
    return str(text).replace("$", r"\$")


def printable_lines(text: str) -> str:
    """Return a text whose lines cannot control a terminal, see `clifford_rand.errors.printable`."""
    return "\n".join(map(printable, text.split("\n")))
