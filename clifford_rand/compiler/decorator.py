"""Functions compiled by Numba, or run by NumPy and Python where there is no Numba, as in a browser."""

import hashlib
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from clifford_rand.errors import MissingCompilerWarning, require


@cache
def has_compiler() -> bool:
    """Tell whether Numba can be imported; a process whose Numba is missing is warned once."""
    try:
        import numba  # noqa: F401
    except ImportError as error:
        message = (
            f"Numba cannot be imported ({error}): clifford_rand computes the same by NumPy and Python, more slowly. "
            "Where Numba exists, pip install numba."
        )
        warnings.warn(message, MissingCompilerWarning, stacklevel=2)
        return False
    return True


def compiled(
    *, text: str | None = None, plain: Callable[..., Any] | None = None, **options: Any
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator: `numba.njit` with ``options``, without the GIL, cached on the disk where that can be.

    Without Numba a function is replaced by ``plain``, which does the same by NumPy's functions of arrays; if that is
    None, by itself in Python. ``text`` is the source of a function that has no file.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        if not has_compiler():
            return plain or function
        from numba import njit

        from clifford_rand.compiler.machine_code import CodeCache

        dispatcher = njit(nogil=True, **options)(function)
        file = Path(function.__code__.co_filename)
        source = file.read_bytes() if text is None and file.is_file() else (text or "").encode()
        if source:
            flags = [(name, sorted(x) if isinstance(x, set) else x) for name, x in sorted(options.items())]
            dispatcher._cache = CodeCache(function, source + repr(flags).encode())
        return dispatcher

    return decorate


def inline(module: ModuleType) -> None:
    """Let compiled functions call those of a module, which stay as they are for arrays; their code is inlined."""
    if has_compiler():
        from numba.extending import register_jitable

        from clifford_rand.compiler.machine_code import CodeCache

        source = Path(str(module.__file__)).read_bytes()
        for function in vars(module).values():
            if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                register_jitable(forceinline=True)(function)
                function._cache = CodeCache(function, source)  # type: ignore[attr-defined]  # in digests of callers
                function.py_func = function  # type: ignore[attr-defined]


def source_name(source: str) -> str:
    """Return the name of the function of generated code, by its digest."""
    return f"loop_{hashlib.blake2b(source.encode(), digest_size=16).hexdigest()}"


def is_cached(source: str) -> bool:
    """Tell whether machine code of generated code is on the disk, for whatever types and processor."""
    from clifford_rand._files import code_folder  # zipfile and its like, which a product does without

    folder = code_folder()
    return folder is not None and any(folder.glob(f"*.{source_name(source)}.*"))


def kernel_of(source: str, names: dict[str, Any] | None = None) -> Any:
    """Return the function ``kernel`` of generated code, whose text is made here, of names made here."""
    namespace = {} if names is None else names
    exec(compile(source, "<generated>", "exec"), namespace)
    return namespace["kernel"]


def compile_source(source: str, module: str, **options: Any) -> Any:
    """Return the function ``kernel`` of generated code, compiled under a name that is the digest of the code.

    ``module`` is the name of one that exists: Numba imports it with machine code from the disk. Raises
    MissingDependencyError without Numba.
    """
    require("numba", purpose="compiled code")
    kernel = kernel_of(source, {"__name__": module})
    kernel.__name__ = kernel.__qualname__ = source_name(source)  # of which a process has one
    return compiled(text=source, **options)(kernel)
