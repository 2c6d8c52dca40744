"""The logarithm of s + B for complex B with B² a number."""

from typing import TYPE_CHECKING, Any

import numpy as np

from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.functions.frame import Array

if TYPE_CHECKING:
    from clifford_rand.multivector.multivector import Multivector


def complex_log(R: "Multivector", work: Any, dtype: Any) -> "tuple[Multivector | None, Array]":
    """Return the logarithms of s + B, B² = -β² a complex number, in ``dtype``, and a mask of where they hold.

    log R = log n + atan(β/s) B/β with n² = s² + β². None where no element is of this form, or d > 4.
    """
    d = R.algebra.d
    nothing = np.zeros(R.shape, dtype=bool)
    if d > 4:
        return None, nothing
    keys = keys_of_grades(d, tuple(range(0, d + 1, 2)))
    bivectors = keys_of_grades(d, (2,) if d > 1 else ())
    values = R._on(keys).coefficients.astype(work)
    largest = np.abs(values).max(axis=-1)
    fine = largest > 0
    if not fine.any():
        return None, nothing
    values = values / np.where(fine, largest, 1.0)[..., None]
    s, B, p = values[..., 0], values[..., 1 : 1 + bivectors.size], values[..., 1 + bivectors.size :]
    part = R._make(bivectors, B)
    if d == 4:
        if p.any():
            return None, nothing
        excess = part.wedge(part).coefficients[..., 0]  # 0 for versors
        fine &= np.abs(excess) <= 64 * np.finfo(dtype).eps * np.abs(B).max(axis=-1) ** 2
    squared = part.inner(part).coefficients[..., 0] if d > 1 else np.zeros_like(s)  # β²
    size = np.finfo(dtype).eps * (np.abs(values) ** 2).sum(axis=-1)
    total = s * s + squared
    fine &= np.abs(total) > 64 * size
    # a unit rotor has no scalar part: n = 1 to the rounding of the input, which is that of the largest components
    inside = np.where(np.abs(np.log(np.where(largest > 0, largest, 1.0))) < 200, largest, 0.0)
    unit = np.abs(total * inside**2 - 1) <= 32 * size * inside**2
    factor, n = _factor(s, squared, np.where(fine, total, 1.0))
    if not fine.any():
        return None, nothing
    scalar = np.log(np.where(fine, largest, 1.0)) + np.log(np.where(fine, n, 1.0))
    scalar = np.where(unit & (np.abs(scalar) < 1), 0.0, scalar)  # n = -1 stays
    parts = B * factor[..., None]
    if not scalar[fine].any() and bivectors.size:
        return R._make(bivectors, parts.astype(dtype, copy=False)), fine
    both = np.concatenate([scalar[..., None], parts], axis=-1)
    return R._make(keys_of_grades(d, (0, *bivectors.grades)), both.astype(dtype)), fine


def _factor(s: Array, squared: Array, total: Array) -> tuple[Array, Array]:
    """Return f and n with log(s + B) = log n + f B: any branch is a logarithm, near β = 0 the one with n ≈ s."""
    safe = np.where(s == 0, 1.0, s)
    ratio = np.where(s == 0, np.inf, np.abs(squared)) / np.abs(safe) ** 2
    near = ratio <= 1e-8  # atan(x)/x = 1 - x²/3 + x⁴/5, to 1e-25
    x = np.where(near, squared, 0.0) / safe**2
    n = np.where(near, safe * np.sqrt(1 + x), np.sqrt(total))
    beta = np.sqrt(np.where(near, 1.0, squared))
    angle = -1j * np.log((s + 1j * beta) / n)
    return np.where(near, (1 - x / 3 + x * x / 5) / safe, angle / beta), n
