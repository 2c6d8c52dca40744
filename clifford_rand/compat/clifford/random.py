"""Random multivectors of a layout."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from clifford_rand._checks import as_generator, check_integer
from clifford_rand.compat.clifford.layout import Layout


def randomMV(
    layout: Layout,
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
    listed = None if grades is None else {grades} if isinstance(grades, int | np.integer) else set(grades)
    kept = np.array([listed is None or k in listed for k in layout.gradeList])
    found = []
    for _ in range(n):
        values = np.zeros(layout.gaDims)
        values[kept] = draw(min, max, (int(kept.sum()),))
        made = layout.MultiVector(values)
        found.append(made.normal() if normed else made)
    return found[0] if n == 1 else found
