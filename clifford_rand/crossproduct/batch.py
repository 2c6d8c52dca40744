"""Cross products of many subsets of the rows of one matrix."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_array, as_real, check_bool, describe, fail
from clifford_rand.crossproduct.paths import check_rtol, finite_peaks, null_vectors
from clifford_rand.crossproduct.scaled import to_direction, to_value


def cross_many(X: ArrayLike, index: ArrayLike, *, normalize: bool = False, rtol: float | None = None) -> NDArray[Any]:
    """Return ``cross(X[index[b]])`` for every b.

    From d = 4 on the rows are gathered at most 64 MiB at a time, so memory stays near that of ``X``, ``index`` and the
    result.

    Parameters
    ----------
    X : array_like (n, d)
        One vector per row. float32 and float64 are kept, integers become float64.
    index : array_like of integers (m, d-1)
        Rows of ``X``, from 0 to n-1. A row named twice makes its subset rank-deficient.
    normalize : bool
        Return unit directions, which never overflow.
    rtol : float, optional
        Relative pivot size up to which rows count as dependent, see `cross`.

    Returns
    -------
    ndarray (m, d)
        0 where the rows are rank-deficient.

    Raises
    ------
    ArgumentError
        If ``X`` is not (n, d) with d ≥ 1, not real or not finite, or ``index`` is not an integer
        array (m, d-1) of rows of X.

    References
    ----------
    Wang et al., "Randomized Geometric Algebra Methods for Convex Neural Networks", 2024, arXiv:2406.02806, equation of
    h = ×(x_{j_1}, …, x_{j_{d-1}}) in Section 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> import clifford_rand as cr
    >>> X = np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, 3]])
    >>> cr.cross_many(X, [[0, 1], [2, 0]])
    array([[0., 0., 2.],
           [0., 3., 0.]])
    >>> cr.cross_many(X, [[0, 1], [2, 0]], normalize=True)
    array([[0., 0., 1.],
           [0., 1., 0.]])
    """
    owner = "cross_many"
    X = as_real(X, "X", owner, finite=False)
    if X.ndim != 2 or X.shape[1] < 1:
        raise fail("X", owner, "of shape (n, d), one vector per row", describe(f"shape {X.shape}"))
    peaks = finite_peaks(X, "X", owner)
    rows = row_index(index, X.shape[0], X.shape[1] - 1, owner)
    scaled = null_vectors(X, rows, check_rtol(rtol, X.shape[1], X.dtype, owner), peaks)
    return to_direction(scaled)[0] if check_bool(normalize, "normalize", owner) else to_value(scaled)


def row_index(index: ArrayLike, n: int, k: int, owner: str) -> NDArray[np.int64]:
    """Return ``index`` as int64 (m, k) with entries from 0 to n-1."""
    array = as_array(index, "index", owner)
    if array.dtype.kind not in "iu":
        raise fail("index", owner, "an array of integers", describe(f"dtype {array.dtype}"))
    if array.ndim != 2 or array.shape[1] != k:
        rule = f"of shape (m, {k}), {k} rows of X a subset"
        raise fail("index", owner, rule, describe(f"shape {array.shape}"))
    if array.size and (array.min() < 0 or array.max() >= n):
        wrong = array.min() if array.min() < 0 else array.max()
        raise fail("index", owner, f"rows of X, from 0 to {n - 1}", describe(f"the entry {wrong}"))
    return array.astype(np.int64, copy=False)
