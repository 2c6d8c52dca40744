"""Newton's method in the weights of the gates, for the squared loss: on the kernel of few rows, or the sums of many."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf
from scipy.optimize import nnls

from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import DualBound, dual_bound
from clifford_rand_nn.problems.gated import GatedReLUProblem, Point
from clifford_rand_nn.solvers.gate_kernel import MANY_ROWS, GatedKernel, KernelSystem
from clifford_rand_nn.solvers.gram_design import GatedDesign
from clifford_rand_nn.solvers.gram_smooth import QuadraticSum
from clifford_rand_nn.solvers.iterations import CGIterate, conjugate_gradient

_ROUNDS = 20  # exchanges between active and idle gates before `scipy.optimize.nnls` takes over
_RIDGE = 1e-13  # relative, on the diagonal: gates, or free columns, may be dependent
_ROUNDING = 1e-12
_TINY = float(np.finfo(np.float64).tiny)
_APART = 1.3  # spread of the weights against those of the factor, from which a new factor is cheaper than iterations
_ENTERED = 0.1  # share of the mean weight that a gate counts for in addition: one that enters changes little
_CG_STEPS = 12  # at most, with one factor: each shrinks the error by ten or a hundred
_FIRST = 1e-2  # the first step at a new beta leaves a gap of some 5e-3: no need of more
_SHARE = 0.1  # of the gap that is aimed at: error of the dual point that is left by the iterations
_NOTHING = 1e-200  # of the largest weight: the reciprocal stays finite
_DAMP = 1e-9  # of the second derivatives, which copies of a gate share,
_LEAST = 1e-12  # and of the largest, for gates that are never on
_HALVES = 6
_NOISE = 1e-13  # of the value: differences below it are rounding
_GROUPS = 4  # of gates, whose columns are solved together
_FAR = 1.0  # the most by which the logarithm of the radius moves along a tangent


def bounded_quadratic(H: Array, b: Array, active: NDArray[np.bool_]) -> Array:
    r"""Minimize :math:`\tfrac12x^THx - b^Tx` over x ≥ 0, from a guess at which entries are positive.

    ``H`` (P, P): positive semidefinite. ``b`` (P,). ``active`` (P,): the guess, as truth values.
    """
    H = H + np.diag(_RIDGE * H.diagonal() + _TINY)
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


class GateWeights:
    r"""Weights a of the gates, :math:`\lambda||U_i|| = \min_{a_i\ge0}\frac12(||U_i||^2/a_i+\lambda^2a_i)`.

    For given weights the network is that of a ridge regression, :math:`U_i = a_iV_i`, :math:`V_i = X^TD_i\theta` with
    :math:`\theta` its residual, and what is left is convex in one variable a gate. With :math:`\nu_i = ||V_i||_F`,

    .. math:: \varphi'_i(a) = \tfrac12(\lambda^2-\nu_i^2),\qquad \varphi'' = H = k^TM^{-1}k,\quad k_i = D_iXV_i,

    M the matrix of the regression on the rows; also where weights are 0: a gate comes and goes like any other variable
    that has a bound. For one gate, column and row :math:`1/\nu` is linear in a. So Newton's steps go to where the
    linearized :math:`1/\nu_i` are :math:`1/\lambda`, as those of trust-region methods do: 2 or 3 of them from a
    solution for a radius nearby, 4 to 6 from equal weights, and each squares the error.

    References
    ----------
    Moré and Sorensen, "Computing a trust region step", SIAM J. Sci. Stat. Comput. 4 (1983), after Hebden.
    """

    a: Array

    def _goal(self, nu: Array, H: Array, radius: float) -> Array:
        """Return the weights (P,) to which Newton's step leads from sizes (P,) and second derivatives (P, P)."""
        wanted = nu**2 * (nu / radius - 1)
        return bounded_quadratic(H, wanted + H @ self.a, (self.a > 0) | (wanted > 0))


