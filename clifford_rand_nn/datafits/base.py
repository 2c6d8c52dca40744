r"""What a loss is: value, gradient, prox, conjugate, and a dual point from predictions.

A datafit is :math:`\frac1n\sum_i\omega_i\ell(f_i, y_i)` with weights of mean 1, all 1 if none are given. Its dual
variable is :math:`\theta_i \approx -\omega_i\ell'(f_i)`, and the dual objective is
:math:`-\frac1n\sum_i\omega_i\ell^*(-\theta_i/\omega_i)`. The losses whose entries do not mix are `Separable`; that
is all of them but the softmax.
"""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Datafit", "Separable"]

Array = NDArray[np.float64]


class Datafit(Protocol):
    """What a solver and a problem need to know of a loss. Predictions and dual points have shape (n, C)."""

    y: Array
    weights: Array | float
    """Weights of the rows, (n, 1) of mean 1, or 1.0."""

    row_curvature: Array | float
    """Upper bounds, (n, 1) or one for all, of the eigenvalues of the Hessian of a row's weighted loss."""

    curvature: float
    """The largest of ``row_curvature``."""

    @property
    def sample_weight(self) -> Array | None:
        """Weights (n,) of mean 1, or None if all are equal."""

    def value(self, f: Array) -> float:
        """Weighted mean loss."""

    def residual(self, f: Array) -> Array:
        """Minus the gradient of each row's weighted loss; n times minus the gradient of `value`."""

    def dual_value(self, theta: Array) -> float:
        """Mean of minus the conjugates of the weighted losses at -theta; -inf outside their domain."""

    def balance(self, theta: Array, Q: Array) -> Array:
        """Move ``theta`` so that Q^T theta = 0, within the domain; it may fail far from the optimum."""

    def scale(self, theta: Array, largest: float) -> float:
        """Factor t in [0, largest] that makes the dual value of t * theta large."""

    def prox(self, v: Array, step: float) -> Array:
        r"""Minimise :math:`\omega_i\ell(f_i, y_i) + ||f_i-v_i||^2/(2\,step)` over f in every row."""


@runtime_checkable
class Separable(Datafit, Protocol):
    r"""A loss of single numbers: :math:`\ell(f, y) = \sum_c\ell(f_c, y_c)`."""

    def dual_domain(self) -> tuple[Array, Array]:
        """Bounds (n, C) of the dual point, where the conjugate is finite; they may be infinite."""

    def predictions_at(self, theta: Array) -> Array:
        r"""Predictions f with :math:`\theta = -\omega\ell'(f)`, in the domain: minus the slope of the dual terms."""

    def dual_curvature(self, theta: Array) -> Array:
        r"""Second derivative :math:`(\omega\ell)^{*\prime\prime}(-\theta)`, inside the domain, (n, C)."""
