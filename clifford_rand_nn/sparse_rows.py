"""Rows, dense or CSR: checks, lengths, the constant feature of penalized biases, unique rows, groups, tiles."""

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse

from clifford_rand._checks import as_real, as_rows, describe, fail
from clifford_rand._typing import Array
from clifford_rand.sketch.base import Sketch

WIDE = 4096  # columns up to which sparse rows are made dense without a thought: products of BLAS are as fast there
_SPARSE = 0.2  # share of entries that are not zero, below which products of sparse rows are less work
_LARGE = 2**25  # entries, zeros with them, above which no copy of sparse rows is made only to judge a network
_COMPARED_BYTES = 2**21  # of columns of sparse rows that are compared at a time
_FIRST_COLUMNS = 8  # columns that tell most rows apart
_BLOCK_BYTES = 2**26  # of rows that are dense at a time


def as_rows_or_csr(X: Any, owner: str) -> Any:
    """Return X (n, d), n ≥ 1 and d ≥ 1, as a float64 array, or as CSR without repeated entries if it is sparse.

    Raises ArgumentError if it is something else, or not finite.
    """
    if not issparse(X):
        return as_rows(X, owner)
    if X.dtype.kind not in "biuf" or len(X.shape) != 2 or 0 in X.shape:
        rule = "an (n, d) array of real numbers with n ≥ 1 and d ≥ 1"
        raise fail("X", owner, rule, describe(f"dtype {X.dtype}, shape {X.shape}"))
    rows = csr_array(X, dtype=np.float64)
    as_real(rows.data, "X", owner)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def row_tiles(n: int, size: int, first: int = 0) -> list[slice]:
    """Cut n rows, or those from ``first`` on, into tiles, which are worked on one at a time."""
    return [slice(start, min(start + size, n)) for start in range(first, n, size)]


def by_content(X: Any) -> Any:
    """Return rows as CSR, without stored zeros, if few entries are not zero, and else dense: however they came."""
    count = X.count_nonzero() if issparse(X) else np.count_nonzero(X)
    if count > _SPARSE * X.shape[0] * X.shape[1]:
        return X.toarray() if issparse(X) else np.asarray(X)
    rows = csr_array(X, dtype=np.float64, copy=issparse(X))
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def ldexp_rows(X: Any, exponent: int) -> Any:
    r"""Return rows, dense or CSR, times :math:`2^x`."""
    if not issparse(X):
        return np.ldexp(X, exponent)
    out = X.copy()
    out.data = np.ldexp(X.data, exponent)
    return out


def is_wide_sparse(X: Any) -> bool:
    """Tell whether rows are sparse, and products with them as they are the thing to make."""
    return bool(issparse(X) and X.shape[1] > WIDE)


def is_large_sparse(X: Any) -> bool:
    """Tell whether rows are sparse, and a dense copy of them large."""
    return is_wide_sparse(X) or (issparse(X) and X.shape[0] * X.shape[1] > _LARGE)


def row_squares(X: Any) -> Array:
    """Return the squared lengths (n,) of rows (n, d), dense or CSR."""
    if issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1))
    return np.asarray(np.einsum("nd,nd->n", X, X, dtype=np.float64))


def row_lengths(X: Any) -> Array:
    """Return the lengths (n,) of rows (n, d), dense, CSR or shifted."""
    if isinstance(X, ShiftedRows):
        return X.lengths()
    return np.asarray(np.sqrt(row_squares(X)))


