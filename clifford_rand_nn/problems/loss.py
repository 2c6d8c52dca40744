r"""Losses: records of formulas, of which solvers, problems and certificates take what they need.

A record knows no data. `Datafit` is a record with targets and weights of rows, and all the rest of the library goes
through that. To add a loss, write its record and name it in `clifford_rand_nn.problems.loss_registry`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.problems.loss_functions import library

_ROUNDING = 16 * 2.0**-52  # of the terms of the prox's equation, at which its residual is noise
# A stored dual point is clipped where it exceeds a bound by this share; its rows may miss sums of 0 by as much.
_AT_BOUND = 1e-9
_PROX_STEPS = 200  # of Newton's method or bisection; it needs 4 to 8


class Loss:
    r"""A convex loss :math:`\ell(f, y)\ge0`, f and y (n, C): value, gradient, conjugate, domain, curvature, targets.

    Subclasses are frozen dataclasses whose fields are the parameters of the loss. The formulas return an array of the
    shape of f unless said otherwise. Those up to `hessian_product` take tensors, too, for rows on a device, of losses
    whose curvature is bounded: no other loss is fitted to `Shards`. Dual variables are :math:`\theta=-\ell'(f)`, and
    the dual value of a row is minus the conjugate, :math:`-\ell^*(-\theta)`.

    Every formula keeps its relative accuracy for residuals and margins of any size; a test compares it with arithmetic
    of 50 digits. `Certificate.verify` uses `stated_value` and `stated_dual_value`, which check the domain besides.

    ``labels`` (float, float): the two values that targets have; None if they are real. ``barrier``: whether predictions
    grow without bound as theta goes to the end of its domain: there the conjugate is a barrier of its own. Otherwise
    the end is a constraint. ``even``: whether it is a function of f - y that grows more slowly than the square: then a
    parabola about y lies above it. ``interior_steps``, ``newton_steps``: of `KernelInteriorPoint` and `KernelNewton`
    from scratch to a gap of 1e-6, measured, for the choice of a solver.
    """

    name: ClassVar[str]
    tasks: ClassVar[tuple[str, ...]] = ()  # {"classification", "regression"}, whose estimators offer it
    labels: ClassVar[tuple[float, float] | None] = None
    summary: ClassVar[str] = ""  # its sentence in the docstrings of estimators
    targets: ClassVar[str] = "real numbers"  # what targets must be, for the sentence of an error
    is_quadratic: ClassVar[bool] = False  # whether the dual is quadratic without bounds: one Newton step solves it
    separable: ClassVar[bool] = True  # whether the entries of a row do not mix
    barrier: ClassVar[bool] = False
    even: ClassVar[bool] = False
    is_piecewise_linear: ClassVar[bool] = False  # whether it has no curvature anywhere
    is_log: ClassVar[bool] = False  # whether predictions are logarithms of the mean
    probabilistic: ClassVar[bool] = False  # whether predictions stand for `probabilities` of the classes
    curvature: ClassVar[float] = 1.0  # bound of the eigenvalues of the Hessian of a row, perhaps infinity
    interior_steps: ClassVar[int]
    newton_steps: ClassVar[int]

    def value(self, f: Any, y: Any) -> Any:
        """Return the losses of the entries, or (n, 1) those of the rows."""
        raise NotImplementedError

    def residual(self, f: Any, y: Any) -> Any:
        """Return minus the gradient."""
        raise NotImplementedError

    def dual_value(self, theta: Any, y: Any) -> Any:
        """Return minus the conjugate at -theta, entry by entry, in the domain and on its boundary."""
        raise NotImplementedError

    def along_rays(self, f: Any, y: Any, weights: Any, scales: Any) -> tuple[Any, Any, Any]:
        r"""Return :math:`\sum\omega\ell`, :math:`\omega\theta`, and :math:`-\sum\omega\ell^*(-s\theta)` of every s.

        ``weights`` are (n, 1) or a number, θ is the residual.
        """
        xp, theta = library(f), self.residual(f, y)
        duals = [xp.sum(weights * self.dual_value(s * theta, y)) for s in scales]
        return xp.sum(weights * self.value(f, y)), weights * theta, xp.stack(duals)

    def domain(self, y: Any) -> tuple[Any, Any]:
        """Return bounds of theta: numbers, or arrays of the shape of y."""
        return -float("inf"), float("inf")

    def curvature_at(self, theta: Any, y: Any) -> Any:
        """Return the second derivative where the residual is theta, inside the domain; one over the conjugate's."""
        raise NotImplementedError

    def hessian_product(self, theta: Any, y: Any, v: Any) -> Any:
        """Return the Hessian of every row where the residual is theta, times v (n, C)."""
        return self.curvature_at(theta, y) * v

    def prediction(self, theta: Array, y: Array) -> Array:
        """Return f whose residual is theta, inside the domain; with entries that mix, one of them."""
        raise NotImplementedError

    def third_derivative_at(self, theta: Array, y: Array) -> Array:
        """Return the third derivative where the residual is theta; of smooth losses that leave-one-out expands."""
        raise NotImplementedError

    def row_curvature_at(self, theta: Array, y: Array) -> Array:
        """Return an upper bound (n, 1) of the eigenvalues of the Hessian of every row where the residual is theta."""
        return np.asarray(np.max(self.curvature_at(theta, y), axis=1, keepdims=True))

    def best_scale(self, theta: Array, y: Array, weights: Any, largest: float) -> float:
        """Return a factor t in [0, largest] that makes the weighted dual value of t·theta large.

        It is 1, if allowed: theta is a residual, already the best of its ray near the optimum.
        """
        return min(1.0, largest)

    def prox(self, v: Array, step: Any, y: Array) -> Array:
        r"""Return the minimizer of :math:`\ell(f, y)+||f-v||^2/(2\,step)`, step (n, 1) or a number.

        Newton's method on :math:`f - v = step\,\theta(f)`, whose root lies between v and
        :math:`v + step\,\theta(v)`. It starts where the curvature is largest, from where steps are monotone; a step to
        an end of what is left of that bracket, or beyond, becomes a bisection.
        """
        far = v + step * self.residual(v, y)
        low, high = np.minimum(v, far), np.maximum(v, far)
        f: Array = np.clip(y if self.even else np.zeros_like(v), low, high)
        for _ in range(_PROX_STEPS):
            theta = self.residual(f, y)
            excess = f - v - step * theta
            low, high = np.where(excess <= 0, f, low), np.where(excess >= 0, f, high)
            new = f - excess / (1 + step * self.curvature_at(theta, y))
            moves = np.abs(excess) > _ROUNDING * (np.abs(f) + np.abs(v) + step * np.abs(theta))
            if not moves.any():
                break
            f = np.where(moves & ((new <= low) | (new >= high)), low + 0.5 * (high - low), new)
        return f

    def balancing_step(self, theta: Array, y: Array, weights: Any, Q: Array, excess: Array) -> Array:
        """Return theta after a Newton step in biases Q that lessens Q^T theta; of losses whose entries mix."""
        raise NotImplementedError

    def sizes(self, y: Array) -> Array:
        """Return the size (n, C) of the predictions that targets stand for: what θ is multiplied by in a dual value."""
        return np.abs(y)

    @property
    def has_bounded_curvature(self) -> bool:
        """Whether ``curvature`` is finite, so that a parabola lies above the loss."""
        return self.curvature < float("inf")

    @property
    def has_units(self) -> bool:
        """Whether targets are real and may be divided by a unit, see `in_units`."""
        return self.labels is None and not self.is_log

    def first_predictions(self, y: Array) -> Array:
        """Return predictions (n, C) near which the search for the best ones begins."""
        return y if self.has_units else np.zeros_like(y)

    def accepts(self, y: Array) -> bool:
        """Tell whether finite targets (n, C) are such as ``targets`` says."""
        return self.labels is None or bool(np.isin(y, self.labels).all())

    def of_classes(self, n_classes: int) -> "Loss":
        """Return the loss for so many classes."""
        return self

    def probabilities(self, f: Array) -> Array:
        """Return the probabilities (n, classes) that predictions (n, C) stand for."""
        raise NotImplementedError

    def in_units(self, unit: float) -> "Loss":
        r"""Return the loss :math:`\ell(unit\,f, unit\,y)/unit^2` of real targets in another unit, as is its delta."""
        kind: Any = type(self)
        return kind(self.delta / unit) if hasattr(self, "delta") else self

    def cvxpy(self, cp: Any, f: Any, y: Array, weights: Array) -> Any:
        """Return the sum of the losses as an expression of the module ``cp``, times weights (n, C), equal in a row."""
        raise NotImplementedError

    def stated_value(self, f: Array, y: Array) -> Array:
        """Return the loss of every row, (n,)."""
        return np.asarray(np.sum(self.value(f, y), axis=1))

    def stated_dual_value(self, theta: Array, y: Array) -> Array:
        """Return minus the conjugate at -theta of every row, (n,); -inf outside the domain."""
        inside = np.clip(theta, *self.domain(y))
        misses = np.any(np.abs(theta - inside) > _AT_BOUND * np.abs(inside), axis=1)
        if not self.separable:
            misses |= np.abs(theta.sum(axis=1)) > _AT_BOUND
        return np.where(misses, -np.inf, np.sum(self.dual_value(inside, y), axis=1))


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

    def prediction(self, theta: Array, y: Array) -> Array:
        """Return y - theta."""
        return y - theta

    def curvature_at(self, theta: Any, y: Any) -> Any:
        """Return 1."""
        return library(theta).ones_like(theta)

    def best_scale(self, theta: Array, y: Array, weights: Any, largest: float) -> float:
        """Return the best factor in closed form, theta·y / (theta²/w), that leaves theta in a bounded box."""
        if self.radius() < float("inf"):
            size = float(np.abs(theta / weights).max(initial=0.0))
            largest = min(largest, self.radius() / size) if size > 0 else largest
        square = float(np.sum(theta * theta / weights))
        return min(max(float(np.sum(theta * y)) / square, 0.0), largest) if square > 0 else 0.0

    def prox(self, v: Array, step: Any, y: Array) -> Array:
        """Return the mean of v and y with weights 1 and step, or v moved by step times a residual at its bound."""
        theta = (y - v) / (1 + step)
        clipped = self.clipped(theta, y)
        mean = v / (1 + step) + y * (step / (1 + step))
        return np.asarray(np.where(clipped == theta, mean, v + step * clipped))


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
