"""Files that appear complete or not at all, the one way in which both packages write; the folder of compiled code."""

import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a new file, which takes the place of ``path`` once the block has ended well.

    What stood there stays until then, and whatever stops the block (an error, an interrupt, a kill, a full disk). The
    new file is in the same folder, hidden, with the same ending, and on the disk before it is renamed. A link is
    followed, not replaced; what is not a file (a pipe, a device) is written to directly. Where the system refuses, the
    OSError names ``path``.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "table.csv"
    >>> with replaced(file) as new:
    ...     _ = new.write_text("a,b")
    ...     print(file.exists(), new.suffix)
    False .csv
    >>> file.read_text(), len(list(file.parent.iterdir()))
    ('a,b', 1)
    """
    file = Path(os.path.realpath(path))
    if file.exists() and not file.is_file():
        with named_errors(path):
            yield file
        return
    new = file.with_name(f".{secrets.token_hex(8)}.partial{file.suffix}")
    try:
        with named_errors(path, new):
            yield new
            with open(new, "r+b") as stream:
                os.fsync(stream.fileno())
            if file.exists():
                shutil.copymode(file, new)
            os.replace(new, file)  # atomic within a folder
    finally:
        new.unlink(missing_ok=True)


@contextmanager
def named_errors(path: str | os.PathLike[str], instead_of: Path | None = None) -> Iterator[None]:
    """Let an OSError of the block that names no file, or the one ``instead_of``, name ``path``.

    A write that finds the disk full does not know its file: so the message names it.

    Examples
    --------
    >>> with named_errors("table.csv"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
        ...
    OSError: [Errno 28] No space left on device: 'table.csv'
    """
    try:
        yield
    except OSError as error:
        unknown = error.filename is None or (instead_of is not None and str(error.filename) == str(instead_of))
        if not unknown:
            raise
        if error.errno is None:
            raise OSError(f"{os.fspath(path)}: {error}") from error
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from error


def code_folder() -> Path | None:
    """Return the folder of compiled code, created if need be, which this user alone may use (mode 0700); None without.

    It is in NUMBA_CACHE_DIR if that is set, with the user's number in its name, as others may share that folder; else
    in the user's cache folder.
    """
    try:
        folder = _code_path()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "getuid") and not _is_private(folder):
            return None
    except (OSError, RuntimeError):  # nobody may write there, or the user has no home
        return None
    return folder


def _is_private(folder: Path) -> bool:
    """Tell whether no other user can exchange files in a folder; one of this user that others can enter is closed."""
    link, status = os.lstat(folder), os.stat(folder)
    if {link.st_uid, status.st_uid} != {os.getuid()}:
        return False
    if status.st_mode & 0o077:
        try:
            os.chmod(folder, 0o700)
        except OSError:  # a file system that may only be read
            return not status.st_mode & 0o022
    return True


def _code_path() -> Path:
    own = os.environ.get("NUMBA_CACHE_DIR")
    if own:
        return Path(own) / f"clifford_rand_{os.getuid() if hasattr(os, 'getuid') else 'code'}"
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "clifford_rand"
