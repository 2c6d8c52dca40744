"""The user's folder of compiled code; it is found without Numba, whose import takes 0.4 s."""

import os
import stat
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
        if hasattr(os, "getuid"):
            status = os.lstat(folder)
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                return None  # a link, or of another user, who could exchange the files in it
            if status.st_mode & 0o077:
                os.chmod(folder, 0o700)
    except (OSError, RuntimeError):  # nobody may write there, or the user has no home
        return None
    return folder


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
