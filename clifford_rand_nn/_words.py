"""Names in a sentence: some of many, several joined, one that is too long cut; text for terminals and pictures."""

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


def literal(text: object) -> str:
    r"""Return text for a picture in which a dollar sign begins no formula.

    >>> print(literal("price in $, not $x$"))
    price in \$, not \$x\$
    """
    return str(text).replace("$", r"\$")


def printable_lines(text: str) -> str:
    """Return a text whose lines cannot control a terminal, see `clifford_rand.errors.printable`."""
    return "\n".join(map(printable, text.split("\n")))
