"""Weights of rows: checked, normalised to mean 1, and what every loss does with them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_real, describe, fail

__all__ = ["WeightedRows", "check_weights", "normalised"]

Array = NDArray[np.float64]


class WeightedRows:
    r"""Targets y (n, C) whose rows have weights :math:`\omega_i` of mean 1.

    The loss is :math:`\frac1n\sum_i\omega_i\ell_i`.

    The conjugate of :math:`\omega\ell` at :math:`-\theta` is :math:`\omega\,\ell^*(-\theta/\omega)`, so a dual point is
    that of the plain loss times :math:`\omega`, a prediction belongs to :math:`\theta/\omega`, and a prox of step s is
    one of step :math:`s\,\omega`.

    Attributes
    ----------
    y : (n, C)
    weights : 1.0 or (n, 1)
    row_curvature : float or (n, 1)
        Upper bounds of the eigenvalues of the Hessian of every row's weighted loss.
    curvature : float
        The largest of them.
    """

    _bend = 1.0  # curvature of the plain loss

    def __init__(self, y: Array, sample_weight: Array | None = None) -> None:
        self.y = y
        self.weights: Array | float = 1.0 if sample_weight is None else sample_weight[:, None]
        self.row_curvature = self._bend * self.weights
        self.curvature = float(np.max(self.row_curvature))

    @property
    def sample_weight(self) -> Array | None:
        """Weights (n,), or None if all are equal."""
        return None if isinstance(self.weights, float) else self.weights[:, 0]


def check_weights(sample_weight: Any, n: int, owner: str) -> Array:
    """Return weights (n,) ≥ 0, not all zero.

    Raises
    ------
    ArgumentError
        Another shape, a negative or infinite weight or NaN, or nothing but zeros.
    """
    w = np.asarray(as_real(sample_weight, "sample_weight", owner), dtype=np.float64)
    if w.shape != (n,):
        raise fail("sample_weight", owner, f"of shape ({n},), one weight per row", describe(f"shape {w.shape}"))
    if w.min() < 0:
        hint = "A weight of zero leaves a row out."
        raise fail("sample_weight", owner, "≥ 0", describe(f"{np.count_nonzero(w < 0)} negative of {n} weights"), hint)
    if not w.any():
        raise fail("sample_weight", owner, "positive for some row", describe(f"{n} zeros"))
    return w


def normalised(sample_weight: Any, n: int, owner: str) -> Array | None:
    r"""Return :math:`\omega_i = nw_i/\sum w`, (n,), or None if all weights are equal.

    Raises
    ------
    ArgumentError
        As `check_weights`; a weight is zero, or so small beside the others that it vanishes.

    Examples
    --------
    >>> normalised([1, 3], 2, "example").tolist(), normalised([7, 7], 2, "example")
    ([0.5, 1.5], None)
    """
    if sample_weight is None:
        return None
    w = check_weights(sample_weight, n, owner)
    if w.min() == w.max():
        return None
    if w.min() == 0:
        value = describe(f"{np.count_nonzero(w == 0)} zeros of {n} weights")
        raise fail("sample_weight", owner, "> 0", value, "Leave rows of weight zero out.")
    omega = w / w.max()  # first, so that the sum cannot overflow
    omega *= n / omega.sum()
    if omega.min() < np.finfo(np.float64).tiny:
        value = describe(f"weights from {w.min():.1e} to {w.max():.1e}")
        raise fail("sample_weight", owner, "of one order of magnitude or some", value, "Leave such rows out.")
    return np.asarray(omega)
