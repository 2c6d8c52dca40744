r"""Pricing over all neurons of data in one or two dimensions, exactly, by rotating a line about every row.

About the pivot x the neuron is :math:`(v\cdot r_i)_+`, :math:`r_i = x_i-x`, and its value :math:`S^Tv` with
:math:`S = \sum_{v\cdot r_i>0} r_i\theta_i^T` (2, C). S changes only where v meets a normal of some r_i, its *edge*. Let
:math:`q_i = \pm r_i` be in the right half-plane; then the edges :math:`e_i = (-q_{i2}, q_{i1})`, in the upper
half-plane, are in the order of the slopes of q_i, and behind e_i S has lost :math:`q_i\theta_i^T`. The lower half
of the directions costs nothing: the rows that are off at v are on at -v, so there S is the sum of all less S.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import as_real, check_choice, describe, fail
from clifford_rand._threads import for_each_slice
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing.base import Priced, Pricer, best_of, check_price, nothing, unbalanced
from clifford_rand_nn.sparse_rows import row_tiles

_LEAST_PIVOTS = 64  # of a thread
_KEPT_BYTES = 64 * 2**20  # of orders, which do not depend on the dual point: n ≤ 5792
_CHUNK_BYTES = 32 * 2**20
_FLOATS = 40  # that `turn` holds for each row and pivot
_FEWEST = 64  # candidates whose values are summed again, directly, for the supremum


SLOTS = 8
"""Candidates of a pivot: the edges with the largest and the least value among v = e and among v = -e; then, p = 1, the
directions e_1, -e_1, e_2, -e_2, or, p = 2, in the same order as the edges, the stationary points within sectors."""


class Turned(NamedTuple):
    """Candidates for m pivots in 8 slots: values (m, 8), directions (m, 8, 2), and rows whose edges they are (m, 8).

    A value has its sign if C = 1, else it is a norm; 0 marks an empty slot. The item is n for a direction that is no
    edge, n + 1 and n + 2 for the basis vectors e_1 and e_2.
    """

    values: Array
    directions: Array
    items: NDArray[np.int64]


def edge_order(X: Array, pivots: Array) -> NDArray[Any]:
    """Return the order (m, n) in which a turning line meets the rows X (n, 2), for pivots (m, 2); those at it last."""
    q = _right(X[None] - pivots[:, None])[0]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        slope = q[..., 1] / q[..., 0]
    slope[q[..., 0] == 0] = -np.inf
    slope[~q.any(axis=-1)] = np.inf
    # a slope that overflows shares +inf with the rows at the pivot, which must come last
    np.minimum(slope, np.finfo(np.float64).max, out=slope, where=q.any(axis=-1))
    return np.argsort(slope, axis=1).astype(np.uint16 if len(X) <= 2**16 else np.int64)


def turn(X: Array, pivots: Array, theta: Array, order: NDArray[Any], p: int) -> Turned:
    """Return the candidates for X (n, 2), pivots (m, 2) and theta (n, C)."""
    m, (n, C) = len(pivots), theta.shape
    order = order.astype(np.intp)
    r = X[None] - pivots[:, None]
    q, right = _right(r)
    everything = np.einsum("mni,nc->mic", r, theta)  # S of v and S of -v together
    start = np.einsum("mni,mn,nc->mic", r, right, theta)
    q = np.take_along_axis(q, order[..., None], axis=1)
    # behind each edge S has lost q_i θ_iᵀ
    S = start[:, None] - running_sum(q[..., None] * theta[order][:, :, None])  # (m, n, 2, C), behind each edge
    e = np.stack([-q[..., 1], q[..., 0]], axis=-1)
    length = np.linalg.norm(e, ord=p, axis=-1)
    exists = length > 0
    e /= np.where(exists, length, 1.0)[..., None]
    # the value Sᵀe at each edge, and at -e what is left of everything
    up = np.einsum("mni,mnic->mnc", e, S)
    values, directions, items = np.zeros((m, SLOTS)), np.zeros((m, SLOTS, 2)), np.full((m, SLOTS), n)

    def record(slot: int, value: Array, direction: Array, item: NDArray[Any]) -> None:
        """Keep the largest and the least of the values (m, N, C) of the directions (m, N, 2)."""
        size = value[..., 0] if C == 1 else np.linalg.norm(value, axis=-1)
        for i, best in enumerate([size.argmax(axis=1), size.argmin(axis=1)][: 2 if C == 1 else 1]):
            at = np.arange(m), best
            values[:, slot + i], directions[:, slot + i], items[:, slot + i] = size[at], direction[at], item[at]

    record(0, up, e, order)
    record(2, up - np.einsum("mni,mic->mnc", e, everything), -e, order)
    if p == 1:
        for slot, side, axis in ((4, 1, 0), (5, -1, 0), (6, 1, 1), (7, -1, 1)):
            value = np.maximum(side * r[..., axis], 0) @ theta
            values[:, slot] = value[:, 0] if C == 1 else np.linalg.norm(value, axis=-1)
            directions[:, slot, axis] = side
            items[:, slot] = n + 2 - axis  # a line along e_1 is the normal of e_2
        return Turned(values, directions, items)
    last = np.maximum(exists.sum(axis=1) - 1, 0)
    # the sector of S ends at the next edge; after the last one at -e of the first
    following = np.roll(e, -1, axis=1)
    following[np.arange(m), last] = -e[:, 0]
    none = np.full((m, n), n)
    for slot, part in ((4, S), (6, everything[:, None] - S)):
        w, size = _top_direction(part)
        ahead = np.where(exists, _within(w, e, following), 0)  # 1: w is in the sector, -1: -w is
        sign = ahead if slot == 4 else -ahead
        value = np.einsum("mni,mnic->mnc", sign[..., None] * w, part) if C == 1 else (np.abs(sign) * size)[..., None]
        record(slot, value, sign[..., None] * w, none)
    return Turned(values, directions, items)


def _right(r: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return ±r in the right half-plane, with (0, -1) rather than (0, 1), and whether that is r itself."""
    right = (r[..., 0] > 0) | ((r[..., 0] == 0) & (r[..., 1] < 0))
    return np.where(right[..., None], r, -r), right


