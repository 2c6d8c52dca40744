"""Clock, history, best point, best bound and stopping reason of a running solver."""

import time
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Result, Status, explain
from clifford_rand_nn.solvers.interrupts import BestIterate, held

P = TypeVar("P")
S = TypeVar("S")

_EXTRA = 0.1  # of max_time, by which a run may be longer to bring its result into shape


class Watch(BestIterate, Generic[P]):
    """Judges a solver's points, keeps the best one, and ends the run by a limit, Ctrl-C or a step that is not finite.

    Used as a context: a KeyboardInterrupt or MemoryError inside the block ends it, and the best point that was judged
    is returned like any other; before the first check the error goes on to the caller.

    ``relative_gap``: of a primal and a dual value. ``advice``: what to do where rounding stops this solver. ``began``:
    of `time.perf_counter`; otherwise now. ``objective``, ``gap``: of the best point, against the best bound. ``point``,
    ``fitted``, ``bound``: the best point, its predictions, the best dual bound. ``status``: none while the solver
    should go on.
    """

    point: P
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

    def check(self, n_iter: int, objective: float, bound: DualBound, point: P, fitted: Array) -> None:
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
        self, n_iter: int, objective: float, bound: DualBound, point: P, fitted: Array, allowed: float = -np.inf
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

    def polish(self, objective: float, bound: DualBound, point: P, fitted: Array, allowed: float = np.inf) -> None:
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
