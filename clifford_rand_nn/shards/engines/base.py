"""What every engine does with the parts of the shards."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self, TypeVar

from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.shards.sums import PartWork, RowMap, RowSum, Sums

_Value = TypeVar("_Value")


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

    shards: Shards
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
        """Yield what is found in every part, in their order."""

    def agreed(self, value: _Value) -> _Value:
        """Return the first process's value, of clocks and of seeds that nobody gave, so that all processes do alike."""
        return value

    def close(self) -> None:  # noqa: B027 - there may be nothing
        """Give back what is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
