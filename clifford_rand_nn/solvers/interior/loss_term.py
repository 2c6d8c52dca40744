"""The loss in interior-point methods, linearized in its dual point, with multipliers of the bounds."""

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.datafit import Datafit
from clifford_rand_nn.solvers.interior.complementarity import longest_step


class LossTerm:
    r"""A separable loss with its dual point theta (n, C), linearized: :math:`\Delta\theta = W(q-\Delta f)`.

    Newton's method on the loss itself stalls where the loss is flat (small beta and separable classes) and may cycle
    between its pieces. So theta is an unknown besides f, and the equation of both is linearized in theta: with
    F(theta) the predictions whose residual is theta, and p and m the multipliers of the bounds of theta,

    .. math:: F(\theta) - f = p - m,\qquad p(high-\theta) = m(\theta-low) = \mu.

    A conjugate that is its own barrier (logistic, log cosh) has multipliers as well: at a residual of 1000 δ the dual
    point of log cosh rounds to its bound δ, F(theta) is at most 19 δ, and the multipliers supply the difference.
    Without bounds (squared loss) theta is the residual from the first step on.

    ``datafit``: in the units of ``f``. ``f`` (n, C). ``mu``: initial products of slacks and multipliers.
    """

    def __init__(self, datafit: Datafit, f: Array, mu: float) -> None:
        self.datafit = datafit
        low, high = datafit.dual_domain()
        self.bounds = np.stack([high, low])
        self.finite = np.isfinite(self.bounds)
        self.sign = np.array([1.0, -1.0])[:, None, None]  # slack = sign * (bound - theta)
        inner = np.where(self.finite, self.bounds, 0.0)
        between = np.where(self.finite.all(axis=0), inner.mean(axis=0), self._inside_single(inner))
        self.theta = np.where(self.finite.any(axis=0), between, datafit.residual(f))
        self.count = int(self.finite.sum())
        self.p = np.where(self.finite, mu / self._slack(), 0.0)
        self.dp, self.dtheta = np.zeros_like(self.p), np.zeros_like(self.theta)

    def _inside_single(self, inner: Array) -> Array:
        """Return points at a distance of one weight from the bound, where there is only one."""
        return np.asarray(inner.sum(axis=0) + self.datafit.weights * (1.0 * self.finite[1] - self.finite[0]))

    def _slack(self) -> Array:
        return np.asarray(np.where(self.finite, self.sign * (self.bounds - self.theta), 1.0))

    def linearize(self, f: Array) -> Array:
        """Linearize at predictions f; return the square roots of W, (n, C)."""
        self.slack = self._slack()
        self.rest = self.datafit.predictions_at(self.theta) - f - (self.sign * self.p).sum(axis=0)
        self.W = 1 / (self.datafit.dual_curvature(self.theta) + (self.p / self.slack).sum(axis=0))
        return np.asarray(np.sqrt(self.W))

    def right_hand_side(self, target: float, second_order: bool) -> Array:
        """Return W q (n, C); ``second_order`` corrects by the previous direction."""
        c = target - self.p * self.slack
        if second_order:
            c = c + self.dp * self.sign * self.dtheta
        self.c = np.where(self.finite, c / self.slack, 0.0)
        self.q = self.rest - (self.sign * self.c).sum(axis=0)
        return np.asarray(self.W * self.q)

    def set_direction(self, df: Array) -> None:
        """Set the direction of theta and the multipliers that follows from df."""
        self.dtheta = self.W * (self.q - df)
        self.dp = self.c + self.p * self.sign * self.dtheta / self.slack

    def limit(self) -> float:
        """Largest step along the direction within the bounds."""
        slack = np.where(self.finite, -self.sign * self.dtheta, 0.0)
        return min(longest_step(self.p, self.dp), longest_step(self.slack, slack))

    def product(self, step: float = 0.0) -> float:
        """Sum of the ``count`` complementarity products after a step."""
        slack = self._slack() - step * self.sign * self.dtheta
        return float(np.sum(np.where(self.finite, slack * (self.p + step * self.dp), 0.0)))

    def advance(self, step: float) -> None:
        """Take the step."""
        self.theta, self.p = self.theta + step * self.dtheta, self.p + step * self.dp
        high, low = self.bounds  # rounding must not put theta on a bound
        self.theta = np.clip(self.theta, np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
