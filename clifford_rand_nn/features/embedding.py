"""Features of many items by any encoder: batched, each batch stored before the next, resumed where it stopped."""

from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import numpy as np

from clifford_rand._checks import as_real, check_integer, describe, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand_nn._progress import check_verbose, count, phase, reporting
from clifford_rand_nn.features.cache import FeatureCache, content_hash
from clifford_rand_nn.solvers.stopping import Interrupts


class Encoder(Protocol):
    """Callable from a list of b items to an array (b, k) of real numbers.

    Two attributes are used where it has them. ``cache_key``, a text, names all that its vectors depend on, and is
    needed for a cache. ``take(items)`` returns how many of the first items go into one call at most, if that depends
    on the items.
    """

    def __call__(self, items: list[Any], /) -> ArrayLike:
        """Return one vector for each item."""
        ...


def embed(
    items: Sequence[Any] | NDArray[Any],
    encoder: Encoder,
    *,
    batch_size: int = 64,
    cache: FeatureCache | str | Path | None = None,
    cache_key: str | None = None,
    verbose: int = 0,
) -> NDArray[np.float32]:
    """Return the vectors (n, k) of n items, float32, in their order.

    Items that are equal are encoded once. With a cache, only those are encoded that it does not hold, and each batch
    is on the disk before the next begins, so whatever stops a run, the same call goes on from there. The first Ctrl-C
    waits for the batch in hand, which may be paid for; a second one stops at once.

    Parameters
    ----------
    items : sequence of n texts, or array (n, …), or sequence of arrays
    encoder : callable
        From a list of b items to an array (b, k) of finite real numbers; see `Encoder`.
    batch_size : int, default 64
        Items in one call at most.
    cache : FeatureCache or path of its folder, optional
    cache_key : str, optional
        Name of the encoder and its settings, where it has no attribute ``cache_key`` and ``cache`` is a folder.
    verbose : int, default 0
        1 shows a bar with the time left on stderr.

    Raises
    ------
    ArgumentError
        There are no items, or one is neither a text nor an array; the encoder returns something else than (b, k) finite
        numbers, or another k than before; a cache is given and no key.
    KeyboardInterrupt
        Ctrl-C; the message tells how many items are stored.

    Examples
    --------
    >>> import tempfile
    >>> def lengths(texts):
    ...     print("encoding", texts)
    ...     return [[len(text)] for text in texts]
    >>> folder = tempfile.mkdtemp()
    >>> embed(["a", "bcd", "a"], lengths, cache=folder, cache_key="lengths").ravel().tolist()
    encoding ['a', 'bcd']
    [1.0, 3.0, 1.0]
    >>> embed(["ef", "bcd"], lengths, cache=folder, cache_key="lengths").ravel().tolist()
    encoding ['ef']
    [2.0, 3.0]
    """
    batch_size = check_integer(batch_size, "batch_size", "embed")
    check_verbose(verbose, "embed")
    if not callable(encoder):
        raise fail("encoder", "embed", "a callable from a list of items to an array of their vectors", encoder)
    things = _as_list(items)
    hashes = [content_hash(thing) for thing in things]
    first: dict[bytes, int] = {}
    for position, key in enumerate(hashes):
        first.setdefault(key, position)
    store = _store(cache, encoder, cache_key)
    missing, take = store.missing(list(first)), getattr(encoder, "take", None)
    try:
        with reporting(verbose, brief=True), _BatchInterrupts() as interrupts:
            phase("embedding")
            start = 0
            while start < len(missing):
                count(start + 1, len(missing), "item")
                part = missing[start : start + batch_size]
                batch = [things[first[key]] for key in part]
                if take is not None:
                    batch = batch[: check_integer(take(batch), "encoder.take", "embed", low=1, high=len(batch))]
                store.put(part[: len(batch)], _checked(encoder(batch), len(batch)))
                start += len(batch)
                if interrupts.held:
                    raise KeyboardInterrupt
    except KeyboardInterrupt as interrupt:
        fate = "were done, and are lost; with cache= they would be kept."
        if isinstance(store, FeatureCache):
            fate = f"are stored in {store.folder}; the same call goes on from there."
        done = len(first) - len(store.missing(list(first)))
        raise KeyboardInterrupt(f"{done} of {len(first)} distinct items {fate}") from interrupt
    distinct = store.get(list(first))
    if len(first) == len(hashes):
        return distinct
    row = {key: i for i, key in enumerate(first)}
    return distinct[[row[key] for key in hashes]]


