"""What the kernel methods share: limits, refusals, and the threads of a solve."""

from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from scipy.sparse import issparse

from clifford_rand._blas import ONE_BLAS_THREAD, ONE_NUMPY_THREAD
from clifford_rand._checks import describe, fail
from clifford_rand_nn.problems.gated import Coefficients, GatedProblem, Point
from clifford_rand_nn.solvers.base import Limits, Result
from clifford_rand_nn.solvers.interrupts import handed_over
from clifford_rand_nn.solvers.kernel.gram import GatedKernel

P = TypeVar("P", bound=GatedProblem)
K = TypeVar("K", bound=GatedKernel)

ADVICE = "try a larger tol, or Fista"
_SMALL = 3e8  # n³ below which a factorization takes some milliseconds, in one thread rather than in two that wait


@dataclass(frozen=True, kw_only=True)
class KernelMethod(Limits, Generic[P, K]):
    """A method on matrices of order n, for one kind of problem, with one kind of kernel."""

    max_iter: int = 100

    _kinds: ClassVar[tuple[type, type[GatedKernel]]]
    _hint: ClassVar[str]

    @staticmethod
    def memory(problem: Any) -> float:
        """Return the bytes of the matrices of a solve."""
        raise NotImplementedError

    @handed_over
    def solve(self, problem: P, start: Point | None = None, kernel: list[K] | None = None) -> Result[Coefficients]:
        """Minimize the problem, from scratch or from a solution for another beta.

        ``start``: A solution for a beta nearby; `KernelNewton` does not need it where the last solve on ``kernel`` was
        for this problem. ``kernel``: the kernel of the problem, or nothing yet: then it is made and put there for the
        next solve. It depends neither on beta nor on the targets, and keeps what the last solve leaves to the one for
        the next beta. Raises ArgumentError: the matrices would take more than ``max_memory``, the problem has another
        penalty, or the kernel is one of other rows or gates.
        """
        kind, made = self._kinds
        self.admit(problem, kind, start, self._hint)
        what = f"{problem.n} rows, {problem.outputs} outputs"
        self.admit_memory(self.memory(problem), what, "Use Fista, or fewer rows.")
        if kernel is not None:
            rule = f"an empty list, or one with the {made.__name__} of this problem's rows and gates"
            if not isinstance(kernel, list) or not all(type(one) is made for one in kernel):
                raise fail("kernel", type(self).__name__, rule, kernel)
            if kernel and not kernel[0].fits(problem):
                raise fail("kernel", type(self).__name__, rule, describe("that of another problem"))
        with ONE_BLAS_THREAD if float(problem.n) ** 3 < _SMALL else ONE_NUMPY_THREAD:
            return self._solve(problem, start, [] if kernel is None else kernel)

    def _solve(self, problem: P, start: Point | None, kernel: list[K]) -> Result[Coefficients]:
        raise NotImplementedError


def sparse_numbers(problem: GatedProblem) -> int:
    """Return the numbers of weights in all columns, which outgrow the matrices where rows stay sparse, else 0."""
    a = problem.map
    return problem.outputs * a.d * a.n_patterns if issparse(a.rows) else 0
