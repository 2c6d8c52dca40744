"""Rules for planes: by the rows that span them, or placed by themselves."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from clifford_rand._checks import as_real, describe, fail
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand.crossproduct.exact import cross_log, cross_simplex
from clifford_rand.sketch.leverage import leverage_scores
from clifford_rand.volume_sampling import volume_sample
from clifford_rand_nn.gates.chamber import Samples
from clifford_rand_nn.gates.hyperplanes import Gates, gates_without_incidence
from clifford_rand_nn.sparse_rows import centered_rows, mean_square, row_lengths, with_constant

_BLOCK_BYTES = 64 * 2**20  # of sampled rows held at a time
_ROUNDS = 32  # how often pairs of equal rows, and planes too close to a row, are drawn again
_CLEAR = 64 * np.finfo(np.float64).eps  # of |x||w| + |c|: another order of summation does not flip a side
_BLOCK = 2**22  # distances of targets held at a time


class Planes(NamedTuple):
    """Rows (m, k) that span each plane, and its unit normal (m, r), in the coordinates of the (sketched) rows.

    ``oriented`` tells whether the sign of the normal means something; if not it is drawn afterwards. Dependent samples
    are left out, so m may be less than was asked for.
    """

    rows: NDArray[np.intp]
    normals: Array
    oriented: bool = False


RowRule = Callable[[Array, int, int, bool, np.random.Generator], Planes]
"""``rule(data, k, m, bias, rng)``: m planes through k rows each of ``data`` (n, r), k = r - 1, or r with bias."""


def uniform_rows(data: Array, k: int, m: int, bias: bool, rng: np.random.Generator) -> Planes:
    """Every subset of k rows alike (Algorithms 2 and 4 of the paper)."""
    return _drawn(data, k, m, bias, rng)


def leverage_rows(data: Array, k: int, m: int, bias: bool, rng: np.random.Generator) -> Planes:
    r"""Rows drawn one after the other with probabilities proportional to their leverage scores, none twice.

    .. math:: P(j) \propto \ell_j = y_j^T (Y^TY)^+ y_j, \qquad Y = XS^T,

    or those of the rows (y, 1) with bias. In a sketch these are scores of the sketched rows, which are the ones that
    are multiplied.
    """
    scores = leverage_scores(data, bias=bias)
    if np.count_nonzero(scores) < k:
        return _none(data, k)
    return _drawn(data, k, m, bias, rng, scores / scores.sum())  # P(j) ∝ ℓ_j


def volume_rows(data: Array, k: int, m: int, bias: bool, rng: np.random.Generator) -> Planes:
    r"""Subsets with probability proportional to the squared volume of their rows, :math:`\det(Y_SY_S^T)`.

    Without bias that is the squared norm of the cross product. With bias the rows are (y, 1), of centered rows y scaled
    to a mean square of 1, so that the law depends neither on the origin nor on the unit.
    """
    if k == 0:
        return uniform_rows(data, k, m, bias, rng)
    rows = _centered(data) if bias else data
    lifted = np.hstack([rows, np.ones((len(rows), 1))]) if bias else rows
    if np.linalg.matrix_rank(lifted) < k:
        return _none(data, k)
    subsets = volume_sample(rows, k, size=m, rng=rng, bias=bias).astype(np.intp)
    return Planes(*_independent(data, subsets, bias)[:2])


def simplex_rows(data: Array, k: int, m: int, bias: bool, rng: np.random.Generator) -> Planes:
    """All facets of as few random simplices as give m planes: k + 1 of them from one matrix inverse.

    Two facets of a simplex share all rows but one, so gates are dependent among themselves; see `cross_simplex`.
    """
    n, each = len(data), k + 1
    vertices = np.array([rng.choice(n, size=each, replace=False) for _ in range(-(-m // each))], dtype=np.intp)
    facets = cross_simplex(_centered(data) if bias else data, vertices, bias=bias)
    rows = np.array([np.delete(subset, i) for subset in vertices for i in range(each)], dtype=np.intp)
    normals = facets.direction.reshape(len(vertices) * each, data.shape[1])
    independent = np.flatnonzero(normals.any(axis=1))[:m]
    return Planes(rows.reshape(len(normals), k)[independent], normals[independent])


def nearest_rows(data: Array, k: int, m: int, bias: bool, rng: np.random.Generator) -> Planes:
    r"""Rows nearest to a Gaussian plane, whose cross product replaces it: the plane is moved by as little as it takes.

    Draw :math:`g \sim N(0, I_r)` and :math:`b` as for Gaussian gates; take the k rows of least
    :math:`|y_i\cdot g + b| / ||y_i||` (with bias, of centered rows), and their cross product v with :math:`v\cdot g>0`.
    """
    centered = _centered(data) if bias else data
    length = np.linalg.norm(centered, axis=1)
    G = rng.standard_normal((data.shape[1], m))
    margins = centered @ G
    if bias:
        margins += margins.std(axis=0) * rng.standard_normal(m)
    # A row 0 spans nothing without bias, and with bias every plane is far from it in units of its length.
    angles = np.full(margins.shape, np.inf)
    np.divide(np.abs(margins), length[:, None], out=angles, where=length[:, None] > 0)
    # k rows of the least angle to each plane
    rows = np.argsort(angles, axis=0, kind="stable")[:k].T.astype(np.intp)
    spanning, normals, kept = _independent(data, rows, bias)
    # v·g > 0, so that v replaces g with its orientation
    sign = np.where(np.einsum("mr,rm->m", normals, G[:, kept]) < 0, -1.0, 1.0)
    return Planes(spanning, normals * sign[:, None], oriented=True)


ROW_RULES: dict[str, RowRule] = {
    "cross": uniform_rows,
    "leverage": leverage_rows,
    "volume": volume_rows,
    "simplex": simplex_rows,
    "polished": nearest_rows,
}


def _centered(data: Array) -> Array:
    """Return the rows less their mean, with entries of mean square 1."""
    rows = data - data.mean(axis=0)
    size = float(np.sqrt(np.mean(rows**2)))
    return np.asarray(rows / size if size > 0 else rows)


def _none(data: Array, k: int) -> Planes:
    """No plane at all: the rows are of a lower rank than k."""
    return Planes(np.zeros((0, k), dtype=np.intp), np.zeros((0, data.shape[1])))


def _drawn(data: Array, k: int, m: int, bias: bool, rng: np.random.Generator, share: Array | None = None) -> Planes:
    """Planes through m draws of k rows without replacement, of shares (n,) or alike."""
    rows = np.array([rng.choice(len(data), size=k, replace=False, p=share) for _ in range(m)], dtype=np.intp)
    return Planes(*_independent(data, rows.reshape(m, k), bias)[:2])


def _independent(data: Array, rows: NDArray[np.intp], bias: bool) -> tuple[NDArray[np.intp], Array, NDArray[np.intp]]:
    """Return those of ``rows`` (m, k) that are independent, their unit cross products, and which they are."""
    (m, k), r = rows.shape, data.shape[1]
    normals = np.empty((m, r))
    block = max(1, _BLOCK_BYTES // (8 * max(1, k) * r))
    for start in range(0, m, block):
        some = data[rows[start : start + block]]  # (·, k, r)
        normals[start : start + block] = cross_log(some[:, :-1] - some[:, -1:] if bias else some).direction
    kept = np.flatnonzero(normals.any(axis=1))
    return rows[kept], normals[kept], kept


PlaneRule = Callable[[Any, int, ArrayLike | None, bool, np.random.Generator], Gates]
"""``rule(X, n_gates, y, bias, rng)``: gates for the rows X (n, d), an array or `ShiftedRows`, and targets y or None."""


def gaussian_gates(X: Any, n_gates: int, y: ArrayLike | None, bias: bool, rng: np.random.Generator) -> Gates:
    r"""Directions :math:`w_i \sim N(0, I_d)`, offsets :math:`b_i = -w_i^T\bar x + \sigma_i \xi_i`, or 0 without bias.

    :math:`\bar x` is the mean row, :math:`\sigma_i` the standard deviation of :math:`Xw_i` over the rows and
    :math:`\xi_i \sim N(0, 1)`: the plane cuts the data where the data are, at every scale and position of X.
    Algorithm 3 of the paper takes :math:`b_i \sim N(0, 1)` whatever the data, so that on data of small norm or far
    from the origin its gates are constant; as a baseline that is unfair.
    """
    return _centered_on(X, rng.standard_normal((X.shape[1], n_gates)), bias, rng, "gaussian")


def orthogonal_gates(X: Any, n_gates: int, y: ArrayLike | None, bias: bool, rng: np.random.Generator) -> Gates:
    r"""Gaussian gates whose directions are orthogonal to each other in groups of d.

    A group is :math:`Q\,\mathrm{diag}(\chi_d)`, Q a uniform orthogonal matrix, with independent lengths: each direction
    has the law of a Gaussian one, and sums over gates vary less.

    References
    ----------
    Yu, Suresh, Choromanski, Holtmann-Rice, Kumar, "Orthogonal random features", NIPS 2016, equation (5).
    """
    d = X.shape[1]
    groups = []
    for begin in range(0, n_gates, d):
        some = min(d, n_gates - begin)  # columns of a group, which need not be made whole
        Q, R = np.linalg.qr(rng.standard_normal((d, some)))
        # QR with signs of diag(R) is uniform on orthogonal matrices; lengths are those of Gaussian vectors
        groups.append(Q * np.sign(np.diag(R)) * np.linalg.norm(rng.standard_normal((d, some)), axis=0))
    return _centered_on(X, np.hstack(groups), bias, rng, "orthogonal")


def _centered_on(X: Any, W: Array, bias: bool, rng: np.random.Generator, method: str) -> Gates:
    """Return gates of directions W (d, m) whose offsets cut the data where the data are."""
    m = W.shape[1]
    if not bias:
        return gates_without_incidence(W, np.zeros(m), method)
    mean = X.mean(axis=0)
    # b = -w·mean + σ ξ: the plane cuts the data where they are
    spread = (centered_rows(X) @ W).std(axis=0)
    return gates_without_incidence(W, spread * rng.standard_normal(m) - mean @ W, method)


def opposite_gates(X: Any, n_gates: int, y: ArrayLike | None, bias: bool, rng: np.random.Generator) -> Gates:
    r"""Planes between pairs of rows with different targets, each in the middle of its pair.

    .. math:: w = x_i - x_j, \quad b = -\tfrac12 w\cdot(x_i + x_j) \text{ with bias, else } 0, \qquad
        P(i, j) \propto ||y_i - y_j||,

    so that with classes every pair of different classes is as likely as any other. Rows on a plane (as the others of
    a regular grid) get random sides, by a step that changes no other row's side. Targets that are integers, booleans or
    text are classes; real ones are numbers, (n,) or (n, C). Raises ArgumentError: y is None or has not n entries, or
    all are equal; or rows with different targets never differ.
    """
    if y is None:
        raise fail("y", "sample_gates", "given for method='opposite'", None, "It draws pairs of different targets.")
    targets = target_codes(y, len(X))
    values, which = np.unique(targets, axis=0, return_inverse=True)
    which = which.ravel()
    counts = np.bincount(which)
    if len(values) < 2:
        hint = "There is nothing between rows of one class."
        raise fail("y", "sample_gates", "of two different values or more", describe("one value"), hint)
    members = np.split(np.argsort(which, kind="stable"), np.cumsum(counts)[:-1])
    # P(i) ∝ Σ_j ||y_i - y_j||, then P(j | i) ∝ ||y_i - y_j||
    first = counts * _sums(values, counts)
    first = first / first.sum()
    # A plane in R^d with offset is a central one of (x, s): s is the size of X, so that both parts are alike.
    mean = X.mean(axis=0) if bias else np.zeros(X.shape[1])
    centered = centered_rows(X) if bias else X
    size = float(np.sqrt(mean_square(centered)))
    size = size if size > 0 else 1.0
    rows = with_constant(centered, size) if bias else X
    samples = Samples(rows, bias=False)
    W, c = np.zeros((X.shape[1], 0)), np.zeros(0)
    for _ in range(_ROUNDS):
        m = n_gates - len(c)
        pairs = np.array([_pair(values, counts, members, first, rng) for _ in range(m)])
        a, b = X[pairs[:, 0]] - mean, X[pairs[:, 1]] - mean
        V = a - b
        if bias:
            # the plane through the midpoint, b = -w·(x_i + x_j) / 2
            V = np.hstack([V, -0.5 * np.einsum("md,md->m", a - b, a + b)[:, None] / size])
        V = V[(a != b).any(axis=1)]
        V = V / np.linalg.norm(V, axis=1, keepdims=True)
        none = np.zeros((len(V), 0), dtype=np.intp)
        moved = [move.direction for move in samples.moves(none, V.T, none.astype(bool), rng) if move.safe]
        if moved:
            directions = np.stack(moved, axis=1)
            H = directions[: X.shape[1]]
            offsets = size * directions[-1] - mean @ H if bias else np.zeros(len(moved))
            clear = _clear(X, H, offsets)
            W, c = np.hstack([W, H[:, clear]]), np.concatenate([c, offsets[clear]])
        if len(c) == n_gates:
            return gates_without_incidence(W, c, "opposite")
    rule = "distinct rows where their targets are distinct"
    raise fail("X", "sample_gates", rule, describe(f"{len(X)} rows, {len(c)} planes between them"), "Clean X.")


def _clear(X: Any, W: Array, c: Array) -> NDArray[np.bool_]:
    """Tell which planes leave every row (but a row 0 on a central plane) further away than rounding can reach."""
    scale = row_lengths(X)[:, None] * np.linalg.norm(W, axis=0) + np.abs(c)
    return np.asarray(((np.abs(X @ W + c) > _CLEAR * scale) | (scale == 0)).all(axis=0))


def target_codes(y: ArrayLike, n: int) -> Array:
    """Return targets (n, C): numbers as they are, classes as unit vectors."""
    array: NDArray[Any] = np.asarray(y)
    if array.ndim not in (1, 2) or len(array) != n or array.size == 0:
        rule = f"of shape ({n},) or ({n}, C), one for each row"
        raise fail("y", "sample_gates", rule, describe(f"shape {array.shape}"))
    if array.ndim == 1 and array.dtype.kind not in "f":
        classes, which = np.unique(array, return_inverse=True)
        return np.asarray(np.eye(len(classes))[which])
    real = np.asarray(as_real(array, "y", "sample_gates"), dtype=np.float64)
    return real.reshape(n, -1)


def _sums(values: Array, counts: NDArray[np.intp]) -> Array:
    """Return the sum of distances of each value (K, C) to all rows' values, with their counts."""
    if values.shape[1] == 1:  # ascending: sums of what is below and above
        v = values[:, 0]
        below, lower = np.cumsum(counts), np.cumsum(counts * v)
        return np.asarray(v * (2 * below - below[-1]) - 2 * lower + lower[-1])
    step = max(1, _BLOCK // len(values))
    parts = [cdist(values[start : start + step], values) @ counts for start in range(0, len(values), step)]
    return np.concatenate(parts)


def _pair(
    values: Array, counts: NDArray[np.intp], members: list[NDArray[np.intp]], first: Array, rng: np.random.Generator
) -> tuple[int, int]:
    i = int(rng.choice(len(values), p=first))
    weight = np.linalg.norm(values - values[i], axis=1) * counts
    j = int(rng.choice(len(values), p=weight / weight.sum()))
    return int(rng.choice(members[i])), int(rng.choice(members[j]))


PLANE_RULES: dict[str, PlaneRule] = {
    "gaussian": gaussian_gates,
    "opposite": opposite_gates,
    "orthogonal": orthogonal_gates,
}
