"""The share of half-spaces that hold two rows, times their inner product, in place."""

import math
from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def arc_inplace(inner: Any, cosines: Any, lengths: Any, lengths2: Any) -> None:
    r"""Multiply inner (n, m) by :math:`(\pi-\theta)/(2\pi)`, cosines (n, m) being those of the angles times lengths."""
    same = 1.0 - 32.0 * np.finfo(inner.dtype).eps  # rows whose cosine is so near to 1 are one
    for i in range(inner.shape[0]):
        for j in range(inner.shape[1]):
            size = lengths[i] * lengths2[j]
            c = cosines[i, j] / size if size > 0 else 0.0
            if c < same:
                inner[i, j] *= 0.5 - math.acos(max(c, -1.0)) * (0.5 / math.pi)
            else:
                inner[i, j] *= 0.5
