r"""A loss with its targets and weights, what a solver goes through; and the best fit by what no penalty touches.

A datafit is :math:`\frac1n\sum_i\omega_i\ell(f_i, y_i)` with weights of mean 1, all 1 if none are given. Its dual
variable is :math:`\theta_i \approx -\omega_i\ell'(f_i)`. The conjugate of :math:`\omega\ell` at :math:`-\theta` is
:math:`\omega\,\ell^*(-\theta/\omega)`, so a dual point is that of the plain loss times :math:`\omega`, a prediction
belongs to :math:`\theta/\omega`, and a prox of step s is one of step :math:`s\,\omega`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from clifford_rand._typing import Array
from clifford_rand_nn.problems.loss import Loss
from clifford_rand_nn.problems.loss_functions import solve
from clifford_rand_nn.rounding import block_sums, rounding_of_gains

_EPS = float(np.finfo(np.float64).eps)
_AT_BOUND = 4 * _EPS  # share by which a point scaled to a bound may come out beyond it
_OFF_SIMPLEX = 4500 * _EPS  # by which a row of entries that sum to zero may miss it
_NEWTON_STEPS = 8
_BALANCED = 4.5 * _EPS  # of |theta|, below which an equality of the dual is met as well as can be
_FEASIBLE = 4500 * _EPS  # of |theta|, below which an equality of the dual holds
_STEPS = 2000
_NOTHING = 1e-14  # share of the first loss at which the columns separate the classes: steps would go on until overflow
_SMALL = 32  # unknowns up to which the Hessian is formed
_FAR = 10.0  # a Newton step from where L-BFGS ends is short, unless the Hessian vanishes
_DIFFERENCE = 1e-6  # of a central difference, relative: its error of 1e-10 only slows Newton's last step


class Datafit:
    """A loss with targets y (n, C) and weights of its rows; predictions and dual points have the shape of y.

    ``y`` (n, C). ``weights`` (n,). ``row_curvature`` (n, 1): upper bounds of the eigenvalues of the Hessian of every
    row's weighted loss. ``curvature``: the largest of them.
    """

    def __init__(self, loss: Loss, y: Array, weights: Array | None = None) -> None:
        self.loss, self.y, self.sample_weight = loss, y, weights
        self.weights: Any = 1.0 if weights is None else weights[:, None]
        self.row_curvature: Any = loss.curvature * self.weights
        self.curvature = loss.curvature * (1.0 if weights is None else float(weights.max()))
        self._low, self._high = (self.weights * bound for bound in loss.domain(y))

    def _plain(self, theta: Array) -> Array:
        return theta if self.sample_weight is None else np.asarray(theta / self.weights)

    def largest_curvature(self, f: Array) -> float:
        """Return ``curvature``, or of a loss without a bound the largest curvature at predictions f."""
        if self.loss.has_bounded_curvature:
            return self.curvature
        return float(np.max(self.weights * self.loss.curvature_at(self.loss.residual(f, self.y), self.y)))

    def value(self, f: Array) -> float:
        """Weighted mean loss."""
        losses = self.loss.value(f, self.y)
        return float(np.sum(losses if self.sample_weight is None else self.weights * losses)) / len(f)

    def residual(self, f: Array) -> Array:
        """Minus the gradient of each row's weighted loss; n times minus the gradient of `value`."""
        theta = np.asarray(self.loss.residual(f, self.y))
        return theta if self.sample_weight is None else np.asarray(self.weights * theta)

    def dual_value(self, theta: Array) -> float:
        """Mean of minus the conjugates of the weighted losses at -theta; -inf outside their domain."""
        if not self.loss.is_quadratic and not self._inside(theta):
            return -np.inf
        return float(block_sums(self.weights * self.loss.dual_value(self._plain(theta), self.y)).sum()) / len(theta)

    def rounding_error(self, theta: Array) -> float:
        """Return what rounding may have added to `dual_value`."""
        gains = self.weights * self.loss.dual_value(self._plain(theta), self.y)
        return rounding_of_gains(gains, theta, self.loss.sizes(self.y)) / len(theta)

    def _inside(self, theta: Array) -> bool:
        if not self.loss.separable and (np.abs(self._plain(theta).sum(axis=1)) > _OFF_SIMPLEX).any():
            return False
        low, high = self._low - _AT_BOUND * abs(self._low), self._high + _AT_BOUND * abs(self._high)
        return bool(((theta >= low) & (theta <= high)).all())

    def scale(self, theta: Array, largest: float) -> float:
        """Factor t in [0, largest] that makes the dual value of t * theta large."""
        return self.loss.best_scale(theta, self.y, self.weights, largest)

    def prox(self, v: Array, step: float) -> Array:
        r"""Minimize :math:`\omega_i\ell(f_i, y_i) + ||f_i-v_i||^2/(2\,step)` over f in every row."""
        return self.loss.prox(v, step * self.weights, self.y)

    def dual_domain(self) -> tuple[Array, Array]:
        """Bounds (n, C) of the dual point, where the conjugate is finite; they may be infinite."""
        whole = np.zeros_like(self.y)
        return whole + self._low, whole + self._high

    def predictions_at(self, theta: Array) -> Array:
        r"""Predictions f with :math:`\theta = -\omega\ell'(f)`, in the domain: minus the slope of the dual terms."""
        return self.loss.prediction(self._plain(theta), self.y)

    def dual_curvature(self, theta: Array) -> Array:
        r"""Second derivative :math:`(\omega\ell)^{*\prime\prime}(-\theta)`, inside the domain, (n, C)."""
        return np.asarray(1 / (self.weights * self.loss.curvature_at(self._plain(theta), self.y)))

    def in_units(self, unit: float) -> "Datafit":
        """Return the datafit of targets and predictions in another unit, divided by its square."""
        return Datafit(self.loss.in_units(unit), self.y / unit, self.sample_weight)

    def dual_point(self, theta: Array, Q: Array) -> Array:
        """Return what `balance` makes of ``theta`` if it is balanced, Q^T theta = 0 to 1e-12, else zero.

        Zero is feasible always. A point that is not balanced bounds nothing, so every lower bound begins here.
        """
        theta = self.balance(theta, Q)
        unit = theta / max(np.abs(theta).max(), np.finfo(np.float64).tiny)  # squares of less than its root vanish
        return theta if np.linalg.norm(Q.T @ unit) <= _FEASIBLE * np.linalg.norm(unit) else np.zeros_like(theta)

    def balance(self, theta: Array, Q: Array) -> Array:
        """Move ``theta`` so that Q^T theta = 0, within the domain; it may fail far from the optimum.

        The squared loss without weights is projected, twice for full accuracy. Otherwise Newton steps in the biases,
        :math:`theta + WQmu` with the curvature W of the loss there: entries at a bound stay, and a small probability
        moves by a small share. They go on until Q^T theta is rounding noise, or as long as each at least halves it.
        More than two are needed where a bias runs to infinity because one class is absent from a gate: the entries it
        drives to a bound are clipped there, and the others are balanced again. Where a step halves nothing, as what is
        missing is that of entries that should be 0, those of its size become 0, once.
        """
        if self.loss.is_quadratic and self.sample_weight is None:
            for _ in range(2):
                theta = theta - Q @ (Q.T @ theta)
            return theta
        best, least, norm, is_cut = theta, np.inf, float(np.linalg.norm(theta)), False
        for _ in range(_NEWTON_STEPS):
            excess = Q.T @ theta
            size, last = float(np.linalg.norm(excess)), least
            if size < least:
                best, least = theta, size
            if size <= _BALANCED * norm or (size > 0.5 * last and (is_cut or least > _FEASIBLE * norm)):
                break
            if size > 0.5 * last:
                is_cut, theta = True, np.where(np.abs(best) <= 2 * least, 0.0, best)
                theta = theta if self.loss.separable else theta - self.y * theta.sum(axis=1, keepdims=True)
            else:
                theta = self._balancing_step(theta, Q, excess)
        return best

    def _balancing_step(self, theta: Array, Q: Array, excess: Array) -> Array:
        if not self.loss.separable:
            plain = self.loss.balancing_step(self._plain(theta), self.y, self.weights, Q, excess)
            return np.asarray(self.weights * plain)
        W = self.weights * self.loss.curvature_at(self._plain(theta), self.y)
        if self.loss.is_piecewise_linear:  # each entry moves by a share of its way to the bounds
            W = (theta - self._low) * (self._high - theta)
        W = np.where((theta > self._low) & (theta < self._high), W, 0.0)
        theta = theta.copy()
        for c, w in enumerate(W.T):
            root = w[:, None] ** 0.5 * Q
            theta[:, c] += w * (Q @ solve(root.T @ root, -excess[:, c]))
        return np.clip(theta, self._low, self._high)


