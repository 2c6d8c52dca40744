"""Functions compiled by Numba, and files of their machine code that are whole and of these very types, or not used.

Numba's own files are trusted as they are: one that was cut is an error of `pickle`, one with other bytes is run. Two
processes that compile for other types at the same time may take one name for both, and then one runs the code of the
other. Code of a function that calls one of another file stays when that one changes. Where no folder can be written to,
Numba refuses to import the function.
"""

import hashlib
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
from numba import __version__, njit
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from clifford_rand._files import replaced
from clifford_rand._threads import cached_property
from clifford_rand.machine import folder

_DIGEST = 32  # bytes
_VALUES = (bool, int, float, complex, str, bytes, tuple, np.generic, np.dtype, type(None))  # compiled as constants


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator: `numba.njit` with ``options``, without Python's lock, kept on the disk where that can be."""

    def decorate(function: Callable[..., Any]) -> Any:
        made = njit(nogil=True, **options)(function)
        source = Path(function.__code__.co_filename)
        if source.is_file():  # code that was made here has none
            made._cache = Kept(function, source, source.read_bytes() + _text_of(options))
        return made

    return decorate


def _text_of(options: dict[str, Any]) -> bytes:
    return repr(
        [(name, sorted(one) if isinstance(one, set) else one) for name, one in sorted(options.items())]
    ).encode()


class Kept(NullCache):
    """The machine code of one function: a file for each tuple of types, processor, Numba and Python.

    They are in NUMBA_CACHE_DIR if that is set, else beside the source or, where nobody may write, in the user's folder.
    A file is a digest and what it is of; one that is cut, changed, or of another source is as none. The source is the
    text of the function's file, and all compiled functions and constants of other files that it reaches by name.
    """

    def __init__(self, function: Callable[..., Any], source: Path, text: bytes) -> None:
        own = os.environ.get("NUMBA_CACHE_DIR")
        self._source, self._own = source, own
        self._name = f"{function.__module__}.{function.__qualname__}".replace("<locals>", "")
        self._function = function
        self.of_its_file = hashlib.sha256(text + function.__code__.co_code).hexdigest()

    @property
    def cache_path(self) -> str:
        """The folder that is tried first."""
        return str(self._folders()[0])

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature, None if it is not there."""
        target_context.refresh()
        data = self._load(self._key(sig, target_context.codegen()))
        return None if data is None else CompileResult._rebuild(target_context, *data)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for a signature, if it can be read again and a folder can be written to."""
        if data.library.has_dynamic_globals or any(not one.can_cache for one in data.lifted):
            return
        key = self._key(sig, data.codegen)
        content = dumps((self._stamp, key, data._reduce()))  # type: ignore[no-untyped-call]
        for place in self._folders():
            try:
                place.mkdir(parents=True, exist_ok=True)
                with replaced(place / self._file(key)) as new:
                    new.write_bytes(hashlib.sha256(content).digest() + content)
            except OSError:  # nobody may write there, or it is full: the code is in memory
                continue
            return

    @cached_property
    def _stamp(self) -> str:
        """Return a digest of the sources; made when it is asked for, as a name may be given after its use."""
        reached = sorted(_reached(self._function, {self.of_its_file}))
        return hashlib.sha256("\n".join([self.of_its_file, *reached]).encode()).hexdigest()

    def _load(self, key: str) -> Any:
        for place in self._folders():
            try:
                content = (place / self._file(key)).read_bytes()
            except OSError:
                continue
            if hashlib.sha256(content[_DIGEST:]).digest() == content[:_DIGEST]:
                stamp, found, data = pickle.loads(content[_DIGEST:])
                if (stamp, found) == (self._stamp, key):
                    return data
        return None

    def _folders(self) -> list[Path]:
        if self._own:
            return [Path(self._own) / "clifford_rand"]
        try:
            return [self._source.parent / "__pycache__", folder.folder()]
        except RuntimeError:  # no home
            return [self._source.parent / "__pycache__"]

    def _file(self, key: str) -> str:
        return f"{self._name}.{hashlib.sha256(key.encode()).hexdigest()[:16]}.code"

    def _key(self, sig: Any, codegen: Any) -> str:
        """Return what machine code is of: the types of the arguments, the processor, Numba and Python."""
        return repr((sig, codegen.magic_tuple(), __version__, sys.version_info[:2], getattr(sys, "abiflags", "")))


def _reached(function: Any, seen: set[str]) -> Iterator[str]:
    """Yield what a function is compiled with: constants by name, and digests of the compiled functions it calls."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    scope = function.__globals__ | {name: cell.cell_contents for name, cell in cells}
    for name in _names(function.__code__):
        value = scope.get(name)
        cache = getattr(value, "_cache", None)
        if isinstance(value, _VALUES):
            yield f"{name} {value!r}"
        elif isinstance(value, np.ndarray):
            yield f"{name} {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        elif isinstance(cache, Kept) and cache.of_its_file not in seen:
            seen.add(cache.of_its_file)
            yield f"{name} {cache.of_its_file}"
            yield from _reached(value.py_func, seen)


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that a function, and those within it, look up."""
    yield from (*code.co_names, *code.co_freevars)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)
