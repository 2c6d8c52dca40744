"""The three ways in which a program is run: LLVM's machine code, Numba's, and NumPy's functions of whole arrays.

Each is called with the arguments and results as arrays (components, samples), (components,) or numbers, what is to
hold where guards fail (or None), and the first sample and the one after the last. It returns 0; 1 if guards failed in
some samples; 2 or 3 if one failed that is the same for all.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.fusion.cache import compile_loop
from clifford_rand.fusion.codegen import Program
from clifford_rand.fusion.vector_code import VectorCode
from clifford_rand.machine.compiled import Target


class MachineLoop:
    """A program of real numbers without calls, as machine code for vector registers."""

    def __init__(self, program: Program, own: Target) -> None:
        self.numbers = any(one.is_number for one in program.inputs)
        self.function = VectorCode(program, own.register).compile(own)

    @staticmethod
    def flags(count: int) -> NDArray[Any]:
        """Return a byte for each sample, and for those that fill the last register."""
        return np.zeros(count + 64, np.uint8)

    def __call__(self, arguments: list[Any], out: list[Any], flags: Any, start: int, stop: int) -> int:
        """Run it; the code finds the data of an array, and its strides, in NumPy's object."""
        if self.numbers:
            given = [one if one.__class__ is float else id(one) for one in arguments]
        else:
            given = [id(one) for one in arguments]
        marks = 0 if flags is None else flags.ctypes.data
        return int(self.function.call(*given, *map(id, out), marks, start, stop))


class CompiledLoop:
    """A program with complex numbers or with functions of the mathematical library, compiled by Numba."""

    def __init__(self, source: str, precision: np.dtype) -> None:
        self.function = compile_loop(source)
        self._none = np.empty((1, 1), precision)

    def flags(self, count: int) -> NDArray[Any]:
        """Return a number for each sample."""
        return np.zeros((1, count), self._none.dtype)

    def __call__(self, arguments: list[Any], out: list[Any], flags: Any, start: int, stop: int) -> int:
        """Run it."""
        given = (_read_only(one) if isinstance(one, np.ndarray) else one for one in arguments)
        marks = np.empty_like(self._none) if flags is None else flags
        return int(self.function(*given, *out, marks, start, stop))


class ArrayLoop:
    """A program of whole arrays, run by NumPy."""

    def __init__(self, source: str) -> None:
        namespace: dict[str, Any] = {}
        exec(compile(source, "<fused>", "exec"), namespace)  # generated here, from names made here
        self.function = np.errstate(all="ignore")(namespace["kernel"])  # in samples that a guard tells

    @staticmethod
    def flags(count: int) -> NDArray[Any]:
        """Return a byte for each sample."""
        return np.zeros(count, np.uint8)

    def __call__(self, arguments: list[Any], out: list[Any], flags: Any, start: int, stop: int) -> int:
        """Run it for all samples."""
        failed = self.function(*arguments, *out)
        if np.ndim(failed) == 0:
            return 2 * bool(failed)
        if flags is not None:
            flags[:] = failed
        return int(np.any(failed))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view, as multivectors have: of both kinds there would be two machine codes."""
    if array.flags.writeable:
        array = array.view()
        array.setflags(False)  # type: ignore[call-arg]
    return array
