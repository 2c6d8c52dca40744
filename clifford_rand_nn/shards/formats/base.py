"""Interface of all formats: an array of rows that can be read in part; and arrays in memory."""

import lzma
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What file systems, decoders and libraries of arrays raise when rows cannot be had.
UNREADABLE = (OSError, EOFError, ValueError, LookupError, RuntimeError, MemoryError, zlib.error, lzma.LZMAError)


class Stored(ABC):
    """An array (n, …) that is read by rows; it holds no rows of a file and no open file, and can be pickled.

    Attributes
    ----------
    name : str
        For errors: a path, or what the user called it.
    shape : tuple of int
    dtype : numpy.dtype
        In the byte order of the machine; texts of any length have ``str``.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @abstractmethod
    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return the rows ``start`` to ``stop`` as an array of their own."""

    def blocks(self, start: int, stop: int, rows: int) -> Iterator[NDArray[Any]]:
        """Yield the rows ``start`` to ``stop``, ``rows`` at a time; units that are decoded are decoded once."""
        for first in range(start, stop, rows):
            yield self.read(first, min(first + rows, stop))

    def unit(self, row: int) -> tuple[int, int] | None:
        """Return from where to where rows can only be read as a whole with this one: its row group, its chunk.

        None says that rows can be read one by one, and parts may end anywhere.
        """
        return None

    @abstractmethod
    def identity(self) -> str:
        """Return what changes when the stored numbers do: a path with size and time of change, a hash."""


def regrouped(arrays: Iterable[NDArray[Any]], rows: int) -> Iterator[NDArray[Any]]:
    """Yield the rows of arrays of any lengths as arrays of ``rows`` rows, the last one of what is left.

    Examples
    --------
    >>> [one.tolist() for one in regrouped([np.arange(3), np.arange(3, 4), np.arange(4, 9)], 2)]
    [[0, 1], [2, 3], [4, 5], [6, 7], [8]]
    """
    waiting: list[NDArray[Any]] = []
    count = 0
    for array in arrays:
        begin = 0
        while count + len(array) - begin >= rows:
            end = begin + rows - count
            yield _joined([*waiting, array[begin:end]])
            waiting, count, begin = [], 0, end
        if begin < len(array):
            waiting.append(array[begin:])
            count += len(array) - begin
    if waiting:
        yield _joined(waiting)


def _joined(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    arrays = [array for array in arrays if len(array)]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


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
            raise TypeError("whose slices are not arrays of its shape")
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
