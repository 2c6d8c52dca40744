"""Folders of shards: NumPy's files, Parquet and Zarr, any of their files damaged, lost, or of another folder."""

import shutil
import zlib

import numpy as np
import pyarrow as pa
import zarr
from pyarrow import parquet

from clifford_rand_nn.shards.source import Shards, fingerprint, shard_blocks
from fuzz.target import Target
from support.archives import archive_of, changed_json, members_of, with_head
from support.damage import damaged_bytes

COUNTED = (
    *("clifford_rand_nn.shards.source", "clifford_rand_nn.shards.stored_arrays", "clifford_rand_nn.shards.parquet"),
    *("clifford_rand_nn.shards.readers", "clifford_rand_nn.row_sums"),
)
_LONGEST = 20_000
_MOST_NUMBERS = 100_000


class Folders(Target):
    """All rows that a folder says it has are read, each once, or it is refused by one line."""

    constant = 2**23  # of Arrow's and Zarr's readers
    random = 0.1

    def prepare(self, folder):
        super().prepare(folder)
        rng = np.random.default_rng(0)
        self.data = folder / "shards"
        X, y = rng.standard_normal((8, 3)).astype(np.float32), np.arange(8) % 2
        self.made = []
        for kind in ("npy", "texts", "parquet", "lists", "zarr", "array"):
            self._empty()
            for i in range(2):
                rows = X[4 * i : 4 * i + 4]
                if kind in ("npy", "texts"):
                    np.save(self.data / f"X-{i:05d}.npy", np.asfortranarray(rows) if i else rows)
                    np.save(self.data / f"y-{i:05d}.npy", y[:4].astype(str if kind == "texts" else np.int8))
                    np.save(self.data / f"w-{i:05d}.npy", np.ones(4))
                elif kind in ("parquet", "lists"):
                    columns = {"a": rows[:, 0], "b": rows[:, 1]} if kind == "parquet" else {"v": list(rows)}
                    table = pa.table(columns | {"y": y[:4]})
                    parquet.write_table(table, self.data / f"{i}.parquet", row_group_size=3)
            if kind == "zarr":
                group = zarr.open_group(str(self.data), mode="w")
                for name, array in (("X", X), ("y", y)):
                    group.create_array(name, data=array, chunks=(3, *array.shape[1:]))
            if kind == "array":
                zarr.create_array(str(self.data), data=X, chunks=(5, 3), zarr_format=2)
            paths = [path for path in sorted(self.data.rglob("*")) if path.is_file()]
            self.made.append(archive_of({str(path.relative_to(self.data)): path.read_bytes() for path in paths}))

    def _empty(self):
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir()

    def seeds(self):
        return self.made

    def mutated(self, data, rng):
        try:
            files = members_of(data if rng.random() < 0.8 else self.made[rng.integers(len(self.made))])
        except Exception:  # bytes of the container were changed by libFuzzer
            files = members_of(self.made[rng.integers(len(self.made))])
        for _ in range(int(rng.integers(1, 3))):
            name = list(files)[rng.integers(len(files))] if files else "X-00000.npy"
            other = members_of(self.made[rng.integers(len(self.made))])
            kind = rng.integers(8)
            if kind == 0:
                files.pop(name, None)
            elif kind == 1:
                files[list(other)[rng.integers(len(other))]] = other[list(other)[rng.integers(len(other))]]
            elif kind == 2:
                files[name] = other[list(other)[rng.integers(len(other))]]
            elif name.endswith(".json") or "/." in f"/{name}":
                try:
                    files[name] = changed_json(files[name], rng)
                except (ValueError, KeyError, RecursionError):
                    files[name] = damaged_bytes(files.get(name) or b"{}", rng)
            elif name.endswith(".npy") and kind < 6:
                files[name] = with_head(files.get(name, b""), rng)
            else:
                files[name] = damaged_bytes(files.get(name) or b"x", rng)
        return archive_of({name: held[:_LONGEST] for name, held in files.items()}), None

    def run(self, data, known):
        try:
            files = members_of(data)
        except Exception:  # the container is the target's own
            return "no input"
        self._empty()
        for name, held in files.items():
            path = self.data / name
            if not path.resolve().is_relative_to(self.data.resolve()) or len(name) > 100:
                return "no input"
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(held)
            except (OSError, ValueError):
                return "no input"
        columns = any(name.endswith(".parquet") for name in files)
        with np.errstate(all="ignore"):
            shards = Shards(self.data, target="y") if columns and zlib.crc32(data) % 4 else Shards(self.data)
            seen = 0
            if shards.n_rows * shards.n_features > _MOST_NUMBERS:  # of absent chunks, zeros as many as are wanted
                return "large"
            for part in shards.parts:
                for block in shard_blocks(shards, part, 3):
                    if block.first != seen or block.X.shape[1:] != (shards.n_features,):
                        raise AssertionError(f"rows from {block.first} on, of shape {block.X.shape}, after {seen}")
                    for more in (block.y, block.weights):
                        if more is not None and len(more) != len(block.X):
                            raise AssertionError(f"{len(more)} beside {len(block.X)} rows")
                    seen += len(block.X)
        if seen != shards.n_rows:
            raise AssertionError(f"{seen} rows of {shards.n_rows}")
        if not fingerprint(shards):
            raise AssertionError("no fingerprint")
        return "rows"


TARGET = Folders()
