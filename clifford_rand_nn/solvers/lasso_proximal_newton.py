"""Proximal steps, each solved by Newton's method on its dual: the Lasso with the squared loss and several outputs."""

from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from clifford_rand._checks import describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.solvers.base import Limits, Result, Status
from clifford_rand_nn.solvers.lasso_interior_point import make_basic
from clifford_rand_nn.solvers.stopping import Watch, handed_over

_FIRST, _GROWTH, _LARGEST = 10.0, 5.0, 1e8  # lengths of proximal steps, over the squares of the columns
_NEAR, _LEAST_NEAR = 0.25, 1e-3  # residual at which a proximal step ends, over its move: halved from one to the next
_NEWTON = 50  # Newton steps of a proximal step at most
_DESCENT, _HALVINGS = 1e-4, 40  # Armijo's share of the slope
_ROUNDING = 1e-14  # of the dual's value, and of the targets
_STALLED = 8  # proximal steps without a better gap
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, kw_only=True)
class ProximalNewton(Limits):
    r"""Semismooth Newton augmented Lagrangian method for a `LassoProblem` with the squared loss.

    With rows centered and multiplied by the roots of their weights, a step goes from Z' to the minimum of

    .. math:: \tfrac12||KZ-Y||^2+n\beta\sum_j||Z_j||_2+\tfrac12\sum_j||Z_j-Z'_j||^2/\sigma_j,

    :math:`\sigma_j=\sigma/||K_j||^2` with growing :math:`\sigma`. Its dual is smooth in the residual :math:`\theta`
    (n, C), and only the m columns with a weight have a part in the second derivative: with
    :math:`W_j=Z'_j+\sigma_jK_j^T\theta`, :math:`u_j=W_j/||W_j||`, :math:`a_j=1-n\beta\sigma_j/||W_j||>0`,

    .. math:: H=\Big(I+\sum_ja_j\sigma_jK_jK_j^T\Big)\otimes I_C
              +\sum_j(1-a_j)\sigma_j(K_j\otimes u_j)(K_j\otimes u_j)^T.

    By Woodbury's identity twice, H is inverted with two factorizations of order m, for any number of outputs C; an
    interior point factors a matrix of order nC.

    An iteration is a proximal step, of some five Newton steps.

    References
    ----------
    Li, Sun, Toh, "A highly efficient semismooth Newton augmented Lagrangian method for solving Lasso problems", SIAM
    J. Optim. 28 (2018), algorithms SSNAL and SSN; Zhang, Zhang, Sun, Toh, "An efficient Hessian based algorithm for
    solving large-scale sparse group Lasso problems", Math. Program. 179 (2020).

    Examples
    --------
    >>> problem = LassoProblem(np.eye(3), [[0.0, 0.0], [0.0, 0.0], [3.0, 4.0]], beta=0.1, fit_intercept=False)
    >>> result = ProximalNewton().solve(problem)
    >>> result.status, result.coefficients.columns.tolist(), result.coefficients.values.round(3).tolist()
    (<Status.OPTIMAL: 'optimal'>, [2], [[2.82, 3.76]])
    """

    tol: float = 1e-8
    max_iter: int = 100
    basic: bool = True  # whether the columns in use are made few, as `purify` does

    @staticmethod
    def suits(problem: LassoProblem) -> bool:
        """Whether it is faster than an interior point, and can solve the problem at all."""
        return problem.outputs > 1 and problem.datafit.loss.is_quadratic

    @staticmethod
    def memory(problem: LassoProblem) -> float:
        """Return the bytes of the columns, twice, of four matrices of their number, and of weights."""
        n, N = problem.K.shape
        return float(8 * (2 * n * N + 4 * N**2 + 8 * (n + N) * problem.outputs))

    @handed_over
    def solve(self, problem: LassoProblem, start: Weights | None = None) -> Result[Weights]:
        """Minimize the problem from ``start``, weights on its columns, or from none.

        Raises ArgumentError: the loss is another one.
        """
        self.admit(problem, LassoProblem)
        if not problem.datafit.loss.is_quadratic:
            hint = "Use InteriorPoint."
            raise fail(
                "problem", "ProximalNewton.solve", "of the squared loss", describe(f"loss={problem.loss!r}"), hint
            )
        n, N = problem.K.shape
        self.admit_memory(self.memory(problem), f"{n} rows, {N} columns", "Use WorkingSet, or fewer rows.")
        watch = Watch[Weights](self, problem.relative_gap, "try a larger tol, or data scaled more evenly")
        with watch, ONE_BLAS_THREAD, np.errstate(all="ignore"):  # what overflows is not finite, and is judged
            self._run(problem, _ProximalSteps(problem, start), watch)
        if self.basic:
            with watch, ONE_BLAS_THREAD:
                make_basic(problem, watch, self.tol)
        return watch.result("proximal_newton", watch.point)

    def _run(self, problem: LassoProblem, steps: "_ProximalSteps", watch: Watch[Weights]) -> None:
        """Take steps until the watch or rounding ends them."""
        least, since = np.inf, 0
        for k in count():
            weights = steps.weights()
            f = problem.predictions(weights)
            watch.check(k, problem.objective(weights, f), problem.dual_bound(f), weights, f)
            least, since = (watch.gap, 0) if watch.gap < 0.9 * least else (least, since + 1)
            if watch.status is not None:
                return None
            if since >= _STALLED:
                return watch.stop(Status.STALLED)
            steps.step(watch)
        return None


