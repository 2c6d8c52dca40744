"""The gated problem over thousands of gates: solved on those that matter, with a gap over all of them."""

from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_integer
from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.problems.gated import Coefficients, GatedReLUProblem, Point
from clifford_rand_nn.solvers.base import Limits, Result, Status
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.stopping import Watch, handed_over

_SHARE = 0.1  # of the gap so far: the tolerance of the next restricted problem
_LAST = 0.5  # of tol: the tolerance of the last ones, which leaves room for gates that rounding puts above the bound
_FIRST = 32  # gates to begin with, at least
_FIRST_SHARE = 0.02  # of all gates, if that is more
_VIOLATED = 1e-12  # of the bound: a gate that is above it by less is so by rounding


@dataclass(frozen=True)
class GateWorkingSet(Limits):
    r"""Solve `GatedReLUProblem` on a growing set of gates, until the gap over all gates is small.

    A round solves the problem with :math:`U_i = 0` outside the working set and all biases free, prices every gate by
    :math:`||X^TD_i\theta||_F` at the dual point found, and adds the gates with the largest prices above
    :math:`n\beta`, at most as many as the set has. Scaled to feasibility for all gates, the dual point bounds the
    problem over all gates. A restricted problem is solved to a tenth of the gap so far, from the last solution.

    ``inner``: solves the restricted problems, to tolerances and within limits of the rounds. The gap is over all gates,
    iterations are those of the inner solver in all rounds, and there is a `HistoryRow` for each round.

    References
    ----------
    Massias, Gramfort, Salmon, "Celer: a fast solver for the Lasso with dual extrapolation", ICML 2018, Algorithm 4
    (the working set; here it only grows).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 2))
    >>> problem = GatedReLUProblem(X, X[:, 0] * (X[:, 1] > 0), X @ rng.standard_normal((2, 200)) > 0, 0.05, bias=False)
    >>> result = GateWorkingSet(tol=1e-8).solve(problem)
    >>> result.status, result.coefficients.coef.shape
    (<Status.OPTIMAL: 'optimal'>, (1, 200, 2))
    """

    inner: Fista = field(default_factory=Fista)
    max_rounds: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(self.max_rounds, "max_rounds", "GateWorkingSet")

    @handed_over
    def solve(self, problem: GatedReLUProblem, start: Point | None = None) -> Result[Coefficients]:
        """Minimize the problem over all its gates, from ``start`` or the best point without a gate."""
        self.admit(problem, GatedReLUProblem, start, "Fista is for the penalty 'ridge'.")
        watch = Watch[Coefficients](self, problem.relative_gap)
        needed = 8.0 * 4 * problem.outputs * (problem.map.d * problem.map.n_patterns + problem.n)
        self.admit_memory(needed, f"{problem.map.n_patterns} gates", "Take fewer gates.")
        with watch:
            self._rounds(problem, problem.null_point() if start is None else start, watch)
        return watch.result("working_set:fista", watch.point)

    def _rounds(self, problem: GatedReLUProblem, z: Point, watch: Watch[Coefficients]) -> None:
        f = problem.predictions(z)
        chosen = problem.penalty.norms(z.U) > 0
        bound, sizes = priced(problem, problem.datafit.residual(f))
        coefficients = problem.coefficients(z)
        watch.check(0, problem.objective(z, f), bound, coefficients, f)
        chosen[_largest(np.where(chosen, -np.inf, sizes), max(_FIRST, int(_FIRST_SHARE * sizes.size)))] = True
        gates, small, steps, rounds = np.zeros(0, dtype=np.intp), problem, 0, 0
        while watch.status is None:
            rounds += 1
            if rounds == 1 or gates.size < np.count_nonzero(chosen):
                gates = np.flatnonzero(chosen)
                small = restricted(problem, gates)
            if self.max_memory is not None and Fista.memory(small) > self.max_memory:
                return watch.stop(Status.MAX_MEMORY)
            inner = replace(
                self.inner,
                tol=max(_LAST * self.tol, _SHARE * watch.gap),
                max_iter=min(self.inner.max_iter, self.max_iter - watch.n_iter),
                max_time=self.after(watch.seconds).max_time,
                max_memory=self.max_memory,
            )
            taken = coefficients._replace(coef=np.ascontiguousarray(coefficients.coef[:, gates]))
            inner_result = inner.solve(small, small.point(taken))
            steps += inner_result.n_iter
            coefficients = _spread(inner_result.coefficients, gates, chosen.size)
            bound, sizes = priced(problem, inner_result.dual_point)
            watch.check(steps, inner_result.objective, bound, coefficients, inner_result.fitted)
            above = np.where(chosen, -np.inf, sizes) > problem.n * problem.beta * (1 + _VIOLATED)
            chosen[_largest(np.where(above, sizes, -np.inf), gates.size)] = True
            if inner_result.status.ends_all or (watch.status is None and not inner_result.converged):
                watch.stop(inner_result.status, f"the inner solver ({inner_result.solver}) {inner_result.message}")
            elif watch.status is None and rounds == self.max_rounds:
                watch.stop(Status.MAX_ITER, f"after {rounds} rounds, try a larger max_rounds or a larger tol")
            elif watch.status is None and not above.any() and inner_result.relative_gap <= _LAST * self.tol < watch.gap:
                watch.stop(Status.STALLED, "rounding leaves no gate to add, try a larger tol")
        return None


def restricted(problem: GatedReLUProblem, gates: NDArray[np.intp]) -> GatedReLUProblem:
    r"""Return the problem with :math:`U_i = 0` for all but the given gates, and the biases of *all* gates still free.

    Its ``coefficients`` have coef (C, W, d) for the W gates and gate_intercept (C, P) for all.
    """
    small = copy(problem)
    small.map = problem.map.restricted(gates)
    small.penalty = copy(problem.penalty)
    return small


def priced(problem: GatedReLUProblem, theta: Array) -> tuple[DualBound, Array]:
    r"""Lower bound from a dual point, feasible for some of the gates, and :math:`||X^TD_i\theta||_F` of every gate."""
    sizes: list[Array] = []

    def size(theta: Array) -> float:
        G = problem.map.gated_adjoint(theta)
        sizes.append(np.sqrt(np.einsum("r,rpc,rpc->p", problem.penalty.weights**-2.0, G, G)))
        return float(sizes[-1].max(initial=0.0))

    return problem.bound_at(theta, size), sizes[-1]


def _largest(values: Array, most: int) -> NDArray[np.intp]:
    """Return the indices of at most ``most`` largest values above -inf; of equal ones the first."""
    order = np.argsort(-values, kind="stable")[:most]
    return order[values[order] > -np.inf]


def _spread(some: Coefficients, gates: NDArray[np.intp], n_gates: int) -> Coefficients:
    C, _, d = some.coef.shape
    coef = np.zeros((C, n_gates, d))
    coef[:, gates] = some.coef
    return Coefficients(coef, some.gate_intercept, some.intercept)
