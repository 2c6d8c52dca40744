"""Engines that sum over shards: threads of this process, ranks of torch.distributed, and the one that a user names."""

import itertools
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD, cpu_count, map_ahead
from clifford_rand.errors import ArgumentError, require
from clifford_rand_nn._progress import track
from clifford_rand_nn.row_sums import (
    Block,
    Engine,
    Need,
    Part,
    PartWork,
    RowMap,
    RowSum,
    Sums,
    added,
    pairwise,
    part_map,
    part_sum,
    runs,
)
from clifford_rand_nn.shards.source import Shards, fingerprint, part_bytes, shard_blocks
from clifford_rand_nn.shards.stored_arrays import NpyFile, RawFile

_HELD = 2**26  # bytes of kept arrays in memory; all beyond goes to a scratch file, read once a pass
_LEAST_ROWS = 64  # of a block, with little memory
_SHARE = 0.6  # of the free memory of a device for rows and what is kept of them
_LARGER = 16  # times the rows of a block on a device other than the CPU: products large enough to fill it

_Work = TypeVar("_Work", RowSum, RowMap, PartWork)


class LocalEngine(Engine):
    """Runs sums in threads of this process, in the same bits for every number of them.

    ``workers``: threads; by default one for each processor that the process may use. ``scratch``: folder for what is
    kept of the rows beyond 64 MiB; by default that of the system.
    """

    def __init__(self, shards: Shards, workers: int | None = None, scratch: str | None = None) -> None:
        self.shards, self.workers = shards, workers or cpu_count()
        self._read = partial(shard_blocks, shards)
        self.most_kept, self._rows = _HELD, sys.maxsize
        self._scratch = scratch
        self._kept: list[list[NDArray[Any] | RawFile]] = [[] for _ in shards.parts]
        self._bytes = 0
        self._own: Path | None = None

    def keep_to(self, most: float | None, need: Need, owner: str) -> None:
        """Keep to ``most`` bytes: by fewer threads, then smaller blocks, whose sums differ by rounding; or refuse."""
        if most is None:
            return
        self.refuse_more(most, need.always + need.sums + _LEAST_ROWS * need.row, owner)
        left, rows = most - need.always, need.rows
        # halve the blocks until one worker fits
        while left < need.sums + rows * need.row:
            rows //= 2
        each = need.sums + rows * need.row
        self.workers = min(self.workers, int(left // each))
        self._rows = rows
        self.most_kept = min(_HELD, int(left - self.workers * each))

    def sum(self, term: RowSum) -> Sums:
        """Return the sums over all rows."""
        term = self._small(term)

        def work(index: int, part: Part) -> Sums:
            kept = (a if isinstance(a, np.ndarray) else a.read(0, a.shape[0]) for a in self._kept[index])
            return part_sum(self._read, part, term, tuple(kept))

        return pairwise(self._in_order(work), added)

    def keep(self, make: RowMap) -> None:
        """Make small arrays of all rows, in memory as long as they are few."""
        make = self._small(make)
        for index, array in enumerate(self._in_order(lambda _, part: part_map(self._read, part, make))):
            self._bytes += array.nbytes
            if self._bytes <= self.most_kept:
                self._kept[index].append(array)
                continue
            file = self._files() / f"{len(self._kept[index])}-{index:06d}.npy"
            np.save(file, array)
            self._kept[index].append(NpyFile(file))

    def each(self, work: PartWork) -> Iterator[Any]:
        """Yield what is found in every part."""
        work = self._small(work)
        return self._in_order(lambda _, part: work.of(self.shards, part))

    def close(self) -> None:
        """Delete the scratch file."""
        self._kept = [[] for _ in self.shards.parts]
        self._bytes = 0
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            self._own = None

    def _small(self, work: _Work) -> _Work:
        if work.rows <= self._rows:
            return work
        smaller = copy(work)
        smaller.rows = self._rows
        return smaller

    def _files(self) -> Path:
        if self._own is None:
            self._own = Path(tempfile.mkdtemp(prefix="clifford-rand-", dir=self._scratch))
        return self._own

    def _in_order(self, work: Callable[[int, Part], Any]) -> Iterator[Any]:
        with ONE_BLAS_THREAD:
            done = map_ahead(lambda item: work(*item), enumerate(self.shards.parts), self.workers)
            yield from track(done, len(self.shards.parts), "part")


class TorchEngine(Engine):
    """Runs sums in the ranks of ``torch.distributed``, or on one device if no process group was made.

    Start it as other programs of torch are: ``torchrun --nproc-per-node=4 train.py``, where every rank calls
    ``torch.distributed.init_process_group``, makes the same `Shards` and calls `fit` with the same arguments. Each rank
    owns neighboring parts, keeps their rows on its device in the type in which they are stored, as long as they fit,
    and adds its sums there. Sums are exchanged, added in the order of the ranks, and are the same bits in all of them,
    so that all take the same steps. Other numbers of ranks, or other devices, differ by rounding.

    A `RowSum` whose ``tensors`` is true gets tensors; the others get NumPy's arrays, and so do all `RowMap`.

    ``device``: by default this rank's GPU (``torch.cuda.current_device()``) if there is one, unless the process group
    is of gloo; else the CPU. ``max_memory``: bytes a process may use for rows on its device; by default 60 % of a GPU's
    free memory, and none on the CPU, where the system keeps files that are read again. Raises ArgumentError in every
    rank, if one of them cannot read its rows.
    """

    def __init__(self, shards: Shards, device: Any = None, max_memory: float | None = None) -> None:
        self.shards, self._read = shards, partial(shard_blocks, shards)
        self._torch = torch = require("torch", extra="torch", purpose="an engine of torch")
        dist = torch.distributed
        self._dist: Any = dist if dist.is_available() and dist.is_initialized() else None
        self.rank = self._dist.get_rank() if self._dist else 0
        self.workers = self._dist.get_world_size() if self._dist else 1
        self.first = self.rank == 0
        usual = "cuda" if torch.cuda.is_available() and "nccl" in self._backend("nccl") else "cpu"
        self.device = torch.device(usual if device is None else device)
        if self.device.type == "cpu" and self.workers > 1 and "gloo" not in self._backend("gloo"):
            raise fail("device", "TorchEngine", "one that the process group can send from", str(self.device))
        shared = runs(shards.parts, [1] * self.workers)
        self._parts = [part for run in shared if run.owner == self.rank for part in run.parts]
        self._left = self._budget(max_memory)
        self._rows: dict[Part, Block] = {}
        self._kept: dict[Part, list[Any]] = {part: [] for part in self._parts}

    def sum(self, term: RowSum) -> Sums:
        """Return the sums over all rows, the same bits in every rank."""
        if term.tensors:
            term = term.placed(self._placed)
            term.rows *= 1 if self.device.type == "cpu" else _LARGER  # of the copy
        mine, shapes = self._tried(lambda: self._sum(term), lambda sums: [array.shape for array in sums or ()])
        if self._dist is None:
            return tuple(map(self._array, mine))
        return self._over_ranks(mine, next(shape for shape in shapes if shape))

    def keep(self, make: RowMap) -> None:
        """Make small arrays of all rows and keep them on the device."""

        def work() -> None:
            for part in self._parts:
                self._kept[part].append(self._placed(part_map(self._read, part, make)))

        self._tried(work)

    def each(self, work: PartWork) -> Iterator[Any]:
        """Yield what is found in every part, in every rank."""
        _, results = self._tried(lambda: [work.of(self.shards, part) for part in self._parts], lambda mine: mine)
        return itertools.chain.from_iterable(results)

    def agreed(self, value: Any) -> Any:
        """Return the value of the first rank."""
        return self._gathered(value if self.first else None)[0]

    def of_first(self, work: Callable[[], Any]) -> Any:
        """Return what the first rank makes; its error is raised in all."""
        return self._tried(work if self.first else lambda: None, lambda mine: mine if self.first else None)[1][0]

    def close(self) -> None:
        """Release the rows and what is kept of them."""
        self._left += sum(map(_bytes, self._rows.values()))
        self._rows, self._kept = {}, {part: [] for part in self._parts}

    # ---- the rows of this rank

    def _sum(self, term: RowSum) -> Sums | None:
        if not self._parts:  # fewer parts than ranks
            return None
        with self._torch.no_grad():
            return pairwise((self._part(part, term) for part in self._parts), added)

    def _part(self, part: Part, term: RowSum) -> Sums:
        kept = self._kept[part]
        if term.tensors:
            return part_sum(self.blocks, part, term, tuple(kept))
        return part_sum(self._read, part, term, tuple(map(self._array, kept)))

    def blocks(self, part: Part, rows: int, *, columns: bool = True) -> Iterator[Block]:
        """Yield rows as tensors: those on the device, which are put there as long as they fit, or from the shards."""
        if part not in self._rows:
            size = part_bytes(self.shards, part)
            if size > self._left:
                yield from map(self._tensors, self._read(part, rows))
                return
            self._left -= size
            self._rows[part] = self._tensors(next(self._read(part, part.size)))
        yield from self._rows[part].pieces(rows)

    def _tensors(self, block: Block) -> Block:
        X, y, weights = (None if array is None else self._placed(array) for array in block[:3])
        assert X is not None
        return Block(X, y, weights, block.first)

    def _placed(self, array: NDArray[Any]) -> Any:
        """Return a tensor on the device; texts stay what they are."""
        if array.dtype.kind not in "fiub":
            return array
        native = np.require(array, array.dtype.newbyteorder("="), ["C", "W"])
        return self._torch.from_numpy(native).to(self.device)

    def _array(self, values: Any) -> Any:
        return values.cpu().numpy() if isinstance(values, self._torch.Tensor) else values

    def _budget(self, max_memory: float | None) -> float:
        if self.device.type == "cuda":
            free, _ = self._torch.cuda.mem_get_info(self.device)
            return _SHARE * float(min(free, max_memory or free))
        return _SHARE * (max_memory or 0)

    # ---- ranks

    def _backend(self, without: str) -> str:
        return str(self._dist.get_backend()) if self._dist else without

    def _gathered(self, value: Any) -> list[Any]:
        if self._dist is None:
            return [value]
        gathered: list[Any] = [None] * self.workers
        self._dist.all_gather_object(gathered, value)
        return gathered

    def _tried(
        self, work: Callable[[], Any], summary: Callable[[Any], Any] = lambda mine: None
    ) -> tuple[Any, list[Any]]:
        """Return what ``work`` does and what every rank tells of it; an error of one rank is raised in all."""
        mine, error = None, None
        try:
            mine = work()
        except Exception as failed:  # of whatever kind: the others wait for this rank
            error = failed
        failure: ArgumentError | None = error if isinstance(error, ArgumentError) else None
        if error is not None and failure is None:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            failure = ArgumentError(f"rank {self.rank} of torch.distributed: {reason}")
        replies = self._gathered((failure, None if error else summary(mine)))
        if error is not None and failure is not error:
            raise error
        for elsewhere, _ in replies:
            if elsewhere is not None:
                raise elsewhere
        return mine, [reply for _, reply in replies]

    def _over_ranks(self, mine: Sums | None, shapes: list[tuple[int, ...]]) -> Sums:
        """Return the sums of all ranks: each adds a slice of them in the order of the ranks, and hands it to all."""
        torch, dist, ranks = self._torch, self._dist, self.workers
        sizes = [int(np.prod(shape)) for shape in shapes]
        width = -(-sum(sizes) // ranks)
        flat = np.zeros(width * ranks)
        if mine is not None:
            flat[: sum(sizes)] = np.concatenate([self._array(array).ravel() for array in mine])
        sent = self._placed(flat)
        received, whole = torch.empty_like(sent), torch.empty_like(sent)
        dist.all_to_all_single(received, sent)
        # every rank adds its slice of all ranks' sums in their order: the same bits everywhere
        total = pairwise(list(received.reshape(ranks, width)), lambda a, b: a + b)
        dist.all_gather(list(whole.reshape(ranks, width)), total)
        pieces = np.split(self._array(whole)[: sum(sizes)], np.cumsum(sizes)[:-1])
        return tuple(piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True))


def _bytes(block: Block) -> int:
    return sum(array.nbytes for array in block[:3] if array is not None)


def as_engine(engine: Any, shards: Shards, owner: str, max_memory: float | None = None) -> Engine:
    """Return the engine that runs the sums over some shards.

    ``engine``: None, this process; a distributed.Client, the workers of a Dask cluster; "torch", the ranks of
    ``torch.distributed``, or one device if there is no process group; or an Engine made by the caller for these shards.
    ``owner``: whose parameter it is, for errors. ``max_memory``: bytes a process. Raises ArgumentError: anything else,
    or an engine of other shards.

    Examples
    --------
    >>> import numpy as np
    >>> shards = Shards([np.ones((3, 2))])
    >>> type(as_engine(None, shards, "fit")).__name__
    'LocalEngine'
    """
    if engine is None:
        return LocalEngine(shards)
    if isinstance(engine, Engine):
        if engine.shards is not shards and fingerprint(engine.shards) != fingerprint(shards):
            raise fail("engine", owner, "an engine of the same shards", describe(f"one of {engine.shards!r}"))
        return engine
    if isinstance(engine, str) and engine == "torch":
        return TorchEngine(shards, max_memory=max_memory)
    distributed: Any = sys.modules.get("distributed")  # whoever has a client has imported it
    if distributed is not None and isinstance(engine, distributed.Client):
        from clifford_rand_nn.shards.dask_engine import DaskEngine

        return DaskEngine(shards, engine, max_memory)
    raise fail("engine", owner, 'None, a distributed.Client, "torch" or an Engine', engine)
