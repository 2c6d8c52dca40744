"""The softmax cross-entropy."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, log_softmax, softmax

from clifford_rand_nn.datafits.balance import balanced, solve
from clifford_rand_nn.datafits.weights import WeightedRows

__all__ = ["Softmax"]

Array = NDArray[np.float64]

_ROUNDING = 1e-15
_NOISE = 1e-13  # of a difference of merit values: near the minimum they cannot tell a good step from none
_OFF_SIMPLEX = 1e-12  # a row of C probabilities sums to one up to rounding
_PROX_STEPS = 60  # damped Newton steps; it needs 4 to 8


class Softmax(WeightedRows):
    r""":math:`\ell(f, y) = \log\sum_c e^{f_c} - y\cdot f`, y one-hot (n, C).

    With :math:`p = y - \theta` in the simplex: :math:`\ell^*(-\theta) = \sum_c p_c\log p_c`.
    """

    _bend = 0.5

    def value(self, f: Array) -> float:
        """Mean cross-entropy."""
        return -float(np.sum(self.weights * (log_softmax(f, axis=1) * self.y))) / len(f)

    def residual(self, f: Array) -> Array:
        """Return y - softmax(f), weighted."""
        return np.asarray(self.weights * (self.y - softmax(f, axis=1)))

    def mass(self, theta: Array) -> Array:
        """Return wy - theta, the probabilities p times w; the domain is where it is ≥ 0 and its rows sum to w."""
        return np.asarray(self.weights * self.y - theta)

    def dual_value(self, theta: Array) -> float:
        """Mean entropy of p = y - theta / w, whose rows must sum to one."""
        if np.abs(theta.sum(axis=1, keepdims=True) / self.weights).max(initial=0.0) > _OFF_SIMPLEX:
            return -np.inf
        return float(np.sum(self.weights * entr(self.mass(theta) / self.weights))) / len(theta)

    def balance(self, theta: Array, Q: Array) -> Array:
        """Newton steps in the biases, with W = diag(p) - p pᵀ in every row; rows stay in the simplex."""
        q, C, w = Q.shape[1], theta.shape[1], self.weights
        root = np.sqrt(w) * Q

        def step(theta: Array, excess: Array) -> Array:
            p = self.mass(theta) / w
            Z = (p[:, :-1, None] * root[:, None, :]).reshape(len(p), -1)  # the last class is the gauge of the shifts
            H = -(Z.T @ Z)
            for a in range(C - 1):
                W = p[:, a] * (p[:, :a].sum(axis=1) + p[:, a + 1 :].sum(axis=1))  # p(1 - p) without cancellation
                H[a * q : (a + 1) * q, a * q : (a + 1) * q] = root.T @ (W[:, None] * root)
            mu = solve(H, -excess[:, :-1].T.reshape(-1, 1))
            shift = np.zeros_like(p)
            shift[:, :-1] = Q @ mu.reshape(C - 1, q).T
            new = np.maximum(p * (1 - shift + np.sum(p * shift, axis=1, keepdims=True)), 0)
            p = np.where(new.any(axis=1, keepdims=True), new, p)  # nothing is left of a row by an endless shift
            return np.asarray(w * (self.y - p / p.sum(axis=1, keepdims=True)))

        return balanced(theta, Q, step)

    def scale(self, theta: Array, largest: float) -> float:
        """Return 1 if allowed, as for the logistic loss."""
        return min(1.0, largest)

    def prox(self, v: Array, step: float) -> Array:
        r"""Solve :math:`f + step\,\omega\,(p(f) - y) = v` by damped Newton steps, of a diagonal less a rank one."""
        return self._prox(v, np.broadcast_to(step * self.weights, (len(v), 1)))

    def _prox(self, v: Array, step: Array) -> Array:
        f = v + step * (self.y - softmax(v, axis=1))
        merit = self._prox_value(f, v, step)
        noise = _NOISE * (np.abs(merit) + step)
        for _ in range(_PROX_STEPS):
            p = softmax(f, axis=1)
            g = f - v + step * (p - self.y)
            diagonal = 1 + step * p  # (diag(1 + step p) - step p pᵀ) move = -g, by Sherman and Morrison
            a, b = g / diagonal, p / diagonal
            move = -a - b * (np.sum(p * a, 1, keepdims=True) / (1 / step - np.sum(p * b, 1, keepdims=True)))
            size = np.ones((len(f), 1))
            slope = np.sum(g * move, axis=1, keepdims=True)
            while True:
                new = f + size * move
                value = self._prox_value(new, v, step)
                worse = value > merit + 0.1 * size * slope + noise
                if not worse.any():
                    break
                size = np.where(worse, 0.5 * size, size)
            f, merit = new, value
            if np.abs(move).max(initial=0.0) <= _ROUNDING * (1 + np.abs(f).max(initial=0.0)):
                break
        return np.asarray(f)

    def _prox_value(self, f: Array, v: Array, step: Array) -> Array:
        loss = -np.sum(log_softmax(f, axis=1) * self.y, axis=1, keepdims=True)
        return np.asarray(step * loss + 0.5 * np.sum((f - v) ** 2, axis=1, keepdims=True))
