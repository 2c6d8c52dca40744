"""Lower bounds of a convex training problem, for every penalty: a residual made feasible for the dual."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn.datafits.datafit import Datafit

__all__ = ["DualBound", "dual_bound", "relative_gap"]

Array = NDArray[np.float64]

_BALANCED = 1e-12  # an equality constraint of the dual holds if its residual is below this share of |theta|


class DualBound(NamedTuple):
    """A lower bound of the optimum and the dual point (n, C) that proves it."""

    value: float
    theta: Array


def dual_bound(datafit: Datafit, theta: Array, Q: Array, size: Callable[[Array], float], radius: float) -> DualBound:
    r"""Move and scale a residual ``theta`` (n, C) into the dual feasible set.

    .. math:: \max_\theta\ \frac1n\sum_i-\ell^*(-\theta_i)\quad\text{s.t.}\quad
              Q^T\theta = 0,\ \ \mathrm{size}(\theta)\le\mathrm{radius},

    where size is a seminorm: the largest correlation with anything the penalty charges one unit for. The bound holds
    wherever ``theta`` comes from, and equals the optimum if it is the residual there.

    Parameters
    ----------
    Q : (n, q) array
        Orthonormal basis of the predictions that no penalty touches.
    size : callable
    radius : float
        :math:`n\beta`.
    """
    theta = datafit.balance(theta, Q)
    if np.linalg.norm(Q.T @ theta) > _BALANCED * np.linalg.norm(theta):
        theta = np.zeros_like(theta)  # always feasible
    found = size(theta)
    largest = radius / found if found > 0 else np.inf
    theta = datafit.scale(theta, largest) * theta
    return DualBound(datafit.dual_value(theta), theta)


def relative_gap(datafit: Datafit, primal: float, dual: float) -> float:
    """(primal - dual) / primal, where a primal value below rounding of the zero network's loss counts as that."""
    zero = datafit.value(np.zeros_like(datafit.y))
    scale = max(primal, np.finfo(np.float64).eps * max(zero, np.finfo(np.float64).tiny))
    return max(primal - dual, 0.0) / scale