class ShiftedRows:
    r"""The rows :math:`x_i - m` of a CSR matrix (n, d), of which only some are dense at a time.

    What a sampler asks of an array is here too: ``shape``, ``len``, rows by index, products with columns, the mean.

    Parameters
    ----------
    X : CSR (n, d)
    shift : (d,), optional
        m, zero if not given.

    Examples
    --------
    >>> rows = ShiftedRows(csr_array([[0.0, 4.0], [2.0, 0.0]])).centered()
    >>> rows[[0, 1]].tolist(), (rows @ np.array([[1.0], [0.0]])).ravel().tolist()
    ([[-1.0, 2.0], [1.0, -2.0]], [-1.0, 1.0])
    """

    def __init__(self, X: Any, shift: Array | None = None) -> None:
        self.X = X
        self.shift = np.zeros(X.shape[1]) if shift is None else shift
        self.shape = X.shape

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, index: Any) -> Array:
        rows = self.X[np.atleast_1d(index)].toarray() - self.shift
        return np.asarray(rows if np.ndim(index) else rows[0])

    def __matmul__(self, V: Array) -> Array:
        return np.asarray(self.X @ V - self.shift @ V)

    def mean(self, axis: int) -> Array:
        """Return the mean row, for ``axis=0``."""
        return np.asarray(np.ravel(self.X.mean(axis=axis)) - self.shift)

    def centered(self) -> "ShiftedRows":
        """Return the rows less their mean."""
        return ShiftedRows(self.X, self.shift + self.mean(axis=0))

    def lengths(self) -> Array:
        """Return the lengths (n,)."""
        squares = row_squares(self.X) - 2 * (self.X @ self.shift) + self.shift @ self.shift
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def sketched(self, sketch: Sketch) -> Array:
        """Return what a sketch S makes of the rows, X Sᵀ, some dense at a time."""
        step = max(1, _BLOCK_BYTES // (8 * self.shape[1]))
        blocks = (self.X[start : start + step] @ sketch.T for start in range(0, len(self), step))
        parts = [block.toarray() if issparse(block) else block for block in blocks]
        return np.asarray(np.concatenate(parts) - self.shift @ sketch.T)


def centered_rows(X: Any) -> Any:
    """Return rows less their mean, an array or `ShiftedRows`."""
    return X.centered() if isinstance(X, ShiftedRows) else X - X.mean(axis=0)


def with_constant(X: Any, value: float) -> Any:
    """Return the rows [X c], dense, CSR or shifted, of the dtype of X."""
    if isinstance(X, ShiftedRows):
        return ShiftedRows(with_constant(X.X, value), np.append(X.shift, 0.0))
    column = np.full((X.shape[0], 1), value, dtype=X.dtype)
    return hstack([csr_array(X), column], format="csr") if issparse(X) else np.hstack([X, column])


def mean_square(X: Any) -> float:
    """Return the mean square of the entries of rows, an array or `ShiftedRows`."""
    if isinstance(X, ShiftedRows):
        return float(np.mean(X.lengths() ** 2) / X.shape[1])
    return float(np.mean(X**2))


Bias = Literal["penalized"] | bool


def check_bias(bias: Any, owner: str) -> Bias:
    """Return "penalized", True (also for "free") or False; raise ArgumentError for anything else."""
    if isinstance(bias, bool | np.bool_):
        return bool(bias)
    if isinstance(bias, str) and bias in ("penalized", "free"):
        return "penalized" if bias == "penalized" else True
    raise fail("bias", owner, "'penalized', 'free' (True) or False", bias)


def bias_feature(X: Any, weights: Array | None = None) -> float:
    r"""Return the constant c that stands beside the rows X (n, d), dense or CSR, the root mean square of their entries.

    .. math:: c^2 = \frac{\sum_iw_i||x_i||^2}{d\sum_iw_i}

    With it a bias weighs what a weight of a typical feature weighs, whatever the unit of X: rows s X and the weight
    s β of the penalty give the same network. It is 1 for standardized columns, and for rows that are all 0. Neither
    the order of the rows nor copies of them, instead of weights, change a bit of it.

    Examples
    --------
    >>> bias_feature(np.array([[3.0, -3.0], [3.0, 3.0]]))
    3.0
    """
    n, d = X.shape
    w = np.ones(n) if weights is None else weights
    mean = math.fsum(w * row_squares(X)) / (math.fsum(w) * d)
    return float(X.dtype.type(math.sqrt(mean))) if mean > 0 else 1.0


def with_feature(X: Any, feature: float | None) -> Any:
    """Return the rows [X c], dense or CSR, of the dtype of X; without a feature X itself."""
    return X if feature is None else with_constant(X, feature)


def distinct_rows(X: Any) -> NDArray[np.intp]:
    """Return the first index of each distinct row of X (n, d), dense or CSR, in lexicographic order of the rows.

    What is drawn from these rows depends neither on the order of the rows nor on how often one occurs.
    """
    return merged_rows(X)[0]


def merged_rows(X: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return `distinct_rows`, and for each row of X (n, d), dense or CSR, its place among them."""
    n, d = X.shape
    first, place, start = np.zeros(min(n, 1), dtype=np.intp), np.zeros(n, dtype=np.intp), 0
    while start < d and len(first) < n:  # some columns at a time, until all rows are distinguished
        width = max(1, _COMPARED_BYTES // (8 * n)) if issparse(X) else max(_FIRST_COLUMNS, start)
        part = X[:, start : start + width]
        first, place = _merged(np.column_stack([place, part.toarray() if issparse(X) else part]))
        start += width
    return first, place


def group_means(values: Array, place: NDArray[np.intp], weights: Array | None = None) -> Array:
    """Return the means (k, C) of values (n, C) by weights (n,), or equal ones, over the rows of each group ``place``.

    >>> group_means(np.array([[1.0], [3.0], [7.0]]), np.array([0, 0, 1])).tolist()
    [[2.0], [7.0]]
    """
    own = np.ones(len(place)) if weights is None else weights
    sums = np.stack([np.bincount(place, own * column) for column in values.T], axis=1)
    return np.asarray(sums / np.bincount(place, own)[:, None])


def _merged(X: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    bits = (np.ascontiguousarray(X, dtype=np.float64) + 0.0).view(np.int64)  # + 0.0 turns -0 to 0
    # The bits of floats as unsigned integers of the same order, with the highest byte first: rows compare as bytes do.
    keys = (bits ^ (bits >> 63 | np.int64(-(2**63)))).astype(">i8")
    return np.unique(keys.view(f"V{8 * X.shape[1]}").ravel(), return_index=True, return_inverse=True)[1:]
