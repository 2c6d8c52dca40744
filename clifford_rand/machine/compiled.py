"""LLVM code as a function: compiled for this processor, kept on the disk, called without Python's lock."""

import copy
import ctypes
import hashlib
import sys
import warnings
from functools import cache
from typing import Any

import numpy as np

HEAD = object.__basicsize__  # of a Python object; NumPy's C interface: data, number of axes, shape and strides follow
STRIDES = HEAD + 24
_DIGEST = 16  # bytes
_TRIAL = f"""
define i64 @trial(i64 %array) {{
%a = add i64 %array, {HEAD}
%b = add i64 %array, {STRIDES}
%pa = inttoptr i64 %a to ptr
%pb = inttoptr i64 %b to ptr
%data = load i64, ptr %pa
%strides = load ptr, ptr %pb
%step = load i64, ptr %strides
%sum = add i64 %data, %step
ret i64 %sum
}}
"""


class Target:
    """The processor: its instructions, and how many bytes its vector registers have."""

    fused = False  # whether functions of rows may make one instruction of a product and a sum

    def __init__(self) -> None:
        import llvmlite
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        try:
            features = llvm.get_host_cpu_features()
        except RuntimeError:  # LLVM cannot ask this processor; what all of its kind have is enough
            features = llvm.FeatureMap()
        self.features, self.cpu, self.triple = features.flatten(), llvm.get_host_cpu_name(), llvm.get_process_triple()
        self.identity = f"{llvmlite.__version__} {self.triple} {self.cpu} {self.features}"
        self.register = 64 if features.get("avx512f") else 32 if features.get("avx") else 16

    def fusing(self) -> "Target":
        """Return the same processor for functions of rows in which a product and a sum may be one instruction."""
        other = copy.copy(self)
        other.fused = True
        return other

    def engine(self, text: str) -> Any:
        """Return a compiler with some LLVM code."""
        import llvmlite.binding as llvm

        made = llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=3, jit=True
        )
        module = llvm.parse_assembly(text)
        module.verify()
        return llvm.create_mcjit_compiler(module, made)


@cache
def target() -> Target | None:
    """Return the processor that this process runs on; None, with a warning, where no machine code can be run."""
    try:
        return _tried()
    except (ImportError, OSError, RuntimeError) as error:
        text = f"machine code cannot be compiled here: {error}. NumPy and Numba compute in its place, more slowly."
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        return None


def _tried() -> Target:
    """Return the processor once it has run a function that finds data and strides in an array."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise RuntimeError("addresses of 64 bits in CPython's objects are needed")
    found = Target()
    engine = found.engine(_TRIAL)
    engine.finalize_object()
    array = np.zeros((2, 3))
    sum_of = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_ssize_t)(engine.get_function_address("trial"))
    if sum_of(id(array)) != array.ctypes.data + array.strides[0]:
        raise RuntimeError("NumPy's arrays are not laid out as its C interface says")
    return found


def _digest(code: bytes) -> bytes:
    return hashlib.blake2b(code, digest_size=_DIGEST).digest()


def _whole(content: bytes | None) -> bytes | None:
    """Return the machine code of a file, None if the file is not as it was written: LLVM would run anything."""
    if content is None or _digest(content[_DIGEST:]) != content[:_DIGEST]:
        return None
    return content[_DIGEST:]


class MachineFunction:
    """The compiled function ``name`` of LLVM code: takes integers, and floats where ``numbers`` says so.

    ``from_disk`` tells whether its machine code was there. LLVM compiles one module at a time, by llvmlite's lock.
    """

    def __init__(self, own: Target, text: str, name: str, numbers: list[bool]) -> None:
        from clifford_rand.machine import folder  # and with it pathlib and shutil, 10 ms

        digest = hashlib.blake2b(f"{own.identity}\n{text}".encode(), digest_size=_DIGEST).hexdigest()
        file = f"code_{digest}.o"
        code = _whole(folder.kept(file))
        self.from_disk = code is not None
        # with machine code at hand LLVM compiles an empty module, and is handed that instead
        self._engine = own.engine(f"declare i32 @{name}()" if code else text)
        self._engine.set_object_cache(lambda _, made: folder.write(file, _digest(made) + made), lambda _: code)
        self._engine.finalize_object()
        kinds = [ctypes.c_double if number else ctypes.c_ssize_t for number in numbers]
        self.call: Any = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(self._engine.get_function_address(name))
