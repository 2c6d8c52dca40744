"""Losses of a difference: squared and Huber."""

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn.datafits.balance import balanced, solve

__all__ = ["Huber", "Squared"]

Array = NDArray[np.float64]

_ROUNDING = 4 * np.finfo(np.float64).eps  # a point scaled to the bound may come out this much beyond it


class Squared:
    r""":math:`\ell(f, y) = \frac12||f-y||^2`, with :math:`\ell^*(-\theta) = \frac12||\theta||^2 - \theta\cdot y`."""

    curvature = 1.0

    def __init__(self, y: Array) -> None:
        self.y = y

    def value(self, f: Array) -> float:
        """Mean of half the squared residuals."""
        return 0.5 * float(np.sum((f - self.y) ** 2)) / len(f)

    def residual(self, f: Array) -> Array:
        """Return y - f."""
        return np.asarray(self.y - f)

    def dual_value(self, theta: Array) -> float:
        """Mean of theta·y - |theta|²/2."""
        return float(np.sum(theta * self.y) - 0.5 * np.sum(theta * theta)) / len(theta)

    def balance(self, theta: Array, Q: Array) -> Array:
        """Project orthogonally, twice for full accuracy."""
        for _ in range(2):
            theta = theta - Q @ (Q.T @ theta)
        return theta

    def scale(self, theta: Array, largest: float) -> float:
        """Best factor in closed form: theta·y / |theta|², clipped."""
        square = float(np.sum(theta * theta))
        return min(max(float(np.sum(theta * self.y)) / square, 0.0), largest) if square > 0 else 0.0

    def prox(self, v: Array, step: float) -> Array:
        """Return the weighted mean of v and y."""
        return np.asarray((v + step * self.y) / (1 + step))

    def dual_domain(self) -> tuple[Array, Array]:
        """No bounds."""
        return np.full_like(self.y, -np.inf), np.full_like(self.y, np.inf)

    def predictions_at(self, theta: Array) -> Array:
        """Return y - theta."""
        return np.asarray(self.y - theta)

    def dual_curvature(self, theta: Array) -> Array:
        """Return ones."""
        return np.ones_like(theta)


class Huber(Squared):
    r""":math:`\ell(f, y) = \sum_c h(f_c-y_c)`: half the square up to :math:`\delta`, then linear.

    :math:`h(r) = r^2/2` for :math:`|r|\le\delta`, else :math:`\delta|r|-\delta^2/2`;
    :math:`\ell^*(-\theta) = \frac12||\theta||^2-\theta\cdot y` on :math:`|\theta_c|\le\delta`.
    """

    def __init__(self, y: Array, delta: float = 1.0) -> None:
        super().__init__(y)
        self.delta = delta

    def value(self, f: Array) -> float:
        """Mean Huber loss."""
        r = np.abs(f - self.y)
        quadratic = np.minimum(r, self.delta)
        return float(np.sum(quadratic * (r - 0.5 * quadratic))) / len(f)

    def residual(self, f: Array) -> Array:
        """Return y - f, clipped to the domain."""
        return np.clip(self.y - f, -self.delta, self.delta)

    def dual_value(self, theta: Array) -> float:
        """As for the squared loss, within the domain."""
        inside = np.abs(theta).max(initial=0.0) <= self.delta * (1 + _ROUNDING)
        return super().dual_value(theta) if inside else -np.inf

    def balance(self, theta: Array, Q: Array) -> Array:
        """Project on Q^T theta = 0 within the box: Newton steps in the entries that are not at a bound."""

        def step(theta: Array, excess: Array) -> Array:
            out = theta.copy()
            for c in range(theta.shape[1]):
                free = np.abs(theta[:, c]) < self.delta
                out[free, c] += Q[free] @ solve(Q[free].T @ Q[free], -excess[:, c])
            return np.clip(out, -self.delta, self.delta)

        return balanced(theta, Q, step)

    def scale(self, theta: Array, largest: float) -> float:
        """Best factor, as for the squared loss, that leaves theta in the box."""
        peak = float(np.abs(theta).max(initial=0.0))
        return super().scale(theta, min(largest, self.delta / peak) if peak > 0 else largest)

    def prox(self, v: Array, step: float) -> Array:
        """Return v moved towards y by step times the slope, which is at most delta."""
        return np.asarray(v - np.clip((v - self.y) * (step / (1 + step)), -step * self.delta, step * self.delta))

    def dual_domain(self) -> tuple[Array, Array]:
        """Return the box of radius delta."""
        return np.full_like(self.y, -self.delta), np.full_like(self.y, self.delta)
