"""A store of feature vectors on disk: one vector per content, one file per encoder; a kill at any time spares it."""

import hashlib
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from clifford_rand._checks import as_real, describe, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.errors import ArgumentError

_FORMAT = 2  # of the file: version 1 had no checksums; they are added when one is opened
_SUM = 16  # bytes of a checksum
_BUSY_SECONDS = 60.0  # another process holds the file for the milliseconds of one batch; a minute is a stuck process
_ASKED_AT_ONCE = 500  # hashes in one query: SQLite before 3.32 takes 999 variables
# What SQLite says of a file that is well but cannot be used now; all else that it says of a file is damage.
_UNUSABLE = {
    getattr(sqlite3, f"SQLITE_{name}") for name in ("BUSY", "LOCKED", "FULL", "READONLY", "CANTOPEN", "IOERR", "PERM")
}
_TABLES = ("about", "vectors")
_SCHEMA = {("table", name, name) for name in _TABLES} | {
    ("index", f"sqlite_autoindex_{name}_1", name) for name in _TABLES
}
_STEPS = 100_000  # of SQLite's virtual machine between two checks for Ctrl-C: about a millisecond
_SLUG = 40  # characters of the key that make the name of a file readable; its hash makes it unique


def content_hash(item: object) -> bytes:
    """Return the SHA-256 hash (32 bytes) of a text, or of the dtype, shape and entries of an array of numbers.

    Raises ArgumentError if the item is neither.

    >>> content_hash("a text") == content_hash("a text"), content_hash("a text") == content_hash("a text ")
    (True, False)
    >>> content_hash(np.zeros((2, 3))) == content_hash(np.zeros((3, 2)))
    False
    """
    if isinstance(item, str):
        return hashlib.sha256(b"text\0" + item.encode("utf-8", "surrogatepass")).digest()
    if not isinstance(item, np.ndarray) or item.dtype.kind not in "biufc":
        raise fail("item", "content_hash", "a text or a NumPy array of numbers", item)
    digest = hashlib.sha256(f"array\0{item.dtype.str}{item.shape}\0".encode())
    digest.update(np.ascontiguousarray(item).data if item.size else b"")
    return digest.digest()


