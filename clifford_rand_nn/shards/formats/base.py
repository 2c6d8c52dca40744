"""Interface of all formats: an array of rows that can be read in part."""

import lzma
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
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
