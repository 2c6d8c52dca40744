"""Losses of a margin yf, y in {-1, 1}: logistic and squared hinge."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit, logit

from clifford_rand_nn.datafits.balance import balanced, solve
from clifford_rand_nn.datafits.weights import WeightedRows

__all__ = ["Logistic", "SquaredHinge"]

Array = NDArray[np.float64]

_ROUNDING = 1e-15
_PROX_STEPS = 200  # 4 to 8 are needed for moderate steps, log(step) more for large ones


class SquaredHinge(WeightedRows):
    r""":math:`\ell(f, y) = \sum_c\frac12(1-y_cf_c)_+^2`, y in {-1, 1}.

    With :math:`a = y\theta\ge0`: :math:`\ell^*(-\theta) = \frac12a^2 - a`.
    """

    def value(self, f: Array) -> float:
        """Mean of half the squared violations of the margin."""
        return 0.5 * float(np.sum(self.weights * np.maximum(1 - self.y * f, 0) ** 2)) / len(f)

    def residual(self, f: Array) -> Array:
        """Return y (1 - yf)_+, weighted."""
        return np.asarray(self.weights * (self.y * np.maximum(1 - self.y * f, 0)))

    def dual_value(self, theta: Array) -> float:
        """Mean of a - a²/(2w) with a = y·theta ≥ 0."""
        a = self.y * theta
        return float(np.sum(a - 0.5 * a * a / self.weights)) / len(a) if a.min(initial=0.0) >= 0 else -np.inf

    def balance(self, theta: Array, Q: Array) -> Array:
        """Project on Q^T theta = 0 within the orthant: Newton steps in the entries that are not zero."""
        w = np.broadcast_to(self.weights, (len(theta), 1))

        def step(theta: Array, excess: Array) -> Array:
            out = theta.copy()
            for c in range(theta.shape[1]):
                free = theta[:, c] != 0
                root = np.sqrt(w[free]) * Q[free]
                out[free, c] += w[free, 0] * (Q[free] @ solve(root.T @ root, -excess[:, c]))
            return np.asarray(self.y * np.maximum(self.y * out, 0))

        return balanced(theta, Q, step)

    def scale(self, theta: Array, largest: float) -> float:
        """Best factor in closed form: sum(a) / sum(a²/w), clipped."""
        square = float(np.sum(theta * theta / self.weights))
        return min(max(float(np.sum(self.y * theta)) / square, 0.0), largest) if square > 0 else 0.0

    def prox(self, v: Array, step: float) -> Array:
        """Return v moved towards the margin where it is violated."""
        move = step * self.weights
        return np.asarray(v + self.y * np.maximum(1 - self.y * v, 0) * (move / (1 + move)))

    def dual_domain(self) -> tuple[Array, Array]:
        """Return the orthant of y."""
        return np.where(self.y > 0, 0.0, -np.inf), np.where(self.y > 0, np.inf, 0.0)

    def predictions_at(self, theta: Array) -> Array:
        """Return y - theta / w."""
        return np.asarray(self.y - theta / self.weights)

    def dual_curvature(self, theta: Array) -> Array:
        """Return 1 / w."""
        return np.ones_like(theta) / self.weights


class Logistic(WeightedRows):
    r""":math:`\ell(f, y) = \log(1+e^{-yf})`, y in {-1, 1}, C = 1.

    With :math:`a = y\theta\in[0,1]`: :math:`\ell^*(-\theta) = a\log a + (1-a)\log(1-a)`.
    """

    _bend = 0.25

    def value(self, f: Array) -> float:
        """Mean of log(1 + exp(-yf)), without overflow."""
        return float(np.mean(self.weights * np.logaddexp(0, -self.y * f)))

    def residual(self, f: Array) -> Array:
        """Return y / (1 + exp(yf)), weighted."""
        return np.asarray(self.weights * (self.y * expit(-self.y * f)))

    def dual_value(self, theta: Array) -> float:
        """Mean binary entropy of y·theta / w, weighted."""
        a = self.y * theta / self.weights
        return float(np.mean(self.weights * (entr(a) + entr(1 - a))))  # entr is -inf outside [0, inf)

    def balance(self, theta: Array, Q: Array) -> Array:
        """Newton steps in the biases, theta + wWQ mu with W = a(1-a): a small entry moves by a small share."""
        w = self.weights

        def step(theta: Array, excess: Array) -> Array:
            a = self.y * theta / w
            W = a * (1 - a)
            return np.asarray(w * (self.y * np.clip(a + self.y * W * (Q @ solve(Q.T @ (w * W * Q), -excess)), 0, 1)))

        return balanced(theta, Q, step)

    def scale(self, theta: Array, largest: float) -> float:
        """Return 1 if allowed: theta is the residual, already the best of its ray near the optimum."""
        return min(1.0, largest)

    def prox(self, v: Array, step: float) -> Array:
        """Solve m = m0 + s / (1 + exp(m)) for the margin m = yf by Newton's method, with s = step times w.

        The equation is concave for m > 0 and convex for m < 0. From the point of the bracket [m0, m0 + s / (1 +
        exp(m0))] that is nearest to 0 the steps are monotone, so no safeguard is needed.
        """
        start, s = self.y * v, step * self.weights
        m = np.clip(0.0, start, start + s * expit(-start))
        for _ in range(_PROX_STEPS):
            p = expit(-m)
            move = (m - start - s * p) / (1 + s * p * (1 - p))
            m = m - move
            if np.all(np.abs(move) <= _ROUNDING * (1 + np.abs(m))):
                break
        return np.asarray(self.y * m)

    def dual_domain(self) -> tuple[Array, Array]:
        """Return the bounds that y·theta lies in [0, w]."""
        return self.weights * np.minimum(self.y, 0), self.weights * np.maximum(self.y, 0)

    def predictions_at(self, theta: Array) -> Array:
        """Return y log((1-a)/a) at a = y·theta / w."""
        return np.asarray(-self.y * logit(self.y * theta / self.weights))

    def dual_curvature(self, theta: Array) -> Array:
        """Return 1 / (wa(1-a)) at a = y·theta / w."""
        a = self.y * theta / self.weights
        return np.asarray(1 / (self.weights * (a * (1 - a))))
