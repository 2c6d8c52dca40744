"""Bringing a dual point onto the equalities that unpenalised biases impose, by Newton steps that stay in the domain."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

__all__ = ["balanced", "solve"]

Array = NDArray[np.float64]

_NEWTON_STEPS = 8
_ROUNDING = 1e-15
_RIDGE = 1e-13  # of the largest diagonal entry: above rounding, so that Cholesky succeeds


def balanced(theta: Array, Q: Array, step: Callable[[Array, Array], Array]) -> Array:
    """Repeat Newton steps until Q^T theta is rounding noise, or as long as each at least halves it.

    More than two are needed where a bias runs to infinity because one class is absent from a gate: the entries it
    drives to 0 are clipped there, and the others are balanced again.
    """
    last = np.inf
    for _ in range(_NEWTON_STEPS):
        excess = Q.T @ theta
        size = float(np.linalg.norm(excess))
        if size <= _ROUNDING * np.linalg.norm(theta) or size > 0.5 * last:
            break
        theta, last = step(theta, excess), size
    return theta


def solve(H: Array, b: Any) -> Any:
    """Solve a symmetric positive semidefinite system, with a ridge at rounding level; the caller repeats the step."""
    if not H.any():
        return np.zeros_like(b)  # nothing is free to move
    ridge = _RIDGE * max(float(H.diagonal().max(initial=0.0)), np.finfo(np.float64).tiny)
    return cho_solve(cho_factor(H + ridge * np.eye(len(H))), b)
