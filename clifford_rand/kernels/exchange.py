"""Inverses of row matrices under the exchange of rows: rank-one updates, one pass over the matrix each."""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
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
            other = columns[i]
            w = 0.0
            for k in range(d):
                w += x[k] * other[k]
            for k in range(d):
                other[k] -= w * pivot[k]
    return a


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def exchange_rows(
    X: NDArray[np.float64],
    index: NDArray[np.int64],
    most: int,
    smallest: float,
    slots: NDArray[np.int64],
    place: NDArray[np.int64],
    columns: NDArray[np.float64],
    state: NDArray[np.float64],
    direction: NDArray[np.float64],
    log_size: NDArray[np.float64],
) -> int:
    """Walk from the subset in ``slots`` over the subsets ``index`` (m, d-1); return how many were reached.

    B (d, d) has the rows X[slots] and an auxiliary one; ``columns[i]`` is column i of B⁻¹, of which the last is
    orthogonal to all rows of the subset; ``state`` is (log|det B|, sign of det B); ``place[r]`` is the slot of row r,
    or -1. Row s of ``direction`` gets the last column as a unit vector, its sign that of det B with the rows in the
    order of ``index[s]``, and ``log_size[s]`` its length times |det B| in logs. It stops before a subset that has a row
    twice or more than ``most`` new rows, or where an exchange would divide by less than ``smallest`` times the sizes.
    """
    steps: int = index.shape[0]
    rows: int = index.shape[1]
    d = rows + 1
    mark = np.full(X.shape[0], -1, np.int64)
    fresh = np.empty(rows, np.int64)
    places = np.empty(rows, np.int64)
    seen = np.empty(rows, np.bool_)
    for step in range(steps):
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
        normal = columns[d - 1]
        size = 0.0
        for k in range(d):
            size += normal[k] * normal[k]
        size = math.sqrt(size)
        for k in range(d):
            direction[step, k] = sign * normal[k] / size
        log_size[step] = math.log(size) + state[0]
    return steps
