"""Files of NumPy, read by plain reads: a memory map would count as memory of the process until it is dropped."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail


class NpyFile:
    """One ``.npy`` file of numbers or texts of fixed size."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        try:
            with open(path, "rb") as file:
                version = npy.read_magic(file)
                read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                self.shape, self._by_columns, self.dtype = read(file)
                self._offset = file.tell()
        except (OSError, ValueError) as error:
            raise fail("X", "Shards", "readable .npy files", describe(f"{self.name}: {error}")) from error
        if self.dtype.hasobject:
            raise fail("X", "Shards", "numbers or texts of fixed size", describe(f"{self.name}: Python objects"))
        size = self._offset + self.dtype.itemsize * int(np.prod(self.shape))
        if os.path.getsize(path) < size:
            found = describe(f"{self.name}: {os.path.getsize(path)} of {size} bytes")
            raise fail("X", "Shards", "whole files", found, "The file is cut off.")

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows."""
        if self._by_columns and len(self.shape) > 1:
            mapped = np.memmap(self.name, self.dtype, "r", self._offset, self.shape, "F")
            return np.ascontiguousarray(mapped[start:stop])
        width = int(np.prod(self.shape[1:]))
        row = width * self.dtype.itemsize
        found = np.fromfile(self.name, self.dtype, (stop - start) * width, offset=self._offset + start * row)
        if found.size < (stop - start) * width:
            raise OSError(f"{found.size} of {(stop - start) * width} numbers are left in the file")
        return found.reshape(stop - start, *self.shape[1:])

    def identity(self) -> str:
        """Return path, size and time of change."""
        about = os.stat(self.name)
        return f"{Path(self.name).resolve()}:{about.st_size}:{about.st_mtime_ns}"
