"""A loss by its name, with its targets checked."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_real, check_choice, check_positive, describe, fail
from clifford_rand_nn.datafits.base import Datafit
from clifford_rand_nn.datafits.margin import Logistic, SquaredHinge
from clifford_rand_nn.datafits.softmax import Softmax
from clifford_rand_nn.datafits.squared import Huber, Squared
from clifford_rand_nn.datafits.weights import normalised

__all__ = ["LOSSES", "make_datafit"]

Array = NDArray[np.float64]

LOSSES = ("squared", "huber", "logistic", "squared_hinge", "softmax")


def make_datafit(loss: str, y: Any, n: int, owner: str, huber_delta: float = 1.0, sample_weight: Any = None) -> Datafit:
    """Return the loss with targets (n, C), and with weights (n,) > 0 for the rows, of which only the ratios matter.

    "squared" and "huber" (with threshold ``huber_delta``) take real targets, "logistic" one column of -1 and 1,
    "squared_hinge" columns of -1 and 1, "softmax" one-hot rows.
    """
    check_choice(loss, "loss", owner, LOSSES)
    targets = np.asarray(as_real(y, "y", owner), dtype=np.float64)
    if targets.ndim == 1:
        targets = targets[:, None]
    if targets.ndim != 2 or len(targets) != n or targets.shape[1] == 0:
        raise fail("y", owner, f"of shape ({n},) or ({n}, C)", describe(f"shape {np.shape(y)}"))
    weights = normalised(sample_weight, n, owner)
    if loss == "squared":
        return Squared(targets, weights)
    if loss == "huber":
        check_positive(huber_delta, "huber_delta", owner)
        return Huber(targets, float(huber_delta), weights)
    if loss == "logistic":
        if targets.shape[1] != 1 or not np.isin(targets, (-1, 1)).all():
            raise fail("y", owner, "one column of -1 and 1 for loss='logistic'", describe(_range(targets)))
        return Logistic(targets, weights)
    if loss == "squared_hinge":
        if not np.isin(targets, (-1, 1)).all():
            raise fail("y", owner, "columns of -1 and 1 for loss='squared_hinge'", describe(_range(targets)))
        return SquaredHinge(targets, weights)
    if not (np.isin(targets, (0, 1)).all() and (targets.sum(axis=1) == 1).all() and targets.shape[1] > 1):
        raise fail("y", owner, "one-hot rows of C ≥ 2 columns for loss='softmax'", describe(_range(targets)))
    return Softmax(targets, weights)


def _range(targets: Array) -> str:
    return f"shape {targets.shape}, values from {targets.min():g} to {targets.max():g}"
