"""Arrays that are somewhere in this process: NumPy's, and whatever else gives rows as such when it is sliced."""

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LOOKED_AT = 64  # rows that stand for all in the identity of an array


class HeldArray:
    """An array with shape and type whose slices become NumPy arrays: memory maps, Zarr, HDF5, arrays in memory."""

    def __init__(self, array: Any, name: str) -> None:
        self.name = name
        self.shape, self.dtype = tuple(int(size) for size in array.shape), np.dtype(array.dtype)
        self._array = array

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows."""
        return np.array(self._array[start:stop])

    def identity(self) -> str:
        """Return shape, type and a hash of some rows."""
        n = self.shape[0]
        step = max(1, n // _LOOKED_AT)
        digest = blake2b(digest_size=16)
        for i in range(0, n, step):
            digest.update(self.read(i, i + 1).tobytes())
        return f"{self.shape}:{self.dtype}:{digest.hexdigest()}"
