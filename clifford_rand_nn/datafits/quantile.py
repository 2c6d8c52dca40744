"""The loss of a quantile (pinball), and a smooth one above it, whose dual points are feasible for it."""

from dataclasses import dataclass
from typing import Any

from scipy.special import logit

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.functions import complement_entropy, entropy, library, sigmoid, softplus
from clifford_rand_nn.datafits.loss import Loss


@dataclass(frozen=True)
class Quantile(Loss):
    r""":math:`\ell(f, y) = \sum_c\max(\tau r_c, (\tau-1)r_c)`, r = y - f: its minimum over f is the quantile τ of y.

    :math:`\ell^*(-\theta) = -\theta\cdot y` on :math:`\tau-1\le\theta_c\le\tau`. It has no curvature: the residual of
    r = 0 is any θ of the domain, 0 by convention.

    References
    ----------
    Koenker, Bassett, "Regression quantiles", Econometrica 46 (1978).
    """

    quantile: float = 0.5

    name = "quantile"
    is_piecewise_linear = True
    curvature = float("inf")
    interior_steps = 14
    newton_steps = 14

    @property
    def has_units(self) -> bool:
        """Return False: in another unit of targets the loss is in that unit, not in its square."""
        return False

    def first_predictions(self, y: Any) -> Any:
        """Return the targets."""
        return y

    def value(self, f: Any, y: Any) -> Any:
        """Return τr where r = y - f is positive, (τ-1)r elsewhere."""
        return (y - f) * self._end(y - f)

    def residual(self, f: Any, y: Any) -> Any:
        """Return τ, τ - 1, or 0 where f = y."""
        return library(f).where(f == y, library(f).zeros_like(f), self._end(y - f))

    def _end(self, r: Any) -> Any:
        zero = library(r).zeros_like(r)
        return library(r).where(r > 0, zero + self.quantile, zero + (self.quantile - 1))

    def dual_value(self, theta: Any, y: Any) -> Any:
        """Return θ·y."""
        return theta * y

    def domain(self, y: Any) -> tuple[Any, Any]:
        """Return τ - 1 and τ."""
        return self.quantile - 1, self.quantile

    def prediction(self, theta: Any, y: Any) -> Any:
        """Return y."""
        return y + 0 * theta

    def curvature_at(self, theta: Any, y: Any) -> Any:
        """Return infinity: inside the domain predictions stay at y."""
        return library(theta).zeros_like(theta) + float("inf")

    def prox(self, v: Any, step: Any, y: Any) -> Any:
        """Return v moved towards y, by step times the end of the domain at most."""
        low, high = self.domain(y)
        xp = library(v)
        return v + xp.minimum(xp.maximum(y - v, step * low), step * high)

    def cvxpy(self, cp: Any, f: Any, y: Array, weights: Array) -> Any:
        """Return the weighted sum."""
        r = y - f
        return cp.sum(cp.multiply(weights, self.quantile * cp.pos(r) + (1 - self.quantile) * cp.neg(r)))


@dataclass(frozen=True)
class SmoothQuantile(Quantile):
    r""":math:`\ell(f, y) = \tau r+\log(1+e^{-r})`, r = y - f, above the loss of the quantile by log 2 at most.

    With :math:`a=\tau-\theta\in[0,1]`: :math:`\ell^*(-\theta) = a\log a+(1-a)\log(1-a)-\theta y`. The width over which
    it bends is 1: targets are to be in units of it.

    References
    ----------
    Zheng, "Gradient descent algorithms for quantile regression with smooth approximation", Int. J. Mach. Learn. Cybern.
    2 (2011), eq. 4.
    """

    name = "smooth_quantile"
    is_piecewise_linear = False
    barrier = True
    curvature = 0.25
    interior_steps = 13
    newton_steps = 7

    def value(self, f: Any, y: Any) -> Any:
        """Return τr + log(1 + exp(-r))."""
        return self.quantile * (y - f) + softplus(f - y)

    def residual(self, f: Any, y: Any) -> Any:
        """Return τ - 1/(1 + exp(r))."""
        return self.quantile - sigmoid(f - y)

    def dual_value(self, theta: Any, y: Any) -> Any:
        """Return θ·y and the binary entropy of τ - θ."""
        a = self.quantile - theta
        return theta * y + entropy(a) + complement_entropy(a)

    def prediction(self, theta: Any, y: Any) -> Any:
        """Return y + log(a/(1-a))."""
        return y + logit(self.quantile - theta)

    def curvature_at(self, theta: Any, y: Any) -> Any:
        """Return a(1-a)."""
        a = self.quantile - theta
        return a * (1 - a)

    def third_derivative_at(self, theta: Any, y: Any) -> Any:
        """Return a(1-a)(1-2a)."""
        a = self.quantile - theta
        return a * (1 - a) * (1 - 2 * a)

    def prox(self, v: Any, step: Any, y: Any) -> Any:
        """Return that by Newton's method."""
        return Loss.prox(self, v, step, y)

    def cvxpy(self, cp: Any, f: Any, y: Array, weights: Array) -> Any:
        """Return the weighted sum."""
        return cp.sum(cp.multiply(weights, self.quantile * (y - f) + cp.logistic(f - y)))
