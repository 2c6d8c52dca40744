"""Cross products of one, two and three dimensions, written out; integers stay exact."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.crossproduct.scaled import ScaledVectors, row_peaks

CLOSED_UP_TO = 3


def by_closed_form(
    X: NDArray[Any], index: NDArray[np.int64], rtol: float, peaks: NDArray[Any] | None = None
) -> ScaledVectors:
    """Return the cross products of ``X[index[b]]``, index (m, d-1), for d ≤ 3.

    ×() = e1; ×(x) = (x2, -x1); ×(x, y) is `numpy.cross`. Rows at d = 3 are rank-deficient where
    max|×(x, y)| ≤ rtol·max|x|·max|y|, the second pivot of an elimination. ``peaks`` (n,) are those of X's rows.
    """
    m, d = len(index), X.shape[1]
    exponent = np.zeros(m, np.int64)
    if d == 1:
        return ScaledVectors(np.ones((m, 1), X.dtype), exponent)
    if d == 2:
        rows = X[index[:, 0]]
        return ScaledVectors(np.stack([rows[:, 1], -rows[:, 0]], axis=-1), exponent)
    # Rows of ordinary size are not scaled, so that the result is numpy.cross bit for bit; the others by 2^-shift.
    peaks = row_peaks(X) if peaks is None else peaks
    shift = np.frexp(peaks)[1]
    shift[np.abs(shift) <= np.finfo(X.dtype).maxexp // 4] = 0
    if shift.any():
        X, peaks = np.ldexp(X, -shift[:, None]), np.ldexp(peaks, -shift)
        exponent += shift[index].sum(axis=-1)
    (i, j), (a, b, c) = index.T, X.T
    vector = np.empty((m, 3), X.dtype)
    # three columns at a time: np.cross does the same arithmetic on views of stride 3, five times as slowly
    ai, bi, ci, aj, bj, cj = a[i], b[i], c[i], a[j], b[j], c[j]
    np.subtract(bi * cj, ci * bj, out=vector[:, 0])
    np.subtract(ci * aj, ai * cj, out=vector[:, 1])
    np.subtract(ai * bj, bi * aj, out=vector[:, 2])
    deficient = row_peaks(vector) <= rtol * (peaks[i] * peaks[j])
    vector[deficient] = 0.0
    return ScaledVectors(vector, exponent)
