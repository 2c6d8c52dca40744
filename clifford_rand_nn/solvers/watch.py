"""What a running solver keeps beside its iterate: clock, history, best point, best bound, and why it stopped."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.solvers.base import HistoryRow, Result

__all__ = ["Watch"]

Array = NDArray[np.float64]
_NO_BOUND = (
    "no positive lower bound was found. If unpenalised biases alone separate the classes, the infimum 0 of this loss "
    "is not attained: use fewer gates, bias=False or loss='squared'"
)

P = TypeVar("P")
S = TypeVar("S")


class Watch(Generic[P]):
    """Judges a solver's points, keeps the best one, and ends the run by tolerance, time or Ctrl-C.

    Used as a context: a KeyboardInterrupt inside the block ends it, and the best point that was judged is returned like
    any other; before the first check the interrupt goes on to the caller.

    Parameters
    ----------
    relative_gap : callable
        Of a primal and a dual value.
    tol : float
    max_time : float or None
        Seconds from the making of this object.
    callback : callable or None
        Called with each `HistoryRow`.

    Attributes
    ----------
    objective, gap : float
        Of the best point, against the best bound.
    point, fitted, bound
        The best point, its predictions, the best dual bound.
    status : str
        Empty while the solver should go on.
    """

    point: P
    fitted: Array

    def __init__(
        self,
        relative_gap: Callable[[float, float], float],
        tol: float,
        max_time: float | None = None,
        callback: Callable[[HistoryRow], object] | None = None,
    ) -> None:
        self._began = time.perf_counter()
        self._relative_gap, self._tol, self._max_time, self._callback = relative_gap, tol, max_time, callback
        self.objective, self.gap = np.inf, np.inf
        self.bound: DualBound | None = None
        self.history: list[HistoryRow] = []
        self.status = ""
        self.n_iter = 0

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._began

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return self._max_time is not None and self.seconds >= self._max_time

    def check(self, n_iter: int, objective: float, bound: DualBound, point: P, fitted: Array) -> None:
        """Judge a point: keep it if it is the best, write a row of the history, and set ``status`` if it is time."""
        if objective < self.objective:
            self.objective, self.point, self.fitted = objective, point, fitted
        if self.bound is None or bound.value > self.bound.value:
            self.bound = bound
        self.n_iter = n_iter
        self.gap = self._relative_gap(self.objective, self.bound.value)
        self.history.append(HistoryRow(n_iter, self.seconds, self.objective, self.gap))
        if self._callback is not None:
            self._callback(self.history[-1])
        if self.gap <= self._tol:
            self.status = "optimal"
        elif self.late:
            self.stop(f"after {self.seconds:.1f} s", "try a larger max_time")

    def stop(self, when: str, advice: str) -> None:
        """Set the status of a run that ends short of its tolerance."""
        if self.bound is None or self.bound.value <= 0:
            advice = f"{_NO_BOUND}; else {advice}"
        self.status = f"stopped {when} at a relative gap of {self.gap:.1e}: {advice}"

    def __enter__(self) -> "Watch[P]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if kind is None or not issubclass(kind, KeyboardInterrupt) or not self.history:
            return False
        self.stop(f"by an interrupt after {self.seconds:.1f} s", "this is the best point so far")
        return True

    def result(self, solver: str, coefficients: S) -> Result[S]:
        """Return the best point, written as ``coefficients``."""
        assert self.bound is not None
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
        )
