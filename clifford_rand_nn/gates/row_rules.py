"""Rules that choose the rows which span a plane: uniform, by leverage, by volume, simplices, nearest to a Gaussian."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand.crossproduct.exact import cross_log
from clifford_rand.crossproduct.simplex import cross_simplex
from clifford_rand.sampling.leverage import leverage_scores
from clifford_rand.sampling.volume import volume_sample

_BLOCK_BYTES = 64 * 2**20  # of sampled rows held at a time


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
    rows = np.array([rng.choice(len(data), size=k, replace=False) for _ in range(m)], dtype=np.intp)
    return _products(data, rows.reshape(m, k), bias)


def leverage_rows(data: Array, k: int, m: int, bias: bool, rng: np.random.Generator) -> Planes:
    r"""Rows drawn one after the other with probabilities proportional to their leverage scores, none twice.

    .. math:: P(j) \propto \ell_j = y_j^T (Y^TY)^+ y_j, \qquad Y = XS^T,

    or those of the rows (y, 1) with bias. In a sketch these are scores of the sketched rows, which are the ones that
    are multiplied.
    """
    scores = leverage_scores(data, bias=bias)
    if np.count_nonzero(scores) < k:
        return _none(data, k)
    share = scores / scores.sum()
    rows = np.array([rng.choice(len(data), size=k, replace=False, p=share) for _ in range(m)], dtype=np.intp)
    return _products(data, rows.reshape(m, k), bias)


def volume_rows(data: Array, k: int, m: int, bias: bool, rng: np.random.Generator) -> Planes:
    r"""Subsets with probability proportional to the squared volume of their rows, :math:`\det(Y_SY_S^T)`.

    Without bias that is the squared norm of the cross product. With bias the rows are (y, 1), of centred rows y scaled
    to a mean square of 1, so that the law depends neither on the origin nor on the unit.
    """
    if k == 0:
        return uniform_rows(data, k, m, bias, rng)
    rows = _centred(data) if bias else data
    lifted = np.hstack([rows, np.ones((len(rows), 1))]) if bias else rows
    if np.linalg.matrix_rank(lifted) < k:
        return _none(data, k)
    return _products(data, volume_sample(rows, k, m, rng=rng, bias=bias).astype(np.intp), bias)


def simplex_rows(data: Array, k: int, m: int, bias: bool, rng: np.random.Generator) -> Planes:
    """All facets of as few random simplices as give m planes: k + 1 of them from one matrix inverse.

    Two facets of a simplex share all rows but one, so gates are dependent among themselves; see `cross_simplex`.
    """
    n, each = len(data), k + 1
    vertices = np.array([rng.choice(n, size=each, replace=False) for _ in range(-(-m // each))], dtype=np.intp)
    facets = cross_simplex(_centred(data) if bias else data, vertices, bias=bias)
    rows = np.array([np.delete(subset, i) for subset in vertices for i in range(each)], dtype=np.intp)
    normals = facets.direction.reshape(len(vertices) * each, data.shape[1])
    independent = np.flatnonzero(normals.any(axis=1))[:m]
    return Planes(rows.reshape(len(normals), k)[independent], normals[independent])


def nearest_rows(data: Array, k: int, m: int, bias: bool, rng: np.random.Generator) -> Planes:
    r"""Rows nearest to a Gaussian plane, whose cross product replaces it: the plane is moved by as little as it takes.

    Draw :math:`g \sim N(0, I_r)` and :math:`b` as for Gaussian gates; take the k rows of least
    :math:`|y_i\cdot g + b| / ||y_i||` (with bias, of centred rows), and their cross product v with :math:`v\cdot g>0`.
    """
    centred = _centred(data) if bias else data
    length = np.linalg.norm(centred, axis=1)
    G = rng.standard_normal((data.shape[1], m))
    margins = centred @ G
    if bias:
        margins += margins.std(axis=0) * rng.standard_normal(m)
    # A row 0 spans nothing without bias, and with bias every plane is far from it in units of its length.
    angles = np.full(margins.shape, np.inf)
    np.divide(np.abs(margins), length[:, None], out=angles, where=length[:, None] > 0)
    rows = np.argsort(angles, axis=0, kind="stable")[:k].T.astype(np.intp)
    found, normals, kept = _independent(data, rows, bias)
    sign = np.where(np.einsum("mr,rm->m", normals, G[:, kept]) < 0, -1.0, 1.0)
    return Planes(found, normals * sign[:, None], oriented=True)


ROW_RULES: dict[str, RowRule] = {
    "cross": uniform_rows,
    "leverage": leverage_rows,
    "volume": volume_rows,
    "simplex": simplex_rows,
    "polished": nearest_rows,
}


def _centred(data: Array) -> Array:
    """Return the rows less their mean, with entries of mean square 1."""
    rows = data - data.mean(axis=0)
    size = float(np.sqrt(np.mean(rows**2)))
    return np.asarray(rows / size if size > 0 else rows)


def _none(data: Array, k: int) -> Planes:
    """No plane at all: the rows are of a lower rank than k."""
    return Planes(np.zeros((0, k), dtype=np.intp), np.zeros((0, data.shape[1])))


def _products(data: Array, rows: NDArray[np.intp], bias: bool) -> Planes:
    found, normals, _ = _independent(data, rows, bias)
    return Planes(found, normals)


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
