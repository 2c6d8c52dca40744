"""What code for arrays of any library calls: functions of s = B² that differentiate everywhere, and stacks.

``xp`` is the namespace of a library by the names of the array API. Nothing is written into an array, and no value
decides what is computed, so that `torch.compile` and `jax.jit` take the code.
"""

import math
from typing import Any

NEAR = 1.0  # |s| up to which the functions are their series
TERMS = 11  # of the series: 1/23! is below the rounding


def cosh_root(xp: Any, s: Any) -> Any:
    """Return cosh √s, which is cos √-s for s < 0."""
    series, outside, z, growth = _parts(xp, s)
    far = xp.where(s < 0, xp.cos(z), xp.cosh(growth))
    return xp.where(outside, far, _series(series, [1 / math.factorial(2 * k) for k in range(TERMS)]))


def sinhc_root(xp: Any, s: Any) -> Any:
    """Return sinh √s / √s."""
    series, outside, z, growth = _parts(xp, s)
    far = xp.where(s < 0, xp.sin(z) / z, xp.sinh(growth) / growth)
    return xp.where(outside, far, _series(series, [1 / math.factorial(2 * k + 1) for k in range(TERMS)]))


def sinhc_root_slope(xp: Any, s: Any) -> Any:
    """Return d/ds (sinh √s / √s) = (cosh √s - sinh √s / √s) / (2 s)."""
    series, outside, _, _ = _parts(xp, s)
    safe = xp.where(outside, s, xp.ones_like(s))
    far = (cosh_root(xp, safe) - sinhc_root(xp, safe)) / (2 * safe)
    return xp.where(outside, far, _series(series, [k / math.factorial(2 * k + 1) for k in range(1, TERMS + 1)]))


def _parts(xp: Any, s: Any) -> tuple[Any, Any, Any, Any]:
    """Return s near 0, where it is not near, and √|s| where it is not: for all s, and for s > 0."""
    one = xp.ones_like(s)
    outside = abs(s) > NEAR
    z = xp.sqrt(xp.where(outside, abs(s), one))
    return xp.where(outside, 0 * one, s), outside, z, xp.where(s < 0, one, z)


def _series(x: Any, coefficients: list[float]) -> Any:
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def where(xp: Any, condition: Any, a: Any, b: Any, like: Any) -> Any:
    """Return a or b, which may be Python numbers: they are as the array ``like``."""
    a, b = (xp.asarray(x, dtype=like.dtype, device=like.device) if isinstance(x, float) else x for x in (a, b))
    return xp.where(condition, a, b)


def stack(xp: Any, parts: list[Any], like: Any) -> Any:
    """Return components on a last axis; numbers among them are as the array ``like``."""
    if not parts:
        return xp.zeros((*like.shape, 0), dtype=like.dtype, device=like.device)
    zero = xp.zeros_like(like)
    arrays = [part + zero if isinstance(part, float) else part for part in parts]
    return xp.stack(list(xp.broadcast_arrays(*arrays)), axis=-1)
