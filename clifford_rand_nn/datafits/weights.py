"""Weights of rows: checked, and normalised to mean 1."""

from typing import Any

import numpy as np

from clifford_rand._checks import as_real, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.datafits.functions import library


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
    return None if sample_weight is None else mean_one(check_weights(sample_weight, n, owner), owner)


def mean_one(w: Any, owner: str) -> Any:
    """Do what `normalised` does to finite weights (n,) of any library."""
    xp = library(w)
    low, high = float(xp.min(w)), float(xp.max(w))
    if low <= 0:
        kind = "zeros" if low == 0 else "zeros or negative"
        value = describe(f"{int(xp.count_nonzero(w <= 0))} {kind} of {w.shape[0]} weights")
        raise fail("sample_weight", owner, "> 0", value, "Leave rows of weight zero out.")
    if low == high:
        return None
    omega = w / high  # first, so that the sum cannot overflow
    omega = omega * (w.shape[0] / float(xp.sum(omega)))
    if float(xp.min(omega)) < float(xp.finfo(w.dtype).smallest_normal):
        value = describe(f"weights from {low:.1e} to {high:.1e}")
        raise fail("sample_weight", owner, "of one order of magnitude or some", value, "Leave such rows out.")
    return omega
