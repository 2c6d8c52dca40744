"""Rows merged into fewer ones: the weights of these, and the share that each row has of their dual point."""

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array


def merged_weights(mass: Array) -> Array | None:
    """Return the weights, with mean 1, of merged rows with these sums of weights; None if they are equal.

    Examples
    --------
    >>> merged_weights(np.array([1.0, 3.0])).tolist(), merged_weights(np.array([2.0, 2.0]))
    ([0.5, 1.5], None)
    """
    return None if (mass == mass[0]).all() else np.asarray(mass / mass.mean())


def shared_out(theta: Array, place: NDArray[np.intp], mass: Array, weights: Array | None) -> Array:
    r"""Return the dual point (n, C) of rows from that of the merged ones (m, C).

    .. math:: \theta'_i = \frac nm\frac{\omega_i}{\mathrm{mass}_{p(i)}}\theta_{p(i)}

    Row i with the weight :math:`\omega_i`, of mean 1, or 1, is merged into p(i) = ``place[i]``. The means of
    correlations :math:`K^T\theta'/n` and :math:`K^T\theta/m` are the same.

    Examples
    --------
    >>> place, mass = np.array([0, 1, 1, 1]), np.array([1.0, 3.0])
    >>> shared_out(np.array([[1.0], [-1.5]]), place, mass, None)[:, 0].tolist()
    [2.0, -1.0, -1.0, -1.0]
    """
    own = np.ones(len(place)) if weights is None else weights
    return np.asarray((own / mass[place] * (len(place) / len(mass)))[:, None] * theta[place])
