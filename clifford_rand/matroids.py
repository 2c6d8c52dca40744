"""Oriented matroids of vectors, and numbers of chambers of hyperplane arrangements, without rounding."""

import math
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_array, check_bool, check_fits, check_integer, check_listed, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import ArrayLike
from clifford_rand.basis.coefficients import in_integers, largest, narrowed, read_only
from clifford_rand.basis.rules import parity
from clifford_rand.functions.scaling import echelon, integer_rows

Signs = NDArray[np.int8]
_Plane = tuple[int, ...]


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


def characteristic_polynomial(normals: ArrayLike, offsets: ArrayLike | None = None) -> tuple[int, ...]:
    r"""Return the characteristic polynomial of the arrangement of the hyperplanes x·a_i = b_i.

    .. math:: \chi(t) = \sum_{F} \mu(F)\, t^{\dim F}, \qquad
        \chi_{\mathcal A}(t) = \chi_{\mathcal A \setminus H}(t) - \chi_{\mathcal A^H}(t),

    over the flats F, the non-empty intersections of hyperplanes, with the Möbius function μ of their lattice.

    Parameters
    ----------
    normals : array_like (n, d)
        Integers, fractions, or floats, which are taken as the fractions that they are. Rows that are 0 bound nothing
        and are left out; hyperplanes that are equal count once.
    offsets : array_like (n,), optional
        b_i of the same kinds; all 0 by default, a central arrangement.

    Returns
    -------
    tuple of int (d + 1,)
        The coefficients, highest power first, as `numpy.polyval` takes them. They alternate in sign; their absolute
        values are the Whitney numbers of the first kind, the Betti numbers of the complement in complex space.

    Raises
    ------
    ArgumentError
        If ``normals`` is not (n, d) or ``offsets`` not (n,), or an entry is not such a number.

    Notes
    -----
    Each hyperplane H is added to those before it: χ falls by that of their restriction to H, an arrangement of one
    dimension less. Restrictions that are equal up to the order of the coordinates are computed once. In general
    position there are few of them, and the work grows like the number of chambers; `enumerate_patterns` of
    clifford_rand_nn finds a point in each chamber instead, of floats to rounding.

    References
    ----------
    Orlik and Terao, "Arrangements of Hyperplanes", 1992 (deletion and restriction). Restrictions that are equal up to a
    given group of symmetries are computed once by Brysiewicz, Eble and Kühne, "Computing characteristic polynomials of
    hyperplane arrangements with symmetries", 2023 (CountingChambers.jl).

    Examples
    --------
    >>> cr.characteristic_polynomial([[1, 0], [0, 1], [1, 1]])
    (1, -3, 2)
    >>> cr.characteristic_polynomial([[1], [1], [1]], [0, 1, 2])  # three points of a line
    (1, -3)
    """
    return _coefficients(normals, offsets, "characteristic_polynomial")


def count_chambers(normals: ArrayLike, offsets: ArrayLike | None = None, *, bounded: bool = False) -> int:
    r"""Return the number of chambers of the hyperplanes x·a_i = b_i: :math:`(-1)^d \chi(-1)`, exactly.

    Parameters
    ----------
    normals, offsets
        As in `characteristic_polynomial`.
    bounded : bool
        Count the bounded chambers only, :math:`(-1)^d \chi(1)`; none where the normals do not span the space.

    Raises
    ------
    ArgumentError
        As `characteristic_polynomial`.

    References
    ----------
    Zaslavsky, "Facing up to arrangements", 1975. The resonance arrangement of all normals of zeros
    and ones has 2, 6, 32, 370, 11292, … chambers (OEIS A034997), and that of threshold functions, of all normals
    (1, ±1, …, ±1), has 2, 4, 14, 104, 1882, 94572, … (A000609).

    Examples
    --------
    >>> resonance = [[i >> j & 1 for j in range(4)] for i in range(1, 16)]
    >>> cr.count_chambers(resonance)
    370
    >>> cr.count_chambers([[1, 0], [0, 1], [1, 1]], [0, 0, 1]), cr.count_chambers(np.eye(3), [1, 2, 3], bounded=True)
    (7, 0)
    """
    bounded = check_bool(bounded, "bounded", "count_chambers")
    values = _coefficients(normals, offsets, "count_chambers")
    if bounded:
        return abs(sum(values)) if values[-1] else 0
    return sum(map(abs, values))


