"""The logarithm of the hyperbolic cosine: Huber's loss without a corner."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import entr

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.functions import library
from clifford_rand_nn.datafits.loss import Loss

_FAR = 20.0  # from here on log cosh u is u - log 2 to rounding
_AT_BOUND = 1e-9  # by this share a stated dual point may lie beyond the bound, and counts as there
_LOG_2 = float(np.log(2.0))


@dataclass(frozen=True)
class LogCosh(Loss):
    r""":math:`\ell(f, y) = \sum_c\delta^2\log\cosh((f_c-y_c)/\delta)`: half the square near y, of slope δ far from it.

    With :math:`a = \theta/\delta\in[-1,1]`:
    :math:`\ell^*(-\theta) = \frac{\delta^2}2[(1+a)\log(1+a)+(1-a)\log(1-a)]-\theta\cdot y`.

    References
    ----------
    Green, "Bayesian reconstructions from emission tomography data using a modified EM algorithm", IEEE Trans. Med.
    Imaging 9 (1990), where it is a penalty.
    """

    delta: float = 1.0

    name = "log_cosh"
    tasks = ("regression",)
    summary = '"log_cosh" is Huber\'s without a corner'
    barrier = True
    even = True
    interior_steps = 13
    newton_steps = 6

    def value(self, f: Any, y: Any) -> Any:
        """Return log(1 + 2 sinh²(u/2)), exact for small u, or its asymptote."""
        xp = library(f)
        u = xp.abs(f - y) / self.delta
        near = xp.log1p(2 * xp.sinh(0.5 * xp.clip(u, None, _FAR)) ** 2)
        return self.delta**2 * xp.where(u < _FAR, near, u - _LOG_2)

    def residual(self, f: Any, y: Any) -> Any:
        """Return δ tanh((y-f)/δ)."""
        return self.delta * library(f).tanh((y - f) / self.delta)

    def dual_value(self, theta: Any, y: Any) -> Any:
        """Return θ·y less the entropy as 2a artanh(a) + log(1-a²), exact for small a; it is 2 log 2 at the ends."""
        xp = library(theta)
        a = xp.abs(theta) / self.delta
        inside = xp.where(a < 1, a, xp.zeros_like(a))
        found = 2 * inside * xp.atanh(inside) + xp.log1p(-inside * inside)
        return theta * y - 0.5 * self.delta**2 * xp.where(a < 1, found, xp.zeros_like(a) + 2 * _LOG_2)

    def domain(self, y: Any) -> tuple[Any, Any]:
        """Return the box of radius δ."""
        return -self.delta, self.delta

    def prediction(self, theta: Any, y: Any) -> Any:
        """Return y - δ artanh(θ/δ)."""
        return y - self.delta * library(theta).atanh(theta / self.delta)

    def curvature_at(self, theta: Any, y: Any) -> Any:
        """Return 1 - (θ/δ)²."""
        a = theta / self.delta
        return (1 - a) * (1 + a)

    def in_units(self, unit: float) -> "LogCosh":
        """Return the loss with δ in that unit."""
        return LogCosh(self.delta / unit)

    def cvxpy(self, cp: Any, f: Any, y: Array, weights: Array) -> Any:
        """Return the sum of log(1 + exp(2u)) - u - log 2."""
        u = (f - y) / self.delta
        return self.delta**2 * cp.sum(cp.multiply(weights, cp.logistic(2 * u) - u - _LOG_2))

    def stated_value(self, f: Array, y: Array) -> Array:
        """Return the loss of every row."""
        u = (f - y) / self.delta
        return np.asarray(self.delta**2 * np.sum(np.logaddexp(u, -u) - np.log(2), axis=1))

    def stated_dual_value(self, theta: Array, y: Array) -> Array:
        """Return minus the conjugate of every row."""
        a = theta / self.delta
        a = np.where(np.abs(a) <= 1 + _AT_BOUND, np.clip(a, -1, 1), a)
        return np.asarray(np.sum(theta * y + 0.5 * self.delta**2 * (entr(1 + a) + entr(1 - a)), axis=1))
