"""Arrays in memory: NumPy's, and others that give rows when they are sliced."""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn.shards.formats.base import Stored

_LOOKED_AT = 64  # rows that stand for all in the identity of an array


class HeldArray(Stored):
    """An array with shape and type whose slices become NumPy arrays: in memory, of HDF5.

    Raises
    ------
    TypeError
        Its slices become no arrays of its shape: sparse, masked, on a device, of one number.
    """

    def __init__(self, array: Any, name: str) -> None:
        self.name = name
        self.shape = tuple(int(size) for size in array.shape)
        try:
            nothing = np.asarray(array[:0])
        except (TypeError, ValueError, LookupError, RuntimeError) as error:
            raise TypeError(f"whose slices are none: {error}") from error
        if np.ma.is_masked(array):
            raise TypeError("with masked entries")
        array = array.data if isinstance(array, np.ma.MaskedArray) else array
        if nothing.shape != (0, *self.shape[1:]):
            raise TypeError("whose slices are no arrays of its shape")
        self.dtype = nothing.dtype.newbyteorder("=")
        self._array = array

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows."""
        return np.asarray(self._array[start:stop]).astype(self.dtype)

    def identity(self) -> str:
        """Return shape, type and a hash of some rows."""
        return f"{self.shape}:{self.dtype}:{looked_at(self.read, self.shape[0])}"


def looked_at(read: Callable[[int, int], NDArray[Any]], n: int) -> str:
    """Return a hash of some of n rows, which stand for all."""
    digest = blake2b(digest_size=16)
    for i in range(0, n, max(1, n // _LOOKED_AT)):
        digest.update(np.ascontiguousarray(read(i, i + 1)).tobytes())
    return digest.hexdigest()
