"""The default networks, without a parameter; their leave-one-out estimates, and their intervals."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor
from examples.accuracy.methods.base import Method

__all__ = ["NAME", "OURS", "interval", "promised"]

NAME = "network"


def promised(model: Any) -> float | None:
    """Return the score that the model's own leave-one-out gives, accuracy or R², or None if it has none."""
    score = getattr(model, "loo_score_", None)
    return None if score is None else float(score)


def interval(model: Any, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return both ends of the model's 90 % intervals, (n,) each, or None if it has none."""
    if not hasattr(model, "predict_interval"):
        return None
    low, high = model.predict_interval(X, coverage=0.9)
    return low, high


OURS = (
    Method(NAME, "classification", lambda seed: ConvexNetworkClassifier(), "ConvexNetworkClassifier()", every=True),
    Method(NAME, "regression", lambda seed: ConvexNetworkRegressor(), "ConvexNetworkRegressor()", every=True),
)
