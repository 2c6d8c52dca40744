"""The Lasso over columns in memory along decreasing beta, by coordinate descent or by the exact path."""

from typing import Any

import numpy as np
from sklearn.linear_model import enet_path

from clifford_rand._checks import describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn.datafits.datafit import Datafit, unpenalized_fit
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.problems.duality import constant_columns
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.solvers.base import Limits, Result
from clifford_rand_nn.solvers.lasso.path import solution_at
from clifford_rand_nn.solvers.lasso.path_following import MAX_BREAKPOINTS, homotopy

_TOL, _PASSES = 1e-4, 300  # gap as a share of the squared targets, passes over the columns
# Steps of other losses, passes of each, and the share of the objective that the last one gains, of Newton's method and
# of bounds, which converge slowly. With 300 passes and 1e-4 the same beta is chosen on banana in 10.9 CPU s, not 1.8.
_STEPS, _STEP_PASSES, _GAIN, _BOUND_GAIN = 30, 30, 1e-3, 1e-4
_HALVINGS = 10
_FLAT = 1e-4  # least curvature of a row, as a share of the largest there is


class LassoCoordinateDescent:
    r"""Weights of columns K (n, m) of ``atoms`` for falling beta, each from the last ones.

    .. math:: \min_{Z,t}\ \frac1n\sum_i\omega_i\ell\Big(\sum_jK_{ij}Z_j+t,\ y_i\Big)+\beta\sum_j||Z_j||_2

    The squared loss takes one run of coordinate descent (scikit-learn's). The logistic one and the softmax are replaced
    by squares with a weight :math:`h_i` for each row, the curvature of the loss there, and a step goes towards their
    minimum: Newton's method for one output, and with a bound of the row's eigenvalues for more.
    """

    def __init__(self, atoms: Neurons, K: Array, datafit: Datafit, fit_intercept: bool) -> None:
        self.atoms, self._K, self._datafit, self._intercept = atoms, K, datafit, fit_intercept
        start = unpenalized_fit(datafit, constant_columns(len(K), fit_intercept))
        self._t = start[0] if fit_intercept else np.zeros(start.shape[1])
        self._values: Array = np.zeros((K.shape[1], start.shape[1]))
        self._f = np.broadcast_to(self._t, start.shape)
        self._squares: tuple[Array, Array, Array, Array] | None = None

    @ONE_BLAS_THREAD  # probabilities are calibrated on these outputs, whose last bits several threads change
    def at(self, beta: float) -> tuple[Array, Array]:
        """Return the weights (m, C) and the intercept (C,)."""
        if not self._K.shape[1]:
            return self._values, self._t
        quadratic = self._datafit.loss.is_quadratic
        objective = self._objective(self._f, self._values, beta)
        for _ in range(1 if quadratic else _STEPS):
            values, t = self._towards(beta)
            move, shift = values - self._values, t - self._t
            turn, length = self._K @ move + shift, 1.0
            for _ in range(0 if quadratic else _HALVINGS):
                if self._objective(self._f + length * turn, self._values + length * move, beta) <= objective:
                    break
                length /= 2
            self._f, self._values, self._t = (
                self._f + length * turn,
                self._values + length * move,
                self._t + length * shift,
            )
            last, objective = objective, self._objective(self._f, self._values, beta)
            if last - objective <= (_GAIN if self._datafit.loss.separable else _BOUND_GAIN) * objective:
                break
        return self._values, self._t

    def _objective(self, f: Array, values: Array, beta: float) -> float:
        return self._datafit.value(f) + beta * float(np.linalg.norm(values, axis=1).sum())

    def _towards(self, beta: float) -> tuple[Array, Array]:
        """Return the minimum of the squares that touch the loss where the weights are."""
        A, mean, root, share = self._rows()
        response = self._f + self._datafit.residual(self._f) / root**2
        level = share @ response
        solution = enet_path(
            A,
            np.asfortranarray(root * (response - level)),
            l1_ratio=1.0,
            alphas=[beta],
            coef_init=np.array(self._values.T, order="F"),  # it is written to
            tol=_TOL,
            max_iter=_PASSES if self._datafit.loss.is_quadratic else _STEP_PASSES,
            check_input=False,
        )[1]
        values = np.ascontiguousarray(solution[:, :, 0].T)
        return values, np.asarray(level - mean @ values)

    def _rows(self) -> tuple[Array, Array, Array, Array]:
        """Columns centered and scaled by the roots of the rows' curvature, their mean, these roots, and the shares."""
        if self._squares is not None:
            return self._squares
        h = self._curvature()
        root = np.sqrt(h)[:, None]
        share = h / h.sum() if self._intercept else np.zeros(len(h))
        mean = share @ self._K
        squares = np.asfortranarray(root * (self._K - mean)), mean, root, share
        if self._datafit.loss.is_quadratic:
            self._squares = squares
        return squares

    def _curvature(self) -> Array:
        datafit, loss = self._datafit, self._datafit.loss
        weights = np.ones(len(self._K)) if datafit.sample_weight is None else datafit.sample_weight
        if loss.is_quadratic:
            return weights
        theta = loss.residual(self._f, datafit.y)
        rows = loss.row_curvature_at(theta, datafit.y)[:, 0]
        return np.asarray(weights * np.maximum(rows, _FLAT * min(loss.curvature, float(rows.max()))))


def on_exact_path(model: Any, task: Any, problem: LassoProblem) -> Result[Weights]:
    """Return the solution at the beta of an estimator, read from the exact path of its problem."""
    if not problem.datafit.loss.is_quadratic or problem.outputs > 1:
        rule = "'homotopy' only for loss='squared' and one output"
        value = describe(f"loss={problem.loss!r}, {problem.outputs} outputs")
        raise fail("solver", type(model).__name__, rule, value, "Use solver='auto'.")
    path = homotopy(
        problem.K,
        problem.datafit.y,
        beta_min=model.beta_,
        max_iter=model.max_iter or MAX_BREAKPOINTS,
        max_time=Limits(max_time=model.max_time).after(task.seconds).max_time,
        fit_intercept=problem.fit_intercept,
        sample_weight=problem.datafit.sample_weight,
    )
    return solution_at(path, problem, model._tolerance())
