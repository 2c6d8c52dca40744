"""Files: written complete or not at all, checked before they are read (NPZ, Parquet), and code in a private folder."""

import io
import math
import os
import secrets
import shutil
import struct
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from clifford_rand._threads import ONE_PARSER
from clifford_rand.errors import ArgumentError, require

# What zipfile, zlib, NumPy's header parser and json raise on bytes that are not theirs. RuntimeError is of zipfile:
# encrypted, or compressed in a way it does not know; or RecursionError. Warning is where warnings are errors.
FAULTS = (
    *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError, OSError, MemoryError),
    *(RuntimeError, SyntaxError, Warning, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
_MOST_DIRECTORY = 2**20  # bytes of a zip directory: some 10,000 arrays; zipfile makes ten times as much of it
_MOST_HEADER = 4096  # bytes of a header of plain dtype, which takes 118
_CHUNK = 2**24  # bytes decompressed at a time
_KINDS = "biufcSU"
_READERS: dict[tuple[int, int], Callable[..., tuple[tuple[int, ...], bool, np.dtype[Any]]]] = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
    (3, 0): npy.read_array_header_2_0,
}


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a new file, which takes the place of ``path`` once the block has ended well.

    What stood there stays until then, and whatever stops the block (an error, an interrupt, a kill, a full disk). The
    new file is in the same folder, hidden, with the same ending, and on the disk before it is renamed. A link is
    followed, not replaced; what is not a file (a pipe, a device) is written to directly. Where the system refuses, the
    OSError names ``path``.
    """
    file = Path(os.path.realpath(path))
    if file.exists() and not file.is_file():
        with named_errors(path):
            yield file
        return
    new = file.with_name(f".{secrets.token_hex(8)}.partial{file.suffix}")
    try:
        with named_errors(path, new):
            yield new
            with open(new, "r+b") as stream:
                os.fsync(stream.fileno())
            if file.exists():
                shutil.copymode(file, new)
            os.replace(new, file)  # atomic within a folder
    finally:
        new.unlink(missing_ok=True)


@contextmanager
def named_errors(path: str | os.PathLike[str], instead_of: Path | None = None) -> Iterator[None]:
    """Let an OSError of the block that names no file, or the one ``instead_of``, name ``path``.

    A write that finds the disk full does not know its file: so the message names it.
    """
    try:
        yield
    except OSError as error:
        unknown = error.filename is None or (instead_of is not None and str(error.filename) == str(instead_of))
        if not unknown:
            raise
        if error.errno is None:
            raise OSError(f"{os.fspath(path)}: {error}") from error
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from error


def read_npz(
    path: str | os.PathLike[str], wanted: Container[Any] | None, *, what: str = "this NPZ file", stored: bool = False
) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """Return those of the arrays ``wanted``, or all if None, that an NPZ file has, and the names of all that it has.

    No array is allocated before its header, its length in the zip directory and the file's own length agree; nothing is
    unpickled; the archive's checksums are verified; no other member is read. ``what`` is the name of the file in
    errors; ``stored`` arrays must be uncompressed, so that they take no more memory than the file has bytes. Raises
    ArgumentError if the file is damaged, or no NPZ file, or an array holds objects or records, or does not fit in
    memory.
    """
    with open(path, "rb") as stream:
        try:
            size = os.fstat(stream.fileno()).st_size
            _check_directory(stream, size)
            with zipfile.ZipFile(stream) as archive:
                members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
                if len(members) != len(archive.infolist()):
                    raise ValueError("two arrays have one name")
                chosen = [name for name in members if wanted is None or name in wanted]
                if stored:
                    _check_stored([members[name] for name in chosen], size)
                return {name: _read_array(archive, members[name]) for name in chosen}, list(members)
        except FAULTS as error:
            raise damaged(path, what, error) from error


def damaged(path: str | os.PathLike[str], what: str, error: BaseException) -> ArgumentError:
    """Return the one error for what a damaged file raises."""
    if isinstance(error, _ObjectArrayError):
        return ArgumentError(f"{os.fspath(path)}: {what} {error}")
    said = " ".join(str(error).split())[:200]
    return ArgumentError(
        f"{os.fspath(path)}: {what} is damaged, or it is something else ({type(error).__name__}: {said})."
    )


def check_archive(data: bytes, also: tuple[str, ...]) -> None:
    """Refuse the bytes of a zip file, before another library reads them, whose members are not what they claim.

    All must be uncompressed, and arrays that no pickle is needed for, but for names that end as one of ``also`` does;
    else it raises one of `FAULTS`.
    """
    stream = io.BytesIO(data)
    _check_directory(stream, len(data))
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        if len({info.filename for info in members}) != len(members):
            raise ValueError("two members have one name")
        _check_stored(members, len(data))
        for info in members:
            if info.filename.endswith(".npy"):
                _read_array(archive, info)
            elif not info.filename.endswith(also):
                raise ValueError(f"a member {info.filename!r}")


@contextmanager
def reading_parquet(file: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what Arrow and readers of Parquet's metadata raise on a damaged file into the one error."""
    arrow = require("pyarrow", extra="app", purpose="reading Parquet")
    try:
        yield
    except ArgumentError:
        raise
    except (arrow.lib.ArrowException, *FAULTS) as error:
        said = str(error).strip().splitlines()[:1]
        raise ArgumentError(f"{file}: this is not a readable Parquet file: {''.join(said)[:200]}") from error


class _ObjectArrayError(ValueError):
    """An array that only a pickle could hold."""


