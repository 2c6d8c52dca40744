"""Kernel regression by landmarks (Nyström): a preconditioner of conjugate gradients, and a span of solutions."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky
from scipy.linalg.blas import dtrsm, strsm

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.cholesky import compare, factor_rows
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.kernel_products import KernelTiles, LandmarkRows, LandmarkSpan, independent
from clifford_rand_nn.kernel_network.landmark_judge import SpanProblem
from clifford_rand_nn.kernel_network.landmark_newton import RADII, SINGLE, NewtonSteps, Normal, NormalSum, State
from clifford_rand_nn.kernel_network.leave_one_out import KernelFit
from clifford_rand_nn.kernel_network.many_rows_problem import Found, ManyRows, Regression, solve_certified
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.problems.loss_registry import as_loss
from clifford_rand_nn.row_sums import Block, MemoryEngine, Targets
from clifford_rand_nn.solvers.base import Limits, Status

_STRIP = 4096  # rows of a strip of features
_SINGLE = np.finfo(np.float32)
_COMPARED = 6000  # rows of a factor that compares betas: 1 s each
_HELD = 2000  # rows that are left out at first, or a tenth
_FIRST_GAP = 0.1  # to which the fit without them goes
_SHARE = 0.5  # of the time for it
_ROUND_OFF = 1e-6  # of normal equations in single precision, as a share of the kernel's diagonal


class Nystrom:
    r"""The inverse of :math:`P = VV^T+\mathrm{diag}(q)`, V (n, m) the features of landmarks.

    .. math:: V = K_{nm}L^{-T},\qquad q_i = \rho_i+\max(K_{ii}-||V_i||^2,\epsilon K_{ii}),\qquad
              P^{-1} = Q^{-1}-Q^{-1}V(I+V^TQ^{-1}V)^{-1}V^TQ^{-1}

    P has the diagonal of :math:`K+\mathrm{diag}(\rho)`: what the landmarks do not see of a row counts as if it were its
    own alone (as in FITC: Snelson, Ghahramani, NIPS 2005), and not as nothing (FALKON: Rudi, Carratino, Rosasco,
    NeurIPS 2017). Conjugate gradients then reach a gap of 1e-4 in 16 steps instead of 26 (6,000 rows of 26 classes,
    1,690 landmarks), and the first steps are far better. V is kept, of whose precision
    :math:`\epsilon` is the rounding: nothing below it is known of a row.

    ``X`` (n, d): the landmarks are the first rows, of equal ones the first. ``dtype``: of V; L, that of `LandmarkSpan`,
    is made in double precision. ``diagonal`` (n,): of K; as an attribute q. ``radius`` (n,): :math:`\rho`.
    """

    def __init__(
        self, kernel: GateKernel, X: NDArray[np.floating], landmarks: int, dtype: Any, diagonal: Array, radius: Array
    ) -> None:
        _, first = np.unique(X[:landmarks], axis=0, return_index=True)
        Z = X[np.sort(first)]
        tiles, span = KernelTiles(kernel, Z, dtype), LandmarkSpan(kernel, np.asarray(Z, dtype=np.float64))
        factor, solve = np.asfortranarray(span.factor, dtype=dtype), strsm if dtype == np.float32 else dtrsm
        self._V = np.empty((len(X), len(Z)), dtype=dtype)
        eps = np.finfo(dtype).eps
        self.diagonal = np.empty(len(X))
        inner = np.eye(len(Z))
        for start in range(0, len(X), _STRIP):
            part = slice(start, min(start + _STRIP, len(X)))
            # V = (L⁻¹ K_mk)ᵀ, a strip of rows at a time
            strip = np.asarray(solve(1.0, factor, tiles.matrix_from(X[part]).T, lower=1, overwrite_b=1).T)
            self._V[part] = strip
            seen = np.einsum("im,im->i", strip, strip, dtype=np.float64)
            # q = ρ + K_ii - |V_i|², at least the round-off of V: P has the diagonal of K + diag(ρ)
            own = radius[part] + np.maximum(diagonal[part] - seen, eps * diagonal[part])
            self.diagonal[part] = np.maximum(own, _SINGLE.tiny)
            # I + VᵀQ⁻¹V, the inner matrix of Woodbury's identity
            scaled = strip / np.sqrt(self.diagonal[part], dtype=strip.dtype)[:, None]
            inner += scaled.T @ scaled
        self._inner = inner
        self._L = _factor(inner)

    def without_last(self, count: int) -> "Nystrom":
        """Return that of all rows but the last, on the same features."""
        shorter, last = copy(self), self._V[-count:] / np.sqrt(self.diagonal[-count:], dtype=self._V.dtype)[:, None]
        inner = self._inner - last.T @ last
        vars(shorter).update(_V=self._V[:-count], diagonal=self.diagonal[:-count], _inner=inner, _L=_factor(inner))
        return shorter

    def __call__(self, b: Array) -> Array:
        """Return the inverse times b (n, C)."""
        scaled = b / self.diagonal[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            inner = np.asarray(self._V.T @ scaled.astype(self._V.dtype), dtype=np.float64)
            seen = cho_solve((self._L, True), inner, check_finite=False)
            return np.asarray(scaled - (self._V @ seen.astype(self._V.dtype)) / self.diagonal[:, None])


def _factor(inner: Array) -> Array:
    """Return the Cholesky factor of a matrix, or where rounding leaves none that of it and more of its diagonal."""
    share = float(_SINGLE.eps)
    while True:
        try:
            return np.asarray(cholesky(inner, lower=True, check_finite=False))
        except LinAlgError:
            inner = inner + share * np.diag(inner.diagonal())
            share *= 10


def by_gradients(
    problem: ManyRows, limits: Limits, began: float, betas: tuple[float, ...], landmarks: int, keep_tiles: bool
) -> Found:
    """Solve by conjugate gradients in single precision, judged in double; of several betas one is chosen on a part.

    ``keep_tiles`` keeps half of the kernel matrix in memory. Where single precision stalls, as where some rows are
    1,000 times as long as others, all is in double, with half of the landmarks, in the same memory.
    """
    radius = problem.n * betas[-1]
    if len(betas) > 1:
        part = problem.leading(problem.n - _held(problem))
        end = np.inf if limits.max_time is None else began + _SHARE * limits.max_time
        some = part.leading(int(min(_COMPARED, factor_rows(limits.max_memory))))
        radius = compare(some, tuple(problem.n / some.n * beta for beta in betas), end)[0]  # its factor goes
    regression = problem.regression(radius)
    tiles = KernelTiles(problem.kernel, problem.X, np.float32, keep_tiles=keep_tiles)
    solved = _by_gradients(problem, regression, limits, began, tiles, landmarks)
    if solved.watch.status is Status.STALLED:
        tiles = KernelTiles(problem.kernel, problem.X)
        again = _by_gradients(problem, regression, limits, began, tiles, max(landmarks // 2, 1))
        if again.watch.gap < solved.watch.gap:
            return again._replace(remark=f"{again.remark}, in double precision after single precision stalled")
    return solved


def _held(problem: ManyRows) -> int:
    return min(_HELD, problem.n // 10)


def _by_gradients(
    problem: ManyRows, regression: Regression, limits: Limits, began: float, tiles: KernelTiles, landmarks: int
) -> Found:
    """Solve for one beta with products and a preconditioner in the precision of tiles.

    A fit without the last rows, to a gap of 10 %, gives predictions of them that they had no part in; all rows go on
    from its coefficients.
    """
    held, unseen, used = _held(problem), problem.targets[:0], 0
    with regression.watch(limits, began) as watch:
        sums = regression.diagonal, regression.radius
        whole = Nystrom(problem.kernel, problem.X, landmarks, tiles.dtype, *sums)
        rest = problem.n - held
        # without the validation set first: its predictions are out-of-sample, and a start for all rows
        early_part = problem.regression(problem.n * regression.beta, rest)
        early_tiles = tiles.leading(rest)
        seconds = None if limits.max_time is None else watch.seconds + _SHARE * (limits.max_time - watch.seconds)
        sooner = Limits(tol=max(_FIRST_GAP, limits.tol), max_iter=limits.max_iter, max_time=seconds)
        early = early_part.watch(sooner, began)
        solve_certified(early_part, early_tiles.multiply, whole.without_last(held), early, sooner)
        unseen = early_tiles.multiply_from(problem.X[rest:], early.point.alpha) + early.point.intercept
        used = early.n_iter
        start = np.concatenate([early.point.alpha, np.zeros((held, problem.targets.shape[1]))])
        exact = KernelTiles(problem.kernel, problem.X)
        if early.status is Status.INTERRUPTED:
            regression.check(watch, used, start, exact.multiply(start))
            watch.stop(Status.INTERRUPTED)
        else:
            fast = tiles.multiply if tiles.dtype == np.float32 else None
            solve_certified(regression, exact.multiply, whole, watch, limits, fast=fast, start=start)
    remark = f"{used} products with the kernel without {held} rows, {watch.n_iter} with all"
    return Found(watch, regression.beta, len(unseen), unseen, remark=remark)


def by_landmarks(problem: ManyRows, limits: Limits, began: float, betas: tuple[float, ...], landmarks: int) -> Found:
    r"""Solve :math:`\min_{a,t}\frac1n\sum_i\omega_i\ell(K_{im}a+t, y_i)+\frac\beta2a^TK_{mm}a`, as rows of shards.

    Several betas: beta is the best of a grid by the last rows, held out. The normal equations of the others are in
    single precision where that is safe; they precondition the steps in double precision that solve and certify it.
    """
    n, X, kernel = problem.n, np.asarray(problem.X, dtype=np.float64), problem.kernel
    beta, fixed = betas[-1], len(betas) == 1
    least_loss, unseen, best_beta = np.inf, problem.targets[:0], beta
    with problem.watch(limits, began) as watch:
        centers, least = independent(kernel, X[:landmarks])
        Z, held = X[centers], min(_HELD, n // 10)
        double, span = LandmarkRows(kernel, Z), LandmarkSpan(kernel, Z)
        engine = MemoryEngine(Block(X, problem.targets, problem.weights, 0))
        targets = Targets(as_loss("squared", "solve_many"), None)
        diagonal = float(np.mean(kernel.diagonal(X)))
        # round-off of the sums, over the least pivot, is small beside the regularization
        is_single = least > SINGLE and (not fixed or least * n * beta > _ROUND_OFF * diagonal)
        rows = LandmarkRows(kernel, Z, dtype=np.float32) if is_single else double
        K, learn = double.kernel(X[n - held :]), slice(0, n - held)
        center_k = K.mean(axis=0)
        center_y = np.average(problem.targets[learn], axis=0, weights=problem.weights[learn])
        sums = engine.sum(NormalSum(rows, replace(targets, left_out=np.arange(n - held, n)), center_k, center_y))
        normal = Normal(span, sums, center_k, center_y)
        del sums
        radii = np.array([n * beta]) if fixed else RADII * diagonal
        for radius, outputs in zip(radii, normal.predictions(K, radii), strict=True):
            if (loss := problem.loss(outputs)) <= least_loss:
                least_loss, unseen, best_beta = loss, outputs, float(radius) / n
        span_problem = SpanProblem(double, span, targets, float(problem.weights.sum()), center_y)
        steps = NewtonSteps(engine, span_problem, best_beta, normal)
        state, status = steps.solve(State.at_first(*normal.fit(n * best_beta)), limits, began, lambda _: None)
        assert state.best is not None
        u, t = state.best.u, state.best.intercept
        a = span.coefficients(u)
        fitted = KernelTiles(kernel, Z).multiply_from(X, a) + t
        theta = state.best.scale * problem.weights[:, None] * (problem.targets - fitted)
        watch.history += state.history
        bound = DualBound(state.best.dual, theta - theta.mean(axis=0))
        watch.judge(state.n_iter, state.best.primal, bound, KernelFit(a, t), fitted)
        watch.stop(status)
    scope = f"over functions in the span of {len(centers)} landmarks, and an intercept"
    remark = f"An approximation: functions in the span of {len(centers)} of {n} rows"
    return Found(watch, best_beta, len(unseen), unseen, centers, scope, remark)
