"""Gaussian gates: random directions, with offsets centred on the data."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn.gates.hyperplanes import Gates

__all__ = ["gaussian_gates"]


def gaussian_gates(X: NDArray[Any], n_gates: int, bias: bool, rng: np.random.Generator) -> Gates:
    r"""Directions :math:`w_i \sim N(0, I_d)`, offsets :math:`b_i = -w_i^T\bar x + \sigma_i \xi_i`, or 0 without bias.

    :math:`\bar x` is the mean row, :math:`\sigma_i` the standard deviation of :math:`Xw_i` over the rows and
    :math:`\xi_i \sim N(0, 1)`: the plane cuts the data where the data are, at every scale and position of X.
    Algorithm 3 of the paper takes :math:`b_i \sim N(0, 1)` whatever the data, so that on data of small norm or far
    from the origin its gates are constant; as a baseline that is unfair.
    """
    d = X.shape[1]
    W = rng.standard_normal((d, n_gates))
    if not bias:
        return Gates.without_incidence(W, np.zeros(n_gates), "gaussian")
    mean = X.mean(axis=0, dtype=np.float64)
    spread = ((np.asarray(X, dtype=np.float64) - mean) @ W).std(axis=0)
    return Gates.without_incidence(W, spread * rng.standard_normal(n_gates) - mean @ W, "gaussian")
