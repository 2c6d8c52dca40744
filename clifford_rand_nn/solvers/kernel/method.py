"""What the kernel methods share: limits, refusals, and the threads of a solve."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from clifford_rand._blas import ONE_BLAS_THREAD, ONE_NUMPY_THREAD
from clifford_rand._checks import describe, fail
from clifford_rand_nn.problems.gated import GatedProblem
from clifford_rand_nn.solvers.base import Limits
from clifford_rand_nn.solvers.kernel.gram import GatedKernel

ADVICE = "try a larger tol, or Fista"
_SMALL = 3e8  # n³ below which a factorisation takes some milliseconds, in one thread rather than in two that wait


@dataclass(frozen=True, kw_only=True)
class KernelMethod(Limits):
    """A method on matrices of order n."""

    max_iter: int = 100

    def _admit(
        self,
        problem: GatedProblem,
        kind: type,
        needed: float,
        start: Any,
        kernel: Any,
        made: type[GatedKernel],
        hint: str,
    ) -> None:
        """Refuse a problem with another penalty, with too large matrices, or a kernel of other rows or gates."""
        self.admit(problem, kind, start, hint)
        what = f"{problem.n} rows, {problem.outputs} outputs"
        self.admit_memory(needed, what, "Use Fista, or fewer rows.")

        if kernel is not None:
            rule = f"an empty list, or one with the {made.__name__} of this problem's rows and gates"
            if not isinstance(kernel, list) or not all(type(one) is made for one in kernel):
                raise fail("kernel", type(self).__name__, rule, kernel)
            if kernel and not kernel[0].fits(problem):
                raise fail("kernel", type(self).__name__, rule, describe("that of another problem"))

    @staticmethod
    def _threads(problem: GatedProblem) -> AbstractContextManager[None]:
        """Return the context that sets the threads of a solve."""
        return ONE_BLAS_THREAD if float(problem.n) ** 3 < _SMALL else ONE_NUMPY_THREAD
