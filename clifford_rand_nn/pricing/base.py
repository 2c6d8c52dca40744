"""Pricers: their base, the checks of their arguments, and pricing over a list or dictionary by blocks."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import as_real, as_rows, check_integer, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import Array, ArrayLike
from clifford_rand_nn.gates.enumeration import count_patterns
from clifford_rand_nn.gates.subsets import distinct
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.rounding import additions, block_products, rounding_of_norm

# Projections of a dual point leave Σθ at 1e-12 of Σ|θ| or below; a sum that is meant to be there is far above this.
_BALANCED = 1e-9


class Priced(NamedTuple):
    r"""The supremum of :math:`||k(v,b)^T\theta||_2` over a pricer's atoms, and distinct atoms with the largest values.

    They are at most ``most``, best first, of norm 1; none has the value 0.
    """

    size: float
    neurons: Neurons


class Pricer:
    """A family of atoms, neurons of norm 1 on rows X (n, d), that can be searched for the best ones.

    ``bias``: whether neurons have a free offset. ``centers``: whether sums are of centered rows, not of activations.
    ``scope``: what the supremum is taken over, in words.
    """

    X: Array
    bias: bool = False
    centers: bool = False
    scope: str

    @property
    def n_atoms(self) -> int:
        """Number of atoms, patterns or columns that are compared: here the patterns of rows in general position."""
        return count_patterns(self.X.shape[0], self.X.shape[1], self.bias)

    @cached_property
    def reach(self) -> Array:
        """The largest values (n,) that atoms have on the rows."""
        return reach_of_rows(self.X, self.bias)

    def rounding_error(self, theta: Array) -> float:
        """Return what rounding may take from the size that `price` states: in sums over rows, and in their terms."""
        (n, d), terms = self.X.shape, self.reach
        if self.bias and not self.centers:
            lengths = np.linalg.norm(self.X, axis=1)
            terms = lengths + lengths.max(initial=0.0)
        sums = rounding_of_norm(self.reach, theta, additions(n) + theta.shape[1])
        return sums + rounding_of_norm(terms, theta, d + 4)

    def price(
        self, theta: ArrayLike, most: int, late: Callable[[], bool] | None = None, enough: float = np.inf
    ) -> Priced:
        """Supremum and best atoms for the dual point ``theta`` (n, C) or (n,).

        A long search ends early, with an upper bound of the supremum, if ``late`` says so; for an atom above ``enough``
        it need not be tight.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.scope})"


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
    """Return the largest values (n,) of neurons of norm 1 on rows X (n, d), with an offset if their planes are met."""
    lengths = np.linalg.norm(X - X.mean(axis=0) if bias else X, axis=1)
    return np.asarray(lengths + lengths.max(initial=0.0) if bias else lengths)


def unbalanced(theta: Array) -> bool:
    """Tell whether Σθ ≠ 0: a neuron that is on everywhere then has a value without bound in its offset."""
    # Σθ is compared with the rounding of its terms
    return bool(np.any(np.abs(theta.sum(axis=0)) > _BALANCED * np.abs(theta).sum(axis=0)))


def nothing(d: int) -> Neurons:
    """Return no neurons."""
    return Neurons.free(np.zeros((d, 0)), np.zeros(0))


def best_of(neurons: Neurons, theta: Array, X: Array, most: int) -> tuple[Array, Neurons]:
    """Values, summed directly, of the at most ``most`` best distinct neurons, and those, best first."""
    values = np.linalg.norm(block_products(neurons.training_columns(X), theta), axis=1)
    index = np.argsort(-values, kind="stable")
    index = index[values[index] > 0]
    # of equal neurons the first has the largest value
    index = index[distinct(neurons.directions[:, index], neurons.offsets[index], X)][:most]
    return values[index], neurons.take(index)


_BLOCK_BYTES = 32 * 2**20  # of columns held at a time: more is no faster
_KEPT_BYTES = 64 * 2**20  # of neurons; to make 26,000 planes in R^2 takes three times as long as to price them


