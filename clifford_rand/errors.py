"""The exceptions of the library: each names what came, the rule it broke and what to do."""

_FIRST, _LAST = 1500, 500  # characters of a message that are kept: its end says what to do


class ArgumentError(ValueError):
    r"""An argument breaks a rule that its docstring states.

    The message reads "The 'name' parameter of owner must be rule. Got value instead." Whatever names and values of the
    user's, or of a file from elsewhere, are in it, it is one line that any terminal can print: other characters are
    escaped, and what exceeds some 2000 characters is left out of the middle.

    Examples
    --------
    >>> print(ArgumentError("table.csv: there is no column 'a\nb\x1b'."))
    table.csv: there is no column 'a b\x1b'.
    """

    def __init__(self, message: str = "") -> None:
        told = message if message.isprintable() else _printable(message)
        super().__init__(told if len(told) <= _FIRST + _LAST else f"{told[: _FIRST - 1]}…{told[-_LAST:]}")


class MissingDependencyError(ImportError):
    """An optional library is needed and not installed; the message gives the command that installs it."""


def _printable(text: str) -> str:
    line = " ".join(part.strip() for part in text.splitlines())
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in line)
