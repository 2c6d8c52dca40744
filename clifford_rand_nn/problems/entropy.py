"""Losses whose conjugate is an entropy: logistic, softmax, and the logarithm of the hyperbolic cosine."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from clifford_rand._typing import Array
from clifford_rand_nn.problems.loss import Loss
from clifford_rand_nn.problems.loss_functions import (
    complement_entropy,
    entropy,
    library,
    logistic_rays,
    sigmoid,
    softmax,
    softplus,
    solve,
)

_ROUNDING = 4.5 * 2.0**-52  # of the terms of the prox's equation
_NOISE = 450 * 2.0**-52  # of a difference of merit values: near the minimum they cannot tell a good step from none
_PROX_STEPS = 100  # damped Newton steps; it needs 4 to 8, and the logarithm of a large step
_FAR = 20.0  # from here on log cosh u is u - log 2 and tanh u is 1, to rounding
# Below the first, tanh u = u to rounding. Below the second, the series of log cosh u and of its conjugate have as many
# terms as rounding asks for.
_LINEAR, _SERIES = 1e-9, 1e-3
_LOG_2 = float(np.log(2.0))


@dataclass(frozen=True)
class Logistic(Loss):
    r""":math:`\ell(f, y) = \log(1+e^{-yf})`, y in {-1, 1}, C = 1.

    With :math:`a = y\theta\in[0,1]`: :math:`\ell^*(-\theta) = a\log a + (1-a)\log(1-a)`.
    """

    name = "logistic"
    tasks = ("classification",)
    summary = '"logistic" is the softmax cross-entropy for more than two classes'
    labels = (-1.0, 1.0)
    targets = "one column of -1 and 1"
    barrier = True
    probabilistic = True
    curvature = 0.25
    interior_steps = 13
    newton_steps = 6

    def value(self, f: Any, y: Any) -> Any:
        """Return log(1 + exp(-yf)), without overflow."""
        return softplus(-y * f)

    def residual(self, f: Any, y: Any) -> Any:
        """Return y / (1 + exp(yf))."""
        return y * sigmoid(-y * f)

    def dual_value(self, theta: Any, y: Any) -> Any:
        """Return the binary entropy of y·theta."""
        a = y * theta
        return entropy(a) + complement_entropy(a)

    def along_rays(self, f: Any, y: Any, weights: Any, scales: Any) -> tuple[Any, Any, Any]:
        """Return the three, of NumPy's arrays in one loop."""
        if library(f) is not np or f.shape[1] > 1:
            return super().along_rays(f, y, weights, scales)
        w, theta = np.broadcast_to(weights, f.shape)[:, 0], np.empty_like(f)
        sums = logistic_rays(f[:, 0], y[:, 0], w, scales, theta[:, 0])
        return sums[0], theta, sums[1:]

    def domain(self, y: Any) -> tuple[Any, Any]:
        """Return the bounds that y·theta lies in [0, 1]."""
        xp = library(y)
        zero = xp.zeros_like(y)
        return xp.minimum(y, zero), xp.maximum(y, zero)

    def prediction(self, theta: Any, y: Any) -> Any:
        """Return y log((1-a)/a) at a = y·theta."""
        return -y * logit(y * theta)

    def curvature_at(self, theta: Any, y: Any) -> Any:
        """Return a(1-a) at a = y·theta."""
        a = y * theta
        return a * (1 - a)

    def third_derivative_at(self, theta: Any, y: Any) -> Any:
        """Return -y a(1-a)(1-2a) at a = y·theta."""
        a = y * theta
        return -y * (a * (1 - a) * (1 - 2 * a))

    def accepts(self, y: Any) -> bool:
        """Check labels and columns."""
        return super().accepts(y) and y.shape[1] == 1

    def of_classes(self, n_classes: int) -> Loss:
        """Return the softmax for more than two."""
        return self if n_classes == 2 else Softmax()

    def probabilities(self, f: Array) -> Array:
        """Return those of -1 and of 1."""
        return np.concatenate([expit(-f), expit(f)], axis=1)

    def cvxpy(self, cp: Any, f: Any, y: Array, weights: Array) -> Any:
        """Return the weighted sum."""
        return cp.sum(cp.multiply(weights, cp.logistic(-cp.multiply(y, f))))


@dataclass(frozen=True)
class MultilabelLogistic(Logistic):
    r"""The sum of the logistic losses of several labels, each -1 or 1 on every row."""

    targets = "columns of -1 and 1"

    def accepts(self, y: Any) -> bool:
        """Check labels."""
        return Loss.accepts(self, y)


