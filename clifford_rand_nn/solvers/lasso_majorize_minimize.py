"""The softmax Lasso by majorize-minimize: quadratic models with one curvature a row, solved by `ProximalNewton`."""

from copy import copy
from dataclasses import dataclass
from itertools import count

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from clifford_rand._checks import describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn.problems.datafit import Datafit, unpenalized_fit
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.problems.loss import Squared
from clifford_rand_nn.solvers.base import Limits, Result, Status
from clifford_rand_nn.solvers.iterations import CGIterate, conjugate_gradient
from clifford_rand_nn.solvers.lasso_proximal_newton import ProximalNewton
from clifford_rand_nn.solvers.stopping import Watch, handed_over

_SHARE = 0.1  # of the gap so far: what a model is solved to
_LEAST = 1e-12  # relative gap of a model, near rounding
_FLAT = 1e-3  # of the largest curvature of a row: the least one of a model
_RAISE, _LOWER = 4.0, 0.5  # of all curvatures, after a model that promised too much, and after a faithful one
_FAITHFUL, _POOR = 0.9, 0.5  # shares of the promised descent
_LEAST_FACTOR = 0.05
_RIDGE = 1e-10  # of the diagonal of a preconditioner
_CG, _CG_TOL = 60, 0.03  # steps of conjugate gradients at most, and the share of the slope that they leave
_DESCENT, _HALVINGS = 1e-4, 8  # Armijo's share of the slope
_TINY = np.finfo(np.float64).tiny
_ROUNDING = 1e-14  # of the objective
_STALLED = 30  # steps without a better gap


@dataclass(frozen=True, kw_only=True)
class MajorizeMinimize(Limits):
    r"""Proximal steps on quadratic models of a smooth loss of several outputs, for a `LassoProblem`.

    .. math:: \ell_i(f)\approx\ell_i(g)-\theta_i\cdot(f-g)+\tfrac{h_i}2||f-g||^2,\qquad\theta_i=-\ell_i'(g),

    so a step is the Lasso of the squared loss with targets :math:`g_i+\theta_i/h_i` and weights :math:`h_i`, which
    `ProximalNewton` solves whatever the columns' condition. :math:`h_i` is an upper bound of the curvature of row i at
    g, times a factor that follows how much of the promised descent came, and never above the bound L everywhere: at L
    the model lies above the loss, and a step cannot fail. For the softmax L is 1/2 (Böhning), and
    :math:`2\max_cp_c(1-p_c)` bounds a row: those that are decided hardly hold a step back. No matrix of the order of
    rows times classes is there.

    An iteration is a model.

    References
    ----------
    Böhning, "Multinomial logistic regression algorithm", Ann. Inst. Statist. Math. 44 (1992); Lee, Sun, Saunders,
    "Proximal Newton-type methods for minimizing composite functions", SIAM J. Optim. 24 (2014).
    """

    tol: float = 1e-8
    max_iter: int = 2000

    @staticmethod
    def memory(problem: LassoProblem) -> float:
        """Return the bytes of a model and its solver."""
        return ProximalNewton.memory(problem) + 8.0 * 6 * problem.n * problem.outputs

    @handed_over
    def solve(self, problem: LassoProblem, start: Weights | None = None) -> Result[Weights]:
        """Minimize the problem from ``start``, weights on its columns, or from none.

        Raises ArgumentError: the loss has no bound of its curvature.
        """
        self.admit(problem, LassoProblem)
        n, N = problem.K.shape
        self.admit_memory(self.memory(problem), f"{n} rows, {N} columns", "Use WorkingSet, or fewer rows.")
        if not problem.datafit.loss.has_bounded_curvature:
            raise fail("problem", "MajorizeMinimize.solve", "of a smooth loss", describe(f"loss={problem.loss!r}"))
        watch = Watch[Weights](self, problem.relative_gap, "try a larger tol, or data scaled more evenly")
        with watch, ONE_BLAS_THREAD, np.errstate(all="ignore"):  # what overflows is not finite, and is judged
            self._run(problem, start, watch)
        return watch.result("majorize_minimize", watch.point)

    def _run(self, problem: LassoProblem, start: Weights | None, watch: Watch[Weights]) -> None:
        """Take steps until the watch or rounding ends them."""
        datafit, outputs = problem.datafit, problem.outputs
        if start is None:
            constant = unpenalized_fit(datafit, problem.Q)[0] if problem.fit_intercept else np.zeros(outputs)
            start = Weights(np.zeros(0, dtype=np.intp), np.zeros((0, outputs)), constant)
        weights, f, factor = start, problem.predictions(start), 1.0
        value = problem.objective(weights, f)
        least, since = np.inf, 0
        for k in count():
            watch.check(k, value, problem.dual_bound(f), weights, f)
            least, since = (watch.gap, 0) if watch.gap < least else (least, since + 1)
            if watch.status is not None:
                return None
            if since >= _STALLED:
                return watch.stop(Status.STALLED)
            model = _model(problem, f, factor)
            now = model.objective(weights, f)
            scale = problem.beta / model.beta  # of the model's objective in that of the problem
            near = float(np.clip(_SHARE * watch.gap * value / max(scale * now, _TINY), _LEAST, _SHARE))
            inner = ProximalNewton(tol=near, basic=False, max_time=self.after(watch.seconds).max_time)
            model_result = inner.solve(model, weights)
            new, after = model_result.coefficients, problem.objective(model_result.coefficients, model_result.fitted)
            if model_result.status.ends_all:
                watch.check(k + 1, after, problem.dual_bound(model_result.fitted), new, model_result.fitted)
                return watch.stop(model_result.status)
            promised = (now - model_result.objective) * scale
            if not after <= value:
                factor *= _RAISE
                continue
            share = (value - after) / promised if promised > 0 else 0.0
            factor = max(factor * (_LOWER if share > _FAITHFUL else 1 if share > _POOR else 1 / _LOWER), _LEAST_FACTOR)
            weights, f, value = new, model_result.fitted, after
            moved = _newton(problem, weights, f, watch)
            if moved is not None:
                there = problem.predictions(moved)
                further = problem.objective(moved, there)
                if further <= value * (1 + _ROUNDING):  # there it may still improve the dual point
                    weights, f, value = moved, there, further
        return None


