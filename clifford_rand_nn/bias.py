"""Biases inside the norm: a constant feature beside the columns of the rows, and the theory without biases holds."""

import math
from typing import Any, Literal

import numpy as np

from clifford_rand._checks import fail
from clifford_rand._typing import Array
from clifford_rand_nn.sparse_rows import row_squares, with_constant

Bias = Literal["penalised"] | bool


def check_bias(bias: Any, owner: str) -> Bias:
    """Return "penalised", True (also for "free") or False.

    Raises
    ------
    ArgumentError
        It is something else.
    """
    if isinstance(bias, bool | np.bool_):
        return bool(bias)
    if isinstance(bias, str) and bias in ("penalised", "free"):
        return "penalised" if bias == "penalised" else True
    raise fail("bias", owner, "'penalised', 'free' (True) or False", bias)


def bias_feature(X: Any, weights: Array | None = None) -> float:
    r"""Return the constant c that stands beside the rows X (n, d), dense or CSR, the root mean square of their entries.

    .. math:: c^2 = \frac{\sum_iw_i||x_i||^2}{d\sum_iw_i}

    With it a bias weighs what a weight of a typical feature weighs, whatever the unit of X: rows s X and the weight
    s β of the penalty give the same network. It is 1 for standardised columns, and for rows that are all 0. Neither
    the order of the rows nor copies of them, instead of weights, change a bit of it.

    Examples
    --------
    >>> bias_feature(np.array([[3.0, -3.0], [3.0, 3.0]]))
    3.0
    """
    n, d = X.shape
    w = np.ones(n) if weights is None else weights
    mean = math.fsum(w * row_squares(X)) / (math.fsum(w) * d)
    return float(X.dtype.type(math.sqrt(mean))) if mean > 0 else 1.0


def with_feature(X: Any, feature: float | None) -> Any:
    """Return the rows [X c], dense or CSR, of the dtype of X; without a feature X itself."""
    return X if feature is None else with_constant(X, feature)
