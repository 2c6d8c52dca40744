"""The loss in an interior-point method over predictions: entropies and kinks through the dual."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn.datafits.base import Datafit
from clifford_rand_nn.datafits.margin import Logistic, SquaredHinge
from clifford_rand_nn.datafits.softmax import Softmax
from clifford_rand_nn.datafits.squared import Huber

__all__ = ["BoundedLoss", "EntropyLoss", "LossTerm", "SquaredLoss", "largest_step", "loss_term"]

Array = NDArray[np.float64]


class LossTerm(Protocol):
    r"""A loss with its dual point theta (n, C), linearised: :math:`\Delta\theta = W(q-\Delta f)`, W = R Rᵀ."""

    count: int

    @property
    def theta(self) -> Array:
        """Dual point (n, C)."""

    def linearise(self, f: Array) -> Array:
        """Go to predictions f; return the roots R (n, C, C)."""

    def pull(self, target: float, second_order: bool) -> Array:
        """Return W q (n, C); ``second_order`` corrects by the direction found last."""

    def turn(self, df: Array) -> None:
        """Fix the direction that follows from df."""

    def limit(self) -> float:
        """Largest step along the direction that keeps the bounds."""

    def product(self, step: float = 0.0) -> float:
        """Sum of the ``count`` complementarity products after a step."""

    def advance(self, step: float) -> None:
        """Take the step."""


class SquaredLoss:
    """Theta is the residual, W the weights. ``scale`` is the unit of f and theta."""

    count = 0

    def __init__(self, datafit: Datafit, f: Array, scale: float) -> None:
        self.y, self.weights = datafit.y / scale, datafit.weights
        self.theta = self.weights * (self.y - f)

    def linearise(self, f: Array) -> Array:
        """Go to predictions f; return the roots of W."""
        self.theta = self.weights * (self.y - f)
        n, C = f.shape
        return np.asarray(_per_row(np.sqrt(self.weights)) * np.tile(np.eye(C), (n, 1, 1)))

    def pull(self, target: float, second_order: bool) -> Array:
        """Return the pull of the target."""
        return np.zeros_like(self.theta)

    def turn(self, df: Array) -> None:
        """Nothing to do: theta follows from the predictions."""

    def limit(self) -> float:
        """Return the largest step."""
        return np.inf

    def product(self, step: float = 0.0) -> float:
        """Return the sum of the products after a step."""
        return 0.0

    def advance(self, step: float) -> None:
        """Nothing to do."""


class EntropyLoss:
    r"""Logistic and softmax, whose conjugate is an entropy: its own barrier.

    Theta = w(y - p) with probabilities p is an unknown of its own, and :math:`f = \log p` up to a common shift is
    linearised in p: :math:`\Delta\theta = W(\log p - f-\Delta f)`, :math:`W = w(\mathrm{diag}(p)-pp^T)`. Newton's
    method on the loss itself makes no way where the loss is flat, with small beta and classes that can be separated.
    Logistic is two classes: p and 1 - p with :math:`p = y\theta/w`.
    """

    count = 0

    def __init__(self, datafit: Datafit, f: Array) -> None:
        self.y, self.two, self.weights = datafit.y, isinstance(datafit, Logistic), datafit.weights
        theta = datafit.residual(f) / self.weights
        self.p = np.hstack([1 - self.y * theta, self.y * theta]) if self.two else self.y - theta
        self.dp = np.zeros_like(self.p)

    @property
    def theta(self) -> Array:
        """Dual point (n, C)."""
        return np.asarray(self.weights * (self.y * self.p[:, 1:] if self.two else self.y - self.p))

    def linearise(self, f: Array) -> Array:
        """Go to predictions f; return the roots of W."""
        if self.two:
            self.rest = self.y * np.log(self.p[:, :1] / self.p[:, 1:]) - f
            self.W = (self.weights * (self.p[:, :1] * self.p[:, 1:]))[:, :, None]
            return np.sqrt(self.W)
        self.rest = np.log(self.p) - f
        # diag(p) - ppᵀ = diag(q)(I - qqᵀ)diag(q), q = sqrt(p), with a projector inside
        q = np.sqrt(self.p)
        root = _per_row(np.sqrt(self.weights)) * q[:, :, None] * (np.eye(f.shape[1]) - q[:, :, None] * q[:, None, :])
        self.W = np.matmul(root, root.transpose(0, 2, 1))
        return np.asarray(root)

    def pull(self, target: float, second_order: bool) -> Array:
        """Return the pull of the target."""
        return np.asarray(np.matmul(self.W, self.rest[:, :, None])[:, :, 0])

    def turn(self, df: Array) -> None:
        """Fix the direction."""
        dtheta = np.matmul(self.W, (self.rest - df)[:, :, None])[:, :, 0] / self.weights
        self.dp = np.hstack([-self.y * dtheta, self.y * dtheta]) if self.two else -dtheta

    def limit(self) -> float:
        """Return the largest step."""
        return largest_step(self.p, self.dp)

    def product(self, step: float = 0.0) -> float:
        """Return the sum of the products after a step."""
        return 0.0

    def advance(self, step: float) -> None:
        """Take the step."""
        p = self.p + step * self.dp
        self.p = p / p.sum(axis=1, keepdims=True)


class BoundedLoss:
    r"""Huber and squared hinge: the conjugate is :math:`\theta^2/(2w)-\theta y` on ``low`` ≤ theta ≤ ``high``.

    Newton's method on the loss itself may cycle between its pieces. With multipliers of the bounds,
    :math:`y-f = \theta/w+p-m,\ p(high-\theta) = m(\theta-low) = \mu`, it is a smooth system; an infinite bound has
    none.
    """

    def __init__(self, datafit: Huber | SquaredHinge, f: Array, scale: float, mu: float) -> None:
        self.y, self.weights = datafit.y / scale, datafit.weights
        low, high = datafit.dual_domain()
        self.bounds = np.stack([high, low]) / scale
        self.finite = np.isfinite(self.bounds)
        self.sign = np.array([1.0, -1.0])[:, None, None]  # slack = sign * (bound - theta)
        inner = np.where(self.finite, self.bounds, 0.0)
        both = self.finite.all(axis=0)
        inside = inner.sum(axis=0) + self.weights * (1.0 * self.finite[1] - self.finite[0])
        self.theta = np.where(both, inner.mean(axis=0), inside)
        self.count = int(self.finite.sum())
        self.p = np.where(self.finite, mu / self._slack(), 0.0)
        self.dp, self.dtheta = np.zeros_like(self.p), np.zeros_like(self.theta)

    def _slack(self) -> Array:
        return np.asarray(np.where(self.finite, self.sign * (self.bounds - self.theta), 1.0))

    def linearise(self, f: Array) -> Array:
        """Go to predictions f; return the roots of W."""
        self.slack = self._slack()
        self.rest = self.y - f - self.theta / self.weights - (self.sign * self.p).sum(axis=0)
        self.W = 1 / (1 / self.weights + (self.p / self.slack).sum(axis=0))
        return np.asarray(np.sqrt(self.W)[:, :, None] * np.eye(f.shape[1]))

    def pull(self, target: float, second_order: bool) -> Array:
        """Return the pull of the target."""
        c = target - self.p * self.slack
        if second_order:
            c = c + self.dp * self.sign * self.dtheta
        self.c = np.where(self.finite, c / self.slack, 0.0)
        self.q = self.rest - (self.sign * self.c).sum(axis=0)
        return np.asarray(self.W * self.q)

    def turn(self, df: Array) -> None:
        """Fix the direction."""
        self.dtheta = self.W * (self.q - df)
        self.dp = self.c + self.p * self.sign * self.dtheta / self.slack

    def limit(self) -> float:
        """Return the largest step."""
        slack = np.where(self.finite, -self.sign * self.dtheta, 0.0)
        return min(largest_step(self.p, self.dp), largest_step(self.slack, slack))

    def product(self, step: float = 0.0) -> float:
        """Return the sum of the products after a step."""
        slack = self._slack() - step * self.sign * self.dtheta
        return float(np.sum(np.where(self.finite, slack * (self.p + step * self.dp), 0.0)))

    def advance(self, step: float) -> None:
        """Take the step."""
        self.theta, self.p = self.theta + step * self.dtheta, self.p + step * self.dp


def loss_term(datafit: Datafit, f: Array, scale: float, mu: float) -> LossTerm:
    """Return the loss at predictions f, with complementarity products mu if it has bounds."""
    if isinstance(datafit, Huber | SquaredHinge):
        return BoundedLoss(datafit, f, scale, mu)
    if isinstance(datafit, Logistic | Softmax):
        return EntropyLoss(datafit, f)
    return SquaredLoss(datafit, f, scale)


def _per_row(weights: Any) -> Any:
    """Return weights as factors of (n, C, C)."""
    return weights if np.ndim(weights) == 0 else weights[:, :, None]


def largest_step(a: Array, da: Array) -> float:
    """Largest step with a + step·da ≥ 0, for a > 0 wherever da < 0."""
    falling = da < 0
    return float(np.min(-a[falling] / da[falling])) if falling.any() else np.inf
