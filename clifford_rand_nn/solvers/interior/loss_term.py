"""A loss in interior-point methods with predictions and dual point as unknowns, and multipliers of its bounds."""

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.datafit import Datafit
from clifford_rand_nn.solvers.interior.complementarity import longest_step


class LossTerm:
    r"""A separable loss with its dual point theta (n, C), linearised: :math:`\Delta\theta = W(q-\Delta f)`.

    Newton's method on the loss itself makes no way where the loss is flat, with small beta and classes that can be
    separated, and may cycle between its pieces. So theta is an unknown besides f, and the equation of both is
    linearised in theta: with F(theta) the predictions whose residual is theta, and multipliers of its bounds,

    .. math:: F(\theta) - f = p - m,\qquad p(high-\theta) = m(\theta-low) = \mu.

    A conjugate that is its own barrier (logistic, log cosh) has multipliers as well: at a residual of 1000 δ the dual
    point of log cosh is its bound δ to rounding, F(theta) at most 19 δ, and the multipliers are the rest. Without any
    bound (squared loss) theta is the residual from the first step on.

    Parameters
    ----------
    datafit : Datafit
        In the units of ``f``.
    f : (n, C)
    mu : float
        Products of slacks and multipliers to begin with.
    """

    def __init__(self, datafit: Datafit, f: Array, mu: float) -> None:
        self.datafit = datafit
        low, high = datafit.dual_domain()
        self.bounds = np.stack([high, low])
        self.finite = np.isfinite(self.bounds)
        self.sign = np.array([1.0, -1.0])[:, None, None]  # slack = sign * (bound - theta)
        inner = np.where(self.finite, self.bounds, 0.0)
        between = np.where(self.finite.all(axis=0), inner.mean(axis=0), self._one_inside(inner))
        self.theta = np.where(self.finite.any(axis=0), between, datafit.residual(f))
        self.count = int(self.finite.sum())
        self.p = np.where(self.finite, mu / self._slack(), 0.0)
        self.dp, self.dtheta = np.zeros_like(self.p), np.zeros_like(self.theta)

    def _one_inside(self, inner: Array) -> Array:
        """Return points at the distance of the weight from a single bound."""
        return np.asarray(inner.sum(axis=0) + self.datafit.weights * (1.0 * self.finite[1] - self.finite[0]))

    def _slack(self) -> Array:
        return np.asarray(np.where(self.finite, self.sign * (self.bounds - self.theta), 1.0))

    def linearise(self, f: Array) -> Array:
        """Go to predictions f; return the roots of W, (n, C)."""
        self.slack = self._slack()
        self.rest = self.datafit.predictions_at(self.theta) - f - (self.sign * self.p).sum(axis=0)
        self.W = 1 / (self.datafit.dual_curvature(self.theta) + (self.p / self.slack).sum(axis=0))
        return np.asarray(np.sqrt(self.W))

    def pull(self, target: float, second_order: bool) -> Array:
        """Return W q (n, C); ``second_order`` corrects by the direction found last."""
        c = target - self.p * self.slack
        if second_order:
            c = c + self.dp * self.sign * self.dtheta
        self.c = np.where(self.finite, c / self.slack, 0.0)
        self.q = self.rest - (self.sign * self.c).sum(axis=0)
        return np.asarray(self.W * self.q)

    def turn(self, df: Array) -> None:
        """Fix the direction that follows from df."""
        self.dtheta = self.W * (self.q - df)
        self.dp = self.c + self.p * self.sign * self.dtheta / self.slack

    def limit(self) -> float:
        """Largest step along the direction that keeps the bounds."""
        slack = np.where(self.finite, -self.sign * self.dtheta, 0.0)
        return min(longest_step(self.p, self.dp), longest_step(self.slack, slack))

    def product(self, step: float = 0.0) -> float:
        """Sum of the ``count`` complementarity products after a step."""
        slack = self._slack() - step * self.sign * self.dtheta
        return float(np.sum(np.where(self.finite, slack * (self.p + step * self.dp), 0.0)))

    def advance(self, step: float) -> None:
        """Take the step."""
        self.theta, self.p = self.theta + step * self.dtheta, self.p + step * self.dp
        high, low = self.bounds  # of which rounding must not reach the ends
        self.theta = np.clip(self.theta, np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
