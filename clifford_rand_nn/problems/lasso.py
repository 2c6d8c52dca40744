"""The Lasso over a dictionary of neurons: objective, duality gap, the least beta without a neuron."""

from typing import NamedTuple, Unpack

import numpy as np

from clifford_rand._checks import as_real, check_size, describe, fail
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn._records import short_repr
from clifford_rand_nn.problems.datafit import unpenalized_fit
from clifford_rand_nn.problems.duality import DualBound, TargetOptions, TrainingProblem, constant_columns, dual_bound
from clifford_rand_nn.rounding import block_products


@short_repr
class Weights(NamedTuple):
    """A sparse solution: the columns in use (m,), their weights (m, C), the intercept (C,)."""

    columns: NDArray[np.intp]
    values: Array
    intercept: Array


class LassoProblem(TrainingProblem):
    r"""Lasso over the columns of K (paper, eq. cvxnn:lasso), with a free intercept.

    .. math:: \min_{Z,t}\ \frac1n\sum_{i=1}^n\ell\Big(\sum_jK_{ij}Z_j+t,\ y_i\Big)+\beta\sum_j||Z_j||_2

    For one output :math:`||Z_j||_2 = |z_j|`. If column j is the activation :math:`(Xv_j+b_j)_+` of a neuron with
    :math:`||v_j||_p = 1`, the network :math:`\sum_jZ_j(x^Tv_j+b_j)_++t` has the penalty
    :math:`\frac12\sum_j(||w_j||_p^2+||\alpha_j||_2^2)` when it is balanced, :math:`w_j = v_j\sqrt{||Z_j||}`.

    Dual: :math:`\max_\theta\frac1n\sum_i-\ell^*(-\theta_i)` subject to :math:`||K_j^T\theta||_2\le n\beta` for all
    j, and :math:`\sum_i\theta_i = 0` with an intercept.

    ``K`` (n, N): kept as it is, without a copy, if it is float64. ``beta``: in the 1/n scale. The paper's figures use
    :math:`\sum_i(f_i-y_i)^2+\beta_p||z||_1`, which is :math:`\beta = \beta_p/(2n)` here. ``y``, ``loss``,
    ``huber_delta``, ``sample_weight``: as in `GatedReLUProblem`, and so are the errors.

    Examples
    --------
    >>> problem = LassoProblem(np.eye(3), [0.0, 0.0, 3.0], beta=0.1)
    >>> round(problem.beta_max(), 6)
    0.666667
    """

    _reach: tuple[Array, Array] | None = None  # with the K that it is of

    def __init__(self, K: ArrayLike, y: ArrayLike, beta: float, **options: Unpack[TargetOptions]) -> None:
        columns = as_real(K, "K", "LassoProblem")
        check_size(columns, "K", "LassoProblem")
        if columns.ndim != 2 or len(columns) == 0:
            raise fail("K", "LassoProblem", "an (n, N) array with n ≥ 1", describe(f"shape {columns.shape}"))
        self.beta = self._set_targets(len(columns), y, beta, **options)
        self.K = np.asarray(columns, dtype=np.float64)
        self.Q = constant_columns(len(columns), self.fit_intercept)

    @property
    def reach(self) -> Array:
        """The largest entry of each row of K, (n,)."""
        if self._reach is None or self._reach[0] is not self.K:
            self._reach = self.K, np.maximum(self.K.max(axis=1, initial=0.0), -self.K.min(axis=1, initial=0.0))
        return self._reach[1]

    def predictions(self, weights: Weights) -> Array:
        """Predictions on the training rows, (n, C)."""
        return np.asarray(self.K[:, weights.columns] @ weights.values + weights.intercept)

    def objective(self, weights: Weights, predictions: Array | None = None) -> float:
        """Primal objective."""
        f = self.predictions(weights) if predictions is None else predictions
        return self.datafit.value(f) + self.beta * float(np.linalg.norm(weights.values, axis=1).sum())

    def dual_norm(self, theta: Array) -> float:
        r"""Return :math:`\max_j||K_j^T\theta||_2`."""
        return float(np.linalg.norm(block_products(theta, self.K), axis=0).max(initial=0.0))

    def dual_bound(self, predictions: Array) -> DualBound:
        """Lower bound of the optimum from any predictions; equal to it at the optimal ones."""
        return self.bound_at(self.datafit.residual(predictions))

    def bound_at(self, theta: Array) -> DualBound:
        """Lower bound of the optimum from a dual point, which is scaled and shifted to be feasible."""
        return dual_bound(self.datafit, theta, self.Q, self.dual_norm, self.n * self.beta, self.reach)

    def beta_max(self) -> float:
        r"""Least beta whose optimum uses no column: :math:`\max_j||K_j^T\theta_0||/n`.

        :math:`\theta_0` is the residual of the best constant. In the paper's scale, for the squared loss, it is
        :math:`2\max_j|K_j^T(y-\bar y)|`.
        """
        return self.dual_norm(self.datafit.residual(unpenalized_fit(self.datafit, self.Q))) / self.n
