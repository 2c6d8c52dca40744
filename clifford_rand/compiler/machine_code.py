"""Machine code by Numba: its files, in a folder that belongs to the user alone, and intrinsics of compiled loops.

Numba's own files are trusted as they are: one that was cut is an error of `pickle`, and one of another user is
executed. Two processes that compile for other types at the same time may take one name for both, and then one runs the
code of the other. Code of a function that calls one of another file stays when that one changes. Here a file is one
tuple of types, has a digest, names the sources that it comes from, and counts only if this user alone may write it.

The intrinsics are loads and stores without aliases, prefetches and powers of two, which vectorize. A kernel has dozens
of rows as operands and results. LLVM would test at run time that no two of them overlap, and where these are many
tests, it gives up and computes one sample at a time. So each load and store says that it is alone: rows of results
overlap neither operands nor each other (the `noalias` and `alias.scope` metadata of LLVM).
"""

import hashlib
import os
import pickle
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
from llvmlite import ir
from numba import __version__
from numba.core import cgutils, types
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.extending import intrinsic

from clifford_rand._files import code_folder, replaced
from clifford_rand._threads import cached_property

_DIGEST_BYTES = 32  # of SHA-256
_CONSTANTS = (bool, int, float, complex, str, bytes, tuple, np.generic, np.dtype, type(None))  # compiled into the code


class CodeCache(NullCache):
    """The machine code of one function: a file for each tuple of types, processor, Numba and Python.

    A file that is cut, changed, of another source or of another user is as none. The source is the text of the
    function's file, and all compiled functions and constants of other files that it reaches by name.
    """

    def __init__(self, function: Callable[..., Any], source: bytes) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}".replace("<locals>", "")
        self._function = function
        self.digest = hashlib.sha256(source + function.__code__.co_code).hexdigest()

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(code_folder() or "")

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature, None if it is not there."""
        target_context.refresh()
        data = self._load(_key(sig, target_context.codegen()))
        return None if data is None else CompileResult._rebuild(target_context, *data)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save what was compiled for a signature, if it can be read again and the folder can be written to."""
        folder = code_folder()
        if folder is None or data.library.has_dynamic_globals or any(not loop.can_cache for loop in data.lifted):
            return
        key = _key(sig, data.codegen)
        content = dumps((self._stamp, key, data._reduce()))  # type: ignore[no-untyped-call]
        try:
            with replaced(folder / self._file(key)) as new:
                new.write_bytes(hashlib.sha256(content).digest() + content)
        except OSError:  # the disk is full, or read-only: the code is in memory
            return

    @cached_property
    def _stamp(self) -> str:
        """Return a digest of the sources; computed at the first use, as a name may be defined after the function."""
        reached = sorted(_reached(self._function, {self.digest}))
        return hashlib.sha256("\n".join([self.digest, *reached]).encode()).hexdigest()

    def _load(self, key: str) -> Any:
        folder = code_folder()
        content = None if folder is None else _own_content(folder / self._file(key))
        if content is None or hashlib.sha256(content[_DIGEST_BYTES:]).digest() != content[:_DIGEST_BYTES]:
            return None
        stamp, key_of_file, data = pickle.loads(content[_DIGEST_BYTES:])
        return data if (stamp, key_of_file) == (self._stamp, key) else None

    def _file(self, key: str) -> str:
        return f"{self._name}.{hashlib.sha256(key.encode()).hexdigest()[:16]}.code"


def _key(sig: Any, codegen: Any) -> str:
    """Return what machine code is of: the types of the arguments, the processor, Numba and Python."""
    return repr((sig, codegen.magic_tuple(), __version__, sys.version_info[:2], getattr(sys, "abiflags", "")))


def _own_content(file: Path) -> bytes | None:
    """Return the content of a file that nobody but this user may have written, None of any other."""
    try:
        with open(file, "rb") as stream:
            status = os.fstat(stream.fileno())
            is_own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
            return stream.read() if is_own and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else None
    except OSError:
        return None


def _reached(function: Any, seen: set[str]) -> Iterator[str]:
    """Yield what a function is compiled with: constants by name, and digests of the compiled functions it calls."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    scope = function.__globals__ | {name: cell.cell_contents for name, cell in cells}
    for name in _names(function.__code__):
        value = scope.get(name)
        cache = getattr(value, "_cache", None)
        if isinstance(value, _CONSTANTS):
            yield f"{name} {value!r}"
        elif isinstance(value, np.ndarray):
            yield f"{name} {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        elif isinstance(cache, CodeCache) and cache.digest not in seen:
            seen.add(cache.digest)
            yield f"{name} {cache.digest}"
            yield from _reached(value.py_func, seen)


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that a function, and those within it, look up."""
    yield from (*code.co_names, *code.co_freevars)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _scopes(builder: Any, names: list[str]) -> Any:
    module = builder.module
    domain = module.add_metadata(["clifford_rand.fusion"])
    return module.add_metadata([module.add_metadata([name, domain]) for name in names])


