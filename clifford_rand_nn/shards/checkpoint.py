"""A solver's state on disk: what a fit that is stopped, or killed, goes on from."""

import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand import __version__
from clifford_rand._checks import check_number, describe, fail
from clifford_rand._files import FAULTS, damaged, read_npz, replaced
from clifford_rand.errors import ArgumentError

_FORMAT, _VERSION = "clifford-rand-checkpoint", 5  # files of other versions are refused
_WHAT = "this checkpoint"
_ANEW = "It is left as it is; delete it, or give another path, to begin anew."
_PROBE = bytes(2**14)  # written before the start, to find a full or forbidden folder at once


class Checkpoint:
    """A file to which `fit` writes its state, and how often.

    `fit` with the path of a file that is there goes on from it, to the same bits as a fit that was never stopped. The
    file is an NPZ of arrays and numbers (no pickle), some megabytes, that is replaced as a whole: whatever happens
    while it is written, the one before it stays. A disk that is full then costs a warning, not the fit.

    Parameters
    ----------
    path : path
        Of the file; its folder must be there.
    every : float, default 60
        Seconds from one state to the next; it is written at the end, and by Ctrl-C, too. 0 writes after every pass.

    Raises
    ------
    ArgumentError
        ``every`` is negative. By `fit`: the file cannot be written, is damaged, or is of other rows, other parameters
        or another version; it is left as it is.

    Examples
    --------
    >>> Checkpoint("fit.checkpoint", every=30)
    Checkpoint('fit.checkpoint', every=30.0)
    """

    def __init__(self, path: str | os.PathLike[str], every: float = 60.0) -> None:
        if not isinstance(path, str | os.PathLike) or not os.fspath(path):
            raise fail("path", "Checkpoint", "the path of a file", path)
        self.path = os.fspath(path)
        self.every = check_number(every, "every", "Checkpoint", "seconds ≥ 0", lambda seconds: seconds >= 0)

    def __repr__(self) -> str:
        return f"Checkpoint({self.path!r}, every={self.every})"

    @classmethod
    def opened(
        cls,
        checkpoint: "Checkpoint | str | os.PathLike[str] | None",
        about: Mapping[str, Any],
        owner: str = "fit",
        *,
        writes: bool = True,
    ) -> "CheckpointStore":
        """Return what a solver keeps its state with; one that does nothing for None.

        ``about``: all that the state depends on, by name: plain values, arrays, and tuples, lists and dicts of these;
        for the rows, ``{"shards": fingerprint(shards)}``. What may change from one start to the next (limits of time,
        how much is printed) is left out. ``owner``: whose errors these are. ``writes``: whether this process writes: of
        several that run the same solver only one does, and all of them read. Raises ArgumentError: the file cannot be
        written (no folder, no permission, a full disk).
        """
        if checkpoint is not None and not isinstance(checkpoint, Checkpoint | str | os.PathLike):
            raise fail("checkpoint", owner, "a path, a Checkpoint or None", checkpoint)
        checkpoint = cls(checkpoint) if isinstance(checkpoint, str | os.PathLike) else checkpoint
        if checkpoint is not None and writes:
            _try(checkpoint.path, owner)
        return CheckpointStore(checkpoint, {name: _told(value) for name, value in about.items()}, writes)


