"""Pricing over all neurons of data in one or two dimensions, exactly, by turning a line about every row."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, check_choice, describe, fail
from clifford_rand._threads import cached_property, for_each_slice
from clifford_rand._typing import Array
from clifford_rand_nn.arrangements.enumeration import pattern_count
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing.base import Priced, best_of, check_price, nothing, reach_of_rows, unbalanced
from clifford_rand_nn.pricing.turn import SLOTS, Turned, edge_order, running_sum, turn

_NUMPY_UP_TO = 10**6  # rows times pivots: 0.3 s by NumPy; loading the kernel takes longer
_LEAST_PIVOTS = 64  # of a thread
_KEPT_BYTES = 64 * 2**20  # of orders, which do not depend on the dual point: n ≤ 5792
_CHUNK_BYTES = 32 * 2**20
_NUMPY_FLOATS = 40  # that `turn` holds for each row and pivot
_FEWEST = 64  # candidates whose values are summed again, directly, for the supremum


class SweepPricer:
    r"""The largest :math:`||\sum_i\theta_i(x_i\cdot v+b)_+||_2` over all neurons with :math:`||v||_p = 1`, for d ≤ 2.

    With a free offset the value is piecewise linear in b, so the best hyperplane passes through a row: in two
    dimensions a line is turned about each row, :math:`O(n^2\log n)`; without it about the origin. Between two rows that
    it meets, the value is linear in v: the best v is there (p = 1), on an axis (p = 1), or a stationary point (p = 2).
    Sums carry their rounding errors along, and what is returned is summed again.

    Parameters
    ----------
    X : (n, 1) or (n, 2) array
    p : {1, 2}
    bias : bool
        Whether neurons have an offset, which is not penalised.

    Raises
    ------
    ArgumentError
        X is not finite or not of that shape, or p not 1 or 2.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 3.0]])
    >>> size, neurons = SweepPricer(X, p=2).price(np.array([1.0, -1.0, -1.0, 1.0]), 1)
    >>> float(round(size, 9)), neurons.directions.T.round(3).tolist()
    (2.683281573, [[0.447, 0.894]])
    """

    def __init__(self, X: ArrayLike, p: int = 1, bias: bool = True) -> None:
        owner = "SweepPricer"
        data = np.asarray(as_real(X, "X", owner), dtype=np.float64)
        if data.ndim != 2 or len(data) == 0 or data.shape[1] not in (1, 2):
            hint = "Use BlockPricer or ConePricer in higher dimensions." if data.ndim == 2 else ""
            raise fail("X", owner, "of shape (n, 1) or (n, 2), n ≥ 1", describe(f"shape {data.shape}"), hint)
        check_choice(p, "p", owner, (1, 2))
        check_choice(bias, "bias", owner, (True, False))
        self.X, self.p, self.bias = data, p, bias
        # a power of two keeps the squares of stationary points away from the ends of the float format
        self._scaled = np.ldexp(data, -int(np.frexp(np.abs(data).max())[1]))
        self._pivots = self._scaled if bias else np.zeros((1, data.shape[1]))
        self._order: NDArray[Any] | None = None

    @property
    def n_atoms(self) -> int:
        """Number of activation patterns of rows in general position."""
        n, d = self.X.shape
        return pattern_count(n, d, self.bias)

    @cached_property
    def reach(self) -> Array:
        """Sizes (n,) of what is added up for a neuron on each row."""
        return reach_of_rows(self.X, self.bias)

    @property
    def scope(self) -> str:
        """In words."""
        return f"global: all {self.n_atoms:,} patterns"

    def price(self, theta: ArrayLike, most: int) -> Priced:
        r"""Return the supremum and the best neurons: of each row at most two of either sign, then the largest.

        Parameters
        ----------
        theta : (n, C) or (n,)
            With bias :math:`\sum_i\theta_i = 0`; otherwise an offset that grows without end makes the size infinite.
        most : int
            Number of neurons wanted.

        Raises
        ------
        ArgumentError
            ``theta`` is not finite, or not of that shape.
        """
        point = check_price(theta, most, len(self.X), "SweepPricer.price")
        largest = float(np.abs(point).max())
        d = self.X.shape[1]
        if largest == 0:
            return Priced(0.0, nothing(d))
        unit = np.ascontiguousarray(np.ldexp(point, -int(np.frexp(largest)[1])))
        found = self._line(unit) if d == 1 else self._plane(unit)
        values, neurons = self._best(found, point, most)
        size = float(values[0]) if len(values) else 0.0
        return Priced(np.inf if self.bias and unbalanced(point) else size, neurons.take(slice(0, most)))

    def _plane(self, theta: Array) -> Turned:
        n, m = len(self.X), len(self._pivots)
        by_kernel = n * m > _NUMPY_UP_TO
        found = Turned(np.zeros((m, SLOTS)), np.zeros((m, SLOTS, 2)), np.full((m, SLOTS), n, dtype=np.int64))
        if self._order is None and 2 * n * m <= _KEPT_BYTES and n <= 2**16:
            self._order = np.concatenate([self._edges(part) for part in self._chunks()])
        for part in self._chunks():
            order = self._edges(part) if self._order is None else self._order[part]
            if by_kernel:
                self._by_kernel(theta, order, part.start, found)
            else:
                for whole, piece in zip(
                    found, turn(self._scaled, self._pivots[part], theta, order, self.p), strict=True
                ):
                    whole[part] = piece
        return found

    def _by_kernel(self, theta: Array, order: NDArray[Any], first: int, found: Turned) -> None:
        from clifford_rand_nn.pricing.turn_kernel import turn_about  # Numba loads here, not at import

        def work(part: slice) -> None:
            turn_about(self._scaled, self._pivots, theta, order[part], self.p, first + part.start, *found)

        for_each_slice(work, len(order), least=_LEAST_PIVOTS)

    def _edges(self, part: slice) -> NDArray[Any]:
        return edge_order(self._scaled, self._pivots[part])

    def _chunks(self) -> list[slice]:
        step = max(1, _CHUNK_BYTES // (8 * _NUMPY_FLOATS * len(self.X)))
        return [slice(i, min(i + step, len(self._pivots))) for i in range(0, len(self._pivots), step)]

    def _line(self, theta: Array) -> Turned:
        """One dimension: the two directions at every row, or the two of the origin."""
        x = self._scaled[:, 0]
        n, C = theta.shape
        values = np.zeros((len(self._pivots), 2, C))
        for i, sign in enumerate([1.0, -1.0]):
            if self.bias:
                order = np.argsort(-sign * x, kind="stable")  # the rows that are on at a row come before it
                on = running_sum(theta[order][None])[0]
                values[order[1:], i] = running_sum((sign * -np.diff(x[order]))[None, :, None] * on[None, :-1])[0]
            else:
                values[0, i] = np.maximum(sign * x, 0) @ theta
        size = values[..., 0] if C == 1 else np.linalg.norm(values, axis=-1)
        directions = np.tile(np.array([[1.0], [-1.0]]), (len(values), 1, 1))
        return Turned(size, directions, np.full(size.shape, n, dtype=np.int64))

    def _best(self, found: Turned, theta: Array, most: int) -> tuple[Array, Neurons]:
        """Return the best distinct neurons, at least one if any is good, with their values."""
        size = np.abs(found.values)
        for sign in (found.values > 0, found.values < 0):
            second = np.sort(np.where(sign, size, 0.0), axis=1)[:, -2:-1]
            size[sign & (size < second)] = 0.0
        order = np.argsort(-size, axis=None, kind="stable")
        order = order[: np.count_nonzero(size)]
        count = max(_FEWEST, 4 * most)
        while True:
            pivot, slot = np.unravel_index(order[:count], size.shape)
            neurons = self._neurons(pivot, found.directions[pivot, slot], found.items[pivot, slot])
            values, neurons = best_of(neurons, theta, self.X, max(1, most))
            if len(values) >= most or count >= len(order):
                return values, neurons
            count *= 2

    def _neurons(self, pivot: NDArray[np.intp], directions: Array, items: NDArray[np.int64]) -> Neurons:
        """Neurons through their pivots; a second row is the one that they meet, or the pivot again if there is none."""
        n, d = self.X.shape
        v = directions / np.linalg.norm(directions, ord=self.p, axis=1)[:, None] + 0.0
        second = np.where(items > n, items - 1, items)  # n + i is the basis vector e_i
        if not self.bias:
            known = d == 2 and bool((items != n).all())
            rows = second[:, None].astype(np.intp) if known else np.zeros((len(v), 0), dtype=np.intp)
            return Neurons(np.ascontiguousarray(v.T), np.zeros(len(v)), rows)
        rows = np.stack([pivot, np.where(items == n, pivot, second)], axis=1)[:, :d].astype(np.intp)
        return Neurons(np.ascontiguousarray(v.T), -np.einsum("ij,ij->i", v, self.X[pivot]) + 0.0, rows)

    def __repr__(self) -> str:
        return f"SweepPricer({self.scope}, p={self.p}, bias={self.bias})"
