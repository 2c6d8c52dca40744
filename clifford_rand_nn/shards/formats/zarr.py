"""Zarr arrays: read by chunks, each decoded once; and groups that hold X, y and weights."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._optional import require
from clifford_rand_nn.shards.formats.held import HeldArray
from clifford_rand_nn.shards.formats.stored import regrouped

_NAMES = {"y": ("y",), "sample_weight": ("sample_weight", "w")}


class ZarrArray(HeldArray):
    """A Zarr array; one that has been pickled opens its store again."""

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows."""
        try:
            return super().read(start, stop)
        except RuntimeError as error:  # of decoders
            raise ValueError(f"a chunk cannot be decoded: {error}") from error

    def blocks(self, start: int, stop: int, rows: int) -> Iterator[NDArray[Any]]:
        """Yield rows; every chunk is decoded once."""
        unit = self._unit * max(1, rows // self._unit)
        ends = [*range((start // unit + 1) * unit, stop, unit), stop]
        return regrouped((self.read(*one) for one in zip([start, *ends[:-1]], ends, strict=True)), rows)

    def ends(self) -> NDArray[np.int64]:
        """Return where chunks end."""
        return np.append(np.arange(self._unit, self.shape[0], self._unit), self.shape[0])

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
        found = zarr.open(str(path), mode="r")
        if hasattr(found, "shape"):
            return {"X": ZarrArray(found, str(path))}
        there = dict(found.arrays())
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise fail("X", "Shards", "readable Zarr", describe(f"{path}: {str(error).splitlines()[0]}")) from error
    if "X" not in there:
        found = describe(f"{path} with {', '.join(sorted(there)) or 'nothing'}")
        raise fail("X", "Shards", "a Zarr group with arrays X (n, d) and y", found)
    chosen = {"X": there["X"]}
    for role, names in _NAMES.items():
        for name in names:
            if name in there:
                chosen.setdefault(role, there[name])
    return {role: ZarrArray(array, f"{path}/{array.basename}") for role, array in chosen.items()}
