"""Chambers of the central arrangement of the data's unit vectors, with an interior point of each."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array

_EPS = float(np.finfo(np.float64).eps)
# A column that varies by less than this share of its size is not magnified further: its rounding would grow with it
# and drown the other columns.
_LEAST_SPREAD = 2.0**-10
# Exponents of two in the gates stay below this in size: far from overflow, and from subnormal numbers.
_LARGEST_EXPONENT = 900
_NO_EXPONENT = np.intc(-(2**15))  # of a zero: below that of any number
# Independent rows have all sign patterns, and their points come from the pseudo-inverse. It is used where the
# smallest singular value leaves the points good margins; other rows take the general way, which is always right.
_WELL_CONDITIONED = 0.05
_BLOCK = 2**19  # entries of a block of margins: some 4 MB for each of its few arrays


class Reduced(NamedTuple):
    r"""Unit vectors z_i (m, R), one per row that is not zero (with bias of [x_i, 1]), with the arrangement of the data.

    A point w of R^R is the gate with :math:`x_i^Th + c = |.|\,z_i^Tw`, of the same sign: h = 2^(-exponent) (basis w),
    of shapes (d,) and (d, R), and c = shift·w. ``error`` (m,) is how far rounding may have moved each vector.
    """

    unit: Array
    error: Array
    basis: Array
    shift: Array
    exponent: NDArray[np.intc]

    @property
    def rank(self) -> int:
        """Dimension R of the arrangement."""
        return int(self.unit.shape[1])

    def gates(self, W: Array) -> tuple[Array, Array]:
        """Return the directions (d, P) and offsets (P,) of the points W (R, P)."""
        up, down = int(-self.exponent.min(initial=0)), int(self.exponent.max(initial=0))
        common = max(up - _LARGEST_EXPONENT, 0) - max(down - _LARGEST_EXPONENT, 0)
        H = np.ldexp(self.basis @ W, (-self.exponent - common)[:, None])
        return H, np.ldexp(self.shift @ W, -common)


def reduce_rows(X: Array, bias: bool) -> Reduced:
    """Scale, center (with bias) and rotate the rows X (n, d) to unit vectors that span their space.

    Rows and columns are scaled by powers of two, which is exact. No sign depends on such a scale: not on that of a
    column, as h takes the inverse, nor on that of a row without bias. So the units of X play no part.
    """
    # Rounding of the sums below grows with the root of their length; the factor leaves room for R projections.
    rounding = 16 * np.sqrt(X.shape[1] + 1) * _EPS
    return _affine(X, rounding) if bias else _central(X, rounding)


def _central(X: Array, rounding: float) -> Reduced:
    A = X[X.any(axis=1)]
    # By the peak of every column, then of every row: in this order features in any units come to the same numbers.
    # The exponents are added first, since a row may be tiny between the two.
    exponent = np.frexp(np.abs(A).max(axis=0, initial=0))[1]
    size = np.where(A == 0, _NO_EXPONENT, np.frexp(A)[1]) - exponent
    A = np.ldexp(A, -size.max(axis=1, keepdims=True) - exponent)
    A = A / np.linalg.norm(A, axis=1, keepdims=True)
    V = _row_space(A, rounding * np.sqrt(len(A)))
    T = A @ V
    error = np.full(len(A), rounding)
    return Reduced(T / np.linalg.norm(T, axis=1, keepdims=True), error, V, np.zeros(V.shape[1]), exponent)


def _affine(X: Array, rounding: float) -> Reduced:
    exponent = np.frexp(np.abs(X).max(axis=0))[1]
    A = np.ldexp(X, -exponent)
    center = A.mean(axis=0)
    Y = A - center
    scale = np.maximum(np.abs(Y).max(axis=0), _LEAST_SPREAD)
    Y /= scale
    error = rounding * np.linalg.norm((np.abs(A) + np.abs(center)) / scale, axis=1)
    V = _row_space(Y, float(np.linalg.norm(error)))
    T = Y @ V
    reach = float(np.linalg.norm(T, axis=1).max()) if V.shape[1] else 1.0
    Z = np.column_stack([T / reach, np.ones(len(T))])  # lifted: the last coordinate carries the offset
    length = np.linalg.norm(Z, axis=1)
    back = V / scale[:, None] / reach
    basis = np.column_stack([back, np.zeros(len(back))])
    return Reduced(
        Z / length[:, None], (error / reach + rounding) / length, basis, np.append(-center @ back, 1), exponent
    )


def _row_space(A: Array, noise: float) -> Array:
    """Return an orthonormal basis (d, r) of the row space of A, to singular values above ``noise``."""
    _, singular, Vt = np.linalg.svd(A, full_matrices=False)
    return np.ascontiguousarray(Vt[: np.count_nonzero(singular > noise)].T)


def distinct(Z: Array, error: Array, most: int) -> NDArray[np.intp]:
    """Return the indices of unit vectors of which no two are parallel; stop when there are more than ``most``."""
    # Parallel rows have the same |z·g|, so its different values are a lower bound, and a sort refuses large data.
    # a fixed vector without simple relations: the fractions of multiples of the golden section, less 1/2
    g = (np.arange(1, Z.shape[1] + 1) * (np.sqrt(5) - 1) / 2) % 1 - 0.5
    if np.count_nonzero(np.diff(np.sort(np.abs(Z @ g))) > 2 * error.max() * np.linalg.norm(g)) > most:
        return np.arange(len(Z))
    left = np.arange(len(Z))
    kept: list[int] = []
    while left.size and len(kept) <= most:
        first = int(left[0])
        kept.append(first)
        z = Z[first]
        across = Z[left] - (Z[left] @ z)[:, None] * z
        apart = np.linalg.norm(across, axis=1) > error[left] + error[first]
        apart[0] = False
        left = left[apart]
    return np.array(kept, dtype=np.intp)


def half_of_the_chambers(Z: Array, error: Array, late: Callable[[], bool] | None = None) -> Array:
    r"""Return a point inside each chamber :math:`\{w : \mathrm{sign}(z_i^Tw) = s_i\}` with :math:`s_0 = 1`, (R, P/2).

    The other half are the negatives. Z (n, R), n ≥ 1, are unit vectors known up to ``error`` (n,). Planes are added one
    after another. Plane k cuts the chambers of the planes before it in the chambers of their restriction to it, an
    arrangement of one dimension less, whose points p this function finds itself. On either side of p, at p ± ε z_k, is
    a point of a chamber of the first k + 1 planes, at a distance ≥ ε from all of them. A chamber that no later plane
    cuts keeps this distance to all later planes, since its ball of radius ε is cut by none. So points that come nearer
    to a later plane are dropped, and every chamber still has the point that the last plane to cut it gave. Once
    ``late()`` is true, no further plane or block of faces is started: the chambers are then some of those of the planes
    so far.
    """
    n, R = Z.shape
    if n == 1:
        return Z.T.copy()
    if R == 2:
        return _arcs(Z, error)
    if n <= R:
        U, singular, Vt = np.linalg.svd(Z, full_matrices=False)
        if singular[-1] > _WELL_CONDITIONED:
            codes = 2 * np.arange(2 ** (n - 1))  # bit i is the sign of row i; that of the first is 1
            signs = 1.0 - 2 * ((codes >> np.arange(n)[:, None]) & 1)
            W = (Vt.T / singular) @ (U.T @ signs)
            return np.asarray(W / np.linalg.norm(W, axis=0))
    return _chambers(_faces(Z, error, late), late)


class _Faces(NamedTuple):
    """Points F (R, C), point c inside a chamber of the restriction of Z[:plane[c]] to the plane of Z[plane[c]]."""

    Z: Array
    points: Array
    plane: NDArray[np.intp]


def _arcs(Z: Array, error: Array) -> Array:
    """Return the middles of the arcs, in the plane, that are wider than the errors of their two ends."""
    angle = np.mod(np.arctan2(Z[0, 0] * Z[:, 1] - Z[0, 1] * Z[:, 0], Z @ Z[0]), np.pi)  # from the first, in [0, π)
    angle[0] = 0
    order = np.argsort(angle)
    angle, error = angle[order], error[order]
    gap = np.diff(angle, append=np.pi)
    wide = gap > error + np.append(error[1:], error[0])
    middle = np.arctan2(Z[0, 1], Z[0, 0]) - np.pi / 2 + (angle + gap / 2)[wide]
    return np.stack([np.cos(middle), np.sin(middle)])


def _complement(z: Array) -> Array:
    """Return an orthonormal basis (R, R-1) of the plane of z: columns of the Householder matrix that maps z to ∓e_1."""
    v = z.copy()
    v[0] += np.copysign(1.0, z[0])
    Q = -v[:, None] * (v[None, 1:] / (1 + np.abs(z[0])))
    Q[np.arange(1, len(z)), np.arange(len(z) - 1)] += 1
    return np.asarray(Q)


def _faces(Z: Array, error: Array, late: Callable[[], bool] | None) -> _Faces:
    """Return the faces for any R, plane by plane."""
    kept = np.zeros(len(Z), dtype=np.intp)
    m = 1
    points: list[Array] = []
    plane = []
    for k in range(1, len(Z)):
        if points and late is not None and late():
            break
        before = kept[:m]
        base = _complement(Z[k])
        Y = Z[before] @ base
        length = np.linalg.norm(Y, axis=1)
        noise = error[before] + error[k]
        if (length <= noise).any():
            continue  # parallel to a plane before it
        points.append(base @ half_of_the_chambers(Y / length[:, None], noise / length, late))
        plane.append(np.full(points[-1].shape[1], m))
        kept[m] = k
        m += 1
    if not points:
        return _Faces(Z[:1], np.zeros((Z.shape[1], 0)), np.zeros(0, dtype=np.intp))
    return _Faces(Z[kept[:m]], np.concatenate(points, axis=1), np.concatenate(plane))


def _chambers(faces: _Faces, late: Callable[[], bool] | None) -> Array:
    """Return one point for every chamber on either side of the faces."""
    Z, F, plane = faces
    if not plane.size:
        return Z[:1].T.copy()
    step = max(1, _BLOCK // len(Z))
    gram = Z @ Z.T
    points: list[Array] = []
    keys, margins = [], []
    for start in range(0, plane.size, step):
        if points and late is not None and late():
            break
        block = slice(start, start + step)
        for moved, key, margin in _two_sides(Z, gram, F[:, block], plane[block]):
            points.append(moved)
            keys.append(key)
            margins.append(margin)
    key, margin = np.concatenate(keys), np.concatenate(margins)
    order = np.lexsort((-margin, *key.T))
    key = key[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (key[1:] != key[:-1]).any(axis=1)
    return np.asarray(np.concatenate(points, axis=1)[:, order[fresh]])


def _two_sides(
    Z: Array, gram: Array, F: Array, plane: NDArray[np.intp]
) -> list[tuple[Array, NDArray[np.uint64], Array]]:
    """Move the points F (R, C) off their planes, to both sides, and keep those far from later planes.

    Returns for each side the points (R, C'), their signs as words of 64 bits (C', ·), and their distances (C',).
    """
    column = np.arange(plane.size)
    M, slope = Z @ F, gram[:, plane]
    before = np.arange(len(Z))[:, None] < plane
    size, towards = np.abs(M), np.sign(M) * slope
    sides = []
    for side in (1.0, -1.0):
        # |m_j| ± ε sign(m_j) z_j·z_k ≥ ε for every earlier plane. No more than 1: beyond, the point only nears z_k.
        room = np.where(before, size / np.maximum(1 - side * towards, _EPS), 1)
        epsilon = np.minimum(room.min(axis=0), 1)
        value = M + side * epsilon * slope
        value[plane, column] = side * epsilon
        # Half of ε: rounding never costs a chamber. A point between the two is as good as any.
        far = (before | (np.abs(value) >= epsilon / 2)).all(axis=0)
        moved = F[:, far] + side * epsilon[far] * Z[plane[far]].T
        length = np.linalg.norm(moved, axis=0)
        sides.append((moved / length, _words(value[:, far] > 0), epsilon[far] / length))
    return sides


def _words(on: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack the columns of on (n, C) to words (C, ceil(n/64))."""
    bits = np.packbits(on, axis=0)
    padded = np.zeros((on.shape[1], -(-len(bits) // 8) * 8), dtype=np.uint8)
    padded[:, : len(bits)] = bits.T
    return padded.view(np.uint64)