def _coefficients(normals: ArrayLike, offsets: ArrayLike | None, owner: str) -> tuple[int, ...]:
    A = as_array(normals, "normals", owner)
    if A.ndim != 2:
        raise fail("normals", owner, "of shape (n, d), one normal per row", describe(f"shape {A.shape}"))
    d = A.shape[1]
    rows, _ = integer_rows(A, "normals", owner, floats=True)
    held = rows.astype(bool).any(axis=1) if d else np.zeros(len(A), dtype=bool)
    if offsets is not None:  # the cone over the arrangement: a_i·x - b_i x_0 = 0, and x_0 = 0
        b = as_array(offsets, "offsets", owner)
        if b.shape != A.shape[:1]:
            raise fail("offsets", owner, f"of shape ({len(A)},)", describe(f"shape {b.shape}"))
        joined = np.concatenate([A.astype(object), b[:, None].astype(object)], axis=1)
        rows = integer_rows(joined, "offsets", owner, floats=True)[0] * ([1] * d + [-1])
    rows = rows[held]
    if offsets is not None:
        rows = np.concatenate([rows, np.eye(1, d + 1, d, dtype=np.int64).astype(object)])
    columns = echelon(rows.T).rows if len(rows) else rows.T  # coordinates of the span
    planes = {_primitive(tuple(row)) for row in columns.T.tolist()}
    values = list(_polynomial(planes, len(columns), {}))
    if offsets is not None:  # (t - 1) times that of the arrangement
        for i in range(1, len(values)):
            values[i] += values[i - 1]
        values.pop()
    return (*values, *(0,) * (d + 1 - len(values)))


def _polynomial(
    planes: Collection[_Plane], rank: int, known: dict[tuple[_Plane, ...], tuple[int, ...]]
) -> tuple[int, ...]:
    """Return χ of central planes, no two of them equal, in ``rank`` dimensions."""
    n = len(planes)
    if rank < 3 or not n:
        return ((1,), (1, -1), (1, -n, n - 1))[rank] if n else (1,) + (0,) * rank
    ordered = _in_order(planes)
    if ordered not in known:
        total = [1] + [0] * rank
        for k in range(n):
            for power, value in enumerate(_polynomial(_restricted(ordered[:k], ordered[k]), rank - 1, known), 1):
                total[power] -= value
        known[ordered] = tuple(total)
    return known[ordered]


def _restricted(planes: Iterable[_Plane], plane: _Plane) -> set[_Plane]:
    """Return the traces of planes on another, where the first coordinate that it has is eliminated."""
    place = next(i for i, x in enumerate(plane) if x)
    pivot, rest = plane[place], plane[:place] + plane[place + 1 :]
    traces = set()
    for a in planes:
        factor, a = a[place], a[:place] + a[place + 1 :]
        traces.add(_primitive(tuple([pivot * x - factor * y for x, y in zip(a, rest, strict=True)]) if factor else a))
    return traces


def _primitive(a: _Plane) -> _Plane:
    """Return the multiple of coprime integers of which the first other than 0 is positive."""
    divisor = math.gcd(*a)
    if next(x for x in a if x) < 0:
        divisor = -divisor
    return a if divisor == 1 else tuple([x // divisor for x in a])


def _in_order(planes: Iterable[_Plane]) -> tuple[_Plane, ...]:
    """Return the planes in an order of their own and of their coordinates, so that more of them are equal."""
    columns = sorted(zip(*planes, strict=True), key=lambda column: (sorted(map(abs, column)), column))
    return tuple(sorted(map(_primitive, zip(*columns, strict=True))))
