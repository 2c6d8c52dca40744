"""Random linear maps R^d → R^r: the sparse Johnson-Lindenstrauss transform."""

import math

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_integer, describe, fail
from clifford_rand.sketch.base import drawn_seed
from clifford_rand.sketch.sign_columns import SignColumns


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
        An integer is the seed; a generator draws one, and None a fresh one. ``S.rng`` is that seed, and ``repr(S)``
        rebuilds the same map (with the same release of NumPy, whose streams may change between releases).

    Attributes
    ----------
    shape : (r, d)
    r, d, s, rng : int

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
    constants); in practice r = 2k to 4k with s = 8.

    *Propositions* of the source: the first (orthogonality to the sampled rows) holds for every linear map, the second
    needs exchangeable rows, and this sketch has them.

    References
    ----------
    Kane and Nelson, "Sparser Johnson-Lindenstrauss Transforms", J. ACM 61(1), 2014; used with s = 1 in Section 3.3 of
    Wang et al., "Randomized Geometric Algebra Methods for Convex Neural Networks", 2024, arXiv:2406.02806. There rows
    of S are to be identically distributed (second proposition; its proof exchanges two of them).

    Examples
    --------
    >>> import numpy as np
    >>> import clifford_rand as cr
    >>> S = cr.SJLT(3, 6, rng=0)
    >>> S
    SJLT(r=3, d=6, s=1, rng=0)
    >>> np.abs(S.toarray()).sum(axis=0)
    array([1., 1., 1., 1., 1., 1.])
    >>> np.abs(S.toarray()).sum(axis=1)
    array([2., 2., 2.])
    >>> (np.ones((4, 6)) @ S.T).shape
    (4, 3)
    """

    def __init__(self, r: int, d: int, s: int = 1, *, rng: np.random.Generator | int | None = None) -> None:
        self.r = check_integer(r, "r", "SJLT")
        self.d = check_integer(d, "d", "SJLT")
        self.s = check_integer(s, "s", "SJLT", high=self.r, hint="A column has s non-zeros in r rows.")
        if self.s * self.d < self.r:
            hint = "Fewer non-zeros than rows would leave a row empty: lower r or raise s."
            raise fail("r", "SJLT", f"at most s·d = {self.s * self.d}", self.r, hint)
        self._check_fits()
        self.rng, generator = drawn_seed(rng, "SJLT")
        rows = _balanced_rows(self.r, self.d, self.s, generator)
        self._set_columns(rows, generator)

    def log_minor(self, k: int) -> float:
        """Return log c_k for s = 1: the logarithm of the probability that k columns have their entries in k rows.

        With t rows of m + 1 entries and r - t of m, c_k = Σ_j C(t, j) (m+1)^j C(r-t, k-j) m^{k-j} / C(d, k).
        """
        k = check_integer(k, "k", "log_minor", low=0)
        if self.s > 1:
            hint = "The balanced rows of an SJLT with s > 1 have no closed form; SparseSign has one for every s."
            raise fail("S", "log_minor", "a sketch whose expected minors are known", describe(f"{self}"), hint)
        if k > min(self.r, self.d):
            return -math.inf
        m, t = divmod(self.d, self.r)
        terms = [
            _log_choose(t, j) + j * math.log(m + 1) + _log_choose(self.r - t, k - j) + (k - j) * math.log(m)
            for j in range(max(0, k - (self.r - t)), min(t, k) + 1)
        ]
        peak = max(terms)
        return peak + math.log(math.fsum(math.exp(term - peak) for term in terms)) - _log_choose(self.d, k)


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


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
