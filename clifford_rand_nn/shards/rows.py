"""Rows of shards on their way into memory: which they are, and what is read of them."""

from typing import Any, NamedTuple

from numpy.typing import NDArray


class Part(NamedTuple):
    """The rows ``start`` to ``stop`` of one shard, what an engine hands to a worker at a time.

    Where parts end depends on the data alone, so that sums are the same bits for every number of workers.

    Attributes
    ----------
    shard, start, stop : int
    first : int
        Index of its first row among the rows of all shards.
    """

    shard: int
    start: int
    stop: int
    first: int

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.stop - self.start


class Block(NamedTuple):
    """Some rows in memory, in the types in which they are stored.

    Attributes
    ----------
    X : (k, d)
    y : (k,) or (k, C), or None
    weights : (k,) float64 or None
    first : int
        Index of its first row among the rows of all shards.
    """

    X: NDArray[Any]
    y: NDArray[Any] | None
    weights: NDArray[Any] | None
    first: int
