"""The user's folder of generated code: files that are whole or not there."""

import os
import sys
from pathlib import Path

from clifford_rand._files import replaced


def folder() -> Path:
    """Return the folder of generated code: in NUMBA_CACHE_DIR if that is set, else in the user's cache folder."""
    own = os.environ.get("NUMBA_CACHE_DIR")
    if own:
        return Path(own) / "clifford_rand"
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "clifford_rand"


def write(name: str, content: bytes) -> Path | None:
    """Return the file with this content, written if it is not there; None where no folder can be written to."""
    try:
        file = folder() / name
        if kept(name) != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            with replaced(file) as new:
                new.write_bytes(content)
    except (OSError, RuntimeError):  # a folder that cannot be written to, or no home
        return None
    return file


def kept(name: str) -> bytes | None:
    """Return the content of the file of this name, None if there is none that can be read."""
    try:
        return (folder() / name).read_bytes()
    except (OSError, RuntimeError):
        return None
