"""The class `OrientedMatroid`: chirotope, circuits and cocircuits of a configuration of vectors."""

import math
from collections.abc import Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_array, check_fits, check_integer, check_listed, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import ArrayLike
from clifford_rand.basis.coefficients import in_integers, largest, narrowed, read_only
from clifford_rand.basis.rules import parity
from clifford_rand.crossproduct.integers import echelon, integer_rows

Signs = NDArray[np.int8]


class OrientedMatroid:
    r"""The oriented matroid of n vectors: which bases they form, and with which orientation; exact.

    Parameters
    ----------
    vectors : array_like (n, d)
        One vector per row: integers, fractions, or floats, which are taken as the fractions that they are.

    Attributes
    ----------
    n, rank : int

    Raises
    ------
    ArgumentError
        If ``vectors`` is not (n, d), or an entry is not such a number.

    Notes
    -----
    Elements are numbered from 0. Two configurations have one oriented matroid if their chirotopes are equal or
    opposite: it knows the order type of points (of rows (x, 1)), and the faces of the arrangement of the hyperplanes
    x·v_i = 0, of which `clifford_rand.count_chambers` counts the chambers.

    References
    ----------
    Björner, Las Vergnas, Sturmfels, White and Ziegler, "Oriented Matroids", 2nd edition, 1999, sections 1.2 and 3.5.

    Examples
    --------
    >>> square = cr.OrientedMatroid([[0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]])
    >>> square
    <OrientedMatroid of 4 elements, rank 3>
    >>> square.chirotope, square.circuits()  # the diagonals 02 and 13 cross
    (array([1, 1, 1, 1], dtype=int8), array([[ 1, -1,  1, -1]], dtype=int8))
    """

    def __init__(self, vectors: ArrayLike) -> None:
        array = as_array(vectors, "vectors", "OrientedMatroid")
        if array.ndim != 2:
            rule = "of shape (n, d), one vector per row"
            raise fail("vectors", "OrientedMatroid", rule, describe(f"shape {array.shape}"))
        columns = integer_rows(array, "vectors", "OrientedMatroid", floats=True)[0].T
        self.n = len(array)
        form = echelon(columns)
        self.rank = len(form.pivots)
        self._basis = None if self.rank == len(columns) else form.pivots
        self._columns = columns if self._basis is None else form.rows

    def __repr__(self) -> str:
        return f"<OrientedMatroid of {self.n} elements, rank {self.rank}>"

    @cached_property
    def chirotope(self) -> Signs:
        """The signs of the determinants of all r-subsets of vectors, ascending and in lexicographic order, (C(n, r),).

        Where the rank r is less than d, in coordinates of the span in which the first basis is positive.

        Examples
        --------
        >>> cr.OrientedMatroid([[1, 0], [0, 1], [-1, -1], [2, 2]]).chirotope
        array([ 1, -1,  1,  1, -1,  0], dtype=int8)
        """
        self._check(self.rank, 8 * self.rank, "chirotope")
        matrix = narrowed(self._columns)
        bound = math.factorial(self.rank) * largest(matrix) ** self.rank if matrix.dtype != object else math.inf
        minors = in_integers(_minors, bound, matrix)  # type: ignore[arg-type]
        signs = np.sign(minors).astype(np.int8)
        if self._basis is not None and self.rank:
            signs *= signs[int(_places(self.n, np.array([self._basis], dtype=np.int64))[0])]
        return read_only(signs)

    def sign(self, elements: Sequence[int]) -> int:
        """Return the orientation of r vectors in any order: that of the determinant of these rows.

        Examples
        --------
        >>> cr.OrientedMatroid(np.eye(3)).sign([1, 0, 2])
        -1
        """
        rule = f"{self.rank} numbers of vectors"
        listed = check_listed(elements, "elements", "sign", rule)
        if len(listed) != self.rank:
            raise fail("elements", "sign", rule, describe(f"{len(listed)}"))
        listed = [check_integer(i, "elements", "sign", low=0, high=self.n - 1) for i in listed]
        if len(set(listed)) < len(listed):
            return 0
        place = int(_places(self.n, np.array([sorted(listed)], dtype=np.int64))[0])
        return parity(listed) * int(self.chirotope[place])

    def circuits(self) -> Signs:
        r"""Return the signs of the minimal dependencies :math:`\sum_i c_i v_i = 0`, (m, n), each up to its negative.

        The first sign other than 0 of each is 1; they are in lexicographic order, 1 before 0 before -1.

        Examples
        --------
        >>> cr.OrientedMatroid([[1, 0], [0, 1], [2, 2], [0, 3]]).circuits()
        array([[ 1,  1, -1,  0],
               [ 1,  0, -1,  1],
               [ 0,  1,  0, -1]], dtype=int8)
        """
        self._check(self.rank + 1, self.n, "circuits")
        subsets = _subsets(self.n, self.rank + 1)
        signs = np.zeros((len(subsets), self.n), np.int8)
        for i in range(self.rank + 1):  # Cramer's rule: c_i is (-1)^i times the determinant without vector i
            values = self.chirotope[_places(self.n, np.delete(subsets, i, axis=1))]
            signs[np.arange(len(subsets)), subsets[:, i]] = values if i % 2 == 0 else -values
        return _up_to_sign(signs)

    def cocircuits(self) -> Signs:
        """Return on which sides of the hyperplanes that vectors span the others lie, (m, n), each up to its negative.

        The first sign other than 0 of each is 1; they are in the order of `circuits`. A hyperplane is one of the span.

        Examples
        --------
        >>> cr.OrientedMatroid([[1, 0], [0, 1], [2, 2]]).cocircuits()
        array([[ 1,  0,  1],
               [ 1, -1,  0],
               [ 0,  1,  1]], dtype=int8)
        """
        if not self.rank:
            return np.zeros((0, self.n), np.int8)
        self._check(self.rank, self.n, "cocircuits")
        subsets = _subsets(self.n, self.rank)
        signs = np.zeros((math.comb(self.n, self.rank - 1), self.n), np.int8)
        for i in range(self.rank):  # det[x, x_1, …] of x before the others, by i swaps
            places = _places(self.n, np.delete(subsets, i, axis=1))
            signs[places, subsets[:, i]] = self.chirotope if i % 2 == 0 else -self.chirotope
        return _up_to_sign(signs)

    def _check(self, k: int, size: int, owner: str) -> None:
        """Refuse k-subsets that do not fit into memory, at ``size`` bytes and their 16 k of indices."""
        hint = f"There are C({self.n}, {k}) subsets of {k} vectors."
        check_fits(math.comb(self.n, k) * (size + 16 * k), "vectors", f"OrientedMatroid.{owner}", hint=hint)


