"""The gated-ReLU group lasso: objective, gradient, prox, duality gap, and the map to coefficients."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, check_choice, check_positive, describe, fail
from clifford_rand_nn.problems.datafits import Datafit, Logistic, Softmax, Squared
from clifford_rand_nn.problems.maps import GatedMap
from clifford_rand_nn.problems.penalties import GroupL2

__all__ = ["Coefficients", "DualBound", "GatedReLUProblem", "Point"]

Array = NDArray[np.float64]

_BALANCED = 1e-12  # an equality constraint of the dual holds if its residual is below this share of |theta|


class Point(NamedTuple):
    """Solver variables: U (r, P, C), penalised by group, and c (q, C), free; in the coordinates of `GatedMap`."""

    U: Array
    c: Array


class Coefficients(NamedTuple):
    """What is printed and predicted with, outputs first: coef (C, P, d), gate_intercept (C, P), intercept (C,)."""

    coef: Array
    gate_intercept: Array
    intercept: Array


class DualBound(NamedTuple):
    """A lower bound of the optimum and the dual point (n, C) that proves it."""

    value: float
    theta: Array


class GatedReLUProblem:
    r"""Convex training problem of a gated two-layer network with P activation patterns D_i (paper, eq. cvxnn:grelu).

    .. math:: \min_{U,b,t}\ \frac1n\sum_{j=1}^n \ell\Big(\sum_{i=1}^P D_{i,jj}(x_j^TU_i + b_i) + t,\ y_j\Big)
              + \beta\sum_{i=1}^P ||U_i||_F

    ``beta`` is in the 1/n scale: it means the same for every n. Gate biases b and intercept t are not penalised. It is
    the convex form of training gated units :math:`x\mapsto 1[h_i^Tx+c_i\ge0]\,(W_i^Tx+b_i)\,\alpha_i` with the penalty
    :math:`\frac\beta2\sum_i(||W_i||_F^2+\alpha_i^2)`: at the optimum :math:`|\alpha_i| = ||W_i||_F`, and
    :math:`U_i = \alpha_iW_i`.

    Dual (squared loss; the others replace the first two terms by the conjugate):

    .. math:: \max_\theta\ \frac1n\sum_j(\theta_j\cdot y_j - \tfrac12||\theta_j||^2)\quad\text{s.t.}\quad
              ||X^TD_i\theta||_F\le n\beta,\ \ 1^TD_i\theta=0\ (\text{bias}),\ \ 1^T\theta=0\ (\text{intercept}).

    Parameters
    ----------
    X : (n, d) array
    y : (n,) or (n, C) array
        Targets: real for "squared", -1 and 1 for "logistic", one-hot (n, C) for "softmax".
    patterns : (n, P) bool array
        One activation pattern per column; P = 0 leaves the intercept alone.
    beta : float > 0
    loss : {"squared", "logistic", "softmax"}
    bias, fit_intercept : bool

    Raises
    ------
    ArgumentError
        Shapes that do not fit, values that are not finite, targets outside their range, beta ≤ 0.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> problem = GatedReLUProblem(X, [0.0, 0.0, 1.0], np.array([[False], [True], [True]]), beta=0.1)
    >>> round(problem.objective(problem.start()), 6)  # nothing learned: half the mean square of y
    0.166667
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        patterns: ArrayLike,
        beta: float,
        *,
        loss: str = "squared",
        bias: bool = True,
        fit_intercept: bool = True,
    ) -> None:
        owner = "GatedReLUProblem"
        data = as_real(X, "X", owner)
        if data.ndim != 2 or 0 in data.shape:
            raise fail("X", owner, "an (n, d) array with n ≥ 1 and d ≥ 1", describe(f"shape {data.shape}"))
        D = np.asarray(patterns)
        if D.dtype != np.bool_ or D.ndim != 2 or len(D) != len(data):
            rule = f"a boolean array of shape ({len(data)}, P)"
            raise fail("patterns", owner, rule, describe(f"dtype {D.dtype}, shape {D.shape}"))
        self.loss = loss
        check_positive(beta, "beta", owner)
        self.datafit = _datafit(loss, y, len(data), owner)
        self.X = np.asarray(data, dtype=np.float64)
        self.map = GatedMap(self.X, D, bool(bias), bool(fit_intercept))
        self.penalty = GroupL2(float(beta), self.map.weights)

    @property
    def beta(self) -> float:
        """Regularisation parameter, in the 1/n scale."""
        return self.penalty.beta

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.map.n

    @property
    def outputs(self) -> int:
        """Number of outputs C."""
        return int(self.datafit.y.shape[1])

    def start(self) -> Point:
        """Return the zero point."""
        return Point(
            np.zeros((self.map.d, self.map.n_patterns, self.outputs)), np.zeros((self.map.Q.shape[1], self.outputs))
        )

    def predictions(self, z: Point) -> Array:
        """Predictions on the training rows, (n, C)."""
        return self.map.forward(z.U, z.c)

    def objective(self, z: Point, predictions: Array | None = None) -> float:
        """Primal objective at a point."""
        f = self.predictions(z) if predictions is None else predictions
        return self.datafit.value(f) + self.penalty.value(z.U)

    def gradient(self, predictions: Array) -> Point:
        """Gradient of the mean loss in (U, c), at the point that has these predictions."""
        return Point(*self.map.adjoint(-self.datafit.residual(predictions) / self.n))

    def prox(self, z: Point, step: float) -> Point:
        """Proximal operator of ``step`` times the penalty; c is left alone."""
        return Point(self.penalty.prox(z.U, step), z.c)

    def lipschitz(self) -> float:
        """Upper estimate of the Lipschitz constant of `gradient`, from the norm of the map."""
        return self.datafit.curvature * self.map.sigma**2 / self.n

    def dual_bound(self, predictions: Array) -> DualBound:
        """Lower bound of the optimum from predictions: the residual, moved and scaled into the dual feasible set.

        The bound holds wherever the predictions come from and equals the optimum at the optimal ones.
        """
        theta = self.datafit.balance(self.datafit.residual(predictions), self.map.Q)
        if np.linalg.norm(self.map.Q.T @ theta) > _BALANCED * np.linalg.norm(theta):
            theta = np.zeros_like(theta)  # always feasible
        size = self.penalty.dual_norm(self.map.gated_adjoint(theta))
        largest = self.n * self.beta / size if size > 0 else np.inf
        theta = self.datafit.scale(theta, largest) * theta
        return DualBound(self.datafit.dual_value(theta), theta)

    def relative_gap(self, primal: float, dual: float) -> float:
        """(primal - dual) / primal, where a primal value below rounding of the zero network's loss counts as that."""
        zero = self.datafit.value(np.zeros_like(self.datafit.y))
        scale = max(primal, np.finfo(np.float64).eps * max(zero, np.finfo(np.float64).tiny))
        return max(primal - dual, 0.0) / scale

    def coefficients(self, z: Point) -> Coefficients:
        """Coefficients and biases of a point: the same predictions, the same objective."""
        coef = np.einsum("dr,rpc->cpd", self.map.basis * self.map.weights, z.U, optimize=True)
        gate, intercept = self.map.biases(z.U, z.c)
        return Coefficients(np.ascontiguousarray(coef), np.ascontiguousarray(gate.T), intercept)

    def point(self, coefficients: Coefficients) -> Point:
        """Inverse of `coefficients`, of their part in the span of the data: the rest only costs."""
        U = np.einsum("dr,cpd->rpc", self.map.basis / self.map.weights, coefficients.coef, optimize=True)
        c = self.map.unpenalised(U, coefficients.gate_intercept.T, coefficients.intercept)
        return Point(U, c)


def _datafit(loss: str, y: Any, n: int, owner: str) -> Datafit:
    check_choice(loss, "loss", owner, ("squared", "logistic", "softmax"))
    targets = np.asarray(as_real(y, "y", owner), dtype=np.float64)
    if targets.ndim == 1:
        targets = targets[:, None]
    if targets.ndim != 2 or len(targets) != n or targets.shape[1] == 0:
        raise fail("y", owner, f"of shape ({n},) or ({n}, C)", describe(f"shape {np.shape(y)}"))
    if loss == "squared":
        return Squared(targets)
    if loss == "logistic":
        if targets.shape[1] != 1 or not np.isin(targets, (-1, 1)).all():
            raise fail("y", owner, "one column of -1 and 1 for loss='logistic'", describe(_range(targets)))
        return Logistic(targets)
    if not (np.isin(targets, (0, 1)).all() and (targets.sum(axis=1) == 1).all() and targets.shape[1] > 1):
        raise fail("y", owner, "one-hot rows of C ≥ 2 columns for loss='softmax'", describe(_range(targets)))
    return Softmax(targets)


def _range(targets: Array) -> str:
    return f"shape {targets.shape}, values from {targets.min():g} to {targets.max():g}"
