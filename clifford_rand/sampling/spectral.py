"""Exact volume sampling: singular vectors chosen by elementary symmetric polynomials, then rows by projection."""

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand.sampling.rows import draw

_CHUNK_BYTES = 64 * 2**20  # of gathered singular vectors


def sample_rows(U: Array, log_weight: Array, k: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    r"""Return ``size`` subsets (size, k), ascending, of P(S) ∝ det (U Λ Uᵀ)_S, U (n, r) orthonormal, k ≤ r.

    That law is a mixture (Kulesza and Taskar 2012, Algorithm 8): k columns J of U are chosen with probability ∝ Π λ_j,
    then rows with P(S) = det(U_SJ)².
    """
    n, r = U.shape
    index = np.empty((size, k), np.int64)
    vectors = np.ascontiguousarray(U.T)
    step = max(1, _CHUNK_BYTES // (8 * n * k))
    table = log_elementary(log_weight, k) if k < r else None
    for start in range(0, size, step):
        part = index[start : start + step]
        if table is None:
            gathered = np.broadcast_to(vectors, (len(part), r, n))
        else:
            gathered = vectors[_columns(log_weight, table, len(part), rng)]
        part[:] = _project(gathered, rng)
    index.sort(axis=1)
    return index


def log_elementary(log_weight: Array, k: int) -> Array:
    r"""Return log e_j(λ_1, …, λ_m) for m = 0 … r and j = 0 … k, (r + 1, k + 1).

    .. math:: e_j(λ_1, …, λ_m) = e_j(λ_1, …, λ_{m-1}) + λ_m e_{j-1}(λ_1, …, λ_{m-1}).
    """
    table = np.full((len(log_weight) + 1, k + 1), -np.inf)
    table[:, 0] = 0.0
    for m, value in enumerate(log_weight):
        table[m + 1, 1:] = np.logaddexp(table[m, 1:], value + table[m, :-1])
    return table


def _columns(log_weight: Array, table: Array, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return ``size`` sets (size, k) of columns with probability ∝ the product of their weights, by the table."""
    r, k = len(log_weight), table.shape[1] - 1
    left = np.full(size, k)
    taken = np.zeros((size, r), bool)
    for m in range(r, 0, -1):
        open_ = np.flatnonzero(left > 0)
        need = left[open_]
        log_probability = log_weight[m - 1] + table[m - 1, need - 1] - table[m, need]
        # where as many are left as are needed all are taken: of a quotient that is 1 but for rounding
        take = (need == m) | (rng.random(len(open_)) < np.exp(np.minimum(log_probability, 0.0)))
        taken[open_[take], m - 1] = True
        left[open_[take]] -= 1
    return np.nonzero(taken)[1].reshape(size, k)


def _project(vectors: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    r"""Return subsets (B, k) with P(S) = det(V_S)² for orthonormal V (B, k, n), transposed: rows by the chain rule.

    Row i follows the rows already drawn with probability ∝ the squared distance of v_i from their span.
    """
    B, k = vectors.shape[:2]
    each = np.arange(B)
    first = np.einsum("bkn,bkn->bn", vectors, vectors)
    weight = first.copy()
    floor = 8 * k * np.finfo(np.float64).eps * first  # what rounding leaves of a row in the span
    drawn = np.empty((B, k), np.int64)
    basis = np.zeros((B, k, k))
    for t in range(k):
        row = draw(weight, rng)
        drawn[:, t] = row
        v = vectors[each, :, row]
        for _ in range(2):  # twice is enough (Kahan)
            v = v - np.matmul(np.matmul(basis[:, :t], v[:, :, None])[:, None, :, 0], basis[:, :t])[:, 0]
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        basis[:, t] = v
        weight -= np.matmul(v[:, None, :], vectors)[:, 0] ** 2
        weight[weight <= floor] = 0.0
        weight[each[:, None], drawn[:, : t + 1]] = 0.0
    return drawn