def _subsets(n: int, k: int) -> NDArray[np.int64]:
    """Return all k-subsets of range(n) in lexicographic order (C(n, k), k)."""
    count = math.comb(n, k)
    return np.fromiter(chain.from_iterable(combinations(range(n), k)), np.int64, count * k).reshape(count, k)


def _places(n: int, subsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of ascending subsets (m, k) in lexicographic order: those after S are Σ_i C(n-1-s_i, k-i)."""
    k = subsets.shape[1]
    places = np.full(len(subsets), math.comb(n, k) - 1)
    for i in range(k):
        places -= np.array([math.comb(n - 1 - x, k - i) for x in range(n)], dtype=np.int64)[subsets[:, i]]
    return places


def _minors(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the determinants (C(n, r),) of the columns of a matrix (r, n), row after row by Laplace's expansion."""
    minors = np.ones(1, dtype=matrix.dtype)
    for k, row in enumerate(matrix, 1):
        subsets = _subsets(len(row), k)
        total = np.zeros(len(subsets), dtype=matrix.dtype)
        for i in range(k):
            terms = row[subsets[:, i]] * minors[_places(len(row), np.delete(subsets, i, axis=1))]
            total += terms if (k - 1 - i) % 2 == 0 else -terms
        minors = total
    return minors


def _up_to_sign(signs: Signs) -> Signs:
    """Return the rows other than 0, each once up to its negative, the first sign being 1, in lexicographic order."""
    signs = signs[signs.any(axis=1)]
    if not signs.size:
        return signs
    first = np.take_along_axis(signs, (signs != 0).argmax(axis=1)[:, None], axis=1)
    return np.ascontiguousarray(np.unique(signs * first, axis=0)[::-1])
