"""Equal hyperplanes among many."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Planes through well-conditioned subsets of the same rows agree to some 1e-15; planes that agree to this are worth one.
_RTOL = 1e-10
_EPS = 64 * float(np.finfo(np.float64).eps)  # rounding of an offset, relative to the largest entry of the data


def distinct(directions: NDArray[Any], offsets: NDArray[Any], X: NDArray[Any]) -> NDArray[np.intp]:
    r"""Return the indices, ascending, of the first of each set of equal neurons :math:`(v_j, b_j)` of norm 1.

    Offsets are compared at the mean of the rows X, relative to their spread, so that the place of the origin does not
    matter. Equal neurons have equal images under any linear form: sorted by one, they are neighbours.

    Parameters
    ----------
    directions : (d, m)
    offsets : (m,)
    X : (n, d)

    Examples
    --------
    >>> import numpy as np
    >>> distinct(np.array([[1.0, -1.0, 1.0]]), np.array([0.5, -0.5, 0.5]), np.array([[1.0], [2.0]])).tolist()
    [0, 1]
    """
    mean = X.mean(axis=0)
    spread = float(np.abs(X - mean).max(initial=0.0))
    largest = float(np.abs(X).max(initial=0.0))
    scale = max(spread, largest * _EPS / _RTOL)
    centred = (offsets + mean @ directions) / scale if scale > 0 else offsets
    points = np.concatenate([directions, centred[None]]).T  # (m, d + 1)
    form = np.random.default_rng(0).uniform(-1, 1, points.shape[1])  # any fixed one; a random one separates grids
    place = points @ form
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-np.inf) > 2 * _RTOL * points.shape[1])
    keep = np.ones(len(points), dtype=bool)
    sizes = np.diff(starts, append=len(order))
    for start, size in zip(starts[sizes > 1], sizes[sizes > 1], strict=True):
        rest = np.sort(order[start : start + size])
        while len(rest) > 1:
            same = (np.abs(points[rest] - points[rest[0]]) <= _RTOL).all(axis=1)
            keep[rest[same][1:]] = False
            rest = rest[~same]
    return np.flatnonzero(keep)