class FeatureCache:
    """Vectors of one encoder, float32 and all of one length, found by the hash of what they were computed from.

    An SQLite file in ``folder``, whose name is made of ``key``; a file per key, so that one encoder's vectors can be
    deleted alone. Every `put` is one transaction that is on the disk when it returns: a process that is killed in the
    middle of one, or a power cut, leaves the file as it was before it. Processes may share a folder. Every vector has a
    checksum, which `get` compares. A file of an older version, which has none, gets them when it is opened, of what it
    holds then.

    Parameters
    ----------
    folder : path
        Made if it is not there; the folder above it must be.
    key : str
        What the vectors depend on beside the content: the encoder's name, version and settings.

    Attributes
    ----------
    path : Path
        The file.
    key : str

    Raises
    ------
    ArgumentError
        The key is empty, or the file is not one of this class.

    Examples
    --------
    >>> import tempfile
    >>> cache = FeatureCache(tempfile.mkdtemp(), "counts, version 1")
    >>> a, b = content_hash("a"), content_hash("b")
    >>> cache.put([a], [[1.0, 2.0]])
    >>> cache.missing([a, b]) == [b], cache.get([a]), len(cache)
    (True, array([[1., 2.]], dtype=float32), 1)
    """

    def __init__(self, folder: str | Path, key: str) -> None:
        if not isinstance(key, str) or not key.strip():
            raise fail("key", "FeatureCache", "a text that names the encoder and its settings", key)
        self.folder, self.key = Path(folder), key
        self.folder.mkdir(exist_ok=True)
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", key)[:_SLUG].strip("-.")
        self.path = self.folder / f"{slug}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.sqlite3"
        with self._open() as file, _transaction(file):
            self._check_schema(file)
            version = file.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, 1, _FORMAT):
                raise ArgumentError(f"{self.path}: this cache has format {version}, not {_FORMAT}; use another folder.")
            file.execute("CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value)")
            file.execute(
                "CREATE TABLE IF NOT EXISTS vectors (hash BLOB PRIMARY KEY, vector BLOB NOT NULL"
                + (")" if version == 1 else ", sum BLOB NOT NULL)")
            )
            if version == 1:
                file.create_function("checksum", 2, _checksum, deterministic=True)
                file.execute(f"ALTER TABLE vectors ADD COLUMN sum BLOB NOT NULL DEFAULT x'{'00' * _SUM}'")
                file.execute("UPDATE vectors SET sum = checksum(hash, vector)")
            file.execute("INSERT OR IGNORE INTO about VALUES ('key', ?)", (key,))
            if file.execute("SELECT value FROM about WHERE name = 'key'").fetchone() != (key,):
                raise self._damage("it is of another key")
            file.execute(f"PRAGMA user_version = {_FORMAT}")

    def __repr__(self) -> str:
        return f"FeatureCache({str(self.folder)!r}, {self.key!r})"

    def __len__(self) -> int:
        with self._open() as file:
            return int(file.execute("SELECT count(*) FROM vectors").fetchone()[0])

    @property
    def dim(self) -> int | None:
        """Length of the vectors; None while there are none."""
        with self._open() as file:
            return self._dim(file)

    def missing(self, hashes: Sequence[bytes]) -> list[bytes]:
        """Return those of the hashes that have no vector yet, in their order."""
        _check_hashes(hashes, "FeatureCache.missing")
        with self._open() as file:
            there = {key for (key,) in _selected(file, "hash", hashes)}
        return [key for key in hashes if key not in there]

    def get(self, hashes: Sequence[bytes]) -> NDArray[np.float32]:
        """Return the vectors (n, k) of n ≥ 1 hashes, in their order.

        Raises ArgumentError if a hash has no vector, or a vector is damaged.
        """
        _check_hashes(hashes, "FeatureCache.get")
        vectors: list[bytes] = []
        with self._open() as file:
            dim = self._dim(file) or 0
            rows = {key: (vector, stored) for key, vector, stored in _selected(file, "hash, vector, sum", hashes)}
        for key in hashes:
            if key not in rows:
                raise fail("hashes", "FeatureCache.get", "hashes that are stored", key.hex())
            vector, stored = rows[key]
            if not isinstance(vector, bytes) or len(vector) != 4 * dim or stored != _checksum(key, vector):
                raise self._damage(f"the vector of {key.hex()[:12]}… is not the one that was stored")
            vectors.append(vector)
        return np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(hashes), dim).astype(np.float32)

    def put(self, hashes: Sequence[bytes], vectors: ArrayLike) -> None:
        """Store the vectors (n, k) of n hashes, all or none; what is stored already is left as it is.

        Raises ArgumentError if the vectors are not finite, not one per hash, or not of the length of those in the
        cache.
        """
        rows = np.ascontiguousarray(as_real(vectors, "vectors", "FeatureCache.put"), dtype="<f4")
        if rows.ndim != 2 or len(rows) != len(hashes) or 0 in rows.shape:
            rule = f"an array ({len(hashes)}, k): one vector for each hash"
            raise fail("vectors", "FeatureCache.put", rule, describe(f"shape {rows.shape}"))
        _check_hashes(hashes, "FeatureCache.put")
        with self._open() as file, _transaction(file):
            file.execute("INSERT OR IGNORE INTO about VALUES ('dim', ?)", (rows.shape[1],))
            dim = self._dim(file)
            if dim != rows.shape[1]:
                rule = f"of the {dim} numbers that the others in {self.path} have"
                hint = "Another encoder, or another setting of it, needs another key."
                raise fail("vectors", "FeatureCache.put", rule, describe(f"vectors of {rows.shape[1]}"), hint)
            pairs = ((key, row.tobytes()) for key, row in zip(hashes, rows, strict=True))
            triples = ((key, vector, _checksum(key, vector)) for key, vector in pairs)
            file.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", triples)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one operation: a connection may cross neither a fork nor a thread."""
        try:
            with closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)) as file:
                # A rollback journal, not WAL, which network file systems do not support; EXTRA holds against power cuts
                file.execute("PRAGMA synchronous = EXTRA")
                file.execute("PRAGMA trusted_schema = OFF")
                file.set_progress_handler(_go_on, _STEPS)
                yield file
        except sqlite3.ProgrammingError:  # a fault of this file, not of that one
            raise
        except MemoryError as error:  # SQLite allocates what a damaged file says that it needs
            raise self._damage("it asks for more memory than there is") from error
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter of a message that quotes damaged bytes
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:  # Ctrl-C in the progress handler
                raise KeyboardInterrupt from error
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _UNUSABLE:
                raise OSError(f"{self.path}: the cache cannot be read or written: {error}") from error
            raise self._damage(str(error)) from error

    def _check_schema(self, file: sqlite3.Connection) -> None:
        """Raise unless a file holds the two plain tables of this class or nothing; a view or trigger would run SQL."""
        rows = file.execute("SELECT type, name, tbl_name FROM sqlite_master").fetchall()
        foreign = [name for kind, name, table in rows if (kind, name, table) not in _SCHEMA]
        columns = (row for table in _TABLES for row in file.execute(f"PRAGMA table_xinfo({table})"))
        computed = [row[1] for row in columns if row[-1] != 0]  # hidden = 2 or 3: a generated column
        if foreign or computed:
            raise self._damage(f"it holds {(foreign + computed)[0]!r}, which this class never writes")

    def _dim(self, file: sqlite3.Connection) -> int | None:
        row = file.execute("SELECT value FROM about WHERE name = 'dim'").fetchone()
        if row is not None and (not isinstance(row[0], int) or row[0] < 1):
            raise self._damage(f"it holds vectors of {row[0]!r} numbers")
        return None if row is None else row[0]

    def _damage(self, what: str) -> ArgumentError:
        return ArgumentError(f"{self.path}: this cache is damaged ({what}); move it away and run again.")


def _go_on() -> int:
    """Return 0, at which SQLite goes on. Python handles Ctrl-C when one of its own functions is called."""
    return 0


@contextmanager
def _transaction(file: sqlite3.Connection) -> Iterator[None]:
    file.execute("BEGIN IMMEDIATE")  # waits for its turn here: one that begins by reading may be refused later
    try:
        yield
    except BaseException:
        file.execute("ROLLBACK")
        raise
    file.execute("COMMIT")


def _checksum(key: bytes, vector: bytes) -> bytes:
    """Return a checksum of a vector and its hash."""
    return hashlib.blake2b(key + vector, digest_size=_SUM).digest()


def _check_hashes(hashes: Sequence[bytes], owner: str) -> None:
    wrong = next((key for key in hashes if not isinstance(key, bytes)), None)
    if wrong is not None:
        raise fail("hashes", owner, "hashes of content_hash", wrong)


def _selected(file: sqlite3.Connection, columns: str, hashes: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
    """Yield columns of the vectors that have one of the hashes."""
    for i in range(0, len(hashes), _ASKED_AT_ONCE):
        part = hashes[i : i + _ASKED_AT_ONCE]
        yield from file.execute(f"SELECT {columns} FROM vectors WHERE hash IN ({','.join('?' * len(part))})", part)
