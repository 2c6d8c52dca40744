"""Rows that are dense or CSR: checked, and the few things that are asked of both."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from clifford_rand._checks import as_real, as_rows, describe, fail
from clifford_rand._typing import Array
from clifford_rand.sketch.base import Sketch

WIDE = 4096  # columns up to which sparse rows are made dense without a thought: products of BLAS are as fast there
_LARGE = 2**25  # entries, zeros with them, above which no copy of sparse rows is made only to judge a network
_BLOCK_BYTES = 2**26  # of rows that are dense at a time


def as_rows_or_csr(X: Any, owner: str) -> Any:
    """Return X (n, d), n ≥ 1 and d ≥ 1, as a float64 array, or as CSR without repeated entries if it is sparse.

    Raises
    ------
    ArgumentError
        It is something else, or not finite.

    Examples
    --------
    >>> as_rows_or_csr(csr_array(np.eye(2, dtype=int)), "example").dtype
    dtype('float64')
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
    >>> rows = ShiftedRows(csr_array([[0.0, 4.0], [2.0, 0.0]])).centred()
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

    def centred(self) -> "ShiftedRows":
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
        made = [block.toarray() if issparse(block) else block for block in blocks]
        return np.asarray(np.concatenate(made) - self.shift @ sketch.T)


def centred_rows(X: Any) -> Any:
    """Return rows less their mean, an array or `ShiftedRows`."""
    return X.centred() if isinstance(X, ShiftedRows) else X - X.mean(axis=0)


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
