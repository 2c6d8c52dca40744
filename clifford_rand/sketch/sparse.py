"""Sparse sign matrices, s entries ±1/√s in every column: with balanced rows (`SJLT`) or independent columns."""

import math
from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from clifford_rand._checks import check_fits, check_integer, describe, fail
from clifford_rand.compiler.decorator import has_compiler
from clifford_rand.sketch.base import Sketch, check_accuracy, drawn_seed, log_minor_of_draws, own_stream

# Entries of X from which the kernels pay: 1 s to compile, once per machine and precision, and 0.4 s to load, once per
# process. 20,000 rows of 512 to 64 columns, s = 8, 1 thread: 38 ms, the dense product 60, SciPy 100 and a copy before.
KERNEL_FROM = 2**22
_DENSE_FROM = 64  # rows; below, SciPy's product is as fast
_DENSE_ENTRIES = 2**18  # of the matrix, which is kept: 2 MiB
_BLOCK = 1024  # columns of X: 32 rows of them are 256 KiB


def kernel_pays(entries: int) -> bool:
    """Tell whether the product with a factor of so many entries is the kernel's."""
    return entries >= KERNEL_FROM and has_compiler()


class SparseTable(NamedTuple):
    """A sparse matrix by blocks of columns and then by rows, as the kernels read it."""

    starts: NDArray[np.int64]
    place: NDArray[np.uint32]
    entries: NDArray[Any]

    @classmethod
    def of(cls, matrix: Any, block: int = _BLOCK) -> "SparseTable":
        """Return the table of a SciPy matrix; in one block for products with columns."""
        columns = matrix.tocsc()
        parts = [columns[:, start : start + block].tocsr() for start in range(0, matrix.shape[1], block)]
        counts = np.concatenate([[0], *(np.diff(part.indptr) for part in parts)])
        place = np.concatenate([part.indices for part in parts]).astype(np.uint32)
        return cls(np.cumsum(counts, dtype=np.int64), place, np.concatenate([part.data for part in parts]))

    def times_rows(self, X: NDArray[Any], width: int, scale: float = 1.0) -> NDArray[Any]:
        """Return scale · X Mᵀ (n, width), M in blocks of the default size."""
        from clifford_rand.sketch.kernels import over_rows, sparse_rows  # Numba loads here, not at import

        arguments = (self.starts, self.place, self.entries.astype(X.dtype, copy=False), _BLOCK, scale)
        return over_rows(sparse_rows, X, arguments, width)

    def times_columns(self, x: NDArray[Any], width: int, scale: float = 1.0) -> NDArray[Any]:
        """Return scale · M x (width, k), M in one block."""
        from clifford_rand.sketch.kernels import over_columns

        entries = self.entries.astype(x.dtype, copy=False)
        return over_columns(x, self.starts, self.place, entries, scale, width)


class SparseSketch(Sketch):
    """A sketch that is a number times a sparse matrix, whose products are SciPy's or, of large factors, the kernels'.

    A subclass calls `_set_matrix` with a SciPy array of shape (r, d) in int8, for both precisions, or float64.
    """

    has_exchangeable_rows = True
    r: int
    d: int

    def _set_matrix(self, columns: Any, factor: float) -> None:
        self._matrix, self._transposed, self._factor = columns.tocsr(), columns.tocsc().T, factor

    def _apply_transposed(self, v: NDArray[Any]) -> NDArray[Any]:
        if kernel_pays(self.d * v.shape[1]):
            return SparseTable.of(self._transposed, self.r).times_columns(v, self.d, self._factor)
        return np.asarray(self._scaled(_in(self._transposed, v.dtype) @ v))

    def _apply_transposed_rows(self, V: NDArray[Any]) -> NDArray[Any]:
        if kernel_pays(len(V) * self.d):
            return SparseTable.of(self._transposed).times_rows(V, self.d, self._factor)
        return super()._apply_transposed_rows(V)

    def _apply_sparse(self, x: Any) -> Any:
        return self._scaled(self._matrix.astype(x.dtype) @ x.tocsr())

    def _apply_transposed_sparse(self, v: Any) -> Any:
        return self._scaled(self._transposed.astype(v.dtype) @ v.tocsr())

    def _scaled(self, result: Any) -> Any:
        return result if self._factor == 1 else result * result.dtype.type(self._factor)


