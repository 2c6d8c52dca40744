"""Automatic solver of a gated problem, by a cost model fitted to measurements."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from clifford_rand._checks import describe, fail
from clifford_rand.errors import require
from clifford_rand_nn.cost import Estimate, memory_limit
from clifford_rand_nn.problems.gated import Coefficients, GatedProblem, GatedReLUProblem, GatedRidgeProblem, Point
from clifford_rand_nn.solvers.base import Limits, Result, Status, is_stuck, with_status
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gate_working_set import GateWorkingSet
from clifford_rand_nn.solvers.gram_design import GatedDesign
from clifford_rand_nn.solvers.gram_newton import GramNewton
from clifford_rand_nn.solvers.kernel_interior_point import KernelInteriorPoint
from clifford_rand_nn.solvers.kernel_newton import KernelNewton
from clifford_rand_nn.solvers.stopping import handed_over
from clifford_rand_nn.sparse_rows import row_squares

GatedTask = GatedReLUProblem | GatedRidgeProblem

# Seconds a unit of work on two cores; only their ratios matter for the choice.
_FACTOR = 5.8e-12  # n³ of a Cholesky factorization
_INVERSE = 1.8e-11  # n³ of an inverse from its factor
_SOLVE = 2.5e-11  # n² times right-hand sides
_SUM = 3.5e-11  # n² times gates: the weighted kernel
_PRODUCT = 4e-11  # n r P C: one product with the rows in double precision
_SPARSE_PRODUCT = 1e-9  # the same a stored number of sparse rows
_PRODUCTS = 10  # of a step of the kernel method
_SUMS = 1.1e-11  # n N² of the sums over rows of N columns; half of that, as of all here, in single precision
_PASS = 2.8e-11  # n N C of a product with the columns and back, in single precision
# Steps on the sums, 6 to 20 with norms; of conjugate gradients in each, 2 to 50; and where a step's system is exact.
_CENTRAL_STEPS = 14
_CG_STEPS = 15
_EXACT_STEPS = 2
_STEP = 1e-3  # what a step costs whatever the size
_ITERATION = 1.5e-4
_SINGLE = 0.4  # time of a product in single precision, as a share
# Iterations of FISTA to a gap of 1e-6 at beta = 0.1 beta_max, and how they grow as beta falls: 193, 1053 and some 6000
# at 0.1, 0.01 and 0.001 (text-like data, n = 2000, d = 384, P = 50).
_ITERATIONS = 190.0
_GROWTH = 0.75
_TOP = 0.1  # the largest eigenvalue of the kernel as a share of its trace, 0.02 to 0.44 on six sets of features
_PER_ROOT = 0.5  # iterations with squared norms per root of the condition and factor e of the gap, on those sets
# Time of FISTA over that of the working set around it, to a gap of 1e-6 (n = 2000, d = 50 to 100, pixels and text), for
# beta from 0.3 to 0.01 of beta_max: P = 100: 1.0 to 0.6; P = 300: 0.7 to 1.3; P = 1000: more than 13 and more than 4.
_MANY_GATES = 500  # from which `GateWorkingSet` around FISTA is likely faster
_MOST_STEPS = 100  # of the kernel method
_ON_A_PATH = 0.2  # of its time: one or two steps instead of six, on a kernel that is there
_SOUND = 1e-6  # rounding of the kernel's entries, as a share of n times beta, beyond which its network is another

GATED_SOLVERS = ("auto", "kernel", "gram", "fista", "cvxpy")  # names in estimators and `refine_gates`


def _product(problem: GatedTask) -> float:
    """Return the seconds of a product of the rows with one column, in double precision."""
    rows = problem.map.rows
    return _SPARSE_PRODUCT * rows.nnz if issparse(rows) else _PRODUCT * float(problem.n) * problem.map.d


def estimate_kernel(problem: GatedReLUProblem) -> Estimate:
    """Estimate of `KernelInteriorPoint` to a gap of 1e-6 or below."""
    n, C, a = problem.n, problem.outputs, problem.map
    loss = problem.datafit.loss
    cubes = KernelInteriorPoint.factors(problem) * _FACTOR + (0.0 if loss.separable else C * _INVERSE + _FACTOR)
    sides = a.n_patterns + a.Q.shape[1] * C
    step = cubes * n**3 + n * n * (_SOLVE * sides * C + _SUM * a.n_patterns)
    step += _PRODUCTS * _product(problem) * a.n_patterns * C + _STEP
    step += _FACTOR * sides**3 + _SUMS * n * C * sides**2  # the border of the Newton system
    return Estimate(loss.interior_steps * step, KernelInteriorPoint.memory(problem))


def estimate_newton(problem: GatedRidgeProblem) -> Estimate:
    """Estimate of `KernelNewton` to a gap of 1e-6 or below."""
    n, C, a = problem.n, problem.outputs, problem.map
    loss = problem.datafit.loss
    cubes = 1 if loss.is_quadratic else C
    cost = cubes * _FACTOR + (0.0 if loss.separable else C * _INVERSE + _FACTOR)
    step = cost * n**3 + n * n * _SOLVE * (a.Q.shape[1] * C + 1) * C + _STEP
    whole = loss.newton_steps * step + n * n * _SUM * a.n_patterns + _product(problem) * a.n_patterns * C
    return Estimate(whole, KernelNewton.memory(problem))


def estimate_gram(problem: GatedTask, again: bool = False) -> Estimate:
    """Estimate of `GramNewton` to a gap of 1e-6 or below; ``again``, where its columns and their sums are there.

    It is infinite for rows that stay sparse.
    """
    if issparse(problem.map.rows):
        return Estimate(np.inf, np.inf)
    n, C, a = problem.n, problem.outputs, problem.map
    loss, norms = problem.datafit.loss, isinstance(problem, GatedReLUProblem)
    N = float(a.d * a.n_patterns + a.Q.shape[1])
    step = _FACTOR * N**3 + N * N * _SOLVE * (a.n_patterns * C if norms else 0)
    check = 4 * _PASS * n * N * C
    if loss.is_quadratic:
        whole = (0.0 if again else _SUMS * n * N * N) + check + (_CENTRAL_STEPS / 2 if norms else 1) * (step + _STEP)
        return Estimate(whole, GramNewton.memory(problem))
    turns = _EXACT_STEPS if C == 1 else _CG_STEPS
    step = 0.5 * (step + _SUMS * n * N * N) + turns * (_PASS * n * N * C + _SOLVE * N * N * C) + check + _STEP
    steps = _CENTRAL_STEPS if norms else loss.newton_steps
    return Estimate(steps * step, GramNewton.memory(problem))


def estimate_fista(problem: GatedTask, tol: float) -> Estimate:
    """Estimate of `Fista`, from how far beta is below the largest correlation with the residual of the zero network.

    With squared norms, from the condition of the problem. It is infinite for a loss without a bound of its curvature.
    """
    if not problem.datafit.loss.has_bounded_curvature:
        return Estimate(np.inf, np.inf)
    n, C, a = problem.n, problem.outputs, problem.map
    if isinstance(problem, GatedReLUProblem):
        falls = max(problem.zero_norm / n / problem.beta / 10, 1.0)
        iterations = _ITERATIONS * falls**_GROWTH * max(-np.log10(tol), 1.0) / 6
    else:
        condition = 1 + _TOP * problem.beta_max() / problem.beta
        iterations = _PER_ROOT * float(np.sqrt(condition)) * max(-np.log(tol), 1.0)
    product = _product(problem) * (_SINGLE if problem.X.dtype == np.float32 else 1.0)
    return Estimate(iterations * (2 * product * a.n_patterns * C + _ITERATION), Fista.memory(problem))


def _of_few_steps(problem: GatedTask) -> Estimate:
    """Return the estimate of the kernel method."""
    return estimate_newton(problem) if isinstance(problem, GatedRidgeProblem) else estimate_kernel(problem)


def expected_seconds(problem: GatedTask) -> float:
    """Return the seconds that a method of few steps is expected to take, whatever the weight of the penalty."""
    return min(_of_few_steps(problem).seconds, estimate_gram(problem).seconds)


def expected_cost(problem: GatedTask, tol: float, max_memory: float | None = None) -> Estimate:
    """Return the estimate of the solver that `AutoSolver` takes; with too little memory, of the one that needs least.

    >>> X = np.array([[-1.0], [1.0], [2.0]])
    >>> expected_cost(GatedReLUProblem(X, np.array([0.0, 1.0, 2.5]), X >= 0, beta=0.01), 1e-6).seconds < 1
    True
    """
    most = memory_limit(max_memory)
    solvers = [_of_few_steps(problem), estimate_gram(problem), estimate_fista(problem, tol)]
    fitting = [solver for solver in solvers if solver.bytes <= most]
    return min(fitting) if fitting else min(solvers, key=lambda solver: solver.bytes)


@dataclass(frozen=True, kw_only=True)
class AutoSolver(Limits):
    """Solve a gated problem by the solver that is expected to be fastest within the memory there is.

    The kernel method takes a few steps of order n³, `GramNewton` some of order n(rP)² and (rP)³, FISTA many of order
    nrP; the times are estimated from n, the rank r, the numbers P of gates and of outputs, the loss, beta and ``tol``.
    The kernel method is `KernelInteriorPoint` for `GatedReLUProblem`, whose thousands of gates otherwise go through
    `GateWorkingSet`, and `KernelNewton` for `GatedRidgeProblem`. If a method of few steps ends by rounding, FISTA goes
    on from its best point; after `GramNewton` first the kernel method, which keeps more digits, if it is expected to
    take no longer. ``reason`` of the result says what was chosen and why.

    The kernel method takes at most 100 iterations; ``max_memory=None`` is half of the machine's.

    Examples
    --------
    >>> X, y = np.array([[-1.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.5])
    >>> AutoSolver().solve(GatedReLUProblem(X, y, X >= 0, beta=0.01)).solver
    'kernel'
    """

    def choose(
        self, problem: GatedTask, shared: bool = False
    ) -> tuple[KernelInteriorPoint | KernelNewton | GramNewton | Fista | GateWorkingSet, str]:
        """Return the solver for a problem, and why; with ``shared``, for one of many that share a kernel.

        Raises ArgumentError: no solver keeps to ``max_memory``.
        """
        self.admit(problem, GatedProblem)
        kernel = _of_few_steps(problem)
        sums, fista = estimate_gram(problem, shared), estimate_fista(problem, self.tol)
        most = memory_limit(self.max_memory)
        least = min(kernel.bytes, sums.bytes, fista.bytes)
        if least > most:
            needed = f"at least {least:.2g} bytes for this problem"
            raise fail("max_memory", "AutoSolver", needed, describe(f"{most:.2g}"))
        stays = issparse(problem.map.rows)
        what = f"{problem.map.d} sparse columns" if stays else f"rank {problem.map.d}"
        about = f"n = {problem.n}, {what}, {problem.map.n_patterns} gates: "
        on_a_path = _ON_A_PATH if shared and isinstance(problem, GatedRidgeProblem) else 1.0
        seconds = {"first-order": fista.seconds if fista.bytes <= most else np.inf}
        if sums.bytes <= most:
            seconds["sums over rows"] = sums.seconds
        if kernel.bytes > most:
            about += f"the kernel's matrices would take {kernel.bytes / 2**30:.1f} GiB, "
        elif problem.datafit.loss.has_bounded_curvature and _is_rounding(problem):
            about += "the kernel's entries would be rounding, "
        else:
            seconds["kernel"] = on_a_path * kernel.seconds
        about += ", ".join(f"{name} some {seconds[name]:.1g} s" for name in reversed(seconds))
        fastest = min(reversed(seconds), key=lambda name: seconds[name])
        steps = min(self.max_iter, _MOST_STEPS)
        if fastest == "kernel":
            method = KernelNewton if isinstance(problem, GatedRidgeProblem) else KernelInteriorPoint
            return method(**self.shared(max_iter=steps)), about
        if fastest == "sums over rows":
            return GramNewton(**self.shared(max_iter=steps, max_memory=most)), about
        first = Fista(**self.shared())
        if isinstance(problem, GatedReLUProblem) and problem.map.n_patterns >= _MANY_GATES:
            return GateWorkingSet(replace(first, callback=None), **self.shared()), about
        return first, about

    @handed_over
    def solve(
        self, problem: GatedTask, start: Point | Result[Coefficients] | None = None, kernel: list[Any] | None = None
    ) -> Result[Coefficients]:
        """Minimize the problem, from a point or the result for another beta if there is one.

        ``kernel`` is as in the kernel methods and `GramNewton`, which keeps its last point there.
        """
        chosen, reason = self.choose(problem, kernel is not None)
        solver: Any = chosen  # it fits the problem
        if isinstance(start, Result):
            kept = isinstance(chosen, GramNewton) and start.solver == "gram" and kernel
            start = None if kept else problem.point(start.coefficients)
        if isinstance(chosen, Fista | GateWorkingSet):
            return replace(solver.solve(problem, start), reason=reason)
        sums = isinstance(chosen, GramNewton)
        own = [columns for columns in kernel or [] if isinstance(columns, GatedDesign) == sums]
        known = len(own)
        result = solver.solve(problem, start, own)
        if kernel is not None:
            kernel += own[known:]
        for name, more in self._fallbacks(problem, sums) if is_stuck(result) else ():
            if not is_stuck(result) or result.n_iter >= self.max_iter:
                break
            left = self.after(result.seconds, max_iter=min(self.max_iter - result.n_iter, more.max_iter)).shared()
            again = more(**left).solve(problem, problem.point(result.coefficients))
            result = _merged(problem, result, again, self.tol)
            reason += f"; it stalled by rounding, {name} continued"
        return replace(result, reason=reason)

    def _fallbacks(self, problem: GatedTask, sums: bool) -> list[tuple[str, Any]]:
        """Return what goes on where a method of few steps stalls: after sums over rows the kernel, then FISTA."""
        if not problem.datafit.loss.has_bounded_curvature:
            return []
        fallbacks: list[tuple[str, Any]] = [("FISTA", Fista)]
        kernel, first = _of_few_steps(problem), estimate_fista(problem, self.tol)
        if sums and kernel.bytes <= memory_limit(self.max_memory) and kernel.seconds <= first.seconds:
            method = KernelNewton if isinstance(problem, GatedRidgeProblem) else KernelInteriorPoint
            fallbacks.insert(0, ("the kernel method", method))
        return fallbacks


def _is_rounding(problem: GatedTask) -> bool:
    """Whether rounding of the largest entry of the kernel is a share of n beta over the curvature beside it.

    The curvature is 1, and for a loss with linear tails the largest dual entry over the largest residual.
    """
    largest = float(row_squares(problem.map.rows).max(initial=0.0)) * problem.map.n_patterns
    datafit, softness = problem.datafit, 1.0
    if datafit.loss.even and not datafit.loss.is_quadratic:
        null = problem.null_predictions
        softness = max(np.abs(datafit.y - null).max() / (np.abs(datafit.residual(null)).max() or 1.0), 1.0)
    return bool(largest * np.finfo(np.float64).eps > _SOUND * problem.n * problem.beta * softness)


def _merged(
    problem: GatedTask, first: Result[Coefficients], second: Result[Coefficients], tol: float
) -> Result[Coefficients]:
    """Return the better point of two runs with the better bound of both, and the history of both."""
    best = first if first.objective < second.objective else second
    proof = max(first, second, key=lambda result: result.objective - result.duality_gap)
    bound = proof.objective - proof.duality_gap
    gap = problem.relative_gap(best.objective, bound)
    later = tuple(
        row._replace(n_iter=row.n_iter + first.n_iter, seconds=row.seconds + first.seconds) for row in second.history
    )
    return with_status(
        best,
        Status.OPTIMAL if gap <= tol and not second.status.ends_all else second.status,
        duality_gap=max(best.objective - bound, 0.0),
        relative_gap=gap,
        dual_point=proof.dual_point,
        n_iter=first.n_iter + second.n_iter,
        seconds=first.seconds + second.seconds,
        history=first.history + later,
        solver=f"{first.solver}, {second.solver}",
    )


def gated_solver(name: str, penalty: str = "group_l2") -> type[Any]:
    """Return the class of solvers, one of `GATED_SOLVERS`, of gated problems with a penalty."""
    if name == "cvxpy":
        require("cvxpy", purpose="solver='cvxpy'")
        from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference  # takes a second to import

        return CvxpyReference
    kernel_method = KernelNewton if penalty == "ridge" else KernelInteriorPoint
    return {"auto": AutoSolver, "kernel": kernel_method, "gram": GramNewton, "fista": Fista}[name]
