"""The logarithm and the square root of a rotor in one plane whose coefficients are fractions or symbols."""

from typing import TYPE_CHECKING, Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.functions.circular import scalar_square
from clifford_rand.functions.norms import is_exact_zero

if TYPE_CHECKING:
    from clifford_rand.multivector.multivector import Multivector


def exact_log(R: "Multivector", owner: str) -> "Multivector":
    """Return log n + f B for R = σ + B, B² = s a number and n² = σ² - s; f = atan2(√-s, σ)/√-s and its kin."""
    from clifford_rand.symbolic import logarithm_of_rotor

    sigma, B, s = _one_plane(R, owner)
    scalar, factor = (np.asarray(x, dtype=object) for x in np.frompyfunc(logarithm_of_rotor, 2, 2)(sigma, s))
    if any(x is None for x in np.ravel(factor)):
        raise fail("A", owner, "with a real bivector logarithm", describe("minus one, or minus a boost"))
    result = B._make(B.keys, np.asarray(B.coefficients * factor[..., None], dtype=object))
    return result if all(is_exact_zero(x) for x in np.ravel(scalar)) else result + scalar


def exact_sqrt(R: "Multivector") -> "Multivector":
    """Return (n + R)/√(2(n + σ)), whose square is R as R² = 2σR - n²."""
    from clifford_rand.symbolic import root_of_rotor

    sigma, B, s = _one_plane(R, "sqrt")
    scalar, factor = (np.asarray(x, dtype=object) for x in np.frompyfunc(root_of_rotor, 2, 2)(sigma, s))
    nothing = _all_zero(sigma[..., None]) & _all_zero(B.coefficients)
    scalar, factor = (np.where(nothing, 0, x) for x in (scalar, factor))
    if any(x is None for x in np.ravel(factor)):
        found = describe("minus one, or minus a boost, or a null bivector")
        raise fail("A", "sqrt", "zero, or with a real bivector logarithm", found)
    return B._make(B.keys, np.asarray(B.coefficients * factor[..., None], dtype=object)) + scalar


def _all_zero(entries: Any) -> Any:
    return np.array(np.frompyfunc(is_exact_zero, 1, 1)(entries), dtype=bool).all(axis=-1)


def _one_plane(R: "Multivector", owner: str) -> tuple[Any, "Multivector", Any]:
    """Return σ, B and B² of a scalar and a bivector."""
    R = R.sparse()
    if any(k not in (0, 2) for k in R.grades):
        rule = "a scalar and a bivector with scalar square, where the coefficients are fractions or symbols"
        found = describe(f"grades {', '.join(map(str, R.grades))}")
        raise fail("A", owner, rule, found, "Convert with astype(float).")
    return scalar_square(R, owner)
