r"""Kernels of distances in single columns, :math:`D=\sum_j|v_j-v'_j|`, added to a kernel matrix in place."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from clifford_rand.compiler.decorator import compiled

_PIECE = 512  # entries of a row whose sums stay in the first cache


def _by_scipy(out: Any, levels: Any, levels2: Any, weight: Any, decays: bool) -> None:
    distances = cdist(levels, levels2.T, "cityblock")
    out += weight * (np.exp(-distances) if decays else 1 - distances)


@compiled(plain=_by_scipy, error_model="numpy", fastmath={"contract"})
def add_column_kernel(out: Any, levels: Any, levels2: Any, weight: Any, decays: bool) -> None:
    """Add ``weight`` times 1 - D, or exp(-D), of levels (n, d) and levels2 (d, m), which lie by columns, to (n, m)."""
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
            if decays:
                for j in range(end - start):
                    out[i, start + j] += weight * np.exp(-sums[j])
            else:
                for j in range(end - start):
                    out[i, start + j] = (out[i, start + j] + weight) - weight * sums[j]