def running_sum(terms: Array) -> Array:
    """Cumulative sums along axis 1 with the error of each addition carried along, so it does not grow with n."""
    total = np.cumsum(terms, axis=1)
    before = np.concatenate([np.zeros_like(total[:, :1]), total[:, :-1]], axis=1)
    added = total - before
    # the error of total = before + terms, exactly (Knuth's two-sum)
    error = (before - (total - added)) + (terms - added)
    return np.asarray(total + np.cumsum(error, axis=1))


def _top_direction(S: Array) -> tuple[Array, Array]:
    """Return the unit eigenvector w of S Sᵀ with the largest eigenvalue, and the root of that, for S (..., 2, C)."""
    x, y = S[..., 0, :], S[..., 1, :]
    a, b, c = (np.einsum("...c,...c->...", *pair) for pair in ((x, x), (x, y), (y, y)))
    # top eigenvector of the 2 × 2 matrix [[a, b], [b, c]]
    angle = 0.5 * np.arctan2(2 * b, a - c)
    size = np.sqrt(0.5 * (a + c + np.hypot(a - c, 2 * b)))
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1), size


def _within(w: Array, first: Array, second: Array) -> NDArray[np.int64]:
    """Return 1 where w is in the sector from ``first`` to ``second``, -1 where -w is, and 0."""
    left = first[..., 0] * w[..., 1] - first[..., 1] * w[..., 0]
    right = w[..., 0] * second[..., 1] - w[..., 1] * second[..., 0]
    middle = w[..., 0] * (first[..., 0] + second[..., 0]) + w[..., 1] * (first[..., 1] + second[..., 1])
    # w·(e + f) ≥ 0 in a sector up to rounding, and -2 at the opposite of a sector of no width, which this rules out
    inside = (left >= 0) & (right >= 0) & (middle > -1)
    return np.where(inside, 1, np.where((left <= 0) & (right <= 0) & (middle < 1), -1, 0))


