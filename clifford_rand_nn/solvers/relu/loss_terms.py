"""The loss in an interior-point method over predictions: its dual point is an unknown of its own."""

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.datafit import Datafit
from clifford_rand_nn.solvers.interior.complementarity import longest_step


class LossTerm:
    r"""A loss with its dual point theta (n, C), linearised: :math:`\Delta\theta = W(q-\Delta f)`, :math:`W = RR^T`.

    Newton's method on the loss itself makes no way where the loss is flat, with small beta and classes that can be
    separated, and may cycle between its pieces. So theta is an unknown besides f, and the equation of both is
    linearised in theta: with F(theta) the predictions whose residual is theta, and multipliers of the bounds where the
    conjugate ends with a finite slope,

    .. math:: F(\theta) - f = p - m,\qquad p(high-\theta) = m(\theta-low) = \mu.

    A conjugate that is its own barrier (logistic, softmax) has no multipliers, and W is the Hessian of the loss where
    theta is its residual; without any bound (squared loss) theta is the residual from the first step on.

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
        self.open = np.stack([high, low]) if datafit.loss.barrier else None
        self.bounds = np.full((2, *f.shape), np.inf) if datafit.loss.barrier else np.stack([high, low])
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
        """Go to predictions f; return the roots R (n, C, C)."""
        self.slack = self._slack()
        self.rest = self.datafit.predictions_at(self.theta) - f - (self.sign * self.p).sum(axis=0)
        if self.count:
            W = 1 / (self.datafit.dual_curvature(self.theta) + (self.p / self.slack).sum(axis=0))
            self.roots = np.sqrt(W)[:, :, None] * np.eye(f.shape[1])
        else:
            self.roots = self.datafit.curvature_roots(self.theta)
        return np.asarray(self.roots)

    def _curved(self, q: Array) -> Array:
        """Return W q."""
        inner = np.matmul(self.roots.transpose(0, 2, 1), q[:, :, None])
        return np.asarray(np.matmul(self.roots, inner)[:, :, 0])

    def pull(self, target: float, second_order: bool) -> Array:
        """Return W q (n, C); ``second_order`` corrects by the direction found last."""
        c = target - self.p * self.slack
        if second_order:
            c = c + self.dp * self.sign * self.dtheta
        self.c = np.where(self.finite, c / self.slack, 0.0)
        self.q = self.rest - (self.sign * self.c).sum(axis=0)
        return self._curved(self.q)

    def turn(self, df: Array) -> None:
        """Fix the direction that follows from df."""
        self.dtheta = self._curved(self.q - df)
        self.dp = self.c + self.p * self.sign * self.dtheta / self.slack

    def limit(self) -> float:
        """Largest step along the direction that keeps the bounds."""
        if self.open is not None:
            return longest_step(self.sign * (self.open - self.theta), -self.sign * self.dtheta)
        slack = np.where(self.finite, -self.sign * self.dtheta, 0.0)
        return min(longest_step(self.p, self.dp), longest_step(self.slack, slack))

    def product(self, step: float = 0.0) -> float:
        """Sum of the ``count`` complementarity products after a step."""
        slack = self._slack() - step * self.sign * self.dtheta
        return float(np.sum(np.where(self.finite, slack * (self.p + step * self.dp), 0.0)))

    def advance(self, step: float) -> None:
        """Take the step."""
        self.theta, self.p = self.theta + step * self.dtheta, self.p + step * self.dp
