"""The reference: the same problems stated in CVXPY and solved by any solver that it has."""

import copy
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp

from clifford_rand._checks import check_positive, fail
from clifford_rand_nn.problems.gated import GatedProblem
from clifford_rand_nn.solvers.base import HistoryRow, Result
from clifford_rand_nn.solvers.cvxpy_programs import Problem, Program, translate

__all__ = ["CvxpyReference"]


@dataclass(frozen=True)
class CvxpyReference:
    """Solve a problem as it is written down, by CVXPY: slow, accurate, and sharing no code with our solvers.

    It takes a `GatedReLUProblem`, a `GatedRidgeProblem`, a `ConvexReLUProblem` or a `LassoProblem`. Only the gap is
    ours: it is computed from the returned predictions, like everybody's, and a point outside the cones of a
    `ConvexReLUProblem` is projected.

    Parameters
    ----------
    tol : float
        Relative duality gap above which the status says that it was missed. The solver's own tolerances are its own;
        pass them in ``options``.
    solver : str
        Any solver that CVXPY has installed; CLARABEL comes with it.
    options : dict or None
        Passed to the solver.

    Raises
    ------
    ArgumentError
        The solver is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import GatedReLUProblem
    >>> X, y = np.array([[-1.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> problem = GatedReLUProblem(X, y, X >= 0, beta=0.01)
    >>> CvxpyReference().solve(problem).status
    'optimal'
    >>> [result.converged for result in CvxpyReference().solve_path(problem, [0.1, 0.01])]  # compiled once
    [True, True]
    """

    tol: float = 1e-6
    solver: str = "CLARABEL"
    options: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        check_positive(self.tol, "tol", "CvxpyReference")
        if self.solver not in cp.installed_solvers():
            rule = f"one of {', '.join(cp.installed_solvers())}"
            raise fail("solver", "CvxpyReference", rule, self.solver, "Install the solver, or choose one of these.")

    def solve(self, problem: Problem, start: object = None) -> Result[Any]:
        """Minimise the problem; ``start`` is ignored, an interior-point method has no use for it."""
        began = time.perf_counter()
        return self._solve(translate(problem), problem, began)

    def solve_path(self, problem: Problem, betas: Iterable[float]) -> list[Result[Any]]:
        """Minimise the problem for each of ``betas``, in place of its own; it is compiled once."""
        program = translate(problem)
        results = []
        for beta in betas:
            began = time.perf_counter()
            results.append(self._solve(program, _with_beta(problem, beta), began))
        return results

    def _solve(self, program: Program, problem: Problem, began: float) -> Result[Any]:
        program.beta.value = program.factor * problem.beta
        try:
            program.problem.solve(solver=self.solver, **(self.options or {}))
        except cp.SolverError as error:
            raise RuntimeError(f"{self.solver} failed on this problem: try another solver or options") from error
        if program.problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE, cp.USER_LIMIT):
            raise RuntimeError(f"{self.solver} found no solution: {program.problem.status}")
        if any(variable.value is None for variable in program.problem.variables()):
            raise RuntimeError(f"{self.solver} returned no point: {program.problem.status}")
        reply = program.read(problem)
        gap = problem.relative_gap(reply.objective, reply.dual_value)
        seconds = time.perf_counter() - began
        n_iter = int(program.problem.solver_stats.num_iters or 0)
        missed = f"{program.problem.status}, relative gap {gap:.1e}: tighten options"
        return Result(
            objective=reply.objective,
            duality_gap=max(reply.objective - reply.dual_value, 0.0),
            relative_gap=gap,
            n_iter=n_iter,
            status="optimal" if gap <= self.tol else missed,
            history=(HistoryRow(n_iter, seconds, reply.objective, gap),),
            solver=f"cvxpy:{self.solver}",
            seconds=seconds,
            coefficients=reply.coefficients,
            fitted=reply.fitted,
            dual_point=reply.theta,
        )


def _with_beta(problem: Problem, beta: float) -> Problem:
    """Return the problem with another beta; the data are shared."""
    beta = check_positive(beta, "betas", "CvxpyReference.solve_path")
    other = copy.copy(problem)
    if isinstance(other, GatedProblem):
        other.penalty = copy.copy(other.penalty)
        other.penalty.beta = beta
    else:
        other.beta = beta
    return other
