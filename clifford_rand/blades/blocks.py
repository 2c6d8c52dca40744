"""Rows (k, d) that stay where they are, read by blocks of columns: arrays, memory maps, sparse matrices, combinations.

What is computed from them are matrices of k × k numbers: Gram matrices, triangular factors, cosines and sines.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from clifford_rand._checks import as_array, describe, fail
from clifford_rand._typing import Array
from clifford_rand.basis.keys import LARGEST
from clifford_rand.blades.rows import LN2, unit_gram_of
from clifford_rand.sketch.base import is_sparse

BLOCK = 2**20  # numbers of a block: 8 MiB of float64
THIN = 16  # one entry in so many, from which on a product by a sparse matrix is sooner than one by its dense blocks
_LEAST_WIDTH = 512  # columns, so that a row's part of a block is a few pages

Columns = slice | NDArray[np.int64]


class Rows(ABC):
    """k rows of d numbers."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]  # float32 or float64, of what the rows are made of
    active: NDArray[np.int64] | None = None  # the columns that may hold something other than 0, ascending; None for all
    height: int  # rows that are held at a time to make these

    @abstractmethod
    def take(self, columns: Columns) -> Array:
        """Return the part (k, m) of some columns in float64."""


class Dense(Rows):
    """Rows of an array or a memory map, which is not copied."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.shape, self.height = (len(array), array.shape[1]), len(array)
        self.dtype = np.result_type(array.dtype, np.float32) if array.dtype.kind == "f" else np.dtype(np.float64)

    def take(self, columns: Columns) -> Array:  # noqa: D102  # see `Rows`
        return np.asarray(self.array[:, columns], dtype=np.float64)


class Sparse(Rows):
    """Rows of a SciPy sparse array, by its columns that hold something: d itself costs nothing."""

    def __init__(self, rows: Any) -> None:
        from scipy.sparse import csr_array

        self.shape, self.height = rows.shape, rows.shape[0]
        self.dtype = np.result_type(rows.dtype, np.float32) if rows.dtype.kind == "f" else np.dtype(np.float64)
        active, place = np.unique(rows.indices, return_inverse=True)
        self.active: NDArray[np.int64] = active.astype(np.int64)
        place = place.astype(np.int32 if len(place) < 2**31 else np.int64)
        self.matrix = csr_array((rows.data, place, rows.indptr), shape=(rows.shape[0], len(active))).tocsc()

    def take(self, columns: Columns) -> Array:  # noqa: D102  # see `Rows`
        if isinstance(columns, slice):
            first, last = np.searchsorted(self.active, [columns.start, columns.stop])
            part = np.asarray(self.matrix[:, first:last].toarray(), dtype=np.float64)
            place, count = self.active[first:last] - columns.start, columns.stop - columns.start
        else:
            place = np.flatnonzero(np.isin(columns, self.active, assume_unique=True))
            part, count = self.columns_at(columns[place]).toarray(), len(columns)
        if part.shape[1] == count:
            return part
        out = np.zeros((self.shape[0], count))
        out[:, place] = part
        return out

    def columns_at(self, columns: Columns) -> Any:
        """Return the sparse part of some of the active columns, in float64."""
        held: Any = slice(None)
        if isinstance(columns, slice):
            held = slice(*np.searchsorted(self.active, [columns.start, columns.stop]))
        elif len(columns) < len(self.active):
            held = np.searchsorted(self.active, columns)
        return self.matrix[:, held].astype(np.float64)


class Scaled(Rows):
    """Each row times a power of two, 2^-exponent."""

    def __init__(self, source: Rows, exponent: NDArray[np.int64]) -> None:
        self.source, self.exponent = source, exponent
        self.shape, self.dtype, self.active = source.shape, source.dtype, source.active
        self.height = 2 * source.height

    def take(self, columns: Columns) -> Array:  # noqa: D102  # see `Rows`
        return np.asarray(np.ldexp(self.source.take(columns), -self.exponent[:, None]))


class Stacked(Rows):
    """Rows one after the other."""

    def __init__(self, *parts: Rows) -> None:
        self.parts = parts
        self.shape = sum(part.shape[0] for part in parts), parts[0].shape[1]
        self.dtype = np.result_type(*(part.dtype for part in parts))
        self.active, self.height = None, sum(part.height + part.shape[0] for part in parts)
        if all(part.active is not None for part in parts):
            self.active = np.unique(np.concatenate([part.active for part in parts]))

    def take(self, columns: Columns) -> Array:  # noqa: D102  # see `Rows`
        return np.concatenate([part.take(columns) for part in self.parts])


class Mapped(Rows):
    """The rows f(R) for a linear map f of a source's rows R."""

    def __init__(self, function: Callable[[Array], Array], source: Rows, count: int) -> None:
        self.function, self.source = function, source
        self.shape, self.dtype, self.active = (count, source.shape[1]), source.dtype, source.active
        self.height = count + source.height

    def take(self, columns: Columns) -> Array:  # noqa: D102  # see `Rows`
        return np.asarray(self.function(self.source.take(columns)))


