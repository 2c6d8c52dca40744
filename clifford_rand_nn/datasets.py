"""The two spirals of the paper's figure 1, made by a formula."""

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_integer

__all__ = ["spiral"]


def spiral(n_per_class: int = 80) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    r"""Return the two-armed spiral of the paper's figure 1: ``X`` (n, 2) and labels ``y`` (n,) in {-1, 1}.

    With :math:`\varphi_i = i\pi/16` and :math:`r_i = 6.5\,(104-i)/104`, arm ``±`` has the points
    :math:`2\,(\pm r_i(\cos\varphi_i, \sin\varphi_i)/13 + \tfrac12) - 1 = \pm r_i(\cos\varphi_i, \sin\varphi_i)/6.5`,
    i = 0, …, ``n_per_class`` - 1. Rows alternate between the classes; nothing is random.

    Parameters
    ----------
    n_per_class : int, default 80
        Points on each arm, at most 104 (where the radius reaches 0); the paper uses 80.

    Raises
    ------
    ArgumentError
        ``n_per_class`` is not an integer from 1 to 104.

    References
    ----------
    Wang et al., "Randomized Geometric Algebra Methods for Convex Neural Networks", 2024, section 4.1. The data are
    the two-spirals benchmark of Lang and Witbrock, 1988.

    Examples
    --------
    >>> X, y = spiral()
    >>> X.shape, y[:4].tolist(), bool(abs(X).max() == 1)
    ((160, 2), [1, -1, 1, -1], True)
    """
    n_per_class = check_integer(n_per_class, "n_per_class", "spiral", low=1, high=104)
    i = np.arange(n_per_class)
    radius = (104 - i) / 104
    arm = radius[:, None] * np.stack([np.cos(i * np.pi / 16), np.sin(i * np.pi / 16)], axis=1)
    X = np.stack([arm, -arm], axis=1).reshape(-1, 2)
    y = np.tile(np.array([1, -1]), n_per_class)
    return X, y
