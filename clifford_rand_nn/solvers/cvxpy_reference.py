"""The reference: the same problem stated in CVXPY and solved by an interior-point method."""

import time
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from clifford_rand._checks import fail
from clifford_rand_nn.problems.problem import Coefficients, GatedReLUProblem, Point
from clifford_rand_nn.solvers.base import HistoryRow, Result

__all__ = ["CvxpyReference"]


@dataclass(frozen=True)
class CvxpyReference:
    """Solve a `GatedReLUProblem` as it is written down, by CVXPY: slow, accurate, and sharing no code with our solvers.

    Only the gap is ours: it is computed from the returned predictions, like everybody's.

    Parameters
    ----------
    tol : float
        Relative duality gap above which the status says that it was missed. The solver's own tolerances are its own;
        pass them in ``options``.
    solver : str
        Any solver that CVXPY has installed; CLARABEL comes with it.
    options : dict or None
        Passed to the solver.

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import GatedReLUProblem
    >>> X, y = np.array([[-1.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> problem = GatedReLUProblem(X, y, X >= 0, beta=0.01)
    >>> CvxpyReference().solve(problem).status
    'optimal'
    """

    tol: float = 1e-6
    solver: str = "CLARABEL"
    options: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.solver not in cp.installed_solvers():
            raise fail("solver", "CvxpyReference", f"one of {', '.join(cp.installed_solvers())}", self.solver)

    def solve(self, problem: GatedReLUProblem, start: Point | None = None) -> Result:
        """Minimise the problem; ``start`` is ignored, an interior-point method has no use for it."""
        began = time.perf_counter()
        X, D, y, n = problem.X, problem.map.patterns, problem.datafit.y, problem.n
        d, P, C = X.shape[1], D.shape[1], y.shape[1]
        U = [cp.Variable((d, C)) for _ in range(P)]
        b = [cp.Variable((1, C)) for _ in range(P)] if problem.map.bias else []
        t = cp.Variable((1, C)) if problem.map.fit_intercept else cp.Constant(np.zeros((1, C)))
        f = cp.Variable((n, C))
        terms = []
        for i in range(P):
            (rows,) = np.nonzero(D[:, i])
            inside = X[rows] @ U[i]
            if b:
                inside = inside + np.ones((len(rows), 1)) @ b[i]
            scatter = np.zeros((n, len(rows)))
            scatter[rows, np.arange(len(rows))] = 1
            terms.append(cp.Constant(scatter) @ inside if len(rows) < n else inside)
        constraints = [f == sum(terms, start=np.ones((n, 1)) @ t)]
        objective = _loss(problem.loss, f, y) / n
        if P:
            objective = objective + problem.beta * cp.sum(cp.hstack([cp.norm(u, "fro") for u in U]))
        program = cp.Problem(cp.Minimize(objective), constraints)
        program.solve(solver=self.solver, **(self.options or {}))
        if f.value is None:
            raise RuntimeError(f"{self.solver} found no solution: {program.status}")
        coefficients = Coefficients(
            np.stack([u.value.T for u in U], axis=1) if P else np.zeros((C, 0, d)),
            np.stack([v.value[0] for v in b], axis=1) if b else np.zeros((C, P)),
            t.value[0],
        )
        fitted = np.tile(coefficients.intercept, (n, 1))
        for i in range(P):
            fitted += D[:, [i]] * (X @ coefficients.coef[:, i].T + coefficients.gate_intercept[:, i])
        norms = np.linalg.norm(coefficients.coef, axis=(0, 2))
        value = problem.datafit.value(fitted) + problem.beta * float(norms.sum())
        bound = problem.dual_bound(fitted)
        gap = problem.relative_gap(value, bound.value)
        seconds = time.perf_counter() - began
        n_iter = int(program.solver_stats.num_iters or 0)
        return Result(
            objective=value,
            duality_gap=max(value - bound.value, 0.0),
            relative_gap=gap,
            n_iter=n_iter,
            status="optimal" if gap <= self.tol else f"{program.status}, relative gap {gap:.1e}: tighten options",
            history=(HistoryRow(n_iter, seconds, value, gap),),
            solver=f"cvxpy:{self.solver}",
            seconds=seconds,
            coefficients=coefficients,
            fitted=fitted,
            dual_point=bound.theta,
        )


def _loss(loss: str, f: Any, y: Any) -> Any:
    """Sum of the losses as a CVXPY expression."""
    if loss == "squared":
        return 0.5 * cp.sum_squares(f - y)
    if loss == "logistic":
        return cp.sum(cp.logistic(-cp.multiply(y, f)))
    return cp.sum(cp.log_sum_exp(f, axis=1)) - cp.sum(cp.multiply(y, f))
