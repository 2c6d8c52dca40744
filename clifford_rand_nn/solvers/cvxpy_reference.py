"""The reference: the same problems stated in CVXPY and solved by any solver that it has."""

import copy
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp

from clifford_rand._checks import check_positive, fail
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.problems.gated import GatedProblem
from clifford_rand_nn.solvers.base import Limits, Result, Status
from clifford_rand_nn.solvers.cvxpy_programs import Problem, Program, translate
from clifford_rand_nn.solvers.watch import Watch

# The names of the options by which solvers know the limits; any other solver is refused with a limit.
_OPTIONS = {
    "CLARABEL": {"max_iter": "max_iter", "max_time": "time_limit"},
    "SCS": {"max_iter": "max_iters", "max_time": "time_limit_secs"},
    "OSQP": {"max_iter": "max_iter", "max_time": "time_limit"},
}


@dataclass(frozen=True, kw_only=True)
class CvxpyReference(Limits):
    """Solve a problem as it is written down, by CVXPY: slow, accurate, and sharing no code with our solvers.

    It takes a `GatedReLUProblem`, a `GatedRidgeProblem`, a `ConvexReLUProblem` or a `LassoProblem`. Only the gap is
    ours: it is computed from the returned predictions, like everybody's, and a point outside the cones of a
    `ConvexReLUProblem` is projected.

    Parameters
    ----------
    tol, max_iter, max_time, callback
        See `Limits`. A gap above ``tol`` is told by the status; the solver's own tolerances are its own, pass them in
        ``options``. CLARABEL, SCS and OSQP keep to ``max_iter`` and ``max_time``; the callback is called at the end.
    max_memory : None
        No solver can be held to one.
    solver : str
        Any solver that CVXPY has installed; CLARABEL comes with it.
    options : dict or None
        Passed to the solver; they replace the limits.

    Raises
    ------
    ArgumentError
        The solver is not installed, or does not keep to a limit that was given.

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn.problems.gated import GatedReLUProblem
    >>> X, y = np.array([[-1.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> problem = GatedReLUProblem(X, y, X >= 0, beta=0.01)
    >>> CvxpyReference().solve(problem).status
    <Status.OPTIMAL: 'optimal'>
    >>> [result.converged for result in CvxpyReference().solve_path(problem, [0.1, 0.01])]  # compiled once
    [True, True]
    """

    solver: str = "CLARABEL"
    options: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.solver not in cp.installed_solvers():
            rule = f"one of {', '.join(cp.installed_solvers())}"
            raise fail("solver", "CvxpyReference", rule, self.solver, "Install the solver, or choose one of these.")
        for name, usual in (("max_iter", Limits.max_iter), ("max_time", None), ("max_memory", None)):
            value = getattr(self, name)
            if value != usual and name not in _OPTIONS.get(self.solver, {}):
                raise fail(name, "CvxpyReference", f"{usual} with {self.solver}, which has no such limit", value)

    def solve(self, problem: Problem, start: object = None) -> Result[Any]:
        """Minimise the problem; ``start`` is ignored, an interior-point method has no use for it."""
        began = time.perf_counter()
        return self._solve(translate(problem), problem, began)

    def solve_path(self, problem: Problem, betas: Iterable[float]) -> list[Result[Any]]:
        """Minimise the problem for each of ``betas``, in place of its own; it is compiled once."""
        program = translate(problem)
        results = []
        for beta in betas:
            results.append(self._solve(program, _with_beta(problem, beta), time.perf_counter()))
        return results

    def _solve(self, program: Program, problem: Problem, began: float) -> Result[Any]:
        watch = Watch[Any](self, problem.relative_gap, "tighten options", began)
        program.beta.value = program.factor * problem.beta
        left = self.after(watch.seconds)
        limits = {option: getattr(left, name) for name, option in _OPTIONS.get(self.solver, {}).items()}
        options = {option: value for option, value in limits.items() if value is not None} | (self.options or {})
        try:
            program.problem.solve(solver=self.solver, **options)
        except cp.SolverError as error:
            raise RuntimeError(f"{self.solver} failed on this problem: try another solver or options") from error
        if program.problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE, cp.USER_LIMIT):
            raise RuntimeError(f"{self.solver} found no solution: {program.problem.status}")
        if any(variable.value is None for variable in program.problem.variables()):
            raise RuntimeError(f"{self.solver} returned no point: {program.problem.status}")
        reply = program.read(problem)
        n_iter = int(program.problem.solver_stats.num_iters or 0)
        with watch:
            bound = DualBound(reply.dual_value, reply.theta)
            watch.check(n_iter, reply.objective, bound, reply.coefficients, reply.fitted)
        if watch.status is None:
            watch.stop(Status.STALLED)
        return watch.result(f"cvxpy:{self.solver}", watch.point)


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
