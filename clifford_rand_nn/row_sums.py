"""Sums over blocks of rows, and engines: the one protocol by which they are run."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail, quantity
from clifford_rand._threads import ONE_BLAS_THREAD, cpu_count, map_ahead
from clifford_rand._typing import Array
from clifford_rand_nn.problems.loss import Loss
from clifford_rand_nn.problems.loss_functions import cast, library
from clifford_rand_nn.problems.loss_registry import encode_labels

Sums = tuple[NDArray[Any], ...]
Kept = tuple[NDArray[Any], ...]
_Item = TypeVar("_Item")

BLOCK_ROWS = 4096  # rows that are converted and multiplied at a time: they stay in the cache, with what is made of them


class Part(NamedTuple):
    """The rows ``start`` to ``stop`` of one shard, what an engine hands to a worker at a time.

    Where parts end depends on the data alone, so that sums are the same bits for every number of workers.
    """

    shard: int
    start: int
    stop: int
    first: int  # index of its first row among the rows of all shards

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.stop - self.start


class Block(NamedTuple):
    """Some rows in memory, in the types in which they are stored."""

    X: NDArray[Any]  # (k, d)
    y: NDArray[Any] | None  # (k,) or (k, C)
    weights: NDArray[Any] | None  # (k,), float64
    first: int  # index of its first row among the rows of all shards

    def pieces(self, rows: int) -> Iterator["Block"]:
        """Yield the block, at most ``rows`` rows at a time."""
        for start in range(0, len(self.X), rows):
            at = slice(start, start + rows)
            y, weights = (None if array is None else array[at] for array in (self.y, self.weights))
            yield Block(self.X[at], y, weights, self.first + start)


class Read(Protocol):
    """The rows of shards, or what a worker holds of them in memory."""

    def __call__(self, part: Part, rows: int, *, columns: bool = True) -> Iterator[Block]:
        """Yield the rows of a part, at most ``rows`` at a time."""


class RowSum(ABC):
    """Sums over rows of arrays of fixed shapes: all parameters of a pass; it is pickled to where the rows are."""

    rows = BLOCK_ROWS  # of a block
    columns = True  # whether `of` looks at the columns of the rows; if not, rows that are read for it are (k, 0)
    # Whether `of` works on arrays of the library in which it gets them (`library` of the datafits). Then an engine that
    # keeps rows on a device calls `placed`, and hands over blocks and kept arrays there; else NumPy's.
    tensors = False

    @abstractmethod
    def of(self, block: Block, kept: Kept) -> Sums:
        """Return the sums over a block, which are added in float64; ``kept`` is what each `RowMap` made of its rows."""

    def placed(self, place: Callable[[NDArray[Any]], Any]) -> Self:
        """Return a copy whose arrays, those among its attributes, are where ``place`` puts them."""
        term = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(term, name, place(value))
        return term


class RowMap(ABC):
    """A small array of each row that is made once and kept beside the rows."""

    rows = BLOCK_ROWS

    @abstractmethod
    def of(self, block: Block) -> NDArray[Any]:
        """Return an array (k, …) of the rows of a block."""


class PartWork(ABC):
    """Work on a part as a whole whose results differ in shape: facts, samples, files of predictions."""

    rows = BLOCK_ROWS

    @abstractmethod
    def of(self, shards: Any, part: Part) -> Any:
        """Return the result of a part of some `Shards`, something small that can be pickled."""


def part_sum(read: Read, part: Part, term: RowSum, kept: Kept) -> Sums:
    """Return the sums over the rows of a part; ``kept`` has a row for each of them."""
    total: Sums | None = None
    start = 0
    for block in read(part, term.rows, columns=term.columns):
        at = slice(start, start + len(block.X))
        total = added(total, term.of(block, tuple(array[at] for array in kept)))
        start = at.stop
    assert total is not None  # a part has a row
    return total


def part_map(read: Read, part: Part, make: RowMap) -> NDArray[Any]:
    """Return the kept array of the rows of a part."""
    return np.concatenate([make.of(block) for block in read(part, make.rows)])


def added(a: Sums | None, b: Sums) -> Sums:
    """Return a + b, array by array, in float64; a may be overwritten."""
    if a is None:
        return tuple(cast(array, library(array).float64) for array in b)
    for left, right in zip(a, b, strict=True):
        left += right
    return a


def pairwise(items: Iterable[_Item], add: Callable[[_Item, _Item], _Item]) -> _Item:
    """Add items in pairs of neighbors, then pairs of pairs, …: one order whoever adds, few of them held at a time.

    Examples
    --------
    >>> pairwise("abcde", lambda a, b: f"({a}{b})")
    '(((ab)(cd))e)'
    """
    stack: list[tuple[int, _Item]] = []
    for item in items:
        level = 0
        while stack and stack[-1][0] == level:  # levels on the stack fall strictly, as the bits of a counter
            item = add(stack.pop()[1], item)
            level += 1
        stack.append((level, item))
    total = stack.pop()[1]
    while stack:
        total = add(stack.pop()[1], total)
    return total


@dataclass(frozen=True, eq=False)
class Targets:
    """The way from stored labels or reals to targets (k, C)."""

    loss: Loss
    classes: NDArray[Any] | None  # (n_classes,): sorted labels, of classifiers
    mean_weight: float = 1.0  # of all rows that count: weights are divided by it
    factors: Array | None = None  # (n_classes,): of the weights of the rows of a class
    exponent: int = 0  # reals are taken in units of 2 to this power, so that their squares do not overflow
    # (C,): subtracted from reals before all else: far from 0 their squares and products would lose the digits of
    # residuals
    offset: Array | None = None
    # (h,): rows, rising, that count nowhere in a pass: those that will judge what is trained
    left_out: NDArray[np.int64] | None = None

    def placed(self, place: Callable[[NDArray[Any]], Any]) -> Self:
        """Return a copy for rows on a device; labels that are texts stay in memory, and so do their classes."""
        classes = self.classes
        if classes is not None:
            classes = place(classes.astype(np.uint8) if classes.dtype == bool else classes)
        factors, offset = (None if values is None else place(values) for values in (self.factors, self.offset))
        return replace(self, classes=classes, factors=factors, offset=offset)

    def of(self, block: Block) -> Any:
        """Return targets (k, C), where the rows are."""
        assert block.y is not None
        xp = library(block.X)
        if self.classes is None:
            y = cast(block.y, xp.float64).reshape((len(block.y), -1))
            # exact: the offset has few digits, and the unit is a power of 2
            return (y if self.offset is None else y - self.offset) * 2.0**-self.exponent
        count, index = len(self.classes), self._index(block)
        if xp is np:
            return encode_labels(index, count, self.loss)[0]
        off, on = (-1.0, 1.0) if self.loss.labels is None else self.loss.labels
        marks = (index == 1)[:, None] if count == 2 else index[:, None] == xp.arange(count, device=index.device)
        return off + (on - off) * cast(marks, xp.float64)

    def weights(self, block: Block) -> Any:
        """Return weights (k, 1) of mean 1 over all rows, or 1 where all are equal."""
        if block.weights is None and self.factors is None and self.left_out is None:
            return 1.0
        w: Any = 1.0 if block.weights is None else block.weights
        if self.left_out is not None:
            w = w * self._counting(block)
        if self.factors is not None:
            w = w * self.factors[self._index(block)]
        return (w / self.mean_weight)[:, None]

    def row_weights(self, block: Block) -> Array:
        """Return weights (k,) of NumPy rows, an array of its own."""
        return np.array(np.broadcast_to(self.weights(block), (len(block.X), 1))[:, 0], dtype=np.float64)

    def _counting(self, block: Block) -> Any:
        """Return 1 for the rows that count and 0 for those left out."""
        assert self.left_out is not None
        counting, rows, xp = np.ones(len(block.X)), self.left_out - block.first, library(block.X)
        counting[rows[slice(*np.searchsorted(rows, [0, len(counting)]))]] = 0
        return counting if xp is np else xp.asarray(counting, device=block.X.device)

    def _index(self, block: Block) -> Any:
        """Return the classes of the rows, as numbers from 0."""
        assert block.y is not None
        assert self.classes is not None
        last = len(self.classes) - 1  # rows of weight zero may have other labels
        xp = library(block.X)
        labels: Any = block.y.reshape((-1,))
        if last == 1 and xp is np:
            return np.asarray(labels == self.classes[1]).astype(np.intp)
        if not isinstance(labels, np.ndarray):
            return xp.clip(xp.searchsorted(self.classes, cast(labels, self.classes.dtype)), 0, last)
        index: Any = np.minimum(np.searchsorted(self.classes, labels), last)
        return index if xp is np else xp.asarray(index, device=block.X.device)  # texts stay beside tensors


_MAX_RUNS = 1024  # if each thread has one: each costs a scheduler of Dask about a millisecond a pass

_Value = TypeVar("_Value")


class Need(NamedTuple):
    """Bytes that a fit takes of this process, beside libraries."""

    always: float  # whatever the engine does: of the sample and of the solver
    sums: float  # of a worker, for what it adds up
    row: float  # of a row of its block
    rows: int  # of a block, unless memory says less


class Engine(ABC):
    """Runs sums over the rows of shards; a context that gives back what it holds."""

    shards: Any
    workers: int  # parts that are worked on at a time
    first = True  # whether this process is the one that reports and writes files; false in all ranks of torch but one
    most_kept = 0  # bytes that `keep` takes of the memory of this process at most

    @abstractmethod
    def sum(self, term: RowSum) -> Sums:
        """Return the sums over all rows, added in pairs in the order of the parts."""

    def keep(self, make: RowMap) -> None:
        """Make small arrays of all rows once and keep them where the rows are; `RowSum.of` gets them in this order."""
        raise NotImplementedError

    def each(self, work: PartWork) -> Iterator[Any]:
        """Yield the result of every part, in their order."""
        raise NotImplementedError

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