class BlockPricer(Pricer):
    r"""The largest :math:`||K_j^T\theta||_2` over the columns of a dictionary, for every d and C.

    Memory is that of one block of columns; the neurons themselves are kept for the next call where they are few.
    ``atoms`` are Neurons of norm 1 or a dictionary with ``n_columns``, ``blocks(size)`` and ``bias``, ``scope`` words
    for them.

    Examples
    --------
    >>> from clifford_rand_nn.gates.dictionary import cross_product_dictionary
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> size, neurons = BlockPricer(X, cross_product_dictionary(X)).price(np.array([1.0, -3.0, 2.0]), 1)
    >>> size, neurons.directions.tolist(), neurons.offsets.tolist()
    (4.0, [[1.0]], [-1.0])
    """

    def __init__(self, X: ArrayLike, atoms: Any, scope: str | None = None) -> None:
        owner = "BlockPricer"
        data = as_rows(X, owner)
        if not isinstance(atoms, Neurons) and not hasattr(atoms, "blocks"):
            raise fail("atoms", owner, "Neurons or a dictionary with n_columns, blocks and bias", atoms)
        if isinstance(atoms, Neurons) and atoms.d != data.shape[1]:
            raise fail("atoms", owner, f"neurons in R^{data.shape[1]}, as the rows of X", describe(f"d = {atoms.d}"))
        self.X, self.atoms = data, atoms
        self.bias = bool(atoms.offsets.any()) if isinstance(atoms, Neurons) else atoms.bias
        what = "given neurons" if isinstance(atoms, Neurons) else "columns of the dictionary"
        self.scope = scope or f"over the {self.n_atoms:,} {what}"
        self._kept: list[Neurons] | None = None

    @property
    def _block_columns(self) -> int:
        return max(2, _BLOCK_BYTES // (8 * len(self.X)) // 2 * 2)

    @property
    def n_atoms(self) -> int:
        """Number of columns, dependent and repeated ones included."""
        return len(self.atoms) if isinstance(self.atoms, Neurons) else int(self.atoms.n_columns)

    @cached_property
    def reach(self) -> Array:
        """The largest values (n,) that atoms have on the rows; planes of given ones need not be near these."""
        if not isinstance(self.atoms, Neurons):
            return reach_of_rows(self.X, self.bias)
        mean, V = self.X.mean(axis=0), self.atoms.directions
        offset = np.abs(mean @ V + self.atoms.offsets).max(initial=0.0)
        longest = np.linalg.norm(V, axis=0).max(initial=0.0)
        return np.asarray(np.linalg.norm(self.X - mean, axis=1) * longest + offset)

    @cached_property
    def _off_planes(self) -> float:
        """By how much a neuron is off the rows that span it, and so off others: columns are 0 there."""
        blocks = self._blocks(self._block_columns)
        return max((float(block.misses(self.X).max(initial=0.0)) for block in blocks), default=0.0)

    def rounding_error(self, theta: Array) -> float:
        """Return what rounding may take from the size that `price` states: of sums, their terms, and the planes."""
        return super().rounding_error(theta) + self._off_planes * float(np.linalg.norm(theta, axis=1).sum())

    def price(
        self, theta: ArrayLike, most: int, late: Callable[[], bool] | None = None, enough: float = np.inf
    ) -> Priced:
        r"""Return :math:`\max_j||K_j^T\theta||_2` and the ``most`` best columns, for theta (n, C) or (n,).

        ``late`` is asked before every block. If it says yes the best columns so far are returned, with an infinite
        size. ``enough`` is ignored.
        """
        point = check_price(theta, most, len(self.X), "BlockPricer.price")
        wanted = max(1, most)
        best, values = nothing(self.X.shape[1]), np.zeros(0)
        for block in self._blocks(self._block_columns):
            if late is not None and late():
                return Priced(np.inf, best.take(slice(0, most)))
            sizes = np.linalg.norm(block_products(block.training_columns(self.X), point), axis=1)
            (good,) = np.nonzero(sizes > (values[-1] if len(values) == wanted else 0.0))
            if len(good):
                pool = block.take(good)
                # the best so far compete with those of the block that are above the last of them
                values, best = best_of(Neurons.joined([best, pool]) if len(best) else pool, point, self.X, wanted)
        return Priced(float(values[0]) if len(values) else 0.0, best.take(slice(0, most)))

    def _blocks(self, size: int) -> Iterator[Neurons]:
        if isinstance(self.atoms, Neurons):
            for i in range(0, len(self.atoms), size):
                yield self.atoms.take(slice(i, i + size))
            return
        d = self.X.shape[1]
        if self._kept is None and self.n_atoms * (2 * d + 1) * 8 <= _KEPT_BYTES:
            self._kept = list(self.atoms.blocks(size))
        yield from self.atoms.blocks(size) if self._kept is None else self._kept
