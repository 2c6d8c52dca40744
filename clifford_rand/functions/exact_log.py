"""The logarithm and the square root of σ + B with B² a number, of fractions or symbols."""

from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import MV
from clifford_rand.functions.circular import scalar_square
from clifford_rand.functions.norms import is_exact_zero


def exact_log(R: MV, owner: str) -> MV:
    """Return log n + f B for R = σ + B, B² = s a number and n² = σ² - s; f = atan2(√-s, σ)/√-s and its kin."""
    from clifford_rand.symbolic import logarithm_of_rotor

    sigma, B, s = scalar_square(R.sparse(), owner)
    scalar, factor = (np.asarray(x, dtype=object) for x in np.frompyfunc(logarithm_of_rotor, 2, 2)(sigma, s))
    if any(x is None for x in np.ravel(factor)):
        received = describe("minus one, or σ + B with an eigenvalue σ - √(B²) ≤ 0")
        raise fail("A", owner, "with a principal logarithm", received)
    result = B.new(B.keys, np.asarray(B.coefficients * factor[..., None], dtype=object))
    return result if all(is_exact_zero(x) for x in np.ravel(scalar)) else result + scalar


def exact_sqrt(R: MV) -> MV:
    """Return (n + R)/√(2(n + σ)), whose square is R as R² = 2σR - n²."""
    from clifford_rand.symbolic import root_of_rotor

    sigma, B, s = scalar_square(R.sparse(), "sqrt")
    scalar, factor = (np.asarray(x, dtype=object) for x in np.frompyfunc(root_of_rotor, 2, 2)(sigma, s))
    nothing = _all_zero(sigma[..., None]) & _all_zero(B.coefficients)
    scalar, factor = (np.where(nothing, 0, x) for x in (scalar, factor))
    if any(x is None for x in np.ravel(factor)):
        received = describe("minus one, or σ + B with an eigenvalue σ - √(B²) ≤ 0")
        raise fail("A", "sqrt", "zero, or with a principal logarithm", received)
    return B.new(B.keys, np.asarray(B.coefficients * factor[..., None], dtype=object)) + scalar


def _all_zero(entries: Any) -> Any:
    return np.array(np.frompyfunc(is_exact_zero, 1, 1)(entries), dtype=bool).all(axis=-1)
