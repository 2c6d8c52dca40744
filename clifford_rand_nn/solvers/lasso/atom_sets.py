"""The columns that column generation works with: neurons that a pricer finds, or columns of a matrix."""

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.pricing.base import Pricer
from clifford_rand_nn.problems.lasso import Weights

Solution = TypeVar("Solution", covariant=True)

# How many times as many columns of a matrix as are added the sample of them is drawn from. On the spiral 4 took 19
# rounds, 16 and 64 took 14, and the largest columns themselves took 25.
_DEPTH = 64


class AtomSet(Protocol[Solution]):
    """A family of atoms, and those of it that are in use as the columns of ``K`` (n, m)."""

    @property
    def K(self) -> Array:
        """The columns in use."""

    def price(self, theta: Array, most: int, above: float) -> tuple[float, Any]:
        """Return the supremum of |k^T theta| over the family, and at most ``most`` new atoms with values ``above``."""

    def added(self, found: Any) -> "AtomSet[Solution]":
        """Return the set with what `price` found."""

    def kept(self, index: NDArray[np.intp]) -> "AtomSet[Solution]":
        """Return the set with only the columns at ``index`` in use."""

    def solution(self, weights: Weights) -> Solution:
        """Return weights of columns of K as a solution over the family."""


@dataclass(frozen=True, eq=False)
class PricedNeurons:
    """Neurons of a pricer on the rows of X."""

    X: Array
    pricer: Pricer
    neurons: Neurons
    K: Array

    def price(self, theta: Array, most: int, above: float) -> tuple[float, tuple[Neurons, Array]]:
        """Ask the pricer."""
        size, neurons = self.pricer.price(theta, most)
        columns = neurons.training_columns(self.X)
        new = np.flatnonzero(np.linalg.norm(columns.T @ theta, axis=1) > above)
        return size, (neurons.take(new), columns[:, new])

    def added(self, found: tuple[Neurons, Array]) -> "PricedNeurons":
        """Join them."""
        parts = [part for part in (self.neurons, found[0]) if len(part)]  # an empty one knows no spanning rows
        neurons = Neurons.joined(parts) if parts else self.neurons
        return PricedNeurons(self.X, self.pricer, neurons, np.concatenate([self.K, found[1]], axis=1))

    def kept(self, index: NDArray[np.intp]) -> "PricedNeurons":
        """Drop the others."""
        return PricedNeurons(self.X, self.pricer, self.neurons.take(index), self.K[:, index])

    def solution(self, weights: Weights) -> WeightedNeurons:
        """Return the neurons with their weights."""
        return WeightedNeurons(self.neurons.take(weights.columns), weights.values, weights.intercept)


@dataclass(frozen=True, eq=False)
class MatrixColumns:
    """Columns of a dictionary (n, N), some of which are in use."""

    dictionary: Array
    index: NDArray[np.intp]
    K: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "K", self.dictionary[:, self.index])

    def price(self, theta: Array, most: int, above: float) -> tuple[float, NDArray[np.intp]]:
        """Correlate with every column; of the violated ones take a quarter from the top, and a sample of the others.

        The largest ones are neighbours of each other, and adding them all helps little more than adding one.
        """
        sizes = np.linalg.norm(theta.T @ self.dictionary, axis=0)
        violated = np.flatnonzero(sizes > above)
        violated = violated[np.argsort(-sizes[violated], kind="stable")]
        top, rest = np.split(violated, [-(-most // 4)])
        rest = rest[: _DEPTH * most]
        sample = rest[np.unique(np.linspace(0, rest.size - 1, min(rest.size, most - most // 4)).astype(np.intp))]
        return float(sizes.max(initial=0.0)), np.setdiff1d(np.concatenate([top, sample])[:most], self.index)

    def added(self, found: NDArray[np.intp]) -> "MatrixColumns":
        """Join them."""
        return MatrixColumns(self.dictionary, np.concatenate([self.index, found]))

    def kept(self, index: NDArray[np.intp]) -> "MatrixColumns":
        """Drop the others."""
        return MatrixColumns(self.dictionary, self.index[index])

    def solution(self, weights: Weights) -> Weights:
        """Return the weights with their columns in the dictionary, in its order."""
        columns = self.index[weights.columns]
        order = np.argsort(columns)
        return Weights(columns[order], weights.values[order], weights.intercept)