def _newton(problem: LassoProblem, weights: Weights, f: Array, watch: Watch[Weights]) -> Weights | None:
    """Return a Newton step in the weights that are not zero, of half, a quarter, … the length; None if none is better.

    Its system has the order of columns times outputs, and is solved by conjugate gradients: the preconditioner has one
    curvature a row.
    """
    datafit, beta, n = problem.datafit, problem.beta, problem.n
    used = np.flatnonzero(weights.values.any(axis=1))
    m = len(used)
    if not m:
        return None
    K = problem.K[:, weights.columns[used]]
    if problem.fit_intercept:
        K = np.hstack([K, np.ones((n, 1))])
    Z = weights.values[used]
    norms = np.linalg.norm(Z, axis=1)
    u = Z / norms[:, None]
    theta = datafit.loss.residual(f, datafit.y)
    slope = -K.T @ (datafit.weights * theta) / n
    slope[:m] += beta * u
    rows = (datafit.weights * datafit.loss.row_curvature_at(theta, datafit.y)).reshape(-1, 1) / n
    P = K.T @ (rows * K)
    P[np.arange(m), np.arange(m)] += beta / norms
    P[np.diag_indices(len(P))] *= 1 + _RIDGE
    try:
        factor = cho_factor(P, check_finite=False)
    except np.linalg.LinAlgError:
        return None

    def product(V: Array) -> tuple[Array]:
        out = K.T @ (datafit.weights * datafit.loss.hessian_product(theta, datafit.y, K @ V)) / n
        out[:m] += (beta / norms)[:, None] * (V[:m] - u * np.einsum("jc,jc->j", u, V[:m])[:, None])
        return (np.asarray(out),)

    enough = _CG_TOL * float(np.linalg.norm(slope))

    def is_enough(iterate: CGIterate) -> bool:
        # by the gradient itself: in the metric of the preconditioner 23 models were needed instead of 16
        return float(np.linalg.norm(iterate.residual)) <= enough or (watch.late and iterate.n_products > 0)

    move = conjugate_gradient(
        product,
        -slope,
        lambda r: np.asarray(cho_solve(factor, r, check_finite=False)),
        max_iter=_CG,
        stop=is_enough,
        coupled=True,
    ).x
    fall = float(np.vdot(slope, move))
    if not fall < 0:
        return None
    value, image = datafit.value(f) + beta * float(norms.sum()), K @ move
    length = 1.0
    for _ in range(_HALVINGS):
        there = Z + length * move[:m]
        now = datafit.value(f + length * image) + beta * float(np.linalg.norm(there, axis=1).sum())
        if now <= value * (1 + _ROUNDING) + _DESCENT * length * fall:
            shift = length * move[m] if problem.fit_intercept else 0.0
            return Weights(weights.columns[used], there, weights.intercept + shift)
        length /= 2
    return None


def _model(problem: LassoProblem, f: Array, factor: float) -> LassoProblem:
    """Return the Lasso of the quadratic model at f; its objective is one over its mean weight, beta's ratio."""
    datafit = problem.datafit
    theta = datafit.loss.residual(f, datafit.y)
    rows = datafit.loss.row_curvature_at(theta, datafit.y)
    rows = np.minimum(factor * np.maximum(rows, _FLAT * rows.max()), datafit.loss.curvature)
    weights = (rows * datafit.weights)[:, 0]
    lasso = copy(problem)
    lasso.datafit = Datafit(Squared(), f + theta / rows, weights / weights.mean())
    lasso.beta = problem.beta / float(weights.mean())
    return lasso
