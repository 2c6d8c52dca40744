"""Zarr arrays: read by chunks, each decoded once; and groups that hold X, y and weights."""

import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._optional import require
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._archives import FAULTS
from clifford_rand_nn.shards.formats.base import HeldArray, regrouped

_NAMES = {"y": ("y",), "sample_weight": ("sample_weight", "w")}


class ZarrArray(HeldArray):
    """A Zarr array; one that has been pickled opens its store again."""

    def __init__(self, array: Any, name: str) -> None:
        super().__init__(array, name)
        if self.shape and self._unit < 1:
            raise ValueError(f"{name}: chunks of {self._unit} rows")

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

    Raises
    ------
    ArgumentError
        It cannot be opened, or is a group without X.
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
    return {role: ZarrArray(array, f"{path}/{array.basename}") for role, array in chosen.items()}
