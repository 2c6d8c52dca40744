"""Output of the command line: tables on a terminal, plain text in a pipe, one line for an error or a warning."""

import json
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from clifford_rand.errors import ArgumentError, MissingDependencyError, printable
from clifford_rand_nn._words import aligned, joined, printable_lines, some_of
from clifford_rand_nn.cli import was_interrupted

_PARAMETER = re.compile(r"The '(\w+)' parameter of (?:TableEncoder|read_frame|read_blocks) must")
_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")
_GAP = 3  # spaces between two columns of a rich table
_NOT_ASCII = re.compile(r"[^ -~\n]")
_SCHEMA = 1  # version of the keys of --json, which docs/architecture/command-line.md lists
_LONGEST = 1000  # characters of a line about an error: names of columns may be longer than that
_SHOWN = 5  # ignored columns named in a note

INTERRUPTED = 130  # exit code: 128 + SIGINT, what a shell reports for a command that Ctrl-C ended
PICTURES = (".png", ".svg", ".pdf")
KNOWN_ERRORS = (ArgumentError, MissingDependencyError, OSError)


def one_line(error: BaseException) -> str:
    """Return the message of an exception on one line; of an OSError the file and the reason.

    Parameters that read tables are called as the options are.
    """
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{error.filename}: "
        return _shortened(f"{where}{error.strerror}")
    text = _PARAMETER.sub(lambda match: f"--{match[1].replace('_', '-')} must", str(error))
    line = " ".join(text.split()) or type(error).__name__
    return _shortened(line)


def _shortened(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} … {line[-_LONGEST // 4 :]}"


def complain(kind: str, text: str) -> None:
    """Print ``kind: text`` on stderr, as one line with control characters escaped."""
    typer.echo(f"{typer.style(kind + ':', fg='red' if kind == 'error' else 'yellow')} {printable(text)}", err=True)


def note_ignored(path: str, names: Sequence[str]) -> None:
    """Say which columns of a table are ignored, if any."""
    if names:
        complain("note", f"{path}: columns that the model does not use are ignored: {some_of(names, _SHOWN)}")


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show Python warnings as one line on stderr, without file and source line."""

    def show(message: Any, *_: Any, **__: Any) -> None:
        complain("warning", " ".join(str(message).split()))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn a known error, or a want of memory, into one line on stderr and exit code 2.

    An unknown error keeps its traceback. Ctrl-C is exit code 130, as a shell has it for SIGINT; so it is where code in
    C made another error of it, as modules do that are loaded, and readers of files.
    """
    try:
        with plain_warnings():
            yield
    except (BrokenPipeError, typer.Exit, typer.Abort):  # the reader of a pipe left: typer ends quietly
        raise
    except OSError as error:  # of a file, which is worth a word after Ctrl-C, too
        complain("error", one_line(error))
        raise typer.Exit(2) from error
    except MemoryError as error:
        why = f" ({one_line(error)})" if str(error) else ""
        complain("error", f"there is not enough memory{why}; free some, or give fewer rows or columns.")
        raise typer.Exit(2) from error
    except Exception as error:
        if was_interrupted():
            raise _interrupted("") from error
        if not isinstance(error, KNOWN_ERRORS):
            raise
        complain("error", one_line(error))
        raise typer.Exit(2) from error
    except KeyboardInterrupt as interrupt:
        raise _interrupted(one_line(interrupt) if str(interrupt) else "") from interrupt


def _interrupted(why: str) -> typer.Exit:
    complain("interrupted", why or "the command was not finished.")
    return typer.Exit(INTERRUPTED)


@contextmanager
def refused_data(what: str) -> Iterator[None]:
    """Turn scikit-learn's ValueError for data that it refuses into our one-line error."""
    try:
        yield
    except ArgumentError:
        raise
    except ValueError as error:
        raise ArgumentError(f"{what}: {one_line(error)}") from error


def _console() -> Any:
    from rich.console import Console

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that is not UTF-8 shows "?" instead of failing
            stream.reconfigure(errors="replace")
    return Console(highlight=False, markup=False, emoji=False)


def say(text: str = "", style: str | None = None) -> None:
    """Print lines on stdout, control characters escaped; a pipe gets them unfolded."""
    console = _console()
    console.print(printable_lines(text), style=style, soft_wrap=not console.is_terminal)


def print_json(record: dict[str, Any]) -> None:
    """Print JSON on stdout, with the version of its keys; characters that are not printable are escaped."""
    text = json.dumps({"schema": _SCHEMA} | record, ensure_ascii=False, indent=1)
    typer.echo(_NOT_ASCII.sub(lambda char: char[0] if char[0].isprintable() else json.dumps(char[0])[1:-1], text))


def show_pairs(rows: Sequence[tuple[str, str]]) -> None:
    """Print names and values in two columns, control characters escaped."""
    from rich.table import Table
    from rich.text import Text

    console = _console()
    if not console.is_terminal:
        say("\n".join(aligned(rows, right=(), indent="")))
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(printable(name), Text(printable(value)))
    console.print(table)


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], text: Iterable[str] = ()) -> None:
    """Print a table: the first column and those named in ``text`` are text, the others are numbers.

    Control characters are escaped.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console, title = _console(), printable(title)
    columns, text = list(map(printable, columns)), set(map(printable, text))
    rows = [list(map(printable, row)) for row in rows]
    wordy = [i == 0 or name in text for i, name in enumerate(columns)]
    if not console.is_terminal:
        right = [i for i, words in enumerate(wordy) if not words]
        say("\n".join([title, *aligned([columns, *rows], right, indent="")]))
        return
    width = sum(max(map(len, column)) + _GAP for column in zip(columns, *rows, strict=True)) - _GAP
    narrow = width > console.width  # then headings and words are folded, and columns stand closer; numbers stay whole
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0) if narrow else (0, 1))
    for name, words in zip(columns, wordy, strict=True):
        heading = name.replace(" ", "\n") if narrow else name
        table.add_column(Text(heading), justify="left" if words else "right", no_wrap=not (narrow and words))
    for row in rows:
        # rich folds at spaces only; the hyphens of --option stay together
        cells = [_HYPHEN.sub("-\n", c) if narrow and w else c for c, w in zip(row, wordy, strict=True)]
        table.add_row(*map(Text, cells))
    console.print(title, style="bold")
    console.print(table)


def check_out(out: Path, force: bool, endings: Sequence[str], what: str) -> Path:
    """Return the path of a file to write, before the work and not after it.

    Raises ArgumentError if it ends otherwise, there is no such folder, or the file is there and ``force`` is not
    asked for.

    >>> check_out(Path("model.pkl"), False, (".npz",), "the model")
    Traceback (most recent call last):
        ...
    clifford_rand.errors.ArgumentError: model.pkl: the model is written as .npz; give a name that ends so.
    """
    if not any(out.name.lower().endswith(ending) for ending in endings):
        raise ArgumentError(f"{out}: {what} is written as {joined(endings, 'or')}; give a name that ends so.")
    if not out.absolute().parent.is_dir():
        raise ArgumentError(f"{out}: there is no folder {out.absolute().parent}.")
    if out.is_dir():
        raise ArgumentError(f"{out}: this is a folder, not a file.")
    if out.is_file() and not force:
        raise ArgumentError(f"{out}: this file is there already; --force overwrites it.")
    return out
