"""Targets and weights of blocks, as a loss takes them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.choice import encode_labels
from clifford_rand_nn.datafits.loss import Loss
from clifford_rand_nn.shards.rows import Block


class Targets(NamedTuple):
    """How stored labels or reals become targets (k, C).

    Attributes
    ----------
    loss : Loss
    classes : (n_classes,) or None
        Sorted labels, of classifiers.
    mean_weight : float
        Of all rows that count: weights are divided by it.
    factors : (n_classes,) or None
        Of the weights of the rows of a class.
    """

    loss: Loss
    classes: NDArray[Any] | None
    mean_weight: float = 1.0
    factors: Array | None = None

    def of(self, block: Block) -> Array:
        """Return targets (k, C)."""
        assert block.y is not None
        if self.classes is None:
            return np.asarray(block.y, dtype=np.float64).reshape(len(block.y), -1)
        return encode_labels(self._index(block), len(self.classes), self.loss)[0]

    def weights(self, block: Block) -> Array | float:
        """Return weights (k, 1) of mean 1 over all rows, or 1 where all are equal."""
        if block.weights is None and self.factors is None:
            return 1.0
        w = np.ones(len(block.X)) if block.weights is None else block.weights
        if self.factors is not None:
            w = w * self.factors[self._index(block)]
        return np.asarray(w / self.mean_weight)[:, None]

    def _index(self, block: Block) -> NDArray[np.intp]:
        assert block.y is not None
        assert self.classes is not None
        return np.searchsorted(self.classes, block.y.ravel())
