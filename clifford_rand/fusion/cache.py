"""Compiled kernels on the disk: machine code, or a file with the code and beside it what Numba keeps of it."""

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

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


def compile_loop(source: str) -> Any:
    """Return the function ``kernel`` of the code, compiled by Numba at its first call or taken from the disk."""
    import numba

    from clifford_rand.fusion import access

    name = f"fused_{hashlib.blake2b(source.encode(), digest_size=16).hexdigest()}"
    file = write(f"{name}.py", source.encode())
    namespace: dict[str, Any] = {"__name__": access.__name__}  # Numba imports the module of what it takes from the disk
    exec(compile(source, str(file or "<fused>"), "exec"), namespace)  # generated here, from names made here
    kernel = namespace["kernel"]
    kernel.__name__ = kernel.__qualname__ = name  # the name of the machine code, of which a process has one of each
    # a division by zero gives inf or NaN as in NumPy; a product and a sum may be one instruction
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
    return numba.njit(cache=file is not None, **options)(kernel)
