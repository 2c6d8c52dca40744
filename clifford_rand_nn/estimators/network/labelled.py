"""The distinct rows of each class: what probabilities are fitted to, so that copies and order change nothing."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.estimators.network.copies import merged_weights, shared_out


class Labelled(NamedTuple):
    """Pairs of a distinct row and a class of it.

    Attributes
    ----------
    first : (p,) int
        A row with that pair.
    place : (p,) int
        Its distinct row.
    label : (p,) int
        Its class.
    mass : (p,)
        Sum of the weights of its rows.
    of : (n,) int
        The pair of each row.
    """

    first: NDArray[np.intp]
    place: NDArray[np.intp]
    label: NDArray[np.intp]
    mass: Array
    of: NDArray[np.intp]

    @classmethod
    def make(cls, place: NDArray[np.intp], index: NDArray[np.intp], n_classes: int, weights: Array | None) -> Self:
        """Return the pairs of rows (n,) that have a place among the distinct ones, a class and perhaps a weight."""
        pairs, first, of = np.unique(place * n_classes + index, return_index=True, return_inverse=True)
        return cls(first, pairs // n_classes, pairs % n_classes, np.bincount(of, weights).astype(np.float64), of)

    @property
    def weights(self) -> Array | None:
        """Their weights with mean 1, or None if they are equal."""
        return merged_weights(self.mass)

    @property
    def ambiguous(self) -> bool:
        """Whether a row has more than one class."""
        return bool((np.diff(self.place) == 0).any())

    def spread(self, theta: Array, weights: Array | None) -> Array:
        """Return what is each row's share (n, C) of a dual point (p, C) of the pairs, by weights of the rows."""
        return shared_out(theta, self.of, self.mass, weights)
