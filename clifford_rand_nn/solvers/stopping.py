"""The end of a run: clock, history, best point, best bound and reason; Ctrl-C ends it, or waits for its result.

A KeyboardInterrupt is raised at once as long as nothing was found, and inside a `BestIterate` that has something.
Between the end of one and the return to the caller the first Ctrl-C is held: the next check of a gap ends the run, or
what is returned has the status "interrupted". A second one is raised at once. Nothing is held outside the main thread,
in a child process, or where the program handles Ctrl-C in its own way.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from functools import singledispatch, wraps
from types import FrameType, TracebackType
from typing import Any, Generic, ParamSpec, Protocol, Self, TypeVar, cast

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Result, Status, explain, with_status

P = ParamSpec("P")


class Fit(Protocol):
    """A value with a status."""

    @property
    def status(self) -> Status:
        """Why it ended."""


R = TypeVar("R")
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


@singledispatch
def as_interrupted(result: Any) -> Any:
    """Return a result with the status "interrupted"; each kind of result registers how."""
    raise TypeError(f"{type(result).__name__} has no status")


@as_interrupted.register(Result)
def _(result: Result[Any]) -> Result[Any]:
    return with_status(result, Status.INTERRUPTED)


def handed_over(solve: Callable[P, R]) -> Callable[P, R]:
    """Return a function whose result no Ctrl-C loses once a point was judged; it has the status "interrupted" then."""

    @wraps(solve)
    def whole(*args: P.args, **named: P.kwargs) -> R:
        with Interrupts() as interrupts:
            result = solve(*args, **named)
        return cast(R, as_interrupted(result)) if interrupts.held else result

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
    return cast(R, as_interrupted(result))


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
    if getattr(getattr(last, "result_", None), "interrupted", False):
        raise KeyboardInterrupt
    return model


Point = TypeVar("Point")
S = TypeVar("S")

_EXTRA = 0.1  # of max_time, by which a run may be longer to bring its result into shape


class Watch(BestIterate, Generic[Point]):
    """Judges a solver's points, keeps the best one, and ends the run by a limit, Ctrl-C or a step that is not finite.

    Used as a context: a KeyboardInterrupt or MemoryError inside the block ends it, and the best point that was judged
    is returned like any other; before the first check the error goes on to the caller.

    ``relative_gap``: of a primal and a dual value. ``advice``: what to do where rounding stops this solver. ``began``:
    of `time.perf_counter`; otherwise now. ``objective``, ``gap``: of the best point, against the best bound. ``point``,
    ``fitted``, ``bound``: the best point, its predictions, the best dual bound. ``status``: none while the solver
    should go on.
    """

    point: Point
    fitted: Array
    bound: DualBound

    def __init__(
        self,
        limits: Limits,
        relative_gap: Callable[[float, float], float],
        advice: str = "",
        began: float | None = None,
    ) -> None:
        self._began = time.perf_counter() if began is None else began
        self._limits, self._relative_gap, self._advice = limits, relative_gap, advice
        self.objective, self.gap = np.inf, np.inf
        self._judged = False
        self.history: list[HistoryRow] = []
        super().__init__(self.history)
        self.message = ""
        self.n_iter = 0

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._began

    @property
    def tol(self) -> float:
        """Relative gap to reach."""
        return self._limits.tol

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return self._limits.max_time is not None and self.seconds >= self._limits.max_time

    def affords(self, seconds: float) -> bool:
        """Tell whether so many seconds are left, or are a small share of the whole time."""
        most = self._limits.max_time
        return most is None or seconds <= max(most - self.seconds, _EXTRA * most)

    def last(self, n_iter: int) -> bool:
        """Whether this iteration must be judged, because the number of iterations or the time ends here."""
        return n_iter >= self._limits.max_iter or self.late

    def check(self, n_iter: int, objective: float, bound: DualBound, point: Point, fitted: Array) -> None:
        """Judge a point: keep it if it is the best, write a row of the history, and set ``status`` if it is time."""
        self.judge(n_iter, objective, bound, point, fitted)
        self.history.append(HistoryRow(n_iter, self.seconds, self.objective, self.gap))
        if self._limits.callback is not None:
            self._limits.callback(self.history[-1])
        if self.gap <= self._limits.tol:
            self.stop(Status.OPTIMAL)
        elif not np.isfinite(objective):
            self.stop(Status.NOT_FINITE)
        elif held():
            self.stop(Status.INTERRUPTED)
        elif self.late:
            self.stop(Status.MAX_TIME)
        elif n_iter >= self._limits.max_iter:
            self.stop(Status.MAX_ITER)

    def judge(
        self, n_iter: int, objective: float, bound: DualBound, point: Point, fitted: Array, allowed: float = -np.inf
    ) -> None:
        """Keep a point if it is the best, or its objective at most ``allowed``, and the bound if it is the best."""
        if self._judged and not (objective < self.objective or objective <= allowed):
            objective, point, fitted = self.objective, self.point, self.fitted
        if self._judged and not bound.value > self.bound.value:
            bound = self.bound
        elif not np.isfinite(bound.value):
            bound = DualBound(-np.inf, bound.theta)
        with np.errstate(invalid="ignore"):
            gap = self._relative_gap(objective, bound.value)
        gap = np.inf if np.isnan(gap) else gap
        # nothing is called from here on, so that an interrupt comes before or after all of it
        self.objective, self.point, self.fitted, self.bound = objective, point, fitted, bound
        self.gap, self.n_iter, self._judged = gap, n_iter, True

    def polish(self, objective: float, bound: DualBound, point: Point, fitted: Array, allowed: float = np.inf) -> None:
        """Take a better form of the best point after the end, if its objective is at most ``allowed``."""
        self.judge(self.n_iter, objective, bound, point, fitted, allowed)
        if self.status is Status.OPTIMAL and self.gap > self._limits.tol:
            self.stop(Status.STALLED)
        elif self.status is not None:
            reached = self.gap <= self._limits.tol and not self.status.ends_all
            self.stop(Status.OPTIMAL if reached else self.status, self._advice)

    def stop(self, status: Status, advice: str = "") -> None:
        """End the run; ``advice`` says what to do where it is not the usual one."""
        self.status, self._advice = status, advice or (self._advice if status is Status.STALLED else "")
        bounded = self._judged and self.bound.value > 0
        self.message = explain(status, self.n_iter, self.seconds, self.gap, self._advice, bounded)

    def result(self, solver: str, coefficients: S) -> Result[S]:
        """Return the best point, written as ``coefficients``."""
        assert self.status is not None
        return Result(
            objective=self.objective,
            duality_gap=max(self.objective - self.bound.value, 0.0),
            relative_gap=self.gap,
            n_iter=self.n_iter,
            status=self.status,
            history=tuple(self.history),
            solver=solver,
            seconds=self.seconds,
            coefficients=coefficients,
            fitted=self.fitted,
            dual_point=self.bound.theta,
            message=self.message,
        )