class CheckpointStore:
    """Reads and writes the states of one fit."""

    def __init__(self, checkpoint: Checkpoint | None, about: dict[str, Any], writes: bool = True) -> None:
        self._checkpoint, self._about, self._writes = checkpoint, about, writes
        self._written = time.monotonic()
        self._warned = False

    def load(self) -> Any | None:
        """Return the state in the file, bit for bit as it was offered (named tuples as tuples); None without a file.

        Raises ArgumentError: the file is damaged, something else, or of another fit; the sentence names what differs.
        """
        if self._checkpoint is None:
            return None
        path = self._checkpoint.path
        try:
            arrays, _ = read_npz(path, None, what=_WHAT, stored=True)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ArgumentError(f"{path}: {_WHAT} cannot be read ({error}).") from error
        except ArgumentError as error:
            raise ArgumentError(f"{error} {_ANEW}") from error
        try:
            text = arrays.pop("header").tobytes()
            header = json.loads(text)
            if header["format"] != _FORMAT:
                raise ValueError(f"format {header['format']!r}")
            version, library = kind = (header["version"], header["library"])
            if kind == (_VERSION, __version__):
                if arrays.pop("digest").tobytes() != _digest(text, arrays):
                    raise ValueError("it is not as it was written")
                about, state = dict(header["about"]), _decoded(header["state"], arrays)
        except FAULTS as error:
            raise ArgumentError(f"{damaged(path, _WHAT, error)} {_ANEW}") from error
        if kind != (_VERSION, __version__):
            origin = f"{path}: {_WHAT} was written by clifford-rand {library} (format {version}), and this is"
            end = f"{__version__} (format {_VERSION}), which might not go on to the same. {_ANEW}"
            raise ArgumentError(f"{origin} {end}")
        _check_same(about, self._about, path)
        return state

    def offer(self, state: Callable[[], Any]) -> None:
        """Write the state, nested tuples, lists and dicts of arrays and plain values, if it is time to."""
        if self._checkpoint is not None and time.monotonic() - self._written >= self._checkpoint.every:
            self.write(state())

    def write(self, state: Any) -> None:
        """Write a state now; where this fails, warn once, and the file stays as it was."""
        if self._checkpoint is None or not self._writes:
            return
        path = self._checkpoint.path
        arrays: list[NDArray[Any]] = []
        header = {
            "format": _FORMAT,
            "version": _VERSION,
            "library": __version__,
            "about": self._about,
            "state": _encoded(state, arrays),
        }
        text = json.dumps(header).encode()
        named: dict[str, Any] = {str(i): array for i, array in enumerate(arrays)}
        named |= {"digest": np.frombuffer(_digest(text, named), np.uint8), "header": np.frombuffer(text, np.uint8)}
        try:
            with replaced(path) as new, open(new, "wb") as stream:
                np.savez(stream, **named)
        except OSError as error:
            if not self._warned:
                previous = "the one before it stays" if os.path.exists(path) else "there is none"
                problem = f"{path}: the checkpoint could not be written ({error})"
                warnings.warn(f"{problem}; {previous}, the fit goes on, and will try again.", stacklevel=2)
            self._warned = True
        self._written = time.monotonic()


def _try(path: str, owner: str) -> None:
    """Refuse a path that cannot be written, before hours of work."""
    file = Path(os.path.realpath(path))
    if file.exists() and not file.is_file():
        raise fail("checkpoint", owner, "the path of a file", describe("another thing"), f"It is {path}.")
    try:
        with tempfile.TemporaryFile(dir=file.parent) as stream:
            stream.write(_PROBE)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        received = describe(f"one that cannot ({error.strerror})")
        raise fail("checkpoint", owner, "a path that can be written", received, f"It is {path}.") from error


def _digest(header: bytes, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return a hash of all that a file holds: solvers take a state as they left it, and look at none of its parts."""
    digest = blake2b(header, digest_size=16)
    for name, array in sorted(arrays.items()):
        _add_array(digest, array, name)
    return digest.digest()


def _check_same(old: dict[str, Any], new: dict[str, Any], path: str) -> None:
    for name in [*new, *(name for name in old if name not in new)]:
        before, now = old.get(name), new.get(name)
        if (before == now or json.dumps(before) == json.dumps(now)) and (name in old) == (name in new):
            continue
        if name == "shards":
            difference = "its shards are others, or were changed since"
        elif isinstance(before, dict) or isinstance(now, dict):
            difference = f"its {name} is another"
        else:
            difference = f"its {name} is {before!r}, and that of this fit is {now!r}"
        raise ArgumentError(f"{path}: {_WHAT} is of another fit: {difference}. {_ANEW}")


# ---- values as JSON, arrays apart


def _told(value: Any) -> Any:
    """Return a plain value, to be named when it differs, or the hash of another."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    arrays: list[NDArray[Any]] = []
    digest = blake2b(json.dumps(_encoded(value, arrays), sort_keys=True).encode(), digest_size=16)
    for array in arrays:
        _add_array(digest, array)
    return {"hash": digest.hexdigest()}


def _add_array(digest: blake2b, array: NDArray[Any], name: str = "") -> None:
    digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).tobytes())


def _encoded(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return a value as JSON can hold it, every array as its number in ``arrays``, where it is added."""
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype.kind not in "biufcSU":
            raise TypeError(f"an array of {array.dtype} in a state")
        arrays.append(array)
        return {"array" if isinstance(value, np.ndarray) else "scalar": len(arrays) - 1}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return {"tuple" if isinstance(value, tuple) else "list": [_encoded(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_encoded(key, arrays), _encoded(item, arrays)] for key, item in value.items()]}
    problem = f"a value of type {type(value).__name__} in a state"
    raise TypeError(f"{problem}, which holds arrays, plain values, tuples, lists and dicts")


def _decoded(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return what `_encoded` made a value of."""
    if not isinstance(value, dict):
        return value
    ((kind, held),) = value.items()
    if kind in ("array", "scalar"):
        array = arrays[str(held)]
        return array if kind == "array" else array[()]
    if kind == "dict":
        return {_decoded(key, arrays): _decoded(item, arrays) for key, item in held}
    sequence = {"tuple": tuple, "list": list}[kind]
    return sequence(_decoded(item, arrays) for item in held)
