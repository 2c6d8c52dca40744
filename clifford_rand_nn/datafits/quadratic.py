"""Losses whose conjugate is a parabola on a box: squared, Huber and squared hinge."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.functions import library, peak
from clifford_rand_nn.datafits.loss import Loss


class _Boxed(Loss):
    r""":math:`\ell^*(-\theta) = \frac12\theta^2-\theta y` on low ≤ theta ≤ high, and infinite elsewhere.

    So theta is y - f, clipped, and :math:`\ell = \theta(y-f-\theta/2)`.
    """

    def radius(self) -> float:
        """Return the largest absolute value in the domain."""
        return float("inf")

    def clipped(self, theta: Any, y: Any) -> Any:
        """Return theta, clipped to the domain."""
        return library(theta).clip(theta, *self.domain(y))

    def value(self, f: Any, y: Any) -> Any:
        """Half the square, and beyond the bounds its tangent."""
        r = y - f
        theta = self.clipped(r, y)
        return theta * (r - 0.5 * theta)

    def residual(self, f: Any, y: Any) -> Any:
        """Return y - f, clipped."""
        return self.clipped(y - f, y)

    def dual_value(self, theta: Any, y: Any) -> Any:
        """Return theta·y - theta²/2."""
        return theta * (y - 0.5 * theta)

    def prediction(self, theta: Any, y: Any) -> Any:
        """Return y - theta."""
        return y - theta

    def curvature_at(self, theta: Any, y: Any) -> Any:
        """Return 1."""
        return library(theta).ones_like(theta)

    def best_scale(self, theta: Any, y: Any, weights: Any, largest: float) -> float:
        """Return the best factor in closed form, theta·y / (theta²/w), that leaves theta in a bounded box."""
        xp = library(theta)
        if self.radius() < float("inf"):
            size = peak(theta / weights)
            largest = min(largest, self.radius() / size) if size > 0 else largest
        square = float(xp.sum(theta * theta / weights))
        return min(max(float(xp.sum(theta * y)) / square, 0.0), largest) if square > 0 else 0.0

    def prox(self, v: Any, step: Any, y: Any) -> Any:
        """Return the mean of v and y with weights 1 and step, or v moved by step times a residual at its bound."""
        theta = (y - v) / (1 + step)
        clipped = self.clipped(theta, y)
        mean = v / (1 + step) + y * (step / (1 + step))
        return library(v).where(clipped == theta, mean, v + step * clipped)


@dataclass(frozen=True)
class Squared(_Boxed):
    r""":math:`\ell(f, y) = \frac12||f-y||^2`, with :math:`\ell^*(-\theta) = \frac12||\theta||^2 - \theta\cdot y`."""

    name = "squared"
    tasks = ("classification", "regression")
    is_quadratic = True
    interior_steps = 6
    newton_steps = 1

    def clipped(self, theta: Any, y: Any) -> Any:
        """Return theta: there are no bounds."""
        return theta

    def value(self, f: Any, y: Any) -> Any:
        """Half the squared residuals."""
        return 0.5 * (f - y) ** 2

    def cvxpy(self, cp: Any, f: Any, y: Array, weights: Array) -> Any:
        """Half the sum of squares."""
        return 0.5 * cp.sum_squares(cp.multiply(np.sqrt(weights), f - y))


@dataclass(frozen=True)
class Huber(_Boxed):
    r""":math:`\ell(f, y) = \sum_c h(f_c-y_c)`: half the square up to :math:`\delta`, then linear.

    :math:`h(r) = r^2/2` for :math:`|r|\le\delta`, else :math:`\delta|r|-\delta^2/2`;
    :math:`\ell^*(-\theta) = \frac12||\theta||^2-\theta\cdot y` on :math:`|\theta_c|\le\delta`.
    """

    delta: float = 1.0

    name = "huber"
    tasks = ("regression",)
    even = True
    interior_steps = 9
    newton_steps = 6

    def radius(self) -> float:
        """Return delta."""
        return self.delta

    def domain(self, y: Any) -> tuple[Any, Any]:
        """Return the box of radius delta."""
        return -self.delta, self.delta

    def in_units(self, unit: float) -> "Huber":
        """Return the loss with delta in that unit."""
        return Huber(self.delta / unit)

    def cvxpy(self, cp: Any, f: Any, y: Array, weights: Array) -> Any:
        """Half the sum of CVXPY's, which is r² inside."""
        return 0.5 * cp.sum(cp.multiply(weights, cp.huber(f - y, self.delta)))


@dataclass(frozen=True)
class SquaredHinge(_Boxed):
    r""":math:`\ell(f, y) = \sum_c\frac12(1-y_cf_c)_+^2`, y in {-1, 1}.

    With :math:`a = y\theta\ge0`: :math:`\ell^*(-\theta) = \frac12a^2 - a`.
    """

    name = "squared_hinge"
    tasks = ("classification",)
    summary = '"squared_hinge" has one margin per class'
    labels = (-1.0, 1.0)
    targets = "columns of -1 and 1"
    interior_steps = 16
    newton_steps = 6

    def domain(self, y: Any) -> tuple[Any, Any]:
        """Return the orthant of y."""
        xp = library(y)
        zero, infinite = xp.zeros_like(y), xp.zeros_like(y) + float("inf")
        return xp.where(y > 0, zero, -infinite), xp.where(y > 0, infinite, zero)

    def clipped(self, theta: Any, y: Any) -> Any:
        """Return theta with the negative part of y·theta cut off."""
        return y * library(theta).clip(y * theta, 0.0, None)

    def cvxpy(self, cp: Any, f: Any, y: Array, weights: Array) -> Any:
        """Half the squared margins, each raised freely: with ``pos`` a row without violation is doubly degenerate."""
        least = None if f.value is None else np.maximum(y * f.value - 1, 0.0)
        raised = 1 - cp.multiply(y, f) + cp.Variable(f.shape, value=least, nonneg=True)
        return 0.5 * cp.sum_squares(cp.multiply(np.sqrt(weights), raised))
