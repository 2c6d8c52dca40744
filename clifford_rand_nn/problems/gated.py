"""Convex training of gated networks: objective, gradient, prox, duality gap, and the map to coefficients."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np
from scipy.sparse import issparse

from clifford_rand._checks import as_real, check_bool, check_size, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import Array, ArrayLike
from clifford_rand_nn._records import short_repr
from clifford_rand_nn.gates.hyperplanes import checked_patterns
from clifford_rand_nn.problems.coordinates import CsrRows, same_problem_rows
from clifford_rand_nn.problems.datafit import unpenalized_fit
from clifford_rand_nn.problems.duality import (
    DualBound,
    TargetOptions,
    TrainingProblem,
    bound_with_square,
    dual_bound,
)
from clifford_rand_nn.problems.maps import GatedMap
from clifford_rand_nn.problems.penalties import GroupL2, Ridge
from clifford_rand_nn.rounding import rounding_of_norm, square_above
from clifford_rand_nn.sparse_rows import as_rows_or_csr, row_lengths, row_squares


class Point(NamedTuple):
    """Solver variables: U (r, P, C), penalized by group, and c (q, C), free; in the coordinates of `GatedMap`."""

    U: Array
    c: Array


@short_repr
class Coefficients(NamedTuple):
    """Coefficients of predictions, outputs first: coef (C, P, d), gate_intercept (C, P), intercept (C,)."""

    coef: Array
    gate_intercept: Array
    intercept: Array


class GatedProblem(TrainingProblem):
    """Base of the training problems over the patterns of gates; each adds its penalty and its dual.

    ``X`` (n, d).
    """

    penalty: GroupL2 | Ridge
    _kind: ClassVar[type[GroupL2 | Ridge]]

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        patterns: ArrayLike,
        beta: float,
        *,
        bias: bool = True,
        **options: Unpack[TargetOptions],
    ) -> None:
        owner = type(self).__name__
        data: Any = CsrRows(as_rows_or_csr(X, owner)) if issparse(X) else X
        if isinstance(data, CsrRows):
            check_size(data.X.data, "X", owner)
        else:
            data = as_real(X, "X", owner)
            check_size(data, "X", owner)
            if data.ndim != 2 or 0 in data.shape:
                raise fail("X", owner, "an (n, d) array with n ≥ 1 and d ≥ 1", describe(f"shape {data.shape}"))
        D = checked_patterns(patterns, len(data), owner)
        beta = self._set_targets(len(data), y, beta, **options)
        self.X = data
        self.map = GatedMap(data, D, check_bool(bias, "bias", owner), self.fit_intercept)
        self.penalty = self._kind(beta, self.map.weights)

    def has_columns_of(self, X: Any, gated_map: GatedMap) -> bool:
        """Tell whether rows, patterns and unpenalized biases are those of another problem with this X and map."""
        own = self.map
        if own is gated_map:
            return True
        same = (own.bias, own.fit_intercept) == (gated_map.bias, gated_map.fit_intercept)
        return same and same_problem_rows(X, self.X) and np.array_equal(own.patterns, gated_map.patterns)

    @property
    def beta(self) -> float:
        """Regularization parameter, in the 1/n scale."""
        return self.penalty.beta

    def start(self) -> Point:
        """Return the zero point."""
        a, C = self.map, self.outputs
        return Point(np.zeros((a.d, a.n_patterns, C)), np.zeros((a.Q.shape[1], C)))

    def null_point(self) -> Point:
        """Return the best point without an active gate, the optimum from `beta_max` on: biases and intercept alone."""
        return Point(self.start().U, self.map.Q.T @ self.null_predictions / self.map.sigma)

    @cached_property
    def reach(self) -> Any:
        """Lengths of the rows, (n,): the largest prediction on each of weights of norm 1."""
        return row_lengths(self.X.X if isinstance(self.X, CsrRows) else self.X)

    @cached_property
    def null_predictions(self) -> Array:
        """The best predictions (n, C) by biases and intercept alone."""
        return unpenalized_fit(self.datafit, self.map.Q)

    def predictions(self, z: Point) -> Any:
        """Predictions on the training rows, (n, C)."""
        return self.map.forward(z.U, z.c)

    def objective(self, z: Point, predictions: Array | None = None) -> float:
        """Primal objective at a point."""
        f = self.predictions(z) if predictions is None else predictions
        return self.datafit.value(f) + self.penalty.value(z.U)

    def lipschitz(self) -> float:
        """Estimate the Lipschitz constant of the gradient: with weights by the mean curvature, which may be low."""
        return self.datafit.loss.curvature * self.map.sigma**2 / self.n

    def coefficients(self, z: Point) -> Coefficients:
        """Coefficients and biases of a point: the same predictions, the same objective."""
        return self.with_biases(z.U, *self.map.biases(z.U, z.c))

    def with_biases(self, U: Array, gate: Array, intercept: Array) -> Coefficients:
        """Return the coefficients of U with gate biases (P, C) and an intercept (C,)."""
        return Coefficients(self.map.in_columns(U), np.ascontiguousarray(gate.T), intercept)

    def point(self, coefficients: Coefficients) -> Point:
        """Inverse of `coefficients`, of their part in the span of the data: the rest only costs."""
        U = self.map.in_coordinates(coefficients.coef)
        c = self.map.unpenalized(U, coefficients.gate_intercept.T, coefficients.intercept)
        return Point(U, c)

    def dual_bound(self, predictions: Array) -> DualBound:
        """Lower bound of the optimum from predictions, which holds wherever they come from."""
        raise NotImplementedError


class GatedReLUProblem(GatedProblem):
    r"""Convex training problem of a gated two-layer network with P activation patterns D_i (paper, eq. cvxnn:grelu).

    .. math:: \min_{U,b,t}\ \frac1n\sum_{j=1}^n \ell\Big(\sum_{i=1}^P D_{i,jj}(x_j^TU_i + b_i) + t,\ y_j\Big)
              + \beta\sum_{i=1}^P ||U_i||_F

    ``beta`` is in the 1/n scale: it means the same for every n. Gate biases b and intercept t are not penalized. It is
    the convex form of training gated units :math:`x\mapsto 1[h_i^Tx+c_i\ge0]\,(W_i^Tx+b_i)\,\alpha_i` with the penalty
    :math:`\frac\beta2\sum_i(||W_i||_F^2+\alpha_i^2)`: at the optimum :math:`|\alpha_i| = ||W_i||_F`, and
    :math:`U_i = \alpha_iW_i`.

    Dual (squared loss; the others replace the first two terms by the conjugate):

    .. math:: \max_\theta\ \frac1n\sum_j(\theta_j\cdot y_j - \tfrac12||\theta_j||^2)\quad\text{s.t.}\quad
              ||X^TD_i\theta||_F\le n\beta,\ \ 1^TD_i\theta=0\ (\text{bias}),\ \ 1^T\theta=0\ (\text{intercept}).

    ``X`` (n, d): nothing is made of sparse rows that has a number for each row and column; `CsrRows` makes what several
    problems on them need but once. An array in float32 is kept so, for solvers that work in single precision; values
    and bounds are those of exactly these numbers, in double precision. ``y`` (n,): targets: real for "squared" and
    "huber", -1 and 1 for "logistic" and "squared_hinge", one-hot (n, C) for "softmax". ``patterns`` (n, P): one
    activation pattern per column; P = 0 leaves the intercept alone. ``loss``: A name in
    `clifford_rand_nn.problems.loss_registry.LOSSES`, or a record. ``huber_delta``: of "huber" and "log_cosh" alone:
    where they turn from square to line, 1 unless given. ``sample_weight`` (n,): the loss becomes
    :math:`\sum_jw_j\ell_j/\sum_jw_j`: only ratios matter, ``beta`` means what it means without weights, and a whole
    number w is as good as w duplicates. Inside, weights have mean 1. Raises ArgumentError: shapes that do not
    fit, values that are not finite, targets outside their range, beta ≤ 0, weights ≤ 0.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> problem = GatedReLUProblem(X, [0.0, 0.0, 1.0], np.array([[False], [True], [True]]), beta=0.1)
    >>> round(problem.objective(problem.start()), 6)  # nothing learned: half the mean square of y
    0.166667
    """

    penalty: GroupL2
    _kind = GroupL2

    def dual_bound(self, predictions: Array) -> DualBound:
        """Lower bound of the optimum from predictions: the residual, moved and scaled into the dual feasible set.

        The bound holds wherever the predictions come from and equals the optimum at the optimal ones.
        """
        return self.bound_at(self.datafit.residual(predictions))

    def bound_at(self, theta: Array, size: Callable[[Array], float] | None = None) -> DualBound:
        """Lower bound of the optimum from a dual point (n, C); ``size`` takes the place of `dual_norm`, if given."""
        return dual_bound(self.datafit, theta, self.map.Q, size or self.dual_norm, self.n * self.beta, self.reach)

    def beta_max(self) -> float:
        r"""Least beta whose optimum has no active gate: :math:`\max_i||X^TD_i\theta_0||_F/n`.

        :math:`\theta_0` is the residual of the best fit by biases and intercept alone.
        """
        return self.dual_norm(self.datafit.residual(self.null_predictions)) / self.n

    @cached_property
    def zero_norm(self) -> float:
        r"""The `dual_norm` of the residual of the zero network."""
        return self.dual_norm(self.datafit.residual(np.zeros((self.n, self.outputs))))

    def dual_norm(self, theta: Array) -> float:
        r"""Return :math:`\max_i||X^TD_i\theta||_F`; a dual point keeps it within n beta."""
        return self.penalty.dual_norm(self.map.gated_adjoint(theta))


class GatedRidgeProblem(GatedProblem):
    r"""Convex training problem of a gated network with P activation patterns D_i and squared norms.

    .. math:: \min_{U,b,t}\ \frac1n\sum_{j=1}^n \ell\Big(\sum_{i=1}^P D_{i,jj}(x_j^TU_i + b_i) + t,\ y_j\Big)
              + \frac\beta2\sum_{i=1}^P ||U_i||_F^2

    It trains the gated units' own weights with weight decay, their amplitudes being fixed, where `GatedReLUProblem`
    trains both: all gates stay in use, none is selected, so that more gates make the network smoother instead of
    larger. With Gaussian gates K/P nears :math:`\frac12x^Tx'(1-\angle(x,x')/\pi)`, the tangent kernel of the first
    layer of a ReLU network; K grows with P, and so does the ``beta`` that serves.

    Dual (squared loss; the others replace the first term by the conjugate), with :math:`K = \sum_iD_iXX^TD_i`:

    .. math:: \max_\theta\ \frac1n\sum_j(\theta_j\cdot y_j - \tfrac12||\theta_j||^2)
              - \frac1{2n^2\beta}\theta^TK\theta\quad\text{s.t.}\quad
              1^TD_i\theta=0\ (\text{bias}),\ \ 1^T\theta=0\ (\text{intercept}).

    Parameters and errors are those of `GatedReLUProblem`.

    References
    ----------
    Dwaraknath, Ergen, Pilanci, "Fixing the NTK: from neural network linearizations to exact convex programs", NeurIPS
    2023; Cho, Saul, "Kernel methods for deep learning", NIPS 2009, eq. 6 with n = 0, for the kernel of many gates.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> problem = GatedRidgeProblem(X, [0.0, 0.0, 1.0], np.array([[False], [True], [True]]), beta=0.1)
    >>> round(problem.objective(problem.start()), 6)  # nothing learned: half the mean square of y
    0.166667
    """

    penalty: Ridge
    _kind = Ridge

    def dual_bound(
        self, predictions: Array, square: Callable[[Array], float] | None = None, theta: Array | None = None
    ) -> DualBound:
        r"""Lower bound of the optimum from predictions: the dual value of their residual, moved to meet the equalities.

        The bound holds wherever the predictions come from and equals the optimum at the optimal ones. ``square`` is
        a cheaper way to :math:`\theta^TK\theta`, if there is one, no less by rounding; ``theta`` is in the place of the
        residual, which of a piecewise linear loss is not one number.
        """
        theta = self.datafit.residual(predictions) if theta is None else theta
        theta = self.datafit.dual_point(theta, self.map.Q)
        return bound_with_square(self.datafit, theta, (square or self._square)(theta) / (2 * self.n**2 * self.beta))

    def _square(self, theta: Array) -> float:
        slopes = self.map.gated_adjoint(theta)
        return self.square_above(float(self.map.weights**-2.0 @ np.einsum("rpc,rpc->r", slopes, slopes)), theta)

    def square_above(self, square: float, theta: Array) -> float:
        r"""Return the sum of :math:`||X^TD_i\theta||_F^2` over the gates with what rounding may have taken from it."""
        return square_above(square, self.map.n_patterns, rounding_of_norm(self.reach, theta))

    def beta_max(self) -> float:
        r"""Beta from which every direction of the predictions is shrunk by a half or more.

        That is :math:`\kappa\,\mathrm{tr}(K)/n`, with κ the largest curvature of the loss and the rows of each gate
        centered where there is a bias or an intercept: no eigenvalue of K is larger than its trace. No beta leaves the
        network without neurons; paths begin here.
        """
        a = self.map
        rows = a.unweighted if isinstance(self.X, CsrRows) else np.asarray(a.rows, dtype=np.float64) / a.weights
        on = a.patterns.sum(axis=0)
        trace = float(row_squares(rows) @ a.patterns.sum(axis=1))
        if a.bias or a.fit_intercept:
            sums = rows.T @ a.patterns
            trace -= float((np.einsum("rp,rp->p", sums, sums) / (np.maximum(on, 1) if a.bias else a.n)).sum())
        return self.datafit.largest_curvature(self.null_predictions) * max(trace, 0.0) / a.n


GATED_PENALTIES: dict[str, type[GatedReLUProblem] | type[GatedRidgeProblem]] = {
    "group_l2": GatedReLUProblem,
    "ridge": GatedRidgeProblem,
}
