"""Projection on a blade, rejection from it, and reflection."""

from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.functions.norms import as_inexact, expand, is_exact
from clifford_rand.geometry.coordinates import (
    ROUNDING,
    blade_weights,
    check_same_algebra,
    homogeneous,
    quotient,
    unit_scale,
)
from clifford_rand.geometry.subspaces import is_blade


def _with_inverse(B: Any, owner: str) -> tuple[int, Any, Any]:
    """Return (grade, c B, (c B)⁻¹) of a blade that is not null, c a power of two."""
    grade, B = homogeneous(B, "B", owner)
    exact = is_exact(B)
    if not exact:
        B = as_inexact(B)
        B = B._make(B.keys, unit_scale(B.coefficients, owner, "B")[0])
    square = expand(B * ~B)
    place = square.keys.find(0)
    norm = square.coefficients[..., place] if place >= 0 else np.zeros(B.shape, dtype=B.coefficients.dtype)
    rest = square.coefficients[..., square.keys.grade_of > 0]
    if exact:
        null = np.asarray(norm == 0, dtype=bool)
        wrong = bool(np.asarray(rest != 0, dtype=bool).any())
    else:
        weights = blade_weights(B.algebra.form, B.keys)
        weighted = B.coefficients if weights is None else B.coefficients * weights
        size = np.square(np.abs(weighted)).sum(axis=-1)
        null = np.asarray(np.abs(norm) <= ROUNDING * np.finfo(B.coefficients.dtype).eps * size)
        wrong = False  # is_blade below has a tolerance
    if wrong or not np.all(is_blade(B)):
        raise fail("B", owner, "a blade, a wedge of vectors, other than zero", describe(f"{B!r}"))
    if null.any():
        raise fail("B", owner, "a blade that is not null, B ~B ≠ 0", describe("a null blade, which has no inverse"))
    reverse = ~B
    return grade, B, reverse._make(reverse.keys, quotient(reverse.coefficients, norm[..., None]))


def project(A: Any, B: Any) -> Any:
    """Return (A ⌋ B) B⁻¹, grade by grade the outermorphism of the orthogonal projection on the subspace of B."""
    check_same_algebra(A, B, "B", "project")
    _, B, inverse = _with_inverse(B, "project")
    return A.lc(B).lc(inverse)


def reject(A: Any, B: Any) -> Any:
    """Return (A ∧ B) B⁻¹, grade by grade the outermorphism of a ↦ a - project(a)."""
    check_same_algebra(A, B, "B", "reject")
    _, B, inverse = _with_inverse(B, "reject")
    return A.wedge(B).rc(inverse)


def reflect(A: Any, B: Any, *, inside: bool = False) -> Any:
    """Return (-1)^{rs} B A B⁻¹ for A of grade r and B of grade s, or (-1)^{r(s+1)} B A B⁻¹ if ``inside``."""
    from clifford_rand.geometry.sandwich import sandwich

    check_same_algebra(A, B, "B", "reflect")
    grade, B, _ = _with_inverse(B, "reflect")
    return sandwich(B, A.involute() if (grade + inside) % 2 else A)