@dataclass(frozen=True)
class Softmax(Loss):
    r""":math:`\ell(f, y) = \log\sum_c e^{f_c} - y\cdot f`, y one-hot (n, C).

    With :math:`p = y - \theta` in the simplex: :math:`\ell^*(-\theta) = \sum_c p_c\log p_c`. On rows of theta that sum
    to zero this is a sum over the entries, whose derivatives `prediction` and `curvature_at` are.
    """

    name = "softmax"
    labels = (0.0, 1.0)
    targets = "one-hot rows of C ≥ 2 columns"
    separable = False
    barrier = True
    probabilistic = True
    curvature = 0.5
    interior_steps = 14
    newton_steps = 7

    def value(self, f: Any, y: Any) -> Any:
        """Return log(1 + sum exp(f_c - f_y)) over the other classes c, (n, 1), exact also where the sum is small."""
        xp = library(f)
        margins = xp.where(y > 0, xp.zeros_like(f) - float("inf"), f - xp.sum(f * y, axis=1, keepdims=True))
        largest = xp.max(margins, axis=1, keepdims=True)
        return softplus(largest + xp.log(xp.sum(xp.exp(margins - largest), axis=1, keepdims=True)))

    def residual(self, f: Any, y: Any) -> Any:
        """Return y - softmax(f)."""
        return _of_others(softmax(f) * (1 - y), y)

    def dual_value(self, theta: Any, y: Any) -> Any:
        """Return the entropy of p = y - theta, of the true class that of 1 - theta."""
        return library(theta).where(y > 0, complement_entropy(theta), entropy(-theta))

    def domain(self, y: Any) -> tuple[Any, Any]:
        """Return the bounds of p ≥ 0; rows must sum to zero besides."""
        return -float("inf"), y

    def prediction(self, theta: Array, y: Array) -> Array:
        """Return log p, one of the predictions that differ by a shift of each row."""
        return np.log(y - theta)

    def curvature_at(self, theta: Any, y: Any) -> Any:
        """Return p, the Hessian less its part of rank one."""
        return y - theta

    def hessian_product(self, theta: Any, y: Any, v: Any) -> Any:
        """Return (diag(p) - ppᵀ)v, by v less its entry of the true class: shifts change nothing."""
        xp, p = library(v), y - theta
        part = p * (v - xp.sum(y * v, axis=1, keepdims=True))
        return part - p * xp.sum(part, axis=1, keepdims=True)

    def row_curvature_at(self, theta: Array, y: Array) -> Array:
        """Return twice the largest p(1 - p) of a row: no row of diag(p) - ppᵀ has a larger sum of absolute values."""
        size = np.abs(theta)  # p, or 1 - p of the true class
        return np.asarray(2 * np.max(size * (1 - size), axis=1, keepdims=True))

    def accepts(self, y: Array) -> bool:
        """Check labels and columns."""
        return super().accepts(y) and y.shape[1] > 1 and bool((y.sum(axis=1) == 1).all())

    def probabilities(self, f: Array) -> Array:
        """Return the softmax."""
        return np.asarray(softmax(f))

    def balancing_step(self, theta: Array, y: Array, weights: Any, Q: Array, excess: Array) -> Array:
        """Return a dual point after a Newton step in biases Q, with W = diag(p) - p pᵀ in every row."""
        p = np.maximum(y - theta, 0.0)  # rounding may leave that of a label below 0
        (n, C), q = p.shape, Q.shape[1]
        root = weights**0.5 * Q
        Z = (p[:, :-1, None] * root[:, None, :]).reshape(n, (C - 1) * q)  # the last class is the gauge
        H = -(Z.T @ Z)
        for a in range(C - 1):
            rest = p[:, :a].sum(axis=1, keepdims=True) + p[:, a + 1 :].sum(axis=1, keepdims=True)
            W = p[:, a : a + 1] * rest  # p(1 - p) without cancellation
            H[a * q : (a + 1) * q, a * q : (a + 1) * q] = root.T @ (W * root)
        mu = solve(H, -excess[:, :-1].T.reshape(-1, 1))
        shift = np.concatenate([Q @ mu.reshape(C - 1, q).T, np.zeros((n, 1))], axis=1)
        shift = shift - np.sum(y * shift, axis=1, keepdims=True)
        rest = np.maximum(-theta * (1 - y) * (1 - shift + np.sum(p * shift, axis=1, keepdims=True)), 0.0)
        return np.asarray(_of_others(rest / np.maximum(rest.sum(axis=1, keepdims=True), 1.0), y))

    def prox(self, v: Array, step: Any, y: Array) -> Array:
        r"""Solve :math:`f + step\,(p(f) - y) = v` by damped Newton steps, of a diagonal less a rank one."""
        step = step + np.zeros_like(v[:, :1])
        f = v + step * self.residual(v, y)
        merit, stay = self._prox_value(f, v, step, y), self._prox_value(v, v, step, y)
        f, merit = np.where(merit < stay, f, v), np.minimum(merit, stay)
        noise = _NOISE * (np.abs(merit) + step)
        for _ in range(_PROX_STEPS):
            p = softmax(f)
            move = step * _of_others(p * (1 - y), y)
            g = f - v - move
            terms = np.abs(f) + np.abs(v) + np.abs(move)
            if (np.abs(g).max(axis=1) <= _ROUNDING * terms.max(axis=1)).all():
                break
            diagonal = 1 + step * p  # (diag(1 + step p) - step p pᵀ) move = -g, by Sherman and Morrison
            a, b = g / diagonal, p / diagonal
            rank_one = step * np.sum(p * a, axis=1, keepdims=True) / b.sum(axis=1, keepdims=True)
            move = -a - b * rank_one
            size = np.ones_like(step)
            slope = np.sum(g * move, axis=1, keepdims=True)
            while True:
                new = f + size * move
                value = self._prox_value(new, v, step, y)
                worse = value > merit + 0.1 * size * slope + noise
                if not worse.any():
                    break
                size = np.where(worse, 0.5 * size, size)
            f, merit = new, value
        return np.asarray(f)

    def _prox_value(self, f: Array, v: Array, step: Array, y: Array) -> Array:
        return np.asarray(step * self.value(f, y) + 0.5 * np.sum((f - v) ** 2, axis=1, keepdims=True))

    def cvxpy(self, cp: Any, f: Any, y: Array, weights: Array) -> Any:
        """Return the weighted sum of the logarithms of sums of exponentials, less that of the true class."""
        return cp.sum(cp.multiply(weights[:, 0], cp.log_sum_exp(f, axis=1))) - cp.sum(cp.multiply(weights * y, f))


