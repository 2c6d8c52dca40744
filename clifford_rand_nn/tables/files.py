"""Paths of tables: endings that can be read and written, and lists of names for one error line."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

from clifford_rand._checks import check_path
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._words import some_of

WRITTEN = (".csv", ".parquet", ".npz")
READ = (*WRITTEN, ".tsv", ".txt", ".dat", ".data", ".csv.gz", ".tsv.gz", ".txt.gz", ".zip", ".arff", ".xlsx")
_SHOWN = 8  # names listed in one error line


def existing_table(path: str | Path) -> Path:
    """Return the path of a file that is there, is not empty and has an ending that can be read."""
    read_ending(path)
    file = Path(path)
    if not file.is_file():
        raise ArgumentError(f"{file}: {'this is a folder, not a file' if file.is_dir() else 'there is no such file'}.")
    if file.stat().st_size == 0:
        raise ArgumentError(f"{file}: the file is empty.")
    return file


def read_ending(path: str | Path) -> str:
    """Return the ending of a table that can be read, such as ".csv.gz", in lower case."""
    return _one_of(path, READ)


def check_ending(path: str | Path) -> str:
    """Return the ending of a table that can be written, in lower case."""
    return _one_of(path, WRITTEN)


def _one_of(path: str | Path, endings: Sequence[str]) -> str:
    file = check_path(path, "path", "read_frame")
    ending = file.suffix.lower()
    if ending == ".gz":
        ending = "".join(file.suffixes[-2:]).lower()
    if ending not in endings:
        raise ArgumentError(f"{path}: unknown ending {ending!r}; use one of {', '.join(endings)}.")
    return ending


def refuse_duplicates(file: Path, names: Sequence[str]) -> None:
    """Refuse a name that appears twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ArgumentError(f"{file}: the column name {name!r} appears more than once; rename or drop one.")
        seen.add(name)


def closest(name: str, there: Sequence[str]) -> str:
    """Return " (is 'x' meant?)" for the name that is closest, or nothing."""
    folded = {candidate.lower(): candidate for candidate in there}
    close = difflib.get_close_matches(name.lower(), list(folded), 1)
    return f" (is {folded[close[0]]!r} meant?)" if close else ""


def listed(names: Sequence[str] | Mapping[str, object], wanted: str | None = None) -> str:
    """List names for one error line, with the closest to ``wanted``: "'age', 'city' (is 'age' meant?)"."""
    every = list(names)
    text = some_of([repr(name) for name in every], _SHOWN) or "none"
    return text if wanted is None else text + closest(wanted, every)
