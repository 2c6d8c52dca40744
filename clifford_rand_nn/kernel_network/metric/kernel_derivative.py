"""Derivative of the kernel with respect to the angle of two rows, in place."""

import math
from typing import Any

from clifford_rand.machine.numba_code import compiled


@compiled(error_model="numpy")
def turning_inplace(inner: Any, cosines: Any, inverse: Any, inverse2: Any, same: Any) -> None:
    r"""Overwrite inner (n, m) by :math:`\rho=z\cdot z'/(2\pi\sin\theta)`, and cosines, times lengths, by cosines.

    ``inverse`` (n,) and ``inverse2`` (m,) are one over the lengths. Where |c| ≥ same, rows are parallel and the kernel
    has no derivative by the angle: there ρ = 0, the middle of its one-sided ones.
    """
    one, turns = inner.dtype.type(1.0), inner.dtype.type(0.5 / math.pi)
    for i in range(inner.shape[0]):
        for j in range(inner.shape[1]):
            c = cosines[i, j] * (inverse[i] * inverse2[j])
            apart = abs(c) < same
            square = (one - c) * (one + c) if apart else one
            inner[i, j] *= turns / math.sqrt(square) if apart else one - one
            cosines[i, j] = c
