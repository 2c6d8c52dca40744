"""Targets and weights of blocks, as a loss takes them."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.functions import cast, library
from clifford_rand_nn.datafits.loss import Loss
from clifford_rand_nn.datafits.registry import encode_labels
from clifford_rand_nn.row_sums.sums import Block


class Targets(NamedTuple):
    """The way from stored labels or reals to targets (k, C)."""

    loss: Loss
    classes: NDArray[Any] | None  # (n_classes,): sorted labels, of classifiers
    mean_weight: float = 1.0  # of all rows that count: weights are divided by it
    factors: Array | None = None  # (n_classes,): of the weights of the rows of a class
    exponent: int = 0  # reals are taken in units of 2 to this power, so that their squares do not overflow
    # (C,): subtracted from reals before all else: far from 0 their squares and products would lose the digits of
    # residuals
    offset: Array | None = None
    # (h,): rows, rising, that count nowhere in a pass: those that will judge what is trained
    left_out: NDArray[np.int64] | None = None

    def placed(self, place: Callable[[NDArray[Any]], Any]) -> Self:
        """Return a copy for rows on a device; labels that are texts stay in memory, and so do their classes."""
        classes = self.classes
        if classes is not None:
            classes = place(classes.astype(np.uint8) if classes.dtype == bool else classes)
        factors, offset = (None if values is None else place(values) for values in (self.factors, self.offset))
        return self._replace(classes=classes, factors=factors, offset=offset)

    def of(self, block: Block) -> Any:
        """Return targets (k, C), where the rows are."""
        assert block.y is not None
        xp = library(block.X)
        if self.classes is None:
            y = cast(block.y, xp.float64).reshape((len(block.y), -1))
            # exact: the offset has few digits, and the unit is a power of 2
            return (y if self.offset is None else y - self.offset) * 2.0**-self.exponent
        count = len(self.classes)
        if xp is np and count == 2:
            off, on = self._marks()
            return np.where(block.y.reshape(-1, 1) == self.classes[1], on, off)
        index = self._index(block)
        if xp is np:
            return encode_labels(index, count, self.loss)[0]
        off, on = self._marks()
        marks = (index == 1)[:, None] if count == 2 else index[:, None] == xp.arange(count, device=index.device)
        return off + (on - off) * cast(marks, xp.float64)

    def _marks(self) -> tuple[float, float]:
        return (-1.0, 1.0) if self.loss.labels is None else self.loss.labels

    def weights(self, block: Block) -> Any:
        """Return weights (k, 1) of mean 1 over all rows, or 1 where all are equal."""
        if block.weights is None and self.factors is None and self.left_out is None:
            return 1.0
        w: Any = 1.0 if block.weights is None else block.weights
        if self.left_out is not None:
            w = w * self._counting(block)
        if self.factors is not None:
            w = w * self.factors[self._index(block)]
        return (w / self.mean_weight)[:, None]

    def row_weights(self, block: Block) -> Array:
        """Return weights (k,) of NumPy rows, an array of its own."""
        return np.array(np.broadcast_to(self.weights(block), (len(block.X), 1))[:, 0], dtype=np.float64)

    def _counting(self, block: Block) -> Any:
        """Return 1 for the rows that count and 0 for those left out."""
        assert self.left_out is not None
        k = len(block.X)
        counting = np.ones(k)
        counting[
            self.left_out[slice(*np.searchsorted(self.left_out, [block.first, block.first + k]))] - block.first
        ] = 0
        xp = library(block.X)
        return counting if xp is np else xp.asarray(counting, device=block.X.device)

    def _index(self, block: Block) -> Any:
        """Return the classes of the rows, as numbers from 0."""
        assert block.y is not None
        assert self.classes is not None
        last = len(self.classes) - 1  # rows of weight zero may have other labels
        xp = library(block.X)
        labels: Any = block.y.reshape((-1,))
        if last == 1 and xp is np:
            return np.asarray(labels == self.classes[1]).astype(np.intp)
        if not isinstance(labels, np.ndarray):
            return xp.clip(xp.searchsorted(self.classes, cast(labels, self.classes.dtype)), 0, last)
        index: Any = np.minimum(np.searchsorted(self.classes, labels), last)
        return index if xp is np else xp.asarray(index, device=block.X.device)  # texts stay beside tensors
