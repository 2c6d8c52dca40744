"""How the kernel of all gates changes with a row: by the inner product, and by the angle, in place."""

import math
from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def turning_inplace(inner: Any, cosines: Any, lengths: Any, lengths2: Any, turn: Any) -> None:
    r"""Overwrite inner with :math:`\kappa=(\pi-\theta)/(2\pi)`, and turn with :math:`\rho=z\cdot z'/(2\pi\sin\theta)`.

    All are (n, m), and lengths (n,), lengths2 (m,) make cosines of the inner products in ``cosines``, which end as
    cosines. Where rows are parallel the kernel has no derivative by the angle, and ρ = 0 is the middle of its one-sided
    ones.
    """
    same = 1.0 - 32.0 * np.finfo(inner.dtype).eps  # as in the kernel itself
    for i in range(inner.shape[0]):
        for j in range(inner.shape[1]):
            size = lengths[i] * lengths2[j]
            c = cosines[i, j] / size if size > 0 else 0.0
            c = min(max(c, -1.0), 1.0)
            apart = size > 0 and abs(c) < same
            turn[i, j] = inner[i, j] / (2 * math.pi * math.sqrt((1.0 - c) * (1.0 + c))) if apart else 0.0
            inner[i, j] = 0.5 if c >= same else 0.5 - math.acos(c) * (0.5 / math.pi)
            cosines[i, j] = c
