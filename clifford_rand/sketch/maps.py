"""Random linear maps R^d → R^r: the sparse Johnson-Lindenstrauss transform."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from clifford_rand._checks import as_generator, check_integer, fail
from clifford_rand.sketch.base import Sketch

__all__ = ["SJLT"]

_SEED_BOUND = 2**63


class SJLT(Sketch):
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
    ``V @ S`` for V (..., r), each O(s) operations an input entry; float32 stays float32.

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
        generator = as_generator(rng, "SJLT")
        seeded = isinstance(rng, int | np.integer)
        self.rng = int(rng) if seeded else int(generator.integers(_SEED_BOUND))  # type: ignore[arg-type]
        self.shape = (self.r, self.d)
        if not seeded:
            generator = np.random.default_rng(self.rng)
        rows = _balanced_rows(self.r, self.d, self.s, generator)
        signs = generator.integers(0, 2, size=rows.size, dtype=np.int8) * np.int8(2) - np.int8(1)
        starts = np.arange(0, self.s * self.d + 1, self.s)
        columns = csc_array((signs, rows.ravel(), starts), shape=self.shape)
        self._matrix = columns.tocsr()
        self._transposed = columns.T

    def _apply(self, x: NDArray[Any]) -> NDArray[Any]:
        return self._scaled(self._matrix @ x)

    def _apply_transposed(self, v: NDArray[Any]) -> NDArray[Any]:
        return self._scaled(self._transposed @ v)

    def _scaled(self, result: NDArray[Any]) -> NDArray[Any]:
        """Multiply by 1/√s, kept out of the stored ±1 so that int8 serves both precisions."""
        return result if self.s == 1 else result * result.dtype.type(1.0 / math.sqrt(self.s))

    def __repr__(self) -> str:
        return f"SJLT(r={self.r}, d={self.d}, s={self.s}, rng={self.rng})"


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
