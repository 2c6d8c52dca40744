"""The reference: the same problems stated in CVXPY and solved by any solver that it has."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array, NDArray
from clifford_rand_nn.problems.coordinates import as_array
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.problems.gated import Coefficients, GatedProblem, GatedReLUProblem, GatedRidgeProblem
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.problems.relu import ConvexReLUProblem, ReLUCoefficients
from clifford_rand_nn.solvers.base import Limits, Result, Status
from clifford_rand_nn.solvers.stopping import Watch, handed_over

Problem = GatedReLUProblem | GatedRidgeProblem | ConvexReLUProblem | LassoProblem

_KEPT = 1e-9  # a column of a Lasso is in use above this share of the largest weight: solvers return no exact zeros
# The names of the options by which solvers know the limits; any other solver is refused with a limit.
_OPTIONS = {
    "CLARABEL": {"max_iter": "max_iter", "max_time": "time_limit"},
    "SCS": {"max_iter": "max_iters", "max_time": "time_limit_secs"},
    "OSQP": {"max_iter": "max_iter", "max_time": "time_limit"},
}


class Program(NamedTuple):
    """A CVXPY problem in units of its own, and what it says once solved: objective, dual bound, coefficients, fit."""

    problem: cp.Problem
    read: Callable[[], tuple[float, DualBound, Any, Array]]


def translate(problem: object) -> Program:
    """Write a problem down in CVXPY.

    Data and real targets are divided by their largest entries, which bring beta along, and n times the mean loss is
    minimized: solvers have absolute tolerances.
    """
    if isinstance(problem, GatedProblem):
        return _gated(problem)
    if isinstance(problem, ConvexReLUProblem):
        return _relu(problem)
    if isinstance(problem, LassoProblem):
        return _lasso(problem)
    rule = "a GatedReLUProblem, a GatedRidgeProblem, a ConvexReLUProblem or a LassoProblem"
    raise fail("problem", "CvxpyReference", rule, describe(type(problem).__name__))


def weighted_loss(datafit: Datafit, f: Any, unit: float) -> Any:
    """Weighted sum of the losses as an expression; predictions and targets in units of ``unit``."""
    scaled = datafit.in_units(unit)
    return scaled.loss.cvxpy(cp, f, scaled.y, np.ascontiguousarray(np.broadcast_to(scaled.weights, scaled.y.shape)))


def units_of(X: Array, datafit: Datafit) -> tuple[float, float]:
    """Largest entries of the data and of real targets; 1 for labels and for zeros."""
    size = float(np.abs(X).max(initial=0.0)) or 1.0
    target = float(np.abs(datafit.y).max()) if datafit.loss.has_units else 1.0
    return size, target or 1.0


def _intercept(used: bool, C: int) -> Any:
    return cp.Variable((1, C)) if used else cp.Constant(np.zeros((1, C)))


def _some(columns: NDArray[Any]) -> Array:
    """Return columns (n, N), or one of zeros if there are none: CVXPY has no variables without entries."""
    return columns.astype(float) if columns.shape[1] else np.zeros((len(columns), 1))


def _norms(blocks: list[Any], p: int) -> Any:
    """Sum of the norms of groups, from the blocks (d, P) of each output."""
    stacked = cp.vstack(blocks)
    return cp.sum(cp.abs(stacked)) if p == 1 else cp.sum(cp.norm(stacked, 2, axis=0))


def _units_of(X: Array, P: int, C: int, bias: bool) -> tuple[list[Any], list[Any], list[Any]]:
    """Variables of P units and C outputs, by output: weights (d, P), biases (1, P), and what the units see (n, P)."""
    n, d = X.shape
    U = [cp.Variable((d, P)) for _ in range(C)]
    b = [cp.Variable((1, P)) for _ in range(C)] if bias else []
    seen = [X @ u + np.ones((n, 1)) @ b[c] if bias else X @ u for c, u in enumerate(U)]
    return U, b, seen


def _summed(D: Array, seen: list[Any]) -> Any:
    """Predictions (n, C) of what is on."""
    return cp.hstack([cp.sum(cp.multiply(D, z), axis=1, keepdims=True) for z in seen])


def _values(U: list[Any], b: list[Any], size: float, unit: float) -> tuple[Array, Array]:
    coef = np.stack([u.value.T for u in U]) * (unit / size)
    return coef, np.stack([v.value[0] for v in b]) * unit if b else np.zeros(coef.shape[:2])


def _gated(problem: GatedProblem) -> Program:
    D, C, n = problem.map.patterns, problem.outputs, problem.n
    X, P, on = as_array(problem.X), D.shape[1], _some(D)
    size, unit = units_of(X, problem.datafit)
    t = _intercept(problem.map.fit_intercept, C)
    f = cp.Variable((n, C))
    U, b, seen = _units_of(X / size, on.shape[1], C, problem.map.bias)
    ridge = isinstance(problem, GatedRidgeProblem)
    weight = problem.beta * (n / size**2 if ridge else n / (size * unit))
    penalty = weight * (0.5 * cp.sum_squares(cp.vstack(U)) if ridge else _norms(U, 2))
    total = cp.Minimize(weighted_loss(problem.datafit, f, unit) + penalty)
    stated = cp.Problem(total, [f == np.ones((n, 1)) @ t + _summed(on, seen)])

    def read() -> tuple[float, DualBound, Any, Array]:
        coef, gate = (values[:, :P] for values in _values(U, b, size, unit))
        coefficients = Coefficients(coef, gate, unit * t.value[0])
        fitted = np.tile(coefficients.intercept, (n, 1))
        for i in range(P):
            fitted += D[:, [i]] * (X @ coef[:, i].T + gate[:, i])
        norms = np.linalg.norm(coef, axis=(0, 2))
        charge = problem.beta * float(0.5 * (norms @ norms) if ridge else norms.sum())
        return problem.datafit.value(fitted) + charge, problem.dual_bound(fitted), coefficients, fitted

    return Program(stated, read)


def _relu(problem: ConvexReLUProblem) -> Program:
    D, C, n = problem.patterns, problem.outputs, problem.n
    P, on = D.shape[1], _some(D)
    size, unit = units_of(problem.X, problem.datafit)
    t = _intercept(problem.fit_intercept, C)
    f = cp.Variable((n, C))
    inside, constraints, halves = np.ones((n, 1)) @ t, [], []
    total = weighted_loss(problem.datafit, f, unit)
    for sign in (1.0, -1.0):
        U, b, seen = _units_of(problem.X / size, on.shape[1], C, problem.bias)
        halves.append((U, b))
        constraints += [cp.multiply(2 * on - 1, z) >= 0 for z in seen]
        inside = inside + sign * _summed(on, seen)
        total = total + n * problem.beta / (size * unit) * _norms(U, problem.p)
    stated = cp.Problem(cp.Minimize(total), [*constraints, f == inside])

    def read() -> tuple[float, DualBound, Any, Array]:
        (plus, b_plus), (minus, b_minus) = ([part[:, :P] for part in _values(U, b, size, unit)] for U, b in halves)
        coefficients = problem.feasible(ReLUCoefficients(plus, minus, b_plus, b_minus, unit * t.value[0]))
        fitted = problem.network_predictions(coefficients)
        return problem.objective(coefficients, fitted), problem.dual_bound(fitted), coefficients, fitted

    return Program(stated, read)


def _lasso(problem: LassoProblem) -> Program:
    n, C, K = problem.n, problem.outputs, _some(problem.K)
    size, unit = units_of(problem.K, problem.datafit)
    t = _intercept(problem.fit_intercept, C)
    f = cp.Variable((n, C))
    Z = cp.Variable((K.shape[1], C))
    penalty = n * problem.beta / (size * unit) * (cp.norm1(Z) if C == 1 else cp.sum(cp.norm(Z, 2, axis=1)))
    total = cp.Minimize(weighted_loss(problem.datafit, f, unit) + penalty)
    stated = cp.Problem(total, [f == (K / size) @ Z + np.ones((n, 1)) @ t])

    def read() -> tuple[float, DualBound, Any, Array]:
        values = Z.value[: problem.K.shape[1]] * (unit / size)
        norms = np.linalg.norm(values, axis=1)
        (used,) = np.nonzero(norms > _KEPT * norms.max(initial=0.0))
        weights = Weights(used, values[used], unit * t.value[0])
        fitted = problem.predictions(weights)
        return problem.objective(weights, fitted), problem.dual_bound(fitted), weights, fitted

    return Program(stated, read)


@dataclass(frozen=True, kw_only=True)
class CvxpyReference(Limits):
    """Solve a problem as it is written down, by CVXPY: slow, accurate, and sharing no code with our solvers.

    It takes a `GatedReLUProblem`, a `GatedRidgeProblem`, a `ConvexReLUProblem` or a `LassoProblem`. Only the gap is
    ours: it is computed from the returned predictions, like everybody's, and a point outside the cones of a
    `ConvexReLUProblem` is projected.

    A gap above ``tol`` is reported by the status; the solver's own tolerances are its own, pass them in
    ``options``. CLARABEL, SCS and OSQP keep to ``max_iter`` and ``max_time``; the callback is called at the end.
    ``max_memory``: no solver can be held to one. Raises ArgumentError: the solver is not installed, or does not
    keep to a limit that was given.
    """

    solver: str = "CLARABEL"  # any solver that CVXPY has installed; CLARABEL comes with it
    options: dict[str, Any] | None = None  # passed to the solver; they replace the limits

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.solver not in cp.installed_solvers():
            rule = f"one of {', '.join(cp.installed_solvers())}"
            raise fail("solver", "CvxpyReference", rule, self.solver, "Install the solver, or choose one of these.")
        for name, usual in (("max_iter", Limits.max_iter), ("max_time", None), ("max_memory", None)):
            value = getattr(self, name)
            if value != usual and name not in _OPTIONS.get(self.solver, {}):
                raise fail(name, "CvxpyReference", f"{usual} with {self.solver}, which has no such limit", value)

    @handed_over
    def solve(self, problem: Problem, start: object = None) -> Result[Any]:
        """Minimize the problem; ``start`` is ignored, an interior-point method has no use for it."""
        began = time.perf_counter()
        program = translate(problem)
        watch = Watch[Any](self, problem.relative_gap, "tighten options", began)
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
        solution, n_iter = program.read(), int(program.problem.solver_stats.num_iters or 0)
        with watch:
            watch.check(n_iter, *solution)
        if watch.status is None:
            watch.stop(Status.STALLED)
        return watch.result(f"cvxpy:{self.solver}", watch.point)
