r"""All neurons of the plane through given pivots, by turning a line about each: the NumPy path.

About the pivot x the neuron is :math:`(v\cdot r_i)_+`, :math:`r_i = x_i-x`, and its value :math:`S^Tv` with
:math:`S = \sum_{v\cdot r_i>0} r_i\theta_i^T` (2, C). S changes only where v meets a normal of some r_i, its *edge*. Let
:math:`q_i = \pm r_i` be in the right half-plane; then the edges :math:`e_i = (-q_{i2}, q_{i1})`, in the upper
half-plane, are in the order of the slopes of q_i, and behind e_i S has lost :math:`q_i\theta_i^T`. The lower half
of the directions costs nothing: the rows that are off at v are on at -v, so there S is the sum of all less S.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array

SLOTS = 8
"""Candidates of a pivot: the edges with the largest and the least value among v = e and among v = -e; then, p = 1, the
directions e_1, -e_1, e_2, -e_2, or, p = 2, in the same order as the edges, the stationary points within sectors."""


class Turned(NamedTuple):
    """Candidates for m pivots; a slot that found nothing has value 0.

    Attributes
    ----------
    values : (m, 8)
        The norm of the value, with its sign if C = 1.
    directions : (m, 8, 2)
    items : (m, 8) int
        The row whose edge it is; n for none, n + 1 and n + 2 for the basis vectors e_1 and e_2.
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
    S = start[:, None] - running_sum(q[..., None] * theta[order][:, :, None])  # (m, n, 2, C), behind each edge
    e = np.stack([-q[..., 1], q[..., 0]], axis=-1)
    length = np.linalg.norm(e, ord=p, axis=-1)
    exists = length > 0
    e /= np.where(exists, length, 1.0)[..., None]
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
    error = (before - (total - added)) + (terms - added)
    return np.asarray(total + np.cumsum(error, axis=1))


def _top_direction(S: Array) -> tuple[Array, Array]:
    """Return the unit eigenvector w of S Sᵀ with the largest eigenvalue, and the root of that, for S (..., 2, C)."""
    a, c = (
        np.einsum("...c,...c->...", S[..., 0, :], S[..., 0, :]),
        np.einsum("...c,...c->...", S[..., 1, :], S[..., 1, :]),
    )
    b = np.einsum("...c,...c->...", S[..., 0, :], S[..., 1, :])
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
