"""What every engine does with the parts of the shards."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self, TypeVar

from clifford_rand._checks import describe, fail, quantity
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.shards.sums import PartWork, RowMap, RowSum, Sums

_Value = TypeVar("_Value")


class Need(NamedTuple):
    """Bytes that a fit takes of this process, beside libraries.

    Attributes
    ----------
    always : float
        Whatever the engine does: of the sample and of the solver.
    sums : float
        Of a worker, for what it adds up.
    row : float
        Of a row of its block.
    rows : int
        Of a block, unless memory says less.
    """

    always: float
    sums: float
    row: float
    rows: int


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

    def keep_to(self, most: float | None, need: Need, owner: str) -> None:
        """Keep to ``most`` bytes of this process, here those that are needed always, or refuse the fit."""
        self._refuse_more(most, need.always, owner)

    def _refuse_more(self, most: float | None, needed: float, owner: str) -> None:
        if most is not None and needed > most:
            rule = f"at least {quantity(needed)} for a sample of these shards, the solver and the smallest blocks"
            raise fail("max_memory", owner, rule, describe(quantity(most)), "Fewer gates need less.")

    def agreed(self, value: _Value) -> _Value:
        """Return the first process's value, of clocks and of seeds that nobody gave, so that all processes do alike."""
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
