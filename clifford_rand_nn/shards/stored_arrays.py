"""Interface of all formats, an array of rows that can be read in part; arrays in memory, NPY files and Zarr."""

import json
import lzma
import math
import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._files import FAULTS, read_npy_header
from clifford_rand.errors import ArgumentError, require

# What file systems, decoders and libraries of arrays raise when rows cannot be had.
UNREADABLE = (OSError, EOFError, ValueError, LookupError, RuntimeError, MemoryError, zlib.error, lzma.LZMAError)
_LOOKED_AT = 64  # rows that stand for all in the identity of an array
_LEAST_READ = 2**16  # bytes, so that reads of targets are few: every one hands Python's lock to another thread
_NAMES = {"y": ("y",), "sample_weight": ("sample_weight", "w")}


class Stored(ABC):
    """An array (n, …) that is read by rows; it holds no rows of a file and no open file, and can be pickled."""

    name: str  # for errors: a path, or what the user called it
    shape: tuple[int, ...]
    dtype: np.dtype[Any]  # in the byte order of the machine; texts of any length have ``str``

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
    """Yield the rows of arrays of any lengths as arrays of ``rows`` rows, the last one of what is left."""
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


class HeldArray(Stored):
    """An array with shape and type whose slices become NumPy arrays: in memory, of HDF5.

    Raises TypeError: its slices become no arrays of its shape: sparse, masked, on a device, of one number.
    """

    def __init__(self, array: Any, name: str) -> None:
        self.name = name
        self.shape = tuple(int(size) for size in array.shape)
        try:
            nothing = np.asarray(array[:0])
        except (TypeError, ValueError, LookupError, RuntimeError, ArithmeticError) as error:
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


