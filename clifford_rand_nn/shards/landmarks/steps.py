"""What the steps to a solution in the span of landmarks have in common: passes that judge, passes that step, an end."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from clifford_rand._typing import Array
from clifford_rand_nn.row_sums.engine import Engine
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Status


class Solved(NamedTuple):
    """A function as a pass over the rows judged it; the bound is of the dual point of its own residuals."""

    u: Array
    intercept: Array
    scale: Array
    primal: float
    dual: float
    gap: float


class _State(Protocol):
    @property
    def judging(self) -> bool: ...
    @property
    def best(self) -> Solved | None: ...
    @property
    def ended(self) -> str: ...
    def _replace(self, *, ended: str) -> Any: ...


S = TypeVar("S", bound=_State)


def restored(values: tuple[Any, ...], kind: Callable[..., S]) -> S:
    """Return the state of a kind from plain tuples, as a checkpoint has them."""
    made: Any = kind(*values)
    best = None if made.best is None else Solved(*made.best)
    found: S = made._replace(best=best, history=tuple(HistoryRow(*row) for row in made.history))
    return found


class Steps(ABC, Generic[S]):
    """Passes over the rows, each from one state to the next."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def solve(
        self, state: S, limits: Limits, began: float, save: Callable[[S], object], hurry: bool = False
    ) -> tuple[S, Status]:
        """Go on until the gap is below the tolerance; ``save`` is called after every pass.

        After Ctrl-C, or with ``hurry``, the best function that was judged is left; if there is none, one pass judges
        the one at hand. That state is not saved: a fit that goes on takes the way of one that nobody interrupted.
        """
        status = Status(state.ended) if state.ended else None  # a fit that goes on from its end is that fit
        if hurry and state.best is not None:
            status = Status.INTERRUPTED
        try:
            while status is None:
                if state.judging:
                    state, status = self._judged(state, limits, began)
                    if status is not None and not (status.ends_all or hurry):
                        state = state._replace(ended=status.value)
                else:
                    state = self._stepped(state, limits, began)
                if hurry:
                    status = Status.INTERRUPTED
                else:
                    save(state)
        except KeyboardInterrupt:
            if hurry:
                raise
            return self.solve(state, limits, began, save, hurry=True)
        return state, status

    def _late(self, limits: Limits, began: float) -> bool:
        seconds = time.perf_counter() - began
        return self._engine.agreed(limits.max_time is not None and seconds >= limits.max_time)

    @abstractmethod
    def _judged(self, state: S, limits: Limits, began: float) -> tuple[S, Status | None]:
        """Judge the function at hand by a pass of its own."""

    @abstractmethod
    def _stepped(self, state: S, limits: Limits, began: float) -> S:
        """Take a step by a pass."""
