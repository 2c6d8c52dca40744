"""Dense sketches: subsampled randomized Hadamard transforms (SRHT) and Gaussian matrices."""

import math
import operator
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_fits, check_integer
from clifford_rand.compiler.decorator import has_compiler
from clifford_rand.plans.representation import walsh_hadamard
from clifford_rand.sketch.base import (
    Sketch,
    check_accuracy,
    chernoff_exponent,
    drawn_seed,
    log_falling,
    log_minor_of_draws,
    own_stream,
)

# 50,000 rows of 1536 float32 to 1000 columns, 2 cores: 0.1 s by the kernel. It compiles in 2 s, once per machine and
# precision, and loads in 0.4 s, once per process; 2^20 padded entries take 4 ms by it and 8 ms by NumPy's products.
_KERNEL_FROM = 2**20
_DENSE_FROM = 64  # rows of X from which few columns come faster by the matrix itself, which is kept: up to 2 MiB
_DENSE_UP_TO_R = 64
_DENSE_ENTRIES = 2**18
_LOW = 16  # strides below are transformed on the turned row: 64 bytes of float32, one line of the cache
_TURN_FROM = 256  # shorter rows gain nothing by it
_CHUNK_BYTES = 16 * 2**20
_BLOCK_ENTRIES = 2**21  # 16 MiB of float64 in one block of rows
_KEPT_ENTRIES = 2**23  # a matrix up to 64 MiB is drawn once and kept
_MOST_ENTRIES = 2**43  # at 10 ns each a product with them would take a day


