"""Distinct rows with the sums of their weights: what copies, order and whole weights of rows do not change."""

from dataclasses import replace

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.neurons import WeightedNeurons
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.sparse_rows import merged_rows


class DistinctRows:
    """Rows of X (n, d) with targets y (n, C), each once, in lexicographic order; for `WorkingSet` and `homotopy`.

    A pricer and a dictionary of these rows make a solution equal to the last bit, not only within its gap.

    ``X``, ``y`` (m, d). ``weights`` (m,): sums of the weights of equal rows, of mean 1.
    """

    def __init__(self, X: Array, y: Array, sample_weight: Array | None) -> None:
        self._first, self._place = merged_rows(np.hstack([X, y]))
        self._own = np.ones(len(X)) if sample_weight is None else sample_weight
        mass = np.bincount(self._place, self._own)
        self.X, self.y, self.weights = X[self._first], y[self._first], mass / mass.mean()

    def restored(self, found: Result[WeightedNeurons]) -> Result[WeightedNeurons]:
        """Return a result on the distinct rows as one on all rows: indices of rows, predictions, dual point."""
        neurons, values, intercept = found.coefficients
        spanning = np.concatenate([self._first, len(self._place) + np.arange(self.X.shape[1])])[neurons.rows]
        theta = found.dual_point[self._place] * (self._own / self.weights[self._place])[:, None]
        kept = WeightedNeurons(replace(neurons, rows=spanning), values, intercept)
        return replace(found, coefficients=kept, fitted=found.fitted[self._place], dual_point=theta)
