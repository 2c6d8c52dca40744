"""ReLU neurons as a set: hyperplanes, the rows that span them, and their columns on data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Neurons", "WeightedNeurons"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Neurons:
    r"""m neurons :math:`x \mapsto (x^Tv_j + b_j)_+`, the atoms of a dictionary.

    Attributes
    ----------
    directions : (d, m)
        :math:`v_j`, one per column.
    offsets : (m,)
        :math:`b_j`.
    rows : (m, k) int
        The rows of [X; I] that span each hyperplane: an index below n is a row of the data, n + i the basis vector
        :math:`e_i`. k = 0 if they are not known.

    Examples
    --------
    >>> import numpy as np
    >>> Neurons(np.eye(2), np.array([0.0, -1.0]), np.zeros((2, 0), dtype=int)).columns(np.array([[-1.0, 3.0]])).tolist()
    [[0.0, 2.0]]
    """

    directions: Array
    offsets: Array
    rows: NDArray[np.intp]

    @classmethod
    def free(cls, directions: Array, offsets: Array) -> "Neurons":
        """Neurons that are spanned by no rows in particular."""
        return cls(directions, offsets, np.zeros((offsets.size, 0), dtype=np.intp))

    @classmethod
    def joined(cls, parts: Sequence["Neurons"]) -> "Neurons":
        """All the neurons of ``parts`` in a row; where some have no spanning rows, none has."""
        width = {part.rows.shape[1] for part in parts}
        rows = (
            np.concatenate([part.rows for part in parts])
            if len(width) == 1
            else np.zeros((sum(map(len, parts)), 0), dtype=np.intp)
        )
        return cls(
            np.concatenate([part.directions for part in parts], axis=1),
            np.concatenate([part.offsets for part in parts]),
            rows,
        )

    def __len__(self) -> int:
        return int(self.offsets.size)

    @property
    def d(self) -> int:
        """Dimension of the data."""
        return int(self.directions.shape[0])

    def columns(self, X: NDArray[Any]) -> Array:
        r"""Activations :math:`(Xv_j + b_j)_+` on the training rows X (n, d), as (n, m); exactly 0 on spanning rows."""
        K = np.maximum(np.asarray(X, dtype=np.float64) @ self.directions + self.offsets, 0)
        if self.rows.shape[1]:
            neuron, place = np.nonzero(self.rows < len(K))
            K[self.rows[neuron, place], neuron] = 0
        return np.asarray(K)

    def norms(self, p: int) -> Array:
        r"""Return :math:`||v_j||_p`, (m,)."""
        return np.asarray(np.linalg.norm(self.directions, ord=p, axis=0))

    def take(self, index: Any) -> "Neurons":
        """Return the neurons at ``index``, in that order."""
        return Neurons(np.ascontiguousarray(self.directions[:, index]), self.offsets[index], self.rows[index])


class WeightedNeurons(NamedTuple):
    r"""A network as a sum over atoms, :math:`x \mapsto \sum_j Z_j(x^Tv_j+b_j)_+ + t`: Z (m, C), t (C,)."""

    neurons: Neurons
    values: Array
    intercept: Array

    def predictions(self, X: NDArray[Any]) -> Array:
        """Return the outputs (n, C) on the training rows X (n, d)."""
        return np.asarray(self.neurons.columns(X) @ self.values + self.intercept)
