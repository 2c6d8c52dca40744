"""Cross products of one, two and three dimensions, written out; integers stay exact."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.crossproduct.scaled import ScaledVectors, row_peaks

__all__ = ["CLOSED_UP_TO", "by_closed_form"]

CLOSED_UP_TO = 3


def by_closed_form(X: NDArray[Any], index: NDArray[np.int64], rtol: float) -> ScaledVectors:
    """Return the cross products of ``X[index[b]]``, index (m, d-1), for d ≤ 3.

    ×() = e1; ×(x) = (x2, -x1); ×(x, y) is `numpy.cross`. Rows at d = 3 are rank-deficient where
    max|×(x, y)| ≤ rtol·max|x|·max|y|, the second pivot of an elimination.
    """
    m, d = len(index), X.shape[1]
    exponent = np.zeros(m, np.int64)
    if d == 1:
        return ScaledVectors(np.ones((m, 1), X.dtype), exponent)
    rows = X[index]
    if d == 2:
        return ScaledVectors(np.stack([rows[:, 0, 1], -rows[:, 0, 0]], axis=-1), exponent)
    # Rows of ordinary size are not scaled, so that the result is numpy.cross bit for bit; the others by 2^-shift.
    shift = np.frexp(row_peaks(rows))[1]
    shift[np.abs(shift) <= np.finfo(X.dtype).maxexp // 4] = 0
    if shift.any():
        rows = np.ldexp(rows, -shift[..., None])
        exponent += shift.sum(axis=-1)
    vector = np.cross(rows[:, 0], rows[:, 1])
    deficient = row_peaks(vector) <= rtol * row_peaks(rows).prod(axis=-1)
    vector[deficient] = 0.0
    return ScaledVectors(vector, exponent)
