"""The one rule for files that commands write: a known ending, a folder that is there, nothing overwritten unasked."""

from collections.abc import Sequence
from pathlib import Path

from clifford_rand.errors import ArgumentError
from clifford_rand_nn._words import joined


def check_out(out: Path, force: bool, endings: Sequence[str], what: str) -> Path:
    """Return the path of a file to write, before the work and not after it.

    Raises
    ------
    ArgumentError
        It ends otherwise, there is no such folder, or the file is there and ``force`` is not asked for.

    Examples
    --------
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
