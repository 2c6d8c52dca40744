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
    """Add ``weight`` times 1 - D, or exp(-D), of levels (n, d) and levels2 (d, m), whose rows are contiguous."""
    (n, m), d = out.shape, len(levels2)
    sums = np.empty(_PIECE, dtype=out.dtype)
    for start in range(0, m, _PIECE):
        end = min(start + _PIECE, m)
        for i in range(n):
            sums[:] = 0
            row, own = out[i, start:end], levels[i]  # slices: indices that cannot be negative are vectorized
            for k in range(0, d - 3, 4):  # sums are read and written once for four columns
                a, b, c, e = own[k], own[k + 1], own[k + 2], own[k + 3]
                first, second = levels2[k, start:end], levels2[k + 1, start:end]
                third, fourth = levels2[k + 2, start:end], levels2[k + 3, start:end]
                for j in range(end - start):
                    sums[j] += (abs(a - first[j]) + abs(b - second[j])) + (abs(c - third[j]) + abs(e - fourth[j]))
            for k in range(d - d % 4, d):
                v, column = own[k], levels2[k, start:end]
                for j in range(end - start):
                    sums[j] += abs(v - column[j])
            if decays:
                for j in range(end - start):
                    row[j] += weight * np.exp(-sums[j])
            else:
                for j in range(end - start):
                    row[j] = (row[j] + weight) - weight * sums[j]
