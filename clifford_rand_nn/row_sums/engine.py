"""Engines: the one protocol by which sums over blocks of rows are run, and the engine of rows in memory."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from clifford_rand._blas import ONE_BLAS_THREAD
from clifford_rand._checks import describe, fail, quantity
from clifford_rand._threads import cpu_count, map_ahead
from clifford_rand_nn.row_sums.sums import Block, Part, PartWork, RowMap, RowSum, Sums, added, pairwise

_MAX_RUNS = 1024  # if each thread has one: each costs a scheduler of Dask about a millisecond a pass

_Value = TypeVar("_Value")


class Need(NamedTuple):
    """Bytes that a fit takes of this process, beside libraries."""

    always: float  # whatever the engine does: of the sample and of the solver
    sums: float  # of a worker, for what it adds up
    row: float  # of a row of its block
    rows: int  # of a block, unless memory says less


class Engine(ABC):
    """Runs sums over the rows of shards; a context that gives back what it holds.

    Attributes
    ----------
    shards : Shards
    workers : int
        Parts that are worked on at a time.
    first : bool
        Whether this process is the one that reports and writes files; false in all ranks of torch but one.
    most_kept : int
        Bytes that `keep` takes of the memory of this process at most.
    """

    shards: Any
    workers: int
    first = True
    most_kept = 0

    @abstractmethod
    def sum(self, term: RowSum) -> Sums:
        """Return the sums over all rows, added in pairs in the order of the parts."""

    @abstractmethod
    def keep(self, make: RowMap) -> None:
        """Make small arrays of all rows once and keep them where the rows are; `RowSum.of` gets them in this order."""

    @abstractmethod
    def each(self, work: PartWork) -> Iterator[Any]:
        """Yield the result of every part, in their order."""

    def keep_to(self, most: float | None, need: Need, owner: str) -> None:
        """Keep to ``most`` bytes of this process, here those that are needed always, or refuse the fit."""
        self.refuse_more(most, need.always, owner)

    def refuse_more(self, most: float | None, needed: float, owner: str) -> None:
        """Raise if more bytes are needed than there may be."""
        if most is not None and needed > most:
            rule = f"at least {quantity(needed)} for a sample of these shards, the solver and the smallest blocks"
            raise fail("max_memory", owner, rule, describe(quantity(most)), "Fewer gates need less.")

    def agreed(self, value: _Value) -> _Value:
        """Return the first process's value, of clocks and new seeds, so that all processes do alike."""
        return value

    def of_first(self, work: Callable[[], _Value]) -> _Value:
        """Return what the first process makes, as of files that only it can see; its error is raised in all."""
        return work()

    def close(self) -> None:  # noqa: B027 - there may be nothing
        """Give back what is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class MemoryEngine(Engine):
    """Rows in memory as one shard: the sums of an in-memory fit, and those over the sample of a larger one.

    ``workers``: threads; by default one for each processor that the process may use.
    """

    def __init__(self, rows: Block, workers: int | None = None) -> None:
        self._rows, self.workers = rows, workers or cpu_count()

    def sum(self, term: RowSum) -> Sums:
        """Return the sums over the rows, in the same bits for every number of threads."""
        with ONE_BLAS_THREAD:
            blocks = self._rows.pieces(term.rows)
            return pairwise(map_ahead(lambda block: added(None, term.of(block, ())), blocks, self.workers), added)

    def keep(self, make: RowMap) -> None:
        """Refuse."""
        raise NotImplementedError

    def each(self, work: PartWork) -> Iterator[Any]:
        """Refuse."""
        raise NotImplementedError


class Run(NamedTuple):
    """Neighboring parts that one worker adds up: a whole branch of the tree of `pairwise`."""

    number: int  # among all runs
    parts: tuple[Part, ...]
    owner: int  # the worker that has its rows


def runs(parts: Sequence[Part], threads: Sequence[int], least: int = 4) -> list[Run]:
    """Share parts among workers: neighbors stay together, 2^k of them a run, at least ``least`` runs a thread.

    The sums of 2^k parts that begin at a multiple of 2^k are a branch of the tree of all parts; so `pairwise` over
    runs of sums by `pairwise` is `pairwise` over parts, addition by addition.

    ``threads``: threads of each worker, which is given as large a share of the rows. ``least``: runs a thread, if there
    are as many parts and not too many threads: when one worker is late, others can take some of its own.

    Examples
    --------
    >>> parts = [Part(0, 8 * i, 8 * i + 8, 8 * i) for i in range(10)]
    >>> [(len(run.parts), run.owner) for run in runs(parts, [1, 1], least=2)]
    [(2, 0), (2, 0), (2, 1), (2, 1), (2, 1)]
    """
    least, size = max(1, min(least, _MAX_RUNS // sum(threads))), 1
    while len(parts) >= 2 * size * least * sum(threads):
        size *= 2
    pieces = [tuple(parts[i : i + size]) for i in range(0, len(parts), size)]
    rows = np.array([sum(part.size for part in piece) for piece in pieces])
    middles = np.cumsum(rows) - rows / 2
    owners = np.searchsorted(np.cumsum(threads) / sum(threads), middles / rows.sum(), side="right")
    return [Run(number, *pair) for number, pair in enumerate(zip(pieces, owners.tolist(), strict=True))]
