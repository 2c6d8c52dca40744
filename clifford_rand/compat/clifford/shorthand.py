"""The smaller functions of ``clifford``'s top level."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import fail
from clifford_rand.compat.clifford.layout import Layout
from clifford_rand.compat.clifford.multivector import EPS, MultiVector
from clifford_rand.compat.clifford.order import _powerset


def bases(layout: Layout, **keywords: Any) -> dict[str, MultiVector]:
    """Return ``layout.bases()``."""
    return layout.bases(**keywords)


def basis_vectors(layout: Layout) -> dict[str, MultiVector]:
    """Return ``layout.basis_vectors``."""
    return layout.basis_vectors


def elements(dims: int, firstIdx: int = 0) -> list[tuple[int, ...]]:
    """Return all blades as tuples of indices, by grade and then lexicographically."""
    return list(_powerset(range(firstIdx, firstIdx + dims)))


def eps(newEps: float | None = None) -> float:
    """Return what two coefficients may differ by where ``==`` calls them equal; it is one for all, and not set."""
    if newEps is not None:
        raise fail("newEps", "eps", "left out", newEps, "Use A.isclose(B, rtol, atol), A.grades(eps), A.clean(eps).")
    return EPS


def grade_obj(objin: MultiVector, threshold: float = 0.0000001) -> int:
    """Return the grade that most of the coefficients above a threshold have."""
    held = np.abs(objin.coefficients) > threshold
    return int(np.argmax(np.bincount(objin.keys.grade_of[held], minlength=1)))


def linear_operator_as_matrix(
    func: Callable[[MultiVector], MultiVector],
    input_blades: Sequence[MultiVector],
    output_blades: Sequence[MultiVector],
) -> NDArray[Any]:
    """Return the matrix of a linear map from the span of some blades to that of others."""
    images = [func(blade) for blade in input_blades]
    return np.array([[image[blade] for image in images] for blade in output_blades])