class SRHT(Sketch):
    r"""Subsampled randomized Hadamard transform: random signs, an orthogonal mixing, r of its d' rows.

    .. math:: S = \sqrt{d'/r}\; R\, H\, D, \qquad \mathbb E[S^T S] = I_d,

    D random signs, H the orthogonal Walsh-Hadamard matrix of order d', the next power of two from d on (features are
    padded by zeros), R a uniform choice of r distinct rows in random order. All entries are ±1/√r.

    Parameters
    ----------
    r : int
        Rows, the dimension of the sketch, at most d'.
    d : int
        Columns, the number of features.
    rng : Generator, int or None
        The seed, or what draws one: see `SJLT`.

    Attributes
    ----------
    n_padded : int
        d', the order of H.

    Raises
    ------
    ArgumentError
        If r > d' or an argument is not a positive integer; in products, if the shapes do not fit.

    Notes
    -----
    A product costs O(log d') operations an input entry, whatever r. A sparse factor is made dense.

    *Dimension.* (1-ε)|x| ≤ |S x| ≤ (1+ε)|x| on a subspace of dimension k, but with probability δ, for
    r ≥ M log(4k/δ)/h, M = (√k + √(8 log(2d'/δ)))², h the smaller Chernoff exponent of ε: with β = 2/δ Lemma 3.3 of
    Tropp bounds the squared rows of HDU by M/d', and Lemma 3.4 is the Chernoff bound for sampling without replacement.
    r = d' is exact.

    References
    ----------
    Tropp, "Improved analysis of the subsampled randomized Hadamard transform", Adv. Adapt. Data Anal. 3, 2011.

    Examples
    --------
    >>> S = cr.SRHT(4, 6, rng=0)
    >>> S, S.n_padded
    (SRHT(r=4, d=6, rng=0), 8)
    >>> np.unique(np.abs(S.toarray()))
    array([0.5])
    """

    has_exchangeable_rows = True
    _arguments = ("r", "d")

    def __init__(self, r: int, d: int, *, rng: np.random.Generator | int | None = None) -> None:
        self.d = check_integer(d, "d", "SRHT")
        self.n_padded = _next_power(self.d)
        check_fits(16 * self.n_padded, "d", "SRHT")  # the permutation, and one row of a product
        hint = f"The transform of {self.d} features has {self.n_padded} rows to choose from."
        self.r = check_integer(r, "r", "SRHT", high=self.n_padded, hint=hint)
        self.seed, _ = drawn_seed(rng, "SRHT")
        generator = own_stream(self.seed)
        self.shape = (self.r, self.d)
        self._signs = generator.integers(0, 2, size=self.d, dtype=np.int8) * np.int8(2) - np.int8(1)
        self._sample = generator.permutation(self.n_padded)[: self.r]

    @staticmethod
    def suggest_dim(k: int, *, eps: float = 0.5, delta: float = 0.1, d: int) -> int:
        """Return the smallest r of the rule in the notes, at most d', for a subspace of dimension ``k`` of R^d."""
        owner = "SRHT.suggest_dim"
        k, eps, delta = check_accuracy(k, eps, delta, owner)
        padded = _next_power(check_integer(d, "d", owner, low=k, hint="A subspace of R^d has at most d dimensions."))
        rows = (math.sqrt(k) + math.sqrt(8 * (math.log(2 * padded) - math.log(delta)))) ** 2
        return min(padded, math.ceil(rows * math.log(4 * k / delta) / chernoff_exponent(eps)))

    def log_minor_constant(self, k: int) -> float:
        """Return log c_k = log of r!/(r-k)! (d'-k)!/d'! (d'/r)^k, -inf for k > r.

        As for `SparseSign` only equal column sets J remain, by the signs; a set of k rows is sampled with probability
        C(r, k)/C(d', k), and over all rows Σ det(H_IJ)² = det(H_Jᵀ H_J) = 1.
        """
        k = check_integer(k, "k", "log_minor_constant", low=0)
        if k > self.r:
            return -math.inf
        return log_falling(self.r, k) - log_falling(self.n_padded, k) + k * math.log(self.n_padded / self.r)

    def _apply(self, x: NDArray[Any]) -> NDArray[Any]:
        if self._is_small and x.shape[1] >= _DENSE_FROM:  # at any size: the transform turns x, and its result back
            return np.asarray(self._dense(x.dtype) @ x)
        return self._apply_rows(x.T).T

    def _apply_transposed(self, v: NDArray[Any]) -> NDArray[Any]:
        if self._is_small and v.shape[1] >= _DENSE_FROM:
            return np.asarray(self._dense(v.dtype).T @ v)
        return self._apply_transposed_rows(v.T).T

    def _apply_rows(self, X: NDArray[Any]) -> NDArray[Any]:
        if self._dense_pays(len(X)):
            return np.asarray(X @ self._dense(X.dtype).T)
        scale = np.full(self.r, 1 / math.sqrt(self.r))
        return self._transformed(X, np.arange(self.d), self._signs, self._sample, scale)

    def _apply_transposed_rows(self, V: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(V @ self._dense(V.dtype)) if self._dense_pays(len(V)) else self._transposed_rows(V)

    def _transposed_rows(self, V: NDArray[Any]) -> NDArray[Any]:
        scale = np.full(self.r, 1 / math.sqrt(self.r))
        return self._transformed(V, self._sample, scale, np.arange(self.d), self._signs)

    @property
    def _is_small(self) -> bool:
        return self.r <= _DENSE_UP_TO_R and self.r * self.d <= _DENSE_ENTRIES

    def _dense_pays(self, rows: int) -> bool:
        return self._is_small and rows >= _DENSE_FROM and not self._kernel_pays(rows)

    def _kernel_pays(self, rows: int) -> bool:
        return rows * self.n_padded >= _KERNEL_FROM and has_compiler()

    def _drawn_matrix(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        return self._transposed_rows(np.eye(self.r, dtype=dtype))

    def _transformed(
        self,
        X: NDArray[Any],
        into: NDArray[np.int64],
        weight_in: NDArray[Any],
        outof: NDArray[np.int64],
        weight_out: NDArray[Any],
    ) -> NDArray[Any]:
        """Return rows weight_out · (±1 Hadamard of the rows weight_in · X, placed at ``into``) at ``outof``."""
        weight_in, weight_out = weight_in.astype(X.dtype), weight_out.astype(X.dtype)
        if not self._kernel_pays(len(X)):
            out = np.empty((len(X), len(outof)), X.dtype)
            step = max(1, _CHUNK_BYTES // (self.n_padded * X.itemsize))
            for start in range(0, len(X), step):
                part = slice(start, start + step)
                z = np.zeros((len(X[part]), self.n_padded), X.dtype)
                z[:, into] = X[part] * weight_in
                out[part] = walsh_hadamard(z)[:, outof] * weight_out
            return out
        from clifford_rand.sketch.kernels import hadamard_rows, over_rows  # Numba loads here, not at import

        low = _LOW if self.n_padded >= _TURN_FROM else 1
        turned = outof % low * (self.n_padded // low) + outof // low
        return over_rows(hadamard_rows, X, ((into, weight_in), self.n_padded, low, (turned, weight_out)), len(outof))


def _next_power(d: int) -> int:
    return 1 << (d - 1).bit_length()


class GaussianSketch(Sketch):
    r"""Gaussian sketch: independent entries of variance 1/r.

    .. math:: S_{ij} \sim N(0, 1/r), \qquad \mathbb E[S^T S] = I_d.

    Parameters
    ----------
    r, d : int
        Rows, the dimension of the sketch, and columns, the number of features.
    rng : Generator, int or None
        The seed, or what draws one: see `SJLT`.

    Raises
    ------
    ArgumentError
        If an argument is not a positive integer; in products, if the shapes do not fit.

    Notes
    -----
    A product costs O(r) operations an input entry, the most of all sketches here; a matrix of more than 64 MiB is not
    kept, but drawn again, block by block, in every product. The entries are drawn in float64 and rounded for float32
    factors.

    *Dimension.* (1-ε)|x| ≤ |S x| ≤ (1+ε)|x| on a subspace of dimension k, but with probability δ, for
    √r ≥ (√k + √(2 log(2/δ)))/ε: the singular values of S U lie within 1 ± (√(k/r) + t) but with probability
    2 exp(-r t²/2).

    References
    ----------
    Davidson and Szarek, "Local operator theory, random matrices and Banach spaces", Handbook of the Geometry of Banach
    Spaces 1, 2001, Theorem II.13.

    Examples
    --------
    >>> S = cr.GaussianSketch(200, 1000, rng=0)
    >>> S, round(float((S.toarray() ** 2).sum() / 1000), 2)
    (GaussianSketch(r=200, d=1000, rng=0), 1.0)
    >>> cr.GaussianSketch.suggest_dim(k=10, eps=0.5, delta=0.01)
    165
    """

    has_exchangeable_rows = True
    _arguments = ("r", "d")

    def __init__(self, r: int, d: int, *, rng: np.random.Generator | int | None = None) -> None:
        self.r = check_integer(r, "r", "GaussianSketch")
        self.d = check_integer(d, "d", "GaussianSketch")
        check_fits(16 * self.d, "d", "GaussianSketch")
        check_fits(self.r * self.d, "r", "GaussianSketch", unit="entries", limit=_MOST_ENTRIES)
        self.seed, _ = drawn_seed(rng, "GaussianSketch")
        self.shape = (self.r, self.d)

    @staticmethod
    def suggest_dim(k: int, *, eps: float = 0.5, delta: float = 0.1) -> int:
        """Return the smallest r of the rule in the notes, for a subspace of dimension ``k``."""
        k, eps, delta = check_accuracy(k, eps, delta, "GaussianSketch.suggest_dim")
        return math.ceil((math.sqrt(k) + math.sqrt(2 * math.log(2 / delta))) ** 2 / eps**2)

    def log_minor_constant(self, k: int) -> float:
        """Return log c_k = log r!/((r-k)! r^k), -inf for k > r: C(r, k) sets of rows of mean k!/r^k (Cauchy-Binet)."""
        return log_minor_of_draws(self.r, k)

    def _apply(self, x: NDArray[Any]) -> NDArray[Any]:
        result = np.empty((self.r, x.shape[1]), x.dtype)
        for rows, block in self._blocks(x.dtype):
            result[rows] = block @ x
        return result

    def _apply_transposed(self, v: NDArray[Any]) -> NDArray[Any]:
        return reduce(operator.iadd, (block.T @ v[rows] for rows, block in self._blocks(v.dtype)))

    def _apply_rows(self, X: NDArray[Any]) -> NDArray[Any]:
        parts = [X @ block.T for _, block in self._blocks(X.dtype)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def _apply_transposed_rows(self, V: NDArray[Any]) -> NDArray[Any]:
        return reduce(operator.iadd, (V[:, rows] @ block for rows, block in self._blocks(V.dtype)))

    def _apply_sparse(self, x: Any) -> NDArray[Any]:
        return np.ascontiguousarray((x.T.tocsr() @ self._whole(x.dtype).T).T)

    def _apply_transposed_sparse(self, v: Any) -> NDArray[Any]:
        return np.ascontiguousarray((v.T.tocsr() @ self._whole(v.dtype)).T)

    def _whole(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        return np.concatenate([block for _, block in self._blocks(dtype)])

    def _drawn_matrix(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        return np.concatenate([block for _, block in self._drawn(dtype)])

    def _blocks(self, dtype: np.dtype[Any]) -> Iterable[tuple[slice, NDArray[Any]]]:
        """Return blocks of rows, the same whether they are kept or drawn again."""
        if self.r * self.d > _KEPT_ENTRIES:
            return self._drawn(dtype)
        return [(slice(0, self.r), self._dense(dtype))]

    def _drawn(self, dtype: np.dtype[Any]) -> Iterator[tuple[slice, NDArray[Any]]]:
        generator = own_stream(self.seed)
        step = max(1, _BLOCK_ENTRIES // self.d)
        for start in range(0, self.r, step):
            rows = slice(start, min(start + step, self.r))
            block = generator.standard_normal((rows.stop - start, self.d)) / math.sqrt(self.r)
            yield rows, block.astype(dtype, copy=False)
