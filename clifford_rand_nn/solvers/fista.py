"""FISTA with adaptive restart and adaptive step, stopped by the relative duality gap."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from clifford_rand._blas import ONE_BLAS_THREAD
from clifford_rand._checks import check_integer, check_positive
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.problems.gated import Coefficients, GatedReLUProblem, Point
from clifford_rand_nn.solvers.base import HistoryRow, Result
from clifford_rand_nn.solvers.watch import Watch

__all__ = ["Fista"]

# The step grows by this factor in every iteration until the majorisation test stops it. On embeddings of n = 2000,
# d = 384, P = 50 it took 830 instead of 1210 iterations to a gap of 1e-6; 0.95 and 0.90 took 850.
_RELAX = 0.98
_GROW = 1.1  # least growth of the Lipschitz estimate when the test fails
_NOISE = 64 * np.finfo(np.float64).eps  # predictions that differ by less than this share differ by rounding only

# A product below this size takes one thread 1 ms; a second gains little, and on a busy machine it waits for a core.
_SMALL = 2e7  # flops


@dataclass(frozen=True)
class Fista:
    r"""Accelerated proximal gradient for `GatedReLUProblem`.

    Beck and Teboulle's FISTA with the gradient restart of O'Donoghue and Candès. The step 1/L starts from a power
    iteration and adapts: L shrinks by 2 % an iteration and grows where :math:`\kappa||K\Delta||^2/n > L||\Delta||^2`
    for the move Δ, with κ the curvature bound of the loss and K the map; this test needs no difference of objective
    values, so it holds to full precision. One product with the data and one with its transpose per iteration. Stops
    when the relative duality gap, with the best lower bound so far, is at most ``tol``.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach.
    max_iter : int
    max_time : float or None
        Seconds after which the best point so far is returned.
    check_every : int
        Least number of iterations between two checks of the gap; late checks are a tenth of the iterations apart.
    callback : callable or None
        Called with each `HistoryRow`.

    References
    ----------
    Beck, Teboulle, "A fast iterative shrinkage-thresholding algorithm", SIAM J. Imaging Sci. 2 (2009), eqs. 4.1-4.3;
    O'Donoghue, Candès, "Adaptive restart for accelerated gradient schemes", Found. Comput. Math. 15 (2015), eq. 13.

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import GatedReLUProblem
    >>> X, y = np.array([[-1.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> problem = GatedReLUProblem(X, y, X >= 0, beta=0.01)
    >>> Fista(tol=1e-8).solve(problem).status
    'optimal'
    """

    tol: float = 1e-6
    max_iter: int = 20_000
    max_time: float | None = None
    check_every: int = 10
    callback: Callable[[HistoryRow], object] | None = None

    def __post_init__(self) -> None:
        check_positive(self.tol, "tol", "Fista")
        check_integer(self.max_iter, "max_iter", "Fista")
        check_integer(self.check_every, "check_every", "Fista")
        if self.max_time is not None:
            check_positive(self.max_time, "max_time", "Fista")

    def solve(self, problem: GatedReLUProblem, start: Point | None = None) -> Result[Coefficients]:
        """Minimise the problem, from ``start`` or the best point without a gate, the optimum for large beta."""
        flops = 2 * problem.n * problem.map.d * problem.map.n_patterns * problem.outputs
        with ONE_BLAS_THREAD if flops < _SMALL else nullcontext():
            return self._solve(problem, problem.null_point() if start is None else start)

    def _solve(self, problem: GatedReLUProblem, z: Point) -> Result[Coefficients]:
        watch = Watch[Point](problem.relative_gap, self.tol, self.max_time, self.callback)
        f = problem.predictions(z)
        y, f_y = z, f  # extrapolated point and its predictions
        L, t = problem.lipschitz(), 1.0
        kappa = problem.datafit.curvature / problem.n
        watch.check(0, problem.objective(z, f), problem.dual_bound(f), z, f)
        k, next_check = 0, self.check_every
        with watch:
            while not watch.status:
                k += 1
                gradient = problem.gradient(f_y)
                L *= _RELAX
                while True:
                    new = problem.prox(Point(y.U - gradient.U / L, y.c - gradient.c / L), 1 / L)
                    f_new = problem.predictions(new)
                    square = _dot(new, y, new, y)
                    needed = kappa * float(np.sum((f_new - f_y) ** 2))
                    if needed <= L * square + kappa * (_NOISE * np.linalg.norm(f_new)) ** 2:
                        break
                    L = max(_GROW * L, min(needed / square, 2 * L)) if square > 0 else 2 * L
                if _dot(y, new, new, z) > 0:  # the step points against the momentum
                    t = 1.0
                t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
                m = (t - 1) / t_new
                y = Point(new.U + m * (new.U - z.U), new.c + m * (new.c - z.c))
                f_y = f_new + m * (f_new - f)
                z, f, t = new, f_new, t_new

                if k >= next_check or k == self.max_iter or watch.late:
                    next_check = k + max(self.check_every, k // 10)
                    watch.check(k, problem.objective(z, f), problem.dual_bound(f), z, f)
                    if not watch.status and k == self.max_iter:
                        watch.stop(f"after {k} iterations", _advice(watch.bound))
        return watch.result("fista", problem.coefficients(watch.point))


def _dot(a: Point, b: Point, c: Point, d: Point) -> float:
    """Inner product of a - b with c - d."""
    return float(np.vdot(a.U - b.U, c.U - d.U) + np.vdot(a.c - b.c, c.c - d.c))


def _advice(bound: DualBound | None) -> str:
    if bound is None or bound.value <= 0:
        return (
            "no positive lower bound was found. If unpenalised biases alone separate the classes, the infimum 0 of "
            "this loss is not attained: use fewer gates, bias=False or loss='squared'; else try a larger max_iter"
        )
    return "try a larger max_iter or a larger tol"