def combined(weights: Array, source: Rows) -> Mapped:
    """Return W times rows: combinations of them."""
    return Mapped(partial(np.matmul, weights), source, len(weights))


def solved(triangle: Array, source: Rows) -> Mapped:
    """Return T⁻¹ times rows, T lower triangular: by substitution, so that T times it is the rows again to rounding.

    The product with an inverse is not: of rows that nearly depend it misses the others by eps times their condition.
    """
    return Mapped(partial(solve_triangular, triangle, lower=True, check_finite=False), source, len(triangle))


class Sum(Rows):
    """s X + W Y: rows times one number, and combinations of other rows."""

    def __init__(self, scale: float, first: Rows, weights: Array, second: Rows) -> None:
        self.scale, self.first, self.weights, self.second = scale, first, weights, second
        self.shape, self.dtype = first.shape, np.result_type(first.dtype, second.dtype)
        self.active, self.height = None, first.height + second.height + 2 * len(weights)
        if first.active is not None and second.active is not None:
            self.active = np.union1d(first.active, second.active)

    def take(self, columns: Columns) -> Array:  # noqa: D102  # see `Rows`
        return self.scale * self.first.take(columns) + self.weights @ self.second.take(columns)


def blocks(active: NDArray[np.int64] | None, d: int, height: int) -> Iterator[Columns]:
    """Return blocks of columns, of which `BLOCK` numbers are held at a time."""
    width = max(_LEAST_WIDTH, BLOCK // max(1, height))
    count = d if active is None else len(active)
    for start in range(0, count, width):
        part = slice(start, min(start + width, count))
        yield part if active is None else _as_slice(active[part])


def _as_slice(columns: NDArray[np.int64]) -> Columns:
    """Return neighboring columns as a slice, of which a dense array makes a view."""
    first, last = int(columns[0]), int(columns[-1])
    return slice(first, last + 1) if last - first + 1 == len(columns) else columns


def product(P: Rows, Q: Rows) -> Array:
    """Return P Qᵀ, each block of columns read once; inf and NaN without a warning."""
    same = P is Q
    if isinstance(P, Stacked) and P.active is not None:  # sparse ones by themselves
        return np.concatenate([product(part, Q) for part in P.parts])
    if (isinstance(Q, Sparse) and not isinstance(P, Sparse)) or (isinstance(Q, Stacked) and Q.active is not None):
        return product(Q, P).T
    active = P.active if Q.active is None else Q.active
    if P.active is not None and Q.active is not None and not same:
        active = np.intersect1d(P.active, Q.active, assume_unique=True)
    if isinstance(P, Sparse) and isinstance(Q, Sparse):
        assert active is not None
        return np.asarray((P.columns_at(active) @ Q.columns_at(active).T).toarray())
    total = np.zeros((P.shape[0], Q.shape[0]))
    thin = isinstance(P, Sparse) and THIN * P.matrix.nnz < math.prod(P.matrix.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for columns in blocks(active, P.shape[1], P.height + (0 if same else Q.height)):
            left = P.columns_at(columns) if thin else P.take(columns)  # type: ignore[attr-defined]
            total += left @ (left if same else Q.take(columns)).T
    return total


def triangle(rows: Rows, gram: Array | None = None) -> tuple[Array, bool]:
    """Return lower triangular T (k, k) with rows = T Q, Q orthonormal, and whether their Gram matrix gave it.

    The diagonal is not negative. By the Cholesky factor of the Gram matrix where that is well-conditioned, see
    `unit_gram`; elsewhere by a QR factorization of one block of columns after the other below the factor of those
    before (Demmel et al., 2012, "Communication-optimal parallel and sequential QR and LU factorizations", section 3).
    """
    k = rows.shape[0]
    unit = unit_gram_of(product(rows, rows) if gram is None else gram)
    if unit.good.all():
        return np.linalg.cholesky(unit.matrix) / unit.shrink[:, None], True
    R = np.zeros((0, k))
    for columns in blocks(rows.active, rows.shape[1], rows.height + 2 * k):
        R = np.asarray(np.linalg.qr(np.concatenate([R, rows.take(columns).T]), mode="r"))
    T = np.zeros((k, k))
    T[:, : len(R)] = R.T * np.where(R.diagonal() < 0, -1.0, 1.0)
    return T, False


def row_peaks(rows: Rows) -> Array:
    """Return the largest absolute entry of every row; NaN where one is NaN."""
    peaks = np.zeros(rows.shape[0])
    for columns in blocks(rows.active, rows.shape[1], rows.height):
        part = rows.take(columns)
        np.maximum(peaks, np.maximum(part.max(axis=1), -part.min(axis=1)), out=peaks)
    return peaks


def moderate(rows: Rows, name: str, owner: str) -> tuple[Scaled, float]:
    """Return rows times powers of two, with peaks from 1/2 to 1 or 0, and the logarithm of what was taken out of them.

    Raises ArgumentError if an entry is NaN or infinite.
    """
    exponent = np.frexp(finite_peaks(rows, name, owner))[1].astype(np.int64)
    return Scaled(rows, exponent), float(exponent.sum()) * LN2


def finite_peaks(rows: Rows, name: str, owner: str) -> Array:
    """Return the largest absolute entries of rows, or raise if one is NaN or infinite."""
    peaks = row_peaks(rows)
    if not np.isfinite(peaks).all():
        raise fail(name, owner, "finite", describe("NaN or infinite entries"))
    return peaks


def rows_of(value: Any, name: str, owner: str) -> Rows:
    """Return rows of an array or a memory map, which are not copied, or of a sparse matrix."""
    matrix = value.tocsr() if is_sparse(value) else as_array(value, name, owner)
    if matrix.dtype == np.longdouble:
        matrix = matrix.astype(np.float64)
    if matrix.ndim != 2 or matrix.shape[1] < 1:
        raise fail(name, owner, "of shape (k, d), one vector per row", describe(f"shape {matrix.shape}"))
    if matrix.dtype.kind not in "fiub" or matrix.dtype.itemsize > 8:
        raise fail(name, owner, "an array of real numbers", describe(f"dtype {matrix.dtype}"))
    return Sparse(matrix) if is_sparse(value) else Dense(matrix)


def written(rows: Rows, out: NDArray[Any] | None, owner: str) -> NDArray[Any]:
    """Return the rows in ``out`` (k, d), or in a new array of their dtype."""
    if out is None:
        if math.prod(rows.shape) > LARGEST:
            received = describe(f"an array of {rows.shape[0]} × {rows.shape[1]}")
            raise fail("out", owner, "given for more than 2^27 numbers", received, "Pass a memory map.")
        out = np.zeros(rows.shape, rows.dtype)
    elif not isinstance(out, np.ndarray):
        raise fail("out", owner, f"None or an array of floats of shape {rows.shape}", out)
    elif out.shape != rows.shape or out.dtype.kind != "f":
        received = describe(f"shape {out.shape}, dtype {out.dtype}")
        raise fail("out", owner, f"an array of floats of shape {rows.shape}", received)
    elif rows.active is not None:
        out[...] = 0
    for columns in blocks(rows.active, rows.shape[1], rows.height):
        out[:, columns] = rows.take(columns)
    return out