def _address(context: Any, builder: Any, kind: Any, array: Any, row: int, i: Any) -> Any:
    tools: Any = cgutils
    struct = context.make_array(kind)(context, builder, array)
    shape, strides = tools.unpack_tuple(builder, struct.shape), tools.unpack_tuple(builder, struct.strides)
    indices = [ir.Constant(i.type, row), i]
    return tools.get_item_pointer2(context, builder, struct.data, shape, strides, kind.layout, indices)


@intrinsic(prefer_literal=True)
def load(typing: Any, array: Any, row: Any, i: Any) -> Any:
    """Return array[row, i] of an operand."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.load(_address(context, builder, array, arguments[0], row.literal_value, arguments[2]))
        value.set_metadata("alias.scope", _scopes(builder, ["operands"]))
        return value

    return array.dtype(array, row, i), generate


@intrinsic(prefer_literal=True)
def store(typing: Any, array: Any, row: Any, slot: Any, slots: Any, i: Any, value: Any) -> Any:
    """Set array[row, i] of a result, the row number ``slot`` of all ``slots`` that the kernel writes."""
    signature = types.void(array, row, slot, slots, i, array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        own, count = slot.literal_value, slots.literal_value
        address = _address(context, builder, array, arguments[0], row.literal_value, arguments[4])
        instruction = builder.store(arguments[5], address)
        instruction.set_metadata("alias.scope", _scopes(builder, [f"result {own}"]))
        elsewhere = [f"result {k}" for k in range(count) if k != own]
        instruction.set_metadata("noalias", _scopes(builder, ["operands", *elsewhere]))
        return context.get_dummy_value()

    return signature, generate


@intrinsic(prefer_literal=True)
def load_rows(typing: Any, array: Any, row: Any, count: Any, i: Any) -> Any:
    """Return the tuple of array[row, i], …, array[row + count - 1, i], of an operand."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, scopes = [], _scopes(builder, ["operands"])
        for k in range(row.literal_value, row.literal_value + count.literal_value):
            values.append(builder.load(_address(context, builder, array, arguments[0], k, arguments[3])))
            values[-1].set_metadata("alias.scope", scopes)
        return context.make_tuple(builder, signature.return_type, values)

    result: Any = types.UniTuple(array.dtype, count.literal_value)  # type: ignore[no-untyped-call]
    return result(array, row, count, i), generate


@intrinsic(prefer_literal=True)
def store_rows(typing: Any, array: Any, row: Any, slots: Any, i: Any, values: Any) -> Any:
    """Set array[row, i], array[row + 1, i], … of a result to a tuple: the rows are those of all ``slots`` results."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        names = [f"result {k}" for k in range(slots.literal_value)]
        tools: Any = cgutils
        for k, value in enumerate(tools.unpack_tuple(builder, arguments[4]), row.literal_value):
            instruction = builder.store(value, _address(context, builder, array, arguments[0], k, arguments[3]))
            instruction.set_metadata("alias.scope", _scopes(builder, [names[k]]))
            instruction.set_metadata("noalias", _scopes(builder, ["operands", *names[:k], *names[k + 1 :]]))
        return context.get_dummy_value()

    return types.void(array, row, slots, i, values), generate


@intrinsic(prefer_literal=True)
def prefetch(typing: Any, array: Any, row: Any, i: Any, write: Any) -> Any:
    """Ask for array[row, i], which may lie beyond the end of the row, to be brought into the first-level cache."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(
            _address(context, builder, array, arguments[0], row.literal_value, arguments[2]), byte
        )
        name = "llvm.prefetch.p0"
        function = builder.module.globals.get(name)
        if function is None:
            function = ir.Function(builder.module, ir.FunctionType(ir.VoidType(), [byte, *[number] * 3]), name)
        builder.call(function, [address, *(number(k) for k in (write.literal_value, 3, 1))])  # all levels; data
        return context.get_dummy_value()

    return types.void(array, row, i, write), generate


@intrinsic
def pow2(typing: Any, k: Any) -> Any:
    """Return 2^k for a floating number k that is an integer, 0 and infinity beyond the range of exponents."""
    bits, mantissa, bias = (64, 52, 1023) if k == types.float64 else (32, 23, 127)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, whole = arguments[0].type, ir.IntType(bits)
        low, high = ir.Constant(kind, float(-bias)), ir.Constant(kind, float(bias + 1))
        value = builder.select(builder.fcmp_ordered("<", arguments[0], low), low, arguments[0])
        value = builder.select(builder.fcmp_ordered(">", value, high), high, value)
        shifted = builder.add(builder.fptosi(value, whole), ir.Constant(whole, bias))
        return builder.bitcast(builder.shl(shifted, ir.Constant(whole, mantissa)), kind)

    return k(k), generate
