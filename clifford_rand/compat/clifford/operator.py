"""Products as functions, for ``functools.reduce``, and the small functions of the top level of ``clifford``."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_generator, check_integer, fail
from clifford_rand.compat.clifford.multivector import EPS, MultiVector
from clifford_rand.compat.clifford.order import _powerset


def gp(M: Any, N: Any) -> Any:
    """Return the geometric product M N."""
    return M * N


def op(M: Any, N: Any) -> Any:
    """Return the outer product M ∧ N."""
    return M ^ N


def ip(M: Any, N: Any) -> Any:
    """Return Hestenes' inner product, zero where one factor is a scalar."""
    return M | N


def bases(layout: Any, **keywords: Any) -> dict[str, MultiVector]:
    """Return ``layout.bases()``."""
    return layout.bases(**keywords)


def basis_vectors(layout: Any) -> dict[str, MultiVector]:
    """Return ``layout.basis_vectors``."""
    return layout.basis_vectors


def elements(dims: int, firstIdx: int = 0) -> list[tuple[int, ...]]:
    """Return all blades as tuples of indices, by grade and then lexicographically."""
    return list(_powerset(range(firstIdx, firstIdx + dims)))


def eps(newEps: float | None = None) -> float:
    """Return the tolerance of ``==`` for coefficients, which is the same for all and cannot be set."""
    if newEps is not None:
        raise fail("newEps", "eps", "left out", newEps, "Use A.isclose(B, rtol, atol), A.grades(eps), A.clean(eps).")
    return EPS


def grade_obj(objin: MultiVector, threshold: float = 0.0000001) -> int:
    """Return the grade that most of the coefficients above a threshold have."""
    nonzero = np.abs(objin.coefficients) > threshold
    return int(np.argmax(np.bincount(objin.keys.grade_of[nonzero], minlength=1)))


def linear_operator_as_matrix(
    func: Callable[[MultiVector], MultiVector],
    input_blades: Sequence[MultiVector],
    output_blades: Sequence[MultiVector],
) -> NDArray[Any]:
    """Return the matrix of a linear map from the span of some blades to that of others."""
    images = [func(blade) for blade in input_blades]
    return np.array([[image[blade] for image in images] for blade in output_blades])


def randomMV(
    layout: Any,
    min: float = -2.0,
    max: float = 2.0,
    grades: int | Iterable[int] | None = None,
    uniform: Callable[..., Any] | None = None,
    n: int = 1,
    normed: bool = False,
    rng: np.random.Generator | int | None = None,
) -> Any:
    """Return a multivector with uniform coefficients, or a list of n > 1.

    Parameters
    ----------
    layout : Layout
    min, max : float
        The limits of the coefficients.
    grades : int or iterable of int, optional
        The grades that are not zero; all by default.
    uniform : callable, optional
        ``uniform(low, high, shape)``, NumPy's by default.
    n : int, default=1
    normed : bool, default=False
        Divide by the norm.
    rng : Generator, int or None

    Examples
    --------
    >>> from clifford_rand.compat.clifford import Cl, randomMV
    >>> randomMV(Cl(3)[0], grades=[1], normed=True, rng=0).mag2().round(12)
    np.float64(1.0)
    """
    n = check_integer(n, "n", "randomMV")
    draw = as_generator(rng, "randomMV").uniform if uniform is None else uniform
    chosen = None if grades is None else {grades} if isinstance(grades, int | np.integer) else set(grades)
    places = np.flatnonzero([chosen is None or k in chosen for k in layout.gradeList])
    values = np.zeros((n, layout.gaDims))
    for row in values:
        row[places] = draw(min, max, (len(places),))
    multivectors = [layout.MultiVector(row) for row in values]
    multivectors = [A.normal() for A in multivectors] if normed else multivectors
    return multivectors[0] if n == 1 else multivectors
