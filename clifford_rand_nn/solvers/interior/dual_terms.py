"""The smooth part of a dual problem, the conjugates of a loss, as an interior-point method needs it."""

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.datafit import Datafit
from clifford_rand_nn.datafits.fit import unpenalised_fit

_IDLE = 1e-6  # of the largest target: the slope at the null fit of a constant target; n rows have slopes of 1/n
_INSIDE = 0.9  # the starting point keeps this share of its way from 0 to the boundary of the domain


class DualTerms:
    r"""The sum g of the conjugates of the rows at -theta: gradient, curvature, domain, and an interior point.

    For every loss g is a sum over the entries of theta (n, C); where the entries of a row mix (softmax), on rows of
    theta that sum to zero. So theta is :math:`\varphi E^T` with ``mix`` E (C, C'): the identity, or
    :math:`[I; -1^T]`.

    A loss whose conjugate has an infinite slope at the ends of its domain is its own barrier (``open`` bounds); where
    the slope is finite the bounds are inequalities (``closed``).

    Attributes
    ----------
    predictions, curvature : callable
        Minus the gradient of g at theta, for the softmax up to a shift of each row; and its second derivatives (n, C).
    """

    def __init__(self, datafit: Datafit, Q: Array) -> None:
        self.datafit = datafit
        y = datafit.y
        C = y.shape[1]
        self.mix = np.eye(C) if datafit.loss.separable else np.concatenate([np.eye(C - 1), -np.ones((1, C - 1))])
        self.open = self.closed = np.full_like(y, -np.inf), np.full_like(y, np.inf)
        if datafit.loss.barrier:
            self.open = datafit.dual_domain()
        else:
            self.closed = datafit.dual_domain()
        self.predictions, self.curvature = datafit.predictions_at, datafit.dual_curvature
        self.null = unpenalised_fit(datafit, Q)
        self.null_theta = datafit.residual(self.null)

    def start(self) -> Array:
        """Return the residual of the null fit, drawn into the domain; strictly inside unless a label is absent."""
        bounded = any(np.isfinite(bound).any() for bound in self.closed)
        return np.asarray(_INSIDE * self.null_theta if bounded else self.null_theta)

    def idle(self) -> NDArray[np.bool_]:
        """Tell which outputs (C,) the null fit meets in every row: a bounded dual is 0 there and has no interior."""
        y = self.datafit.y
        bounded = bool(np.isfinite(np.stack([*self.open, *self.closed])).any())
        slope = np.abs(self.null_theta / self.datafit.weights).max(axis=0)
        return np.asarray((y == y[:1]).all(axis=0) & bounded & (slope <= _IDLE * np.abs(y).max(initial=0.0)))

    def limit(self, theta: Array, direction: Array) -> float:
        """Largest step along ``direction`` within the open bounds."""
        low, high = self.open
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(direction > 0, (high - theta) / direction, (low - theta) / direction)
        return float(np.min(step, initial=np.inf, where=direction != 0))
