"""What a pricer is and returns, and the checks of its arguments."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from clifford_rand._checks import as_real, check_integer, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.dictionaries.subsets import distinct
from clifford_rand_nn.neurons import Neurons

# Projections of a dual point leave Σθ at 1e-12 of Σ|θ| or below; a sum that is meant to be there is far above this.
_BALANCED = 1e-9


class Priced(NamedTuple):
    r"""The answer of a pricer: how large :math:`||k(v,b)^T\theta||_2` gets over its atoms, and where.

    Attributes
    ----------
    size : float
        The supremum over the family.
    neurons : Neurons
        At most ``most`` distinct atoms with the largest values, best first, of norm 1; none of value 0.
    """

    size: float
    neurons: Neurons


class Pricer(Protocol):
    """A family of atoms, neurons of norm 1, that can be searched for the best ones."""

    @property
    def n_atoms(self) -> int:
        """Number of atoms, patterns or columns that are compared."""

    @property
    def scope(self) -> str:
        """What the supremum is taken over, in words."""

    @property
    def reach(self) -> Array:
        """Sizes (n,) of what is added up for an atom on each row, by which a supremum loses digits."""

    def price(self, theta: ArrayLike, most: int) -> Priced:
        """Supremum and best atoms for the dual point ``theta`` (n, C) or (n,)."""


def check_price(theta: ArrayLike, most: int, n: int, owner: str) -> Array:
    """Return ``theta`` as a finite (n, C) array; check ``most``."""
    point = np.asarray(as_real(theta, "theta", owner), dtype=np.float64)
    if point.ndim == 1:
        point = point[:, None]
    if point.ndim != 2 or len(point) != n or point.shape[1] == 0:
        raise fail("theta", owner, f"of shape ({n},) or ({n}, C)", describe(f"shape {np.shape(theta)}"))
    most = check_integer(most, "most", owner, low=0)
    return point


def reach_of_rows(X: Array, bias: bool) -> Array:
    """Return the sizes (n,) of what a neuron of norm 1 adds up on rows X (n, d), with an offset if its plane is met."""
    lengths = np.linalg.norm(X, axis=1)
    return np.asarray(lengths + lengths.max(initial=0.0) if bias else lengths)


def unbalanced(theta: Array) -> bool:
    """Tell whether Σθ ≠ 0: a neuron that is on everywhere then has a value without bound in its offset."""
    return bool(np.any(np.abs(theta.sum(axis=0)) > _BALANCED * np.abs(theta).sum(axis=0)))


def nothing(d: int) -> Neurons:
    """Return no neurons."""
    return Neurons.free(np.zeros((d, 0)), np.zeros(0))


def best_of(neurons: Neurons, theta: Array, X: Array, most: int) -> tuple[Array, Neurons]:
    """Values, summed directly, of the at most ``most`` best distinct neurons, and those, best first."""
    values = np.linalg.norm(neurons.training_columns(X).T @ theta, axis=1)
    index = np.argsort(-values, kind="stable")
    index = index[values[index] > 0]
    index = index[distinct(neurons.directions[:, index], neurons.offsets[index], X)][:most]
    return values[index], neurons.take(index)
