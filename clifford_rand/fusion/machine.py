"""Machine code of LLVM code, kept on the disk, and called without Python's lock. Numba is not loaded for it."""

import ctypes
import hashlib
import threading
from functools import cache
from typing import Any

from clifford_rand.fusion import cache as disk

_DIGEST = 16  # bytes
_LOCK = threading.Lock()  # LLVM compiles one module at a time


class _Target:
    """The processor: its instructions, and how many bytes its vector registers have."""

    def __init__(self) -> None:
        import llvmlite
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.features = llvm.get_host_cpu_features()
        self.cpu = llvm.get_host_cpu_name()
        self.identity = f"{llvmlite.__version__} {llvm.get_process_triple()} {self.cpu} {self.features.flatten()}"
        self.register = 64 if self.features.get("avx512f") else 32 if self.features.get("avx") else 16

    def engine(self, text: str) -> Any:
        """Return a compiler with some LLVM code."""
        import llvmlite.binding as llvm

        made = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
            cpu=self.cpu, features=self.features.flatten(), opt=3, jit=True, codemodel="jitdefault"
        )
        module = llvm.parse_assembly(text)
        module.verify()
        return llvm.create_mcjit_compiler(module, made)


def _digest(code: bytes) -> bytes:
    return hashlib.blake2b(code, digest_size=_DIGEST).digest()


def _whole(content: bytes | None) -> bytes | None:
    """Return the machine code of a file, None if the file is not as it was written: LLVM would run anything."""
    if content is None or _digest(content[_DIGEST:]) != content[:_DIGEST]:
        return None
    return content[_DIGEST:]


@cache
def target() -> _Target:
    """Return the processor that this process runs on."""
    return _Target()


class MachineFunction:
    """The compiled function ``name`` of LLVM code: takes integers, and floats where ``numbers`` says so.

    ``from_disk`` tells whether its machine code was there.
    """

    def __init__(self, text: str, name: str, numbers: list[bool]) -> None:
        own = target()
        digest = hashlib.blake2b(f"{own.identity}\n{text}".encode(), digest_size=_DIGEST).hexdigest()
        with _LOCK:
            file = f"fused_{digest}.o"
            code = _whole(disk.kept(file))
            self.from_disk = code is not None
            # with machine code at hand LLVM compiles an empty module, and is handed that instead
            self._engine = own.engine(f"declare i32 @{name}()" if code else text)
            self._engine.set_object_cache(lambda _, made: disk.write(file, _digest(made) + made), lambda _: code)
            self._engine.finalize_object()
            address = self._engine.get_function_address(name)
        kinds = [ctypes.c_double if number else ctypes.c_ssize_t for number in numbers]
        self.call: Any = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(address)
