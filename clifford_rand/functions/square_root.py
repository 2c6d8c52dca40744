"""Square roots of even versors: (n + R)/√(2n(n + s)) where one plane turns, exp(log(R)/2) in general."""

from typing import TYPE_CHECKING, Any

import numpy as np

from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.functions.frame import LARGEST_DIMENSION, working_dtype
from clifford_rand.functions.logarithm import log
from clifford_rand.functions.unit_form import span_form

if TYPE_CHECKING:
    from clifford_rand.multivector.multivector import Multivector


def sqrt(R: "Multivector") -> "Multivector":
    """Return Q with Q² = R, an even versor again, for every element of a batch of even versors R."""
    form = span_form(R, LARGEST_DIMENSION)
    if form is not None:
        return form.give(sqrt(form.take(R.sparse())), R)
    simple = _simple_root(R)
    if simple is not None:
        return simple
    root: Multivector = (log(R, "sqrt") / 2).exp()
    return root.astype(R.dtype) if R.dtype.kind in "fc" else root


def _simple_root(R: "Multivector") -> "Multivector | None":
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
