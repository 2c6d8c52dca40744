"""Losses of counts (half the Poisson deviance, whose mean is the exponential of a prediction) and of quantiles."""

from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
from scipy.special import logit, wrightomega

from clifford_rand._typing import Array
from clifford_rand_nn.problems.loss import Loss
from clifford_rand_nn.problems.loss_functions import complement_entropy, entropy, sigmoid, softplus

# Below the first, |d| or |r|, series replace differences that cancel: the omitted terms are less than rounding.
_NEAR = 0.1
_LEAST_MEAN = 1e-26  # a loss that is less than the square of rounding of that of a mean of 1
_EXPONENTIAL = tuple(1 / factorial(k) for k in range(2, 13))  # of (e^d - 1 - d) / d²
_ENTROPY = tuple(1 / (k * (k - 1)) for k in range(2, 19))  # of ((1-r) log(1-r) + r) / r²


@dataclass(frozen=True)
class Poisson(Loss):
    r""":math:`\ell(f, y) = \sum_c e^{f_c}-y_cf_c+y_c\log y_c-y_c`, y ≥ 0: f is the logarithm of the mean.

    It is half the deviance, 0 where :math:`e^f = y`. :math:`\theta=y-e^f\le y`, and with :math:`a=y-\theta` the mean:
    :math:`\ell^*(-\theta) = a\log a-y\log y+\theta`. The curvature :math:`e^f` has no upper bound.

    References
    ----------
    McCullagh, Nelder, "Generalized linear models" (1989), section 6.2.
    """

    name = "poisson"
    tasks = ("regression",)
    summary = '"poisson" takes targets ≥ 0, such as counts, and the outputs are logarithms of means'
    targets = "numbers ≥ 0"
    is_log = True
    barrier = True
    curvature = float("inf")
    interior_steps = 14
    newton_steps = 8

    def value(self, f: Any, y: Any) -> Any:
        """Return y (e^d - 1 - d), d = f - log y, and e^f where y = 0; exact also where d is small."""
        d = _difference(f, y)
        near = np.abs(d) < _NEAR
        s = np.where(near, d, 0.0)
        with np.errstate(over="ignore"):  # a mean beyond float64 costs infinity
            far = np.exp(f) - y - y * np.where(y > 0, d, 0.0)
        return np.where(near, y * (s * s * _series(s, _EXPONENTIAL)), far)

    def residual(self, f: Any, y: Any) -> Any:
        """Return y - exp(f)."""
        d = _difference(f, y)
        near = np.abs(d) < 1
        with np.errstate(over="ignore"):
            return np.where(near, -y * np.expm1(np.where(near, d, 0.0)), y - np.exp(f))

    def dual_value(self, theta: Any, y: Any) -> Any:
        """Return θ log y - y ((1-r) log(1-r) + r), r = θ/y, and a - a log a, a = -θ, where y = 0."""
        some, a = y > 0, y - theta
        count = np.where(some, y, 1.0)
        near = some & (np.abs(theta) < _NEAR * count)
        r = np.where(near, theta, 0.0) / count
        own = np.where(near, y * (r * r * _series(r, _ENTROPY)), theta - entropy(a) - a * np.log(count))
        return np.where(some, theta * np.log(count) - own, a + entropy(a))

    def domain(self, y: Any) -> tuple[Any, Any]:
        """Return the bound that the mean y - theta is ≥ 0."""
        return -float("inf"), y

    def prediction(self, theta: Any, y: Any) -> Any:
        """Return log(y - theta)."""
        near = np.abs(theta) < 0.5 * y
        count = np.where(near, y, 1.0)
        far = np.log(np.where(near, count, y - theta))
        return np.where(near, far + np.log1p(-np.where(near, theta, 0.0) / count), far)

    def curvature_at(self, theta: Any, y: Any) -> Any:
        """Return the mean y - theta."""
        return y - theta

    def third_derivative_at(self, theta: Any, y: Any) -> Any:
        """Return the mean y - theta."""
        return y - theta

    def prox(self, v: Any, step: Any, y: Any) -> Any:
        """Return f = v + s y - ω, where ω = s e^f solves ω + log ω = log s + v + s y; or log(ω/s)."""
        shifted = v + step * y
        omega = wrightomega(np.log(step) + shifted)
        return np.where(omega > 1, np.log(np.maximum(omega, 1.0)) - np.log(step), shifted - omega)

    def sizes(self, y: Any) -> Any:
        """Return 1 + |log y|, and 1 where y = 0."""
        return 1 + np.abs(np.log(np.where(y > 0, y, 1.0)))

    def first_predictions(self, y: Any) -> Any:
        """Return the logarithm of the mean; of targets that are all 0, whose best mean is 0, a number far below."""
        return np.zeros_like(y) + np.log(np.maximum(y.mean(axis=0), _LEAST_MEAN))

    def accepts(self, y: Any) -> bool:
        """Check signs."""
        return bool((y >= 0).all())

    def cvxpy(self, cp: Any, f: Any, y: Array, weights: Array) -> Any:
        """Return the weighted sum."""
        return cp.sum(cp.multiply(weights, cp.exp(f) - cp.multiply(y, f) - y - entropy(y)))


def _difference(f: Any, y: Any) -> Any:
    """Return f - log y, and infinity where y = 0."""
    return np.where(y > 0, f - np.log(np.where(y > 0, y, 1.0)), np.inf)


def _series(x: Any, coefficients: tuple[float, ...]) -> Any:
    """Return the polynomial by Horner's rule."""
    value = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = coefficient + x * value
    return value


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
        return np.where(f == y, 0.0, self._end(y - f))

    def _end(self, r: Array) -> Array:
        return np.where(r > 0, self.quantile, self.quantile - 1)

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
        return np.full_like(theta, np.inf)

    def prox(self, v: Any, step: Any, y: Any) -> Any:
        """Return v moved towards y, by step times the end of the domain at most."""
        low, high = self.domain(y)
        return v + np.clip(y - v, step * low, step * high)

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
