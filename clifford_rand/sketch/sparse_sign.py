"""Sparse sign matrices with independent columns."""

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_integer
from clifford_rand.sketch.base import drawn_seed, log_falling, own_stream
from clifford_rand.sketch.sign_columns import SignColumns


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
        An integer is the seed; a generator draws one, and None a fresh one. ``repr(S)`` rebuilds the map.

    Attributes
    ----------
    shape : (r, d)
    r, d, s, rng : int

    Raises
    ------
    ArgumentError
        If s > r or an argument is not a positive integer; in products, if the shapes do not fit.

    Notes
    -----
    Products as for `SJLT`, O(s) operations an input entry; a SciPy sparse factor gives a sparse result.

    *Dimension.* (1-ε)|x| ≤ |S x| ≤ (1+ε)|x| on a subspace of dimension k, but with probability δ, for
    r ≥ k(k+1) / ((2ε-ε²)² δ) and every s: see `SJLT`. That is the proven rule with constants; r = O(k log(k/δ)/ε²) with
    s = O(log(k/δ)/ε) is proven without (Cohen, SODA 2016), and r = 2k to 4k with s = 8 is what Martinsson and Tropp
    advise.

    *Propositions* of `sketched_cross`: both hold, the rows being exchangeable.

    References
    ----------
    Martinsson and Tropp, "Randomized numerical linear algebra: Foundations and algorithms", Acta Numerica 29, 2020,
    Section 9.2.

    Examples
    --------
    >>> import numpy as np
    >>> import clifford_rand as cr
    >>> S = cr.SparseSign(6, 10, s=3, rng=0)
    >>> S
    SparseSign(r=6, d=10, s=3, rng=0)
    >>> np.unique((S.toarray() != 0).sum(axis=0))
    array([3])
    """

    def __init__(self, r: int, d: int, s: int | None = None, *, rng: np.random.Generator | int | None = None) -> None:
        self.r = check_integer(r, "r", "SparseSign")
        self.d = check_integer(d, "d", "SparseSign")
        hint = "A column has s non-zeros in r rows."
        self.s = min(8, self.r) if s is None else check_integer(s, "s", "SparseSign", high=self.r, hint=hint)
        self._check_fits()
        self.rng, _ = drawn_seed(rng, "SparseSign")
        generator = own_stream(self.rng)
        rows = _subsets(self.r, self.d, self.s, generator)
        self._set_columns(rows, generator)

    def log_minor(self, k: int) -> float:
        """Return log c_k = log r!/((r-k)! r^k), -inf for k > r.

        By Cauchy and Binet the estimate is a sum over pairs of column sets J, J' of A_J B_J' Σ_I det S_IJ det S_IJ'.
        The signs are independent, so J ≠ J' has mean zero, and of det(S_IJ)² the squares of its terms remain: k
        distinct rows in order, each in its column with probability s/r, over s^k.
        """
        return log_falling(self.r, check_integer(k, "k", "log_minor", low=0)) - k * float(np.log(self.r))


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
