"""Functions compiled by Numba."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit

from clifford_rand.compiler.cache import CodeCache
from clifford_rand.compiler.folder import source_name


def compiled(*, text: str | None = None, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator: `numba.njit` with ``options``, without the GIL, cached on the disk where that can be.

    ``text`` is the source of a function that has no file.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = njit(nogil=True, **options)(function)
        file = Path(function.__code__.co_filename)
        source = file.read_bytes() if text is None and file.is_file() else (text or "").encode()
        if source:
            flags = [(name, sorted(x) if isinstance(x, set) else x) for name, x in sorted(options.items())]
            dispatcher._cache = CodeCache(function, source + repr(flags).encode())
        return dispatcher

    return decorate


def compile_source(source: str, module: str, **options: Any) -> Any:
    """Return the function ``kernel`` of generated code, compiled under a name that is the digest of the code.

    ``module`` is the name of one that exists: Numba imports it with machine code from the disk.
    """
    namespace: dict[str, Any] = {"__name__": module}
    exec(compile(source, "<generated>", "exec"), namespace)  # the text is generated here, from names made here
    kernel = namespace["kernel"]
    kernel.__name__ = kernel.__qualname__ = source_name(source)  # of which a process has one
    return compiled(text=source, **options)(kernel)
