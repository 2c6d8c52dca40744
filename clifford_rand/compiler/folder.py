"""The user's folder of compiled code; it is found without Numba, whose import takes 0.4 s."""

import hashlib
import os
import sys
from pathlib import Path


def code_folder() -> Path | None:
    """Return the folder, which this user alone may read and write (mode 0700), created if need be; None without one.

    It is in NUMBA_CACHE_DIR if that is set, with the user's number in its name, as others may share that folder; else
    in the user's cache folder.
    """
    try:
        folder = _path()
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


def source_name(source: str) -> str:
    """Return the name of the function of generated code, by its digest."""
    return f"loop_{hashlib.blake2b(source.encode(), digest_size=16).hexdigest()}"


def is_cached(source: str) -> bool:
    """Tell whether machine code of generated code is on the disk, for whatever types and processor."""
    folder = code_folder()
    return folder is not None and any(folder.glob(f"*.{source_name(source)}.*"))


def _path() -> Path:
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
