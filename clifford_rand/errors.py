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
        line = printable(message)
        super().__init__(line if len(line) <= _FIRST + _LAST else f"{line[: _FIRST - 1]}…{line[-_LAST:]}")


class BladeNameError(ArgumentError, KeyError):
    """An algebra has no blade of this name: an `ArgumentError`, and a KeyError as of a dict."""

    __str__ = Exception.__str__  # KeyError's is the repr


class MissingDependencyError(ImportError):
    """An optional library is needed and not installed; the message gives the command that installs it."""


class ConvergenceWarning(UserWarning):
    """An iteration ended at ``max_iter``, above its tolerance; the result is that of the last iteration."""


class MissingCompilerWarning(UserWarning):
    """Numba is missing, as in a browser: NumPy and Python compute the same, more slowly. Warned once per process."""


def printable(text: str) -> str:
    r"""Return a text as one line that cannot control a terminal: the rule for whatever is printed from data.

    Line breaks become spaces; other characters that Unicode calls not printable (control characters, escape
    sequences, marks of direction) are escaped as in Python.

    Examples
    --------
    >>> print(printable("a\x1b[2Jb\u202ec\nd"))
    a\x1b[2Jb\u202ec d
    """
    if text.isprintable():
        return text
    line = " ".join(part.strip() for part in text.splitlines())
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line)
