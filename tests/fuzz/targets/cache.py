"""Caches of embeddings: SQLite files of both versions, damaged or written by hand."""

import hashlib
import shutil
import sqlite3

import numpy as np

from clifford_rand_nn.features.cache import FeatureCache, content_hash
from fuzz.target import Target
from support.damage import damaged_bytes

COUNTED = ("clifford_rand_nn.features.cache",)
_VALUES = ("NULL", "-1", "0", "3", "1e300", str(2**63 - 1), "'x'", "x''", "x'00'", "zeroblob(100)", "zeroblob(48)")
_OLDER = ["ALTER TABLE vectors DROP COLUMN sum", "PRAGMA user_version = 1"]  # a file of the first version


class Cache(Target):
    """Every vector that a damaged cache gives was put in; what is put in is there, or it is refused."""

    random = 0.4
    constant = 2**22  # pages that SQLite keeps, and what it sorts

    def prepare(self, folder):
        super().prepare(folder)
        rng = np.random.default_rng(0)
        self.hashes = [content_hash(f"text {i}") for i in range(40)]
        self.vectors = rng.standard_normal((40, 12)).astype(np.float32)
        self.more = [content_hash("a new text")], rng.standard_normal((1, 12)).astype(np.float32)
        self.files = []
        for count in (0, 3, 40):
            cache = FeatureCache(folder / "made", "key")
            if count:
                cache.put(self.hashes[:count], self.vectors[:count])
            self.files.append(cache.path.read_bytes())
            self.path = folder / "cache" / cache.path.name
            shutil.rmtree(folder / "made")
        self.files.append(self._edited(self.files[1], _OLDER))
        self.files.append(b"")
        self.known = dict(zip(self.hashes, self.vectors, strict=True))

    def seeds(self):
        return self.files

    def mutated(self, data, rng):
        kind = rng.integers(10)
        if kind < 3:
            return damaged_bytes(self.files[rng.integers(len(self.files) - 1)], rng), None
        if kind < 5 and data:
            return damaged_bytes(data, rng), None
        value = _VALUES[rng.integers(len(_VALUES))]
        where = f"WHERE rowid % {rng.integers(1, 5)} = 0"
        orders = [
            f"UPDATE vectors SET {rng.choice(['hash', 'vector', 'sum'])} = {value} {where}",
            f"UPDATE OR REPLACE about SET value = {value} WHERE name = '{rng.choice(['dim', 'key'])}'",
            f"DELETE FROM about WHERE name = '{rng.choice(['dim', 'key'])}'",
            f"PRAGMA user_version = {rng.integers(-1, 5)}",
            f"DELETE FROM vectors {where}",
            f"DROP TABLE {rng.choice(['vectors', 'about'])}",
            f"ALTER TABLE vectors RENAME COLUMN {rng.choice(['hash', 'vector', 'sum'])} TO other",
            "CREATE TRIGGER t AFTER INSERT ON vectors BEGIN DELETE FROM vectors; END",
            "DROP TABLE vectors; CREATE VIEW vectors AS SELECT name AS hash, value AS vector, 1 AS sum FROM about",
            "PRAGMA page_size = 512; VACUUM",
            f"UPDATE vectors SET vector = (SELECT vector FROM vectors LIMIT 1) {where}",
        ]
        try:
            made = self._edited(data, [str(rng.choice(orders)) for _ in range(int(rng.integers(1, 3)))])
        except (sqlite3.Error, UnicodeError, MemoryError):  # data are no such file any more
            made = damaged_bytes(data or self.files[1], rng)
        return made, None

    def _edited(self, data, orders):
        path = self.folder / "edited.sqlite3"
        path.write_bytes(data)
        file = sqlite3.connect(path, isolation_level=None)
        try:
            for order in orders:
                file.executescript(order)
        finally:
            file.close()
        return path.read_bytes()

    def run(self, data, known):
        try:
            return self._read_and_put(data)
        except OSError as error:  # its header says that it may not be written to
            if not str(error).startswith(f"{self.path}: ") or "\n" in str(error):
                raise
            return "not writable"

    def _read_and_put(self, data):
        shutil.rmtree(self.path.parent, ignore_errors=True)
        self.path.parent.mkdir()
        self.path.write_bytes(data)
        cache = FeatureCache(self.path.parent, "key")
        absent = set(cache.missing(self.hashes))
        there = [one for one in self.hashes if one not in absent]
        len(cache), cache.dim
        if there:
            for one, found in zip(there, cache.get(there), strict=True):
                if not np.array_equal(found, self.known[one]) and not self._forged(data, one, found):
                    raise AssertionError("a vector that was not put in")
        hashes, vectors = self.more
        cache.put(hashes, vectors)
        if not np.array_equal(cache.get(hashes), vectors):
            raise AssertionError("a vector that was put in is another one")
        return "some" if there else "none"

    def _forged(self, data, one, vector):
        """Of version 1, which has no checksums, what is there is believed; and what was put there with its own.

        libFuzzer writes what bytes were compared with into them, so it finds the checksum of what it has changed.
        """
        checksum = hashlib.blake2b(one + vector.astype("<f4").tobytes(), digest_size=16).digest()
        return data[60:64] == bytes([0, 0, 0, 1]) or checksum in data


TARGET = Cache()
