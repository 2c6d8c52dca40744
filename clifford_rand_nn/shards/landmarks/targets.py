"""What a block says to learn: targets as numbers, and the weights of its rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.datafits.choice import encode_labels
from clifford_rand_nn.shards.rows import Block


class Targets:
    r"""Targets (k, C) and weights (k,) of blocks; it is pickled to where the rows are.

    Parameters
    ----------
    owner : str
        Whose errors these are.
    classes : (C,) array or None
        Labels in rising order, which become -1 and 1 (`encode_labels`); None for numbers.
    factors : (C,) array or None
        By which rows of a class weigh more.
    exponent : int
        Numbers come in units of :math:`2^{\mathrm{exponent}}`.
    """

    def __init__(
        self, owner: str, classes: NDArray[Any] | None = None, factors: Array | None = None, exponent: int = 0
    ) -> None:
        self.owner, self.classes, self.factors, self.exponent = owner, classes, factors, exponent

    def index(self, block: Block) -> NDArray[np.intp]:
        """Return the class (k,) of every row; of rows of weight zero, which may have other labels, any."""
        assert self.classes is not None
        labels = np.asarray(block.y).reshape(len(block.X))
        index = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
        other = self.classes[index] != labels
        if block.weights is not None:
            other &= block.weights > 0
        if other.any():
            row = int(np.argmax(other))
            told = describe(f"{labels[row]!r} in row {block.first + row} of all")
            raise fail("y", self.owner, "made of the labels of the first pass", told, "The shards have changed.")
        return index

    def weights(self, block: Block) -> Array:
        """Return the weights (k,) as they are given, times those of classes."""
        own = np.ones(len(block.X)) if block.weights is None else block.weights
        return own if self.factors is None else own * self.factors[self.index(block)]

    def of(self, block: Block) -> Array:
        """Return the targets (k, C)."""
        if self.classes is not None:
            return encode_labels(self.index(block), len(self.classes), "squared")[0]
        values = np.asarray(block.y, dtype=np.float64).reshape(len(block.X), -1)
        return np.asarray(np.ldexp(values, -self.exponent)) if self.exponent else values
