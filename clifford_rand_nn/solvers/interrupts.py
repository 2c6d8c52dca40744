"""Ctrl-C while something is solved: it ends a block that keeps what it has, or waits where a result would be lost.

A KeyboardInterrupt is raised at once as long as nothing was found, and inside a `BestIterate` that has something.
Between the end of one and the return to the caller the first Ctrl-C is held: the next check of a gap ends the run, or
what is returned has the status "interrupted". A second one is raised at once. Nothing is held outside the main thread,
in a child process, or where the program handles Ctrl-C in its own way.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from functools import wraps
from types import FrameType, TracebackType
from typing import Any, ParamSpec, Protocol, Self, TypeVar

from clifford_rand_nn.solvers.base import Status

P = ParamSpec("P")


class Result(Protocol):
    """A result with a status."""

    def ended(self, status: Status, /) -> Self:
        """Return the same with another status."""


class Fit(Protocol):
    """A value with a status."""

    @property
    def status(self) -> Status:
        """Why it ended."""


R = TypeVar("R", bound=Result)
F = TypeVar("F", bound=Fit)


class Interrupts:
    """The handler of Ctrl-C from a public call to its end: a context, whose inner ones leave it to the outermost.

    ``held``: whether an interrupt waits.
    """

    def __init__(self) -> None:
        self.held = False
        self.made = False  # whether there is a result that nobody has taken
        self.open: list[BestIterate] = []
        self._pid = os.getpid()

    @staticmethod
    def current() -> "Interrupts | None":
        """Return the handler that is at work in this thread."""
        if threading.get_ident() != threading.main_thread().ident:
            return None
        handler = signal.getsignal(signal.SIGINT)
        return handler if isinstance(handler, Interrupts) else None

    def __enter__(self) -> Self:
        main = threading.get_ident() == threading.main_thread().ident
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self)
        return self

    def hold(self) -> None:
        """Begin, with a result that an interrupt would lose: see `holding`."""
        self.made = True
        self.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if Interrupts.current() is self:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Hold the first interrupt where raising it would lose a result; raise every other one."""
        if self.held or os.getpid() != self._pid or not self._loses(frame):
            signal.default_int_handler(number, frame)
        self.held = True

    def _loses(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code is BestIterate.__exit__.__code__:  # outside the block already, and not yet out of `open`
                return True
            frame = frame.f_back
        return self.made and not any(keeper.has_some for keeper in self.open)


class BestIterate:
    """A block that a KeyboardInterrupt or MemoryError ends with what was found by then; before that they go on.

    ``found``: what has been found, empty at first. ``status``: what ended the block, if it was one of the two.
    """

    def __init__(self, results: Sized) -> None:
        self._found = results
        self._interrupts: Interrupts | None = None
        self.status: Status | None = None

    @property
    def has_some(self) -> bool:
        """Whether anything was found."""
        return len(self._found) > 0

    def stop(self, status: Status) -> None:
        """End with a status."""
        self.status = status

    def __enter__(self) -> Self:
        self._interrupts = Interrupts.current()
        if self._interrupts is not None:
            self._interrupts.open.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        some = self.has_some
        if self._interrupts is not None:
            self._interrupts.made |= some
            self._interrupts.open.remove(self)
        if kind is None or not some or not issubclass(kind, KeyboardInterrupt | MemoryError):
            return False
        self.stop(Status.INTERRUPTED if issubclass(kind, KeyboardInterrupt) else Status.MAX_MEMORY)
        return True


def held() -> bool:
    """Whether an interrupt waits."""
    interrupts = Interrupts.current()
    return interrupts is not None and interrupts.held


def handed_over(solve: Callable[P, R]) -> Callable[P, R]:
    """Return a function whose result no Ctrl-C loses once a point was judged; it has the status "interrupted" then."""

    @wraps(solve)
    def whole(*args: P.args, **named: P.kwargs) -> R:
        with Interrupts() as interrupts:
            result = solve(*args, **named)
        return result.ended(Status.INTERRUPTED) if interrupts.held else result

    return whole


@contextmanager
def holding() -> Iterator[Interrupts]:
    """Give a handler that begins when its ``hold`` is called: once a solver that takes Ctrl-C itself has ended."""
    interrupts = Interrupts()
    try:
        yield interrupts
    finally:
        interrupts.__exit__(None, None, None)


def settled(result: R) -> R:
    """Return a result that more work follows; an interrupt that waits is its status, and ends nothing after it."""
    interrupts = Interrupts.current()
    if interrupts is None or not interrupts.held:
        return result
    interrupts.held = False
    return result.ended(Status.INTERRUPTED)


def raise_held() -> None:
    """Forget what was made, which is taken or of no use any more, and raise an interrupt that waits."""
    interrupts = Interrupts.current()
    if interrupts is not None:
        interrupts.made = False
        if interrupts.held:
            interrupts.held = False
            raise KeyboardInterrupt


def unless_interrupted(fit: F) -> F:
    """Return a fit; where Ctrl-C ended the solver, raise it again for a choice that this was a step of."""
    try:
        raise_held()
        if fit.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        raise KeyboardInterrupt("while beta was chosen; there is no network yet") from None
    return fit


def raise_if_interrupted(model: Any) -> Any:
    """Return a fitted estimator or pipeline; raise KeyboardInterrupt where Ctrl-C left the best that it had."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    result = getattr(last, "result_", None)
    status = getattr(last, "status_", None) if result is None else result.status
    if status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return model
