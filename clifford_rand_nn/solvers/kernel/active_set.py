"""Newton's method in the weights of the gates, from a solution for another beta: for paths of the squared loss."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import DualBound, dual_bound
from clifford_rand_nn.problems.gated import GatedReLUProblem, Point
from clifford_rand_nn.solvers.conjugate_gradient import CGIterate, conjugate_gradient
from clifford_rand_nn.solvers.kernel.gram import MANY_ROWS, GatedKernel, KernelSystem

_ROUNDS = 20  # exchanges between active and idle gates before `scipy.optimize.nnls` takes over
_RIDGE = 1e-13  # relative, on the diagonal: gates may be dependent
_ROUNDING = 1e-12


def bounded_quadratic(H: Array, b: Array, active: NDArray[np.bool_]) -> Array:
    r"""Minimize :math:`\tfrac12x^THx - b^Tx` over x ≥ 0, from a guess at which entries are positive.

    ``H`` (P, P): positive semidefinite. ``b`` (P,). ``active`` (P,): the guess, as truth values.
    """
    H = H + np.diag(_RIDGE * H.diagonal() + np.finfo(np.float64).tiny)
    least = _ROUNDING * float(np.abs(b).max(initial=0.0))
    free = active
    for _ in range(_ROUNDS):  # principal pivoting: quick, and it may cycle
        x = np.zeros(len(b))
        x[free] = np.linalg.solve(H[np.ix_(free, free)], b[free])
        wrong = np.where(free, x < 0, b - H @ x > least)
        if not wrong.any():
            return x
        free = free ^ wrong
    L = np.linalg.cholesky(H)
    return np.asarray(nnls(L.T, np.linalg.solve(L, b))[0])


_APART = 1.3  # spread of the weights against those of the factor, from which a new factor is cheaper than iterations
_ENTERED = 0.1  # share of the mean weight that a gate counts for in addition: one that enters changes little
_CG_STEPS = 12  # at most, with one factor: each shrinks the error by ten or a hundred
_FIRST = 1e-2  # the first step at a new beta leaves a gap of some 5e-3: no need of more
_SHARE = 0.1  # of the gap that is aimed at: error of the dual point that is left by the iterations


class GateWeights:
    r"""A point of the path: weights a of the gates, and the dual point that is best for them.

    With weights :math:`a_i\ge0` of the gates the squared loss is a kernel ridge regression,

    .. math:: \varphi(a) = \min_{Q^T\theta=0}\ \tfrac12\theta^T\Big(W^{-1}+\sum_ia_iK_i\Big)\theta - \theta^Ty
              - \tfrac{\lambda^2}2\sum_ia_i,

    concave in a, with gradient :math:`\frac12(\nu_i^2-\lambda^2)`, :math:`\nu_i = ||X^TD_i\theta||_F`, and Hessian
    -H, :math:`H = k^TM^{-1}k` with :math:`k_i = K_i\theta`, the inverse taken on :math:`Q^T\theta=0`. At its maximum
    over :math:`a\ge0` the network :math:`U_i = a_iX^TD_i\theta` is optimal. Newton's method meets :math:`\nu_i=\lambda`
    in the form :math:`1/\nu_i = 1/\lambda`, nearly linear in a where few gates compete: the right-hand side is
    :math:`\nu_i^2(\nu_i/\lambda-1)`. Which gates are active comes out of the quadratic program itself, so that one step
    leads from one beta to the next, with a gap of some 1e-3, and each further step squares the error.

    The system is factorized once a beta. Weights near those of the factor are served by conjugate gradients that it
    preconditions, on the subspace :math:`Q^T\theta=0`.

    References
    ----------
    1/ν: Moré and Sorensen, "Computing a trust region step", SIAM J. Sci. Stat. Comput. 4 (1983), after Hebden. The
    constraint in the preconditioner: Gould, Hribar, Nocedal, SIAM J. Sci. Comput. 23 (2001).
    """

    def __init__(self, problem: GatedReLUProblem, kernel: GatedKernel, start: Point) -> None:
        self.problem, self.kernel = problem, kernel
        self._y = problem.datafit.y
        self._roots = np.broadcast_to(np.asarray(1 / problem.datafit.weights), (problem.n, 1))
        self._buffers: dict[Any, NDArray[Any]] = {}
        self.theta = problem.datafit.balance(problem.datafit.residual(problem.predictions(start)), kernel.Q)
        norms = problem.penalty.norms(start.U)
        self._V = kernel.correlations(self.theta)
        largest = float(self._sizes().max(initial=0.0))
        self.a = norms / largest if largest > 0 else np.zeros_like(norms)
        self._factorize()
        self._solve(_FIRST)

    def move(self, gap: float, tol: float, radius: float | None = None) -> None:
        """Take a Newton step for a radius, that of the problem if not given, from a point with this gap."""
        radius = self.problem.n * self.problem.beta if radius is None else radius
        nu = self._sizes()
        H = self._curvature()
        self.a = bounded_quadratic(H, nu**2 * (nu / radius - 1) + H @ self.a, self.a > 0)
        if self._spread() > _APART:
            self._factorize()
        self._solve(max(tol, min(_FIRST, gap**2)))

    def point(self) -> tuple[Point, Array]:
        """Return the solver variables of the network and its predictions."""
        a, Q = self.problem.map, self.kernel.Q
        U = self._V * self.a[:, None]
        f = self._image - self._roots * self.theta + Q @ (Q.T @ (self._y - self._image))
        return Point(U / a.weights[:, None, None], np.asarray(a.Q.T @ f / a.sigma)), f

    def bound(self) -> DualBound:
        """Return the bound of the dual point, scaled into the feasible set of the problem's beta."""
        datafit, radius = self.problem.datafit, self.problem.n * self.problem.beta
        size = float(self._sizes().max(initial=0.0))
        return dual_bound(datafit, self.theta, self.kernel.Q, lambda _: size, radius, self.problem.reach)

    def _sizes(self) -> Array:
        """Return the norms of the correlations X^T D_i theta of every gate."""
        return np.asarray(np.sqrt(np.einsum("rpc,rpc->p", self._V, self._V)))

    def _spread(self) -> float:
        """How far the weights are from those of the factor: a bound of the condition, were none to enter."""
        least = _ENTERED * float(self.a.mean())
        ratio = (self.a + least) / (self._factored + least)
        return float(max(ratio.max(), 1.0) / min(ratio.min(), 1.0)) if least > 0 else 1.0

    def _factorize(self) -> None:
        """Factorize the matrix of the present weights: the preconditioner from now on."""
        self._factored = self.a
        single = self.problem.n >= MANY_ROWS
        self._system = KernelSystem(self.kernel, self.a, self._roots, False, self._buffers, single)
        self._MQ = self._inverse(self.kernel.Q)
        self._small = np.linalg.inv(self.kernel.Q.T @ self._MQ)

    def _inverse(self, B: Array) -> Array:
        """Apply the inverse of the factored matrix, the same for every output, to columns (n, k)."""
        return self._system.solve(B[:, None, :])[:, 0, :]

    def _on_subspace(self, B: Array) -> Array:
        """Apply the inverse of the factored matrix on the subspace Q^T theta = 0 to columns (n, k)."""
        Z = self._inverse(B)
        return np.asarray(Z - self._MQ @ (self._small @ (self.kernel.Q.T @ Z)))

    def _precondition(self, r: Array) -> Array:
        """Do the same to a residual (n, C), and remove what single precision leaves outside the subspace."""
        Q, z = self.kernel.Q, self._on_subspace(r)
        return np.asarray(z - Q @ (Q.T @ z))

    def _apply(self, theta: Array, V: Array) -> Array:
        """Return the matrix of the present weights times theta, whose correlations X^T D_i theta are V."""
        return np.asarray(self._roots * theta + self.kernel.predictions(V * self.a[:, None]))

    def _solve(self, tol: float) -> None:
        """Find the dual point of the present weights by conjugate gradients, from the last one."""
        theta, y = self.theta, self._y

        def apply(p: Array) -> tuple[Array, Array]:
            V = self.kernel.correlations(p)
            return self._apply(p, V), V

        def is_enough(iterate: CGIterate) -> bool:
            return iterate.size <= (_SHARE * tol) ** 2 * float(np.vdot(y, theta + iterate.x))

        residual = y - self._apply(theta, self._V)
        move = conjugate_gradient(apply, residual, self._precondition, max_iter=_CG_STEPS, stop=is_enough)
        self.theta, self._image = theta + move.x, y - move.residual
        self._V = self._V + sum(move.images)

    def _curvature(self) -> Array:
        """Return H, with the factor that there is."""
        k = np.swapaxes(self.kernel.blocks(self._V), 1, 2)  # (n, C, P)
        n, C, P = k.shape
        Z = self._on_subspace(k.reshape(n, C * P))
        return np.asarray(k.reshape(n * C, P).T @ Z.reshape(n * C, P))