def _check_directory(stream: IO[bytes], size: int) -> None:
    """Refuse a zip directory that is larger than those of arrays before zipfile reads it all."""
    stream.seek(max(0, size - 2**16 - 22))  # its end record has 22 bytes and a comment of at most 2^16 - 1
    tail = stream.read()
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or len(tail) - end < 22:
        raise zipfile.BadZipFile("File is not a zip file")
    (length,) = struct.unpack_from("<I", tail, end + 12)
    larger = tail[max(0, end - 20) : end].startswith(b"PK\x06\x07")  # a second record, for files of 4 GiB, overrides it
    if length > _MOST_DIRECTORY or (larger and size < 2**32 - _MOST_DIRECTORY):
        raise ValueError("its directory is larger than one of arrays")
    stream.seek(0)


def _check_stored(members: Iterable[zipfile.ZipInfo], size: int) -> None:
    """Refuse members that are compressed, or claim more bytes than the ``size`` of their archive."""
    members = list(members)
    if any(info.compress_type != zipfile.ZIP_STORED for info in members) or sum(i.file_size for i in members) > size:
        raise ValueError("its arrays are compressed, or claim more bytes than it has")


@contextmanager
def npz_rows(
    path: str | os.PathLike[str], name: str, rows: int
) -> Iterator[tuple[tuple[int, ...], Iterator[NDArray[Any]]]]:
    """Open an array (n, …) of an NPZ file: yield its shape, and an iterator of its rows, ``rows`` at a time.

    The array is checked as in `read_npz`. One in Fortran's order is read at once.
    """
    with open(path, "rb") as stream:
        _check_directory(stream, os.fstat(stream.fileno()).st_size)
        with zipfile.ZipFile(stream) as archive:
            member = archive.getinfo(f"{name}.npy")
            with archive.open(member) as source:
                shape, fortran, dtype = _read_header(source, member)
                if not fortran:
                    yield shape, _rows_of(source, shape, dtype, rows)
                    return
            array = _read_array(archive, member)
            yield shape, (array[i : i + rows] for i in range(0, len(array), rows))


def _rows_of(stream: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any], rows: int) -> Iterator[NDArray[Any]]:
    for begin in range(0, shape[0], rows):
        block = np.empty((min(rows, shape[0] - begin), *shape[1:]), dtype=dtype)
        _fill(stream, block)
        yield block if dtype.isnative else block.astype(dtype.newbyteorder("="))
    if stream.read(1):  # at the end its checksum is compared, of empty arrays too
        raise ValueError("there is more than the array")


def read_npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether it lies in Fortran's order, and dtype of an array in NumPy's format.

    NumPy reads as much as a header says that it is long before it asks whether that is too much.
    """
    version = npy.read_magic(stream)
    if version not in _READERS:
        raise ValueError(f"version {version} of the NPY format")
    said = stream.read(2 if version == (1, 0) else 4)
    length = int.from_bytes(said, "little")
    if length > _MOST_HEADER:
        raise ValueError(f"the header of an array says that it has {length:,} bytes")
    with ONE_PARSER:
        try:
            return _READERS[version](io.BytesIO(said + stream.read(length)), max_header_size=_MOST_HEADER)
        except SystemError as error:  # what Python 3.11 raises of parentheses that are nested too deeply
            raise ValueError("the header of an array is not a dictionary") from error


def _read_header(stream: IO[bytes], info: zipfile.ZipInfo) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and dtype of the array that a member holds, checked against its length."""
    shape, fortran, dtype = read_npy_header(stream)
    if dtype.hasobject:
        raise _ObjectArrayError("holds object arrays, which are not read; save plain arrays, texts as str.")
    if dtype.kind not in _KINDS or dtype.shape or not dtype.itemsize:
        raise ValueError(f"an array of dtype {dtype}")
    length = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or stream.tell() + length != info.file_size:
        raise ValueError(f"shape {shape} and dtype {dtype} are not those of {info.file_size} bytes")
    return shape, fortran, dtype


def _fill(stream: IO[bytes], array: NDArray[Any]) -> None:
    rest = array.reshape(-1).view(np.uint8).data
    while len(rest):
        read = cast("io.BufferedIOBase", stream).readinto(rest[:_CHUNK])
        if not read:
            raise EOFError(f"{len(rest)} bytes are missing")
        rest = rest[read:]


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(info) as stream:
        shape, fortran, dtype = _read_header(stream, info)
        (rows,) = _rows_of(stream, (1, *(shape[::-1] if fortran else shape)), dtype, 1)
        array: NDArray[Any] = rows[0, ...]
        return array.T if fortran else array


# ---- the user's folder of compiled code


def code_folder() -> Path | None:
    """Return the folder, which this user alone may read and write (mode 0700), created if need be; None without one.

    It is in NUMBA_CACHE_DIR if that is set, with the user's number in its name, as others may share that folder; else
    in the user's cache folder.
    """
    try:
        folder = _code_path()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "getuid") and not _is_private(folder):
            return None
    except (OSError, RuntimeError):  # nobody may write there, or the user has no home
        return None
    return folder


def _is_private(folder: Path) -> bool:
    """Tell whether no other user can exchange files in a folder; one of this user that others can enter is closed."""
    link, status = os.lstat(folder), os.stat(folder)
    if {link.st_uid, status.st_uid} != {os.getuid()}:
        return False
    if status.st_mode & 0o077:
        try:
            os.chmod(folder, 0o700)
        except OSError:  # a file system that may only be read
            return not status.st_mode & 0o022
    return True


def _code_path() -> Path:
    own = os.environ.get("NUMBA_CACHE_DIR")
    if own:
        return Path(own) / f"clifford_rand_{os.getuid() if hasattr(os, 'getuid') else 'code'}"
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "clifford_rand"
