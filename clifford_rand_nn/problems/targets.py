"""Class labels as numbers, as each loss wants them."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["encode_labels"]


def encode_labels(index: NDArray[np.intp], n_classes: int, loss: str) -> tuple[NDArray[np.float64], str]:
    """Targets (n, C) for class indices, and the name of the loss for that number of classes.

    Two classes are one column of -1 and 1. More are one-hot columns: 0 and 1 for the softmax that "logistic" becomes,
    -1 and 1 for "squared".

    Examples
    --------
    >>> import numpy as np
    >>> encode_labels(np.array([0, 1, 2]), 3, "logistic")[0].tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if n_classes == 2:
        return np.where(index == 1, 1.0, -1.0)[:, None], loss
    one_hot = np.eye(n_classes)[index]
    return (one_hot, "softmax") if loss == "logistic" else (2 * one_hot - 1, loss)
