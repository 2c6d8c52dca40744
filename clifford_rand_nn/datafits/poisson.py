"""The loss of counts: half the deviance of the Poisson distribution, whose mean is the exponential of a prediction."""

from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
from scipy.special import wrightomega

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.functions import entropy, library
from clifford_rand_nn.datafits.loss import Loss

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
        xp, zero, d = library(f), library(f).zeros_like(f), _difference(f, y)
        near = xp.abs(d) < _NEAR
        s = xp.where(near, d, zero)
        with np.errstate(over="ignore"):  # a mean beyond float64 costs infinity
            far = xp.exp(f) - y - y * xp.where(y > 0, d, zero)
        return xp.where(near, y * (s * s * _series(s, _EXPONENTIAL)), far)

    def residual(self, f: Any, y: Any) -> Any:
        """Return y - exp(f)."""
        xp, d = library(f), _difference(f, y)
        near = xp.abs(d) < 1
        with np.errstate(over="ignore"):
            return xp.where(near, -y * xp.expm1(xp.where(near, d, xp.zeros_like(d))), y - xp.exp(f))

    def dual_value(self, theta: Any, y: Any) -> Any:
        """Return θ log y - y ((1-r) log(1-r) + r), r = θ/y, and a - a log a, a = -θ, where y = 0."""
        xp, some = library(theta), y > 0
        count = xp.where(some, y, xp.ones_like(y))
        near = some & (xp.abs(theta) < _NEAR * count)
        r = xp.where(near, theta, xp.zeros_like(theta)) / count
        a = y - theta
        own = xp.where(near, y * (r * r * _series(r, _ENTROPY)), theta - entropy(a) - a * xp.log(count))
        return xp.where(some, theta * xp.log(count) - own, a + entropy(a))

    def domain(self, y: Any) -> tuple[Any, Any]:
        """Return the bound that the mean y - theta is ≥ 0."""
        return -float("inf"), y

    def prediction(self, theta: Any, y: Any) -> Any:
        """Return log(y - theta)."""
        xp = library(theta)
        near = xp.abs(theta) < 0.5 * y
        count = xp.where(near, y, xp.ones_like(y))
        far = xp.log(xp.where(near, count, y - theta))
        return xp.where(near, far + xp.log1p(-xp.where(near, theta, xp.zeros_like(theta)) / count), far)

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
        xp = library(y)
        return 1 + xp.abs(xp.log(xp.where(y > 0, y, xp.ones_like(y))))

    def first_predictions(self, y: Any) -> Any:
        """Return the logarithm of the mean; of targets that are all 0, whose best mean is 0, a number far below."""
        xp = library(y)
        return xp.zeros_like(y) + xp.log(xp.clip(xp.mean(y, axis=0, keepdims=True), _LEAST_MEAN, None))

    def accepts(self, y: Any) -> bool:
        """Check signs."""
        return bool(library(y).all(y >= 0))

    def cvxpy(self, cp: Any, f: Any, y: Array, weights: Array) -> Any:
        """Return the weighted sum."""
        return cp.sum(cp.multiply(weights, cp.exp(f) - cp.multiply(y, f) - y - entropy(y)))


def _difference(f: Any, y: Any) -> Any:
    """Return f - log y, and infinity where y = 0."""
    xp = library(f)
    some = y > 0
    return xp.where(some, f - xp.log(xp.where(some, y, xp.ones_like(y))), xp.zeros_like(f) + float("inf"))


def _series(x: Any, coefficients: tuple[float, ...]) -> Any:
    """Return the polynomial by Horner's rule."""
    value = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = coefficient + x * value
    return value