def unpenalized_fit(datafit: Datafit, Q: Array) -> Array:
    r"""Predictions (n, C) that minimize the loss over :math:`\{Qc\}`, Q (n, q) with orthonormal columns.

    The squared loss is projected, in the metric of the weights; the others go through L-BFGS, and, if qC is small (an
    intercept has q = 1), through Newton's method to full accuracy, with a Hessian from differences of the gradient.

    If no minimum is attained (a logistic loss whose classes the columns separate), predictions far out are returned.
    """
    y = datafit.y
    if datafit.loss.is_quadratic:
        if datafit.sample_weight is None:
            return np.asarray(Q @ (Q.T @ y))
        root = np.sqrt(datafit.weights)
        return np.asarray(Q @ np.linalg.lstsq(root * Q, root * y, rcond=None)[0])
    q, C = Q.shape[1], y.shape[1]
    if q == 0:
        return np.zeros_like(y)
    n = len(y)
    scale = np.sqrt(n)  # c in units of a prediction

    def value_and_slope(c: Array) -> tuple[float, Array]:
        f = scale * (Q @ c.reshape(q, C))
        return datafit.value(f), -(scale / n) * (Q.T @ datafit.residual(f)).ravel()

    start = (Q.T @ datafit.loss.first_predictions(y) / scale).ravel()
    options = {"maxiter": _STEPS, "ftol": 0.0, "gtol": 0.0}

    first = value_and_slope(start)[0]

    def stop_far_out(intermediate_result: OptimizeResult) -> None:
        if intermediate_result.fun <= _NOTHING * first:
            raise StopIteration

    fit = minimize(value_and_slope, start, jac=True, method="L-BFGS-B", options=options, callback=stop_far_out)
    c = np.asarray(fit.x)
    if c.size <= _SMALL:
        unit = float(np.abs(y).max()) if datafit.loss.has_units else 1.0
        if unit:  # targets of 0 are fitted by c = 0
            c = _newton(lambda c: value_and_slope(c)[1], c, unit)
    return np.asarray(scale * (Q @ c.reshape(q, C)))


def _newton(slope: Callable[[Array], Array], c: Array, unit: float) -> Array:
    """Newton steps as long as they shrink the gradient, from coefficients c of predictions in a unit."""
    g = slope(c)
    for _ in range(_NEWTON_STEPS):
        h = _DIFFERENCE * (unit + np.abs(c).max())
        H = np.stack([(slope(c + h * e) - slope(c - h * e)) / (2 * h) for e in np.eye(c.size)])
        new = c - np.linalg.lstsq(H, g, rcond=None)[0]  # a softmax has a flat direction
        if not np.abs(new).max() <= _FAR * (unit + np.abs(c).max()):
            break  # the loss has no minimum, only an infimum
        g_new = slope(new)
        if not np.linalg.norm(g_new) < np.linalg.norm(g):
            break
        c, g = new, g_new
    return c
