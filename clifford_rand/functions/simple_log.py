"""Closed forms of the logarithm and the square root, vectorised: one turning plane, and the motors of PGA(3)."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.functions.frame import Array, working_dtype

if TYPE_CHECKING:
    from clifford_rand.multivector.multivector import Multivector

# 1 - θ cot θ = Σ c_k θ^{2k+2} (Bernoulli numbers); the term left out is below 1e-15 of the sum for θ < 0.3
_COTANGENT = (1 / 3, 1 / 45, 2 / 945, 1 / 4725, 2 / 93555, 1382 / 638512875, 4 / 18243225)


def closed_form(R: "Multivector", work: Any, dtype: Any) -> "tuple[Multivector | None, Array]":
    """Return the logarithms that have a closed form, in ``dtype``, and a mask of where they hold; None for no formula.

    R = s + B with B² = -β² a scalar: log R = log n + atan2(β, s) B/β with n² = s² + β²; arsinh for β² < 0, B/s for
    β = 0.
    In PGA(3) the grade-4 part turns this into dual numbers (`_motor_shift`).
    """
    d = R.algebra.d
    nothing = np.zeros(R.shape, dtype=bool)
    if d > 4:
        return None, nothing
    keys = keys_of_grades(d, tuple(range(0, d + 1, 2)))
    if R.keys is keys and not R.ndim and R.dtype == np.float64 and 2 <= d <= 3 and R.algebra.form.is_unit:
        single = _single_log(R)
        if single is not None:
            return single, np.ones((), dtype=bool)
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
        signature = (R.algebra.p, R.algebra.q, R.algebra.r)
        if p.any() and not (work == np.float64 and R.algebra.form.is_unit and signature in ((3, 0, 1), (0, 3, 1))):
            return None, nothing
        excess = part.wedge(part).coefficients[..., 0] - 2 * s * p[..., 0]  # 0 for versors
        fine &= np.abs(excess) <= 64 * np.finfo(dtype).eps * np.abs(B).max(axis=-1) ** 2
    squared = part.inner(part).coefficients[..., 0] if d > 1 else np.zeros_like(s)  # β²
    size = np.finfo(dtype).eps * (np.abs(values) ** 2).sum(axis=-1)
    total = s * s + squared
    fine &= np.abs(total) > 64 * size
    # a unit rotor has no scalar part: n = 1 to the rounding of the input, which is that of the largest components
    inside = np.where(np.abs(np.log(np.where(largest > 0, largest, 1.0))) < 200, largest, 0.0)
    unit = np.abs(total * inside**2 - 1) <= 32 * size * inside**2
    if np.dtype(work).kind == "c":
        factor, n = _complex_factor(s, squared, np.where(fine, total, 1.0))
    else:
        fine &= total > 0
        n = np.sqrt(np.where(fine, total, 1.0))
        n = np.where(unit, 1 / np.where(unit, largest, 1.0), n)
        factor, ok = _real_factor(s, squared, n, 64 * np.finfo(work).eps * (B * B).sum(axis=-1))
        fine &= ok
    parts = B * factor[..., None]
    if p.any():
        shift, ok = _motor_shift(part, s / n, p[..., 0] / n, np.sqrt(squared) / n)
        fine &= ok
        parts = parts + shift / n[..., None]
    if not fine.any():
        return None, nothing
    scalar = np.log(np.where(fine, largest, 1.0)) + np.log(np.where(fine, n, 1.0))
    scalar = np.where(unit & (np.abs(scalar) < 1), 0.0, scalar)  # a complex n = -1 stays
    if not scalar[fine].any() and bivectors.size:
        return R._make(bivectors, parts.astype(dtype, copy=False)), fine
    both = np.concatenate([scalar[..., None], parts], axis=-1)
    return R._make(keys_of_grades(d, (0, *bivectors.grades)), both.astype(dtype)), fine


def _single_log(R: "Multivector") -> "Multivector | None":
    """Return the logarithm of one unit rotor with s > 0 or a turning plane: the common case, in Python numbers."""
    s, *B = R.coefficients.tolist()
    keys = keys_of_grades(R.algebra.d, (2,))
    weights = R.algebra.form.weight(keys.masks).tolist()
    squared = sum(w * b * b for w, b in zip(weights, B, strict=True))
    length = sum(b * b for b in B)
    eps = 2.2e-16
    if not abs(s * s + squared - 1) <= 32 * eps * (s * s + length) or (s <= 0 and squared <= 64 * eps * length):
        return None
    beta = math.sqrt(abs(squared))
    angle = math.atan2(beta, s) if squared > 0 else math.asinh(beta)
    return R._make(keys, R.coefficients[1:] * (angle / beta if beta > 1e-150 else 1 / s))


def _real_factor(s: Array, squared: Array, n: Array, noise: Array) -> tuple[Array, Array]:
    """Return f with log(s + B) = log n + f B, and where it holds: for s ≤ 0 where a plane turns beyond rounding."""
    beta = np.sqrt(np.abs(squared))
    turning = squared > 0
    angle = np.where(turning, np.arctan2(beta, s), np.arcsinh(beta / n))
    factor = np.where(beta > 0, angle / np.where(beta > 0, beta, 1.0), 1 / np.where(s > 0, s, 1.0))
    return factor, (s > 0) | (squared > noise)


def _complex_factor(s: Array, squared: Array, total: Array) -> tuple[Array, Array]:
    """Return f and n for complex numbers: any branch is a logarithm, near β = 0 the one with n ≈ s."""
    safe = np.where(s == 0, 1.0, s)
    ratio = np.where(s == 0, np.inf, np.abs(squared)) / np.abs(safe) ** 2
    near = ratio <= 1e-8  # atan(x)/x = 1 - x²/3 + x⁴/5, to 1e-25
    x = np.where(near, squared, 0.0) / safe**2
    n = np.where(near, safe * np.sqrt(1 + x), np.sqrt(total))
    beta = np.sqrt(np.where(near, 1.0, squared))
    angle = -1j * np.log((s + 1j * beta) / n)
    return np.where(near, (1 - x / 3 + x * x / 5) / safe, angle / beta), n


def _motor_shift(part: "Multivector", cosine: Array, p: Array, sine: Array) -> tuple[Array, Array]:
    """Return what the grade-4 part adds, -p (1 - θ cot θ)/sin²θ B I, times n.

    R/n = cos Θ + sin Θ N with Θ = θ + δI, I² = 0, N² = -1, so p = -δ sin θ, and log(R/n) = Θ N.
    """
    angle = np.arctan2(sine, cosine)
    fine = (cosine > 0) | (sine > 1e-3)  # near -1 the general way is the stable one
    small = angle < 0.3
    theta = np.where(small, angle, 0.1)
    inside = small & (sine > 0)
    quotient = np.where(inside, theta / np.where(inside, sine, 1.0), 1.0)
    series = np.polynomial.polynomial.polyval(theta**2, _COTANGENT) * quotient**2
    usual = ~small & fine
    away = np.where(usual, sine, 1.0)
    weight = np.where(usual, (1 - angle * np.where(usual, cosine, 0.0) / away) / away**2, series)
    image = (part * part.algebra.I)._on(part.keys).coefficients
    return -(p * weight)[..., None] * image, fine


def simple_root(R: "Multivector") -> "Multivector | None":
    """Return the root of a batch of s + B with B² a scalar and s > 0: R/n turns half as far as 1 and R/n add up to.

    (n + R)² = 2(n + s)R where R~R = n², as R + ~R = 2s.
    """
    if any(k not in (0, 2) for k in R.grades) or R.dtype.kind == "c":
        return None
    work = working_dtype(R, "sqrt")
    kept: Any = R.dtype if R.dtype.kind == "f" else work
    d = R.algebra.d
    values = R._on(keys_of_grades(d, (0, 2) if d > 1 else (0,)))
    array = values.coefficients.astype(work)
    largest = np.abs(array).max(axis=-1)
    if not (array[..., 0] > 0).all():
        return None
    array = array / largest[..., None]
    part = R._make(keys_of_grades(d, (2,) if d > 1 else ()), array[..., 1:])
    size = (array**2).sum(axis=-1)
    if d > 3 and (np.abs(part.wedge(part).coefficients).max(axis=-1, initial=0.0) > 1e-15 * size).any():
        return None
    s = array[..., 0]
    squared = part.inner(part).coefficients[..., 0] if d > 1 else np.zeros_like(s)
    total = s * s + squared
    if not (total > 64 * np.finfo(kept).eps * size).all():
        return None
    # n = 1 if it is to the rounding of R, as in the logarithm: for large boosts s² + β² has lost its digits
    inside = np.where(np.abs(np.log(largest)) < 200, largest, 0.0)
    unit = np.abs(total * inside**2 - 1) <= 32 * np.finfo(kept).eps * size * inside**2
    n = np.where(unit, 1 / largest, np.sqrt(total))
    root = array.copy()
    root[..., 0] += n
    root *= (np.sqrt(largest) / np.sqrt(2 * (n + s)))[..., None]
    return R._make(values.keys, root.astype(kept))