class SweepPricer(Pricer):
    r"""The largest :math:`||\sum_i\theta_i(x_i\cdot v+b)_+||_2` over all neurons with :math:`||v||_p = 1`, for d ≤ 2.

    With a free offset the value is piecewise linear in b, so the best hyperplane passes through a row: in two
    dimensions a line is turned about each row, :math:`O(n^2\log n)`; without it about the origin. Between two rows that
    it meets, the value is linear in v: the best v is there (p = 1), on an axis (p = 1), or a stationary point (p = 2).
    Sums carry their rounding errors along, and what is returned is summed again.

    Examples
    --------
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
        self.scope = f"global: all {self.n_atoms:,} patterns"
        # a power of two keeps the squares of stationary points away from the ends of the float format
        self._scaled = np.ldexp(data, -int(np.frexp(np.abs(data).max())[1]))
        self._pivots = self._scaled if bias else np.zeros((1, data.shape[1]))
        self._order: NDArray[Any] | None = None

    def price(
        self, theta: ArrayLike, most: int, late: Callable[[], bool] | None = None, enough: float = np.inf
    ) -> Priced:
        r"""Return the supremum and the ``most`` best neurons for theta (n, C) or (n,), at most four of a row.

        With bias :math:`\sum_i\theta_i = 0`; otherwise an offset that grows without end makes the size infinite.
        ``late`` and ``enough`` are ignored: a sweep is short.
        """
        point = check_price(theta, most, len(self.X), "SweepPricer.price")
        largest = float(np.abs(point).max())
        d = self.X.shape[1]
        if largest == 0:
            return Priced(0.0, nothing(d))
        # a power of two, for the squares of tiny dual points underflow
        unit = np.ascontiguousarray(np.ldexp(point, -int(np.frexp(largest)[1])))
        candidates = self._line(unit) if d == 1 else self._plane(unit)
        values, neurons = self._best(candidates, point, most)
        size = float(values[0]) if len(values) else 0.0
        return Priced(np.inf if self.bias and unbalanced(point) else size, neurons.take(slice(0, most)))

    def _plane(self, theta: Array) -> Turned:
        n, m = len(self.X), len(self._pivots)
        step = max(1, _CHUNK_BYTES // (8 * _FLOATS * n))
        if self._order is None and 2 * n * m <= _KEPT_BYTES and n <= 2**16:
            edges = [edge_order(self._scaled, self._pivots[part]) for part in row_tiles(m, step)]
            self._order = np.concatenate(edges)
        candidates = Turned(np.zeros((m, SLOTS)), np.zeros((m, SLOTS, 2)), np.full((m, SLOTS), n, dtype=np.int64))

        def work(pivots: slice) -> None:
            for part in row_tiles(pivots.stop, step, pivots.start):
                order = edge_order(self._scaled, self._pivots[part]) if self._order is None else self._order[part]
                turned = turn(self._scaled, self._pivots[part], theta, order, self.p)
                for whole, piece in zip(candidates, turned, strict=True):
                    whole[part] = piece

        for_each_slice(work, m, least=_LEAST_PIVOTS)
        return candidates

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

    def _best(self, candidates: Turned, theta: Array, most: int) -> tuple[Array, Neurons]:
        """Return the best distinct neurons, at least one if any is good, with their values."""
        size = np.abs(candidates.values)
        for sign in (candidates.values > 0, candidates.values < 0):
            # of each pivot at most two candidates of a sign
            second = np.sort(np.where(sign, size, 0.0), axis=1)[:, -2:-1]
            size[sign & (size < second)] = 0.0
        order = np.argsort(-size, axis=None, kind="stable")
        order = order[: np.count_nonzero(size)]
        count = max(_FEWEST, 4 * most)
        while True:
            pivot, slot = np.unravel_index(order[:count], size.shape)
            neurons = self._neurons(pivot, candidates.directions[pivot, slot], candidates.items[pivot, slot])
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