class SignColumns(SparseSketch):
    """A sketch given by the rows (d, s) of its non-zeros, sorted in each column, and independent signs."""

    _arguments = ("r", "d", "s")
    s: int

    @abstractmethod
    def __init__(self, r: int, d: int, s: int, *, rng: np.random.Generator | int | None = None) -> None: ...

    def _check_fits(self) -> None:
        # measured by tracemalloc at 10^6 non-zeros: 20 to 26 bytes each, and 20 a column besides
        check_fits(24 * self.s * self.d + 20 * self.d + 8 * self.r, "d", type(self).__name__)

    def _set_columns(self, rows: NDArray[np.int64], generator: np.random.Generator) -> None:
        """Keep the sketch with non-zeros in ``rows`` (d, s), their signs drawn by ``generator``."""
        d, s = rows.shape
        signs = generator.integers(0, 2, size=rows.size, dtype=np.int8) * np.int8(2) - np.int8(1)
        self.shape = (self.r, self.d)
        starts = np.arange(0, s * d + 1, s)
        self._set_matrix(csc_array((signs, rows.ravel(), starts), shape=self.shape), 1.0 / math.sqrt(s))

    @classmethod
    def suggest_dim(cls, k: int, *, eps: float = 0.5, delta: float = 0.1) -> int:
        """Return the smallest r of the rule in the notes, for a subspace of dimension ``k``; for every s."""
        k, eps, delta = check_accuracy(k, eps, delta, f"{cls.__name__}.suggest_dim")
        return math.ceil(k * (k + 1) / ((2 * eps - eps**2) ** 2 * delta))

    def _apply(self, x: NDArray[Any]) -> NDArray[Any]:
        if kernel_pays(x.size):
            return SparseTable.of(self._matrix, self.d).times_columns(x, self.r, self._factor)
        return np.asarray(self._scaled(self._matrix @ x))

    def _apply_rows(self, X: NDArray[Any]) -> NDArray[Any]:
        if kernel_pays(X.size):
            return SparseTable.of(self._matrix).times_rows(X, self.r, self._factor)
        return X @ self._dense(X.dtype).T if self._dense_pays(len(X)) else super()._apply_rows(X)

    def _apply_transposed_rows(self, V: NDArray[Any]) -> NDArray[Any]:
        small = self._dense_pays(len(V)) and not kernel_pays(len(V) * self.d)
        return V @ self._dense(V.dtype) if small else super()._apply_transposed_rows(V)

    def _dense_pays(self, rows: int) -> bool:
        """Tell whether a GEMM is no slower than SciPy: an entry of X costs r/16 ns, or s and a copy, some 3."""
        return rows >= _DENSE_FROM and self.r <= 16 * (self.s + 3) and self.r * self.d <= _DENSE_ENTRIES

    def _drawn_matrix(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        return np.asarray(self._scaled(self._matrix.toarray().astype(dtype)))


class SJLT(SignColumns):
    r"""Sparse Johnson-Lindenstrauss transform: s non-zeros ±1/√s in every column, every row used.

    .. math:: \mathbb E[S^T S] = I_d, \qquad \|S e_j\|_2 = 1 \text{ for every } j.

    Every one of the d features is read s times, in s distinct rows, and the numbers of non-zeros of two rows differ by
    at most one. The signs are independent, and the rows exchangeable.

    Parameters
    ----------
    r : int
        Rows, the dimension of the sketch, at most s·d.
    d : int
        Columns, the number of features.
    s : int
        Non-zeros a column, from 1 to r.
    rng : Generator, int or None
        An integer is the seed; a generator draws one, and None a fresh one. ``S.seed`` is that seed, and ``repr(S)``
        rebuilds the same map (with the same release of NumPy, whose streams may change between releases).

    Attributes
    ----------
    shape : (r, d)
    r, d, s, seed : int

    Raises
    ------
    ArgumentError
        If s > r, s·d < r (some row would be empty), or an argument is not a positive integer; in products, if the
        shapes do not fit.

    Notes
    -----
    ``S @ x`` for x (d,) or (..., d, k), ``X @ S.T`` for X (..., d), ``S.T @ v`` for v (r,) or (..., r, k), and
    ``V @ S`` for V (..., r), each O(s) operations an input entry; float32 stays float32. A SciPy sparse X gives a
    sparse result.

    *Dimension.* For a subspace of dimension k, and (1-ε)|x| ≤ |S x| ≤ (1+ε)|x| for all of its vectors x but with
    probability δ, r = k(k+1) / ((2ε-ε²)² δ) is enough, for every s: two columns have products of variance at most 1/r,
    so E‖UᵀSᵀSU - I‖_F² ≤ k(k+1)/r for an orthonormal basis U, and Markov's inequality does the rest (Nelson and Nguyen,
    "OSNAP", FOCS 2013, Theorem 3, for s = 1). With s = O(log(k/δ)/ε), r = O(k log(k/δ)/ε²) is (Cohen 2016, without
    constants); in practice r = 2k to 4k with s = 8 (Martinsson and Tropp 2020, Section 9.2). With s = 1 two large
    columns of the same row cannot be told apart: for a subspace with k large coordinates use s = 8.

    References
    ----------
    Kane and Nelson, "Sparser Johnson-Lindenstrauss Transforms", J. ACM 61(1), 2014; used with s = 1 in Section 3.3 of
    Wang et al., "Randomized Geometric Algebra Methods for Convex Neural Networks", 2024, arXiv:2406.02806. There rows
    of S are to be identically distributed (second proposition; its proof exchanges two of them).

    Examples
    --------
    >>> S = cr.SJLT(3, 6, rng=0)
    >>> S, (np.ones((4, 6)) @ S.T).shape
    (SJLT(r=3, d=6, s=1, rng=0), (4, 3))
    >>> np.abs(S.toarray()).sum(axis=0), np.abs(S.toarray()).sum(axis=1)
    (array([1., 1., 1., 1., 1., 1.]), array([2., 2., 2.]))
    """

    def __init__(self, r: int, d: int, s: int = 1, *, rng: np.random.Generator | int | None = None) -> None:
        self.r = check_integer(r, "r", "SJLT")
        self.d = check_integer(d, "d", "SJLT")
        self.s = check_integer(s, "s", "SJLT", high=self.r, hint="A column has s non-zeros in r rows.")
        if self.s * self.d < self.r:
            hint = "Fewer non-zeros than rows would leave a row empty: lower r or raise s."
            raise fail("r", "SJLT", f"at most s·d = {self.s * self.d}", self.r, hint)
        self._check_fits()
        self.seed, generator = drawn_seed(rng, "SJLT")
        rows = _balanced_rows(self.r, self.d, self.s, generator)
        self._set_columns(rows, generator)

    def log_minor_constant(self, k: int) -> float:
        """Return log c_k for s = 1: the logarithm of the probability that k columns have their entries in k rows.

        With t rows of m + 1 entries and r - t of m, c_k = Σ_j C(t, j) (m+1)^j C(r-t, k-j) m^{k-j} / C(d, k).
        """
        k = check_integer(k, "k", "log_minor_constant", low=0)
        if self.s > 1:
            hint = "The balanced rows of an SJLT with s > 1 have no closed form; SparseSign has one for every s."
            raise fail("S", "log_minor_constant", "a sketch whose expected minors are known", describe(f"{self}"), hint)
        if k > min(self.r, self.d):
            return -math.inf
        m, t = divmod(self.d, self.r)
        terms = [
            _log_choose(t, j) + j * math.log(m + 1) + _log_choose(self.r - t, k - j) + (k - j) * math.log(m)
            for j in range(max(0, k - (self.r - t)), min(t, k) + 1)
        ]
        peak = max(terms)
        return peak + math.log(math.fsum(math.exp(term - peak) for term in terms)) - _log_choose(self.d, k)


class SparseSign(SignColumns):
    r"""Sparse sign matrix: s entries ±1/√s in every column, at s distinct rows drawn uniformly and independently.

    .. math:: \mathbb E[S^T S] = I_d, \qquad \mathbb E \det(A S^T S B^T) = \frac{r!}{(r-k)!\, r^k} \det(A B^T).

    `SJLT` is the same with balanced rows: none is ever empty there, while columns are independent here, so that the
    second formula holds for every s.

    Parameters
    ----------
    r, d : int
        Rows, the dimension of the sketch, and columns, the number of features.
    s : int
        Non-zeros a column, from 1 to r. The default is min(8, r).
    rng : Generator, int or None
        The seed, or what draws one: see `SJLT`.

    Raises
    ------
    ArgumentError
        If s > r or an argument is not a positive integer; in products, if the shapes do not fit.

    Notes
    -----
    Products as for `SJLT`, O(s) operations an input entry; a SciPy sparse factor gives a sparse result.

    *Dimension.* As for `SJLT`. With s = 1 it is known as CountSketch.

    References
    ----------
    Martinsson and Tropp, "Randomized numerical linear algebra: Foundations and algorithms", Acta Numerica 29, 2020,
    Section 9.2.

    Examples
    --------
    >>> S = cr.SparseSign(6, 10, s=3, rng=0)
    >>> S, np.unique((S.toarray() != 0).sum(axis=0))
    (SparseSign(r=6, d=10, s=3, rng=0), array([3]))
    """

    def __init__(self, r: int, d: int, s: int | None = None, *, rng: np.random.Generator | int | None = None) -> None:
        self.r = check_integer(r, "r", "SparseSign")
        self.d = check_integer(d, "d", "SparseSign")
        hint = "A column has s non-zeros in r rows."
        self.s = min(8, self.r) if s is None else check_integer(s, "s", "SparseSign", high=self.r, hint=hint)
        self._check_fits()
        self.seed, _ = drawn_seed(rng, "SparseSign")
        generator = own_stream(self.seed)
        rows = _subsets(self.r, self.d, self.s, generator)
        self._set_columns(rows, generator)

    def log_minor_constant(self, k: int) -> float:
        """Return log c_k = log r!/((r-k)! r^k), -inf for k > r.

        By Cauchy and Binet the estimate is a sum over pairs of column sets J, J' of A_J B_J' Σ_I det S_IJ det S_IJ'.
        The signs are independent, so J ≠ J' has mean zero, and of det(S_IJ)² the squares of its terms remain: k
        distinct rows in order, each in its column with probability s/r, over s^k.
        """
        return log_minor_of_draws(self.r, k)


def _in(matrix: Any, dtype: np.dtype[Any]) -> Any:
    return matrix if matrix.dtype == np.int8 else matrix.astype(dtype)


def _balanced_rows(r: int, d: int, s: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw s distinct rows for each of d columns, (d, s) sorted, every row ⌊sd/r⌋ or ⌈sd/r⌉ times.

    Permutations of the r rows are laid end to end and cut into pieces of s. No step looks at the number of a row, only
    at its place, so the rows are exchangeable; the columns are once they are shuffled.
    """
    count = -(-s * d // r)
    permutations = rng.permuted(np.broadcast_to(np.arange(r), (count, r)), axis=1)
    for i in range(1, count):
        head = -(i * r) % s  # entries of permutation i that complete a column begun in permutation i - 1
        if head:
            permutations[i] = _avoiding(permutations[i], permutations[i - 1, r - (s - head) :], head, rng)
    rows = permutations.ravel()[: s * d].reshape(d, s)
    rows = rows[rng.permutation(d)]
    rows.sort(axis=1)
    return rows


def _avoiding(
    permutation: NDArray[np.int64], taken: NDArray[np.int64], head: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Move the ``taken`` entries out of the first ``head`` places, to random later ones: len(taken) + head ≤ r."""
    clash = np.isin(permutation, taken)
    free = permutation[~clash]
    rest = np.concatenate([free[head:], permutation[clash]])
    return np.concatenate([free[:head], rng.permutation(rest)])


def _subsets(r: int, d: int, s: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw d uniform subsets (d, s) of s out of r rows, sorted, by Floyd's algorithm (Bentley and Floyd 1987)."""
    rows = np.empty((d, s), np.int64)
    for t in range(s):
        last = r - s + t
        draw = rng.integers(0, last + 1, size=d)
        met = (rows[:, :t] == draw[:, None]).any(axis=1)
        rows[:, t] = np.where(met, last, draw)
    rows.sort(axis=1)
    return rows


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
