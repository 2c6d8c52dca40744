"""Outputs of which all targets are one number: no variance to be measured in, and only a constant to be fitted."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array

_CONSTANT = 64.0  # roundings of the largest target of an output: a range below is none


def is_constant(targets: Array) -> NDArray[np.bool_]:
    """Return for each output (C,) whether its targets (n, C) are one number, but for rounding.

    A variance above zero does not tell: the weighted mean of equal numbers is off by its rounding.

    Examples
    --------
    >>> y = np.array([[0.1, 0.3], [0.1, 0.1 + 0.2], [0.1, 0.3]])
    >>> bool(y.var(axis=0).any()), is_constant(y).tolist(), is_constant(y + [[0], [1e-9], [0]]).tolist()
    (True, [True, True], [False, False])
    """
    size = np.abs(targets).max(axis=0)
    return np.asarray(np.ptp(targets, axis=0) <= _CONSTANT * np.finfo(np.float64).eps * size)


def varying(targets: Array) -> Array:
    """Return targets less their means, exactly 0 where an output is constant."""
    return np.asarray(np.where(is_constant(targets), 0.0, targets - targets.mean(axis=0)))


def level(targets: Array, otherwise: Any = 0.0) -> Any:
    """Return what every target of an output is, (C,), to the last bit; where they differ, something else."""
    return np.where((targets == targets[0]).all(axis=0), targets[0], otherwise)
