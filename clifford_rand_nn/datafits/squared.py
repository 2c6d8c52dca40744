"""Losses of a difference: squared and Huber."""

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn.datafits.balance import balanced, solve
from clifford_rand_nn.datafits.weights import WeightedRows

__all__ = ["Huber", "Squared"]

Array = NDArray[np.float64]

_ROUNDING = 4 * np.finfo(np.float64).eps  # a point scaled to the bound may come out this much beyond it


class Squared(WeightedRows):
    r""":math:`\ell(f, y) = \frac12||f-y||^2`, with :math:`\ell^*(-\theta) = \frac12||\theta||^2 - \theta\cdot y`."""

    def value(self, f: Array) -> float:
        """Mean of half the squared residuals."""
        return 0.5 * float(np.sum(self.weights * (f - self.y) ** 2)) / len(f)

    def residual(self, f: Array) -> Array:
        """Return y - f, weighted."""
        return np.asarray(self.weights * (self.y - f))

    def dual_value(self, theta: Array) -> float:
        """Mean of theta·y - |theta|²/(2w)."""
        return float(np.sum(theta * self.y) - 0.5 * np.sum(theta * theta / self.weights)) / len(theta)

    def balance(self, theta: Array, Q: Array) -> Array:
        """Project orthogonally, twice for full accuracy; with weights along wQ, the move that costs least."""
        w = self.weights
        if not isinstance(w, float):
            H = Q.T @ (w * Q)
            return balanced(theta, Q, lambda theta, excess: theta - w * (Q @ solve(H, excess)))
        for _ in range(2):
            theta = theta - Q @ (Q.T @ theta)
        return theta

    def scale(self, theta: Array, largest: float) -> float:
        """Best factor in closed form: theta·y / (theta²/w), clipped."""
        square = float(np.sum(theta * theta / self.weights))
        return min(max(float(np.sum(theta * self.y)) / square, 0.0), largest) if square > 0 else 0.0

    def prox(self, v: Array, step: float) -> Array:
        """Return the weighted mean of v and y."""
        move = step * self.weights
        return np.asarray((v + move * self.y) / (1 + move))

    def dual_domain(self) -> tuple[Array, Array]:
        """No bounds."""
        return np.full_like(self.y, -np.inf), np.full_like(self.y, np.inf)

    def predictions_at(self, theta: Array) -> Array:
        """Return y - theta / w."""
        return np.asarray(self.y - theta / self.weights)

    def dual_curvature(self, theta: Array) -> Array:
        """Return 1 / w."""
        return np.ones_like(theta) / self.weights


class Huber(Squared):
    r""":math:`\ell(f, y) = \sum_c h(f_c-y_c)`: half the square up to :math:`\delta`, then linear.

    :math:`h(r) = r^2/2` for :math:`|r|\le\delta`, else :math:`\delta|r|-\delta^2/2`;
    :math:`\ell^*(-\theta) = \frac12||\theta||^2-\theta\cdot y` on :math:`|\theta_c|\le\delta`.
    """

    def __init__(self, y: Array, delta: float = 1.0, sample_weight: Array | None = None) -> None:
        super().__init__(y, sample_weight)
        self.delta = delta

    def value(self, f: Array) -> float:
        """Mean Huber loss."""
        r = np.abs(f - self.y)
        quadratic = np.minimum(r, self.delta)
        return float(np.sum(self.weights * (quadratic * (r - 0.5 * quadratic)))) / len(f)

    def residual(self, f: Array) -> Array:
        """Return y - f, clipped, and weighted."""
        return np.asarray(self.weights * np.clip(self.y - f, -self.delta, self.delta))

    def dual_value(self, theta: Array) -> float:
        """As for the squared loss, within the domain."""
        inside = np.abs(theta / self.weights).max(initial=0.0) <= self.delta * (1 + _ROUNDING)
        return super().dual_value(theta) if inside else -np.inf

    def balance(self, theta: Array, Q: Array) -> Array:
        """Project on Q^T theta = 0 within the box: Newton steps in the entries that are not at a bound."""
        w, bound = np.broadcast_to(self.weights, (len(theta), 1)), self.weights * self.delta

        def step(theta: Array, excess: Array) -> Array:
            out = theta.copy()
            inside = np.abs(theta) < bound
            for c in range(theta.shape[1]):
                free = inside[:, c]
                root = np.sqrt(w[free]) * Q[free]
                out[free, c] += w[free, 0] * (Q[free] @ solve(root.T @ root, -excess[:, c]))
            return np.clip(out, -bound, bound)

        return balanced(theta, Q, step)

    def scale(self, theta: Array, largest: float) -> float:
        """Best factor, as for the squared loss, that leaves theta in the box."""
        peak = float(np.abs(theta / self.weights).max(initial=0.0))
        return super().scale(theta, min(largest, self.delta / peak) if peak > 0 else largest)

    def prox(self, v: Array, step: float) -> Array:
        """Return v moved towards y by step times the slope, which is at most delta."""
        step_w = step * self.weights
        return np.asarray(
            v - np.clip((v - self.y) * (step_w / (1 + step_w)), -step_w * self.delta, step_w * self.delta)
        )

    def dual_domain(self) -> tuple[Array, Array]:
        """Return the box of radius delta, times w."""
        return self.weights * np.full_like(self.y, -self.delta), self.weights * np.full_like(self.y, self.delta)
