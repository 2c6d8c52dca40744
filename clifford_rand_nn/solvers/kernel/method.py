"""What the kernel methods share: tolerance and limits, their checks, and the threads of a solve."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from clifford_rand._blas import ONE_BLAS_THREAD, ONE_NUMPY_THREAD
from clifford_rand._checks import check_integer, check_positive, describe, fail
from clifford_rand_nn.problems.gated import GatedProblem
from clifford_rand_nn.solvers.base import HistoryRow

__all__ = ["ADVICE", "KernelMethod"]

ADVICE = "try a larger tol, or Fista"
_SMALL = 3e8  # n³ below which a factorisation takes some milliseconds, in one thread rather than in two that wait


@dataclass(frozen=True)
class KernelMethod:
    """A method on matrices of order n; `KernelInteriorPoint` and `KernelNewton` explain the fields."""

    tol: float = 1e-6
    max_iter: int = 100
    max_time: float | None = None
    max_memory: float | None = None
    callback: Callable[[HistoryRow], object] | None = None

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check_positive(self.tol, "tol", owner)
        check_integer(self.max_iter, "max_iter", owner)
        for name in ("max_time", "max_memory"):
            if getattr(self, name) is not None:
                check_positive(getattr(self, name), name, owner)

    def _admit(self, problem: object, kind: type, hint: str) -> None:
        """Refuse a problem with another penalty."""
        if not isinstance(problem, kind):
            name = type(problem).__name__
            raise fail("problem", type(self).__name__, f"a {kind.__name__}", describe(name), hint)

    def _admit_memory(self, problem: GatedProblem, needed: float) -> None:
        """Refuse a problem whose matrices take more than ``max_memory``."""
        if self.max_memory is not None and needed > self.max_memory:
            rule = f"at least {needed:.2g} bytes for {problem.n} rows, {problem.outputs} outputs"
            limit = describe(f"{self.max_memory:.2g}")
            raise fail("max_memory", type(self).__name__, rule, limit, "Use Fista, or fewer rows.")

    @staticmethod
    def _threads(problem: GatedProblem) -> AbstractContextManager[None]:
        """Return the context that sets the threads of a solve."""
        return ONE_BLAS_THREAD if float(problem.n) ** 3 < _SMALL else ONE_NUMPY_THREAD
