"""ReLU neurons as a set: hyperplanes, the rows that span them, and their columns on data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_array, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn._records import short_repr
from clifford_rand_nn.rounding import precise_dot

_ON_PLANE = 1e-8  # of |x|_max |v|_1 + |b|: elimination puts spanning rows within some 1e-13 of their hyperplane


@short_repr
@dataclass(frozen=True, eq=False)
class Neurons:
    r"""m neurons :math:`x \mapsto (x^Tv_j + b_j)_+`, the atoms of a dictionary: directions (d, m) and offsets (m,).

    ``rows`` (m, k) are the rows of [X; I] that span each hyperplane: an index below n is a row of the data, n + i the
    basis vector :math:`e_i`; -1 throughout for a neuron that no rows span. k = 0 if they are not known.

    Examples
    --------
    >>> import numpy as np
    >>> Neurons(np.eye(2), np.array([0.0, -1.0]), np.zeros((2, 0), dtype=int)).columns(np.array([[-1.0, 3.0]])).tolist()
    [[0.0, 2.0]]
    """

    directions: Array
    offsets: Array
    rows: NDArray[np.intp]

    def __post_init__(self) -> None:
        V = check_array(self.directions, "directions", "Neurons", (None, None))
        check_array(self.offsets, "offsets", "Neurons", (V.shape[1],))
        check_array(self.rows, "rows", "Neurons", (V.shape[1], None), np.intp)

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
        r"""Activations :math:`(Xv_j + b_j)_+` on any rows X (n, d), as (n, m)."""
        return np.maximum(np.asarray(X, dtype=np.float64) @ self.directions + self.offsets, 0)

    def training_columns(self, X: NDArray[Any]) -> Array:
        r"""Activations on the rows X (n, d) that span the hyperplanes, as (n, m); there exactly 0, not its rounding.

        Far from the origin, where products with rows and offsets cancel, they are those of centered rows: of the planes
        through the spanning rows, which have more digits than the offsets, or of the neurons as they are.

        Raises
        ------
        ArgumentError
            ``rows`` are not rows of X on the hyperplanes: X is something else, or rounding has moved the hyperplanes.
        """
        if not self.offsets.any() and not self.rows.shape[1]:
            return self.columns(X)
        data = np.asarray(X, dtype=np.float64)
        center = data.mean(axis=0) if self.offsets.any() else np.zeros(self.d)
        K = np.asarray((data - center) @ self.directions)
        offsets = precise_dot(center, self.directions, self.offsets)
        neuron, place = np.nonzero((self.rows >= 0) & (self.rows < len(K)))
        own = self.rows[neuron, place]
        on_plane = K[own, neuron] + offsets[neuron]
        scale = float(np.abs(data).max(initial=0.0)) * self.norms(1) + np.abs(self.offsets)
        off = on_plane > _ON_PLANE * scale[neuron]
        if off.any():
            rule = f"rows that planes go through to {_ON_PLANE:.0e} of their size"
            value = describe(f"planes that are up to {(on_plane / scale[neuron])[off].max():.0e} off")
            hint = "Pass the rows of the training; if they are, center and scale the columns, and merge near copies."
            raise fail("X", "a dictionary", rule, value, hint)
        if center.any():
            offsets[neuron] = -K[own, neuron]
        K += offsets
        K[own, neuron] = 0
        return np.maximum(K, 0, out=K)

    def misses(self, X: NDArray[Any]) -> Array:
        """Return how far from 0 neurons are on the rows of X (n, d) that span the hyperplanes, (m, k)."""
        own = np.clip(self.rows, 0, len(X) - 1)
        values = np.einsum("mkd,dm->mk", X[own], self.directions) + self.offsets[:, None]
        return np.where((self.rows >= 0) & (self.rows < len(X)), np.abs(values), 0.0)

    def norms(self, p: int) -> Array:
        r"""Return :math:`||v_j||_p`, (m,)."""
        return np.asarray(np.linalg.norm(self.directions, ord=p, axis=0))

    def take(self, index: Any) -> "Neurons":
        """Return the neurons at ``index``, in that order."""
        return Neurons(np.ascontiguousarray(self.directions[:, index]), self.offsets[index], self.rows[index])


@short_repr
class _Sum(NamedTuple):
    neurons: Neurons
    values: Array
    intercept: Array


class WeightedNeurons(_Sum):
    r"""A network as a sum over atoms, :math:`x \mapsto \sum_j Z_j(x^Tv_j+b_j)_+ + t`: Z (m, C), t (C,)."""

    __slots__ = ()

    def __new__(cls, neurons: Neurons, values: Array, intercept: Array) -> "WeightedNeurons":
        """Check that there are weights for each neuron."""
        if not isinstance(neurons, Neurons):
            raise fail("neurons", "WeightedNeurons", "Neurons", neurons)
        C = check_array(values, "values", "WeightedNeurons", (len(neurons), None)).shape[1]
        check_array(intercept, "intercept", "WeightedNeurons", (C,))
        return super().__new__(cls, neurons, values, intercept)

    def predictions(self, X: NDArray[Any]) -> Array:
        """Return the outputs (n, C) on any rows X (n, d)."""
        return np.asarray(self.neurons.columns(X) @ self.values + self.intercept)
