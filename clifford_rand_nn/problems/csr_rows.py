r"""CSR rows of a gated problem, in coordinates of their span or, where rows are many, column by column."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, issparse

from clifford_rand._checks import describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import Array
from clifford_rand_nn.problems.coordinates import even_weights, row_tiles

MOST = 4000  # rows up to which their products are decomposed: 1.2e-10 n³ s, twenty steps of the kernel method
_TILE = 1024  # rows whose products with all rows are made at a time


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
        return X.shape == other.shape and (X.X - other.X).count_nonzero() == 0
    return not isinstance(X, CsrRows) and not isinstance(other, CsrRows) and np.array_equal(X, other)


class Basis(Protocol):
    """Orthonormal directions V (d, r), which need not be held."""

    def columns(self, U: Array) -> Array:
        """Return V U, (r, k) to (d, k)."""

    def coordinates(self, A: Array) -> Array:
        """Return VᵀA, (d, k) to (r, k)."""


class SpanBasis(NamedTuple):
    r"""Directions in the span of the rows, :math:`V = X^TW`, known by CSR X (n, d) and W (n, r)."""

    X: Any
    whiten: Array

    def columns(self, U: Array) -> Array:
        """Return V U."""
        return np.asarray(self.X.T @ (self.whiten @ U))

    def coordinates(self, A: Array) -> Array:
        """Return VᵀA."""
        return np.asarray(self.whiten.T @ (self.X @ A))


class ColumnBasis:
    """The columns themselves, V = I."""

    def columns(self, U: Array) -> Array:
        """Return U."""
        return U

    def coordinates(self, A: Array) -> Array:
        """Return A."""
        return A


class CsrRows:
    r"""CSR rows X (n, d) with coordinates Y = X V, which are made once for all problems on them.

    With :math:`XX^T=Q\Lambda Q^T`, :math:`W=Q\Lambda^{-1/2}` the directions :math:`V=X^TW` are an orthonormal basis of
    the span of the rows, and :math:`Y=Q\Lambda^{1/2}`: the problem on n rows of rank r has dense rows (n, r), and
    nothing has a number for each row and column. Rounding leaves :math:`V^TV-I` of the order of
    :math:`\epsilon\lambda_1/\sqrt{\lambda_i\lambda_j}`, much for directions in which the rows vary by little; but a
    solution :math:`U=X^TD\theta` has only the share :math:`\lambda_i/\lambda_1` in these. With more than 4000 rows, or
    no more columns than rows, V = I and Y = X stays sparse.

    ``X`` (n, d). ``shape`` (n, d).

    Examples
    --------
    >>> rows = CsrRows(csr_array([[3.0, 0.0, 0.0], [0.0, 0.0, 4.0]]))
    >>> np.allclose(rows.unweighted @ rows.unweighted.T, [[9, 0], [0, 16]])
    True
    """

    def __init__(self, X: Any) -> None:
        self.X = csr_array(X)
        self.shape: tuple[int, int] = self.X.shape

    @property
    def dtype(self) -> Any:
        """float64."""
        return self.X.dtype

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def spanned(self) -> bool:
        """Whether coordinates are those of the span."""
        n, d = self.shape
        return n < d and n <= MOST

    @property
    def basis(self) -> Basis:
        """V."""
        return self._found[0]

    @property
    def weights(self) -> Array:
        """Of the coordinates (r,), as of any gated map."""
        return self._found[1]

    @property
    def unweighted(self) -> Any:
        """Y (n, r), an array or CSR."""
        return self._found[2]

    @cached_property
    def rows(self) -> Any:
        """Y diag(w)."""
        if self.spanned:
            return self.unweighted * self.weights
        scaled = self.X.copy()
        scaled.data *= self.weights[scaled.indices]
        return scaled

    @cached_property
    def _found(self) -> tuple[Basis, Array, Any]:
        n, d = self.shape
        if not self.spanned:
            squares = np.bincount(self.X.indices, self.X.data**2, minlength=d)
            return ColumnBasis(), even_weights(squares, float(squares.max(initial=0.0))), self.X
        products = np.empty((n, n))
        for tile in row_tiles(n, _TILE):
            products[tile] = (self.X[tile] @ self.X.T).toarray()
        values, vectors = eigh(products, overwrite_a=True, check_finite=False)
        top = max(float(values[-1]), 0.0)
        kept = values > max(n, d) * np.finfo(np.float64).eps * top
        values, vectors = values[kept], vectors[:, kept]
        lengths = np.sqrt(values)
        return SpanBasis(self.X, vectors / lengths), even_weights(values, top), vectors * lengths
