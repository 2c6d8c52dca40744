"""Rules of integration on a simplex."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_fits


@lru_cache(maxsize=64)
def simplex_rule(k: int, degree: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return barycentric coordinates (q, k + 1) and positive weights (q,) of sum 1, exact for polynomials of a degree.

    The conical product of Gauss–Jacobi rules (A. Stroud, "Approximate Calculation of Multiple Integrals", 1971, section
    2.4): the simplex as a collapsed cube, x_i = t_i Π_{j<i} (1 - t_j), with q = (⌊degree/2⌋ + 1)^k points.
    """
    from scipy.special import roots_jacobi

    count = degree // 2 + 1
    check_fits(16 * (k + 2) * count**k, "degree", "integrate", hint="Take a smaller degree on more simplices.")
    points, weights = np.ones((1, 1)), np.ones(1)  # the part that is left of 1, last
    for i in range(k):
        nodes, own = roots_jacobi(count, k - 1 - i, 0)
        share = (1 + nodes) / 2
        left = points[:, None, -1]
        points = np.concatenate(
            [
                np.broadcast_to(points[:, None, :-1], (len(points), count, i)),
                (left * share)[..., None],
                (left * (1 - share))[..., None],
            ],
            axis=-1,
        ).reshape(-1, i + 2)
        weights = (weights[:, None] * (own / own.sum())).reshape(-1)
    return points, weights