def _of_others(p: Any, y: Any) -> Any:
    """Return y less the probabilities, from those of the other classes: 1 - p is their sum without cancellation."""
    return y * library(p).sum(p, axis=1, keepdims=True) - p


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
        """Return r² times log cosh u over u², u = r/δ, a share of u² that is 1/2 at 0, or the asymptote δ(r - δ log 2).

        So no square of δ leaves the range of floats where the loss does not.
        """
        xp = library(f)
        r = xp.abs(f - y)
        u = xp.clip(r, None, _FAR * self.delta) / self.delta
        s = xp.clip(u, _SERIES, 1.0)
        share = xp.where(u < _SERIES, 0.5 - u**2 * (1 / 12 - u**2 / 45), xp.log1p(2 * xp.sinh(0.5 * s) ** 2) / s**2)
        near = xp.clip(r, None, self.delta)
        far = r + self.delta * (xp.log1p(xp.exp(-2 * u)) - _LOG_2)
        return xp.where(u < 1, near * (near * share), self.delta * far)

    def residual(self, f: Any, y: Any) -> Any:
        """Return δ tanh((y-f)/δ)."""
        xp, r, most = library(f), y - f, _FAR * self.delta
        u = xp.clip(r, -most, most) / self.delta
        return xp.where(xp.abs(u) < _LINEAR, r, self.delta * xp.tanh(u))

    def dual_value(self, theta: Any, y: Any) -> Any:
        """Return θ·y less θ² times a share, which is 1/2 at a = 0 and log 2 at the ends."""
        xp = library(theta)
        a = xp.clip(xp.abs(theta) / self.delta, None, 1.0)
        low, high = xp.clip(a, _SERIES, 0.5), xp.clip(a, 0.5, None)
        share = xp.where(
            a < 0.5,
            (low * xp.atanh(low) + 0.5 * xp.log1p(-low * low)) / low**2,
            0.5 * ((1 + high) * xp.log1p(high) - complement_entropy(high)) / high**2,
        )
        share = xp.where(a < _SERIES, 0.5 + a**2 * (1 / 12 + a**2 / 30), share)
        return theta * (y - theta * share)

    def domain(self, y: Any) -> tuple[Any, Any]:
        """Return the box of radius δ."""
        return -self.delta, self.delta

    def prediction(self, theta: Array, y: Array) -> Array:
        """Return y - δ artanh(θ/δ), with artanh a = log(1 + 2a/(1-a))/2, exact near the end."""
        size = np.abs(theta)
        u = 0.5 * self.delta * np.log1p(2 * (size / (self.delta - size)))
        return y - np.where(size < _LINEAR * self.delta, theta, np.sign(theta) * u)

    def curvature_at(self, theta: Any, y: Any) -> Any:
        """Return 1 - (θ/δ)²."""
        return ((self.delta - theta) / self.delta) * ((self.delta + theta) / self.delta)

    def cvxpy(self, cp: Any, f: Any, y: Array, weights: Array) -> Any:
        """Return the sum of log(1 + exp(2u)) - u - log 2."""
        u = (f - y) / self.delta
        return self.delta**2 * cp.sum(cp.multiply(weights, cp.logistic(2 * u) - u - _LOG_2))
