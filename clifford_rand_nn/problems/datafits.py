r"""Losses: value, gradient, conjugate, and a dual point from predictions.

A datafit is :math:`\frac1n\sum_i\ell(f_i, y_i)`. Its dual variable is :math:`\theta_i \approx -\ell'(f_i)`, and the
dual objective is :math:`-\frac1n\sum_i\ell^*(-\theta_i)`.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import entr, expit, log_softmax, softmax

__all__ = ["Datafit", "Logistic", "Softmax", "Squared"]

Array = NDArray[np.float64]

_NEWTON_STEPS = 8
_ROUNDING = 1e-15
_RIDGE = 1e-13  # of the largest diagonal entry: above rounding, so that Cholesky succeeds


class Datafit(Protocol):
    """What a solver and a problem need to know of a loss. Predictions and dual points have shape (n, C)."""

    y: Array
    curvature: float
    """An upper bound of the eigenvalues of the Hessian of one row's loss."""

    def value(self, f: Array) -> float:
        """Mean loss."""

    def residual(self, f: Array) -> Array:
        """Minus the gradient of the loss of each row; n times minus the gradient of `value`."""

    def dual_value(self, theta: Array) -> float:
        """Mean of minus the conjugate at -theta; -inf outside its domain."""

    def balance(self, theta: Array, Q: Array) -> Array:
        """Move ``theta`` so that Q^T theta = 0, within the domain; it may fail far from the optimum."""

    def scale(self, theta: Array, largest: float) -> float:
        """Factor t in [0, largest] that makes the dual value of t * theta large."""


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


class Logistic:
    r""":math:`\ell(f, y) = \log(1+e^{-yf})`, y in {-1, 1}, C = 1.

    With :math:`a = y\theta\in[0,1]`: :math:`\ell^*(-\theta) = a\log a + (1-a)\log(1-a)`.
    """

    curvature = 0.25

    def __init__(self, y: Array) -> None:
        self.y = y

    def value(self, f: Array) -> float:
        """Mean of log(1 + exp(-yf)), without overflow."""
        return float(np.mean(np.logaddexp(0, -self.y * f)))

    def residual(self, f: Array) -> Array:
        """Return y / (1 + exp(yf))."""
        return np.asarray(self.y * expit(-self.y * f))

    def dual_value(self, theta: Array) -> float:
        """Mean binary entropy of y·theta."""
        a = self.y * theta
        return float(np.mean(entr(a) + entr(1 - a)))  # entr is -inf outside [0, inf)

    def balance(self, theta: Array, Q: Array) -> Array:
        """Newton steps in the biases, theta + W Q mu with W = a(1-a): a small entry moves by a small share."""

        def step(theta: Array, excess: Array) -> Array:
            a = self.y * theta
            W = a * (1 - a)
            return np.asarray(self.y * np.clip(a + self.y * W * (Q @ _solve(Q.T @ (W * Q), -excess)), 0, 1))

        return _balanced(theta, Q, step)

    def scale(self, theta: Array, largest: float) -> float:
        """Return 1 if allowed: theta is the residual, already the best of its ray near the optimum."""
        return min(1.0, largest)


class Softmax:
    r""":math:`\ell(f, y) = \log\sum_c e^{f_c} - y\cdot f`, y one-hot (n, C).

    With :math:`p = y - \theta` in the simplex: :math:`\ell^*(-\theta) = \sum_c p_c\log p_c`.
    """

    curvature = 0.5

    def __init__(self, y: Array) -> None:
        self.y = y

    def value(self, f: Array) -> float:
        """Mean cross-entropy."""
        return -float(np.sum(log_softmax(f, axis=1) * self.y)) / len(f)

    def residual(self, f: Array) -> Array:
        """Return y - softmax(f)."""
        return np.asarray(self.y - softmax(f, axis=1))

    def dual_value(self, theta: Array) -> float:
        """Mean entropy of y - theta."""
        return float(np.sum(entr(self.y - theta))) / len(theta)

    def balance(self, theta: Array, Q: Array) -> Array:
        """Newton steps in the biases, with W = diag(p) - p pᵀ in every row; rows stay in the simplex."""
        q, C = Q.shape[1], theta.shape[1]

        def step(theta: Array, excess: Array) -> Array:
            p = self.y - theta
            Z = (p[:, :-1, None] * Q[:, None, :]).reshape(len(p), -1)  # the last class is the gauge of the shifts
            H = -(Z.T @ Z)
            for a in range(C - 1):
                W = p[:, a] * (p[:, :a].sum(axis=1) + p[:, a + 1 :].sum(axis=1))  # p(1 - p) without cancellation
                H[a * q : (a + 1) * q, a * q : (a + 1) * q] = Q.T @ (W[:, None] * Q)
            mu = _solve(H, -excess[:, :-1].T.reshape(-1, 1))
            shift = np.zeros_like(p)
            shift[:, :-1] = Q @ mu.reshape(C - 1, q).T
            p = np.maximum(p * (1 - shift + np.sum(p * shift, axis=1, keepdims=True)), 0)
            return np.asarray(self.y - p / p.sum(axis=1, keepdims=True))

        return _balanced(theta, Q, step)

    def scale(self, theta: Array, largest: float) -> float:
        """Return 1 if allowed, as for the logistic loss."""
        return min(1.0, largest)


def _balanced(theta: Array, Q: Array, step: Callable[[Array, Array], Array]) -> Array:
    """Repeat Newton steps until Q^T theta is rounding noise, or as long as each at least halves it.

    More than two are needed where a bias runs to infinity because one class is absent from a gate: the entries it
    drives to 0 are clipped there, and the others are balanced again.
    """
    last = np.inf
    for _ in range(_NEWTON_STEPS):
        excess = Q.T @ theta
        size = float(np.linalg.norm(excess))
        if size <= _ROUNDING * np.linalg.norm(theta) or size > 0.5 * last:
            break
        theta, last = step(theta, excess), size
    return theta


def _solve(H: Array, b: Any) -> Any:
    """Solve a symmetric positive semidefinite system, with a ridge at rounding level; the caller repeats the step."""
    ridge = _RIDGE * max(float(H.diagonal().max(initial=0.0)), np.finfo(np.float64).tiny)
    return cho_solve(cho_factor(H + ridge * np.eye(len(H))), b)
