"""Coordinates of the rows of a gated map, dense or CSR, its masked products, and a basis of what no penalty touches."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, solve_triangular
from scipy.sparse import csr_array, issparse

from clifford_rand._checks import describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD, for_each_part, sum_of_parts
from clifford_rand._typing import Array
from clifford_rand_nn.rounding import BLOCK
from clifford_rand_nn.sparse_rows import row_tiles

# Entries of a tile's product: 1 MB in single precision, which stays in the second-level cache between the product and
# the mask. From 512 to 8192 rows the time changes by less than its noise.
_ENTRIES = 2**18
# A tile has at least as many rows, so that adding a block of X^T R costs little beside making it.
_ROWS = 1024
# A product of as many multiplications takes one thread half a millisecond, three times as long as a thread takes to
# start. Each thread of ours calls BLAS on its own rows, so that masks are shared out too; on a busy machine that took
# half the time of the same tiles with BLAS's own threads, which wait for each other in every tile.
_THREADED = 10**7
_SPARSE_WORK = 10  # a number of a sparse row takes as long as so many of a dense one
_RANK_TOL = 1e-10  # singular values of the 0/1 bias columns below this share of the largest are zero
# Directions of less than this share of the largest variance are scaled up no further. Iterations of FISTA to a gap of
# 1e-6 on six problems (n = 2000, P = 50; text, pixels, reports): over 18,700 unscaled, 13,000 at 0.1, 10,600 at 0.03,
# 10,400 at 0.01.
_FLOOR = 0.01
# Weights are rounded to powers of 2^(1/8), so that a coordinate is scaled by 4 % more or less than it could be and at
# most 28 different weights remain. The prox of the penalty costs as much as there are different ones.
_LEVELS_PER_OCTAVE = 8
_EPS = float(np.finfo(np.float64).eps)
TILE = 4096  # rows that are converted to double precision and centered at a time
_SMALL = 10**6  # entries of the bias columns up to which their singular value decomposition takes under 0.2 s
_GRAM_TOL = 1e-12  # eigenvalues of a Gram matrix below this share of the largest may be rounding


def masked_product(X: Any, mask: NDArray[np.bool_], U: NDArray[Any]) -> NDArray[Any]:
    r"""Return :math:`\sum_i D_i X U_i`, (n, C), in the precision of U.

    Gates whose U_i is zero are left out. X is converted tile by tile if its precision is another.

    ``X`` (n, d). ``mask`` (P, n): row i is the diagonal of D_i. ``U`` (d, P, C).
    """
    active = _active(U)
    if active is not None:
        U = U[:, active]
    d, P, C = U.shape
    n = X.shape[0]
    columns = np.ascontiguousarray(U).reshape(d, P * C)
    f = np.empty((n, C), dtype=U.dtype)

    def work(rows: slice) -> None:
        for tile in _tiles(rows, P * C):
            on = mask[:, tile] if active is None else mask[active, tile]
            some = X[tile].astype(U.dtype, copy=False)
            Z = ((some @ columns).T if issparse(X) else columns.T @ some.T).reshape(P, C, on.shape[1])
            np.multiply(Z, on[:, None, :], out=Z)
            f[tile] = Z.sum(axis=0).T

    with ONE_BLAS_THREAD:
        for_each_part(work, n, least=_least(X, P * C))
    return f


def masked_transpose(X: Any, mask: NDArray[np.bool_], R: NDArray[Any]) -> NDArray[Any]:
    r"""Return the blocks :math:`X^TD_iR` as (d, P, C), in the precision of R (n, C): the transpose of `masked_product`.

    Parts of the sum over rows depend on their number alone and are added in a fixed order: the same bits every time. In
    double precision they are blocks, whose roundings are counted (`additions`).
    """
    n, C = R.shape
    d, P = X.shape[1], len(mask)

    def term(rows: slice) -> NDArray[Any]:
        total: NDArray[Any] | None = None
        single = R.dtype == np.float32
        for tile in _tiles(rows, P * C) if single else row_tiles(rows.stop, BLOCK, rows.start):
            Z = np.multiply(mask[:, None, tile], R[tile].T, dtype=R.dtype).reshape(P * C, tile.stop - tile.start)
            product = X[tile].astype(R.dtype, copy=False).T @ Z.T
            total = product if total is None else np.add(total, product, out=total)
        return np.zeros((d, P * C), dtype=R.dtype) if total is None else total

    with ONE_BLAS_THREAD:
        return sum_of_parts(term, n, least=_least(X, P * C)).reshape(d, P, C)


def _per_row(X: Any) -> int:
    """Return the numbers of a row that a product takes; those of a sparse one take as long as some in a dense one."""
    n, d = X.shape
    return int(_SPARSE_WORK * (1 + X.nnz // max(1, n)) if issparse(X) else d)


def _active(U: NDArray[Any]) -> NDArray[np.intp] | None:
    """Gates with a coefficient other than zero, or None if that leaves out too few to pay for a copy."""
    idle: Any = ~U[:1].any(axis=(0, 2))  # the first coordinate of an active gate is hardly ever zero
    if not idle.any():
        return None
    idle[idle] = ~U[:, idle].any(axis=(0, 2))
    return np.flatnonzero(~idle) if 4 * np.count_nonzero(idle) >= idle.size else None


def _tiles(rows: slice, width: int) -> list[slice]:
    """Cut rows into tiles of about `_ENTRIES` entries of a product with ``width`` columns."""
    return row_tiles(rows.stop, max(_ROWS, _ENTRIES // max(1, width)), rows.start)


def _least(X: Any, width: int) -> int:
    """Return the rows that are worth a thread, for a product with ``width`` columns."""
    return -(-_THREADED // max(1, _per_row(X) * width))


def coordinates(X: NDArray[Any], centered: bool) -> tuple[Array, Array]:
    """Orthonormal basis (d, r) of the directions in which the rows vary, and the weight (r,) of each coordinate.

    X (n, d) may be in single precision; the result is in double, and no copy of X is made unless n < d.

    The squares of a Gram matrix do not tell a direction 1e-8 times as long as the longest from none. A direction is
    left out only where the rows themselves are rounding along it: a network without it would be bounded, and no other.
    """
    n, d = X.shape
    mean = np.sum(X, axis=0, dtype=np.float64) / n if centered else np.zeros(d)
    tiles, largest = row_tiles(n, TILE), np.zeros(d)
    for tile in tiles:
        largest = np.maximum(largest, np.abs(X[tile] - mean).max(axis=0))  # in double precision, as the mean is
    scale = max(float(largest.max(initial=0.0)), np.finfo(np.float64).tiny)
    frame = None
    if n < d:
        frame, triangle = np.linalg.qr((X - mean).T / scale)  # the row space first: n directions
        gram = triangle @ triangle.T
    else:
        gram = np.zeros((d, d))
        for tile in tiles:
            rows = (X[tile] - mean) / scale
            gram += rows.T @ rows
    variance, vectors = np.linalg.eigh(gram)
    top = max(float(variance[-1]), 0.0)
    first = int(np.count_nonzero(variance <= max(n, d) * _EPS * top))
    basis = vectors if frame is None else frame @ vectors
    if first:
        idle, along = basis[:, :first], np.zeros(first)
        idle = np.where(np.abs(idle) > d * _EPS, idle, 0.0)  # of a column of zeros exactly that one
        for tile in tiles:
            along = np.maximum(along, np.abs((X[tile] - mean) @ idle).max(axis=0))
        if (along > max(n, d) * _EPS * (largest @ np.abs(idle))).any():
            first = 0
    return basis[:, first:], even_weights(variance[first:], top)


def even_weights(variance: Array, top: float) -> Array:
    """Return the weights (r,) that even out variances of coordinates, the largest of which is ``top``."""
    octaves = -0.5 * np.log2(np.maximum(variance / top, _FLOOR) if top > 0 else variance + 1.0)
    return np.asarray(2.0 ** (np.round(octaves * _LEVELS_PER_OCTAVE) / _LEVELS_PER_OCTAVE))


def unpenalized_basis(mask: NDArray[np.bool_], bias: bool, fit_intercept: bool) -> tuple[Array, Array]:
    """Orthonormal basis Q (n, q) of the unpenalized columns B (n, p), and the (p, q) matrix R with B R = Q.

    B has a column for each gate of mask (P, n) if ``bias``, and one of ones if ``fit_intercept``. R is the
    pseudo-inverse of B times Q. Few columns are decomposed by singular values, many through B^T B.
    """
    n = mask.shape[1]
    B = np.concatenate([mask.T[:, : len(mask) * bias], np.ones((n, int(fit_intercept)))], axis=1)
    p, rank_tol = B.shape[1], max(_RANK_TOL, n * _EPS)
    if p == 0:
        return B, np.zeros((0, 0))
    by_gram = _by_gram(B, rank_tol) if n * p > _SMALL and p < n else None
    if by_gram is not None:
        return by_gram
    W, s, Vt = np.linalg.svd(B, full_matrices=False)
    rank = np.count_nonzero(s > rank_tol * s[0])
    return W[:, :rank], Vt[:rank].T / s[:rank]


def _by_gram(B: Array, rank_tol: float) -> tuple[Array, Array] | None:
    """Eigenvectors of B^T B, then a Cholesky step that makes Q orthonormal to rounding; None where rank is doubtful."""
    variance, V = np.linalg.eigh(B.T @ B)
    top = float(variance[-1])
    first = np.count_nonzero(variance <= max(_GRAM_TOL, len(B) * _EPS) * top)
    if not top > 0:
        return None
    R = V[:, first:] / np.sqrt(variance[first:])
    Q = B @ R
    inverse = solve_triangular(np.linalg.cholesky(Q.T @ Q), np.eye(Q.shape[1]), lower=True).T
    for tile in row_tiles(len(Q), TILE):
        Q[tile] = Q[tile] @ inverse
    # What was taken for rounding must be rounding: a column outside the span would make the dual bound false.
    rest = B @ V[:, :first]
    rest = rest - Q @ (Q.T @ rest)
    if np.linalg.norm(rest, axis=0).max(initial=0.0) > rank_tol * top**0.5:
        return None
    return Q, R @ inverse


MOST = 4000  # rows up to which their products are decomposed: 1.2e-10 n³ s, twenty steps of the kernel method
_PRODUCT_TILE = 1024  # rows whose products with all rows are made at a time


def as_array(X: Any) -> Any:
    """Return rows as an array, those of `CsrRows` as a dense copy: for what is small."""
    return X.X.toarray() if isinstance(X, CsrRows) else X


def dense_coordinates(Y: Any) -> Array:
    """Return coordinates (n, r) of rows, if they are dense.

    Raises ArgumentError: they are the columns of sparse rows.
    """
    if issparse(Y):
        rule = f"one whose sparse rows are at most {MOST}, and fewer than columns"
        raise fail("problem", "GramNewton", rule, describe("{} rows of {} columns".format(*Y.shape)), "Use Fista.")
    return np.asarray(Y)


def same_problem_rows(X: Any, other: Any) -> bool:
    """Tell whether the rows of two problems are the same numbers."""
    if X is other:
        return True
    if isinstance(X, CsrRows) and isinstance(other, CsrRows):
        return bool(X.shape == other.shape and (X.X - other.X).count_nonzero() == 0)
    return not isinstance(X, CsrRows) and not isinstance(other, CsrRows) and np.array_equal(X, other)


class CsrRows:
    r"""CSR rows X (n, d) with coordinates Y = X V, which are made once for all problems on them.

    With :math:`XX^T=Q\Lambda Q^T`, :math:`W=Q\Lambda^{-1/2}` the directions :math:`V=X^TW` are an orthonormal basis of
    the span of the rows, and :math:`Y=Q\Lambda^{1/2}`: the problem on n rows of rank r has dense rows (n, r), and
    nothing has a number for each row and column. Rounding leaves :math:`V^TV-I` of the order of
    :math:`\epsilon\lambda_1/\sqrt{\lambda_i\lambda_j}`, much for directions in which the rows vary by little; but a
    solution :math:`U=X^TD\theta` has only the share :math:`\lambda_i/\lambda_1` in these. With more than 4000 rows, or
    no more columns than rows, V = I and Y = X stays sparse.

    ``X`` (n, d). ``shape`` (n, d). ``weights`` (r,): w, as of any gated map. ``unweighted`` (n, r): Y, an array or CSR.
    ``rows`` (n, r): Y diag(w).

    Examples
    --------
    >>> rows = CsrRows(csr_array([[3.0, 0.0, 0.0], [0.0, 0.0, 4.0]]))
    >>> np.allclose(rows.unweighted @ rows.unweighted.T, [[9, 0], [0, 16]])
    True
    """

    _whiten: Array | None = None  # W; None for V = I

    def __init__(self, X: Any) -> None:
        self.X = self.unweighted = csr_array(X)
        self.dtype, self.shape = self.X.dtype, self.X.shape
        n, d = self.shape
        if n >= d or n > MOST:
            squares = np.asarray(np.bincount(self.X.indices, self.X.data**2, minlength=d), dtype=np.float64)
            self.weights = even_weights(squares, float(squares.max(initial=0.0)))
            self.rows = self.X.copy()
            self.rows.data *= self.weights[self.rows.indices]
            return
        products = np.empty((n, n))
        for tile in row_tiles(n, _PRODUCT_TILE):
            products[tile] = (self.X[tile] @ self.X.T).toarray()
        values, vectors = eigh(products, overwrite_a=True, check_finite=False)
        top = max(float(values[-1]), 0.0)
        kept = values > max(n, d) * _EPS * top
        values, vectors = values[kept], vectors[:, kept]
        lengths = np.sqrt(values)
        self._whiten, self.weights, self.unweighted = vectors / lengths, even_weights(values, top), vectors * lengths
        self.rows = self.unweighted * self.weights

    def __len__(self) -> int:
        return int(self.shape[0])

    def in_columns(self, U: Array) -> Array:
        """Return V U, (r, k) to (d, k)."""
        return U if self._whiten is None else np.asarray(self.X.T @ (self._whiten @ U))

    def in_coordinates(self, A: Array) -> Array:
        """Return VᵀA, (d, k) to (r, k)."""
        return A if self._whiten is None else np.asarray(self._whiten.T @ (self.X @ A))