class KernelWeights(GateWeights):
    r"""Weights of the gates, with the dual point for them, where rows are few: :math:`M=W^{-1}+\sum_ia_iK_i`.

    The system is factorized once a beta. Weights near those of the factor are served by conjugate gradients that it
    preconditions, on the subspace :math:`Q^T\theta=0` (Gould, Hribar, Nocedal, SIAM J. Sci. Comput. 23, 2001).
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
        self.a = self._goal(self._sizes(), self._curvature(), radius)
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


class Sizes(NamedTuple):
    """Norms of the gates (P,) at the optimum of a radius, and their derivative by its logarithm."""

    radius: float
    size: Array
    change: Array


def predicted(trail: list[Sizes], radius: float) -> Array:
    r"""Predict the weights (P,) at a radius from the last one or two solutions.

    :math:`||U_i||` is followed as a function of :math:`\log\lambda`, along its tangent, or along the parabola through
    both solutions and it where they have the same gates.
    """
    last = trail[-1]
    ahead = float(np.clip(np.log(radius / last.radius), -_FAR, _FAR))
    size = last.size + ahead * last.change
    if len(trail) > 1 and np.array_equal(trail[-2].size > 0, last.size > 0):
        before = float(np.log(last.radius / trail[-2].radius))
        if abs(ahead) <= 2 * abs(before):
            size += (trail[-2].size - last.size + before * last.change) * (ahead / before) ** 2
    return np.where(last.size > 0, np.maximum(size, 0.0), 0.0) / radius


class GramWeights(GateWeights):
    r"""Weights of the gates with the coefficients for them, where rows are many, by sums over the rows alone.

    ``smooth``: it is moved to the coefficients of the weights. ``radius``: :math:`\lambda = n\beta`. ``a`` (P,): the
    first weights. ``x`` (N + q, C): coefficients for the weights.
    """

    def __init__(self, design: GatedDesign, smooth: QuadraticSum, radius: float, a: Array) -> None:
        self._design, self._smooth, self._radius = design, smooth, radius
        self._bends: Array | None = None
        self._move_to(a)

    def step(self, again: bool) -> float:
        """Move to better weights, with the last step's second derivatives ``again``; return the share of the step.

        It is 0, and the weights are what they were, if none are found.
        """
        a, here = self.a, self._value
        if not again or self._bends is None:
            self._bends = self._second_derivatives()
        goal = self._goal(np.sqrt(self._design.squares(self._smooth.slope)), self._bends, self._radius)
        length = 1.0
        for _ in range(_HALVES):
            self._move_to(a + length * (goal - a))
            if self._value <= here + _NOISE * abs(here):
                return length
            length /= 2
        self._move_to(a)
        return 0.0

    def sizes(self) -> Sizes:
        r"""Return what the next radius is predicted from: by :math:`\varphi''da = -\lambda^2d\log\lambda`."""
        on = np.flatnonzero(self.a > 0)
        fall = np.zeros(len(self.a))
        if on.size and self._bends is not None:
            fall[on] = np.linalg.solve(self._bends[np.ix_(on, on)], np.full(on.size, -self._radius * self._radius))
        return Sizes(self._radius, self._radius * self.a, self._radius * (self.a + fall))

    def _move_to(self, a: Array) -> None:
        """Solve for the coefficients of weights."""
        a = np.where(a > _NOTHING * a.max(initial=0.0), a, 0.0)
        self._factorize(a)
        x, on = np.zeros_like(self._smooth.H), a > 0
        half = self._half_solved(self._smooth.H[self._columns].T).T
        if half.size:
            x[self._columns] = dtrsm(1.0, self._factor, half, lower=1, trans_a=1)
        self.a, self.x = a, x
        self._smooth.move_to(x)
        weighted = self._design.squares(x)[on] / a[on] + self._radius * self._radius * a[on]
        self._value = self._smooth.value + 0.5 * float(weighted.sum())

    def _factorize(self, a: Array) -> None:
        """Factorize the system of weights, LLᵀ = G + diag(1/a), on the columns of gates that have any."""
        design, G = self._design, self._smooth.G
        r, on = design.r, np.flatnonzero(a > 0)
        self._columns: Any = slice(None)
        if on.size < len(a):
            self._columns = np.concatenate([(on[:, None] * r + np.arange(r)).ravel(), np.arange(design.N, len(G))])
            G = G[np.ix_(self._columns, self._columns)]
        size = on.size * r
        matrix = G.T.copy(order="F")  # the transpose is in LAPACK's order as it is
        diagonal = np.einsum("ii->i", matrix)
        diagonal[:size] += np.repeat(1 / a[on], r)
        diagonal[size:] += _RIDGE * diagonal[size:] + (diagonal[size:] <= 0)
        self._factor = matrix
        if matrix.size:  # LAPACK takes no matrix without columns
            self._factor, info = dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
            if info:
                raise np.linalg.LinAlgError(f"the leading minor of order {info} is not positive")

    def _half_solved(self, rows: Array, first: int = 0) -> Array:
        """Return the rows b (k, m) as L⁻¹b, with the factor from row and column ``first`` on."""
        if not rows.size:
            return rows
        factor = self._factor if first == 0 else np.asfortranarray(self._factor[first:, first:])
        return np.asarray(dtrsm(1.0, factor, rows.T, lower=1)).T

    def _second_derivatives(self) -> Array:
        r"""Return φ'' (P, P), by :math:`G-G(G+D)^{-1}G = D-D(G+D)^{-1}D` where there are weights."""
        design, G, a = self._design, self._smooth.G, self.a
        V = design.blocks(self._smooth.slope)
        (P, r, C), size = V.shape, len(self._factor)
        on, off = np.flatnonzero(a > 0), np.flatnonzero(a <= 0)
        Y = np.zeros((C, P, size))
        few = max(1, -(-on.size // _GROUPS))
        for first in range(0, on.size, few):  # columns of a gate are zero above its block, and stay so
            some = on[first : first + few]
            rows = np.zeros((C, some.size, size - first * r))
            for k, i in enumerate(some):
                rows[:, k, k * r : (k + 1) * r] = (V[i] / a[i]).T
            solved = self._half_solved(rows.reshape(C * some.size, -1), first * r)
            Y[:, some, first * r :] = solved.reshape(rows.shape)
        bends = np.zeros((P, P))
        bends[on, on] = design.squares(self._smooth.slope)[on] / a[on]
        if off.size:
            turned = np.stack([V[i].T @ G[i * r : (i + 1) * r] for i in off], axis=1)  # (C, off, N + q)
            blocks = turned[:, :, : design.N].reshape(C, off.size, P, r)[:, :, off]
            bends[np.ix_(off, off)] = np.einsum("ikc,cjik->ij", V[off], blocks)
            rows = turned[:, :, self._columns]
            Y[:, off] = -self._half_solved(rows.reshape(C * off.size, -1)).reshape(rows.shape)
        for factor in Y:
            bends -= factor @ factor.T
        diagonal = np.einsum("ii->i", bends)
        diagonal += _DAMP * diagonal + _LEAST * float(diagonal.max()) + _TINY
        return bends