class _Memory:
    """Vectors of one call, with the methods of a `FeatureCache`."""

    def __init__(self) -> None:
        self.rows: dict[bytes, NDArray[np.float32]] = {}

    def missing(self, hashes: Sequence[bytes]) -> list[bytes]:
        return [key for key in hashes if key not in self.rows]

    def get(self, hashes: Sequence[bytes]) -> NDArray[np.float32]:
        return np.stack([self.rows[key] for key in hashes])

    def put(self, hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        dim = next((len(row) for row in self.rows.values()), vectors.shape[1])
        if vectors.shape[1] != dim:
            rule = f"a callable whose vectors all have the same length, {dim} so far"
            raise fail("encoder", "embed", rule, describe(f"vectors of {vectors.shape[1]}"))
        self.rows.update(zip(hashes, vectors, strict=True))


def _store(cache: FeatureCache | str | Path | None, encoder: Encoder, key: str | None) -> FeatureCache | _Memory:
    if cache is None:
        return _Memory()
    key = key if key is not None else getattr(encoder, "cache_key", None)
    if isinstance(cache, FeatureCache):
        if key is not None and key != cache.key:
            raise fail("cache", "embed", f"one for the encoder's key {key!r}", cache.key, "Give its folder instead.")
        return cache
    if key is None:
        hint = "Give cache_key=, a text that names the encoder, its version and its settings."
        raise fail("cache", "embed", "None for an encoder without the attribute cache_key", str(cache), hint)
    return FeatureCache(cache, key)


def _as_list(items: Sequence[Any] | NDArray[Any]) -> list[Any]:
    """Return the items by position, whatever the index of the table that they come from."""
    if isinstance(items, str | bytes) or not hasattr(items, "__iter__"):
        raise fail("items", "embed", "a list of texts or of arrays, or one array of them", items)
    things = [str(item) if isinstance(item, str) else item for item in items]
    if not things:
        raise fail("items", "embed", "at least one text or array", describe("none"))
    for position, thing in enumerate(things):
        if not isinstance(thing, str) and not (isinstance(thing, np.ndarray) and thing.dtype.kind in "biufc"):
            what = describe(f"{type(thing).__name__} {thing!r} at {position}")
            raise fail("items", "embed", "texts, or arrays of numbers", what, "Fill or drop what is empty.")
    return things


def _checked(vectors: ArrayLike, n: int) -> NDArray[np.float32]:
    rows = as_real(vectors, "encoder(items)", "embed", finite=False)
    if rows.ndim != 2 or len(rows) != n or rows.shape[1] == 0:
        rule = f"a callable that returns an array ({n}, k) for {n} items"
        raise fail("encoder", "embed", rule, describe(f"shape {rows.shape}"))
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is reported next
        rows = rows.astype(np.float32)
    bad = int(np.count_nonzero(~np.isfinite(rows).all(axis=1)))
    if bad:
        rule = "a callable that returns numbers finite in float32"
        raise fail("encoder", "embed", rule, describe(f"NaN or infinity in {bad} of {n} vectors"))
    return rows


class _BatchInterrupts(Interrupts):
    """Handler that holds the first Ctrl-C until a batch is stored, and says so when it comes."""

    def __init__(self) -> None:
        super().__init__()
        self.made = True

    def __call__(self, number: int, frame: FrameType | None) -> None:
        super().__call__(number, frame)
        phase("stopping after this batch; Ctrl-C again stops at once")
