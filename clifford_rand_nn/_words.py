"""Names in a sentence: some of many, several joined, one that is too long cut; lines that a terminal can print."""

from collections.abc import Sequence

from clifford_rand.errors import printable


def some_of(names: Sequence[str], most: int) -> str:
    """Return the first names of a list, and how many there are in all if that is more.

    Examples
    --------
    >>> some_of(["a", "b", "c"], 3), some_of(["a", "b", "c"], 2)
    ('a, b, c', 'a, b, … (3 in all)')
    """
    return ", ".join(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "")


def joined(names: Sequence[str], word: str = "and") -> str:
    """Return all names, the last one after a word.

    Examples
    --------
    >>> joined(["a"]), joined(["a", "b", "c"]), joined(["a", "b"], "or")
    ('a', 'a, b and c', 'a or b')
    """
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last


def shortened(text: str, most: int) -> str:
    """Return a text of so many characters at most.

    Examples
    --------
    >>> shortened("column", 6), shortened("columns", 6)
    ('column', 'colum…')
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def printable_lines(text: str) -> str:
    r"""Return a text whose lines cannot control a terminal, see `clifford_rand.errors.printable`.

    Examples
    --------
    >>> printable_lines("a\x1b[2J\nb")
    'a\\x1b[2J\nb'
    """
    return "\n".join(map(printable, text.split("\n")))
