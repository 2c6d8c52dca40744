"""Cross products of integers and fractions without rounding."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.basis.exact import echelon, integer_rows


def exact_products(A: NDArray[Any], rtol: float | None, owner: str, name: str = "A") -> NDArray[Any]:
    """Return the cross products (..., d) of the rows of ``A`` (..., d-1, d), an array of Python integers and fractions.

    The rows times their denominators are eliminated without fractions. The last pivot is one of the d minors, and the
    other components of the null vector follow by divisions that leave no remainder.
    """
    if rtol is not None:
        hint = "Integers and fractions are dependent or not, without a tolerance."
        raise fail("rtol", owner, "None for an array of objects", describe(f"rtol = {rtol!r}"), hint)
    rows, denominators = integer_rows(A, name, owner)
    vectors = np.empty((*A.shape[:-2], A.shape[-1]), dtype=object)
    for place in np.ndindex(*A.shape[:-2]):
        common = math.prod(denominators[place].tolist())
        vector = _null_vector(rows[place])
        vectors[place] = [x // common if x % common == 0 else Fraction(x, common) for x in vector]
    return vectors


def _null_vector(rows: NDArray[Any]) -> list[int]:
    """Return the cofactors (-1)^i det(rows without column i) of integers (d-1, d)."""
    k, d = rows.shape
    form = echelon(rows)
    vector = [0] * d
    if len(form.pivots) < k:
        return vector
    free = next(i for i in range(d) if i == k or form.pivots[i] != i)
    minor = form.rows[-1, form.pivots[-1]] * form.sign if k else 1
    vector[free] = -minor if free % 2 else minor
    for r in reversed(range(k)):
        row, pivot = form.rows[r].tolist(), form.pivots[r]
        vector[pivot] = -sum(a * x for a, x in zip(row[pivot + 1 :], vector[pivot + 1 :], strict=True)) // row[pivot]
    return vector