class _Shrunk(NamedTuple):
    """Weights (N, C) of which norms were cut off, the shares (N,) of them that are left, and the dual's value."""

    Z: Array
    left: Array
    value: float


class _ProximalSteps:
    """Weights, their residual, and the length of the next proximal step."""

    def __init__(self, problem: LassoProblem, start: Weights | None) -> None:
        n, N = problem.K.shape
        weights, y = problem.datafit.sample_weight, problem.datafit.y
        root = np.ones((n, 1)) if weights is None else np.sqrt(weights).reshape(n, 1)
        share = (root**2 / n)[:, 0] if problem.fit_intercept else np.zeros(n)
        self._means, self._level = share @ problem.K, share @ y
        self.K, self.Y = root * (problem.K - self._means), root * (y - self._level)
        self.radius = n * problem.beta
        squares = np.einsum("ij,ij->j", self.K, self.K)
        self._inverse = 1 / np.maximum(squares, max(float(squares.max(initial=0.0)) * 1e-20, _TINY))
        self.Z = np.zeros((N, y.shape[1]))
        if start is not None:
            self.Z[start.columns] = start.values
        self.theta = self.Y - self._image(self.Z)
        self.length, self.longest, self.near = _FIRST, _LARGEST, _NEAR

    def weights(self) -> Weights:
        """Return the weights that are not 0, and the best intercept for them."""
        on = np.flatnonzero(self.Z.any(axis=1))
        return Weights(on, self.Z[on], self._level - self._means[on] @ self.Z[on])

    def _image(self, Z: Array) -> Array:
        on = np.flatnonzero(Z.any(axis=1))
        return np.asarray(self.K[:, on] @ Z[on])

    def step(self, watch: Watch[Weights]) -> None:
        """Take a proximal step; where rounding ends it, the next ones are shorter."""
        sigma, theta = self.length * self._inverse, self.theta
        U = self.K.T @ theta
        now = self._shrunk(sigma, theta, U)
        last, flat, rounded = np.inf, False, False
        for _ in range(_NEWTON):
            slope = theta - self.Y + self._image(now.Z)
            size = float(np.linalg.norm(slope))
            moved = float(np.linalg.norm((now.Z - self.Z) / np.sqrt(sigma)[:, None]))
            if size <= max(self.near * moved, _ROUNDING * float(np.linalg.norm(self.Y))) or watch.late:
                break
            rounded = flat and not size < 0.5 * last
            move = None if rounded else self._newton(sigma, now, slope)
            if move is None:
                rounded = True
                break
            last, fall, turn, length = size, float(np.vdot(slope, move)), self.K.T @ move, 1.0
            for _ in range(_HALVINGS):
                new = self._shrunk(sigma, theta + length * move, U + length * turn)
                if new.value <= now.value + _DESCENT * length * fall + _ROUNDING * abs(now.value):
                    break
                length /= 2
            flat = not new.value < now.value - _ROUNDING * abs(now.value)
            theta, U, now = theta + length * move, U + length * turn, new
        self.Z, self.theta = now.Z, theta
        self.near = max(self.near / 2, _LEAST_NEAR)
        if rounded:
            self.longest = self.length / _GROWTH
        self.length = min(self.length * _GROWTH, self.longest)

    def _shrunk(self, sigma: Array, theta: Array, U: Array) -> _Shrunk:
        """Return the weights that belong to a residual, with U = K^T theta, and what the step's dual comes to."""
        W = self.Z + sigma[:, None] * U
        left = np.maximum(1 - sigma * self.radius / np.maximum(np.linalg.norm(W, axis=1), _TINY), 0.0)
        Z = left[:, None] * W
        squares = float(np.sum(np.einsum("jc,jc->j", Z, Z) / sigma))
        return _Shrunk(Z, left, 0.5 * float(np.vdot(theta, theta)) - float(np.vdot(theta, self.Y)) + 0.5 * squares)

    def _newton(self, sigma: Array, now: _Shrunk, slope: Array) -> Array | None:
        r"""Return :math:`-H^{-1}` times the slope, or None where rounding leaves no factor."""
        on = np.flatnonzero(now.left > 0)
        K, Z = self.K[:, on], now.Z[on]
        u = Z / np.linalg.norm(Z, axis=1)[:, None]
        across, along = np.sqrt(sigma[on] * now.left[on]), np.sqrt(sigma[on] * (1 - now.left[on]))
        G = K.T @ K
        try:
            L = np.linalg.cholesky(_plus_one(across[:, None] * G * across))
            P = solve_triangular(L, across[:, None] * G, lower=True, check_finite=False)
            T = np.linalg.cholesky(_plus_one(along[:, None] * (G - P.T @ P) * (u @ u.T) * along))
        except np.linalg.LinAlgError:
            return None

        def same(v: Array) -> Array:  # the inverse of the part that is the same for all outputs
            towards = cho_solve((L, True), across[:, None] * (K.T @ v), check_finite=False)
            return np.asarray(v - K @ (across[:, None] * towards))

        first = same(slope)
        rest = along * cho_solve((T, True), along * np.einsum("jc,jc->j", K.T @ first, u), check_finite=False)
        return same(K @ (rest[:, None] * u)) - first


def _plus_one(A: Array) -> Array:
    """Add the identity to a matrix of one's own."""
    A.flat[:: len(A) + 1] += 1
    return A
