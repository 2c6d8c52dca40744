"""Oriented null vectors of row matrices: by elimination with column pivoting, and by the exchange of rows."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.compiler.decorator import compiled


# No fastmath here: with "reassoc" the two factors below may be multiplied first, and their product may overflow.
@compiled()
def _gather(X: NDArray[Any], rows: NDArray[np.int64], work: NDArray[Any], peak: NDArray[Any]) -> int:
    """Copy ``X[rows]`` to ``work`` (d-1, d), each row times a power of two that brings its peak to [1/2, 1)."""
    exponent = 0
    for i in range(rows.size):
        source = X[rows[i]]
        largest = 0.0
        for k in range(source.size):
            largest = max(largest, abs(float(source[k])))
        fraction, shift = math.frexp(largest)
        half = -shift // 2  # 2^1074 is not a float64, its root is
        first, second = math.ldexp(1.0, half), math.ldexp(1.0, -shift - half)
        for k in range(source.size):
            work[i, k] = (source[k] * first) * second
        peak[i] = fraction
        exponent += shift
    return exponent


@compiled(fastmath={"contract", "reassoc"})
def _eliminate(work: NDArray[Any], peak: NDArray[Any], rtol: float, column: NDArray[np.int64]) -> tuple[float, int]:
    """Factor ``work`` = Uᵀ Lᵀ Pᵀ in place, L unit lower and by rows; return (-1)^{d-1} det(P) det(U) as m·2^e."""
    rows, d = work.shape
    mantissa = 1.0 if rows % 2 == 0 else -1.0
    exponent = 0
    for i in range(rows):
        upper = work[i]
        pivot = i
        for k in range(i + 1, d):
            if abs(upper[k]) > abs(upper[pivot]):
                pivot = k
        column[i] = pivot
        if abs(upper[pivot]) <= rtol * peak[i]:
            return 0.0, 0
        if pivot != i:
            mantissa = -mantissa
            for j in range(rows):
                work[j, i], work[j, pivot] = work[j, pivot], work[j, i]
        mantissa, shift = math.frexp(mantissa * upper[i])
        exponent += shift
        # Slices from i + 1, so that k counts from 0: with a start that may be negative LLVM does not vectorize.
        tail = upper[i + 1 :]
        for k in range(tail.size):
            tail[k] /= upper[i]
        for j in range(i + 1, rows):
            lower = work[j, i + 1 :]
            factor = work[j, i]
            for k in range(tail.size):
                lower[k] -= tail[k] * factor
    return mantissa, exponent


@compiled(fastmath={"contract", "reassoc"})
def _substitute(work: NDArray[Any], column: NDArray[np.int64], z: NDArray[Any]) -> None:
    """Solve Lᵀ z = 0 with last entry 1 by back substitution, then undo the column swaps: A P z = 0."""
    rows, d = work.shape
    z[d - 1] = 1.0
    for i in range(rows - 1, -1, -1):
        total = z[d - 1] * work[i, d - 1]
        for k in range(i + 1, d - 1):
            total += work[i, k] * z[k]
        z[i] = -total
    for i in range(rows - 1, -1, -1):
        z[i], z[column[i]] = z[column[i]], z[i]


@compiled()
def null_vectors(
    X: NDArray[Any], index: NDArray[np.int64], rtol: float, vector: NDArray[Any], exponent: NDArray[np.int64]
) -> None:
    """Write the cross product of the rows ``X[index[b]]`` as ``vector[b] * 2**exponent[b]``.

    With Aᵀ = P L U for the (d-1, d) rows A: ×(A) = (-1)^{d-1} det(P) det(U) P z, where Lᵀ z = 0 and z_d = 1;
    the sign comes from det[x, A] having x first. ``vector[b]`` is 0 where a pivot is at most ``rtol`` times the
    peak of its row. X (n, d) is in C order, ``index`` (m, d-1); ``vector`` (m, d) is of its dtype.
    """
    m, rows = index.shape
    work = np.empty((rows, rows + 1), X.dtype)
    peak = np.empty(rows, np.float64)
    column = np.empty(rows, np.int64)
    for b in range(m):
        shift = _gather(X, index[b], work, peak)
        mantissa, power = _eliminate(work, peak, rtol, column)
        z = vector[b]
        if mantissa == 0.0:
            z[:] = 0.0
            exponent[b] = 0
            continue
        _substitute(work, column, z)
        for k in range(z.size):
            z[k] = mantissa * z[k]
        exponent[b] = shift + power


# ---- two rows of three entries: the formula itself, in one pass


@compiled()
def pair_crosses(
    X: NDArray[Any], index: NDArray[np.int64], first: int, rtol: float, least: float, most: float, vector: NDArray[Any]
) -> bool:
    """Write the cross products of pairs of rows, and return whether every row is of ordinary size.

    Neither more than ``most`` in sum nor less than ``least`` at its peak, or 0; NaN is not ordinary. Where the peak of
    a product is at most ``rtol`` times those of both rows, the product is 0. X (n, 3) is in C order; ``index`` is
    (m, 2), or empty for the rows 2 (first + b) and the next; ``vector`` (m, 3) of X's dtype.
    """
    indexed = index.shape[0] > 0
    limit = X.dtype.type(rtol)
    low, high = X.dtype.type(least), X.dtype.type(most)
    zero = X.dtype.type(0)
    ordinary = True
    for b in range(vector.shape[0]):
        i = index[b, 0] if indexed else 2 * (first + b)
        j = index[b, 1] if indexed else i + 1
        a0, a1, a2 = X[i, 0], X[i, 1], X[i, 2]
        b0, b1, b2 = X[j, 0], X[j, 1], X[j, 2]
        peak_a, peak_b = max(abs(a0), abs(a1), abs(a2)), max(abs(b0), abs(b1), abs(b2))
        sum_a, sum_b = abs(a0) + abs(a1) + abs(a2), abs(b0) + abs(b1) + abs(b2)  # NaN survives a sum
        ordinary &= sum_a <= high and sum_b <= high
        ordinary &= (peak_a >= low or peak_a == zero) and (peak_b >= low or peak_b == zero)
        c0, c1, c2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
        dependent = max(abs(c0), abs(c1), abs(c2)) <= limit * (peak_a * peak_b)
        vector[b, 0] = zero if dependent else c0 + zero  # no -0
        vector[b, 1] = zero if dependent else c1 + zero
        vector[b, 2] = zero if dependent else c2 + zero
    return ordinary


# ---- exchange of rows: rank-one updates of an inverse, one pass over the matrix each


def _exchange_by_numpy(x: NDArray[np.float64], j: int, smallest: float, columns: NDArray[np.float64]) -> float:
    pivot = columns[j]
    a = float(x @ pivot)
    if not abs(a) > smallest * math.sqrt(float(x @ x) * float(pivot @ pivot)):
        return 0.0
    pivot /= a
    weights = columns @ x
    weights[j] = 0.0
    columns -= weights[:, None] * pivot
    return a


@compiled(plain=_exchange_by_numpy, fastmath={"contract", "reassoc"})
def _exchange(x: NDArray[np.float64], j: int, smallest: float, columns: NDArray[np.float64]) -> float:
    """Put ``x`` for row j of B and return the ratio a of the determinants, 0 where it is too small to divide by.

    ``columns[i]`` is column i of B⁻¹. With a = x·column j, column j is divided by a, and column i loses x·column i
    times it.
    """
    d = columns.shape[0]
    pivot = columns[j]
    a = 0.0
    x_size = 0.0
    pivot_size = 0.0
    for k in range(d):
        a += x[k] * pivot[k]
        x_size += x[k] * x[k]
        pivot_size += pivot[k] * pivot[k]
    if not abs(a) > smallest * math.sqrt(x_size * pivot_size):
        return 0.0
    for k in range(d):
        pivot[k] /= a
    for i in range(d):
        if i != j:
            column = columns[i]
            w = 0.0
            for k in range(d):
                w += x[k] * column[k]
            for k in range(d):
                column[k] -= w * pivot[k]
    return a


@compiled()
def _odd_order(places: NDArray[np.int64], seen: NDArray[np.bool_]) -> bool:
    """Tell whether a permutation is odd."""
    seen[:] = False
    odd = False
    for i in range(places.size):
        k = places[i]
        while k != i and not seen[i]:
            seen[k] = True
            odd = not odd
            k = places[k]
        seen[i] = True
    return odd


@compiled()
def exchange_rows(
    X: NDArray[np.float64],
    index: NDArray[np.int64],
    limits: tuple[int, float],
    subset: tuple[NDArray[np.int64], NDArray[np.int64]],
    basis: tuple[NDArray[np.float64], NDArray[np.float64]],
    results: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> int:
    """Walk from one subset of rows over the subsets ``index`` (m, d-1); return how many were reached.

    ``limits`` are ``most`` and ``smallest``, ``subset`` is (slots, place), ``basis`` (columns, state) and ``results``
    (direction, log_size); the last three are written to.

    B (d, d) has the rows X[slots] and an auxiliary one; ``columns[i]`` is column i of B⁻¹, of which the last is
    orthogonal to all rows of the subset; ``state`` is (log|det B|, sign of det B); ``place[r]`` is the slot of row r,
    or -1. Row s of ``direction`` gets the last column as a unit vector, its sign that of det B with the rows in the
    order of ``index[s]``, and ``log_size[s]`` its length times |det B| in logs. It stops before a subset that has a row
    twice or more than ``most`` new rows, or where an exchange would divide by less than ``smallest`` times the sizes.
    """
    most, smallest = limits
    slots, place = subset
    columns, state = basis
    direction, log_size = results
    steps: int = index.shape[0]
    rows: int = index.shape[1]
    d = rows + 1
    mark = np.full(X.shape[0], -1, np.int64)
    fresh = np.empty(rows, np.int64)
    places = np.empty(rows, np.int64)
    seen = np.empty(rows, np.bool_)
    for step in range(steps):  # B has the rows of the subset before, in some order, and the auxiliary one
        n_fresh = 0
        for i in range(rows):
            r = index[step, i]
            if mark[r] == step:
                return step
            mark[r] = step
            if place[r] < 0:
                fresh[n_fresh] = r
                n_fresh += 1
        if n_fresh > most:
            return step
        slot = 0
        for e in range(n_fresh):
            while mark[slots[slot]] == step:
                slot += 1
            # det B grows by the factor a = x B⁻¹ e_slot (the matrix determinant lemma)
            a = _exchange(X[fresh[e]], slot, smallest, columns)
            if a == 0.0:
                return step
            place[slots[slot]] = -1
            slots[slot] = fresh[e]
            place[fresh[e]] = slot
            mark[fresh[e]] = step
            state[0] += math.log(abs(a))
            if a < 0:
                state[1] = -state[1]
        for i in range(rows):
            places[i] = place[index[step, i]]
        sign = -state[1] if _odd_order(places, seen) else state[1]
        normal = columns[d - 1]  # B normal = e_d: it is orthogonal to the d - 1 rows of the subset
        size = 0.0
        for k in range(d):
            size += normal[k] * normal[k]
        size = math.sqrt(size)
        for k in range(d):
            direction[step, k] = sign * normal[k] / size
        log_size[step] = math.log(size) + state[0]
    return steps
