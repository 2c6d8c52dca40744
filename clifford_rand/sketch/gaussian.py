"""The Gaussian sketch: independent normal entries, drawn again in blocks where they would not fit."""

import math
import operator
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_fits, check_integer
from clifford_rand.sketch.base import Sketch, check_accuracy, drawn_seed, log_minor_of_draws, own_stream

_BLOCK_ENTRIES = 2**21  # 16 MiB of float64 in one block of rows
_KEPT_ENTRIES = 2**23  # a matrix up to 64 MiB is drawn once and kept
_MOST_ENTRIES = 2**43  # at 10 ns each a product with them would take a day


class GaussianSketch(Sketch):
    r"""Gaussian sketch: independent entries of variance 1/r.

    .. math:: S_{ij} \sim N(0, 1/r), \qquad \mathbb E[S^T S] = I_d.

    Parameters
    ----------
    r, d : int
        Rows, the dimension of the sketch, and columns, the number of features.
    rng : Generator, int or None
        An integer is the seed; a generator draws one, and None a fresh one. ``repr(S)`` rebuilds the map.

    Attributes
    ----------
    shape : (r, d)
    r, d, rng : int

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

    *Propositions* of `sketched_cross`: both hold, the rows being independent and alike.

    References
    ----------
    Davidson and Szarek, "Local operator theory, random matrices and Banach spaces", Handbook of the Geometry of Banach
    Spaces 1, 2001, Theorem II.13.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> S = cr.GaussianSketch(200, 1000, rng=0)
    >>> S, round(float((S.toarray() ** 2).sum() / 1000), 2)
    (GaussianSketch(r=200, d=1000, rng=0), 1.0)
    >>> cr.GaussianSketch.suggest_dim(k=10, eps=0.5, delta=0.01)
    165
    """

    exchangeable_rows = True
    _arguments = ("r", "d")

    def __init__(self, r: int, d: int, *, rng: np.random.Generator | int | None = None) -> None:
        self.r = check_integer(r, "r", "GaussianSketch")
        self.d = check_integer(d, "d", "GaussianSketch")
        check_fits(16 * self.d, "d", "GaussianSketch")
        check_fits(self.r * self.d, "r", "GaussianSketch", unit="entries", limit=_MOST_ENTRIES)
        self.rng, _ = drawn_seed(rng, "GaussianSketch")
        self.shape = (self.r, self.d)
        self._kept: dict[str, NDArray[Any]] = {}

    @staticmethod
    def suggest_dim(k: int, eps: float = 0.5, delta: float = 0.1) -> int:
        """Return the smallest r of the rule in the notes, for a subspace of dimension ``k``."""
        k, eps, delta = check_accuracy(k, eps, delta, "GaussianSketch.suggest_dim")
        return math.ceil((math.sqrt(k) + math.sqrt(2 * math.log(2 / delta))) ** 2 / eps**2)

    def log_minor(self, k: int) -> float:
        """Return log c_k = log r!/((r-k)! r^k), -inf for k > r: C(r, k) sets of rows of mean k!/r^k (Cauchy-Binet)."""
        return log_minor_of_draws(self.r, check_integer(k, "k", "log_minor", low=0))

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
        return np.ascontiguousarray((x.T.tocsr() @ self._dense(x.dtype).T).T)

    def _apply_transposed_sparse(self, v: Any) -> NDArray[Any]:
        return np.ascontiguousarray((v.T.tocsr() @ self._dense(v.dtype)).T)

    def _dense(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        return np.concatenate([block for _, block in self._blocks(dtype)])

    def _blocks(self, dtype: np.dtype[Any]) -> Iterable[tuple[slice, NDArray[Any]]]:
        """Return blocks of rows, the same whether they are kept or drawn again."""
        if self.r * self.d > _KEPT_ENTRIES:
            return self._drawn(dtype)
        if dtype.name not in self._kept:
            self._kept[dtype.name] = np.concatenate([block for _, block in self._drawn(dtype)])
        return [(slice(0, self.r), self._kept[dtype.name])]

    def _drawn(self, dtype: np.dtype[Any]) -> Iterator[tuple[slice, NDArray[Any]]]:
        generator = own_stream(self.rng)
        step = max(1, _BLOCK_ENTRIES // self.d)
        for start in range(0, self.r, step):
            rows = slice(start, min(start + step, self.r))
            block = generator.standard_normal((rows.stop - start, self.d)) / math.sqrt(self.r)
            yield rows, block.astype(dtype, copy=False)
