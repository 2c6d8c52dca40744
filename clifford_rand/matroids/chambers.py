"""Characteristic polynomials and numbers of chambers of hyperplane arrangements, by deletion and restriction."""

from collections.abc import Collection, Iterable
from math import gcd

import numpy as np

from clifford_rand._checks import as_array, check_bool, describe, fail
from clifford_rand._typing import ArrayLike
from clifford_rand.crossproduct.integers import echelon, integer_rows

_Plane = tuple[int, ...]


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
    divisor = gcd(*a)
    if next(x for x in a if x) < 0:
        divisor = -divisor
    return a if divisor == 1 else tuple([x // divisor for x in a])


def _in_order(planes: Iterable[_Plane]) -> tuple[_Plane, ...]:
    """Return the planes in an order of their own and of their coordinates, so that more of them are equal."""
    columns = sorted(zip(*planes, strict=True), key=lambda column: (sorted(map(abs, column)), column))
    return tuple(sorted(map(_primitive, zip(*columns, strict=True))))