class RawFile(Stored):
    """An array that lies in a file as its bytes, from an offset on.

    ``offset``: bytes before the array. ``shape``, ``dtype``: the type may be of another byte order; rows that are read
    are in the machine's. ``by_columns``: whether the array lies in Fortran's order.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        offset: int,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        by_columns: bool = False,
    ) -> None:
        self.name, self.shape = os.fspath(path), shape
        self._type, self.dtype = dtype, dtype.newbyteorder("=")
        self._offset, self._by_columns = offset, by_columns and len(shape) > 1
        about = os.stat(path)
        self._seen = about.st_size, about.st_mtime_ns
        size = offset + dtype.itemsize * math.prod(shape)
        if about.st_size < size:
            received = describe(f"{self.name}: {about.st_size} of {size} bytes")
            raise fail("X", "Shards", "whole files", received, "The file is cut off.")

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows."""
        with open(self.name, "rb", buffering=0) as file:
            return self._rows(file, start, stop)

    def blocks(self, start: int, stop: int, rows: int) -> Iterator[NDArray[Any]]:
        """Yield rows; the file is opened once, and of short rows more are read at a time than are yielded."""
        row = max(1, math.prod(self.shape[1:]) * self._type.itemsize)
        several = rows * max(1, _LEAST_READ // (rows * row))
        with open(self.name, "rb", buffering=0) as file:
            for first in range(start, stop, several):
                read = self._rows(file, first, min(first + several, stop))
                for at in range(0, len(read), rows):
                    yield read[at : at + rows]

    def _rows(self, file: FileIO, start: int, stop: int) -> NDArray[Any]:
        about = os.fstat(file.fileno())
        if (about.st_size, about.st_mtime_ns) != self._seen:
            raise OSError("the file has changed since Shards was made")
        width, size = math.prod(self.shape[1:]), self._type.itemsize
        if self._by_columns:
            columns = np.empty((width, stop - start), self._type)
            for j, column in enumerate(columns):
                _fill(file, self._offset + (j * self.shape[0] + start) * size, column)
            rows = np.ascontiguousarray(columns.reshape(*self.shape[:0:-1], stop - start).T)
        else:
            rows = np.empty((stop - start, *self.shape[1:]), self._type)
            _fill(file, self._offset + start * width * size, rows.reshape(-1))
        return rows.astype(self.dtype, copy=False)

    def identity(self) -> str:
        """Return path, size and time of change."""
        return f"{Path(self.name).resolve()}:{self._seen}:{self._offset}:{self.shape}:{self._type}"


def NpyFile(path: str | os.PathLike[str]) -> RawFile:
    """Return the array of one ``.npy`` file of numbers or texts of fixed size; its header is read.

    Raises ArgumentError: there is no such file, it is cut off, no ``.npy`` file, or holds Python objects or records.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            shape, by_columns, dtype = read_npy_header(file)
            offset = file.tell()
    except FAULTS as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).splitlines()[0]
        raise fail("X", "Shards", "readable .npy files", describe(f"{name}: {reason}")) from error
    if dtype.hasobject:
        hint = "Write labels as texts of fixed size: np.save(path, y.astype(str))."
        raise fail("y", "Shards", "numbers or texts of fixed size", describe(f"{name}: Python objects"), hint)
    return RawFile(path, offset, shape, dtype, by_columns)


def mapped_file(array: Any) -> RawFile | None:
    """Return the part of a file that a memory map shows, so that plain reads take its place; None if it is none.

    A slice of rows is as good as the whole; a view of other steps is no part of a file as it lies there, and what is
    written to a map with ``mode="c"`` is in none.
    """
    if not isinstance(array, np.memmap) or array.filename is None or array.mode == "c":
        return None
    root: Any = array
    while isinstance(root.base, np.memmap):
        root = root.base
    by_columns = not array.flags.c_contiguous
    if by_columns and not (array.flags.f_contiguous and array is root):
        return None
    offset = root.offset + array.ctypes.data - root.ctypes.data
    return RawFile(array.filename, offset, array.shape, array.dtype, by_columns)


def _fill(file: FileIO, offset: int, array: NDArray[Any]) -> None:
    """Read an array that lies as one piece in a file."""
    rest = array.view(np.uint8).data
    file.seek(offset)
    while len(rest):
        count = file.readinto(rest)
        if not count:
            raise EOFError(f"the file ends {len(rest)} bytes too early")
        rest = rest[count:]


class ZarrArray(HeldArray):
    """A Zarr array; one that has been pickled opens its store again."""

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows."""
        try:
            return super().read(start, stop)
        except (OSError, MemoryError):
            raise
        except (lzma.LZMAError, *FAULTS) as error:  # of decoders, and of what an array says of itself
            raise ValueError(f"a chunk cannot be decoded: {error}") from error

    def blocks(self, start: int, stop: int, rows: int) -> Iterator[NDArray[Any]]:
        """Yield rows; every chunk is decoded once."""
        unit = self._unit * max(1, rows // self._unit)
        ends = [*range((start // unit + 1) * unit, stop, unit), stop]
        return regrouped((self.read(*bounds) for bounds in zip([start, *ends[:-1]], ends, strict=True)), rows)

    def unit(self, row: int) -> tuple[int, int]:
        """Return the rows of a chunk."""
        first = row // self._unit * self._unit
        return first, min(first + self._unit, self.shape[0])

    def identity(self) -> str:
        """Return where the array is, and a hash of some rows."""
        return f"{self._array.store}:{self._array.path}:{super().identity()}"

    @property
    def _unit(self) -> int:
        """Rows that are stored together."""
        chunks = getattr(self._array, "shards", None) or self._array.chunks  # a shard is read in part, at some cost
        return int(chunks[0])


def is_zarr(path: Path) -> bool:
    """Tell whether a folder is a Zarr array or group."""
    return path.is_dir() and any((path / name).is_file() for name in ("zarr.json", ".zarray", ".zgroup"))


def open_zarr(path: Path) -> dict[str, ZarrArray]:
    """Return ``X`` and, of a group that has them, ``y`` and ``sample_weight``.

    Raises ArgumentError: it cannot be opened, or is a group without X.
    """
    zarr = require("zarr", extra="shards", purpose="reading Zarr")
    try:
        return _opened(zarr.open(str(path), mode="r"), path)
    except ArgumentError:
        raise
    except FAULTS as error:
        raise fail("X", "Shards", "readable Zarr", describe(f"{path}: {error}")) from error


def _opened(source: Any, path: Path) -> dict[str, ZarrArray]:
    if hasattr(source, "shape"):
        _check_chunks(path)
        return {"X": ZarrArray(source, str(path))}
    arrays = dict(source.arrays())
    if "X" not in arrays:
        received = describe(f"{path} with {', '.join(sorted(arrays)) or 'nothing'}")
        raise fail("X", "Shards", "a Zarr group with arrays X (n, d) and y", received)
    chosen = {"X": arrays["X"]}
    for role, names in _NAMES.items():
        for name in names:
            if name in arrays:
                chosen.setdefault(role, arrays[name])
    for array in chosen.values():
        _check_chunks(path / array.basename)
    return {role: ZarrArray(array, f"{path}/{array.basename}") for role, array in chosen.items()}


def _check_chunks(path: Path) -> None:
    """Raise ValueError if the file of an array says chunks of size 0, which Zarr reads as 1 from version 3.4 on."""
    file = path / "zarr.json"
    about = json.loads((file if file.is_file() else path / ".zarray").read_bytes())
    grid = about["chunk_grid"]["configuration"] if file.is_file() else about
    chunks = grid.get("chunks", grid.get("chunk_shape", ()))  # a grid of unequal chunks has neither
    if 0 in chunks:
        raise ValueError(f"chunks of shape {tuple(chunks)}")
