r"""Sums of distances in single columns, :math:`\sum_j|v_j-v'_j|`, subtracted from a kernel matrix in place."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from clifford_rand.compiler.decorator import compiled

_PIECE = 512  # entries of a row whose sums stay in the first cache


def _by_scipy(out: Any, levels: Any, levels2: Any, scale: Any) -> None:
    out -= scale * cdist(levels, levels2.T, "cityblock")


@compiled(plain=_by_scipy, error_model="numpy", fastmath={"contract"})
def subtract_distances(out: Any, levels: Any, levels2: Any, scale: Any) -> None:
    """Subtract ``scale`` times the distances of levels (n, d) and levels2 (d, m), which lie by columns, from (n, m)."""
    n, m = out.shape
    sums = np.empty(_PIECE, dtype=out.dtype)
    for start in range(0, m, _PIECE):
        end = min(start + _PIECE, m)
        for i in range(n):
            sums[:] = 0
            for k in range(levels.shape[1]):
                v = levels[i, k]
                for j in range(end - start):
                    sums[j] += abs(v - levels2[k, start + j])
            for j in range(end - start):
                out[i, start + j] -= scale * sums[j]
